"""Faulty backends that nobody wrote a case for: the suite must not call them conformant.

`benchmarks/faulty_backends.py` asks each of them everything, in minutes; here each is asked what saw it then. A change
asks some that are seen without TensorFlow, each by another case or law; the nightly run asks all.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any, Iterator

import pytest

from npu_conformance.backends.reference import tensorflow_version
from npu_conformance.library import inventory
from tests.cases.corpus import corpus
from tests.depth import at_night

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"

sys.path.insert(0, str(BENCHMARKS))
try:
    import faulty_backends
    from faulty import operators
finally:
    sys.path.remove(str(BENCHMARKS))

REVIEWED = faulty_backends.reviewed()
SEEN = {name: row["seen_by"] for name, row in REVIEWED.items() if "seen_by" in row}

#: Backends that break a document and are called conformant; the table says of each what the suite lacks.
HOLES = {name for name, row in REVIEWED.items() if "hole" in row}

#: No more than these: a new hole is closed by a case, or argued for here.
MOST_HOLES = 57

#: Functions that make mistakes of a kind.
MOST_OPERATORS = 25

#: Looking for it takes a millisecond, and there are hundreds of backends.
INSTALLED = tensorflow_version() is not None

#: Runs are judged where there is TensorFlow, everything else where there is none: each of them in one environment.
HERE = [name for name in SEEN if ("run" in faulty_backends.FAULTY[name].methods) == INSTALLED]

#: The first, by name, of those that a case or a law sees without TensorFlow.
FIRST = {
    SEEN[name]: name
    for name in sorted(HERE, reverse=True)
    if not name.endswith("_of_the_question_before") and not INSTALLED
}

#: Of these a change asks every third.
ASKED = set(sorted(FIRST.values())[::3])


@pytest.fixture(scope="module")
def panels() -> Iterator[Any]:
    with faulty_backends.Panels(corpus()) as made:
        yield made


@pytest.fixture(scope="module", autouse=True)
def _nothing_stays_changed() -> Iterator[None]:
    """What a faulty backend puts into the reference, or the drop-in, for an answer must be gone: others run there."""
    yield
    packages = ("npu_reference", "npu_conformance", "npu_bridge", "npu_device", "hccl")
    modules = [module for name, module in sorted(sys.modules.items()) if name.partition(".")[0] in packages]
    holders = {id(one): one for module in modules for one in (module, *vars(module).values()) if _holds(one)}
    left = [
        f"{holder.__name__}.{name}"
        for holder in holders.values()
        for name, value in list(vars(holder).items())
        if str(BENCHMARKS / "faulty") in getattr(getattr(value, "__code__", None), "co_filename", "")
    ]
    assert left == []


def _holds(one: Any) -> bool:
    return isinstance(one, (type, types.ModuleType))


def test_every_one_is_seen_or_written_down_as_a_hole() -> None:
    assert sorted(REVIEWED) == sorted(faulty_backends.FAULTY)
    assert sorted({*SEEN, *HOLES}) == sorted(REVIEWED)
    assert not HOLES & set(SEEN)
    assert all(row.get("seen_by") or row.get("hole") for row in REVIEWED.values())
    assert len(HOLES) <= MOST_HOLES


def test_every_one_names_a_requirement_that_it_breaks() -> None:
    known = inventory.load()
    assert [one.name for one in faulty_backends.FAULTY.values() if one.sentence not in known] == []


def test_mistakes_are_of_few_kinds() -> None:
    kinds = [name for name, one in vars(operators).items() if getattr(one, "__module__", "") == operators.__name__]
    assert len([name for name in kinds if not name.startswith("_")]) <= MOST_OPERATORS


@pytest.mark.parametrize("name", [name if name in ASKED else at_night(name) for name in sorted(HERE)])
def test_a_faulty_backend_is_not_conformant(panels: Any, name: str) -> None:
    one = faulty_backends.FAULTY[name]
    if SEEN[name].startswith("law-"):
        assert faulty_backends.breaks(one, SEEN[name], panels), one.sentence
        return
    method = panels.instances[SEEN[name]].case.method
    # What goes wrong only after another question is asked all of them, until one goes wrong.
    panel = panels.of(method, () if name.endswith("_of_the_question_before") else (SEEN[name],))
    assert panel.sound, f"the reference does not pass {SEEN[name]}"
    assert next(panel.failures(one.backend, panel.sound), None) is not None, one.sentence
