"""Mutants of what options do to kernels, files and tuning: each takes its value, and does something else with it."""

from __future__ import annotations

import re
from typing import Callable, List

from npu_conformance.backends.mutants.edits import Params, altered

__all__: List[str] = []

Change = Callable[[Params], Params]


def _hearing(name: str, requirement: str, fault: str, method: str, change: Change) -> None:
    """A backend that hears another request than was asked."""
    altered(name, requirement, fault, method, lambda ask, params: ask(change(params)))


def _in_files(pattern: str, words: str) -> Change:
    """Texts of option files changed."""

    def change(params: Params) -> Params:
        files = {
            path: re.sub(pattern, words, text) if isinstance(text, str) else text
            for path, text in params.get("files", {}).items()
        }
        return {**params, "files": files}

    return change


def _without(option: str, where_env: str) -> Change:
    """An option not heard where the environment has a word in it, too."""

    def change(params: Params) -> Params:
        if where_env not in params.get("env", {}):
            return params
        return {**params, "values": {key: value for key, value in params["values"].items() if key != option}}

    return change


def _lower_level(params: Params) -> Params:
    turns = [
        {**turn, "values": {**turn["values"], "op_debug_level": 1}}
        if turn.get("values", {}).get("op_debug_level") == 2
        else turn
        for turn in params.get("turns", [])
    ]
    return {**params, "turns": turns} if turns and params["edition"] == "legacy" else params


def _without_env(name: str) -> Change:
    return lambda params: {**params, "env": {key: value for key, value in params.get("env", {}).items() if key != name}}


_hearing("o0-is-g", "runconfig.op_debug_config.ccec_O0", "Compiles with debug information where ccec_O0 is given.",
         "compile", _in_files("ccec_O0", "ccec_g"))  # fmt: skip
_hearing("g-is-o0", "runconfig.op_debug_config.ccec_g", "Compiles without optimisation for ccec_g.", "compile",
         _in_files("ccec_g", "ccec_O0"))  # fmt: skip
_hearing("debug-of-no-operator", "runconfig.op_debug_config.default_all_ops",
         "Compiles no operator for debugging where no list names any.", "compile",
         _in_files(r"\A(op_debug_config[^\n]*\n)\Z", r"\1op_debug_list = nowhere\n"))  # fmt: skip
_hearing("debug-of-every-operator", "files.op_debug_cfg.list.same_file",
         "Compiles every operator for debugging, whatever list stands in the file.", "compile",
         _in_files(r"\nop_debug_list[^\n]*", ""))  # fmt: skip
_hearing("level-2-is-level-1", "session.op_debug_level.2.compiler",
         "Compiles at op_debug_level 2 of a session as at level 1.", "compile", _lower_level)  # fmt: skip
_hearing("work-path-before-debug-dir", "runconfig.debug_dir.priority",
         "Puts debug files below ASCEND_WORK_PATH, though debug_dir is given.", "compile",
         _without("debug_dir", "ASCEND_WORK_PATH"))  # fmt: skip
_hearing("cache-path-before-cache-dir", "runconfig.op_compiler_cache_dir.priority",
         "Puts the cache below ASCEND_CACHE_PATH, though op_compiler_cache_dir is given.", "compile",
         _without("op_compiler_cache_dir", "ASCEND_CACHE_PATH"))  # fmt: skip
_hearing("aoe-mode-unread", "env.AOE_MODE.fallback", "Reads no AOE_MODE.", "timeline", _without_env("AOE_MODE"))
_hearing("aoe-mode-of-the-environment-first", "runconfig.aoe_mode.over_env",
         "Takes the mode of AOE_MODE, though aoe_mode is given.", "timeline",
         _without("aoe_mode", "AOE_MODE"))  # fmt: skip
_hearing("flat-lines-unread", "files.op_precision_ini.flat.by_type",
         "Reads no line of op_precision.ini before the first section.", "precision",
         _in_files(r"\A[^\[]+", ""))  # fmt: skip
_hearing("types-before-names", "files.op_precision_ini.sections.priority",
         "Takes the mode of a type, though the file names the operator.", "precision",
         _in_files(r"\[ByNodeName\][^\[]*", ""))  # fmt: skip
