"""Turns an instance of a case into the parameters of a request, and an answer back into the case's names."""

from __future__ import annotations

import functools
import os
from typing import Any, Dict, Mapping, NamedTuple, Optional, Sequence

from npu_conformance.library import twins
from npu_conformance.library.case import Instance
from npu_conformance.library.operator_flags import with_kernels
from npu_conformance.observing import device_runs, tensors
from npu_conformance.protocol import client
from npu_reference import strict_json
from npu_reference.errors import NpuError

__all__ = ["Prepared", "prepare", "read_back", "without_paths"]


class Prepared(NamedTuple):
    """What to ask for an instance: wire parameters, and the twin to read the answer back with."""

    params: Dict[str, Any]
    twin: Optional[twins.Twin]


def prepare(instance: Instance, folder: str) -> Prepared:
    """The request of an instance.

    Args:
        folder: where a twin's graph and large tensors are written.
    Raises:
        NpuError: a fixture that cannot be read; the suite's fault.
    """
    case = instance.case
    params: Dict[str, Any] = dict(case.params)
    twin = None
    if instance.twin:
        twin = twins.make(instance.twin, params["graph"], folder)
        params = twin.forward(params)
    params["edition"] = instance.edition
    if case.method == "precision" or ("ops_info" in params and "graph" in params):
        params["ops_info"] = with_kernels(params.get("ops_info", "{}"), params["graph"])
    tell = device_runs.wanted(case.needs) if case.method == "run" else []
    if tell:
        params["tell"] = tell
    if isinstance(params.get("op_list"), str):
        params["op_list"] = _json(params["op_list"])
    if isinstance(params.get("feeds"), dict):
        params["feeds"] = {
            name: tensors.encode(tensor, folder, f"feed{number}")
            for number, (name, tensor) in enumerate(sorted(params["feeds"].items()))
        }
    return Prepared(params, twin)


def read_back(outcome: client.Outcome, twin: Optional[twins.Twin]) -> client.Outcome:
    """The outcome in the case's own names."""
    if twin is None:
        return outcome
    if isinstance(outcome, client.Answered):
        return client.Answered(twin.back(outcome.ok))
    if isinstance(outcome, client.Rejected):
        return client.Rejected(twin.back(dict(outcome.body)))
    return outcome


def without_paths(outcome: client.Outcome, folder: str, fixtures: str) -> client.Outcome:
    """The outcome with the worker's folder as ``.`` and the fixtures' as ``fixtures``: no path of this machine."""

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace(folder, ".").replace(fixtures, "fixtures") if os.sep in value else value
        if isinstance(value, dict):
            return {clean(key): clean(item) for key, item in value.items()}
        if isinstance(value, list):
            return [clean(item) for item in value]
        return value

    if not _says(outcome, (folder, fixtures)):
        return outcome
    return type(outcome)(*[clean(value) for value in outcome])


def _says(outcome: client.Outcome, paths: Sequence[str]) -> bool:
    """Whether one of the paths may be part of a text or name in an outcome: most say none, and need not be copied.

    The outcome as Python writes it is searched at once. How a quote is written depends on the text around it, so that a
    path with one counts as said.
    """
    shown = repr(tuple(outcome))
    return any(repr(path)[1:-1] in shown or "'" in path for path in paths)


def _json(path: str) -> Mapping[str, Any]:
    try:
        with open(path, "rb") as stream:
            value = _parsed(stream.read())
    except (OSError, ValueError) as error:
        raise NpuError("CASE_FILE", os.path.basename(path), f"is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise NpuError("CASE_FILE", os.path.basename(path), "is no JSON object")
    return value


@functools.lru_cache(maxsize=16)
def _parsed(content: bytes) -> Any:
    """The JSON of a fixture, of which there are few; nobody changes it."""
    return strict_json.loads(content.decode("utf-8"))
