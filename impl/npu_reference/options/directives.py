"""What the effective options tell graph compilation and the device to do, in the documents' words and units."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping

from npu_reference.options.grammars.lists import Parallelism
from npu_reference.options.meaning import bytes_of, meaning_of, told
from npu_reference.options.outcome import Resolution

__all__ = ["directives"]


def directives(resolution: Resolution) -> Dict[str, object]:
    """Topic to what is done: the compile report of a session with these options, before any graph is known.

    Topics are ``buffer_optimize``, ``tuning``, ``ccec`` (switches of the kernel compiler), ``engines`` (streams of the
    AI CPU and the AI Core), ``implementation`` (of operators by type, by name, and of all others), ``memory`` (bytes),
    ``shapes`` (of the inputs) and ``timeouts`` (their unit in the name).
    """
    values = resolution.values
    return {
        "buffer_optimize": "off" if values.get("buffer_optimize") == "off_optimize" else "on",
        "ccec": _compiler_switches(resolution),
        "engines": _engines(resolution),
        "implementation": _implementation(resolution),
        "memory": {
            "graph_bytes": bytes_of(resolution, "graph_memory_max_size"),
            "variable_bytes": bytes_of(resolution, "variable_memory_max_size"),
        },
        "shapes": _shapes(resolution),
        "timeouts": {f"{name}_{unit}": values[option] for option, name, unit in _TIMEOUTS if option in values},
        "tuning": {"auto_tune": _algorithms(resolution), "aoe": values.get("aoe_mode")},
    }


#: Option, its name in the answer, its unit: documents 002 and 003 give seconds to the first three.
_TIMEOUTS = (
    ("hccl_timeout", "hccl", "seconds"),
    ("op_wait_timeout", "op_wait", "seconds"),
    ("op_execute_timeout", "op_execute", "seconds"),
    ("stream_sync_timeout", "stream_sync", "milliseconds"),
    ("event_sync_timeout", "event_sync", "milliseconds"),
)


def _compiler_switches(resolution: Resolution) -> List[str]:
    """Level 2 compiles kernels with -O0 -g; the two ccec words of op_debug_config ask for one of them each."""
    if resolution.values.get("op_debug_level") == 2:
        return ["-O0", "-g"]
    words = getattr(resolution.parsed.get("op_debug_config"), "options", ())
    return [switch for word, switch in (("ccec_O0", "-O0"), ("ccec_g", "-g")) if word in words]


def _engines(resolution: Resolution) -> Dict[str, int]:
    """The engines in the order of the table, the AI CPU first (B25)."""
    parallelism = meaning_of(resolution, "stream_max_parallel_num")
    numbers = parallelism.engines.values() if isinstance(parallelism, Parallelism) else ()
    return dict(zip(("AI_CPU", "AI_Core"), numbers))


def _implementation(resolution: Resolution) -> Dict[str, object]:
    """Which variant of operators that have several is compiled; a list restricts op_select_implmode (P24, P25)."""
    table: Any = resolution.parsed.get("op_precision_mode")
    mode = resolution.values.get("op_select_implmode")
    if table is not None:
        return {"type": dict(table.by_type), "name": dict(table.by_name), "others": None}
    if "optypelist_for_implmode" not in resolution.parsed:
        return {"type": {}, "name": {}, "others": mode}
    listed: Any = resolution.parsed["optypelist_for_implmode"]
    return {"type": dict.fromkeys(listed.names, mode), "name": {}, "others": None}


def _shapes(resolution: Resolution) -> Mapping[str, object]:
    shape: Any = resolution.parsed.get("input_shape")
    profiles: Any = resolution.parsed.get("dynamic_dims")
    if shape is not None and profiles is not None:
        found: Dict[str, object] = {"kind": "profiles"}
        found["source"] = "placeholder" if resolution.values.get("dynamic_node_type") else "dataset"
        for number, sizes in enumerate(profiles.profiles):
            found[f"profile {number}"] = {name: list(dims) for name, dims in shape.in_profile(sizes).inputs}
        return found
    if not resolution.values.get("dynamic_input"):
        return {"kind": "fixed"}
    if resolution.values.get("dynamic_graph_execute_mode") == "lazy_recompile":
        return {"kind": "recompiled"}  # S16
    ranges = resolution.parsed.get("dynamic_inputs_shape_range")
    if ranges is None:
        return {"kind": "dynamic"}  # S8
    groups = told(ranges)
    assert isinstance(groups, dict)
    return {"kind": "ranges", **groups}


def _algorithms(resolution: Resolution) -> List[str]:
    return sorted(getattr(resolution.parsed.get("auto_tune_mode"), "names", ()))
