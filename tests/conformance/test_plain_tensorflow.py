"""A backend that claims everything and leaves all of it to TensorFlow is seen in every area."""

from __future__ import annotations

import functools
from typing import Any, Dict, Mapping, Set

import pytest

from npu_conformance.library import library
from npu_conformance.strength import hosting
from npu_conformance.strength.echo import EchoBackend
from npu_reference.graphs import load_graph
from tests.cases.corpus import corpus

pytestmark = pytest.mark.not_oldest

Params = Mapping[str, Any]


class PlainTensorFlow(EchoBackend):
    """Options are taken and forgotten, nothing is offloaded, nothing is compiled, no device runs."""

    def partition(self, params: Params) -> Dict[str, Any]:
        host = [
            {"node": node.name, "op": node.op, "reason": "NOT_SUPPORTED"} for node in load_graph(params["graph"]).nodes
        ]
        return {"geops": [], "host": host, "borders": [], "min_geops": 0, "notes": []}

    def timeline(self, params: Params) -> Dict[str, Any]:
        step = {"step_ns": 1, "launches": 1, "iterations": 1, "transfers": [], "tasks": [], "fusion": [], "device": 0}
        return {"base": step, "variants": {name: dict(step) for name in params.get("variants", {})}}

    def compile(self, params: Params) -> Dict[str, Any]:
        turn = {
            "kernels": [],
            "hits": 0,
            "misses": 0,
            "fusion": [],
            "constants": [],
            "notes": [],
            "files": {},
            "left": {},
        }
        return {"turns": [dict(turn) for _ in params.get("turns") or [None]]}

    def library(self, params: Params) -> Dict[str, Any]:
        return {"files": []}

    def run(self, params: Params) -> Dict[str, Any]:
        return {
            "fetches": {},
            "trace": [{"engine": None, "geops": 0, "copies": []}],
            "log": [],
            "output": "",
            "files": {},
        }


@functools.lru_cache(maxsize=1)
def shelf() -> library.Library:
    return corpus()


def test_it_claims_every_method_a_case_has() -> None:
    assert {case.method for case in shelf().cases.values()} <= set(dir(PlainTensorFlow))


@pytest.mark.parametrize("area", sorted({case.area for case in corpus().cases.values()}))
def test_it_fails_cases_of_every_method_in_every_area(area: str, tmp_path: Any) -> None:
    asked: Set[str] = set()
    failed: Set[str] = set()
    backend = PlainTensorFlow()
    for one in shelf().instances():
        case = one.case
        if case.area != area or case.level != "must" or one.twin or case.method in failed:
            continue
        asked.add(case.method)
        if hosting.ask(backend, one, str(tmp_path)).status == "fail":
            failed.add(case.method)
    assert failed == asked != set()
