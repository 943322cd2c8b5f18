"""Rules of dumps and debug files."""

from __future__ import annotations

from npu_reference.options.domains import echo
from npu_reference.options.fileview import NotLookedAt
from npu_reference.options.rules.rule import RuleBook
from npu_reference.options.state import State

__all__ = ["RULES", "check_directory"]

RULES = RuleBook()


def check_directory(state: State, name: str, path: str, subject: str = "") -> None:
    """Refuse an option whose directory does not exist or cannot be read and written."""
    try:
        problem = state.files.directory_problem(path)
    except NotLookedAt:
        state.warn(name, "not_checked", f"the directory {echo(path)} of {name} was not looked at.")
        return
    if problem is not None:
        what = f"the {subject} directory" if subject else "the directory"
        state.error(
            name,
            "OPTION_FILE",
            f"{what} {echo(path)} {problem}.",
            "Create it beforehand, readable and writable for the user of the run.",
        )


@RULES.rule("session.dump_path.required", "enable_dump", "dump_config", about=("dump_path",))
def _dump_needs_a_path(state: State) -> None:
    """enable_dump needs dump_path, a directory that exists and can be read and written (G9)."""
    if not _dumps(state):
        return
    if state.has("dump_path"):
        check_directory(state, "dump_path", str(state.value("dump_path")))
    else:
        name = "dump_path" if state.surface == "session" else "dump_config"
        asked = "enable_dump" if state.value("enable_dump") else "enable_dump_debug"
        state.error(name, "OPTION_CONFLICT", f"{asked} is True, but dump_path is not given.", "Give a directory.")


def _dumps(state: State) -> bool:
    """Whether anything is dumped: every operator, or by a DumpConfig those whose results overflow (A36)."""
    config = state.parsed.get("dump_config")
    by_object = isinstance(config, dict) and config.get("enable_dump_debug")
    # A session that is given it by itself takes no notice; one that an NPURunConfig describes has it from its object.
    return bool(state.value("enable_dump") or by_object or state.value("enable_dump_debug"))


@RULES.rule("session.enable_dump.false", "dump_path", "dump_step", "dump_mode", about=("enable_dump",))
def _dump_settings_need_dump(state: State) -> None:
    """dump_path, dump_step and dump_mode have no effect unless enable_dump is True (D27)."""
    if _dumps(state):
        return
    for name in ("dump_path", "dump_step", "dump_mode"):
        if state.has(name):
            state.warn_idle(name, "enable_dump is not True")


@RULES.rule("runconfig.op_debug_level.2_oom_exclusive", "op_debug_level", "op_debug_config")
def _oom_excludes_unoptimised_kernels(state: State) -> None:
    """op_debug_level 2 excludes the oom check of op_debug_config (D16)."""
    if state.value("op_debug_level") == 2 and _has_oom(state):
        reason = "its oom check cannot be used with op_debug_level 2."
        state.error("op_debug_config", "OPTION_CONFLICT", reason, "Drop one of the two.")


@RULES.rule("runconfig.op_debug_config.npu_collect_no_oom", "op_debug_config", editions=("current",))
def _oom_excludes_collecting(state: State) -> None:
    """Where NPU_COLLECT_PATH is set, op_debug_config has no oom check."""
    if state.env.get("NPU_COLLECT_PATH") and _has_oom(state):
        reason = "its oom check cannot be used while NPU_COLLECT_PATH is set."
        state.error("op_debug_config", "OPTION_CONFLICT", reason, "Drop one of the two.")


def _has_oom(state: State) -> bool:
    config = state.parsed.get("op_debug_config")
    return config is not None and "oom" in config.options  # type: ignore[attr-defined]


@RULES.rule("runconfig.op_debug_level.advice", "op_debug_level")
def _debug_levels_slow_training(state: State) -> None:
    """For training, op_debug_level 0 or 3 is advised."""
    level = state.value("op_debug_level")
    if state.training and level in (1, 2, 4):
        state.warn("op_debug_level", "advice", f"op_debug_level {level} slows training; 0 or 3 is advised.")


@RULES.rule("runconfig.op_debug_level.2_big_kernel", "op_debug_level", "op_debug_config")
def _unoptimised_kernels_have_fixed_shapes(state: State) -> None:
    """With dynamic shapes, op_debug_level 2 and the ccec words of op_debug_config are not recommended."""
    ways = [name for name in ("dynamic_input", "compile_dynamic_mode", "dynamic_dims") if state.value(name)]
    if not ways:
        return
    why = f"with dynamic shapes ({', '.join(ways)}) operators may fail to compile."
    if state.value("op_debug_level") == 2:
        state.warn("op_debug_level", "advice", f"op_debug_level 2 is not recommended: {why}")
    words = getattr(state.parsed.get("op_debug_config"), "options", ())
    switches = [word for word in ("ccec_O0", "ccec_g") if word in words]
    if switches:
        message = f"{' and '.join(switches)} of op_debug_config should not be used: {why}"
        state.warn("op_debug_config", "advice", message)


@RULES.rule("runconfig.enable_exception_dump.npu_collect_forces_1", "NPU_COLLECT_PATH", editions=("current",))
def _collecting_forces_exception_dump(state: State) -> None:
    """Where NPU_COLLECT_PATH is set, exceptions are dumped as by enable_exception_dump 1."""
    if state.env.get("NPU_COLLECT_PATH"):
        if state.has("enable_exception_dump") and state.value("enable_exception_dump") != 1:
            message = "enable_exception_dump is 1 while NPU_COLLECT_PATH is set."
            state.warn("enable_exception_dump", "overridden", message)
        state.force("enable_exception_dump", 1, "runconfig.enable_exception_dump.npu_collect_forces_1")


@RULES.rule("env.ASCEND_WORK_PATH.uses", "ASCEND_WORK_PATH", editions=("current",))
def _work_path_of_the_environment(state: State) -> None:
    """Without debug_dir, debug files go to ASCEND_WORK_PATH, a directory that exists (A5)."""
    path = state.env.get("ASCEND_WORK_PATH", "")
    if not path:
        return
    try:
        problem = state.files.directory_problem(path)
    except NotLookedAt:
        state.warn(
            "ASCEND_WORK_PATH", "not_checked", f"the directory {echo(path)} of ASCEND_WORK_PATH was not looked at."
        )
        problem = None
    if problem is not None:
        reason = f"the directory {echo(path)} {problem}."
        state.error("ASCEND_WORK_PATH", "OPTION_FILE", reason, "Create it beforehand, readable and writable.")
    elif not state.has("debug_dir"):
        state.fall_back("debug_dir", path, "environment", "env.ASCEND_WORK_PATH.uses")
