"""Runs a recorded model as its sidecar says, in one TensorFlow session, and gives everything that can be seen of it."""

from __future__ import annotations

import gzip
import hashlib
import importlib
import os
from typing import Any, Dict, List, Tuple

import numpy as np
import tensorflow.compat.v1 as tf

from fixtures.programs.models import sidecar as sidecars
from fixtures.programs.models.python_functions import register
from fixtures.programs.models.sidecar import Sidecar

ROOT = os.path.normpath(os.path.join(os.path.dirname(__file__), "..", ".."))
GRAPHS = os.path.join(ROOT, "fixtures", "graphs", "models")


def load(name: str) -> Tuple[Any, Sidecar]:
    """The recorded GraphDef and its sidecar."""
    with gzip.open(os.path.join(GRAPHS, name + ".pb.gz")) as file:
        graph_def = tf.GraphDef.FromString(file.read())
    return graph_def, sidecars.read(os.path.join(GRAPHS, name + ".toml"))


def run(name: str, config: Any, folder: str) -> Dict[str, Any]:
    """Every fetch of every step and the final variables, by name; large arrays as a digest of their bits.

    Args:
        folder: where checkpoints go; the same in all runs that are compared, since paths are values too.
    """
    graph_def, sidecar = load(name)
    program = importlib.import_module(f"fixtures.programs.models.{sidecar.model}")
    alive = register(graph_def, program.MODEL.functions)
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
    seen: Dict[str, Any] = {}
    with tf.Session(graph=graph, config=config) as session:
        for order, step in enumerate(sidecar.runs):
            for turn in range(step.repeat):
                feeds = {tensor: _value(sidecar, tensor, turn, folder) for tensor in step.feeds}
                if order == 0:
                    feeds.update({item.tensor: sidecars.draw(item) for item in sidecar.seeded})
                fetched, _ = session.run([list(step.fetches), list(step.targets)], feeds)
                for tensor, value in zip(step.fetches, fetched):
                    seen[f"{step.name}#{turn}/{tensor}"] = _kept(value)
        for tensor, value in zip(sidecar.variables, session.run(list(sidecar.variables))):
            seen[f"variable/{tensor}"] = _kept(value)
    del alive
    return seen


def _value(sidecar: Sidecar, tensor: str, turn: int, folder: str) -> Any:
    item = sidecar.feed_of(tensor)
    return os.path.join(folder, "checkpoint") if item.kind == "path" else sidecars.draw(item, turn)


def _kept(value: Any) -> Any:
    value = np.asarray(value)
    if value.size <= 4096:
        return value
    return value.dtype.name, value.shape, hashlib.sha256(np.ascontiguousarray(value)).hexdigest()


def differences(first: Dict[str, Any], second: Dict[str, Any]) -> List[str]:
    """What is not equal bit for bit, in words."""
    found = [f"{key}: only in one" for key in sorted(set(first) ^ set(second))]
    for key in sorted(set(first) & set(second)):
        one, other = first[key], second[key]
        if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
            same = one.dtype == other.dtype and one.shape == other.shape and _bits(one) == _bits(other)
        else:
            same = isinstance(one, tuple) and isinstance(other, tuple) and one == other
        if not same:
            found.append(f"{key}: {one!r} and {other!r}")
    return found


def _bits(value: Any) -> Any:
    return value.tolist() if value.dtype == object else value.tobytes()
