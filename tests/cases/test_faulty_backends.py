"""Faulty backends that nobody wrote a case for: the suite must not call them conformant."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any, Iterator, List

import pytest

from npu_conformance.files import scratch
from npu_conformance.judging import judge
from npu_conformance.strength import hosting
from npu_conformance.strength.laws import asking
from tests.cases.corpus import corpus
from tests.cases.faulty import FAULTY

#: Faults that no document forbids, so that the suite lets them pass; with the reason.
ALLOWED = {
    "least_is_all": "where every partition is the smallest possible the two numbers are the same",
    "default_of_jit_compile_session_current": "no document gives a session key of NPURunConfig a default",
    "default_of_input_fusion_size_session_current": "no document gives a session key of NPURunConfig a default",
    "unknown_keys_refused": "Python refuses an argument that does not exist (G17)",
}

#: Random graphs asked for the laws: fewer than in a run.
GRAPHS = 40


@pytest.fixture(scope="module")
def panel() -> Iterator[hosting.Panel]:
    instances = [one for one in corpus().instances() if one.case.method not in hosting.WORKER_METHODS and not one.twin]
    with contextlib.closing(scratch.Scratch("npu-conformance-")) as temporary:
        yield hosting.Panel(instances, temporary.path)


def broken_laws(backend: object, method: str, folder: str) -> List[str]:
    """The laws of a method that a backend breaks."""
    chosen = tuple(one for one in asking.instances() if one.case.method == method)
    claims = judge.Claims.of(backend.hello({"protocol": 1}))  # type: ignore[attr-defined]
    plan = asking.Plan(GRAPHS, 0, chosen, folder, corpus())
    here: Any = hosting.Here(backend, folder)
    return [one.instance.id for one in asking.run(plan, "here", here, claims) if one.result.status == "fail"]


@pytest.mark.parametrize("name", sorted(FAULTY))
def test_a_faulty_backend_is_not_conformant(panel: hosting.Panel, name: str, tmp_path: Path) -> None:
    backend = FAULTY[name]
    method = next(method for method in ("options", "partition", "precision") if method in vars(type(backend)))
    asked = [one for one in panel.sound if one.case.method == method]
    seen: Any = next(panel.failures(backend, asked), None) or broken_laws(backend, method, str(tmp_path))
    assert bool(seen) == (name not in ALLOWED), f"{name}: {type(backend).__doc__}"
