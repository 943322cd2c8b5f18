"""How one session.run comes to do several training iterations on the device: an operation that says so."""

from __future__ import annotations

from typing import Any

from npu_reference.errors import NpuError
from npu_reference.runtime.agreement.training import ITERATIONS
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["repeated"]


def repeated(train_op: Any, iterations: int, name: str = "npu_iteration_loop") -> Any:
    """An operation to run instead of ``train_op``, so that one session.run does ``iterations`` iterations (003 L576).

    A run that holds it is repeated as a whole on the device, all of its fetches and targets included, with the same
    feeds: every GetNext gives ``iterations`` elements, a global step that the iteration counts advances by
    ``iterations``, and the values answered (losses, summaries, the global step) are those of the last iteration. An
    error, OutOfRange among them, ends the run where it happens: what earlier iterations wrote stays, as after so many
    runs of one iteration. RunMetadata is of the last iteration. The run is one run in the trace, and to hooks.

    In mixed computing, or where a dataset's GetNext stays on the host, a run with more than one iteration is refused
    when it first begins (OPTION_CONFLICT; A42, T19), and so is one whose session has another ``iterations_per_loop``.

    Args:
        train_op: an operation or tensor, or a list of them, of one graph that may still grow.
        iterations: from 1.
        name: of the new operation.

    Raises:
        NpuError: OPTION_VALUE, when ``iterations`` is no positive int; a bool is none (G12).
    """
    if isinstance(iterations, bool) or not isinstance(iterations, int) or iterations < 1:
        raise NpuError(
            "OPTION_VALUE", "iterations_per_loop", f"{iterations!r} is no positive int.", "Give an int from 1."
        )
    v1 = tensorflow().v1
    members = list(train_op) if isinstance(train_op, (list, tuple)) else [train_op]
    graph = members[0].graph
    # TensorFlow has no public way to add an attribute to a node.
    with graph.as_default(), graph._attr_scope({ITERATIONS: v1.AttrValue(i=iterations)}):
        return v1.group(*members, name=name)
