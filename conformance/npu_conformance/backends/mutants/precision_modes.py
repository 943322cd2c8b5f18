"""Mutants of the precision modes: each takes a mode for another, or breaks one rule of one."""

from __future__ import annotations

from typing import Any, List, Mapping

from npu_conformance.backends.mutants.edits import Params
from npu_conformance.backends.mutants.precision_edits import (
    accepting,
    another_library,
    answering,
    asked,
    asking,
    dtypes,
    flags,
    is_cube,
    mode_of,
    only_mode,
    refusing,
    taking,
)

__all__: List[str] = []

CUBE = ("cube_fp16in_fp32out", "force_fp32")
KEEP = ("must_keep_origin_dtype", "origin")
MIX = ("allow_mix_precision", "allow_mix_precision_fp16", "mixed_float16")
UNSET = ("unset",)
NO_KERNEL = ("PRECISION_NO_KERNEL",)


def in_training(params: Params) -> bool:
    return params["values"].get("graph_run_mode", 1) == 1


def in_inference(params: Params) -> bool:
    return not in_training(params)


def by_v2(params: Params) -> bool:
    return "precision_mode_v2" in params["values"]


def by_v1(params: Params) -> bool:
    return not by_v2(params)


def mixed(params: Params) -> bool:
    return mode_of(params) in MIX


def cubed(params: Params) -> bool:
    return asked(params, CUBE, edition="current")


def kept(params: Params) -> bool:
    return mode_of(params) in KEEP


def reads(node: Mapping[str, Any], dtype: str) -> bool:
    return dtype in node["inputs"]


# Session, document 002

taking(
    "none-keeps-every-dtype",
    "precision.s.none_alias",
    "Takes no mode for must_keep_origin_dtype.",
    UNSET,
    "must_keep_origin_dtype",
    in_training,
)
taking(
    "text-none-forces-fp16",
    "precision.s.none_alias",
    "Takes the text None for force_fp16.",
    ["None"],
    "force_fp16",
    in_training,
)
taking(
    "training-default-is-force-fp16",
    "precision.s.default_training",
    "Forces float16 in training where no mode is given.",
    UNSET,
    "force_fp16",
    in_training,
)
taking(
    "inference-default-is-allow",
    "precision.s.default_inference",
    "Takes the default of training in online inference.",
    UNSET,
    "allow_fp32_to_fp16",
    in_inference,
)
taking(
    "allow-forces-fp16",
    "precision.s.allow_fp32_to_fp16",
    "Takes allow_fp32_to_fp16 for force_fp16.",
    ["allow_fp32_to_fp16"],
    "force_fp16",
)
taking(
    "force-fp16-allows",
    "precision.s.force_fp16",
    "Takes force_fp16 for allow_fp32_to_fp16.",
    ["force_fp16"],
    "allow_fp32_to_fp16",
)
taking(
    "force-fp32-allows",
    "precision.s.force_fp32",
    "Takes force_fp32 for allow_fp32_to_fp16: float16 operators stay.",
    ["force_fp32"],
    "allow_fp32_to_fp16",
)
taking(
    "must-keep-raises",
    "precision.s.must_keep",
    "Takes must_keep_origin_dtype for force_fp32.",
    ["must_keep_origin_dtype"],
    "force_fp32",
)
taking(
    "mix-allows",
    "precision.s.allow_mix",
    "Takes allow_mix_precision for allow_fp32_to_fp16.",
    ["allow_mix_precision"],
    "allow_fp32_to_fp16",
)
answering(
    "mix-lowers-whole-numbers",
    "precision.s.allow_mix_only_fp32",
    "Lowers int32 to float16 under mixed precision.",
    dtypes("int32", "float16", lambda node: True),
    mixed,
)
another_library(
    "white-flag-unread",
    "precision.s.flag_true_white",
    "Forbids to lower what the library flags true.",
    flags(MatMulV2="false", Conv2D="false"),
    mixed,
)
another_library(
    "black-flag-unread",
    "precision.s.flag_false_black",
    "Lowers what the library flags false.",
    flags(Log="true", Xlog1py="true"),
    mixed,
)
another_library(
    "no-flag-is-black",
    "precision.s.flag_absent_gray",
    "Forbids to lower what the library does not flag.",
    flags(Relu="false", Abs="false", Add="false"),
    mixed,
)
another_library(
    "no-flag-is-white",
    "precision.s.gray_follow_both_ways",
    "Lowers what the library does not flag, whatever is before it.",
    flags(Relu="true", Abs="true", Add="true"),
    mixed,
)
another_library("conv2d-gray", "precision.s.conv2d_white", "Has no flag for Conv2D.", flags(Conv2D="absent"), mixed)

