"""Mutants of what lies deeper than one operator: bodies of functions, kernels after fusion, barred gray operators."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping

from npu_conformance.backends.mutants.precision_edits import another_library, answering, asked, bodies, dtypes

__all__: List[str] = []

MIX = ("allow_mix_precision", "allow_mix_precision_fp16", "mixed_float16")


def _mixed(edition: str) -> Any:
    return lambda params: asked(params, MIX, edition)


def _forced(edition: str) -> Any:
    return lambda params: asked(params, ("force_fp16",), edition)


def _every(node: Mapping[str, Any]) -> bool:
    return True


def _in_loops(node: Mapping[str, Any]) -> bool:
    return node["node"].startswith(("step/", "inner/"))


bodies(
    "mix-leaves-functions",
    "precision.s.allow_mix",
    "Lowers nothing in the bodies of functions.",
    dtypes("float16", "float32", _every),
    _mixed("legacy"),
)
bodies(
    "mix-leaves-loops",
    "precision.mix.policy",
    "Lowers nothing in the bodies of loops, nor in what they call.",
    dtypes("float16", "float32", _in_loops),
    _mixed("current"),
)
bodies(
    "force-fp16-leaves-functions",
    "precision.s.force_fp16",
    "Forces nothing in the bodies of functions.",
    dtypes("float16", "float32", _every),
    _forced("legacy"),
)
bodies(
    "force-fp16-leaves-nested-functions",
    "precision.force_fp16.both_supported",
    "Forces nothing in functions that functions call.",
    dtypes("float16", "float32", lambda node: node["node"].startswith("inner/")),
    _forced("current"),
)


def _barred_lowered(node: Dict[str, Any]) -> None:
    if node["op"] == "MaxPool" and node["engine"] == "aicpu" and node["list"] == "graylist":
        node.update(engine="vector", inputs=["float16"], outputs=["float16"])


answering(
    "gray-lowered-behind-black",
    "precision.s.gray_follow_both_ways",
    "Lowers a gray operator of float16 alone, though the one before it may not be lowered.",
    _barred_lowered,
    _mixed("legacy"),
)
answering(
    "gray-kernel-decides",
    "precision.mixlist.gray",
    "Lowers a gray operator of float16 alone, though the one upstream is not lowered.",
    _barred_lowered,
    _mixed("current"),
)
another_library(
    "concat-before-fusion",
    "precision.mix.policy",
    "Has the dtypes of a concatenation as they are before fusion makes its kernel: float32 alone.",
    {"ConcatV2D": {"input0": {"dtype": "float"}, "output0": {"dtype": "float"}}},
    _mixed("current"),
)
another_library(
    "top-k-before-fusion",
    "precision.allow_fp32_to_fp16.fp32_unsupported_reduce",
    "Has the largest elements in float32 on the AI Core.",
    {"TopKD": {"input0": {"dtype": "float"}, "output0": {"dtype": "float"}, "output1": {"dtype": "int32"}}},
    lambda params: asked(params, ("allow_fp32_to_fp16",), "current"),
)


answering(
    "variables-updated-in-float16",
    "precision.mix.policy",
    "Lowers what is stored into a variable.",
    dtypes("float32", "float16", lambda node: "resource" in node["inputs"] and not node["outputs"]),
    _mixed(""),
)
