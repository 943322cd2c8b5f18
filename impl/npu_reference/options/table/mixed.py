"""Options that decide where operators run: mixed computing, ranges, iteration offload."""

from __future__ import annotations

from npu_reference.options.declaration import Facet, both, declare
from npu_reference.options.domains import Boolean, Choice, Integer, Text
from npu_reference.options.grammars import in_out_pair

__all__ = ["OPTIONS"]

_TOPIC = "Mixed computing and offload"

OPTIONS = (
    declare(
        "use_off_line",
        _TOPIC,
        "Whether the graph runs on the device at all; False leaves everything to TensorFlow on the host.",
        session=Facet(Boolean(), "b", True),
        readings=("A38",),
        requirements=("mixed.session.use_off_line_implicit",),
    ),
    declare(
        "mix_compile_mode",
        _TOPIC,
        "Mixed computing: operators the device cannot run are left to TensorFlow on the host.",
        **both(Boolean(), "b", False),
        requirements=("mixed.",),
    ),
    declare(
        "in_out_pair_flag",
        _TOPIC,
        "Whether the ranges of in_out_pair are offloaded (True) or kept on the host (False).",
        session=Facet(Boolean(), "b", True, applies="I"),
        readings=("A37", "A38"),
        requirements=("in_out_pair.flag.",),
    ),
    declare(
        "in_out_pair",
        _TOPIC,
        "First and last operators of the ranges to be offloaded, or to be kept on the host.",
        session=Facet(
            Text(
                "text of a list of [in_nodes, out_nodes] pairs, each a list of node names",
                in_out_pair.parse,
                "[[['import/conv2d_1/convolution'], ['import/conv2d_59/BiasAdd']]]",
                longest=1 << 24,  # the names of a range in a graph of a million nodes
            ),
            "s",
            applies="I",
            source="001; 002 § in_out_pair",
        ),
        readings=("A37", "A38", "A39", "A40", "M11", "M23"),
        requirements=("in_out_pair.",),
    ),
    declare(
        "variable_placement",
        _TOPIC,
        "Where variables live; Host saves device memory and needs mixed computing.",
        runconfig=Facet(Choice("Device", "Host"), "s", "Device"),
        readings=("T21",),
    ),
    declare(
        "iterations_per_loop",
        _TOPIC,
        "Training iterations the device runs per session.run.",
        **both(Integer(1), "i", 1, applies=("T", "T"), bound=True),
        # The session table of document 002 gives no default: iteration offload is then not configured.
        overrides={("session", "legacy"): {"default": None}},
        readings=("A42", "M25", "T17", "T18"),
        requirements=("mixed.iterations.",),
    ),
    declare(
        "enable_data_pre_proc",
        _TOPIC,
        "Whether GetNext runs on the device, which iteration offload needs.",
        session=Facet(Boolean(), "b", False, applies="T"),
        runconfig=Facet(Boolean(), "b", True),
        current={"status": "deprecated"},
        readings=("A17",),
    ),
)
