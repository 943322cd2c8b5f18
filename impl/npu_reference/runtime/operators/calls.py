"""How an operator that TensorFlow does not have stands in its graphs: as a call of a function marked as that operator.

The function's body is what the operator computes, in TensorFlow's own operators, so every TensorFlow runs the graph,
wherever it goes. Its mark (:data:`npu_reference.graphs.OPERATOR_MARK`) is what `graphs` reads: to partition, precision
and reports the node is the adapter's operator. Gradients are registered by name, and every node names its own, so
they are found in graphs read from files, too.
"""

from __future__ import annotations

import hashlib
import importlib
import threading
from typing import Any, Callable, Dict, Hashable, List, Mapping, Optional, Sequence, Tuple

from npu_reference.errors import NpuError
from npu_reference.graphs import OPERATOR_MARK, SEEDED_MARK
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["attribute", "call", "gradient", "loop"]

Body = Callable[..., Sequence[Any]]

#: What stands before an operator's name in TensorFlow's registry of gradients, which other libraries share.
_GRADIENTS = "npu_reference."

#: What stands before the name of an attribute; TensorFlow lets a node have others than its operator declares so.
_ATTRIBUTES = "_npu_"

_LOCK = threading.RLock()
_FUNCTIONS: Dict[Hashable, Any] = {}


def call(
    op: str,
    inputs: Sequence[Tuple[str, Any]],
    results: Sequence[str],
    body: Body,
    *,
    key: Tuple[Hashable, ...] = (),
    shapes: Sequence[Any] = (),
    attrs: Optional[Mapping[str, Any]] = None,
    name: str = "",
    alone: bool = False,
    seeded: bool = False,
    stateful: bool = False,
) -> Tuple[Any, ...]:
    """A node that is an operator of the adapter's own.

    Args:
        op: the operator, one of ``npu_reference.graphs.private_ops``.
        inputs: name of each argument, as the operator declares it, and its tensor.
        results: names of the outputs, as the operator declares them.
        body: computes the outputs from tensors like the inputs, without reaching for anything else.
        key: what the body depends on besides the inputs' types; calls with equal keys share a function.
        shapes: static shapes of the first outputs, as far as they are known.
        attrs: the operator's attributes that its gradient asks for: bools, ints, floats or texts.
        name: of the node; the operator's without it.
        alone: whether the node has a function of its own, since that holds state that no other node may share.
        seeded: whether its random operator has a seed.
        stateful: whether it has an effect: it is computed once for every node and run, whatever its inputs are.

    Returns:
        The outputs; the operation, where the operator has none.

    Raises:
        NpuError: RUN_FAILED in eager mode: the adapter's operators are for graphs.
    """
    v1 = tensorflow().v1
    if v1.executing_eagerly():
        reason = "the adapter's operators are built in graphs, and TensorFlow is in eager mode here."
        raise NpuError("RUN_FAILED", op, reason, "Call tf.compat.v1.disable_eager_execution() first.")
    tensors = [v1.convert_to_tensor(tensor) for _, tensor in inputs]
    own = v1.get_default_graph().unique_name(name or op, mark_as_used=False) if alone else ""
    made = _function(
        op,
        [argument for argument, _ in inputs],
        [tensor.dtype.base_dtype for tensor in tensors],
        results,
        body,
        (key, own, seeded, stateful),
    )
    outputs = made(*tensors, name=name or op)
    if not isinstance(outputs, tuple):
        outputs = (outputs,)
    node = outputs[0].op if results else outputs[0]
    node._set_attr("_gradient_op_type", v1.AttrValue(s=(_GRADIENTS + op).encode()))
    for attr, value in (attrs or {}).items():
        node._set_attr(_ATTRIBUTES + attr, _attr_value(value))
    for output, shape in zip(outputs, shapes):
        if shape is not None:
            output.set_shape(shape)
    return outputs


