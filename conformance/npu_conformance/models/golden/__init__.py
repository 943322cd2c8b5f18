"""Golden-graph regression of a user's own graphs: what was recorded beside a model, and what moved since.

A record is a text file beside the model, one fact a line, made by ``golden update`` and compared by ``golden check``.
It keeps how the graph was asked (options, feeds, fetches, sizes, edition, device), so that a check needs nothing but
the model.
"""

from __future__ import annotations

import pathlib
from typing import List

from npu_conformance.files import output
from npu_conformance.models.golden.changes import Change, changes
from npu_conformance.models.golden.observing import observe_model, settled
from npu_conformance.models.golden.record import (
    ALWAYS,
    FACTS,
    GoldenPlace,
    GoldenQuestion,
    GoldenRecord,
    record_path,
    recorded,
    written,
)
from npu_reference.errors import NpuError

__all__ = [
    "ALWAYS", "FACTS", "Change", "GoldenPlace", "GoldenQuestion", "GoldenRecord", "changes", "check", "observe_model",
    "record_path", "recorded", "settled", "update",
]  # fmt: skip


def update(model: str, question: GoldenQuestion) -> pathlib.Path:
    """Record what `question` asks of `model`; the file is written whole or not at all. Returns its path.

    Raises:
        NpuError: as :func:`observe_model` does; DEVICE_SIZES where a step is asked for and not known; OUTPUT.
    """
    path, record = record_path(model), observe_model(model, question)
    if record.unknown:
        raise NpuError("DEVICE_SIZES", model, record.unknown)
    output.write_file(str(path), written(record))
    return path


def check(model: str, tolerance: float = 0.0) -> List[Change]:
    """The differences between the record of `model` and what it is today, in words; empty when there is none.

    Args:
        tolerance: percent by which times and sizes may differ.

    Raises:
        NpuError: GRAPH_FILE when there is no such model, OUTPUT when nothing was recorded, CASE_FILE when the record is
            damaged; and as :func:`observe_model` does.
    """
    before = recorded(model)
    return changes(before, observe_model(model, before.question), tolerance)
