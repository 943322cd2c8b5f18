"""Policy "adapter" gives, on every recorded case, what the adapter's own pass gave."""

from __future__ import annotations

import json
import os

import pytest

from npu_reference.catalog import OpList
from npu_reference.errors import NpuError
from npu_reference.graphs import load_graph
from npu_reference.partition import partition

pytestmark = pytest.mark.oldest_at_night

FOLDER = os.path.join(os.path.dirname(__file__), "..", "..", "fixtures", "oracle")

with open(os.path.join(FOLDER, "cases.json"), encoding="utf-8") as _stream:
    CASES = json.load(_stream)


@pytest.fixture(scope="module")
def op_list():
    return OpList.load(os.path.join(FOLDER, "op_list.json"))


def run(case, op_list, **more):
    graph = load_graph(os.path.join(FOLDER, "graphs", case["graph"]))
    return partition(graph, case["params"], policy="adapter", op_list=op_list, **more)


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_result_is_the_adapters_own(name, op_list):
    case = CASES[name]
    if case["status"]:
        with pytest.raises(NpuError) as caught:
            run(case, op_list)
        expected = case["status"].get("abort") or case["status"]["message"]
        assert caught.value.reason == expected
        assert (caught.value.code == "ADAPTER_ABORT") == ("abort" in case["status"])
        return
    result = run(case, op_list)
    got = sorted(
        (result.node_names(geop), [a.name for a in geop.args], [r.name for r in geop.rets]) for geop in result.geops
    )
    assert got == sorted((geop["nodes"], geop["args"], geop["rets"]) for geop in case["geops"])
    assert sorted(entry.node for entry in result.host) == case["host"]


def test_every_recorded_case_is_compared():
    assert len(CASES) == 301
    assert len({case["graph"] for case in CASES.values()}) == len(os.listdir(os.path.join(FOLDER, "graphs")))


def test_both_flavours_keep_the_same_operators_on_the_host(op_list):
    # The builds for TensorFlow 1 and 2 contract alike and merge differently: nothing moves to or from the host in
    # mixed computing.
    for name, case in CASES.items():
        if not case["status"] and case["params"].get("mix_compile_mode") is True:
            first, second = (run(case, op_list, flavour=flavour) for flavour in ("tf1", "tf2"))
            assert [h.node for h in first.host] == [h.node for h in second.host], name
