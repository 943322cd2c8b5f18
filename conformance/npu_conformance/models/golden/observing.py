"""Decides what a model is today: where its operators lie, their dtypes, and time and memory of one step."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from typing import Any, Dict, Optional, Tuple

from npu_conformance.models import precise
from npu_conformance.models.golden.record import (
    ALWAYS,
    FACTS,
    GoldenPlace,
    GoldenQuestion,
    GoldenRecord,
    Kernels,
    Precision,
)
from npu_reference.errors import NpuError
from npu_reference.graphs.names import split_fetches

__all__ = ["observe_model", "settled"]

#: Members of a profile's memory that a record keeps.
_MEMORY = ("peak", "variables", "arena", "workspace")


def settled(model: str, question: GoldenQuestion) -> Tuple[GoldenQuestion, str]:
    """`question` with its facts, and what is left out with the reason: one without facts takes all that sizes allow.

    Raises:
        NpuError: as :func:`observe_model` does.
    """
    if question.facts:
        return question, ""
    always = question._replace(facts=ALWAYS)
    try:
        _step(_Asked(model, always))
    except NpuError as error:
        if not _unknown(error):
            raise
        return always, f"no step: {error.message}"
    return question._replace(facts=FACTS), ""


def observe_model(model: str, question: GoldenQuestion) -> GoldenRecord:
    """What `question` asks of `model`.

    Where the sizes that a step needs are unknown, the record says so instead.

    Raises:
        NpuError: GRAPH_*, OPTION_*, OPS_INFO_FILE …: whatever is wrong with the model, the options or the files.
    """
    asked = _Asked(model, question)
    answer = asked.partition.to_json()
    places: Dict[str, GoldenPlace] = {}
    for number, geop in enumerate(answer["geops"], start=1):
        for name in geop["nodes"]:
            places[name] = GoldenPlace(number)
    for entry in answer["host"]:
        last = entry["witness"][-1]["node"] if entry["witness"] else ""
        places[entry["node"]] = GoldenPlace(-1, entry["reason"], "" if last == entry["node"] else last)
    directions = Counter(border["direction"] for border in answer["borders"])
    counts = {"geops": len(answer["geops"]), "host operators": len(answer["host"]), "at least": answer["min_geops"]}
    counts.update({f"copies {direction}": count for direction, count in directions.items()})
    record = GoldenRecord(question, places, counts, digests=asked.digests())
    if "precision" in question.facts:
        record = _precision(asked, record)
    if "step" in question.facts:
        try:
            step = _step(asked)
        except NpuError as error:
            if not _unknown(error):
                raise
            return record._replace(unknown=error.message)
        record = record._replace(step=_numbers(step), kernels=_kernels(step))
    return record


def _unknown(error: NpuError) -> bool:
    """Whether the device's model has no answer; a device file that is wrong is the user's to mend."""
    return error.code.startswith("DEVICE_") and error.code != "DEVICE_FILE"


class _Asked:
    """A model as it is asked: the partition, and what sizes and kernels are taken from."""

    def __init__(self, model: str, question: GoldenQuestion) -> None:
        from npu_reference.catalog import OpList
        from npu_reference.graphs import close_over, load_graph
        from npu_reference.partition import partition

        self.question, self.model = question, model
        where = precise.PrecisionQuestion(
            model, question.values, question.surface, question.edition, question.feeds, question.fetches,
            self._path(question.op_list), self._path(question.ops_info), question.shapes, question.batch,
        )  # fmt: skip
        (self.resolution,) = precise.resolutions(where)
        operators = OpList.load(where.op_list) if where.op_list is not None else None
        self.catalog = precise.catalog_of(where)
        graph = load_graph(model)
        self.shapes, _ = precise.sizes(graph, question.shapes, question.batch, question.feeds)
        if question.feeds or question.fetches:
            tensors, targets = split_fetches(list(question.fetches))
            graph = close_over(graph, list(question.feeds), tensors, targets)
        self.partition = partition(
            graph, self.resolution, policy=question.policy, flavour=question.flavour, op_list=operators
        )

    def _path(self, path: Optional[str]) -> Optional[str]:
        """Paths of a record are relative to the folder of its model."""
        return None if path is None else os.path.join(os.path.dirname(os.path.abspath(self.model)), path)

    def device(self) -> Any:
        from npu_reference.hardware import load

        name = self.question.device
        return load(str(self._path(name)) if _is_file(name) else name)

    def digests(self) -> Dict[str, str]:
        found = {}
        device = self.question.device.rpartition(".toml")
        files = {"op_list": self.question.op_list, "ops_info": self.question.ops_info}
        if _is_file(self.question.device) and "step" in self.question.facts:
            files["device"] = device[0] + device[1]
        for field, path in files.items():
            if path is not None:
                try:
                    with open(str(self._path(path)), "rb") as stream:
                        found[field] = hashlib.sha256(stream.read()).hexdigest()
                except OSError as error:
                    raise NpuError("OUTPUT", path, f"cannot be read: {error.strerror}.") from None
        return found


def _is_file(device: str) -> bool:
    return ".toml" in device


def _precision(asked: _Asked, record: GoldenRecord) -> GoldenRecord:
    from npu_reference.precision import assign

    assignment = assign(asked.partition, asked.resolution, catalog=asked.catalog)
    found = {
        one.node: Precision(one.inputs, one.outputs, one.engine, one.list or "", one.impl_mode or "")
        for one in assignment.nodes
    }
    return record._replace(precision=found, counts={**record.counts, "casts": len(assignment.casts)})


def _step(asked: _Asked) -> Any:
    """One step of the model on the simulated device."""
    from npu_reference.device.timing import profile

    return profile(asked.partition, asked.resolution, asked.device(), asked.shapes, catalog=asked.catalog).to_json()


def _numbers(step: Any) -> Dict[str, int]:
    found = {"time ns": step["step_ns"], "kernels": step["fused_kernels"], "host copies": len(step["transfers"])}
    found.update({f"memory {name} bytes": step["memory"][name] for name in _MEMORY})
    return found


def _kernels(step: Any) -> Dict[str, Kernels]:
    found: Dict[str, Kernels] = {}
    for row in step["types"]:
        name = f"{row['type']} {row['engine']}"
        before = found.get(name, Kernels(0, 0))
        found[name] = Kernels(before.number + row["count"], before.nanoseconds + row["busy_ns"] + row["launch_ns"])
    return found
