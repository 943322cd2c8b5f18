"""Only the suite judges: each assertion of a case decides what it says, and nothing else."""

from __future__ import annotations

import base64
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_conformance.judging import differences, judge
from npu_conformance.library.case import Instance
from npu_conformance.protocol import client
from tests.conformance.shelves import Shelf

ANSWER = {"geops": [{"nodes": ["a", "b"]}], "host": [{"node": "x"}]}


def instance(shelf: Shelf, expect: str, golden: str = "", method: str = "partition", more: str = "") -> Instance:
    params = 'params = { graph = "small.pbtxt" }\n' if method != "options" else "params = {}\n"
    case = (
        f'[[case]]\nid = "one"\ntitle = "One"\nrequirements = ["small.one"]\nmethod = "{method}"\n'
        f'control = "two"\neditions = ["current"]\n{params}{more}expect = {{ {expect} }}\n'
    )
    other = '[[case]]\nid = "two"\ntitle = "T"\nrequirements = ["small.one"]\nmethod = "options"\nparams = {}\n'
    shelf.write("cases/small/topic.toml", case + other + 'expect = { forbid = ["q"] }\n')
    shelf.write("golden/small/topic.txt", golden or "# empty\n")
    return Instance(shelf.load().cases["one"], "current", "")


def judged(
    shelf: Shelf, expect: str, answer: Any = ANSWER, golden: str = "", method: str = "partition"
) -> judge.Result:
    outcome = answer if isinstance(answer, tuple) else client.Answered(answer)
    return judge.judge(instance(shelf, expect, golden, method), outcome)


def kinds(result: judge.Result) -> list:
    return [(difference.kind, difference.fact, difference.aspect) for difference in result.differences]


GOLDEN = "one | geop a node a\none | geop a node b\n"


def test_exactly_the_golden_passes(shelf: Shelf) -> None:
    result = judged(shelf, 'observe = ["geops"]', golden=GOLDEN)
    assert (result.status, result.differences, result.signature) == ("pass", (), "")


def test_a_missing_and_an_unexpected_fact_are_told_apart(shelf: Shelf) -> None:
    result = judged(shelf, 'observe = ["geops"]', {"geops": [{"nodes": ["a", "c"]}], "host": []}, GOLDEN)
    assert kinds(result) == [("missing", "geop a node b", "geops"), ("unexpected", "geop a node c", "geops")]
    assert result.signature == "partition/missing/geops"
    assert result.status == "fail"


def test_aspects_that_are_not_observed_do_not_count(shelf: Shelf) -> None:
    assert judged(shelf, 'observe = ["geops"]', {**ANSWER, "host": []}, GOLDEN).status == "pass"


def test_an_aspect_may_be_narrowed_to_some_subjects(shelf: Shelf) -> None:
    expect = 'observe = ["placement:a*"]'
    assert judged(shelf, expect, golden="one | device a\n").status == "pass"
    assert judged(shelf, expect, {"geops": [], "host": [{"node": "a"}]}, "one | device a\n").status == "fail"


def test_a_transfer_that_happens_twice_is_not_one(shelf: Shelf) -> None:
    copy = {"tensor": "x:0", "direction": "h2d", "bytes": 4}
    golden = "one | run 0 copy h2d x:0 4\n"
    once = {"fetches": {}, "trace": [{"copies": [copy]}]}
    twice = {"fetches": {}, "trace": [{"copies": [copy, copy]}]}
    assert judged(shelf, 'observe = ["transfers"]', once, golden, "run").status == "pass"
    assert kinds(judged(shelf, 'observe = ["transfers"]', twice, golden, "run")) == [
        ("unexpected", "run 0 copy h2d x:0 4", "transfers")
    ]


@pytest.mark.parametrize(
    "expect, status",
    [
        ('contains = ["device a", "geop * node b"]', "pass"),
        ('contains = ["device q"]', "fail"),
        ('contains = ["device"]', "fail"),
        ('forbid = ["host a", "device x"]', "pass"),
        ('forbid = ["device *"]', "fail"),
        ('any_of = [["device x"], ["device a", "host x"]]', "pass"),
        ('any_of = [["device x"], ["device a", "host b"]]', "fail"),
        ("bounds = { geops = { min = 1, max = 1 } }", "pass"),
        ("bounds = { geops = { max = 0 } }", "fail"),
        ("bounds = { geops = { min = 2 } }", "fail"),
        ("bounds = { min_geops = { min = 1 } }", "fail"),
    ],
)
def test_patterns_alternatives_and_bounds(shelf: Shelf, expect: str, status: str) -> None:
    assert judged(shelf, expect).status == status


