"""Rules of precision modes, lists and implementation modes."""

from __future__ import annotations

from npu_reference.options.rules.rule import RuleBook
from npu_reference.options.state import State

__all__ = ["RULES"]

RULES = RuleBook()

_MIXED = ("allow_mix_precision", "allow_mix_precision_fp16")


@RULES.rule("precision.v1_v2_exclusive", "precision_mode_v2", about=("precision_mode",))
def _one_form_of_precision_mode(state: State) -> None:
    """precision_mode and precision_mode_v2 cannot both be given, even if they agree (P27)."""
    if state.has("precision_mode") and state.has("precision_mode_v2"):
        state.error(
            "precision_mode_v2",
            "OPTION_CONFLICT",
            f"it is {state.value('precision_mode_v2')} beside precision_mode {state.value('precision_mode')}.",
            "Give one of the two; precision_mode_v2 is recommended.",
        )


@RULES.rule("precision.v2.replaces_v1", "precision_mode_v2")
def _second_form_decides_alone(state: State) -> None:
    """With precision_mode_v2 the default of precision_mode does not apply."""
    if state.has("precision_mode_v2"):
        state.force("precision_mode", None, "precision.v2.replaces_v1")


@RULES.rule("precision.force_fp16.inference_only", "precision_mode", editions=("current",))
def _force_fp16_is_for_inference(state: State) -> None:
    """precision_mode force_fp16 is listed for online inference; in training it takes effect with a warning (A7)."""
    if state.training and state.has("precision_mode") and state.value("precision_mode") == "force_fp16":
        message = (
            "force_fp16 is listed for online inference, but graph_run_mode 1 means training; it takes effect all the"
            " same. The legacy edition lists it for training, too."
        )
        state.warn("precision_mode", "inference_only", message)


@RULES.rule("P12", "modify_mixlist", about=("precision_mode", "precision_mode_v2"))
def _mixlist_needs_mixed_precision(state: State) -> None:
    """modify_mixlist needs a mixed precision mode."""
    mixed = state.value("precision_mode") in _MIXED or state.value("precision_mode_v2") == "mixed_float16"
    if state.has("modify_mixlist") and not mixed:
        mode = state.value("precision_mode_v2") or state.value("precision_mode")
        state.error(
            "modify_mixlist",
            "OPTION_CONFLICT",
            f"it changes the lists of mixed precision, but the precision mode is {mode}.",
            "Set precision_mode to allow_mix_precision, or precision_mode_v2 to mixed_float16.",
        )


@RULES.rule("precision.customize.must_keep_off", "customize_dtypes", about=("precision_mode", "precision_mode_v2"))
def _kept_precision_is_not_customised(state: State) -> None:
    """customize_dtypes has no effect with must_keep_origin_dtype or origin (B29)."""
    kept = state.value("precision_mode") == "must_keep_origin_dtype" or state.value("precision_mode_v2") == "origin"
    if state.has("customize_dtypes") and kept:
        message = "customize_dtypes has no effect while the original precision is kept."
        state.warn("customize_dtypes", "no_effect", message)
        state.drop("customize_dtypes", "precision.customize.must_keep_off")


@RULES.rule("session.optypelist_for_implmode.needs_implmode", "optypelist_for_implmode", about=("op_select_implmode",))
def _types_need_an_implementation_mode(state: State) -> None:
    """optypelist_for_implmode is given together with op_select_implmode."""
    if (
        state.has("optypelist_for_implmode")
        and not state.has("op_select_implmode")
        and not state.has("op_precision_mode")
    ):
        state.error(
            "optypelist_for_implmode",
            "OPTION_CONFLICT",
            "it restricts op_select_implmode to operator types, but only its default is there.",
            "Give op_select_implmode beside it.",
        )


@RULES.rule("session.op_precision_mode.over_implmode", "op_precision_mode")
def _file_goes_before_implementation_mode(state: State) -> None:
    """Beside op_precision_mode, op_select_implmode and optypelist_for_implmode have no effect (P24)."""
    if not state.has("op_precision_mode"):
        return
    for name in ("op_select_implmode", "optypelist_for_implmode"):
        if state.has(name):
            state.warn(name, "overridden", f"{name} has no effect beside op_precision_mode.")
        state.force(name, None, "session.op_precision_mode.over_implmode")


@RULES.rule("runconfig.op_precision_mode.keep_fp16.advice", "op_precision_mode")
def _low_precision_is_not_recommended(state: State) -> None:
    """Mode keep_fp16 of op_precision_mode is not recommended."""
    modes = state.parsed.get("op_precision_mode")
    if modes is not None and "keep_fp16" in {*modes.by_type.values(), *modes.by_name.values()}:  # type: ignore[attr-defined]
        state.warn("op_precision_mode", "advice", "op_precision_mode: keep_fp16 gives up precision for speed.")
