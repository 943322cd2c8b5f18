"""Lawful backends that a sample of the demands showed to be missing: each failed cases when it was written."""

from __future__ import annotations

import re
from typing import Any, Dict, Iterable, List, Mapping, Optional

from faulty.asked import graph_of, is_about, plain, value_of
from faulty.making import Answer, Ask, Params

from lawful.kinds import Values, changed, ignores, lawful, misreads, refuses, tells
from lawful.leaving import in_folder, turns
from lawful.partition import tells_partition
from lawful.precision import _flags, with_library
from lawful.refusals import told_otherwise
from lawful.timeline import timed
from npu_reference.catalog import Catalog
from npu_reference.errors import NpuError

__all__: List[str] = []

_FORMS = ("OPTION_TYPE", "OPTION_VALUE", "OPTION_SYNTAX")


def _left_out(error: NpuError, params: Params, values: Values) -> Iterable[str]:
    spaced = error.subject == "dynamic_inputs_shape_range" and "blank" in error.reason  # 003 L1110: none is allowed
    return [error.subject] if error.code in _FORMS and not spaced else []


ignores(
    "options", "what_cannot_be_a_value_is_left_out_without_a_word",
    "003 L13 'values are as follows', 002 L24 .b: no document has a message about what is neither",
    _left_out, "", False, ["options"]
)  # fmt: skip
ignores(
    "options",
    "a_mixlist_without_mixed_precision_has_no_effect_and_no_message",
    "003 L386 'when mixed precision is enabled, you can use this option': no word of a message where it is not",
    lambda error, params, values: (
        ["modify_mixlist"] if error.subject == "modify_mixlist" and "mix" in error.reason else []
    ),
    "",
    True,
)
ignores(
    "options", "a_device_with_a_negative_id_is_none",
    "002 L661, 003 L22 'logical ID of a device': no document gives it a least number",
    lambda error, params, values: ["session_device_id"] if error.subject == "session_device_id" else [], "", True
)  # fmt: skip


def _directories(values: Mapping[str, Any]) -> Dict[str, str]:
    """Those that options name, by what a profile's options and configuration objects say as well."""
    found: Dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, dict) and "arguments" in value:
            found.update(_directories(value["arguments"]))
        value = plain(value)
        if name == "profiling_options" and isinstance(value, str):
            match = re.search(r'"output"\s*:\s*"([^"]+)"', value)
            name, value = "dump_path", match[1] if match else None
        if name in ("dump_path", "work_path") and isinstance(value, str) and value:
            found[value.rstrip("/") + "/"] = ""
    return found


def _made(ask: Ask, params: Params) -> Answer:
    files = dict(params.get("files") or {})
    missing = {
        name: text
        for name, text in _directories(params["values"]).items()
        if not any(there == name.rstrip("/") or there.startswith(name) for there in files)
    }
    return ask({**params, "files": {**files, **missing}})


lawful(
    "options", "directories_that_are_not_there_are_made",
    "002 L66, L109, 003 L761: they are to be created in advance; what happens where nobody did is not said", _made,
    "options"
)  # fmt: skip


def _no_mode(params: Params, values: Values) -> Optional[str]:
    told = {"values": values}
    dynamic = value_of(told, "dynamic_input") is True
    return "dynamic_input" if dynamic and value_of(told, "dynamic_graph_execute_mode") is None else None


refuses(
    "options", "dynamic_inputs_need_an_execution_mode",
    "002 L590 'the execution mode has to be set by this option': what happens without one is not said",
    "OPTION_CONFLICT", _no_mode
)  # fmt: skip


def _as_given(answer: Answer, params: Params) -> None:
    for name in ("graph_memory_max_size", "variable_memory_max_size"):
        value = value_of(params, name)
        if is_about(params, edition="current") and value is not None:
            answer["effective"][name] = {"value": value, "origin": "given"}
    for told in answer["effective"].values():
        if type(told["value"]) is bool:
            told["value"] = str(told["value"]).lower()


tells(
    "truth_values_are_told_as_texts_and_sizes_without_effect_as_given",
    "003 L1160 'does not take effect', L992 True, False: how either is told is not said", _as_given
)  # fmt: skip


def _read_over(text: str) -> str:
    """The sections and lines of a file that name what a document has."""
    kept, known = [], True
    for line in text.splitlines():
        if line.strip().startswith("["):
            known = line.strip() in ("[ByOpType]", "[ByNodeName]")
        if known and not line.strip().startswith("="):
            kept.append(line)
    return "\n".join(kept) + "\n"


