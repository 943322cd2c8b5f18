"""What the pytest fixture ``golden_graph`` does with a model: compares it with its record, or records it."""

from __future__ import annotations

import os
from typing import Any, Dict, Mapping, Optional, Union

import pytest

from npu_conformance.models import golden_graph
from npu_reference.errors import NpuError

__all__ = ["Checker"]


class Checker:
    """Called with a model and, where the test should hold them fast, the options of its record."""

    def __init__(self, folder: str, update: bool) -> None:
        self._folder = folder
        self._update = update

    def __call__(
        self, model: Union[str, os.PathLike[str]], values: Optional[Mapping[str, Any]] = None, **more: Any
    ) -> None:
        """Fail the test, in words, where the partition of `model` differs from its record.

        Args:
            model: path of a .pb, .pbtxt, MetaGraph or SavedModel, relative to the folder of the test.
            values: option values; with keywords ``surface``, ``edition``, ``policy``, ``flavour``, ``feeds`` and
                ``fetches`` the question the record must answer. Without any, the record's own is asked again.
        """
        __tracebackhide__ = True
        path = os.path.join(self._folder, os.fspath(model))
        try:
            self._check(path, _question(values, more))
        except NpuError as error:
            pytest.fail(str(error), pytrace=False)

    def _check(self, path: str, wanted: Optional[golden_graph.Question]) -> None:
        if self._update:
            golden_graph.update(path, wanted or _recorded_question(path))
            return
        before = golden_graph.recorded(path)
        if wanted is not None and wanted.to_json() != before.question.to_json():
            told = _difference(wanted.to_json(), before.question.to_json())
            pytest.fail(f"{path} was recorded otherwise: {told}. Record it again with --npu-golden-update.", False)
        moved = golden_graph.changes(before, golden_graph.observe_model(path, before.question))
        if moved:
            lines = "".join(f"\n  {change.text}" for change in moved)
            pytest.fail(f"{path}: the partition moved since it was recorded{lines}", False)


def _question(values: Optional[Mapping[str, Any]], more: Dict[str, Any]) -> Optional[golden_graph.Question]:
    if values is None and not more:
        return None
    unknown = sorted(set(more) - set(golden_graph.Question._fields))
    if unknown:
        known = ", ".join(name for name in golden_graph.Question._fields if name != "values")
        raise NpuError("USAGE", "golden_graph", f"there is no keyword {unknown[0]}.", f"Keywords are {known}.")
    for name in ("feeds", "fetches"):
        if name in more:
            more[name] = tuple(more[name])
    return golden_graph.Question(dict(values or {}), **more)


def _recorded_question(path: str) -> golden_graph.Question:
    if golden_graph.record_path(path).exists():
        return golden_graph.recorded(path).question
    return golden_graph.Question({})


def _difference(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    return "; ".join(
        f"{name} is {found[name]!r}, the test says {wanted[name]!r}"
        for name in sorted(wanted)
        if wanted[name] != found[name]
    )
