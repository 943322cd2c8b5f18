"""A backend that can be asked only in part is judged by what it tells; the rest is neither a pass nor a failure."""

from __future__ import annotations

from typing import Any, Mapping

import pytest

from npu_conformance.backends import check
from npu_conformance.judging import judge
from npu_conformance.library import library
from npu_conformance.library.library import Instance
from npu_conformance.protocol import client
from npu_reference.errors import NpuError
from tests.conformance.shelves import Shelf

FULL = judge.Claims(frozenset(["mixed"]), frozenset(["current"]), frozenset(["options"]))
PART = FULL._replace(in_part=frozenset(["options"]))

EXPECTS = {
    "contains": 'expect = { contains = ["effective depth = 3"] }',
    "observe": 'expect = { observe = ["effective:depth"] }',
    "forbid": 'expect = { forbid = ["warning depth *"] }',
    "any_of": 'expect = { any_of = [["effective depth = 3"], ["warning depth unknown"]] }',
    "rejected": 'expect = { rejected = "OPTION_CONFLICT", subject = "depth" }',
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
    shelf.write("cases", cases) if hasattr(shelf, "write") else None
    return shelf.load().instances()[0]
