"""What a training step must agree on with the options of its session: loops, tailing, loss scaling."""

from __future__ import annotations

import re
from typing import Any, List, Sequence

from npu_reference.errors import NpuError
from npu_reference.graphs import ITERATIONS_MARK, Graph
from npu_reference.options import Resolution
from npu_reference.runtime.observing.log import Notice

__all__ = ["ITERATIONS", "LOSS_SCALE", "TAILING", "advice", "check_tailing", "iterations", "trains"]

#: Graph collection, 0 or 1 each, of what the optimizers of a graph were told about tailing optimization.
TAILING = "npu_is_tailing_optimization"

#: Graph collection that is not empty where an optimizer scales the loss.
LOSS_SCALE = "npu_loss_scale"

ITERATIONS = ITERATIONS_MARK

_APPLY = re.compile(r"(Resource)?(Sparse)?Apply[A-Z]")


def trains(run_graph: Graph) -> bool:
    """Whether a run applies gradients."""
    return any(_APPLY.match(node.op) for node in run_graph.nodes)


def iterations(user_graph: Graph, run_graph: Graph, targets: Sequence[str], options: Resolution, tf_graph: Any) -> int:
    """How many iterations one session.run of these operators does on the device.

    Raises:
        NpuError: OPTION_CONFLICT, where the option and set_iteration_per_loop disagree (the option is for verification:
            document 002), where the option alone asks for a loop (T17), in mixed computing (A42), and where the graph
            reads a dataset on the host (T19).
    """
    loops = [
        _asked(tf_graph, name) for name in targets if user_graph.nodes[user_graph.index[name]].has_attr(ITERATIONS)
    ]
    wanted = options.typed.iterations_given
    if not loops:
        if wanted is not None and wanted > 1 and trains(run_graph):
            raise _conflict(
                "iterations_per_loop", f"it is {wanted}, but set_iteration_per_loop was not called.",
                f"Run what set_iteration_per_loop(sess, train_op, {wanted}) returns.",
            )  # fmt: skip
        return 1
    if len(set(loops)) > 1:
        raise _conflict("iterations_per_loop", f"one run holds loops of {sorted(set(loops))} iterations.")
    if wanted is not None and wanted != loops[0]:
        raise _conflict(
            "iterations_per_loop", f"it is {wanted}, but set_iteration_per_loop was given {loops[0]}.",
            "Give both the same number.",
        )  # fmt: skip
    if loops[0] > 1 and options.typed.partition.mix:
        raise _conflict(
            "iterations_per_loop", f"{loops[0]} iterations cannot be offloaded while mix_compile_mode is True.",
            "Give 1 to set_iteration_per_loop, or switch mix_compile_mode off.",
        )  # fmt: skip
    reads = any(node.op.startswith("IteratorGetNext") for node in run_graph.nodes)
    if loops[0] > 1 and reads and not options.typed.partition.data_pre_proc:
        raise _conflict(
            "enable_data_pre_proc", f"a loop of {loops[0]} iterations needs GetNext on the device.",
            'Set parameter_map["enable_data_pre_proc"].b = True.',
        )  # fmt: skip
    return loops[0]


def _asked(tf_graph: Any, name: str) -> int:
    """The iterations of an operation now: IterationPerLoop loads them into a graph that is finished otherwise."""
    return int(tf_graph.get_operation_by_name(name).get_attr(ITERATIONS))


def _conflict(option: str, reason: str, remedy: str = "") -> NpuError:
    return NpuError("OPTION_CONFLICT", option, reason, remedy)


def check_tailing(options: Resolution, tf_graph: Any) -> None:
    """Refuse a tailing optimization on which the session and NPUOptimizer disagree (T20)."""
    configured = options.typed.compiler.tailing
    for told in tf_graph.get_collection(TAILING):
        if bool(told) != configured:
            raise _conflict(
                "is_tailing_optimization",
                f"it is {bool(told)} in NPUOptimizer and {configured} in the session.",
                "Give both the same.",
            )


def advice(options: Resolution, tf_graph: Any) -> List[Notice]:
    """What to tell about the first training step of a session."""
    notices = []
    if options.typed.compiler.tailing and not tf_graph.get_collection(TAILING):
        text = "it has no effect without NPUOptimizer; wrap the optimizer of the graph in one."
        notices.append(Notice("tailing_without_npu_optimizer", "is_tailing_optimization", text))
    if options.typed.compiler.mixed and not tf_graph.get_collection(LOSS_SCALE):
        name = "precision_mode_v2" if options.typed.precision.v2 else "precision_mode"
        notices.append(Notice("loss_scaling", name, "mixed precision trains without loss scaling, which is advised."))
    return notices
