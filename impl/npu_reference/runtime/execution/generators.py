"""Where seeded random operators of GEOPs draw from: one generator each, shared by all signatures of a session."""

from __future__ import annotations

import importlib
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from npu_reference.device.numerics.editing import become_py_func, read_instead
from npu_reference.graphs import OPS, SEEDED_MARK, DType
from npu_reference.graphs.signature import arg_dtypes
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["Generators"]

_HANDLES = ("resource", "variant")


class Generators:
    """The random number generators of one session's device.

    TensorFlow keeps the state of a random operator in its kernel, and makes the kernels of a function anew for every
    signature: a seeded stream would begin again whenever a script fetches something else. So the operator is replaced,
    in the body, by a call to the same operator in a session where it exists once. Values are TensorFlow's own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._session: Any = None
        self._tokens: Dict[str, bytes] = {}
        # TensorFlow's registry refers to Python functions weakly.
        self._alive: List[Callable[..., Any]] = []

    def close(self) -> None:
        """Release the generators."""
        with self._lock:
            if self._session is not None:
                self._session.close()

    def install(self, function: Any, functions: Mapping[str, Any]) -> None:
        """Replace the seeded random operators of a FunctionDef, in place.

        Args:
            functions: the functions it may call, by name.
        """
        renamed: Dict[str, str] = {}
        for node in function.node_def:
            ends = _seeded_ends(node, functions.get(node.op))
            if ends is None:
                continue
            inputs, outputs = ends
            token = self._token(node, inputs, functions.get(node.op))
            # One output an argument: no random operator has lists of outputs.
            for slot, (name, _) in enumerate(outputs):
                renamed[f"{node.name}:{name}:0"] = f"{node.name}:output:{slot}"
            become_py_func(node, token, inputs, [number for _, number in outputs])
        if renamed:
            read_instead(function, renamed)

    def _token(self, node: Any, dtypes: List[int], called: Any) -> bytes:
        """What a PyFunc calls to draw from the generator of a node; the generator is made the first time."""
        with self._lock:
            if node.name not in self._tokens:
                draw = self._make(node, dtypes, called)
                self._alive.append(draw)
                script_ops = importlib.import_module("tensorflow.python.ops.script_ops")
                self._tokens[node.name] = script_ops._py_funcs.insert(draw).encode()
            return self._tokens[node.name]

    def _make(self, node: Any, dtypes: List[int], called: Any) -> Callable[..., Any]:
        v1 = tensorflow().v1
        if self._session is None:
            # Threads of its own: it runs inside an operator that occupies one of the script's.
            config = v1.ConfigProto(
                use_per_session_threads=True, inter_op_parallelism_threads=1, intra_op_parallelism_threads=1
            )
            self._session = tensorflow().session.BaseSession(graph=v1.Graph(), config=config)
        graph_def = v1.GraphDef()
        graph_def.versions.CopyFrom(v1.Graph().as_graph_def().versions)
        if called is not None:
            graph_def.library.function.add().CopyFrom(called)
        own = graph_def.node.add()
        own.CopyFrom(node)
        own.device = ""
        for name in [name for name in own.attr if name.startswith("_")]:
            del own.attr[name]
        del own.input[:]
        for position, dtype in enumerate(dtypes):
            feed = graph_def.node.add(name=f"npu_feed/{node.name}_{position}", op="Placeholder")
            feed.attr["dtype"].type = dtype
            own.input.append(feed.name)
        with self._session.graph.as_default():
            v1.import_graph_def(graph_def, name="")
        made = self._session.graph.get_operation_by_name(node.name)
        from tensorflow.core.protobuf import config_pb2

        options = config_pb2.CallableOptions(
            feed=[f"{source}:0" for source in own.input], fetch=[output.name for output in made.outputs]
        )
        return self._session._make_callable_from_options(options)


_Ends = Tuple[List[int], List[Tuple[str, int]]]


def _seeded_ends(node: Any, called: Any) -> Optional[_Ends]:
    """Types of the inputs, names and types of the outputs, of a node whose own stream the script has fixed; or None."""
    if called is not None:
        if SEEDED_MARK not in called.attr:
            return None
        signature = called.signature
        return [arg.type for arg in signature.input_arg], [(arg.name, arg.type) for arg in signature.output_arg]
    op_def = OPS.get(node.op)
    if op_def is None or not op_def.is_stateful or "seed" not in node.attr or "seed2" not in node.attr:
        return None
    if not (node.attr["seed"].i or node.attr["seed2"].i):
        return None
    inputs: Tuple[DType, ...] = arg_dtypes(op_def, op_def.inputs, node.attr)
    outputs: Tuple[DType, ...] = arg_dtypes(op_def, op_def.outputs, node.attr)
    if any(dtype.is_ref or dtype.name in _HANDLES for dtype in inputs + outputs):
        return None
    names = [arg.name for arg in op_def.outputs]
    return [dtype.number for dtype in inputs], [(name, dtype.number) for name, dtype in zip(names, outputs)]
