"""Graphs whose sizes are all known, for the timing plane: nets by hand, and random ones."""

from __future__ import annotations

from hypothesis import strategies as st

from npu_reference.device.timing import profile
from npu_reference.graphs import GraphBuilder, arg_shapes, close_over
from npu_reference.hardware import built_in
from npu_reference.options import resolve
from npu_reference.partition import partition

__all__ = ["conv_net", "host_between", "inputs", "mlp", "nets", "step", "two_engines"]

#: Kinds of operators a random net is made of, each of two [rows, rows] tensors.
KINDS = ("MatMul", "Add", "Relu", "Exp", "Cumsum", "Sum", "PyFunc", "MatrixInverse", "Variable", "Call", "While")


def step(
    graph,
    feeds=("x:0",),
    fetches=(),
    shapes=(),
    *,
    device=None,
    surface="session",
    edition="current",
    files=None,
    concurrent=1,
    tiles=None,
    **values,
):
    """The profile of one run of a graph under options."""
    closed = close_over(graph, list(feeds), list(fetches), [])
    resolution = resolve(values, surface=surface, edition=edition, env={}, files=files)
    assert not resolution.errors, resolution.errors
    return profile(
        partition(closed, resolution),
        resolution,
        device or built_in(),
        arg_shapes(graph, feeds, dict(shapes)),
        concurrent=concurrent,
        tiles=tiles,
    )


def mlp(layers=3, batch=64, width=256):
    """x times weights, plus a bias, through Relu, again and again."""
    g = GraphBuilder()
    at = g.placeholder("x", "float32", [batch, width])
    for number in range(layers):
        weights = g.placeholder(f"w{number}", "float32", [width, width])
        product = g.op("MatMul", f"matmul{number}", [at, weights])
        bias = g.placeholder(f"b{number}", "float32", [width])
        at = g.op("Relu", f"relu{number}", [g.op("BiasAdd", f"add{number}", [product, bias])])
    feeds = ["x:0"] + [f"{kind}{number}:0" for number in range(layers) for kind in "wb"]
    return g.build(), feeds, [f"relu{layers - 1}:0"]


def conv_net(channels, size=32):
    """One convolution of an image of some channels."""
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [8, size, size, channels])
    w = g.placeholder("w", "float32", [7, 7, channels, 256])
    g.op("Conv2D", "conv", [x, w], strides=[1, 1, 1, 1], padding="SAME")
    return g.build(), ["x:0", "w:0"], ["conv:0"]


def two_engines(chains=4, length=4, rows=2048):
    """Chains beside each other, every second one of operators that only the AI CPU has."""
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [rows, rows])
    ends = []
    for chain in range(chains):
        at = x
        for number in range(length):
            op = "MatrixInverse" if chain % 2 else "MatMul"
            at = g.op(op, f"{op}{chain}_{number}", [at] if chain % 2 else [at, x])
        ends.append(at)
    g.op("AddN", "sum", [ends])
    return g.build(), ["x:0"], ["sum:0"]


def inputs(sizes):
    """Inputs of some numbers of bytes, all of which one GEOP adds up."""
    g = GraphBuilder()
    parts = []
    for number, size in enumerate(sizes):
        x = g.placeholder(f"x{number}", "float32", [size // 4])
        axis = g.const(f"axis{number}", [0], "int32")
        parts.append(g.op("Sum", f"sum{number}", [x, axis]))
    g.op("AddN", "sum", [parts])
    return g.build(), [f"x{number}:0" for number in range(len(sizes))], ["sum:0"]


def host_between():
    """Two GEOPs with a py_func between them."""
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [4, 4])
    call = g.op("PyFunc", "call", [[g.op("Exp", "before", [x])]], token="t", Tin=["float32"], Tout=["float32"])
    g.op("Exp", "after", [call])
    return g.build(), ["x:0"], ["after:0"]


def _functions(g):
    """What calls call: ``much``, ``little``, and the turns of a loop."""
    for name, op, length in (("much", "MatMul", 3), ("little", "Exp", 1)):
        function = g.function(name, {"x": "float32"}, {"y": "float32"})
        at = function.args["x"]
        for number in range(length):
            at = function.op(op, f"{op}{number}", [at] * (2 if op == "MatMul" else 1))
        function.returns(y=at)
    types = {"i": "int32", "x": "float32"}
    goes_on = g.function("go", types, {"z": "bool"})
    goes_on.returns(z=goes_on.op("Less", "below", [goes_on.args["i"], goes_on.const("limit", 3, "int32")]))
    turn = g.function("turn", types, {"j": "int32", "y": "float32"})
    turn.returns(
        j=turn.op("AddV2", "next", [turn.args["i"], turn.const("one", 1, "int32")]),
        y=turn.op("MatMul", "square", [turn.args["x"]] * 2),
    )


def _called(g, kind, name, a, rows):
    types = {"Tin": ["float32"], "Tout": ["float32"]}
    if kind == "Call":
        return g.op("PartitionedCall", name, [[a]], f="much", **types)[0]
    if kind == "If":
        total = g.op("Sum", f"{name}/total", [a, g.const(f"{name}/axes", [0, 1], "int32")])
        which = g.op("Less", f"{name}/which", [total, g.const(f"{name}/limit", 1.0)])
        return g.op("If", name, [which, [a]], then_branch="much", else_branch="little", **types)[0]
    if kind == "While":
        begin = g.const(f"{name}/begin", 0, "int32")
        return g.op("While", name, [[begin, a]], cond="go", body="turn", T=["int32", "float32"])[1]
    variable = g.resource_variable(f"{name}/w", "float32", [rows, rows])
    return g.op("MatMul", name, [a, g.op("ReadVariableOp", f"{name}/read", [variable], dtype="float32")])


@st.composite
def nets(draw, choices=False):
    """(graph, feeds, fetches, shapes): random operators on square matrices, some on the host or the AI CPU, variables,
    calls and loops; with ``choices`` also conditionals."""
    rows = draw(st.sampled_from([16, 40, 256]))
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [rows, rows])
    found, called = [g.op("Relu", "first", [x])], []
    shape = g.const("shape", [rows, rows], "int32")
    axis = g.const("axis", [0], "int32")
    _functions(g)
    among = (*KINDS, "If") if choices else KINDS
    kinds = draw(st.lists(st.tuples(st.sampled_from(among), st.integers(0, 99), st.integers(0, 99)), max_size=14))
    for number, (kind, one, other) in enumerate(kinds):
        a, b = found[one % len(found)], found[other % len(found)]
        name = f"n{number}"
        if kind in ("MatMul", "Add"):
            made = g.op(kind, name, [a, b])
        elif kind == "Cumsum":
            made = g.op(kind, name, [a, g.const(f"{name}/axis", 0, "int32")])
        elif kind == "Sum":
            made = g.op("BroadcastTo", name, [g.op(kind, f"{name}/sum", [a, axis]), shape])
        elif kind == "PyFunc":
            made = g.op(kind, name, [[a]], token="t", Tin=["float32"], Tout=["float32"])
            called.append(name)
        elif kind in ("Variable", "Call", "While", "If"):
            made = g.identity(f"{name}/out", _called(g, kind, name, a, rows))
        else:
            made = g.op(kind, name, [a])
        found.append(made)
    ends = set(draw(st.lists(st.integers(0, 99), min_size=1, max_size=3)))
    fetches = sorted({f"{found[end % len(found)].name}:0" for end in ends} | {f"{found[-1].name}:0"})
    return g.build(), ["x:0"], fetches, {name: [rows, rows] for name in called}
