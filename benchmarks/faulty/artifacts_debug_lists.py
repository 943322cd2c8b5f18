"""Kernel files that op_debug_config and its list of operators leave."""

from __future__ import annotations

import copy
import re
from typing import Any, Dict, List, Mapping

from faulty.answered import encoded
from faulty.asked import WHOLE_NUMBERS, all_nodes, given, in_values, nodes_of, types_of, value_of, with_env, without
from faulty.making import Answer, Params, fault, mistake
from faulty.operators import asks, lacks_switches, misreads

fault("debug_config_ignored", "runconfig.op_debug_config.ccec_O0", asks(in_values(without("op_debug_config"))))


def _kinds_of(params: Params) -> Dict[str, List[str]]:
    return {node.name: types_of(node) for node in nodes_of(params)}


@mistake("runconfig.op_debug_config.kernel_size")
def kernels_of_whole_numbers_do_not_grow(ask: Any, params: Params) -> Answer:
    """Pair 5."""
    answer = copy.deepcopy(dict(ask(params)))
    if not given(params, "op_debug_config"):
        return answer
    kinds = _kinds_of(params)
    for turn in answer["turns"]:
        for kernel in turn.get("kernels", ()):
            dtypes = [dtype for name in kernel["nodes"] for dtype in kinds.get(name, ())]
            grown = {"-O0", "-g"} & set(kernel.get("switches") or ())
            if grown and dtypes and all(dtype in WHOLE_NUMBERS for dtype in dtypes) and kernel.get("bytes"):
                kernel["bytes"] = 4096
    return answer


@mistake("runconfig.debug_dir.priority")
def checks_leave_their_files_here(ask: Any, params: Params) -> Answer:
    if given(params, "op_debug_config") and not given(params, "op_debug_level"):
        return ask(with_env(params, lambda env: {k: v for k, v in env.items() if k != "ASCEND_WORK_PATH"}))
    return ask(params)


fault(
    "a_type_is_written_in_one_way",
    "files.op_debug_cfg.type_prefix_case",
    misreads("op_debug_config", lambda text: text.replace("opType::", "opType_")),
    methods=("compile", "options"),
)
fault(
    "a_last_line_without_an_end_is_not_read",
    "files.op_debug_cfg.line",
    misreads(
        "op_debug_config",
        lambda text: text if text.endswith("\n") or "\n" not in text.strip() else text[: text.rindex("\n") + 1],
    ),
    methods=("options", "compile"),
)


_MC2 = (
    "MatMulAllReduce",
    "MatMulAllReduceAddRmsNorm",
    "AllGatherMatMul",
    "MatMulReduceScatter",
    "AlltoAllAllGatherBatchMatMul",
    "BatchMatMulReduceScatterAlltoAll",
)


def _work(params: Mapping[str, Any]) -> str:
    return str(params.get("env", {}).get("ASCEND_WORK_PATH", ""))


@mistake("files.op_debug_config.mc2_excluded")
def debugged_twice_even_exchanges_leave_files(ask: Any, params: Params) -> Answer:
    """Pair 71: files.op_debug_config.mc2_excluded, a debugging option."""
    answer = copy.deepcopy(dict(ask(params)))
    if not value_of(params, "op_debug_level") or not given(params, "op_debug_config"):
        return answer
    those = {node.name for node in all_nodes(params) if node.op in _MC2}
    where = str(value_of(params, "debug_dir") or _work(params) or "").strip("/.")
    for turn in answer["turns"]:
        for kernel in turn.get("kernels", ()):
            if kernel["kernel"] and those & set(kernel["nodes"]):
                for key in ("files", "left"):
                    for ending in (".o", ".json", ".cce"):
                        turn[key][f"{where}/kernel_meta/{kernel['kernel']}{ending}".strip("/")] = encoded("")
    return answer


fault(
    "later_programs_check_no_flags",
    "files.op_debug_config.check_flag.logic",
    lacks_switches("check_flag", lambda turn, number, params: number > 0),
)


@mistake("runconfig.op_compiler_cache_mode.debug_cfg_with_list")
def listed_operators_reused(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if any("op_debug_list" in str(one) for one in params.get("files", {}).values()) and len(answer["turns"]) > 1:
        for turn in answer["turns"][1:]:
            for kernel in turn.get("kernels", []):
                kernel["origin"] = "reused"
    return answer


def _names_too(text: str) -> str:
    def more(found: Any) -> str:
        entries = [one.strip() for one in found.group(2).split(",")]
        plainly = [re.sub(r"^[oO]pType::", "", one) for one in entries]
        return str(found.group(1) + ",".join(dict.fromkeys([*entries, *plainly])))

    return re.sub(r"(?m)^(\s*op_debug_list\s*=)(.*)$", more, text)


fault(
    "a_type_that_is_listed_is_looked_for_among_names_too",
    "files.op_debug_cfg.list.entries",
    misreads("op_debug_config", _names_too),
)
