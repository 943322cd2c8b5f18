"""Rules of mixed computing, its ranges and iteration offload."""

from __future__ import annotations

from npu_reference.options.rules.rule import RuleBook
from npu_reference.options.state import State

__all__ = ["RULES"]

RULES = RuleBook()


@RULES.rule("mixed.iterations.must_be_one", "iterations_per_loop", about=("iterations_per_loop", "mix_compile_mode"))
def _iterations_must_be_one(state: State) -> None:
    """Mixed computing has no iteration offload: iterations_per_loop is 1 beside it (A42, M25)."""
    iterations = state.value("iterations_per_loop")
    if state.value("mix_compile_mode") and iterations != 1:
        state.error(
            "iterations_per_loop",
            "OPTION_CONFLICT",
            f"it is {iterations}, but mix_compile_mode is True, and mixed computing does not offload iterations.",
            "Leave iterations_per_loop at 1, or switch mix_compile_mode off.",
        )


@RULES.rule("session.use_off_line.false_overrides", "use_off_line", surfaces=("session",))
def _host_sessions_have_no_options(state: State) -> None:
    """With use_off_line False the whole graph runs on the host, and no other option has an effect."""
    others = [name for name in state.given if name not in ("use_off_line", "graph_run_mode")]
    if state.has("use_off_line") and not state.value("use_off_line") and others:
        message = "use_off_line is False: the whole graph runs on the host, and no other option has an effect."
        state.warn("use_off_line", "no_effect", message)


@RULES.rule("in_out_pair.needs_mix", "in_out_pair", surfaces=("session",), about=("mix_compile_mode",))
def _ranges_need_mixed_computing(state: State) -> None:
    """in_out_pair needs mix_compile_mode (M11)."""
    if state.has("in_out_pair") and not state.value("mix_compile_mode"):
        state.error(
            "in_out_pair",
            "OPTION_CONFLICT",
            "it belongs to mixed computing, but mix_compile_mode is not True.",
            'Set parameter_map["mix_compile_mode"].b = True beside it.',
        )


@RULES.rule("runconfig.variable_placement.host_needs_mix", "variable_placement", about=("mix_compile_mode",))
def _host_variables_need_mixed_computing(state: State) -> None:
    """variable_placement Host needs mix_compile_mode (T21)."""
    if state.value("variable_placement") == "Host" and not state.value("mix_compile_mode"):
        state.error(
            "variable_placement",
            "OPTION_CONFLICT",
            "it is Host, which needs mixed computing, but mix_compile_mode is not True.",
            "Set mix_compile_mode to True, or leave variables on the device.",
        )


@RULES.rule(
    "runconfig.enable_data_pre_proc.prerequisite",
    "enable_data_pre_proc",
    "iterations_per_loop",
    about=("enable_data_pre_proc", "iterations_per_loop"),
)
def _loops_read_on_the_device(state: State) -> None:
    """Iteration offload of a graph that reads a dataset needs enable_data_pre_proc (T19)."""
    iterations = state.value("iterations_per_loop")
    if not state.value("enable_data_pre_proc") and isinstance(iterations, int) and iterations > 1:
        message = f"iterations_per_loop {iterations} needs enable_data_pre_proc where the graph reads a dataset."
        state.warn("enable_data_pre_proc", "incomplete", message)
