"""Where the page of options says that an option can be seen: the case is about it, and answers otherwise without it."""

from __future__ import annotations

import copy
import json

import pytest

from npu_conformance.backends import base
from npu_conformance.backends.reference import ReferenceBackend
from npu_conformance.library.shown import UNCHANGED, WORDS, shown
from npu_conformance.observing import observe
from npu_conformance.protocol import requests
from tests.cases.asking import TENSORFLOW_METHODS
from tests.cases.corpus import corpus

pytestmark = pytest.mark.not_oldest

ROWS = [(option, words, case) for option, kinds in shown(corpus()).items() for words, case in kinds]

#: What is shown is that nothing changes.
NO_EFFECT = {("enable_exception_dump", WORDS["trace/timing"])}


def without(value, option):
    """A request in which nothing is given for an option."""
    if isinstance(value, dict):
        return {key: without(one, option) for key, one in value.items() if key.partition(".")[0] != option}
    return [without(one, option) for one in value] if isinstance(value, list) else value


def said(backend, method, params):
    answer = base.answer(backend, 1, method, params)
    return observe.facts(method, answer["ok"]) if "ok" in answer else answer


@pytest.fixture(scope="module")
def instances():
    found = {}
    for one in corpus().instances():
        if not one.twin:
            found.setdefault(one.case.id, one)
    return found


@pytest.mark.parametrize("words", WORDS.values())
def test_a_case_that_shows_an_option_answers_otherwise_without_it(words, instances, tmp_path):
    backend, alike = ReferenceBackend(), []
    for option, kind, case in ROWS:
        if kind != words:
            continue
        method = instances[case].case.method
        params = requests.prepare(instances[case], str(tmp_path)).params
        if method in TENSORFLOW_METHODS:
            if option not in json.dumps(params, default=str) and "script" not in params and "source" not in params:
                alike.append((option, case))
            continue
        given = said(backend, method, params)
        if words == WORDS["config"]:
            if not any(option in line for line in given):
                alike.append((option, case))
            continue
        other = without(copy.deepcopy(params), option)
        # An option of the environment is not among the values; then the case is about the variable.
        if (other == params or said(backend, method, other) == given) and (option, words) not in NO_EFFECT:
            alike.append((option, case))
    assert [row for row in alike if row[0] not in instances[row[1]].case.params.get("env", {})] == []


def test_every_kind_of_observation_is_shown_of_some_option():
    assert {words for _, words, _ in ROWS} == {*WORDS.values(), UNCHANGED} and len(ROWS) > 200
