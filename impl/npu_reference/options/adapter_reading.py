"""What the adapter's own pass reads of a parameter map, refusals and defaults included."""

from __future__ import annotations

import re
from typing import Any, List, Mapping, Optional, Union

from npu_reference.errors import NpuError
from npu_reference.options.grammars.in_out_pair import Range
from npu_reference.options.typed import PartitionSettings

__all__ = ["adapter_ranges", "settings_of_adapter"]


_SHAPE_LIST = r"\[[\s\d~,-]*\](?:\s*,\s*\[[\s\d~,-]*\])*"
_SHAPES_OF_ONE = rf"(?:data|getnext)\s*:\s*{_SHAPE_LIST}"
_SHAPE_RANGES = rf"\s*{_SHAPES_OF_ONE}(?:\s*;\s*{_SHAPES_OF_ONE})*\s*"


def settings_of_adapter(values: Mapping[str, Any]) -> PartitionSettings:
    """The settings as the adapter's own pass reads them from a parameter map, for policy "adapter".

    A value of another kind than expected is read as that kind's default, and an unknown key as nothing, without a
    word; some wrong values end the process.

    Args:
        values: bool for the field .b, int for .i, str for .s; or {"field": "b"|"i"|"f"|"s", "value": …}.

    Raises:
        NpuError: ADAPTER_ABORT with the adapter's last words.
    """
    values = {name: _unwrapped(value) for name, value in values.items()}
    mix = _flag(values, "mix_compile_mode", False)
    iterations = values.get("iterations_per_loop", 1)
    if isinstance(iterations, bool) or not isinstance(iterations, int) or iterations < 1:
        raise _abort("iterations_per_loop", "iterator_per_loop should be int and must >= 1")
    task = values.get("task_index", 0)
    if isinstance(task, bool) or not isinstance(task, int) or task < 0:
        raise _abort("task_index", "task_index should be int and must >= 0")
    if mix and _string(values, "input_shape") and _string(values, "dynamic_dims"):
        raise _abort("dynamic_dims", "dynamic config can not use with mix compile.")
    placement = _string(values, "variable_placement") if "variable_placement" in values else "Device"
    if placement not in ("Host", "Device"):
        raise _abort("variable_placement", "variable placement should be one of the list:[Host, Device]")
    text = _string(values, "in_out_pair")
    return PartitionSettings(
        use_off_line=_flag(values, "use_off_line", True),
        mix=mix,
        data_pre_proc=_flag(values, "enable_data_pre_proc", False),
        iterations=iterations,
        variables_on_host=placement == "Host",
        ranges=tuple(adapter_ranges(text)),
        ranges_text=text or None,
        offload_ranges=_flag(values, "in_out_pair_flag", True),
        lazy_recompile=_lazy_recompile(values),
        job=_string(values, "job") or "localhost",
    )


def _unwrapped(value: Any) -> Any:
    """The value in the Python type of its field."""
    if not isinstance(value, dict):
        return value
    kinds = {"b": bool, "i": int, "f": float, "s": str}
    kind, given = kinds.get(str(value.get("field"))), value.get("value")
    return kind(given) if kind is not None and isinstance(given, (bool, int, float, str)) else None


def _lazy_recompile(values: Mapping[str, Any]) -> bool:
    if not _flag(values, "dynamic_input", False):
        return False
    mode = _string(values, "dynamic_graph_execute_mode") or "dynamic_execute"
    if mode not in ("lazy_recompile", "dynamic_execute"):
        raise _abort(
            "dynamic_graph_execute_mode", "dynamic_graph_execute_mode should be lazy_recompile or dynamic_execute."
        )
    shapes = _string(values, "dynamic_inputs_shape_range")
    if shapes and not re.fullmatch(_SHAPE_RANGES, shapes):
        raise _abort(
            "dynamic_inputs_shape_range",
            "dynamic_inputs_shape_range style is invalid, example:'data:[1,2];getnext:[2,3]'",
        )
    return mode == "lazy_recompile"


def _flag(values: Mapping[str, Any], name: str, default: bool) -> bool:
    if name not in values:
        return default
    value = values[name]
    return value if isinstance(value, bool) else False


def _string(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name, "")
    return value if isinstance(value, str) else ""


def _abort(option: str, words: str) -> NpuError:
    return NpuError("ADAPTER_ABORT", option, words)


_Tree = Union[str, List[Any]]


def adapter_ranges(text: str) -> List[Range]:
    """The ranges the adapter's own parser finds in an in_out_pair text; it raises nothing.

    Only brackets and commas have a meaning. Blank, tab and single quote are dropped wherever they stand; anything
    else becomes part of the next name, whatever brackets open in between. Of every item the first two lists count.
    Empty: what cannot be read so.
    """
    root: List[_Tree] = []
    stack = [root]
    name = ""
    for token in re.findall(r"[\[\],]|[^\[\],]+", re.sub(r"[ \t']", "", text)):
        if token == "[":
            inner: List[_Tree] = []
            stack[-1].append(inner)
            stack.append(inner)
            continue
        if token not in "],":
            name += token
            continue
        if name and len(stack) > 1:
            stack[-1].append(name)
        name = ""
        if token == "]":
            if len(stack) > 1:
                stack.pop()
            if len(stack) == 1:
                break
    if len(stack) != 1 or not root or not isinstance(root[0], list):
        return []
    return [found for found in map(_range, root[0]) if found is not None]


def _range(item: _Tree) -> Optional[Range]:
    if not isinstance(item, list) or len(item) < 2:
        return None
    ends = []
    for part in item[:2]:
        if not isinstance(part, list) or not part or not all(isinstance(name, str) for name in part):
            return None
        ends.append(tuple(part))
    return Range(ends[0], ends[1])
