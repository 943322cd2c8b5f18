"""Rules of speed options."""

from __future__ import annotations

from npu_reference.options.rules.rule import RuleBook
from npu_reference.options.state import State

__all__ = ["RULES"]

RULES = RuleBook()

#: Highest local_rank_id the adapter is known to be used with (T16).
_USUAL_RANKS = 8


@RULES.rule("runconfig.enable_small_channel.inference_fixed", "enable_small_channel", editions=("current",))
def _small_channel_is_fixed_in_inference(state: State) -> None:
    """In online inference enable_small_channel is 1, whatever is given (A28)."""
    if not state.training and state.has("enable_small_channel") and state.value("enable_small_channel") != 1:
        state.warn("enable_small_channel", "overridden", "enable_small_channel is always 1 in online inference.")
        state.force("enable_small_channel", 1, "runconfig.enable_small_channel.inference_fixed")


@RULES.rule("session.enable_small_channel.advice", "enable_small_channel", editions=("legacy",))
def _small_channel_is_advised_in_inference(state: State) -> None:
    """In online inference enable_small_channel 1 is advised (B26); the current edition knows no other value there."""
    if not state.training and state.has("enable_small_channel") and state.value("enable_small_channel") != 1:
        message = "enable_small_channel 0 is not what is advised for online inference."
        state.warn("enable_small_channel", "advice", message)


@RULES.rule("runconfig.enable_small_channel.training_default", "enable_small_channel", editions=("current",))
def _small_channel_is_not_for_training(state: State) -> None:
    """In training, enable_small_channel is advised to stay off."""
    if state.training and state.has("enable_small_channel") and state.value("enable_small_channel") == 1:
        message = "enable_small_channel 1 is not advised in training."
        state.warn("enable_small_channel", "advice", message)


@RULES.rule("T15", "local_rank_id", "local_device_list", about=("local_rank_id", "local_device_list"))
def _rank_and_devices_belong_together(state: State) -> None:
    """local_rank_id and local_device_list are meant to be given together."""
    for name, other in (("local_rank_id", "local_device_list"), ("local_device_list", "local_rank_id")):
        if state.has(name) and not state.has(other):
            state.warn(name, "incomplete", f"{name} is used together with {other}, which is not given.")


@RULES.rule("T16", "local_rank_id")
def _ranks_are_few(state: State) -> None:
    """local_rank_id is usually 0 to 7."""
    rank = state.value("local_rank_id")
    if isinstance(rank, int) and rank >= _USUAL_RANKS:
        state.warn("local_rank_id", "advice", f"local_rank_id {rank} is above the usual {_USUAL_RANKS - 1}.")
