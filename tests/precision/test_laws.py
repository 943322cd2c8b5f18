"""Laws of assignments on random graphs: columns, casts, order of nodes, blocklist, and what modes may change."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Tuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from npu_reference.catalog import Catalog
from npu_reference.graphs import Graph, GraphBuilder, graph_from_def
from npu_reference.options import resolve
from npu_reference.partition import partition
from npu_reference.precision import Assignment, assign

pytestmark = pytest.mark.not_oldest

_ONE = ("Relu", "Log", "Abs", "Softmax", "Dawsn")
_TWO = ("AddV2", "MatMul", "Xlogy")
_KERNEL = ("cube", "vector")
_FLOATS = ("float16", "float32")
_RANK = {"float16": 0, "float32": 1}

OPTIONS: Dict[str, Tuple[str, Dict[str, Any]]] = {
    "allow": ("current", {"precision_mode": "allow_fp32_to_fp16"}),
    "allow, legacy": ("legacy", {"precision_mode": "allow_fp32_to_fp16"}),
    "fp16": ("current", {"precision_mode": "force_fp16", "graph_run_mode": 0}),
    "fp32": ("current", {"precision_mode": "force_fp32"}),
    "fp32, legacy": ("legacy", {"precision_mode": "force_fp32"}),
    "keep": ("current", {"precision_mode": "must_keep_origin_dtype"}),
    "mix": ("current", {"precision_mode": "allow_mix_precision"}),
}


class Line(NamedTuple):
    """One operator: what it is, and which earlier tensors it reads (modulo how many there are)."""

    op: str
    first: int
    second: int
    kept: bool


lines = st.lists(
    st.builds(
        Line,
        st.sampled_from((*_ONE, *_TWO, "Sum", "Mean", "Down", "Up", "Identity")),
        st.integers(0, 99),
        st.integers(0, 99),
        st.sampled_from((False, False, False, True)),
    ),
    min_size=1,
    max_size=25,
)
quick = settings(max_examples=40, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def build(program: List[Line]) -> Graph:
    """A graph of float32 and float16 tensors; lines that no tensor fits are left out."""
    g = GraphBuilder()
    tensors: Dict[str, List[Any]] = {
        "float32": [g.placeholder("x", "float32", [4, 4]), g.op("VariableV2", "v", [], shape=[4, 4], dtype="float32")],
        "float16": [g.placeholder("h", "float16", [4, 4])],
    }
    for number, line in enumerate(program):
        dtype = "float16" if line.first % 5 == 0 else "float32"
        marks = {"_keep_dtype": 1} if line.kept else {}
        pool = tensors[dtype]
        first, second = pool[line.first % len(pool)], pool[line.second % len(pool)]
        name = f"n{number}"
        if line.op in ("Sum", "Mean"):
            constant = line.second % 2
            axes = g.const(f"a{number}", [1], "int32") if constant else g.placeholder(f"a{number}", "int32", [1])
            made = g.op(line.op, name, [first, axes], keep_dims=True, **marks)
        elif line.op in ("Down", "Up"):
            dtype = "float16" if line.op == "Down" else "float32"
            made = g.op("Cast", name, [first], DstT=dtype)
        else:
            made = g.op(line.op, name, [first, second] if line.op in _TWO else [first], **marks)
        tensors[dtype].append(made)
    return g.build()


def answer(graph: Graph, mode: str) -> Assignment:
    edition, values = OPTIONS[mode]
    options = resolve(values, edition=edition, env={})
    return assign(partition(graph, options), options)


modes = st.sampled_from(sorted(OPTIONS))


@quick
@given(lines, modes)
def test_dtypes_are_always_those_of_a_kernel_column(program: List[Line], mode: str) -> None:
    library = Catalog.built_in()
    for node in answer(build(program), mode).nodes:
        descriptor = library.get(node.op)
        if node.engine not in _KERNEL or descriptor is None or (node.op == "Cast" and node.inputs == node.outputs):
            continue  # a Cast to the same dtype is removed
        inputs = tuple(d for d in node.inputs if d in _FLOATS)
        columns = [(tuple(d for d in c.inputs if d in _FLOATS), c.outputs) for c in descriptor.columns]
        assert (inputs, node.outputs) in columns, node


@quick
@given(lines, modes)
def test_casts_stand_exactly_where_two_ends_disagree(program: List[Line], mode: str) -> None:
    graph = build(program)
    found = answer(graph, mode)
    nodes, casts = found.by_name(), {(c.source, c.target): (c.from_dtype, c.to_dtype) for c in found.casts}
    assert len(casts) == len(found.casts)
    expected = {}
    for edge, target in enumerate(graph.edges.dst):
        slot, wanting = graph.edges.dst_slot[edge], nodes.get(graph.nodes[target].name)
        source, out = graph.edges.src[edge], graph.edges.src_slot[edge]
        giving = nodes.get(graph.nodes[source].name)
        if slot < 0 or wanting is None:
            continue
        dtype = giving.outputs[out] if giving else graph.output_dtypes(source)[out].base.name
        if dtype != wanting.inputs[slot]:
            key = f"{graph.nodes[source].name}:{out}", f"{wanting.node}:{slot}"
            expected[key] = (dtype, wanting.inputs[slot])
    assert casts == expected


@quick
@given(lines, modes, st.randoms(use_true_random=False))
def test_the_order_of_nodes_does_not_matter(program: List[Line], mode: str, random: Any) -> None:
    graph = build(program)
    definition = graph.to_def()
    shuffled = list(definition.node)
    random.shuffle(shuffled)
    other = type(definition)()
    other.CopyFrom(definition)
    del other.node[:]
    other.node.extend(shuffled)
    facts = [
        {n.node: (n.kernel, n.engine, n.inputs, n.outputs, n.list) for n in answer(one, mode).nodes}
        for one in (graph, graph_from_def(other))
    ]
    assert facts[0] == facts[1]


@quick
@given(lines, modes)
def test_what_is_kept_keeps_the_dtypes_of_the_graph(program: List[Line], mode: str) -> None:
    graph = build(program)
    for node in answer(graph, mode).nodes:
        number = graph.index[node.node]
        if graph.nodes[number].has_attr("_keep_dtype"):
            for had, has in zip(graph.output_dtypes(number), node.outputs):
                assert _RANK.get(has, 9) >= _RANK.get(had.base.name, 9)  # P20: at most a higher precision


@quick
@given(lines)
def test_mixed_precision_lowers_float32_and_nothing_on_the_blocklist(program: List[Line]) -> None:
    graph = build(program)
    for node in answer(graph, "mix").nodes:
        if node.engine not in _KERNEL:
            continue
        number = graph.index[node.node]
        graph_dtypes = [*graph.input_dtypes(number), *graph.output_dtypes(number)]
        for had, has in zip((dtype.base.name for dtype in graph_dtypes), (*node.inputs, *node.outputs)):
            if node.list == "blocklist" and had == "float32":
                assert has == "float32"
            if had == "float16" and node.op != "Dawsn":  # which has float32 alone
                assert has == "float16"  # precision.g.only_fp32_to_fp16


@quick
@given(lines)
def test_keeping_the_graph_takes_no_cast_but_where_there_is_no_kernel(program: List[Line]) -> None:
    found = answer(build(program), "keep")
    raised = {node.node for node in found.nodes if node.op == "Dawsn" and node.inputs == ("float32",)}
    for cast in found.casts:
        assert {cast.source.partition(":")[0], cast.target.partition(":")[0]} & raised


@quick
@given(lines)
def test_no_mode_has_more_float16_than_force_fp16(program: List[Line]) -> None:
    graph = build([line._replace(kept=False) for line in program])
    counts = {}
    for mode in OPTIONS:
        counts[mode] = sum("float16" in node.inputs for node in answer(graph, mode).nodes if node.op != "Cast")
    assert counts["fp16"] == max(counts.values())