def attribute(node: Any, name: str) -> Any:
    """An attribute that a node of :func:`call` was given."""
    value = node.get_attr(_ATTRIBUTES + name)
    return value.decode() if isinstance(value, bytes) else value


def gradient(op: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator that registers the gradient of an operator, a function as ``tf.RegisterGradient`` takes it."""
    register: Callable[[Callable[..., Any]], Callable[..., Any]] = tensorflow().v1.RegisterGradient(_GRADIENTS + op)
    return register


def loop(condition: Body, turn: Body, state: Sequence[Any]) -> List[Any]:
    """A loop inside a body: ``state`` after the last turn. It has no gradient; operators with loops bring their own.

    It is one While, which TensorFlow runs as an operator: in the function of a GEOP no version 1 loop may stand.
    """
    functional = importlib.import_module("tensorflow.python.ops.functional_ops")
    function = importlib.import_module("tensorflow.python.framework.function")
    types = [tensor.dtype for tensor in state]

    def condition_of(*values: Any) -> Any:
        return condition(*values)

    def turn_of(*values: Any) -> Any:
        return tuple(turn(*values))

    return list(functional.While(list(state), function.Defun(*types)(condition_of), function.Defun(*types)(turn_of)))


def _attr_value(value: Any) -> Any:
    v1 = tensorflow().v1
    if isinstance(value, bool):
        return v1.AttrValue(b=value)
    if isinstance(value, str):
        return v1.AttrValue(s=value.encode())
    return v1.AttrValue(i=value) if isinstance(value, int) else v1.AttrValue(f=value)


def _function(
    op: str, names: Sequence[str], types: Sequence[Any], results: Sequence[str], body: Body, key: Hashable
) -> Any:
    """The function of an operator for given types, made once in a process: it belongs to no graph."""
    whole = (op, tuple(names), tuple(dtype.name for dtype in types), tuple(results), key)
    with _LOCK:
        if whole not in _FUNCTIONS:
            _FUNCTIONS[whole] = _made(op, names, types, results, body, whole)
        return _FUNCTIONS[whole]


def _made(
    op: str, names: Sequence[str], types: Sequence[Any], results: Sequence[str], body: Body, key: Hashable
) -> Any:
    v1 = tensorflow().v1
    framework = "tensorflow.python.framework."
    function = importlib.import_module(framework + "function")
    graph = v1.Graph()
    with graph.as_default():
        args = [v1.placeholder(dtype, name=name) for name, dtype in zip(names, types)]
        with v1.name_scope("compute"):
            # An argument cannot be returned as it is: the name of a result would be that of an argument.
            made = body(*args)
            outputs = [v1.identity(output) for output in made] if results else []
    convert = importlib.import_module(framework + "graph_to_function_def").graph_to_function_def
    definition = convert(graph, graph.get_operations(), args, outputs, list(results))
    definition.attr[OPERATOR_MARK].s = op.encode()
    for node in [] if results else [operation.name for operation in made]:
        definition.signature.control_output.append(node.replace("/", "_"))
        definition.control_ret[node.replace("/", "_")] = node
    _, own, seeded, stateful = key[-1]  # type: ignore[index]
    if seeded:
        definition.attr[SEEDED_MARK].b = True
    definition.signature.is_stateful = definition.signature.is_stateful or stateful
    # An operator is computed as a whole. Grappler of 1.15 to 2.21 mistakes shapes when it removes a transposition in a
    # body it has inlined together with one outside. Where a generator lives in the body it must be inlined: only then
    # does TensorFlow keep one generator for all signatures of a session.
    definition.attr["_noinline"].b = not own
    # The name tells what the function does, so that a graph may hold those of two releases of this package.
    content = definition.SerializeToString(deterministic=True) + repr(key).encode()
    definition.signature.name = f"{op}_{hashlib.sha256(content).hexdigest()[:12]}"
    made = function._from_definition(definition)
    made._sub_functions = dict(graph._functions)
    return made
