"""The precision cases: graphs current, every mode told from every other, every requirement proven and broken."""

from __future__ import annotations

import pytest

from npu_conformance.library.case import Instance
from npu_conformance.strength import killing
from tests.cases.asking import ask
from tests.cases.corpus import corpus, mutants

pytestmark = pytest.mark.not_oldest

#: Cases on the graphs that tell the modes apart, by edition and by mode; several names of one mode stand together.
MODES = {
    "legacy": {
        "allow": ("legacy-allow-fp32-to-fp16", "legacy-allow-convolutions"),
        "force_fp16": ("legacy-force-fp16",),
        "force_fp32": ("legacy-force-fp32",),
        "keep": ("legacy-must-keep", "legacy-must-keep-convolution"),
        "mix": ("legacy-mix-on-both-dtypes", "legacy-mix"),
    },
    "current": {
        "allow": ("precision-unset", "precision-inference-default", "precision-allow-fp32-to-fp16"),
        "force_fp16": ("precision-force-fp16", "precision-v2-fp16"),
        "cube": ("precision-cube-fp16in-fp32out", "precision-force-fp32", "precision-v2-cube-fp16in-fp32out"),
        "keep": ("precision-must-keep", "precision-v2-origin"),
        "mix": ("precision-mix-on-both-dtypes", "precision-v2-mixed-float16-on-both-dtypes"),
    },
}


@pytest.mark.parametrize("edition", MODES)
def test_no_mode_has_the_answer_of_another_on_the_cases_that_are_its_own(edition):
    cases = corpus().cases
    expected = {
        mode: [
            (cases[name].params["graph"], cases[name].expect.rejected or cases[name].expect.golden[edition])
            for name in names
        ]
        for mode, names in MODES[edition].items()
    }
    for mode, answers in expected.items():
        for other, theirs in expected.items():
            apart = [1 for graph, one in answers for same, two in theirs if graph == same and one != two]
            assert apart or mode == other, (mode, other)


@pytest.mark.parametrize("edition", MODES)
def test_the_names_of_one_mode_have_one_answer(edition):
    for names in MODES[edition].values():
        by_graph = {}
        for name in names:
            case = corpus().cases[name]
            if case.expect.golden:
                by_graph.setdefault(case.params["graph"], set()).add(case.expect.golden[edition])
        assert all(len(answers) == 1 for answers in by_graph.values())


@pytest.mark.nightly
def test_every_case_fails_on_some_mutant_or_is_a_control(tmp_path):
    faults = {name: one for name, one in mutants().items() if ".mutants.precision_" in one.factory.__module__}
    backends = {name: one.factory() for name, one in faults.items() if "run" not in vars(one.factory)}
    controls = {case.control for case in corpus().cases.values()}
    immortal = []
    for case in corpus().cases.values():
        if case.method != "precision" or case.id in controls:
            continue
        own = [Instance(case, edition, "") for edition in case.editions]
        near = sorted(backends, key=lambda name: (faults[name].requirement not in case.requirements, name))
        if not any(ask(backends[name], one, str(tmp_path)).differences for name in near for one in own):
            immortal.append(case.id)
    assert not immortal


def test_a_fault_of_running_shows_only_where_something_runs():
    of_values, of_dtypes = mutants()["values-of-fp16-in-float32"], mutants()["v2-fp16-mixes"]
    assert [killing.can_show(of_values, method) for method in ("precision", "run")] == [False, True]
    assert killing.can_show(of_dtypes, "precision")
