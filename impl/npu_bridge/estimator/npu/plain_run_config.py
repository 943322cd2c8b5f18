"""The fields of tf.estimator.RunConfig, for TensorFlow 2.16 and later, which have none."""

from __future__ import annotations

import copy
from typing import Any, Optional

from npu_reference.options.classes import OptionValueError

__all__ = ["PlainRunConfig"]

#: Marks an argument that was not given, where None means something else.
_NOT_GIVEN = "not given"


class PlainRunConfig:
    """What a training run is like apart from the device: directory, seed, and how often things are saved.

    Without either of ``save_checkpoints_steps`` and ``save_checkpoints_secs``, a checkpoint is saved every
    600 s, as in tf.estimator.RunConfig; both given is an error, both None saves none.
    """

    def __init__(
        self,
        model_dir: Optional[str] = None,
        tf_random_seed: Optional[int] = None,
        save_summary_steps: int = 100,
        save_checkpoints_steps: Any = _NOT_GIVEN,
        save_checkpoints_secs: Any = _NOT_GIVEN,
        session_config: Any = None,
        keep_checkpoint_max: int = 5,
        keep_checkpoint_every_n_hours: float = 10000,
        log_step_count_steps: Optional[int] = 100,
    ) -> None:
        if save_checkpoints_steps == _NOT_GIVEN and save_checkpoints_secs == _NOT_GIVEN:
            save_checkpoints_steps, save_checkpoints_secs = None, 600
        elif save_checkpoints_steps == _NOT_GIVEN:
            save_checkpoints_steps = None
        elif save_checkpoints_secs == _NOT_GIVEN:
            save_checkpoints_secs = None
        if save_checkpoints_steps is not None and save_checkpoints_secs is not None:
            raise OptionValueError(
                "OPTION_CONFLICT", "save_checkpoints_steps", "save_checkpoints_secs is given too.", "Give one of them."
            )
        self.model_dir = model_dir
        self.tf_random_seed = tf_random_seed
        self.save_summary_steps = save_summary_steps
        self.save_checkpoints_steps = save_checkpoints_steps
        self.save_checkpoints_secs = save_checkpoints_secs
        self.session_config = session_config
        self.keep_checkpoint_max = keep_checkpoint_max
        self.keep_checkpoint_every_n_hours = keep_checkpoint_every_n_hours
        self.log_step_count_steps = log_step_count_steps

    def replace(self, **changes: Any) -> PlainRunConfig:
        """A copy with some fields changed."""
        changed = copy.copy(self)
        for name, value in changes.items():
            if name not in vars(self):
                raise OptionValueError("OPTION_VALUE", name, "a run configuration has no such field.")
            setattr(changed, name, value)
        return changed
