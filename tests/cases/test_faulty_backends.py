"""Faulty backends that nobody wrote a case for: the suite must not call them conformant."""

from __future__ import annotations

import contextlib
from typing import Iterator

import pytest

from npu_conformance.files import scratch
from npu_conformance.strength import hosting
from tests.cases.corpus import corpus
from tests.cases.faulty import FAULTY

#: Faults that no document forbids, so that the suite must let them pass; with the reason.
ALLOWED = {}


@pytest.fixture(scope="module")
def panel() -> Iterator[hosting.Panel]:
    instances = [one for one in corpus().instances() if one.case.method not in hosting.WORKER_METHODS and not one.twin]
    with contextlib.closing(scratch.Scratch("npu-conformance-")) as temporary:
        yield hosting.Panel(instances, temporary.path)


@pytest.mark.parametrize("name", sorted(FAULTY))
def test_a_faulty_backend_is_not_conformant(panel: hosting.Panel, name: str) -> None:
    backend = FAULTY[name]
    method = next(method for method in ("options", "partition", "precision") if method in vars(type(backend)))
    asked = [one for one in panel.sound if one.case.method == method]
    seen = next(panel.failures(backend, asked), None)
    assert (seen is None) == (name in ALLOWED), f"{name}: {type(backend).__doc__}"
