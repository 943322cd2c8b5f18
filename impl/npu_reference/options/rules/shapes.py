"""Rules of dynamic shapes: profiles, ranges, and what excludes what."""

from __future__ import annotations

from npu_reference.options.rules.rule import RuleBook
from npu_reference.options.state import State

__all__ = ["RULES", "no_loops"]

RULES = RuleBook()

_PROFILE_OPTIONS = ("input_shape", "dynamic_dims", "dynamic_node_type")


@RULES.rule("S1", *_PROFILE_OPTIONS, surfaces=("session",), about=_PROFILE_OPTIONS)
def _profiles_are_given_whole(state: State) -> None:
    """input_shape, dynamic_dims and dynamic_node_type are given together or not at all."""
    missing = [name for name in _PROFILE_OPTIONS if not state.has(name)]
    if not missing:
        return
    for name in _PROFILE_OPTIONS:
        if state.has(name):
            state.error(
                name,
                "OPTION_CONFLICT",
                f"it is given without {' and '.join(missing)}.",
                f"Give {', '.join(_PROFILE_OPTIONS)} together.",
            )


@RULES.rule("session.dynamic_dims.count", "dynamic_dims", surfaces=("session",))
def _profiles_fill_every_dynamic_dimension(state: State) -> None:
    """Every profile of dynamic_dims has one size for each -1 of input_shape."""
    shape, profiles = state.parsed.get("input_shape"), state.parsed.get("dynamic_dims")
    if shape is None or profiles is None:
        return
    wanted = shape.dynamic  # type: ignore[attr-defined]
    found = len(profiles.profiles[0])  # type: ignore[attr-defined]
    if wanted != found:
        state.error(
            "dynamic_dims",
            "OPTION_CONFLICT",
            f"its profiles have {found} sizes, but input_shape has {wanted} dynamic dimensions.",
            "Give one size for each -1 of input_shape, in order.",
        )


@RULES.rule("S7", "input_shape", "dynamic_dims", surfaces=("session",), about=("mix_compile_mode",))
def _profiles_exclude_mixed_computing(state: State) -> None:
    """Profiles cannot be used in mixed computing."""
    if not state.value("mix_compile_mode"):
        return
    for name in ("input_shape", "dynamic_dims"):
        if state.has(name):
            state.error(
                name,
                "OPTION_CONFLICT",
                "it cannot be used while mix_compile_mode is True.",
                "Switch mix_compile_mode off, or leave the profiles out.",
            )


@RULES.rule("S14", "compile_dynamic_mode")
def _generalised_shapes_exclude_other_dynamics(state: State) -> None:
    """compile_dynamic_mode excludes dynamic_input and profiles."""
    if not state.value("compile_dynamic_mode"):
        return
    ways = ("dynamic_input", "input_shape", "dynamic_dims")
    others = [name for name in ways if state.has(name) and state.value(name)]
    if others:
        state.error(
            "compile_dynamic_mode",
            "OPTION_CONFLICT",
            f"it is True beside {' and '.join(others)}.",
            "Choose one way of dynamic shapes.",
        )


@RULES.rule("S17", "dynamic_input", about=("dynamic_graph_execute_mode",))
def _dynamic_input_has_its_mode(state: State) -> None:
    """dynamic_input is given together with dynamic_graph_execute_mode and a range; without one any shape does (S8)."""
    if not state.value("dynamic_input"):
        return
    if not state.has("dynamic_graph_execute_mode"):
        message = (
            "dynamic_input needs dynamic_graph_execute_mode beside it, which is not given; dynamic_execute is used."
        )
        state.warn("dynamic_input", "incomplete", message)
    if not state.has("dynamic_inputs_shape_range") and not state.refused("dynamic_inputs_shape_range"):
        state.note(
            "dynamic_input", "dynamic_inputs_shape_range is not given: every dimension of every input may change.", "S8"
        )


@RULES.rule("S16", "dynamic_inputs_shape_range", about=("dynamic_graph_execute_mode",))
def _recompilation_needs_no_range(state: State) -> None:
    """With dynamic_graph_execute_mode lazy_recompile, dynamic_inputs_shape_range is not used."""
    lazy = state.value("dynamic_input") and state.value("dynamic_graph_execute_mode") == "lazy_recompile"
    if lazy and state.has("dynamic_inputs_shape_range"):
        message = "dynamic_inputs_shape_range has no effect beside dynamic_graph_execute_mode lazy_recompile."
        state.warn("dynamic_inputs_shape_range", "overridden", message)
        state.drop("dynamic_inputs_shape_range", "S16")


def no_loops(iterations: object) -> str:
    """What lazy recompilation says of loops, in the words of the adapter's recorded refusal."""
    return f"iterations_per_loop only support 1 in lazy_recompile mode. Current is:{iterations}"


@RULES.rule("S16", "iterations_per_loop", about=("dynamic_graph_execute_mode", "dynamic_input"))
def _recompilation_does_not_loop(state: State) -> None:
    """With dynamic_graph_execute_mode lazy_recompile, iterations_per_loop has to be 1 (S16)."""
    lazy = state.value("dynamic_input") and state.value("dynamic_graph_execute_mode") == "lazy_recompile"
    iterations = state.value("iterations_per_loop")
    if lazy and state.has("iterations_per_loop") and iterations != 1:
        state.error(
            "iterations_per_loop",
            "OPTION_CONFLICT",
            no_loops(iterations),
            "Leave iterations_per_loop at 1, or set dynamic_graph_execute_mode to dynamic_execute.",
        )


@RULES.rule(
    "session.dynamic_graph_execute_mode.only_when_dynamic", "dynamic_graph_execute_mode", about=("dynamic_input",)
)
def _execute_mode_needs_dynamic_input(state: State) -> None:
    """dynamic_graph_execute_mode takes effect only with dynamic_input."""
    if state.has("dynamic_graph_execute_mode") and not state.value("dynamic_input"):
        state.warn_idle("dynamic_graph_execute_mode", "dynamic_input is not True")
        state.drop("dynamic_graph_execute_mode", "session.dynamic_graph_execute_mode.only_when_dynamic")


@RULES.rule("runconfig.dynamic_inputs_shape_range.dynamic_dims_wins", "dynamic_inputs_shape_range")
def _profiles_go_before_ranges(state: State) -> None:
    """Beside dynamic_dims, dynamic_inputs_shape_range has no effect (A50)."""
    if state.has("dynamic_inputs_shape_range") and state.has("dynamic_dims"):
        state.warn(
            "dynamic_inputs_shape_range", "overridden", "dynamic_inputs_shape_range has no effect beside dynamic_dims."
        )
        state.drop("dynamic_inputs_shape_range", "runconfig.dynamic_inputs_shape_range.dynamic_dims_wins")


@RULES.rule("S9", "dynamic_inputs_shape_range", about=("dynamic_input",))
def _ranges_need_dynamic_input(state: State) -> None:
    """dynamic_inputs_shape_range takes effect only with dynamic_input."""
    if state.has("dynamic_inputs_shape_range") and not state.value("dynamic_input"):
        state.warn_idle("dynamic_inputs_shape_range", "dynamic_input is not True")
        state.drop("dynamic_inputs_shape_range", "S9")
