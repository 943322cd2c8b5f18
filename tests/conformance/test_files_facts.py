"""Facts of files: what varies is replaced by words, what is a backend's own business is no fact."""

from __future__ import annotations

import base64
import json

import pytest

from npu_conformance.observing import files, left_files, observe
from npu_conformance.protocol import messages as protocol
from npu_conformance.running import checkup


def told(text):
    return {"b64": base64.b64encode(text.encode()).decode()}


def facts(turn, *aspects):
    answer = {"turns": [turn]}
    assert protocol.ok_fault("compile", answer) is None
    found = observe.observations("compile", answer)
    return [fact.text for fact in found if not aspects or fact.aspect in aspects]


@pytest.mark.parametrize(
    "path, name",
    [
        ("tmp_weight_12_0/weight_0aF", "tmp_weight_<pid>_<session>/weight_<hash>"),
        ("work/FE/77/fusion_result.json", "work/FE/<pid>/fusion_result.json"),
        ("work/FE/77fusion_result.json", "work/FE/<pid>/fusion_result.json"),
        ("c/kernel_cache_host1/a/b.json", "c/kernel_cache_<host>/*"),
        ("k/kernel_cache/anything/at/all.x", "k/kernel_cache/*"),
        ("k/kernel_cache/kernel_cache/x.o", "k/kernel_cache/kernel_cache/*"),
        ("k/kernel_cache/op_cache.ini", "k/kernel_cache/op_cache.ini"),
        ("k/kernel_cache/a/te_filler3_00.o", "k/kernel_cache/<filler>"),
        ("d/kernel_meta/abc_1.o", "d/kernel_meta/<relu>.o"),
        ("d/kernel_meta/abc_12_loc.json", "d/kernel_meta/<sum>_loc.json"),
        ("d/kernel_meta/memset.o", ""),
        ("weight_xyz", "weight_xyz"),
    ],
)
def test_what_varies_is_replaced_by_words(path, name):
    assert files.name_of(path, files.Stems({"abc_1": "relu", "abc_12": "sum", "memset": ""})) == name


def test_a_kind_of_file_says_the_same_whoever_left_it():
    counts = {"match_times": "2", "effect_times": "3"}
    text = json.dumps({"session_and_graph_id_0_0": {"ub_fusion": {"A": counts}}})
    compiled = facts({"left": {"fusion_result.json": told(text)}}, "contents")
    answer = {"files": {"fusion_result.json": told(text), "other": told("x")}}
    ran = [fact.text for fact in observe.observations("run", answer)]
    assert [one.replace("turn 0 ", "", 1) for one in compiled] == [one for one in ran if one.startswith("in ")]
    assert any("takes effect more often" in one for one in ran)
    assert [one for one in ran if not one.startswith("in ")] == [
        "file other sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
    ]


def test_every_kind_is_registered_once():
    names = list(left_files.KINDS)
    assert {"dump", "profile", "fusion results", "code of a kernel", "limits of the cache", "description"} == set(names)


def test_names_of_kernels_are_their_first_operators_and_equal_kernels_share_one():
    kernels = [
        {"kernel": "k1", "nodes": ["b", "c"], "origin": "compiled"},
        {"kernel": "k1", "nodes": ["a"], "origin": "reused"},
        {"kernel": "k2", "nodes": [], "origin": "compiled"},
        {"kernel": "", "nodes": ["cpu"], "origin": "built_in"},
    ]
    turn = {"kernels": kernels, "left": {"kernel_meta/k1.o": {"bytes": 3}, "kernel_meta/k2.o": {"bytes": 3}}}
    assert facts(turn, "left") == ["turn 0 left kernel_meta/<a>.o"]
    assert facts(turn, "kernels") == ["turn 0 kernel a reused", "turn 0 kernel b compiled"]


def test_how_many_kernels_there_are_is_no_fact():
    several = facts({"hits": 3, "misses": 0})
    assert several == facts({"hits": 9, "misses": 0}) == ["turn 0 reused some compiled none"]