# Guide, document 004

taking(
    "guide-allow-keeps",
    "precision.g.allow_fp32_to_fp16",
    "Keeps the dtype of an operator that has no float32.",
    ["allow_fp32_to_fp16"],
    "must_keep_origin_dtype",
)
another_library(
    "convolutions-in-float32",
    "precision.g.conv_no_fp32",
    "Has a float32 kernel for convolutions.",
    {
        name: {
            "input0": {"dtype": "float16,float"},
            "input1": {"dtype": "float16,float"},
            "output0": {"dtype": "float16,float"},
        }
        for name in ("Conv2D", "DepthwiseConv2D")
    },
)
taking(
    "guide-default-mixes",
    "precision.g.default",
    "Mixes precision where no mode is given.",
    UNSET,
    "allow_mix_precision",
)
taking(
    "guide-force-fp16-keeps",
    "precision.g.force_fp16",
    "Takes force_fp16 for must_keep_origin_dtype.",
    ["force_fp16"],
    "must_keep_origin_dtype",
)
accepting(
    "guide-must-keep-runs-convolutions",
    "precision.g.must_keep_conv_error",
    "Goes on with a float32 Conv2D that must keep its dtype.",
    NO_KERNEL,
    kept,
)
taking(
    "guide-mix-forces",
    "precision.g.mix",
    "Takes allow_mix_precision for force_fp16.",
    ["allow_mix_precision"],
    "force_fp16",
)
answering(
    "mix-raises-float16",
    "precision.g.only_fp32_to_fp16",
    "Raises float16 vector operators to float32 under mixed precision.",
    dtypes("float16", "float32", lambda node: node["node"].endswith("16") and not is_cube(node)),
    mixed,
)
answering(
    "mix-takes-as-much-memory",
    "precision.g.memory",
    "Stores the results of lowered operators in float32.",
    dtypes("float16", "float32", lambda node: True, "outputs"),
    mixed,
)
asking(
    "decided-without-a-device",
    "session.use_off_line.false_overrides",
    "Decides the dtypes of what use_off_line False leaves to the host.",
    lambda params: {**params, "values": {**params["values"], "use_off_line": True}},
)
asking(
    "mode-of-one-surface",
    "precision.g.session_same",
    "Ignores the mode that NPURunConfig gives.",
    lambda params: only_mode(params, None) if params["surface"] == "runconfig" else params,
)


refusing(
    "must-keep-refuses-every-convolution",
    "precision.g.must_keep_conv_fp16_ok",
    "Refuses a Conv2D under must_keep_origin_dtype, in float16 too.",
    "PRECISION_NO_KERNEL",
    "Conv2D",
    kept,
)

# precision_mode, document 003

