"""How sess.run scripts set what belongs to one graph: iterations of a loop, shapes of inputs, precision."""

from __future__ import annotations

from typing import Any, Optional

from npu_bridge._names import module_getattr
from npu_bridge._tensorflow import v1
from npu_bridge.estimator.npu import npu_scope
from npu_reference.options import resolve
from npu_reference.options.classes import OptionTypeError, OptionValueError, raise_for_python
from npu_reference.runtime.agreement.input_shapes import GRAPH_ATTRS
from npu_reference.runtime.agreement.training import ITERATIONS
from npu_reference.runtime.ranks import rank_size
from npu_reference.runtime.sessions.iterations_per_run import repeated

__all__ = [
    "IterationPerLoop",
    "get_ranksize",
    "keep_tensors_dtypes",
    "set_graph_exec_config",
    "set_iteration_per_loop",
    "variable_initializer_in_host",
]


def get_ranksize() -> str:
    """How many ranks there are, as the environment writes it."""
    return str(rank_size())


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
    _check_iterations(iterations_per_loop)
    del sess  # its graph is that of the operation
    return repeated(train_op, iterations_per_loop)


class IterationPerLoop:
    """:func:`set_iteration_per_loop` in two parts: the operation before the graph is finalized, the number after.

    >>> loop = util.IterationPerLoop()
    >>> train_op = loop.create_iteration_per_loop_var(train_op)
    >>> with tf.train.Supervisor(logdir=logdir).managed_session(config=config) as sess:
    ...     loop.load_iteration_per_loop_var(sess, 10)
    ...     sess.run(train_op)
    """

    def create_iteration_per_loop_var(self, train_op: Any) -> Any:
        """The operation to run instead of ``train_op``: one step a run, until a number is loaded."""
        loop = repeated(train_op, 1)
        loop.graph.add_to_collection(_LOOPS, loop.name)
        return loop

    def load_iteration_per_loop_var(self, sess: Any, iterations_per_loop: int = 1) -> None:
        """Let the operations made so in the session's graph do so many steps a run; load it before they first run.

        Raises:
            OptionTypeError, OptionValueError: no positive int.
        """
        load_iterations(sess, iterations_per_loop)


def load_iterations(sess: Any, iterations_per_loop: int) -> None:
    """The number for all operations of :class:`IterationPerLoop` in the graph of a session."""
    _check_iterations(iterations_per_loop)
    for name in sess.graph.get_collection(_LOOPS):
        sess.graph.get_operation_by_name(name)._set_attr(ITERATIONS, v1.AttrValue(i=iterations_per_loop))


#: Graph collection of the names of operations whose iterations are loaded later.
_LOOPS = "npu_iteration_loops"


def _check_iterations(iterations: Any) -> None:
    if isinstance(iterations, bool) or not isinstance(iterations, int):
        raise OptionTypeError(
            "OPTION_TYPE", "iterations_per_loop", f"{iterations!r} is not an int.", "Give a positive int."
        )
    if iterations < 1:
        raise OptionValueError(
            "OPTION_VALUE", "iterations_per_loop", f"{iterations} is not positive.", "Give a positive int."
        )


def variable_initializer_in_host(var_list: Any) -> Any:
    """An operation ``var_in_host`` that initializes variables, each where it is: on the host or on the device."""
    return v1.variables_initializer(var_list, name="var_in_host")


def keep_tensors_dtypes(graph: Any, input_tensors: Any) -> None:
    """Let the operators of some tensors of a graph keep its precision, as those of ``keep_dtype_scope`` do.

    Args:
        graph: a tf.Graph, for instance one that was imported.
        input_tensors: names of tensors, such as ``("conv/Relu:0",)``.

    Raises:
        OptionTypeError: no graph, or no list of names.
        OptionValueError: a name that no tensor of the graph has.
    """
    if not isinstance(graph, v1.Graph):
        reason = f"a {type(graph).__name__} is no graph."
        raise OptionTypeError("OPTION_TYPE", "graph", reason, "Give a tf.Graph.")
    if not isinstance(input_tensors, (list, tuple)):
        reason = f"a {type(input_tensors).__name__} is no list of names."
        raise OptionTypeError("OPTION_TYPE", "input_tensors", reason, 'Give a list such as ["conv/Relu:0"].')
    # All are looked up before one is marked, so that a wrong name leaves the graph as it was.
    kept = {operation.name: operation for operation in (_maker(graph, name) for name in input_tensors)}
    mark = v1.AttrValue(i=1)
    for operation in kept.values():
        operation._set_attr(npu_scope.KEEP_DTYPE, mark)


def _maker(graph: Any, name: Any, argument: str = "input_tensors") -> Any:
    """The operator that gives a tensor of a graph. OptionValueError where none does."""
    try:
        return graph.get_tensor_by_name(name).op
    except (KeyError, ValueError, TypeError) as error:
        text = str(error.args[0] if error.args else error).rstrip(".")
        raise OptionValueError("OPTION_VALUE", argument, f"{text}.", "Name tensors as node:0.") from None


def set_graph_exec_config(
    fetch: Any,
    dynamic_input: bool = False,
    dynamic_graph_execute_mode: str = "dynamic_execute",
    dynamic_inputs_shape_range: Optional[str] = None,
    is_train_graph: bool = False,
) -> Any:
    """Give the graph that computes ``fetch`` dynamic inputs of its own, instead of those of the session.

    Args:
        fetch: the tensor or operation that is fetched or run, which is returned; the name of a tensor of the default
            graph, for which the tensor is returned; or a list or tuple of these, which is returned.
        dynamic_input, dynamic_graph_execute_mode, dynamic_inputs_shape_range: as the options of these names.
        is_train_graph: whether the graph trains; nothing here depends on it.

    Raises:
        OptionTypeError: ``fetch`` is none of these, or a value has the wrong type.
        OptionValueError: a name that no tensor has, or a value that the option of the same name refuses.
    """
    if isinstance(fetch, (list, tuple)):
        for one in fetch:
            set_graph_exec_config(
                one, dynamic_input, dynamic_graph_execute_mode, dynamic_inputs_shape_range, is_train_graph
            )
        return fetch
    if isinstance(fetch, str):
        fetch = _maker(v1.get_default_graph(), fetch, "fetch").outputs[int(fetch.rpartition(":")[2])]
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


__getattr__ = module_getattr(__name__)