OOM = """inline __aicore__ void CheckInvalidAccessOfDDR(xxx) {
if (access_offset<0 || access_offset + access_extent > ddr_size)
{ if (read_or_write == 1) { trap(0x5a5a0001); } else { trap(0X5A5A0002); } } }"""
FLAGS = [f"set_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID{event});" for event in range(4)]
BARRIERS = [f"pipe_barrier(PIPE_{pipe});" for pipe in ("MTE3", "MTE2", "M", "V", "MTE1", "ALL")]
WAITS = [f"wait_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID{event});" for event in range(4)]


@pytest.mark.parametrize(
    "code, said",
    [
        ("nothing", []),
        (OOM, ["the oom check"]),
        (OOM.replace("0002", "0001"), ["another oom check"]),
        (OOM.replace("== 1", "== 0"), ["another oom check"]),
        ("\n".join([*FLAGS, "x();", *BARRIERS, *WAITS]), ["the flag check"]),
        ("\n".join([*FLAGS, *WAITS, *BARRIERS]), ["another flag check"]),
        ("\n".join([*FLAGS[1:], *BARRIERS, *WAITS]), ["another flag check"]),
    ],
)
def test_the_documented_checks_are_known_in_any_layout_and_no_others(code, said):
    found = facts({"left": {"kernel_meta/k.cce": told(code)}}, "contents")
    assert found == [f"turn 0 in kernel_meta/k.cce has {one}" for one in said]


def test_counts_of_fusion_may_be_numbers_or_texts_and_contradictions_show():
    counts = {"match_times": "1", "effect_times": 2}
    result = {"session_and_graph_id_7_3": {"ub_fusion": {"Pass": counts}}, "mine": 1}
    found = facts({"left": {"fusion_result.json": told(json.dumps(result))}}, "contents")
    assert "turn 0 in fusion_result.json key mine" in found
    assert "turn 0 in fusion_result.json graph 0 ub_fusion Pass match_times 1" in found
    assert "turn 0 in fusion_result.json graph 0 ub_fusion Pass takes effect more often than it matches" in found


@pytest.mark.parametrize("text", ["[]", "", "[" * 9000, '{"session_and_graph_id_0_0": 3}', '{"a": {"b": []}}'])
def test_any_text_in_a_file_is_read_in_peace(text):
    for name in ("fusion_result.json", "k/op_cache.ini", "kernel_meta/k.cce", "kernel_meta/k.json"):
        assert facts({"left": {name: told(text)}}, "left") == [f"turn 0 left {name}"]


def test_a_file_that_is_no_base64_is_nonsense():
    with pytest.raises(left_files.BadFile):
        facts({"left": {"fusion_result.json": {"b64": "?"}}})


def test_the_library_tells_places_without_the_chip_and_refuses_odd_permissions():
    one = {
        "path": "opp/config/chip9/aic-chip9-ops-info.json",
        "mode": "0444",
        "text": '{"Relu": {"input0": {"dtype": "float16, float"}}}',
    }
    found = [fact.text for fact in observe.observations("library", {"files": [one]})]
    assert found == [
        "library Relu input0 float float16",
        "library Relu precision_reduce not given",
        "library opp/config/<soc>/aic-<soc>-ops-info.json",
        "library opp/config/<soc>/aic-<soc>-ops-info.json not writable",
    ]
    with pytest.raises(left_files.BadFile):
        observe.observations("library", {"files": [{**one, "mode": "r--"}]})


class _Wire:
    """A worker that claims some features and leaves some files."""

    def __init__(self, features, left):
        self.features, self.left = features, left

    def ask(self, identifier, method, params):
        if method == "hello":
            return {"ok": {"capabilities": {"features": self.features}}}, None
        return {"ok": {"turns": [{"left": {path: {"bytes": 0} for path in self.left}}]}}, None


@pytest.mark.parametrize(
    "features, left, passes",
    [
        (["compile"], ["tmp/x/kernel_meta/a.o"], True),
        (["compile"], ["/tmp/x/kernel_meta/a.o"], False),
        (["compile"], ["a/../../b"], False),
        (["run"], ["/anything"], True),
    ],
)
def test_worker_check_sees_files_that_do_not_lie_in_the_folder(features, left, passes):
    assert (checkup._keeps_inside(_Wire(features, left)) is None) == passes
