"""Rules of the operator cache: when it works, where it is, how large it grows."""

from __future__ import annotations

import posixpath

from npu_reference.options.domains import echo
from npu_reference.options.files import op_cache
from npu_reference.options.fileview import FileProblem, NotLookedAt
from npu_reference.options.grammars import GrammarError
from npu_reference.options.rules.rule import ALWAYS, RuleBook
from npu_reference.options.state import State

__all__ = ["RULES"]

RULES = RuleBook()

#: Identifies the simulated host in cache paths (C11).
_HOST_ID = "0"


def _switch_off(state: State, why: str, rule: str) -> None:
    if state.value("op_compiler_cache_mode") != "disable":
        message = f"The operator cache is off and every operator is compiled anew, since {why}."
        state.warn("op_compiler_cache_mode", "overridden", message)
        state.force("op_compiler_cache_mode", "disable", rule)


@RULES.rule("session.op_compiler_cache_mode.debug_level_gate", "op_debug_level", editions=("legacy",))
def _older_debug_level_gate(state: State) -> None:
    """The operator cache works only with op_debug_level 0 or 3 (A2)."""
    level = state.value("op_debug_level")
    if level not in (None, 0, 3):
        _switch_off(state, f"op_debug_level is {level}", "session.op_compiler_cache_mode.debug_level_gate")


@RULES.rule("runconfig.op_compiler_cache_mode.debug_level_gate", "op_debug_level", editions=("current",))
def _debug_level_gate(state: State) -> None:
    """The operator cache works only with op_debug_level 0; in the older edition level 3 allowed it, too (A2, C10)."""
    level = state.value("op_debug_level")
    if level:
        older = "; in the legacy edition level 3 allowed the cache" if level == 3 else ""
        _switch_off(state, f"op_debug_level is {level}{older}", "runconfig.op_compiler_cache_mode.debug_level_gate")


@RULES.rule("runconfig.op_compiler_cache_mode.debug_cfg_no_list", "op_debug_config")
def _debug_config_gate(state: State) -> None:
    """With op_debug_config the operator cache works only for operators outside an op_debug_list."""
    config = state.parsed.get("op_debug_config")
    if config is not None and not config.has_list:  # type: ignore[attr-defined]
        _switch_off(state, "op_debug_config has no op_debug_list", "runconfig.op_compiler_cache_mode.debug_cfg_no_list")


@RULES.rule("runconfig.op_compiler_cache_mode.force_parallel", "op_compiler_cache_mode")
def _force_clears_what_others_use(state: State) -> None:
    """op_compiler_cache_mode force is not advised while programs compile in parallel."""
    if state.has("op_compiler_cache_mode") and state.value("op_compiler_cache_mode") == "force":
        state.warn(
            "op_compiler_cache_mode",
            "advice",
            "op_compiler_cache_mode force clears the cache first; do not use it while programs compile in parallel.",
        )


@RULES.rule("C12", "op_compiler_cache_dir", about=("op_compiler_cache_mode",))
def _directory_needs_the_cache(state: State) -> None:
    """op_compiler_cache_dir is used together with op_compiler_cache_mode: while that is disable, nothing is cached."""
    if state.has("op_compiler_cache_dir") and state.value("op_compiler_cache_mode") == "disable":
        state.warn_idle("op_compiler_cache_dir", "op_compiler_cache_mode is disable")


@RULES.rule("runconfig.op_compiler_cache_dir.priority", "ASCEND_CACHE_PATH", editions=("current",))
def _cache_path_of_the_environment(state: State) -> None:
    """Without op_compiler_cache_dir the cache is in a directory of the host below ASCEND_CACHE_PATH (A4)."""
    base = state.env.get("ASCEND_CACHE_PATH")
    if base and not state.has("op_compiler_cache_dir"):
        path = posixpath.join(base, f"kernel_cache_{_HOST_ID}")
        state.fall_back("op_compiler_cache_dir", path, "environment", "env.ASCEND_CACHE_PATH.subdir")


@RULES.rule("env.HOME.default_cache", "HOME")
def _home_directory(state: State) -> None:
    """The default cache directory is below the user's home."""
    effective = state.effective["op_compiler_cache_dir"]
    if effective.origin == "default" and state.env.get("HOME"):
        path = posixpath.join(state.env["HOME"], "atc_data")
        state.fall_back("op_compiler_cache_dir", path, "default", "env.HOME.default_cache")


@RULES.rule("files.cache.neither", ALWAYS, editions=("current",))
def _default_limits(state: State) -> None:
    """The operator cache may take 500 MB, of which 50 % stay when it is full (B8)."""
    for name, value in op_cache.DEFAULT._asdict().items():
        state.fall_back(name, value, "default", "files.cache.neither")


@RULES.rule("env.ASCEND_MAX_OP_CACHE_SIZE.effect", "ASCEND_MAX_OP_CACHE_SIZE", editions=("current",))
def _size_of_the_environment(state: State) -> None:
    """ASCEND_MAX_OP_CACHE_SIZE limits the operator cache; -1 keeps everything (C3)."""
    text = state.env.get("ASCEND_MAX_OP_CACHE_SIZE", "")
    if op_cache.is_size(text):
        state.fall_back("max_op_cache_size", int(text), "environment", "env.ASCEND_MAX_OP_CACHE_SIZE.effect")
    elif text:
        _ignored_variable(state, "ASCEND_MAX_OP_CACHE_SIZE", text, "a positive number of MB, or -1")


@RULES.rule("env.ASCEND_REMAIN_CACHE_SIZE_RATIO.effect", "ASCEND_REMAIN_CACHE_SIZE_RATIO", editions=("current",))
def _ratio_of_the_environment(state: State) -> None:
    """ASCEND_REMAIN_CACHE_SIZE_RATIO is the percentage of the operator cache that stays (C3)."""
    text = state.env.get("ASCEND_REMAIN_CACHE_SIZE_RATIO", "")
    if op_cache.is_ratio(text):
        rule = "env.ASCEND_REMAIN_CACHE_SIZE_RATIO.effect"
        state.fall_back("remain_cache_size_ratio", int(text), "environment", rule)
    elif text:
        _ignored_variable(state, "ASCEND_REMAIN_CACHE_SIZE_RATIO", text, "a percentage from 1 to 100")


def _ignored_variable(state: State, name: str, text: str, allowed: str) -> None:
    state.warn(name, "environment", f"{name} is {echo(text)}, which is ignored; it should be {allowed}.")


@RULES.rule("files.op_cache_ini.over_env", "op_compiler_cache_dir", "HOME", "ASCEND_CACHE_PATH", editions=("current",))
def _limits_of_the_file(state: State) -> None:
    """op_cache.ini in the cache directory goes before the environment; an invalid one is ignored as a whole (C2)."""
    directory = str(state.value("op_compiler_cache_dir"))
    if state.value("op_compiler_cache_mode") == "disable" or "$" in directory or "\0" in directory:
        return
    path = posixpath.join(directory, "op_cache.ini")
    try:
        limits = op_cache.parse(state.files.read(path))
    except NotLookedAt:
        return  # there need not be one
    except FileProblem as problem:
        if not problem.missing:  # there need not be one
            state.warn("op_compiler_cache_dir", "file_ineffective", f"The file {echo(path)} {problem}; it is ignored.")
        return
    except GrammarError as problem:
        message = f"The file {echo(path)} is ignored: at {problem.where}: {problem.reason}"
        state.warn("op_compiler_cache_dir", "file_ineffective", message)
        return
    for name, value in limits._asdict().items():
        state.fall_back(name, value, "file", "files.op_cache_ini.over_env")
