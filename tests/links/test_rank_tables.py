"""Rank tables of HCCL: both forms are read, and a table that contradicts itself is refused by the name of the field.

Users write these files by hand. Any other JSON must give one error that names the field, never a crash or a wrong
number of ranks; random tables and tables with one change check this.
"""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_reference.device.links import rank_table, topology

TABLE = {
    "status": "completed",
    "version": "1.0",
    "server_count": "2",
    "server_list": [
        {
            "server_id": f"node_{server}",
            "device": [
                {
                    "device_id": str(device),
                    "device_ip": f"192.168.{server}.{device + 1}",
                    "rank_id": str(4 * server + place),
                }
                for place, device in enumerate((0, 1, 4, 5))
            ],
        }
        for server in range(2)
    ],
}

KEYS = [
    "status", "server_count", "server_list", "server_id", "device", "device_id", "device_ip", "rank_id", "group_count",
    "group_list", "instance_list", "instance_count", "device_count", "devices",
]  # fmt: skip

GROUPS = {
    "status": "completed",
    "group_count": "1",
    "group_list": [
        {
            "group_name": "hccl_world_group",
            "instance_count": "2",
            "device_count": "2",
            "instance_list": [
                {"pod_name": "a", "server_id": "10.0.0.1", "devices": [{"device_id": "1", "device_ip": "192.1.27.6"}]},
                {"pod_name": "b", "server_id": "10.0.0.2", "devices": [{"device_id": "0", "device_ip": "192.2.27.6"}]},
            ],
        }
    ],
}


def test_a_table_tells_servers_devices_and_so_links():
    table = rank_table.parse(json.dumps(TABLE))
    assert table.size == 8 and table.server_of(5).name == "node_1" and table.server_of(8) is None
    assert table.servers[0].devices[2] == (2, 4, "192.168.0.5")
    where = topology(8, table)
    assert [where.link(0, other) for other in range(1, 5)] == ["hccs", "pcie", "pcie", "roce"]


def test_the_older_form_is_read_too():
    table = rank_table.parse(json.dumps(GROUPS))
    assert [(server.name, server.ranks) for server in table.servers] == [("10.0.0.1", [0]), ("10.0.0.2", [1])]


def test_ranks_need_not_be_in_order():
    table = copy.deepcopy(TABLE)
    for server in table["server_list"]:
        for device in server["device"]:
            device["rank_id"] = str(7 - int(device["rank_id"]))
    where = topology(None, rank_table.parse(json.dumps(table)))
    assert where.link(7, 6) == "hccs" and where.places[7].server == 0 and where.places[0].server == 1


def changed(*path):
    """The table with the value at a path replaced by the last of these."""
    *keys, last, value = path
    table = copy.deepcopy(TABLE)
    at = table
    for key in keys:
        at = at[key]
    at[last] = value
    return table


FIRST = ("server_list", 0, "device", 0)


@pytest.mark.parametrize(
    ("table", "named"),
    [
        (changed("status", "initializing"), "status 'initializing'"),
        (changed("server_count", "3"), "server_count '3', but there are 2"),
        (changed("server_count", "two"), "server_count 'two'"),
        (changed("server_list", {}), "no list of objects server_list"),
        (changed("server_list", [1]), "no list of objects server_list"),
        (changed("server_list", 1, "server_id", "node_0"), "two servers of server_id 'node_0'"),
        (changed("server_list", 0, "device", []), "none has rank_id 0"),
        (changed(*FIRST, "rank_id", "7"), "rank_id 7 twice, on servers node_0 and node_1"),
        (changed(*FIRST, "rank_id", "8"), "none has rank_id 0"),
        (changed(*FIRST, "rank_id", "-1"), "rank_id '-1' in server_list[0].device[0]"),
        (changed(*FIRST, "rank_id", True), "rank_id 'True'"),
        (changed(*FIRST, "device_id", "1"), "device_id 1 of server node_0 for ranks 0 and 1"),
        (changed(*FIRST, "device_ip", "192.168.1.6"), "device_ip 192.168.1.6 for ranks 0 and 7"),
        (changed(*FIRST, "device_ip", "192.168.0"), "device_ip '192.168.0'"),
        ({**GROUPS, "group_count": "2"}, "group_count '2', but there are 1"),
        ({"group_list": [{**GROUPS["group_list"][0], "device_count": "8"}]}, "device_count '8'"),
        ({"group_list": [{**GROUPS["group_list"][0], "instance_count": "3"}]}, "instance_count '3'"),
        ({"group_list": []}, "0 groups"),
        ([], "no JSON object"),
        ({}, "server_list"),
        ({"server_list": []}, "lists no device"),
    ],
)
def test_a_table_that_contradicts_itself_is_refused_by_field(table, named, tmp_path):
    path = tmp_path / "table.json"
    path.write_text(json.dumps(table))
    with pytest.raises(ValueError) as caught:
        rank_table.read(str(path))
    assert named in caught.value.reason and caught.value.subject == "RANK_TABLE_FILE"
    assert str(path) in caught.value.reason


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff\xfe", b"[" * 100000, b'{"server_list": 1e999}', b'{"status": "a", "status": "completed"}'],
)
def test_what_is_no_table_is_refused(content, tmp_path):
    path = tmp_path / "table.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="RANK_TABLE_FILE"):
        rank_table.read(str(path))
    with pytest.raises(ValueError, match="cannot be read"):
        rank_table.read(str(tmp_path))


def test_as_many_ranks_as_the_table_has():
    with pytest.raises(ValueError, match="4 ranks are asked for, and the rank table has 8"):
        topology(4, rank_table.parse(json.dumps(TABLE)))


ANYTHING = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-2, 9), st.floats(), st.sampled_from(["", "0", "1", "10.0.0.1", "x"])
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)),
    max_leaves=20,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), ANYTHING, max_size=5))
def test_whatever_a_table_says_it_is_read_or_refused_by_name(table):
    try:
        found = rank_table.parse(json.dumps(table))
    except ValueError as error:
        assert getattr(error, "code", "") == "OPTION_FILE" and "rank table" in str(error)
        return
    assert sorted(rank for server in found.servers for rank in server.ranks) == list(range(found.size))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_table_with_one_thing_changed_is_read_or_refused(data):
    table = copy.deepcopy(data.draw(st.sampled_from([TABLE, GROUPS])))
    at = table
    while True:
        key = data.draw(st.sampled_from(sorted(at) if isinstance(at, dict) else range(len(at))))
        if not isinstance(at[key], (dict, list)) or data.draw(st.booleans()):
            at[key] = data.draw(ANYTHING)
            break
        at = at[key]
    try:
        found = rank_table.parse(json.dumps(table))
    except ValueError as error:
        assert getattr(error, "code", "") == "OPTION_FILE"
        return
    assert topology(None, found).size == found.size