def test_all_assertions_of_a_case_must_hold(shelf: Shelf) -> None:
    result = judged(shelf, 'contains = ["device a"], forbid = ["host x"], bounds = { geops = { max = 0 } }')
    assert [difference.kind for difference in result.differences] == ["forbidden", "bound"]


def refusal(code: str, subject: str) -> client.Rejected:
    return client.Rejected({"code": code, "message": "because", "subject": subject})


def test_the_words_of_a_refusal_are_a_should(shelf: Shelf) -> None:
    outcome = refusal("OPTION_CONFLICT", "in_out_pair")
    for pattern, told in (("be*", ""), ("*never*", "advice: message: because; expected *never*")):
        expect = f'rejected = {{ code = "OPTION_CONFLICT", message = "{pattern}" }}'
        result = judged(shelf, expect, outcome)
        assert (result.status, result.detail) == ("pass", told)


@pytest.mark.parametrize(
    "outcome, status, signature",
    [
        (refusal("OPTION_CONFLICT", "in_out_pair"), "pass", ""),
        (refusal("OPTION_VALUE", "in_out_pair"), "pass", ""),
        (refusal("OPTION_TYPE", "in_out_pair"), "pass", ""),
        (refusal("OPTION_CONFLICT", "an operator of the graph"), "pass", ""),
        (refusal("OPTION_CONFLICT", ""), "fail", "partition/unrelated/rejected"),
        (client.Answered(ANSWER), "fail", "partition/accepted/rejected"),
        (client.UnsupportedOutcome("it"), "overclaim", "partition/overclaim"),
        (client.Failed("oops"), "fail", "partition/error"),
        (client.Crashed(-11, ""), "crash", "partition/crash"),
        (client.TimedOut(1.0, ""), "timeout", "partition/timeout"),
        (client.Nonsense("?"), "protocol-error", "partition/protocol-error"),
    ],
)
def test_a_case_that_expects_a_refusal(shelf: Shelf, outcome: Any, status: str, signature: str) -> None:
    expect = 'rejected = { code = ["OPTION_CONFLICT", "OPTION_VALUE"], subject = "in_out*" }'
    result = judged(shelf, expect, outcome)
    assert (result.status, result.signature) == (status, signature)


def test_an_error_names_what_its_document_says_in_code_subject_or_message(shelf: Shelf) -> None:
    expect = 'rejected = { code = "DEVICE_FAULT", names = "EZ9999" }'
    for code, subject, found in (("EZ9999", "mul", []), ("A", "EZ9999", []), ("DEVICE_FAULT", "mul", ["unnamed"])):
        result = judged(shelf, expect, refusal(code, subject))
        assert [kind for kind, _, _ in kinds(result) if kind == "unnamed"] == found
        assert result.status == ("fail" if found else "pass")


def test_what_waits_for_ever_did_not_end_in_time(shelf: Shelf) -> None:
    outcome = refusal("DEVICE_ENDLESS", "mul")
    assert judged(shelf, 'rejected = { code = "DEVICE_TIMEOUT" }', outcome).signature == "partition/endless/rejected"
    assert judged(shelf, 'rejected = { code = "DEVICE_ENDLESS" }', outcome).status == "pass"


def test_a_refusal_where_an_answer_is_due_fails(shelf: Shelf) -> None:
    result = judged(shelf, 'forbid = ["q"]', refusal("USAGE", "s"))
    assert (result.status, result.signature) == ("fail", "partition/refused/rejected")


def test_the_words_of_a_refusal_are_told_in_bounded_length(shelf: Shelf) -> None:
    """A million characters of it in each of five thousand cases would be a page that nobody opens."""
    outcome = client.Rejected({"code": "USAGE", "message": "m" * 1000000, "subject": "s"})
    [difference] = judged(shelf, 'forbid = ["q"]', outcome).differences
    assert len(difference.fact) < 2000
    assert len(judged(shelf, 'rejected = { code = "USAGE", message = "never" }', outcome).detail) < 2000


