"""Which rule a precision option stands for, in its edition of the documents."""

from __future__ import annotations

from typing import NamedTuple

from npu_reference.options.resolution import Resolution

__all__ = ["ALLOW", "FORCE16", "FORCE32", "KEEP", "MIX", "Mode", "mode_of"]

ALLOW, FORCE16, FORCE32, KEEP, MIX = "allow", "force16", "force32", "keep", "mix"

_V1 = {
    "allow_fp32_to_fp16": ALLOW,
    "force_fp16": FORCE16,
    "force_fp32": FORCE32,
    "cube_fp16in_fp32out": FORCE32,  # precision.force_fp32.alias_cube
    "must_keep_origin_dtype": KEEP,
    "allow_mix_precision": MIX,
    "allow_mix_precision_fp16": MIX,  # precision.mix.alias
}
_V2 = {"fp16": FORCE16, "origin": KEEP, "cube_fp16in_fp32out": FORCE32, "mixed_float16": MIX}


class Mode(NamedTuple):
    """A precision mode.

    Attributes:
        name: as the option says it.
        rule: one of ALLOW, FORCE16, FORCE32, KEEP, MIX.
        legacy: whether documents 002 and 004 are followed: cube operators keep float32 where they can (A11, P16),
            force_fp32 has no rule of its own for cube operators (A8), must_keep never resorts to another precision
            or engine (A9, A10).
        v2: whether it is a value of precision_mode_v2.
    """

    name: str
    rule: str
    legacy: bool
    v2: bool = False


def mode_of(options: Resolution) -> Mode:
    """The mode of resolved options: precision_mode_v2 where given, else precision_mode or its default (A6)."""
    legacy = options.edition == "legacy"
    asked = options.typed.precision
    return Mode(asked.mode, (_V2 if asked.v2 else _V1)[asked.mode], legacy, asked.v2)
