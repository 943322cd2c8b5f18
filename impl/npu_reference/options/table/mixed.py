"""Options that decide where operators run: mixed computing, ranges, iteration offload, dynamic input."""

from __future__ import annotations

from npu_reference.options.declaration import Facet, declare
from npu_reference.options.domains import Boolean, Choice, Integer, Text
from npu_reference.options.grammars import in_out_pair

__all__ = ["OPTIONS"]

_TOPIC = "Mixed computing"

OPTIONS = (
    declare(
        "use_off_line",
        _TOPIC,
        "Whether the graph runs on the device at all; False leaves everything to TensorFlow on the host.",
        session=Facet(Boolean(), "b", True, source="002 § use_off_line"),
        readings=("A38",),
        requirements=("mixed.session.use_off_line_implicit",),
    ),
    declare(
        "graph_run_mode",
        _TOPIC,
        "Training (1) or online inference (0).",
        session=Facet(Integer(0, 1), "i", 1, source="002 § graph_run_mode"),
        runconfig=Facet(Integer(0, 1), "i", 1, source="003 § graph_run_mode"),
        readings=("G15",),
    ),
    declare(
        "mix_compile_mode",
        _TOPIC,
        "Mixed computing: operators the device cannot run are left to TensorFlow on the host.",
        session=Facet(Boolean(), "b", False, source="002 § mix_compile_mode"),
        runconfig=Facet(Boolean(), "b", False, source="003 § mix_compile_mode"),
        requirements=("mixed.",),
    ),
    declare(
        "in_out_pair_flag",
        _TOPIC,
        "Whether the ranges of in_out_pair are offloaded (True) or kept on the host (False).",
        session=Facet(Boolean(), "b", True, applies="I", source="002 § in_out_pair_flag"),
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
        runconfig=Facet(Choice("Device", "Host"), "s", "Device", source="003 § variable_placement"),
        readings=("T21",),
    ),
    declare(
        "iterations_per_loop",
        _TOPIC,
        "Training iterations the device runs per session.run.",
        session=Facet(Integer(1), "i", 1, applies="T", source="002 § iterations_per_loop"),
        runconfig=Facet(Integer(1), "i", 1, applies="T", source="003 § iterations_per_loop"),
        readings=("A42", "M25", "T17", "T18"),
        requirements=("mixed.iterations.",),
    ),
    declare(
        "enable_data_pre_proc",
        _TOPIC,
        "Whether GetNext runs on the device, which iteration offload needs.",
        session=Facet(Boolean(), "b", False, applies="T", source="002 § enable_data_pre_proc"),
        runconfig=Facet(Boolean(), "b", True, source="003 § enable_data_pre_proc"),
        overrides={("runconfig", "current"): {"status": "deprecated"}},
        readings=("A17",),
    ),
    declare(
        "dynamic_input",
        _TOPIC,
        "Whether the inputs' shapes change from run to run.",
        session=Facet(Boolean(), "b", False, source="002 § dynamic_input"),
        runconfig=Facet(Boolean(), "b", False, source="003 § dynamic_input"),
        overrides={("runconfig", "current"): {"status": "deprecated"}},
    ),
    declare(
        "dynamic_graph_execute_mode",
        _TOPIC,
        "How a graph with dynamic input is compiled.",
        session=Facet(Choice("dynamic_execute"), "s", source="002 § dynamic_graph_execute_mode"),
        runconfig=Facet(Choice("dynamic_execute"), "s", source="003 § dynamic_graph_execute_mode"),
        overrides={("runconfig", "current"): {"status": "deprecated"}},
    ),
    declare(
        "input_shape",
        _TOPIC,
        "Shapes of the inputs, with -1 where profiles of dynamic_dims give the size.",
        session=Facet(Text("name:dims;name:dims with -1 for a dynamic dimension, 0 for a scalar"), "s", applies="I",
                      source="002 § input_shape"),
        readings=("A50",),
    ),
    declare(
        "dynamic_dims",
        _TOPIC,
        "The profiles of the dynamic dimensions of input_shape.",
        session=Facet(Text("two or more profiles separated by ';', one value for each -1 of input_shape"), "s",
                      applies="I", source="002 § dynamic_dims"),
        readings=("A50",),
    ),
)
