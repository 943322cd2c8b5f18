"""How sess.run scripts set what belongs to one graph: iterations of a loop, shapes of inputs."""

from __future__ import annotations

from typing import Any, Optional

from npu_bridge._tensorflow import v1
from npu_reference.options import resolve
from npu_reference.options.classes import OptionTypeError, OptionValueError, raise_for_python
from npu_reference.runtime.agreement.input_shapes import GRAPH_ATTRS
from npu_reference.runtime.agreement.training import ITERATIONS

__all__ = ["set_graph_exec_config", "set_iteration_per_loop"]


def set_iteration_per_loop(sess: Any, train_op: Any, iterations_per_loop: int = 1) -> Any:
    """The operation to run instead of ``train_op``, so that one ``sess.run`` does ``iterations_per_loop`` steps.

    Args:
        sess: the session; its graph gets the new operation.
        train_op: the operation that does one training step.
        iterations_per_loop: steps on the device for each ``sess.run``. What is fed beside them is fed to every step,
            what is fetched is of the last one. Mixed computing needs 1 (document 000), and so does a graph that reads
            a dataset whose GetNext is not offloaded; the option of the same name, if given, is equal (document 002).

    Raises:
        OptionTypeError: ``iterations_per_loop`` is no int; a bool is none either (G12).
        OptionValueError: it is not positive.
    """
    if isinstance(iterations_per_loop, bool) or not isinstance(iterations_per_loop, int):
        raise OptionTypeError(
            "OPTION_TYPE", "iterations_per_loop", f"{iterations_per_loop!r} is not an int.", "Give a positive int."
        )
    if iterations_per_loop < 1:
        raise OptionValueError(
            "OPTION_VALUE", "iterations_per_loop", f"{iterations_per_loop} is not positive.", "Give a positive int."
        )
    # TensorFlow has no public way to add an attribute to a node.
    with sess.graph.as_default(), sess.graph._attr_scope({ITERATIONS: v1.AttrValue(i=iterations_per_loop)}):
        return v1.group(train_op, name="npu_iteration_loop")


def set_graph_exec_config(
    fetch: Any,
    dynamic_input: bool = False,
    dynamic_graph_execute_mode: str = "dynamic_execute",
    dynamic_inputs_shape_range: Optional[str] = None,
    is_train_graph: bool = False,
) -> Any:
    """Give the graph that computes ``fetch`` dynamic inputs of its own, instead of those of the session.

    Args:
        fetch: the tensor or operation that is fetched or run; it is returned.
        dynamic_input, dynamic_graph_execute_mode, dynamic_inputs_shape_range: as the options of these names.
        is_train_graph: whether the graph trains; nothing here depends on it.

    Raises:
        OptionTypeError: ``fetch`` is neither, or a value has the wrong type.
        OptionValueError: a value that the option of the same name refuses.
    """
    operation = getattr(fetch, "op", fetch)
    if not isinstance(operation, v1.Operation):
        raise OptionTypeError(
            "OPTION_TYPE", "fetch", f"a {type(fetch).__name__} cannot be fetched.", "Give a tensor or an operation."
        )
    values = {
        "dynamic_input": dynamic_input,
        "dynamic_graph_execute_mode": dynamic_graph_execute_mode,
        "dynamic_inputs_shape_range": dynamic_inputs_shape_range,
    }
    for error in resolve(values).errors:
        raise_for_python(error)
    of_input, of_ranges = GRAPH_ATTRS
    operation._set_attr(of_input, v1.AttrValue(b=dynamic_input))
    operation._set_attr(of_ranges, v1.AttrValue(s=(dynamic_inputs_shape_range or "").encode("utf-8")))
    return fetch
