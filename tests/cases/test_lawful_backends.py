"""Lawful backends, which do otherwise what the documents leave open: the suite calls every one conformant."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Iterator

import pytest

from npu_conformance.backends.reference import tensorflow_version
from npu_conformance.judging import judge
from npu_conformance.library import inventory
from npu_conformance.strength.laws import asking
from tests.cases.corpus import corpus
from tests.depth import at_night, share

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"

sys.path.insert(0, str(BENCHMARKS))
try:
    import faulty_backends
    from lawful import LAWFUL
finally:
    sys.path.remove(str(BENCHMARKS))

INSTALLED = tensorflow_version() is not None

#: Runs are judged where there is TensorFlow, everything else where there is none: each of them in one environment.
HERE = {name: [method for method in one.methods if (method == "run") == INSTALLED] for name, one in LAWFUL.items()}

#: A change asks one of so many instances of each method; the nightly run asks all.
ONE_OF = share(80, 1)


@pytest.fixture(scope="module")
def panels() -> Iterator[Any]:
    with faulty_backends.Panels(corpus()) as made:
        yield made


@pytest.mark.parametrize(
    "name", [name if "run" not in HERE[name] else at_night(name) for name in sorted(HERE) if HERE[name]]
)
def test_a_lawful_backend_is_conformant(panels: Any, name: str) -> None:
    backend = LAWFUL[name].backend
    claims = judge.Claims.of(backend.hello({"protocol": 1}))
    failed = {}
    for method in HERE[name]:
        ids = [key for key, one in panels.instances.items() if one.case.method == method]
        panel = panels.of(method, ids[::ONE_OF])
        asked = [one for one in panel.sound if judge.applicable(one, claims) is None]
        failed.update({one.id: panel.result(backend, one).detail for one in panel.failures(backend, asked)})
    assert not failed, LAWFUL[name].sentence


#: Some that do otherwise what a law asked once, with that law; every night all laws are asked of all.
SPARED = {
    "memory_sizes_are_told_as_numbers": "law-options-settled@legacy",
    "a_graylisted_operator_without_upstream_operators_is_lowered": "law-precision-gray@current",
    "every_GEOP_is_two_one_behind_the_other": "law-time-in-company@legacy",
    "what_goes_from_one_GEOP_to_another_passes_the_host": "law-borders@legacy",
    "an_unlisted_value_is_ignored_with_a_warning": "law-placed-in-company@current",
}


@pytest.mark.parametrize("name, law", [] if INSTALLED else sorted(SPARED.items()))
def test_a_law_asks_nothing_that_the_documents_leave_open(panels: Any, name: str, law: str) -> None:
    assert not faulty_backends.breaks(LAWFUL[name], law, panels), LAWFUL[name].sentence


@pytest.mark.nightly
@pytest.mark.parametrize("name", [name for name in sorted(HERE) if HERE[name] and not INSTALLED])
def test_a_lawful_backend_breaks_no_law(panels: Any, name: str) -> None:
    assert list(faulty_backends.broken_laws(LAWFUL[name], panels)) == [], LAWFUL[name].sentence


def test_there_are_lawful_backends_of_every_area_and_each_says_what_leaves_the_choice() -> None:
    assert len(LAWFUL) >= 120
    areas = {one.area for one in LAWFUL.values()}
    assert areas >= {case.area for case in corpus().cases.values()} - {"in_out_pair"}
    assert all(any(document in one.sentence for document in ("00", "document")) for one in LAWFUL.values())


def test_every_case_that_rests_on_a_choice_is_there_and_no_must() -> None:
    levels = {f"{one.case.id}@{one.edition}": one.case.level for one in corpus().instances()}
    levels.update((one.id, one.level) for one in corpus().cases.values())
    levels.update((law.case.id, law.case.level) for law in asking.instances())
    assert {name: levels.get(name) for name in inventory.choices() if levels.get(name) in (None, "must")} == {}
