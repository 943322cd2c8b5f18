"""Whether a run agrees with the options of its session: shapes of inputs, memory, loops, tailing."""

from __future__ import annotations

import logging
from typing import Any, Dict, List, Mapping

from npu_reference import graphs
from npu_reference.options import Resolution
from npu_reference.partition import Partition
from npu_reference.runtime.agreement import memory, training
from npu_reference.runtime.agreement.input_shapes import Inputs, InputShapes, inputs_of
from npu_reference.runtime.execution.plan import Signature
from npu_reference.runtime.observing.log import Notice, say

__all__ = ["Agreement"]


class Agreement:
    """What the runs of one session are held to. Planned runs may be asked about from several threads."""

    def __init__(self, resolution: Resolution, tf_graph: Any, session: int) -> None:
        self._resolution = resolution
        self._tf_graph = tf_graph
        self._session = session
        self._shapes = InputShapes(resolution.typed.shapes)
        self._bound: Dict[Signature, _Bound] = {}
        self._loops: Dict[Signature, int] = {}
        self._advised = False

    def plan(self, signature: Signature, graph: graphs.Graph, parts: Partition) -> None:
        """Check what is known before a run of this kind first begins.

        Raises:
            NpuError: OPTION_CONFLICT or DEVICE_MEMORY.
        """
        options, reached, names = self._resolution, parts.graph, _operators(signature)
        if options.typed.compiler.memory[0] is not None:
            memory.check(memory.need(parts, self._tf_graph), options)
        self._loops[signature] = training.iterations(graph, reached, names, options, self._tf_graph)
        if training.trains(reached):
            training.check_tailing(options, self._tf_graph)
            self._advise(training.advice(options, self._tf_graph))
        if self._shapes.applies(graph, names):
            self._bound[signature] = _Bound(graph, names, inputs_of(graph, reached, signature.feeds))

    def _advise(self, notices: List[Notice]) -> None:
        for notice in [] if self._advised else notices:
            say(logging.WARNING, notice, session=self._session)
        self._advised = True

    def run(self, signature: Signature, feeds: Mapping[str, Any]) -> int:
        """How often the device repeats a planned run whose inputs have these values.

        Raises:
            NpuError: INPUT_SHAPE.
        """
        bound = self._bound.get(signature)
        if bound is not None:
            fed = {name: tuple(getattr(value, "shape", ())) for name, value in feeds.items()}
            self._shapes.check(bound.graph, bound.names, bound.inputs, fed)
        return self._loops.get(signature, 1)


class _Bound:
    """The inputs that the shapes of a session were bound to for one signature."""

    def __init__(self, graph: graphs.Graph, names: List[str], inputs: Inputs) -> None:
        self.graph, self.names, self.inputs = graph, names, inputs


def _operators(signature: Signature) -> List[str]:
    """The operators a run fetches from or runs."""
    fetched = [name.rpartition(":")[0] for name in signature.fetches]
    return list(dict.fromkeys(fetched + list(signature.targets)))
