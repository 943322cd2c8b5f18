"""What a must allows, rule by rule as docs/write-a-backend.md states them, and what it does not."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from npu_conformance.backends.reference import ReferenceBackend
from npu_conformance.judging import judge
from npu_conformance.observing import values
from npu_conformance.protocol import client, requests
from tests.cases.corpus import corpus

SCALAR = "runconfig-dynamic-inputs-shape-range-scalar-refuses-1@current"
DEFAULTS = "defaults-on-session-legacy@legacy"


def instance(name: str) -> Any:
    return next(one for one in corpus().instances() if one.id == name)


def answer(name: str, folder: Any, **others: Any) -> Any:
    """What the reference answers to an instance, or to its question with other values."""
    one = instance(name)
    params = dict(requests.prepare(one, str(folder)).params)
    return copy.deepcopy(getattr(ReferenceBackend(), one.case.method)({**params, **others}))


def status(name: str, ok: Any) -> str:
    return judge.judge(instance(name), client.Answered(ok)).status


@pytest.mark.parametrize(
    "option, told, expected",
    [
        ("graph_memory_max_size", 27917287424, "pass"),  # a number for its text
        ("graph_memory_max_size", "27917287425", "fail"),
        ("session_device_id", 3, "pass"),  # no document gives a default
        ("buffer_optimize", "off_optimize", "fail"),
        ("op_compiler_cache_dir", "$HOME/atc_data/", "pass"),  # the same place
        ("op_compiler_cache_dir", "/home/test/atc", "fail"),
        ("enable_exception_dump", False, "fail"),  # a truth value is no number
    ],
)
def test_a_default_may_be_written_otherwise_and_must_mean_the_same(tmp_path, option, told, expected):
    ok = answer(DEFAULTS, tmp_path)
    ok["effective"][option]["value"] = told
    assert status(DEFAULTS, ok) == expected


@pytest.mark.parametrize(
    "option, one, other, same",
    [
        ("dump_step", "0|3-5|10", "0|3|4|5|10", True),
        ("dump_step", "0|3-5", "0|3|5", False),
        ("enable_scope_fusion_passes", "A,B", "B, A", True),
        ("local_device_list", "0,1", "1,0", False),
        ("in_out_pair", "[[['a'], ['b']]]", "[[['a'],['b']]]", True),
        ("debug_dir", ".", "./", True),
        ("debug_dir", ".", "..", False),
        ("graph_run_mode", 1, True, False),
    ],
)
def test_values_are_the_same_if_they_mean_the_same(option, one, other, same):
    assert values.same(option, one, other) is same


@pytest.mark.parametrize(
    "name, option, told, expected",
    [
        ("session-graph-run-mode-wrong-type@legacy", "graph_run_mode", 1, "pass"),  # the text 1
        ("session-graph-run-mode-wrong-type@legacy", "graph_run_mode", 0, "fail"),  # another value
        ("session-dump-mode-no-word-5@legacy", "dump_mode", "all", "pass"),  # `all` and a blank
        ("session-op-select-implmode-no-word-7@current", "op_select_implmode", "high_precision", "pass"),  # capitals
        ("session-op-select-implmode-no-word-7@current", "op_select_implmode", "high_performance", "fail"),
        ("session-fusion-switch-file-not-from-b@legacy", "fusion_switch_file", None, "pass"),  # false: no file
        ("session-dynamic-dims-min-two-refuses-1@legacy", "dynamic_dims", "20,20,1,1", "fail"),  # 002: more than one
        (SCALAR, "dynamic_inputs_shape_range", "data:[]", "fail"),  # 003 L1110: no space before []
        ("session-buffer-optimize-domain-refuses-1@legacy", "buffer_optimize", "off_optimize", "fail"),
    ],
)
def test_a_documented_value_may_be_written_otherwise_and_no_other_is_taken(name, option, told, expected):
    ok = {"effective": {option: {"value": told, "origin": "given"}}, "warnings": []}
    assert status(name, ok) == expected


REFUSED = "session-buffer-optimize-domain-refuses-1@legacy"


@pytest.mark.parametrize(
    "code, in_force, expected",
    [
        ("unknown", False, "pass"),
        ("unknown", True, "fail"),  # a warning does not undo that it takes effect
        ("training_only", True, "fail"),
        (None, False, "pass"),  # no document has a word of a warning
        (None, True, "fail"),
    ],
)
def test_a_value_no_document_lists_may_be_ignored(tmp_path, code, in_force, expected):
    given = instance(REFUSED).case.params["values"]
    ok = answer(REFUSED, tmp_path, values={})
    if in_force:
        ok["effective"]["buffer_optimize"] = {"value": values.unwrapped(given["buffer_optimize"]), "origin": "given"}
    ok["warnings"] = [{"option": "buffer_optimize", "code": code, "message": "ignored"}] if code else []
    assert status(REFUSED, ok) == expected


def test_what_a_document_calls_an_error_may_not_be_ignored(tmp_path):
    [name] = [
        one.id
        for one in corpus().instances()
        if one.case.requirements == ("precision.v1_v2_exclusive",) and one.case.expect.rejected and not one.twin
        if one.case.method == "options" and one.case.params["surface"] == "runconfig"
    ][:1]
    ok = answer(name, tmp_path, values={})
    ok["warnings"] = [{"option": "precision_mode", "code": "overridden", "message": "ignored"}]
    assert status(name, ok) == "fail"


def test_more_warnings_fail_nothing(tmp_path):
    name = "defaults-on-runconfig-current@current"
    ok = answer(name, tmp_path)
    ok["warnings"].append({"option": "buffer_optimize", "code": "advice", "message": "think twice"})
    assert status(name, ok) == "pass"


def partition(*geops: str, host: str = "x") -> Any:
    return {"geops": [{"nodes": list(nodes)} for nodes in geops], "host": [{"node": node} for node in host]}


@pytest.mark.parametrize(
    "told, expected",
    [
        (partition("ab"), "pass"),
        (partition("a", "b"), "pass"),  # cut into more
        (partition("a", host="xb"), "fail"),  # an operator is on the host
        (partition("ab", "x", host=""), "fail"),  # another is on the device
    ],
)
def test_geops_may_be_cut_into_more_with_every_operator_where_it_should_be(shelf, told, expected):
    one = next(one for one in shelf.load().instances() if one.case.id == "small-partition")
    assert judge.judge(one, client.Answered(told)).status == expected


def test_a_placeholder_may_be_anywhere_and_an_operator_only_where_it_belongs(tmp_path):
    name = "grid-variable-on-host-varhandleop@current"
    ok = answer(name, tmp_path)
    ok["host"] = [one for one in ok["host"] if one["node"] != "x"]
    ok["geops"][0]["nodes"].append("x")
    assert status(name, ok) == "pass"
    ok["geops"][0]["nodes"].append("read")
    assert status(name, ok) == "fail"