answering(
    "allow-keeps-cube-operators",
    "precision.allow_fp32_to_fp16.cube_fp16",
    "Keeps cube operators in float32 where they have it.",
    dtypes("float16", "float32", lambda node: is_cube(node) and node["node"].endswith("32")),
    lambda params: mode_of(params) in ("unset", "allow_fp32_to_fp16") and in_training(params),
)
taking(
    "allow-lowers-vector-operators",
    "precision.allow_fp32_to_fp16.vector_keep",
    "Forces float16 on vector operators as well.",
    ["allow_fp32_to_fp16"],
    "fp16",
)
taking(
    "allow-follows-cube-operators",
    "precision.allow_fp32_to_fp16.fp32_supported_keep",
    "Lowers what stands behind a cube operator, too.",
    ["allow_fp32_to_fp16"],
    "mixed_float16",
)
taking(
    "allow-never-reduces",
    "precision.allow_fp32_to_fp16.fp32_unsupported_reduce",
    "Runs an operator without float32 on the AI CPU.",
    ["allow_fp32_to_fp16"],
    "must_keep_origin_dtype",
)
taking(
    "atlas-default-keeps",
    "precision.default_atlas_training",
    "Keeps every dtype where no mode is given.",
    UNSET,
    "must_keep_origin_dtype",
    in_training,
)
taking(
    "inference-keeps-what-has-both",
    "precision.force_fp16.both_supported",
    "Takes force_fp16 for must_keep_origin_dtype.",
    ["force_fp16"],
    "must_keep_origin_dtype",
)
answering(
    "force-fp16-on-what-lacks-it",
    "precision.force_fp16.both_supported",
    "Says float16 of an operator that has float32 only.",
    dtypes("float32", "float16", lambda node: True),
    lambda params: mode_of(params) == "force_fp16",
)
taking(
    "force-fp32-is-another-mode",
    "precision.force_fp32.alias_cube",
    "Takes force_fp32 for must_keep_origin_dtype.",
    ["force_fp32"],
    "must_keep_origin_dtype",
)
answering(
    "cube-writes-float16",
    "precision.cube.order1_fp16_fp32",
    "Lets cube operators write float16.",
    dtypes("float32", "float16", is_cube, "outputs"),
    cubed,
)
answering(
    "cube-skips-the-second-choice",
    "precision.cube.order2_fp32_fp32",
    "Takes float16 in and out before float32 in and out.",
    dtypes("float32", "float16", lambda node: is_cube(node) and reads(node, "float32")),
    cubed,
)
answering(
    "cube-has-no-third-choice",
    "precision.cube.order3_fp16_fp16",
    "Writes float32 from a cube operator that cannot.",
    dtypes("float16", "float32", lambda node: is_cube(node) and node["outputs"] == ["float16"], "outputs"),
    cubed,
)
accepting(
    "cube-never-refuses",
    "precision.cube.order4_error",
    "Goes on where a cube operator has none of the three choices.",
    NO_KERNEL,
    cubed,
)
answering(
    "cube-leaves-float16-vectors",
    "precision.cube.vector_force_fp32",
    "Leaves float16 vector operators at float16.",
    dtypes("float32", "float16", lambda node: not is_cube(node) and node["node"].endswith("16")),
    cubed,
)
answering(
    "cube-raises-what-has-float16-only",
    "precision.cube.vector_fp16_only_keep",
    "Raises an operator that has float16 only.",
    dtypes("float16", "float32", lambda node: node["node"].startswith("pool")),
    cubed,
)
asking(
    "cube-without-the-blocklist",
    "precision.cube.vector_black_aicpu",
    "Does not look at the blocklist when it raises vector operators.",
    lambda params: {key: value for key, value in params.items() if key != "ops_info"} if cubed(params) else params,
)
answering(
    "cube-raises-whole-numbers",
    "precision.cube.scope_both",
    "Raises int32 to float32.",
    dtypes("int32", "float32", lambda node: True),
    cubed,
)
taking(
    "must-keep-lowers-cube-operators",
    "precision.must_keep.basic",
    "Takes must_keep_origin_dtype for allow_fp32_to_fp16.",
    ["must_keep_origin_dtype"],
    "allow_fp32_to_fp16",
)
answering(
    "must-keep-leaves-float16",
    "precision.must_keep.fp16_to_fp32",
    "Says float16 of an operator that has float32 only.",
    dtypes("float32", "float16", lambda node: node["node"].startswith(("only32", "pool"))),
    lambda params: kept(params) and by_v1(params),
)
taking(
    "must-keep-lowers-to-the-ai-core",
    "precision.must_keep.fp32_only_fp16_aicpu",
    "Reduces to float16 what the AI CPU has in float32.",
    ["must_keep_origin_dtype"],
    "fp16",
)
answering(
    "must-keep-stays-on-the-ai-core",
    "precision.must_keep.fp16_only_bf16_aicpu",
    "Computes in bfloat16 what the AI CPU has in float16.",
    lambda node: node.update(engine="vector") if node.get("engine") == "aicpu" else None,
    lambda params: kept(params) and by_v1(params),
)
accepting(
    "must-keep-never-refuses-float16",
    "precision.must_keep.fp16_only_bf16_error",
    "Goes on where neither core has float16.",
    NO_KERNEL,
    lambda params: kept(params) and by_v1(params),
)
accepting(
    "must-keep-never-refuses-float32",
    "precision.must_keep.fp32_only_fp16_error",
    "Goes on where neither core has float32.",
    NO_KERNEL,
    lambda params: kept(params) and by_v1(params),
)
taking(
    "mix-fp16-is-another-mode",
    "precision.mix.alias",
    "Takes allow_mix_precision_fp16 for allow_fp32_to_fp16.",
    ["allow_mix_precision_fp16"],
    "allow_fp32_to_fp16",
)
taking(
    "mix-is-fp16", "precision.mix.policy", "Forces float16 under allow_mix_precision.", ["allow_mix_precision"], "fp16"
)

