"""Rules of profiling and automatic tuning."""

from __future__ import annotations

from npu_reference.options.domains import echo
from npu_reference.options.files.aoe_config import FEATURES
from npu_reference.options.grammars.profiling import ProfilingOptions
from npu_reference.options.rules.debugging import check_directory
from npu_reference.options.rules.rule import RuleBook
from npu_reference.options.state import State

__all__ = ["RULES"]

RULES = RuleBook()


@RULES.rule("session.profiling_options.fp_point.required", "profiling_options")
def _trace_points(state: State) -> None:
    """With training_trace on, profiling_options has fp_point and bp_point (D12: left empty, they are found)."""
    options = state.parsed.get("profiling_options")
    if not isinstance(options, ProfilingOptions) or not options.training_trace or not state.training:
        return
    missing = [key for key in ("fp_point", "bp_point") if not getattr(options, key)]
    if not missing:
        return
    reason = f"training_trace is on, but {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not given."
    lacking = any(key not in options.given for key in missing)
    if state.edition == "legacy" and lacking:
        remedy = "Name the first forward and the last backward operator."
        state.error("profiling_options", "OPTION_CONFLICT", reason, remedy)
    else:
        state.warn("profiling_options", "incomplete", reason)


@RULES.rule("session.profiling_options.inference.no_training_trace", "profiling_options")
def _no_training_trace_in_inference(state: State) -> None:
    """Online inference has no training_trace."""
    options = state.parsed.get("profiling_options")
    if isinstance(options, ProfilingOptions) and options.training_trace and not state.training:
        state.warn("profiling_options", "training_only", "training_trace is for training; online inference ignores it.")
        state.parsed["profiling_options"] = options._replace(training_trace=False)


@RULES.rule("session.profiling_mode.false", "profiling_options", about=("profiling_mode",))
def _profiling_options_need_profiling(state: State) -> None:
    """profiling_options have no effect unless profiling_mode is True."""
    told = any(one.option == "profiling_options" and one.code == "no_effect" for one in state.warnings)
    if state.has("profiling_options") and not state.value("profiling_mode") and not told:
        state.warn_idle("profiling_options", "profiling_mode is not True")


@RULES.rule("session.profiling_options.output.precreated", "profiling_mode", about=("profiling_options",))
def _profiles_need_an_output(state: State) -> None:
    """profiling_mode needs an output directory that exists and can be read and written (D10)."""
    if not state.value("profiling_mode"):
        return
    options = state.parsed.get("profiling_options")
    output = options.output if isinstance(options, ProfilingOptions) else ""
    if output:
        check_directory(state, "profiling_options", output, "output")
    elif state.edition == "legacy":
        reason = "profiling_mode is True, but profiling_options has no output."
        state.error("profiling_options", "OPTION_CONFLICT", reason, "Give a directory that exists as its output.")
    else:
        state.warn("profiling_options", "incomplete", "profiling_mode is True, but profiling_options has no output.")


@RULES.rule("env.AOE_MODE.fallback", "AOE_MODE", editions=("current",))
def _tuning_mode_of_the_environment(state: State) -> None:
    """Without aoe_mode, AOE_MODE chooses what is tuned; not in online inference (T38)."""
    text = state.env.get("AOE_MODE", "")
    if not text or state.has("aoe_mode") or not state.training:
        return
    if text in ("1", "2", "4"):
        state.fall_back("aoe_mode", text, "environment", "env.AOE_MODE.fallback")
    else:
        state.error("AOE_MODE", "OPTION_VALUE", f"{echo(text)} is no tuning mode.", "Allowed: 1, 2, 4.")


@RULES.rule("runconfig.work_path.precreated", "aoe_mode", "AOE_MODE", editions=("current",))
def _tuning_needs_its_directory(state: State) -> None:
    """While something is tuned, work_path exists and can be read and written (T29)."""
    if state.value("aoe_mode") is not None and state.has("work_path"):
        check_directory(state, "work_path", str(state.value("work_path")))


@RULES.rule("T35", "aoe_config_file", editions=("current",), about=("aoe_mode",))
def _tuned_operators_need_tuning(state: State) -> None:
    """aoe_config_file has no effect unless aoe_mode is given."""
    if state.has("aoe_config_file") and state.value("aoe_mode") is None:
        state.warn_idle("aoe_config_file", "aoe_mode is not given")


@RULES.rule("files.aoe_cfg.deeper_opat_needs_2", "aoe_config_file", editions=("current",), about=("aoe_mode",))
def _features_need_their_mode(state: State) -> None:
    """Feature deeper_opat of aoe_config_file needs aoe_mode 2, nonhomo_split needs 1."""
    config = state.parsed.get("aoe_config_file")
    mode = state.value("aoe_mode")
    for feature in getattr(config, "features", ()):
        if FEATURES[feature] != mode:
            state.error(
                "aoe_config_file",
                "OPTION_CONFLICT",
                f"its feature {feature} needs aoe_mode {FEATURES[feature]}, which is {mode}.",
                f"Set aoe_mode to {echo(FEATURES[feature])}, or drop the feature.",
            )
            return
