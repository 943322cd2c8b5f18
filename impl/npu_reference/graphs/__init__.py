"""Reads and writes TensorFlow graphs, and answers what is in them, without TensorFlow."""

from __future__ import annotations

from .attrs import UNKNOWN_RANK, Attrs, FuncRef, Placeholder
from .builder import FunctionBuilder, GraphBuilder
from .closing import arg_shapes, close_over, leading_to
from .dtypes import DType
from .edges import CONTROL, Edges
from .frames import CONTROL_FLOW, Frame, frames
from .functions import Function, Library
from .graph import Graph, Node
from .importing import as_session_gives, in_creation_order
from .ops import OPS, ArgDef, AttrDef, OpDef
from .private_ops import COPY_MARK, ITERATIONS_MARK, OPERATOR_MARK, SEEDED_MARK, python_names
from .proto import message_class
from .readers import graph_from_def, load_graph, parse_graph
from .remembered import closed_graph
from .shaping.inference import Shapes, batch_feeds, infer_shapes
from .writers import write_graph

__all__ = [
    "COPY_MARK", "ArgDef", "AttrDef", "Attrs", "CONTROL", "CONTROL_FLOW", "DType", "Edges", "Frame", "FuncRef",
    "Function", "FunctionBuilder", "Graph", "GraphBuilder", "ITERATIONS_MARK", "Library", "Node", "OPERATOR_MARK",
    "OPS", "OpDef", "Placeholder", "SEEDED_MARK", "Shapes", "UNKNOWN_RANK", "arg_shapes", "as_session_gives",
    "batch_feeds", "close_over", "closed_graph", "frames", "graph_from_def", "in_creation_order", "infer_shapes",
    "leading_to", "load_graph", "message_class", "parse_graph", "python_names", "write_graph",
]  # fmt: skip