# precision_mode_v2, document 003

taking("v2-fp16-mixes", "precision.v2.fp16", "Takes fp16 for mixed_float16.", ["fp16"], "mixed_float16")
taking(
    "v2-origin-allows", "precision.v2.origin", "Takes origin for allow_fp32_to_fp16.", ["origin"], "allow_fp32_to_fp16"
)
answering(
    "v2-origin-leaves-float16",
    "precision.v2.origin.fp16_to_fp32",
    "Says float16 of an operator that has float32 only.",
    dtypes("float32", "float16", lambda node: node["node"].startswith(("only32", "pool"))),
    lambda params: kept(params) and by_v2(params),
)
answering(
    "v2-origin-stays-on-the-ai-core",
    "precision.v2.origin.fp16_aicpu",
    "Computes in bfloat16 what the AI CPU has in float16.",
    lambda node: node.update(engine="vector") if node.get("engine") == "aicpu" else None,
    lambda params: kept(params) and by_v2(params),
)
accepting(
    "v2-origin-never-refuses-float16",
    "precision.v2.origin.fp16_aicpu",
    "Goes on where neither core has float16.",
    NO_KERNEL,
    lambda params: kept(params) and by_v2(params),
)
taking(
    "v2-origin-lowers-to-the-ai-core",
    "precision.v2.origin.fp32_aicpu",
    "Reduces to float16 what the AI CPU has in float32.",
    ["origin"],
    "fp16",
)
taking(
    "v2-cube-is-another-mode",
    "precision.v2.cube",
    "Takes cube_fp16in_fp32out of precision_mode_v2 for fp16.",
    ["cube_fp16in_fp32out"],
    "fp16",
    by_v2,
)
taking(
    "v2-mixed-float16-allows",
    "precision.v2.mixed_float16",
    "Takes mixed_float16 for allow_fp32_to_fp16.",
    ["mixed_float16"],
    "allow_fp32_to_fp16",
)
taking(
    "v2-has-a-default",
    "precision.v2.no_default",
    "Takes origin where neither option is given.",
    UNSET,
    "origin",
    in_training,
)
asking(
    "v2-ignored",
    "precision.v2.replaces_v1",
    "Ignores precision_mode_v2.",
    lambda params: only_mode(params, None) if by_v2(params) else params,
)
another_library(
    "v2-with-lists-of-its-own",
    "precision.v2.policy_reference",
    "Has other lists under mixed_float16 than under allow_mix_precision.",
    flags(MatMulV2="false", Log="true"),
    lambda params: mode_of(params) == "mixed_float16",
)
answering(
    "cube-mode-bars-what-follows",
    "precision.cube.vector_black_aicpu",
    "Keeps from the AI Core what is behind a blocklisted operator, too, under cube_fp16in_fp32out.",
    dtypes("float16", "float32", lambda node: node["op"] == "MaxPool"),
    cubed,
)
answering(
    "products-of-batches-lowered",
    "precision.domain",
    "Lowers products of batches whatever the mode keeps.",
    dtypes("float32", "float16", lambda node: node["op"].startswith("BatchMatMul")),
    kept,
)