misreads(
    "options", "other_sections_and_lines_without_a_name_are_read_over",
    "003 L609 has two sections, 002 L784 lines with a name: of others nothing is said", "op_precision_mode",
    _read_over, "options", "precision"
)  # fmt: skip
misreads(
    "options", "one_type_of_a_list_needs_no_brackets",
    "003 L393 'you can specify the operator types as shown below': of one that stands alone nothing is said",
    "modify_mixlist", lambda text: re.sub(r'("to-(?:add|remove)": *)("[^"]*")', r"\1[\2]", text), "options",
    "precision"
)  # fmt: skip


def _half_alone() -> Dict[str, Any]:
    """Kernels of float16 alone, of what has float16 or float32 and is neither a product nor a convolution."""
    found: Dict[str, Any] = {}
    for op in Catalog.built_in():
        known = Catalog.built_in().get(op)
        if known is None or not known.columns or re.match("Conv|Depthwise|MatMul|BatchMatMul", op):
            continue
        if {dtype for one in known.columns for dtype in (*one.inputs, *one.outputs)} <= {"float16", "float32"}:
            first = known.columns[0]
            tensors = [f"input{k}" for k in range(len(first.inputs))] + [
                f"output{k}" for k in range(len(first.outputs))
            ]
            found[known.ge_op] = {one: {"dtype": "float16"} for one in tensors}
    flags = {"trustlist": "true", "blocklist": "false"}
    for name, flag in _flags().items():
        if name in found and flag in flags:
            found[name]["precision_reduce"] = {"flag": flags[flag]}
    return found


with_library(
    "precision", "vector_kernels_have_float16_alone",
    "003 L459 'the operator precisions supported in the operator information library': it is the hardware's",
    _half_alone
)  # fmt: skip


def _fed(answer: Answer, params: Params) -> None:
    fed = {node.name for node in graph_of(params).nodes if node.op.startswith("Placeholder")}
    if "borders" in answer:
        answer["borders"] = [one for one in answer["borders"] if one["source"].partition(":")[0] not in fed]


tells_partition(
    "partition", "what_is_fed_is_told_of_no_border",
    "000 'data transfer for unoffloadable operators is performed via memcpy': a feed is no operator", _fed
)  # fmt: skip

_ENDS = ("INPUT_SHAPE", "DEVICE_TIMEOUT", "DEVICE_FAULT", "DEVICE_MEMORY", "COLLECTIVE_TIMEOUT", "COLLECTIVE_MISMATCH")
told_otherwise(
    "timing", "steps_end_in_errors_of_one_code", "no document gives a code of an error but EZ9999 (003 L201)",
    lambda code, subject, reason, params: ("RUN_FAILED" if code in _ENDS else code, subject), "timeline", "compile"
)  # fmt: skip


def _padded(step: Dict[str, Any], params: Params) -> None:
    sizes = {}
    for one in step.get("transfers") or ():
        if one["direction"] == "h2d" and len(one.get("tensors") or ()) > 1:
            sizes[one["bytes"]] = one["bytes"] = (one["bytes"] + 31) // 32 * 32
    for task in step.get("tasks") or ():
        if task["kind"] == "h2d":
            task["bytes"] = sizes.get(task.get("bytes"), task.get("bytes"))


timed(
    "fused_copies_are_padded_to_32_bytes",
    "003 L93 fuses data before it is transferred, and no document says that nothing lies between", _padded, "timeline"
)  # fmt: skip


def _installed(answer: Answer, params: Params) -> None:
    for turn, asked in turns(answer, params):
        is_open = any(asked["values"].get(name) is True for name in ("dynamic_input", "compile_dynamic_mode"))
        if not (is_open and is_about(params, "runconfig", "current") and asked["values"].get("jit_compile") != "true"):
            continue
        for kernel in turn.get("kernels", ()):
            kernel.update(origin="built_in", switches=[])
        for key in ("files", "left"):
            files = turn.get(key, {})
            turn[key] = {path: file for path, file in files.items() if not in_folder(path, "kernel_meta")}


changed(
    "artifacts", "binaries_of_all_operators_are_installed_for_open_shapes",
    "003 L970: for a dynamic shape network the compiled operator binary is searched for first", _installed, "compile"
)  # fmt: skip
