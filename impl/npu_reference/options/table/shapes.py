"""Options of input shapes: profiles, ranges, dynamic execution."""

from __future__ import annotations

from npu_reference.options.declaration import Advice, Facet, both, declare
from npu_reference.options.domains import Boolean, Choice, Integer, Text
from npu_reference.options.grammars import shapes

__all__ = ["OPTIONS"]

_TOPIC = "Dynamic shapes"
_SUBGRAPHS = "Graphs whose inputs have different shapes are set one by one, by util.set_graph_exec_config."
_LAZY = "every new shape is compiled when it comes, and shape ranges are not used (S16)"

OPTIONS = (
    declare(
        "input_shape",
        _TOPIC,
        "Shapes of the inputs, with -1 where profiles of dynamic_dims give the size and 0 for a scalar.",
        session=Facet(
            Text("name:dims;name:dims with -1 for a dynamic dimension", shapes.parse_input_shape, shapes.EXAMPLE_SHAPE),
            "s",
            applies="I",
            bound=True,
        ),
        readings=("A50", "S1", "S2", "S3", "S7"),
    ),
    declare(
        "dynamic_dims",
        _TOPIC,
        "Profiles of the dynamic dimensions of input_shape.",
        session=Facet(
            Text(
                "at least two profiles separated by ';', each one size for every -1",
                shapes.parse_dynamic_dims,
                shapes.EXAMPLE_DIMS,
            ),
            "s",
            applies="I",
            bound=True,
        ),
        readings=("A50", "S1", "S4", "S5", "S6"),
    ),
    declare(
        "dynamic_node_type",
        _TOPIC,
        "Which inputs are dynamic: those of a dataset (0) or placeholders (1).",
        session=Facet(Integer(0, 1), "i", applies="I", bound=True),
        readings=("A50", "S1"),
    ),
    declare(
        "dynamic_input",
        _TOPIC,
        "Whether the shapes of inputs change from run to run.",
        **both(Boolean(), "b", False),
        current={"status": "deprecated"},
        readings=("S8",),
        advice=(
            Advice(_SUBGRAPHS, "session.dynamic_input.subgraphs", ("legacy",), (True,)),
            Advice(_SUBGRAPHS, "runconfig.dynamic_inputs_shape_range.subgraphs", ("current",), (True,)),
        ),
    ),
    declare(
        "dynamic_graph_execute_mode",
        _TOPIC,
        "How a graph with dynamic input is compiled.",
        **both(Choice("dynamic_execute", also={"lazy_recompile": _LAZY}), "s"),
        current={"status": "deprecated"},
        readings=("S16",),
    ),
    declare(
        "dynamic_inputs_shape_range",
        _TOPIC,
        "Shape of every input, with the range of each dynamic dimension.",
        **both(Text("getnext:[dims],[dims];data:[dims]", shapes.parse_shape_range, shapes.EXAMPLE_RANGE), "s"),
        current={"status": "deprecated"},
        readings=("A51", "B19", "S8", "S9", "S10", "S11", "S12", "S13", "S16"),
        advice=(
            Advice(
                "Ranges go by the names of placeholders as text: with more than 10 of them, name each.",
                "runconfig.dynamic_inputs_shape_range.name_advice",
                ("current",),
            ),
        ),
    ),
    declare(
        "compile_dynamic_mode",
        _TOPIC,
        "Whether every input shape is compiled as unknown.",
        runconfig=Facet(Boolean(), "b", False),
        readings=("S14",),
    ),
    declare(
        "ac_parallel_enable",
        _TOPIC,
        "Whether AI CPU and AI Core operators of a dynamic graph run in parallel.",
        runconfig=Facet(Choice("0", "1"), "s", "0"),
    ),
    declare(
        "jit_compile",
        _TOPIC,
        "Whether operators are compiled online or taken from prebuilt binaries.",
        runconfig=Facet(Choice("auto", "true", "false"), "s", "auto", status="experimental", earlier="b"),
        readings=("S15", "G27"),
        advice=(Advice("It is for large recommendation models only.", "runconfig.jit_compile.notice", ("current",)),),
    ),
)
