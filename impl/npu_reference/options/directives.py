"""What the effective options tell graph compilation and the device to do, in the documents' words and units."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Tuple

from npu_reference.options.meaning import told
from npu_reference.options.typed import UNITS, EffectiveOptions, Implementation, ShapeOptions

__all__ = ["ccec_switches", "directives"]


def directives(options: EffectiveOptions) -> Dict[str, object]:
    """Topic to what is done: the compile report of a session with these options, before any graph is known.

    Topics are ``buffer_optimize``, ``tuning``, ``ccec`` (switches of the kernel compiler), ``engines`` (streams of the
    AI CPU and the AI Core), ``implementation`` (of operators by type, by name, and of all others), ``memory`` (bytes),
    ``shapes`` (of the inputs) and ``timeouts`` (their unit in the name).
    """
    debug, compiler = options.artifacts.debug, options.compiler
    return {
        "buffer_optimize": "on" if compiler.l2 else "off",
        "ccec": list(ccec_switches(compiler.debug_level, () if debug is None else debug.options)),
        "engines": dict(zip(("AI_CPU", "AI_Core"), options.engines)),  # in the order of the table (B25)
        "implementation": _implementation(options.implementation),
        "memory": dict(zip(("graph_bytes", "variable_bytes"), compiler.memory)),
        "shapes": _shapes(options.shapes),
        "timeouts": {
            f"{name}_{unit}": value
            for (name, value), unit in zip(options.timeouts._asdict().items(), UNITS)
            if value is not None or unit == "seconds"  # the legacy edition has no others
        },
        "tuning": {"auto_tune": sorted(options.tuning.algorithms), "aoe": options.tuning.mode},
    }


def ccec_switches(level: int, words: Tuple[str, ...]) -> Tuple[str, ...]:
    """Level 2 compiles kernels with -O0 -g; the two ccec words of op_debug_config ask for one of them each."""
    if level == 2:
        return "-O0", "-g"
    return tuple(switch for word, switch in (("ccec_O0", "-O0"), ("ccec_g", "-g")) if word in words)


def _implementation(asked: Implementation) -> Dict[str, object]:
    """Which variant of operators that have several is compiled; a list restricts op_select_implmode (P24, P25)."""
    if asked.file is not None:
        return {"type": dict(asked.file.by_type), "name": dict(asked.file.by_name), "others": None}
    if asked.types is None:
        return {"type": {}, "name": {}, "others": asked.mode}
    return {"type": dict.fromkeys(asked.types, asked.mode), "name": {}, "others": None}


def _shapes(shapes: ShapeOptions) -> Mapping[str, object]:
    found: Dict[str, object] = {"kind": shapes.kind}
    if shapes.listed is not None and shapes.profiles is not None:
        found["source"] = "placeholder" if shapes.of_placeholders else "dataset"
        for number, sizes in enumerate(shapes.profiles.profiles):
            found[f"profile {number}"] = {name: list(dims) for name, dims in shapes.listed.in_profile(sizes).inputs}
    elif shapes.kind == "ranges":
        groups: Any = told(shapes.ranges)
        found.update(groups)
    return found
