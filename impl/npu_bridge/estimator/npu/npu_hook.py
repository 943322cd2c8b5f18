"""Session hooks of the adapter: checkpoints, and output of tensors every few steps."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional

from npu_bridge._tensorflow import v1

__all__ = ["NPUCheckpointSaverHook", "NPUOutputTensorHook"]


class NPUCheckpointSaverHook(v1.train.CheckpointSaverHook):
    """Saves checkpoints. With one iteration per loop every step is seen, so TensorFlow's own rule holds."""


class NPUOutputTensorHook(v1.train.SessionRunHook):
    """Hands the values of ``tensors`` to ``output_fn`` every ``output_every_n_steps`` runs and at the end.

    Args:
        tensors: name -> tensor.
        dependencies: operations to run together with the tensors.
        output_fn: called with a list of name -> value dicts, one a run since the last call.
        output_every_n_steps: 0 calls it at the end only.
    """

    def __init__(
        self,
        tensors: Dict[str, Any],
        dependencies: Any = None,
        output_fn: Optional[Callable[[Any], None]] = None,
        output_every_n_steps: int = 0,
    ) -> None:
        self._fetches = {"tensors": dict(tensors), "dependencies": dependencies or []}
        self._output_fn = output_fn or v1.logging.info
        self._every = output_every_n_steps
        self._collected: Any = []

    def before_run(self, run_context: Any) -> Any:
        return v1.train.SessionRunArgs(self._fetches)

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
