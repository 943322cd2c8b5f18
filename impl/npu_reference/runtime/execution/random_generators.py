"""Where seeded random operators of GEOPs draw from: one generator each, shared by all signatures of a session."""

from __future__ import annotations

import importlib
import threading
from functools import partial
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from npu_reference.device.numerics.editing import become_py_func, read_instead
from npu_reference.graphs import OPERATOR_MARK, OPS, SEEDED_MARK, DType
from npu_reference.graphs.signature import arg_dtypes
from npu_reference.precision.operators import CALLS
from npu_reference.runtime.execution.import_names import MARK
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["Generators"]

_HANDLES = ("resource", "variant")

#: Of calls those that are neither branches nor loops.
_PLAIN_CALLS = ("PartitionedCall", "StatefulPartitionedCall")

#: Copies of functions that one session makes; calls that nest and fork are twice as many at every depth (assumed).
_MOST_COPIES = 1000


class _Place(NamedTuple):
    """Where a function is called from a GEOP.

    Attributes:
        path: the calls that lead there.
        callers: the functions on that way.
        lasting: whether TensorFlow keeps the state of its operators from one signature to the next: it dissolves
            branches, loops, and calls of functions that call nothing themselves.
    """

    path: str = ""
    callers: Tuple[str, ...] = ()
    lasting: bool = True

    def below(self, node: Any, attr: str, name: str, functions: Mapping[str, Any]) -> _Place:
        """The place of a function that a node there calls."""
        dissolved = node.op in CALLS and node.op not in _PLAIN_CALLS
        dissolved = dissolved or not any(list(_calls(inner, functions)) for inner in functions[name].node_def)
        return _Place(f"{self.path}{node.name}/{attr}/", (*self.callers, name), self.lasting and dissolved)


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
        #: Functions that draw, by name and by where they are called: which copy.
        self._copies: Dict[Tuple[str, str], int] = {}
        # TensorFlow's registry refers to Python functions weakly.
        self._alive: List[Callable[..., Any]] = []

    def close(self) -> None:
        """Release the generators."""
        with self._lock:
            if self._session is not None:
                self._session.close()

    def install(self, function: Any, functions: Dict[str, Any]) -> None:
        """Replace the seeded random operators of a FunctionDef, and of what it calls, in place.

        Args:
            functions: the functions it may call, by name; those that draw are called as copies, which are added: each
                place of a call has generators of its own, as where TensorFlow dissolves calls.
        """
        self._install(function, functions, _Place())

    def _install(self, function: Any, functions: Dict[str, Any], at: _Place) -> None:
        renamed: Dict[str, str] = {}
        for node in function.node_def:
            called = functions.get(node.op)
            ends = _seeded_ends(node, called)
            if ends is None:
                for attr, name, replace in _calls(node, functions):
                    if name not in at.callers and self._draws(name, functions):
                        replace(self._copied(name, functions, at.below(node, attr, name, functions)))
                continue
            if not at.lasting:
                continue
            inputs, outputs = ends
            token = self._token(node, f"{at.path}{node.name}", inputs, called)
            # One output an argument: no random operator has lists of outputs.
            for slot, (name, _) in enumerate(outputs):
                renamed[f"{node.name}:{name}:0"] = f"{node.name}:output:{slot}"
            become_py_func(node, token, inputs, [number for _, number in outputs])
        if renamed:
            read_instead(function, renamed)

    def _draws(self, name: str, functions: Mapping[str, Any]) -> bool:
        """Whether there is a seeded random operator in a function, or in what it calls."""
        seen = {name}
        waiting = [name]
        while waiting:
            for node in functions[waiting.pop()].node_def:
                if _seeded_ends(node, functions.get(node.op)) is not None:
                    return True
                fresh = {called for _, called, _ in _calls(node, functions)} - seen
                seen |= fresh
                waiting.extend(fresh)
        return False

    def _copied(self, name: str, functions: Dict[str, Any], at: _Place) -> str:
        """The copy of a function for one place where it is called."""
        with self._lock:
            number = self._copies.setdefault((name, at.path), len(self._copies) + 1)
        if number > _MOST_COPIES:
            return name
        copy_name = f"{name}{MARK}_drawn_{number}"
        if copy_name not in functions:
            copy = functions[copy_name] = type(functions[name])()
            copy.CopyFrom(functions[name])
            copy.signature.name = copy_name
            self._install(copy, functions, at)
        return copy_name

    def _token(self, node: Any, key: str, dtypes: List[int], called: Any) -> bytes:
        """What a PyFunc calls to draw from the generator of a node; the generator is made the first time.

        Args:
            key: the calls that lead to the node, and its name.
        """
        with self._lock:
            if key not in self._tokens:
                draw = self._make(node, key, dtypes, called)
                self._alive.append(draw)
                script_ops = importlib.import_module("tensorflow.python.ops.script_ops")
                self._tokens[key] = script_ops._py_funcs.insert(draw).encode()
            return self._tokens[key]

    def _make(self, node: Any, key: str, dtypes: List[int], called: Any) -> Callable[..., Any]:
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
        own.name = key
        own.device = ""
        for name in [name for name in own.attr if name.startswith("_")]:
            del own.attr[name]
        del own.input[:]
        for position, dtype in enumerate(dtypes):
            feed = graph_def.node.add(name=f"npu_feed/{key}_{position}", op="Placeholder")
            feed.attr["dtype"].type = dtype
            own.input.append(feed.name)
        with self._session.graph.as_default():
            v1.import_graph_def(graph_def, name="")
        made = self._session.graph.get_operation_by_name(key)
        from tensorflow.core.protobuf import config_pb2

        options = config_pb2.CallableOptions(
            feed=[f"{source}:0" for source in own.input], fetch=[output.name for output in made.outputs]
        )
        return self._session._make_callable_from_options(options)


def _calls(node: Any, functions: Mapping[str, Any]) -> Iterator[Tuple[str, str, Callable[[str], None]]]:
    """The functions a node calls: under which attribute, the name, and what lets it call another instead."""
    if node.op in functions:
        if OPERATOR_MARK not in functions[node.op].attr:
            yield "op", node.op, partial(setattr, node, "op")
    elif node.op in CALLS:
        for key in sorted(node.attr):
            value = node.attr[key]
            held = [value.func] if value.HasField("func") else list(value.list.func)
            for position, function in enumerate(held):
                if function.name in functions:
                    yield f"{key}{position}", function.name, partial(setattr, function, "name")


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
