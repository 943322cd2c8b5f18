"""What tuning is asked for: the mode, which operators, how thoroughly, and where its files lie."""

from __future__ import annotations

from typing import NamedTuple, Optional, Sequence, Tuple

from npu_reference.compiler.kernels import Kernel
from npu_reference.options import Resolution
from npu_reference.options.files.aoe_config import AoeConfig

__all__ = ["TuningPlan", "plan_of"]

#: Mode to the word in the names of its result files.
_WORDS = {"1": "sgat", "2": "opat", "4": "gdat"}


class TuningPlan(NamedTuple):
    """What is tuned.

    Attributes:
        mode: 1 subgraphs, 2 operators, 4 the split of gradients (runconfig.aoe_mode).
        work_path: directory of configuration and results, as given (runconfig.work_path).
        names, types: operators that are tuned, all where both are None (files.aoe_cfg.union).
        fine: whether every tile is tried (files.aoe_cfg.level_domain: O1), or few (O2).
    """

    mode: str
    work_path: str
    names: Optional[Tuple[str, ...]]
    types: Optional[Tuple[str, ...]]
    fine: bool

    @property
    def word(self) -> str:
        return _WORDS[self.mode]

    def takes(self, kernel: Kernel) -> bool:
        """Whether a kernel is tuned: itself or any operator that was fused into it is named, or is of a type named
        (files.aoe_cfg.tune_ops_name, tune_ops_type, fused_op)."""
        if self.names is None and self.types is None:
            return True
        return _any(self.names, (kernel.node, *kernel.members)) or _any(self.types, (kernel.type, *kernel.ops))


def _any(wanted: Optional[Sequence[str]], words: Sequence[str]) -> bool:
    return wanted is not None and not set(wanted).isdisjoint(words)


def plan_of(resolution: Resolution) -> Optional[TuningPlan]:
    """What the options ask for; None where nothing is: a session tunes nothing (session.aoe_mode.unsupported)."""
    asked = resolution.typed.tuning
    if not resolution.of_run_config or asked.mode is None:
        return None
    config = asked.config or AoeConfig()
    names, types = (config.names, config.types) if config.names or config.types else (None, None)
    fine = config.level == "O1" or "deeper_opat" in config.features
    return TuningPlan(asked.mode, asked.work_path, names, types, fine)
