"""Counts by engine, list and dtype of every fixture model under each mode, one a line: the golden summary.

Run ``python -m tests.precision.model_summaries`` from the repository root to rewrite it; read the difference as a diff.
"""

from __future__ import annotations

import glob
import os
from typing import Any, Dict, Iterator, List

from npu_reference.errors import NpuError
from npu_reference.graphs import load_graph
from npu_reference.options import resolve
from npu_reference.partition import partition
from npu_reference.precision import Assignment, assign

__all__ = ["FILE", "MODES", "lines", "models", "read"]

_HERE = os.path.dirname(os.path.abspath(__file__))
FILE = os.path.join(_HERE, "model_summaries.txt")
_MODELS = os.path.join(_HERE, os.pardir, os.pardir, "fixtures", "graphs", "models")

#: Option values by the word of the summary; both editions where they differ.
MODES: Dict[str, Dict[str, Any]] = {
    "current allow_fp32_to_fp16": {"precision_mode": "allow_fp32_to_fp16"},
    "current force_fp16": {"precision_mode": "force_fp16", "graph_run_mode": 0},
    "current cube_fp16in_fp32out": {"precision_mode": "cube_fp16in_fp32out"},
    "current must_keep_origin_dtype": {"precision_mode": "must_keep_origin_dtype"},
    "current allow_mix_precision": {"precision_mode": "allow_mix_precision"},
    "legacy allow_fp32_to_fp16": {"precision_mode": "allow_fp32_to_fp16"},
    "legacy force_fp32": {"precision_mode": "force_fp32"},
    "legacy must_keep_origin_dtype": {"precision_mode": "must_keep_origin_dtype"},
}


def models() -> List[str]:
    """Names of the fixture models in full size; the tiny ones have the same operators."""
    names = sorted(os.path.basename(path)[: -len(".pb.gz")] for path in glob.glob(os.path.join(_MODELS, "*.pb.gz")))
    return [name for name in names if "tiny" not in name]


def lines(model: str) -> Iterator[str]:
    """The summary of one model under every mode."""
    graph = load_graph(os.path.join(_MODELS, model + ".pb.gz"))
    divided = partition(graph, resolve({}, env={}))  # precision divides nothing
    for words, values in MODES.items():
        edition = words.split()[0]
        options = resolve(values, edition=edition, env={})
        try:
            yield f"{model} {words}: {_told(assign(divided, options))}"
        except NpuError as error:
            yield f"{model} {words}: {error}"


def _told(assignment: Assignment) -> str:
    summary = assignment.summary()
    counts = [f"operators {summary['operators']} casts {summary['casts']} warnings {len(assignment.warnings)}"]
    for key in ("engines", "lists", "dtypes"):
        counts.append(key + " " + " ".join(f"{name}={count}" for name, count in summary[key].items()))
    return "; ".join(counts)


def read() -> List[str]:
    """The recorded summary."""
    with open(FILE, encoding="ascii") as stream:
        return stream.read().splitlines()


def main() -> None:
    with open(FILE, "w", encoding="ascii") as stream:
        for model in models():
            stream.writelines(line + "\n" for line in lines(model))


if __name__ == "__main__":
    main()