def fetched(*numbers: float) -> dict:
    raw = struct.pack(f"<{len(numbers)}f", *numbers)
    tensor = {"dtype": "float32", "shape": [len(numbers)], "b64": base64.b64encode(raw).decode()}
    return {"fetches": {"y:0": tensor}}


VALUES = 'values = { "y:0" = { dtype = "float32", shape = [2], data = [1.0, nan], atol = 0.1, rtol = 0.0 } }'


@pytest.mark.parametrize(
    "numbers, status",
    [
        ((1.05, float("nan")), "pass"),
        ((1.2, float("nan")), "fail"),
        ((1.0, 0.0), "fail"),
        ((float("nan"), float("nan")), "fail"),
        ((1.0, float("nan"), 1.0), "fail"),
    ],
)
def test_values_within_the_bounds_of_the_case(shelf: Shelf, numbers: tuple, status: str) -> None:
    assert judged(shelf, VALUES, fetched(*numbers), method="run").status == status


def test_a_bound_of_zero_is_exact(shelf: Shelf) -> None:
    expect = 'values = { "y:0" = { dtype = "float32", shape = [1], data = [1.0] } }'
    assert judged(shelf, expect, fetched(1.0), method="run").status == "pass"
    assert judged(shelf, expect, fetched(1.0000001), method="run").status == "fail"


def test_a_value_that_is_not_fetched_fails(shelf: Shelf) -> None:
    assert judged(shelf, VALUES, {"fetches": {}}, method="run").status == "fail"
    assert judged(shelf, 'finite = ["y:0"]', {"fetches": {}}, method="run").status == "fail"


@pytest.mark.parametrize("number, status", [(1.0, "pass"), (float("inf"), "fail"), (float("nan"), "fail")])
def test_finite(shelf: Shelf, number: float, status: str) -> None:
    assert judged(shelf, 'finite = ["y:0"]', fetched(0.0, number), method="run").status == status


def test_a_tensor_that_does_not_fit_its_shape_is_no_answer_of_the_protocol(shelf: Shelf) -> None:
    answer = fetched(1.0)
    answer["fetches"]["y:0"]["shape"] = [3]
    assert judged(shelf, 'finite = ["y:0"]', answer, method="run").status == "protocol-error"


@given(st.lists(st.sampled_from(judge.ORDER), min_size=1))
def test_the_worst_status_wins_whatever_the_order(statuses: list) -> None:
    assert judge.worst(statuses) == judge.worst(statuses[::-1]) == sorted(statuses, key=judge.ORDER.index)[0]


@pytest.mark.parametrize(
    "statuses, verdict",
    [
        ([("pass", "must")], "conformant"),
        ([("pass", "must"), ("unsupported", "must"), ("xfail", "must")], "conformant"),
        ([("pass", "must"), ("fail", "should")], "conformant"),
        ([("pass", "must"), ("fail", "must")], "not conformant"),
        ([("pass", "must"), ("crash", "may")], "not conformant"),
        ([("pass", "must"), ("overclaim", "should")], "not conformant"),
        ([("pass", "must"), ("unstable", "must")], "not conformant"),
        ([("pass", "must"), ("xpass", "must")], "not conformant"),
        ([("pass", "must"), ("not-run", "must")], "incomplete"),
        ([("pass", "must"), ("blocked", "must")], "incomplete"),
        ([("unsupported", "must")], "incomplete"),
        ([], "incomplete"),
    ],
)
def test_the_verdict(statuses: list, verdict: str) -> None:
    assert judge.verdict(statuses) == verdict


@pytest.mark.parametrize(
    "pattern, subject, fits",
    [
        ("a*", "abc", True), ("a*c", "abc", True), ("*", "", True), ("a.c", "abc", False), ("[a]", "a", False),
        ("a[0]*", "a[0]\nb", True), ("a", "ab", False),
    ],
)  # fmt: skip
def test_in_a_pattern_only_the_star_is_special(pattern: str, subject: str, fits: bool) -> None:
    assert differences.matches(pattern, subject) is fits
