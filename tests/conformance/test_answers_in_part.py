"""A backend that answers a method only in part, such as an installed adapter, is judged by what it tells.

What it said beforehand that it cannot tell is `unsupported`, which is neither a pass nor a failure. The tests make sure
that this excuses nothing else: wrong values, accepted errors, and backends that claim the method in full still fail.
"""

from __future__ import annotations

from typing import Any, Mapping

import pytest

from npu_conformance.backends import check
from npu_conformance.judging import judge
from npu_conformance.library.case import Instance
from npu_conformance.protocol import client
from npu_reference.errors import NpuError
from tests.conformance.shelves import Shelf

pytestmark = pytest.mark.oldest_at_night

FULL = judge.Claims(frozenset(["mixed"]), frozenset(["current"]), frozenset(["options"]))
PART = FULL._replace(in_part=frozenset(["options"]))

EXPECTS = {
    "contains": 'expect = { contains = ["effective depth = 3"] }',
    "forbid": 'expect = { forbid = ["warning depth *"] }',
    "any_of": 'expect = { any_of = [["effective depth = 3"], ["warning depth unknown"]] }',
    "rejected": 'expect = { rejected = { code = "OPTION_CONFLICT", subject = "depth" } }',
}


def instance(shelf: Shelf, expect: str) -> Instance:
    cases = f"""
[[case]]
id = "one"
title = "One thing is asserted"
requirements = ["small.two"]
editions = ["current"]
method = "options"
params = {{ values = {{ depth = 3 }} }}
{EXPECTS[expect]}
"""
    shelf.write("cases/mixed/one.toml", cases)
    return next(one for one in shelf.load().instances() if one.case.id == "one")


def status(one: Instance, told: Mapping[str, Any], claims: judge.Claims = PART) -> str:
    return judge.judge(one, client.Answered({"effective": {}, "warnings": [], **told}), claims=claims).status


UNSEEN = {"unseen": ["effective", "warnings"]}


@pytest.mark.parametrize("expect", ["contains", "forbid", "any_of"])
def test_what_is_unseen_is_unsupported_for_who_said_so_before(shelf: Shelf, expect: str) -> None:
    one = instance(shelf, expect)
    assert status(one, UNSEEN) == "unsupported"


@pytest.mark.parametrize("expect", ["contains", "any_of"])
def test_who_claims_the_method_in_full_is_not_excused(shelf: Shelf, expect: str) -> None:
    assert status(instance(shelf, expect), UNSEEN, FULL) == "fail"


def test_what_is_told_is_judged(shelf: Shelf) -> None:
    one = instance(shelf, "contains")
    assert status(one, {**UNSEEN, "effective": {"depth": {"value": 3}}}) == "pass"
    assert status(one, {**UNSEEN, "effective": {"depth": {"value": 4}}}) == "fail"


def test_accepting_what_is_to_be_refused_is_never_excused(shelf: Shelf) -> None:
    assert status(instance(shelf, "rejected"), UNSEEN) == "fail"


def test_a_refusal_may_lack_the_code_but_not_the_other_way_round(shelf: Shelf) -> None:
    body = {"code": "OPTION_VALUE", "message": "ValueError: no", "subject": "", "unseen": ["code", "subject"]}
    refused = instance(shelf, "rejected")
    assert judge.judge(refused, client.Rejected(body), claims=PART).status == "pass"
    assert judge.judge(refused, client.Rejected(body), claims=FULL).status == "fail"
    assert judge.judge(instance(shelf, "contains"), client.Rejected(body), claims=PART).status == "fail"


def test_unsupported_stays_an_overclaim_for_who_claims_in_full(shelf: Shelf) -> None:
    one = instance(shelf, "contains")
    assert judge.judge(one, client.UnsupportedOutcome("files"), claims=PART).status == "unsupported"
    assert judge.judge(one, client.UnsupportedOutcome("files"), claims=FULL).status == "overclaim"


@pytest.mark.parametrize("spec", ["adapter", "adapter:python3", "adapter:/opt/vendor/bin/python"])
def test_an_installed_adapter_is_a_backend(spec: str) -> None:
    check(spec)


def test_an_adapter_of_an_interpreter_that_is_not_there() -> None:
    check("adapter:/nowhere/python")
    with pytest.raises(NpuError, match="there is no interpreter"):
        client.command("adapter:/nowhere/python")
    with pytest.raises(NpuError, match="is no backend"):
        check("adapter: ")
