"""Where the page of options says that a run shows an option: the run answers otherwise without it; TensorFlow."""

from __future__ import annotations

import copy
import importlib
import json
import sys

import pytest

from npu_conformance.backends.reference import ReferenceBackend
from npu_conformance.library.shown import UNCHANGED, shown
from npu_conformance.protocol import requests
from npu_reference.options import resolve as resolving
from tests.cases.asking import TENSORFLOW_METHODS
from tests.cases.corpus import corpus
from tests.cases.test_shown import said, without

pytestmark = pytest.mark.tensorflow

FEATURES = frozenset(ReferenceBackend().hello({"protocol": 1})["capabilities"]["features"])


def instance_of(case):
    return next((one for one in corpus().instances() if one.case.id == case and not one.twin), None)


ROWS = [
    (option, words, case)
    for option, kinds in shown(corpus()).items()
    for words, case in kinds
    if corpus().cases[case].method in TENSORFLOW_METHODS and corpus().cases[case].needs <= FEATURES
]


def blind_to(monkeypatch, option):
    """Let nobody who resolves options in this process hear of one: whatever way a script gives it."""

    def resolve(values, *args, **kwargs):
        heard = {name: value for name, value in values.items() if name.partition(".")[0] != option}
        return resolving(heard, *args, **kwargs)

    # What is given to a single graph is no option of a session.
    def blind(own):
        return lambda fetch, **given: own(fetch, **{name: value for name, value in given.items() if name != option})

    importlib.import_module("npu_bridge.estimator.npu.util")
    for name, module in list(sys.modules.items()):
        if not name.startswith(("npu_reference.", "npu_bridge.")):
            continue
        if getattr(module, "resolve", None) is resolving:
            monkeypatch.setattr(module, "resolve", resolve)
        of_a_graph = vars(module).get("set_graph_exec_config")
        if of_a_graph is not None:
            monkeypatch.setattr(module, "set_graph_exec_config", blind(of_a_graph))


def test_there_are_runs_that_show_options():
    assert len(ROWS) > 15


@pytest.mark.parametrize("option, words, case", ROWS, ids=[f"{option}-{case}" for option, _, case in ROWS])
def test_a_run_that_shows_an_option_answers_otherwise_without_it(option, words, case, tmp_path, monkeypatch):
    instance = instance_of(case)
    backend = ReferenceBackend()
    params = requests.prepare(instance, str(tmp_path)).params
    given = said(backend, instance.case.method, copy.deepcopy(params))
    other = without(copy.deepcopy(params), option)
    if other == params:
        blind_to(monkeypatch, option)
    less = said(backend, instance.case.method, other)
    assert (less == given) == (words == UNCHANGED), json.dumps([str(line) for line in less if line not in given])[:500]
