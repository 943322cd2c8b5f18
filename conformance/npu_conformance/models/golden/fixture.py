"""What the pytest fixture ``golden_graph`` does with a model: compares it with its record, or records it."""

from __future__ import annotations

import os
from typing import Any, Mapping, Optional, Union

import pytest

from npu_conformance.models import golden
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
                ``fetches`` the question the record must answer; ``facts``, ``shapes``, ``batch``, ``device``,
                ``op_list`` and ``ops_info`` where the test says them. Without any, the record's own is asked again.
        """
        __tracebackhide__ = True
        path = os.path.join(self._folder, os.fspath(model))
        try:
            self._check(path, _wanted(values, more))
        except NpuError as error:
            pytest.fail(str(error), pytrace=False)

    def _check(self, path: str, wanted: Optional[Mapping[str, Any]]) -> None:
        if self._update:
            question = _question(wanted) if wanted is not None else _recorded_question(path)
            golden.update(path, golden.settled(path, question)[0])
            return
        before = golden.recorded(path)
        if wanted is not None:
            told = _difference(_question(wanted), before.question, wanted)
            if told:
                pytest.fail(f"{path} was recorded otherwise: {told}. Record it again with --npu-golden-update.", False)
        moved = golden.changes(before, golden.observe_model(path, before.question))
        if moved:
            lines = "".join(f"\n  {change.text}" for change in moved)
            pytest.fail(f"{path}: something moved since it was recorded{lines}", False)


def _wanted(values: Optional[Mapping[str, Any]], more: Mapping[str, Any]) -> Optional[Mapping[str, Any]]:
    """What a test says of the question, or None where it leaves all of it to the record."""
    if values is None and not more:
        return None
    unknown = sorted(set(more) - set(golden.GoldenQuestion._fields))
    if unknown:
        known = ", ".join(name for name in golden.GoldenQuestion._fields if name != "values")
        raise NpuError("USAGE", "golden_graph", f"there is no keyword {unknown[0]}.", f"Keywords are {known}.")
    wrong = sorted(set(more.get("facts", ())) - set(golden.FACTS))
    if wrong:
        known = ", ".join(golden.FACTS)
        raise NpuError("USAGE", "golden_graph", f"there are no facts {wrong[0]!r}.", f"Facts are {known}.")
    return {**more, "values": dict(values or {})}


def _question(wanted: Mapping[str, Any]) -> golden.GoldenQuestion:
    """The question as the test says it; without facts, which then are all that the sizes of the model allow."""
    given = {"facts": (), **wanted}
    for name in ("feeds", "fetches", "facts"):
        given[name] = tuple(given.get(name, ()))
    return golden.GoldenQuestion(**given)


def _recorded_question(path: str) -> golden.GoldenQuestion:
    if golden.record_path(path).exists():
        return golden.recorded(path).question
    return golden.GoldenQuestion({}, facts=())


#: What a test need not say: it is compared where the test does.
_LEFT_TO_RECORD = ("facts", "shapes", "batch", "device", "op_list", "ops_info")


def _difference(wanted: golden.GoldenQuestion, found: golden.GoldenQuestion, said: Mapping[str, Any]) -> str:
    one, other = wanted.to_json(), found.to_json()
    return "; ".join(
        f"{name} is {other[name]!r}, the test says {one[name]!r}"
        for name in sorted(one)
        if one[name] != other[name] and (name in said or name not in _LEFT_TO_RECORD)
    )
