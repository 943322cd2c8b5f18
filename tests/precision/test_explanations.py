"""The sentence beside the dtypes: made from the column found, and never contradicting it."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

from hypothesis import given

from npu_reference.catalog import Catalog
from npu_reference.graphs import GraphBuilder
from npu_reference.precision import NodePrecision
from tests.precision.programs import dtypes, matmul, nodes
from tests.precision.test_laws import Line, answer, build, lines, modes, quick

MIX = {"precision_mode": "allow_mix_precision"}
_FLOATS = ("float16", "float32")


def _pool(g: GraphBuilder, name: str, value: Any) -> Any:
    image = g.op("Reshape", name + "_image", [value, g.const(name + "_shape", [1, 4, 4, 1], "int32")])
    return g.op("MaxPool", name, [image], ksize=[1, 2, 2, 1], strides=[1] * 4, padding="SAME")


def test_a_gray_operator_of_float32_alone_behind_a_lowered_one() -> None:
    found = nodes(lambda g: g.op("Dawsn", "gray", [matmul(g, "white")]), MIX)["gray"]
    assert (dtypes(found), found.why) == (
        "float32>float32",
        "graylist: no precision_reduce: its kernel has float32 alone",
    )


def test_an_operator_of_float16_alone_where_float32_is_forced() -> None:
    found = nodes(lambda g: _pool(g, "pool", g.placeholder("x", "float32", [4, 4])), {"precision_mode": "force_fp32"})
    why = "force_fp32: float32 is forced, but its kernel has float16 alone"
    assert (dtypes(found["pool"]), found["pool"].why) == ("float16>float16", why)


def test_a_gray_operator_of_float16_alone_behind_a_float32_one() -> None:
    def build_one(g: GraphBuilder) -> None:
        _pool(g, "pool", g.op("Dawsn", "dawsn", [g.placeholder("x", "float32", [4, 4])]))

    found = nodes(build_one, MIX)["pool"]
    assert dtypes(found) == "float16>float16"
    why = "its producer pool_image gives float32, but its kernel has float16 alone"
    assert found.why == f"graylist: no precision_reduce: {why}"


def test_a_trustlisted_operator_of_float32_alone() -> None:
    info = '{"Dawsn": {"precision_reduce": {"flag": "true"}}}'
    found = nodes(lambda g: g.op("Dawsn", "one", [matmul(g, "white")]), MIX, ops_info=info)["one"]
    assert (dtypes(found), found.list) == ("float32>float32", "trustlist")
    assert found.why == "trustlist: precision_reduce true, but its kernel has float32 alone"


def test_a_cast_of_the_script_says_what_it_does() -> None:
    found = nodes(lambda g: g.op("Cast", "cast", [matmul(g, "white")], DstT="float16"), MIX)["cast"]
    assert (dtypes(found), found.why) == ("float32>float16", "a Cast keeps the dtypes it is given")


def test_an_operator_that_is_float16_in_the_graph() -> None:
    found = nodes(lambda g: g.op("Relu", "gray", [g.placeholder("x", "float16", [4, 4])]), MIX)["gray"]
    assert (dtypes(found), found.why) == (
        "float16>float16",
        "graylist: no precision_reduce: mixed precision lowers float32 alone",
    )


def test_tensors_that_could_not_follow_are_told_apart() -> None:
    def build_one(g: GraphBuilder) -> None:
        image, kernel = g.placeholder("x", "float32", [1, 4, 4, 1]), g.placeholder("k", "float32", [1, 1, 1, 1])
        conv = g.op("Conv2D", "conv", [image, kernel], strides=[1] * 4, padding="SAME")
        one = g.placeholder("one", "float32", [1])
        g.op("FusedBatchNorm", "norm", [conv, one, one, one, one], is_training=False)

    why = nodes(build_one, MIX)["norm"].why
    assert why == (
        "graylist: no precision_reduce: its producer conv gives float16, but its kernel has the others in float32 alone"
    )


def test_a_blocklisted_producer_is_named_where_the_ai_cpu_takes_over() -> None:
    def build_one(g: GraphBuilder) -> None:
        _pool(g, "pool", g.op("Log", "log", [g.placeholder("x", "float32", [4, 4])]))

    found = nodes(build_one, MIX)["pool"]
    assert (found.engine, dtypes(found)) == ("aicpu", "float32>float32")
    assert found.why.endswith("(allow_mix_precision, its producer log may not be lowered)")


#: Words of a sentence, and what has to be true of the dtypes beside it: of the graph's floats, those that the kernel
#: has, and the float dtypes of all its columns.
_Floats = List[Tuple[str, str]]  # the graph's and the computed dtype


def _contradiction(node: NodePrecision, floats: _Floats, kernel: List[str]) -> str:
    got = {after for _, after in floats}
    kept = all(before == after for before, after in floats)
    rule, _, but = node.why.partition(", but ")
    if but.startswith("its kernel has ") and but.endswith(" alone"):
        alone = but.split()[-2]
        if alone not in got:
            return f"nothing is {alone}"
        if "the others" not in but and got != {alone}:
            return f"not all is {alone}"
    if but:
        return ""
    if ("kept" in rule or "keeps the graph's dtype" in rule) and not kept:
        return "something is not kept"
    if "lowers float32 alone" in rule and not kept:
        return "something changed"
    if rule.endswith(("is forced", "gives float16")) or rule.startswith("trustlist"):
        wanted = "float32" if "float32 is forced" in rule else "float16"
        return "" if got == {wanted} else f"not all is {wanted}"
    if (rule.endswith(("gives float32", "no producer to follow")) or rule.startswith("blocklist")) and not kept:
        return "something is not kept"
    if rule.endswith("its kernel has float32 alone") and "float16" in kernel:
        return "its kernel has float16"
    return ""


@quick
@given(lines, modes)
def test_no_sentence_contradicts_the_dtypes_beside_it(program: List[Line], mode: str) -> None:
    graph, library = build(program), Catalog.built_in()
    for node in answer(graph, mode).nodes:
        descriptor = library.get(node.op)
        if descriptor is None or node.engine not in ("cube", "vector") or node.op == "Cast":
            continue
        number = graph.index[node.node]
        before = [d.base.name for d in (*graph.input_dtypes(number), *graph.output_dtypes(number))]
        floats = [(b, a) for b, a in zip(before, (*node.inputs, *node.outputs)) if b in _FLOATS]
        kinds = [kind for column in descriptor.columns for kind in (*column.inputs, *column.outputs)]
        assert not _contradiction(node, floats, kinds), node


def test_the_law_would_have_seen_each_wrong_sentence() -> None:
    wrong: Dict[str, Tuple[str, _Floats]] = {
        "force_fp32: float32 is forced": ("MaxPool", [("float32", "float16")]),
        "graylist: no precision_reduce: its producer log gives float32": ("MaxPool", [("float32", "float16")]),
        "trustlist: precision_reduce true": ("Dawsn", [("float32", "float32")]),
        "graylist: no precision_reduce: it has no producer to follow": ("Relu", [("float32", "float16")]),
        "must_keep_origin_dtype: the graph's dtype is kept": ("Dawsn", [("float16", "float32")]),
        "force_fp16: float16 is forced, but its kernel has float32 alone": ("Relu", [("float32", "float16")]),
    }
    for why, (op, floats) in wrong.items():
        node = NodePrecision("n", op, op, "GEOP", "vector", (), (), None, None, why)
        assert _contradiction(node, floats, ["float16", "float32"]), why
