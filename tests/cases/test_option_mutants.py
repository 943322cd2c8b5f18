"""NPURunConfig and option files: every must is proven and has a fault of its own, every option every kind of fault."""

from __future__ import annotations

import pytest

from npu_conformance.library import Instance
from npu_reference.options import OPTIONS
from npu_reference.options.domains import Anything, Boolean, ConfigObject
from tests.cases.asking import ask
from tests.cases.corpus import corpus, mutants

SHOWN = ("config", "error", "log")
REQUIREMENTS = [
    one
    for one in corpus().requirements.values()
    if one.id.split(".")[0] in ("runconfig", "files") and one.observable in SHOWN and not one.excused
]
FACETS = {
    name: option.facet("runconfig", "current")
    for name, option in OPTIONS.items()
    if option.facet("runconfig", "current") is not None
}
#: Options of which the document states neither type nor example: not supported, or without effect.
UNSTATED = {"enable_reduce_precision", "graph_memory_max_size", "variable_memory_max_size"}
WITHOUT_DEFAULT = {"enable_reduce_precision"}
WITHOUT_EXAMPLE = UNSTATED | {"memory_config", "experimental_config"}
#: Options whose values the document bounds in no way that could be skipped, with the reason.
WITHOUT_DOMAIN = {
    "debug_dir": "any path of a directory",
    "local_rank_id": "the documents give no range (T16)",
    "input_fusion_size": "a value outside its range is brought back to it (T7): a dropped rule",
}


def test_every_requirement_has_a_case():
    cited = {name for case in corpus().cases.values() for name in case.requirements}
    assert len(REQUIREMENTS) > 300
    assert not [one.id for one in REQUIREMENTS if one.id not in cited]


def test_every_must_has_a_case_of_level_must_in_its_edition():
    proven = {
        (name, edition)
        for case in corpus().cases.values()
        if case.level == "must"
        for name in case.requirements
        for edition in case.editions
    }
    assert not [one.id for one in REQUIREMENTS if one.level == "must" and (one.id, one.edition) not in proven]


def test_every_must_has_a_mutant():
    broken = {mutant.requirement for mutant in mutants().values()}
    assert not [one.id for one in REQUIREMENTS if one.level == "must" and one.id not in broken]


def test_few_requirements_are_excused_and_each_says_why():
    excused = [
        one
        for one in corpus().requirements.values()
        if one.id.split(".")[0] in ("runconfig", "files") and one.observable in SHOWN and one.excused
    ]
    assert len(excused) <= 11
    assert all(one.excused.strip().endswith(".") for one in excused)


@pytest.mark.parametrize("name", FACETS)
def test_every_option_has_every_kind_of_fault_that_it_can_have(name):
    kinds = {mutant.split(".")[2] for mutant in mutants() if mutant.split(".")[:2] == ["options", name]}
    facet = FACETS[name]
    assert ("any_type" in kinds) == (name not in UNSTATED)
    assert ("wrong_default" in kinds) == (name not in WITHOUT_DEFAULT)
    assert ("ignored" in kinds) == (name not in WITHOUT_EXAMPLE)
    assert ("silent_deprecation" in kinds) == (facet.status in ("deprecated", "ignored"))
    assert ("any_class" in kinds) == isinstance(facet.domain, ConfigObject)
    bounded = not isinstance(facet.domain, (Boolean, Anything, ConfigObject))
    assert ("skipped_domain" in kinds) == (bounded and name not in WITHOUT_DOMAIN)


def test_every_case_of_the_files_fails_on_some_fault_or_is_a_control(tmp_path):
    faults = {name: mutant for name, mutant in mutants().items() if name.startswith("options.")}
    backends = {name: mutant.factory() for name, mutant in faults.items()}
    controls = {case.control for case in corpus().cases.values()}
    immortal = []
    for case in corpus().cases.values():
        if case.area != "options" or not case.topic.startswith("files_") or case.id in controls:
            continue
        own = [Instance(case, edition, "") for edition in case.editions]
        near = sorted(faults, key=lambda name: (faults[name].requirement not in case.requirements, name))
        if not any(ask(backends[name], one, str(tmp_path)).differences for name in near for one in own):
            immortal.append(case.id)
    assert not immortal
