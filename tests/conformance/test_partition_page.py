"""What the page of a partition embeds: small for large graphs, equal for equal partitions, safe whatever the names."""

from __future__ import annotations

import json
import re

from npu_conformance.models.demands import max_geops
from npu_conformance.report import partition_page
from npu_reference.graphs import GraphBuilder
from npu_reference.options import resolve
from npu_reference.partition import blame, partition, separations
from npu_reference.precision import assign


def divided(hosts, prefix="", constant=1.0):
    """Device and host operators in turn, `hosts` of the latter; every device operator adds `constant`."""
    g = GraphBuilder()
    value = g.placeholder("x", "float32", [2])
    c = g.const("c", constant, "float32")
    for number in range(hosts):
        value = g.op("AddV2", f"{prefix}device{number}", [value, c])
        value = g.py_func(f"{prefix}host{number}", [value], ["float32"])[0]
    g.op("Relu", "last", [value])
    options = resolve({"mix_compile_mode": True})
    return partition(g.build(), options), options


def answer(result, options):
    apart = separations(result)
    return {
        **result.to_json(),
        "separations": [one.to_json() for one in apart],
        "blame": [one.to_json() for one in blame(result, options, most=1)],
        "checks": [max_geops(result, 1, apart).to_json()],
    }


def data(hosts, **more):
    result, options = divided(hosts, **more)
    return partition_page.page_data(result.graph, answer(result, options))


def test_host_operators_refer_to_texts_that_stand_once():
    found = data(4)
    assert [found["names"][row[0]] for row in found["host"]] == ["x", "host0", "host1", "host2", "host3"]
    assert len(found["remedies"]) == 2  # of FEED and NOT_SUPPORTED
    assert len(found["whys"]) == 2
    for position, reason, remedy, chain in found["host"]:
        node, why = found["steps"][chain[0]]
        assert node == position
        assert found["remedies"][remedy] and found["whys"][why] and reason in ("FEED", "NOT_SUPPORTED")


def test_separations_blame_and_demands_are_embedded():
    found = data(2)
    assert found["separations"][0] == ["GeOp_0", ["host0"], "GeOp_1"]
    assert found["blame"][0]["op"] == "PyFunc" and found["blame"][0]["geops_saved"] == 2
    assert found["checks"][0]["passed"] is False


def test_the_line_at_the_end_and_proposed_fetches_are_embedded_where_there_are_any():
    result, options = divided(1)
    plain = answer(result, options)
    more = {**plain, "conclusion": {"line": "On the device: …"}, "proposals": [{"command": "--fetch '</script>'"}]}
    assert partition_page.page_data(result.graph, plain)["conclusion"] == ""
    found = partition_page.page_data(result.graph, more)
    assert (found["conclusion"], found["proposals"]) == ("On the device: …", ["--fetch '</script>'"])
    text = partition_page.page(result.graph, more, title="t", options={})
    assert "--fetch '</script>'" not in text and "D.conclusion" in text


def test_constants_that_float16_cannot_hold_stand_apart_from_other_notes():
    found = data(1, constant=1e9)
    assert [note["code"] for note in found["half"]] == ["FP16_OVERFLOW"]
    assert [note["code"] for note in found["notes"]] == ["PLACEHOLDER_AS_FEED"]


def test_the_page_grows_with_the_operators_not_with_their_chains():
    short, long = (len(json.dumps(data(hosts))) for hosts in (100, 400))
    assert long < 4.5 * short


def test_equal_partitions_give_equal_pages():
    pages = set()
    for _ in range(2):
        result, options = divided(3)
        pages.add(partition_page.page(result.graph, answer(result, options), title="t", options={}))
    assert len(pages) == 1


def test_every_operator_has_its_inputs_its_engine_and_its_dtype():
    result, options = divided(1)
    nodes = [node.to_json() for node in assign(result, options, entries=()).nodes]
    found = partition_page.page_data(result.graph, answer(result, options), nodes)
    at = {name: position for position, name in enumerate(found["names"])}
    read = [found["names"][at["device0"] - distance] for distance in found["inputs"][at["device0"]]]
    assert sorted(read) == ["c", "x"]
    engines = {name: found["engines"][found["engine"][position]] for name, position in at.items()}
    assert engines["device0"] == "vector" and engines["host0"] == engines["x"] == "host"
    assert {found["dtypes"][number] for number in found["dtype"]} == {"float32"}


def test_without_an_assignment_engines_are_unknown_and_dtypes_the_graphs():
    found = data(1)
    assert sorted(found["engines"]) == ["host", "unknown"] and found["dtypes"] == ["float32"]


def test_no_text_ends_the_script_early():
    result, options = divided(1)
    hostile = "</script><script>alert(1)</script>"
    told = answer(result, options)
    told["notes"] = [{"code": "X", "message": hostile, "subject": hostile, "level": "info"}]
    page = partition_page.page(result.graph, told, title=hostile, options={"in_out_pair": hostile})
    assert len(re.findall("</script>", page)) == 2
    assert "alert(1)</script>" not in page
