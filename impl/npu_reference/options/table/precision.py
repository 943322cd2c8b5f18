"""Options that decide which precision and which implementation operators get."""

from __future__ import annotations

from functools import partial

from npu_reference.options.declaration import SAME, Advice, Facet, both, declare
from npu_reference.options.domains import Anything, Choice, Path, Text
from npu_reference.options.files import customize_dtypes, mixlist, op_precision
from npu_reference.options.grammars import lists

__all__ = ["OPTIONS"]

_TOPIC = "Precision"
_LOSS_SCALING = "Loss scaling is recommended beside mixed precision."
_LAST_RESORT = "Normally it is not needed: it is for a network whose precision or speed is still not good enough."
_MIXED = ("allow_mix_precision", "allow_mix_precision_fp16")
_LEGACY_MODES = ("allow_fp32_to_fp16", "force_fp16", "force_fp32", "must_keep_origin_dtype", "allow_mix_precision")
_CURRENT_MODES = (*_LEGACY_MODES, "cube_fp16in_fp32out", "allow_mix_precision_fp16")

OPTIONS = (
    declare(
        "precision_mode",
        _TOPIC,
        "How the precision of every operator is chosen.",
        session=Facet(Choice(*_LEGACY_MODES), "s", "allow_fp32_to_fp16", "force_fp16"),
        runconfig=Facet(Choice(*_LEGACY_MODES), "s", "allow_fp32_to_fp16", "force_fp16"),
        current={"domain": Choice(*_CURRENT_MODES)},
        overrides={("runconfig", "current"): {"domain": Choice(*_CURRENT_MODES), "default_inference": SAME}},
        readings=("A6", "A7", "A8", "A9", "A10", "A11", "A12", "B14"),
        advice=(
            Advice("precision_mode_v2 is the recommended form of it.", "precision.v1_v2_exclusive", ("current",)),
            Advice(_LOSS_SCALING, "precision.g.loss_scaling", ("legacy",), ("allow_mix_precision",), "T"),
            Advice(_LOSS_SCALING, "precision.mix.loss_scaling", ("current",), _MIXED, "T"),
        ),
    ),
    declare(
        "precision_mode_v2",
        _TOPIC,
        "The newer form of precision_mode, which it excludes.",
        runconfig=Facet(Choice("fp16", "origin", "cube_fp16in_fp32out", "mixed_float16"), "s"),
        readings=("B15", "P27", "P28"),
        advice=(Advice(_LOSS_SCALING, "precision.mix.loss_scaling", ("current",), ("mixed_float16",), "T"),),
    ),
    declare(
        "modify_mixlist",
        _TOPIC,
        "File that moves operator types between the black, gray and white list of mixed precision.",
        **both(Path("file", read=mixlist.parse), "s"),
        readings=("A15", "B21", "P6", "P8", "P12"),
        requirements=("files.mixlist.",),
    ),
    declare(
        "enable_reduce_precision",
        _TOPIC,
        "Listed as not supported.",
        runconfig=Facet(Anything(), "b", status="unsupported"),
    ),
    declare(
        "customize_dtypes",
        _TOPIC,
        "File that gives single operators their data types.",
        runconfig=Facet(Path("file", read=customize_dtypes.parse), "s"),
        readings=("B16", "B29", "P19", "P21", "P22"),
        requirements=("files.customize_dtypes.",),
    ),
    declare(
        "op_select_implmode",
        _TOPIC,
        "Whether operators with a choice are implemented for precision or for speed.",
        **both(Choice("high_precision", "high_performance"), "s", "high_performance"),
        current={"default": None, "status": "deprecated"},
        readings=("A30", "B5", "P25"),
    ),
    declare(
        "optypelist_for_implmode",
        _TOPIC,
        "Operator types that op_select_implmode is restricted to.",
        **both(Text(f"comma list of {', '.join(lists.IMPLMODE_TYPES)}", lists.parse_optypes, "Pooling,SoftmaxV2"), "s"),
        current={"status": "deprecated"},
        readings=("P26",),
    ),
    declare(
        "op_precision_mode",
        _TOPIC,
        "File that gives operator types and nodes their implementation mode.",
        **both(Path("file", read=partial(op_precision.parse, modes=op_precision.MODES["legacy"])), "s"),
        current={"domain": Path("file", read=op_precision.parse)},
        readings=("A23", "P23", "P24"),
        advice=(
            Advice(_LAST_RESORT, "session.op_precision_mode.advice", ("legacy",)),
            Advice(_LAST_RESORT, "runconfig.op_precision_mode.advice", ("current",)),
        ),
        requirements=("files.op_precision_ini.",),
    ),
)
