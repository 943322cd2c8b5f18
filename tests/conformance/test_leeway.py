"""What a `must` allows an answer to tell otherwise, and what it does not: judged by facts alone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Sequence

import pytest

from npu_conformance.judging import leeway
from npu_conformance.judging.differences import Difference
from npu_conformance.observing.observe import Fact


def case(method: str = "run", contains: Sequence[str] = (), golden: Sequence[str] = (), **params: Any) -> Any:
    expect = SimpleNamespace(contains=tuple(contains), any_of=(), golden={"current": tuple(golden)}, unset=())
    given = {"surface": "runconfig", "values": {}, **params}
    return SimpleNamespace(method=method, level="must", expect=expect, params=given)


def serious(difference: Difference, asked: Any) -> bool:
    return bool(leeway.serious(asked, "current", [difference], ()))


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text("print('loss', 0.5)\nprint(name + ': taken')\n", "utf-8")
    return str(path)


@pytest.mark.parametrize("line", ["printed [runtime] device opened", "rank 1 printed 2 times heartbeat 7"])
def test_a_runtime_may_print_lines_of_its_own(script, line):
    assert not serious(Difference("unexpected", line, "output"), case(script=script))


@pytest.mark.parametrize("line", ["printed loss 0.75", "rank 1 printed loss 0.5", "printed 2 times first: taken"])
def test_a_line_that_the_script_may_have_printed_has_to_be_expected(script, line):
    asked = case(script=script, golden=["printed first: taken"])
    assert serious(Difference("unexpected", line, "output"), asked)


@pytest.mark.parametrize(
    ("wanted", "told", "kind"),
    [
        ("failed RUN_FAILED table", "failed DEVICE_FAULT table", "code"),
        ("failed RUN_FAILED table", "failed RUN_FAILED graph.pb", "subject"),
        ("rank 1 failed RUN_FAILED table", "rank 1 failed E1", "code"),
        ("run 0 copy h2d x:0 16", "run 0 copy h2d x:0 ?", "unknown"),
    ],
)
def test_an_event_of_a_run_that_is_told_otherwise_is_one_difference_which_fails_nothing(wanted, told, kind):
    differences = [Difference("missing", wanted, "a"), Difference("unexpected", told, "a")]
    found = leeway.told_otherwise(differences, [told])
    assert [one.kind for one in found] == [kind]
    assert not serious(found[0], case())


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ("rank 1 failed RUN_FAILED table", "rank 0 failed RUN_FAILED table"),
        ("run 0 copy h2d x:0 16", "run 0 copy h2d x:0 8"),
        ("run 0 copy h2d x:0 16", "run 0 copy d2h x:0 ?"),
        ("failed RUN_FAILED table", "engine ran"),
    ],
)
def test_another_event_is_a_difference(wanted, told):
    differences = [Difference("missing", wanted, "a"), Difference("unexpected", told, "a")]
    assert leeway.told_otherwise(differences, [told]) == differences


DUMP = "exception_dump extra-info/data-dump/<device> x input 0 holds 00"


def moved(folder: str, wanted: str, **params: Any) -> bool:
    fact = Fact("exception_dump", "x", f"exception_dump {folder} x input 0 holds 00")
    (found,) = leeway.in_its_words(case(contains=[wanted], **params), "current", [fact])
    return found.text == wanted


@pytest.mark.parametrize("folder", [".", "dumps", "extra-info/data-dump/<device>"])
def test_a_common_exception_dump_may_lie_anywhere_below_the_current_directory(folder):
    assert moved(folder, DUMP, values={"enable_exception_dump": 1})


def test_a_common_exception_dump_in_the_work_path_is_in_the_wrong_place():
    env = {"ASCEND_WORK_PATH": "/work"}
    assert not moved("work/extra-info/data-dump/<device>", DUMP, values={"enable_exception_dump": 1}, env=env)


def test_a_lite_exception_dump_lies_where_the_document_says():
    assert not moved(".", DUMP, values={"enable_exception_dump": 2})


@pytest.mark.parametrize(("folder", "fits"), [("all", True), ("all/one", True), ("alls", False), (".", False)])
def test_a_collected_exception_dump_may_lie_anywhere_below_the_folder_that_is_named(folder, fits):
    wanted = DUMP.replace("extra-info", "all/extra-info")
    assert moved(folder, wanted, env={"NPU_COLLECT_PATH": "/all"}) is fits


@pytest.mark.parametrize(("number", "fits"), [("", True), (" x 2", True), (" x 3", False)])
def test_weights_may_share_files_and_do_not_lie_in_more_than_there_are(number, fits):
    fact = Fact("wrote", "w", f"turn 0 wrote w/weight_<hash>{number}")
    wanted = "turn 0 wrote w/weight_<hash> x 2"
    (found,) = leeway.in_its_words(case("compile", golden=[wanted]), "current", [fact])
    assert (found.text == wanted) is fits


@pytest.mark.parametrize(("mode", "fails"), [("allow_fp32_to_fp16", False), ("must_keep_origin_dtype", True)])
def test_float64_is_held_to_a_mode_that_keeps_every_type_alone(mode, fails):
    asked = case("precision", values={"precision_mode": mode})
    missing = Difference("missing", "dtypes add64 float64 float64 -> float64", "dtypes")
    told = Difference("unexpected", "dtypes add64 float32 float32 -> float32", "dtypes")
    assert bool(leeway.serious(asked, "current", [missing, told], ())) is fails


def test_beside_float64_other_types_are_held_to_the_mode():
    asked = case("precision", values={"precision_mode": "allow_fp32_to_fp16"})
    missing = Difference("missing", "dtypes add64 float64 float64 -> float64", "dtypes")
    other = Difference("unexpected", "dtypes add32 float16 float16 -> float16", "dtypes")
    widened = Difference("unexpected", "dtypes add32 float64 float64 -> float64", "dtypes")
    assert leeway.serious(asked, "current", [missing, other, widened], ()) == [other, widened]


def test_a_pass_that_is_off_may_be_told_with_what_it_matched():
    told = "turn 1 pass UBFusion Some matched 2 effective 0"
    assert not serious(Difference("forbidden", told, "passes"), case("compile"))
    assert serious(Difference("forbidden", told.replace("effective 0", "effective 1"), "passes"), case("compile"))
