"""Session hooks of the adapter: checkpoints, output of tensors, loops, and what only several devices need."""

from __future__ import annotations

from typing import Any, Callable, Optional

from npu_bridge._names import module_getattr
from npu_bridge._tensorflow import v1
from npu_bridge.estimator.npu.util import load_iterations
from npu_reference.runtime.operators.gradients import spread
from npu_reference.runtime.ranks import rank_size

__all__ = [
    "NPUBroadcastGlobalVariablesHook",
    "NPUCheckpointSaverHook",
    "NPUOutputTensorHook",
    "NPUShutDownHook",
    "SetIterationsVarHook",
    "TellMeStepOrLossHook",
    "broadcast_global_variables",
]


class NPUCheckpointSaverHook(v1.train.CheckpointSaverHook):
    """Saves checkpoints, by the global step: with several iterations a loop, after the loop in which one is due."""


class NPUOutputTensorHook(v1.train.LoggingTensorHook):
    """Hands the values of ``tensors`` to ``output_fn`` every ``output_every_n_steps`` runs and at the end.

    Args:
        tensors: name -> tensor or its name, or a list of tensors or names, which are their own keys; None for none.
        dependencies: operations to run together with the tensors, or one.
        output_fn: called with a list of key -> value dicts, one a run since the last call.
        output_every_n_steps: 0 calls it at the end only.
    """

    def __init__(
        self,
        tensors: Any,
        dependencies: Any = None,
        output_fn: Optional[Callable[[Any], None]] = None,
        output_every_n_steps: int = 0,
    ) -> None:
        super().__init__(tensors or {}, at_end=True)
        self._dependencies = [] if dependencies is None else dependencies
        self._output_fn = output_fn or v1.logging.info
        self._every = output_every_n_steps
        self._collected: Any = []

    def before_run(self, run_context: Any) -> Any:
        return v1.train.SessionRunArgs({"tensors": self._current_tensors, "dependencies": self._dependencies})

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._collected.append(run_values.results["tensors"])
        if self._every and len(self._collected) >= self._every:
            self._flush()

    def end(self, session: Any) -> None:
        self._flush()

    def _flush(self) -> None:
        if self._collected:
            collected, self._collected = self._collected, []
            self._output_fn(collected)


class NPUBroadcastGlobalVariablesHook(v1.train.SessionRunHook):
    """Gives all ranks the global variables of one when a session is made; with one rank it does nothing.

    Args:
        root_rank: the rank that gives them.
        index: the rank of this process.
    """

    def __init__(self, root_rank: int = 0, index: int = 0) -> None:
        self._root_rank, self._index = root_rank, index
        self._spread: Any = None

    def begin(self) -> None:
        if rank_size() > 1:
            self._spread = broadcast_global_variables(self._root_rank)

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._spread is not None:
            session.run(self._spread)


def broadcast_global_variables(root_rank: int) -> Any:
    """An operation that gives all ranks the global variables of one."""
    return v1.group(*spread(v1.global_variables(), root_rank))


class NPUShutDownHook(v1.train.SessionRunHook):
    """Gives the device back at the end of a session, which the simulated one does not need."""

    def __init__(self, scaffold: Any = None) -> None:
        del scaffold


class SetIterationsVarHook(v1.train.SessionRunHook):
    """Lets the operations of ``IterationPerLoop`` in the session's graph do ``iterations`` steps a run."""

    def __init__(self, iterations: int = 1) -> None:
        self._iterations = iterations

    def after_create_session(self, session: Any, coord: Any) -> None:
        load_iterations(session, self._iterations)


class TellMeStepOrLossHook(v1.train.SessionRunHook):
    """Tells the device how far training is, which decides nothing on the simulated one.

    Args:
        step, total_step: name of the tensor of the current step, and the number of steps; or else
        loss, final_loss: name of the tensor of the current loss, and the loss that is aimed at.
    """

    def __init__(self, step: Any = None, total_step: Any = None, loss: Any = None, final_loss: Any = None) -> None:
        self._told = (step, total_step, loss, final_loss)


__getattr__ = module_getattr(__name__)
