"""What a graph tells: nodes, edges, data types, shapes; and what it refuses, each refusal naming its place."""

from __future__ import annotations

from typing import Any, List, Sequence, Tuple

import pytest

from npu_reference import NpuError
from npu_reference.graphs import (
    UNKNOWN_RANK,
    DType,
    FuncRef,
    Graph,
    GraphBuilder,
    Placeholder,
    graph_from_def,
    message_class,
)
from npu_reference.graphs import graph as graph_module


def _def(*nodes: Tuple[str, str, Sequence[str]], **types: Any) -> Any:
    """A GraphDef of (name, op, inputs), each with attribute T float32 where the operator has one."""
    graph_def = message_class("GraphDef")()
    for name, op, inputs in nodes:
        node = graph_def.node.add(name=name, op=op, input=inputs)
        if op not in ("NoOp", "Placeholder"):
            node.attr["T"].type = 1
        elif op == "Placeholder":
            node.attr["dtype"].type = 1
        if op == "Merge":
            node.attr["N"].i = len(inputs)
    return graph_def


def _refusal(graph_def: Any) -> NpuError:
    with pytest.raises(NpuError) as caught:
        graph_from_def(graph_def, subject="g.pb")
    return caught.value


def _edges(graph: Graph) -> List[str]:
    names = [node.name for node in graph.nodes]
    return [f"{names[s]}:{k}->{names[d]}:{m}" for s, k, d, m in graph.edges]


class TestEdges:
    def test_they_are_numbered_by_destination_and_input(self) -> None:
        graph = graph_from_def(_def(("a", "Placeholder", ()), ("b", "Relu", ["a"]), ("c", "AddV2", ["b", "a", "^b"])))
        assert _edges(graph) == ["a:0->b:0", "b:0->c:0", "a:0->c:1", "b:-1->c:-1"]
        assert list(graph.in_edges(2)) == [1, 2, 3]
        assert list(graph.out_edges(0)) == [0, 2]
        assert graph.edges.is_control(3) and not graph.edges.is_control(0)

    def test_a_graph_out_of_order_gets_the_importer_s_order(self) -> None:
        # The importer makes b, then d (ready, before a), then a, then c.
        graph = graph_from_def(
            _def(("c", "AddV2", ["a", "b"]), ("b", "Placeholder", ()), ("d", "Relu", ["b"]), ("a", "Relu", ["d"]))
        )
        assert _edges(graph) == ["b:0->d:0", "d:0->a:0", "a:0->c:0", "b:0->c:1"]

    def test_a_loop_s_back_edge_comes_last(self) -> None:
        g = GraphBuilder()
        i = g.const("i", 0)
        g.while_loop(
            "w",
            [i],
            lambda n: g.op("Less", "less", [n, g.const("ten", 10, control=[n])]),
            lambda n: [g.op("AddV2", "next", [n, n])],
        )
        g.op("NoOp", "after", control=["w/Exit_0"])
        assert _edges(g.build())[-1] == "w/NextIteration_0:0->w/Merge_0:1"

    def test_a_loop_out_of_order_numbers_its_back_edge_last_too(self) -> None:
        graph_def = _def(
            ("next", "NextIteration", ["merge"]),
            ("merge", "Merge", ["enter", "next"]),
            ("enter", "Enter", ["x"]),
            ("x", "Placeholder", ()),
        )
        graph_def.node[2].attr["frame_name"].s = b"f"
        assert _edges(graph_from_def(graph_def)) == [
            "x:0->enter:0",
            "enter:0->merge:0",
            "merge:0->next:0",
            "next:0->merge:1",
        ]

    def test_a_repeated_control_input_is_one_edge(self) -> None:
        graph = graph_from_def(_def(("a", "NoOp", ()), ("b", "NoOp", ()), ("c", "NoOp", ["^a", "^b", "^a"])))
        assert _edges(graph) == ["a:-1->c:-1", "b:-1->c:-1"]
        assert graph.nodes[2].inputs == ("^a", "^b", "^a")

    def test_the_same_tensor_read_twice_is_two_edges(self) -> None:
        graph = graph_from_def(_def(("a", "Placeholder", ()), ("b", "AddV2", ["a", "a:0"])))
        assert _edges(graph) == ["a:0->b:0", "a:0->b:1"]


class TestRefusals:
    def test_two_nodes_of_one_name(self) -> None:
        error = _refusal(_def(("a", "NoOp", ()), ("b", "NoOp", ()), ("a", "Relu", ["b"])))
        assert error.code == "GRAPH_DUPLICATE_NODE"
        assert "node 'a'" in error.subject and "numbers 0 (NoOp) and 2 (Relu)" in error.reason

    @pytest.mark.parametrize("text", ["absent", "absent:1", "^absent", "a:", "a:-1", "a:x", "a:٣", "^a:0", "", ":0"])
    def test_an_input_that_names_nothing(self, text: str) -> None:
        error = _refusal(_def(("a", "Placeholder", ()), ("b", "Relu", [text])))
        assert (error.code, error.subject) == ("GRAPH_INPUT", "g.pb: node 'b' (Relu)")
        assert f"input '{text}' names no node" in error.reason

    def test_an_output_that_does_not_exist(self) -> None:
        error = _refusal(_def(("a", "Placeholder", ()), ("b", "Relu", ["a:3"])))
        assert "reads output 3 of 'a' (Placeholder), which has one output" in str(error)

    def test_an_output_number_beyond_all_bounds(self) -> None:
        assert _refusal(_def(("a", "Placeholder", ()), ("b", "Relu", [f"a:{'9' * 99}"]))).code == "GRAPH_INPUT"

    def test_data_from_a_node_without_outputs(self) -> None:
        assert "which has no outputs" in str(_refusal(_def(("a", "NoOp", ()), ("b", "Relu", ["a"]))))

    def test_too_few_and_too_many_inputs(self) -> None:
        assert "has 1 data inputs and needs 2" in str(_refusal(_def(("a", "Placeholder", ()), ("b", "AddV2", ["a"]))))
        assert "has 2 data inputs and needs 1" in str(
            _refusal(_def(("a", "Placeholder", ()), ("b", "Relu", ["a", "a"])))
        )

    def test_a_data_input_after_a_control_input(self) -> None:
        error = _refusal(_def(("a", "Placeholder", ()), ("b", "Relu", ["^a", "a"])))
        assert "stands after a control input" in error.reason

    def test_a_cycle_is_spelled_out_from_its_first_node(self) -> None:
        graph_def = _def(
            ("free", "Placeholder", ()),
            ("c", "Relu", ["b"]),
            ("a", "Relu", ["c"]),
            ("b", "AddV2", ["a", "free"]),
            ("after", "Relu", ["b"]),
        )
        error = _refusal(graph_def)
        assert (error.code, error.subject) == ("GRAPH_CYCLE", "g.pb: node 'c'")
        assert "c -> a -> b -> c" in error.reason

    def test_a_node_that_reads_itself(self) -> None:
        assert "a -> a" in str(_refusal(_def(("a", "Relu", ["a"]))))

    def test_a_cycle_over_control_edges(self) -> None:
        assert "a -> b -> a" in str(_refusal(_def(("a", "NoOp", ["^b"]), ("b", "NoOp", ["^a"]))))

    def test_a_next_iteration_that_feeds_no_merge(self) -> None:
        assert _refusal(_def(("a", "NextIteration", ["b"]), ("b", "Relu", ["a"]))).code == "GRAPH_CYCLE"

    def test_a_long_cycle_is_shortened(self) -> None:
        nodes = [(f"n{i}", "Relu", [f"n{(i - 1) % 100}"]) for i in range(100)]
        assert "(92 more)" in str(_refusal(_def(*nodes)))

    def test_an_unknown_operator(self) -> None:
        error = _refusal(_def(("a", "NoSuchOperator", ())))
        assert error.code == "GRAPH_UNKNOWN_OP"
        assert "node 'a'" in error.subject and "'NoSuchOperator'" in error.reason

    def test_a_node_without_an_operator(self) -> None:
        assert "names no operator" in str(_refusal(_def(("a", "", ()))))

    def test_a_missing_type(self) -> None:
        graph_def = _def(("a", "Placeholder", ()), ("b", "Relu", ["a"]))
        del graph_def.node[1].attr["T"]
        error = _refusal(graph_def)
        assert (error.code, error.subject) == ("GRAPH_ATTR", "g.pb: node 'b' (Relu)")
        assert error.reason == "attribute 'T' is missing"

    def test_an_attribute_of_the_wrong_kind(self) -> None:
        graph_def = _def(("a", "Placeholder", ()))
        graph_def.node[0].attr["dtype"].s = b"float"
        assert _refusal(graph_def).reason == "attribute 'dtype' must hold a data type and holds a string"

    @pytest.mark.parametrize("count", [-1, 10**12])
    def test_an_absurd_number_of_inputs(self, count: int) -> None:
        graph_def = _def(("a", "Placeholder", ()), ("n", "AddN", ["a"]))
        graph_def.node[1].attr["N"].i = count
        assert f"attribute 'N' is {count}" in _refusal(graph_def).reason

    @pytest.mark.parametrize("name", ["", "a b", "a:0", "^a", "-a", "a\nb", "é"])
    def test_a_name_tensorflow_does_not_allow(self, name: str) -> None:
        error = _refusal(_def((name, "NoOp", ())))
        assert error.code == "GRAPH_FORMAT"
        assert "node number 0" in error.subject
        assert "\n" not in str(error)

    def test_a_name_beyond_the_bound(self) -> None:
        error = _refusal(_def(("a" * 20_000, "NoOp", ())))
        assert error.code == "GRAPH_LIMIT" and len(str(error)) < 400

    def test_more_nodes_than_the_bound(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(graph_module, "MAX_NODES", 2)
        assert _refusal(_def(*[(f"n{i}", "NoOp", ()) for i in range(3)])).code == "GRAPH_LIMIT"


class TestNodes:
    def test_attributes_read_as_python_values(self) -> None:
        g = GraphBuilder()
        attrs = {
            "_s": b"text",
            "_i": 7,
            "_f": 0.5,
            "_b": True,
            "_type": DType.HALF,
            "_func": FuncRef("f", {"n": 1}),
            "_list": ["a", "b"],
            "_output_shapes": [[None, 2], UNKNOWN_RANK],
        }
        node = g.op("NoOp", "n", attrs_=attrs) and g.build().node("n")
        assert node.attr("_s") == b"text" and node.text("_s") == "text" and node.text("_i", "none") == "none"
        assert (node.attr("_i"), node.attr("_f"), node.attr("_b"), node.attr("_type")) == (7, 0.5, True, DType.HALF)
        assert node.attr("_func").name == "f" and dict(node.attr("_func").attrs) == {"n": 1}
        assert node.attr("_list") == (b"a", b"b")
        assert node.attr("_output_shapes") == ((None, 2), UNKNOWN_RANK)
        assert list(node.attrs) == sorted(attrs)

    def test_asking_for_an_attribute_does_not_make_it(self) -> None:
        g = GraphBuilder()
        g.op("NoOp", "n")
        graph = g.build()
        before = graph.to_bytes()
        node = graph.node("n")
        assert node.attr("absent", 3) == 3 and not node.has_attr("absent") and "absent" not in node.attrs
        with pytest.raises(KeyError):
            node.attrs["absent"]
        assert graph.to_bytes() == before

    def test_placeholders_of_function_bodies_are_told_apart(self) -> None:
        graph_def = _def(("a", "Placeholder", ()))
        graph_def.node[0].attr["dtype"].placeholder = "T"
        value = graph_from_def(graph_def).nodes[0].attr("dtype")
        assert isinstance(value, Placeholder) and value == "T"


class TestTypes:
    def test_lists_numbers_and_references_are_counted_out(self) -> None:
        g = GraphBuilder()
        x = g.placeholder("x")
        v = g.variable("v", "float32", [2])
        p = g.py_func("p", [x, g.const("c", 1)], ["int32", "string"])
        s = g.op("Split", "s", [g.const("axis", 0), x], num_split=3)
        a = g.op("Assign", "a", [v, x])
        graph = g.build()
        types = {node.name: graph.output_dtypes(node.id) for node in graph.nodes}
        assert types["p"] == (DType.INT32, DType.STRING)
        assert types["s"] == (DType.FLOAT,) * 3
        assert types["v"] == types["a"] == (DType.FLOAT.ref,)
        assert graph.input_dtypes(graph.index["p"]) == (DType.FLOAT, DType.INT32)
        assert graph.input_dtypes(graph.index["a"]) == (DType.FLOAT.ref, DType.FLOAT)
        assert len(p) == 2 and len(s) == 3 and a.dtype.is_ref

    def test_defaults_the_file_leaves_out_count(self) -> None:
        g = GraphBuilder()
        g.op("SparseSoftmaxCrossEntropyWithLogits", "loss", [g.placeholder("x"), g.placeholder("l", "int64")])
        graph_def = g.to_def()
        del graph_def.node[2].attr["Tlabels"]
        assert graph_from_def(graph_def).input_dtypes(2) == (DType.FLOAT, DType.INT64)

    def test_a_type_no_version_knows_is_refused_when_asked_for(self) -> None:
        graph_def = _def(("a", "Placeholder", ()))
        graph_def.node[0].attr["dtype"].type = 99
        graph = graph_from_def(graph_def)
        with pytest.raises(NpuError, match=r"GRAPH_ATTR.*holds 99, which is no data type"):
            graph.output_dtypes(0)

    def test_old_graphs_get_the_definitions_of_their_version(self) -> None:
        def definition(producer: int) -> Any:
            g = GraphBuilder(producer)
            g.op("_FusedMatMul", "m", [g.placeholder("a"), g.placeholder("b"), []], num_args=0)
            return g.build().op_def(2)

        assert set(definition(134).attrs) < set(definition(1286).attrs)


class TestShapes:
    def test_they_are_given_where_the_graph_states_them(self) -> None:
        g = GraphBuilder()
        x = g.placeholder("x", "float32", [2, None])
        g.placeholder("u")
        g.const("c", [[1.0, 2.0, 3.0]])
        g.variable("v", "float16", [4])
        g.op("Relu", "r", [x], attrs_={"_output_shapes": [[2, 8]]})
        g.op("Relu", "s", [x])
        graph = g.build()
        shapes = {node.name: graph.static_shape(node.id, 0) for node in graph.nodes}
        assert shapes == {"x": (2, None), "u": None, "c": (1, 3), "v": (4,), "r": (2, 8), "s": None}
        sizes = {node.name: graph.static_bytes(node.id, 0) for node in graph.nodes}
        assert sizes == {"x": None, "u": None, "c": 12, "v": 8, "r": 64, "s": None}
        assert graph.static_shape(0, 1) is None and graph.static_bytes(0, 1) is None

    def test_strings_have_no_bytes(self) -> None:
        g = GraphBuilder()
        g.const("c", ["a", "bc"])
        assert g.build().static_bytes(0, 0) is None


def test_the_same_graph_gives_the_same_bytes() -> None:
    def build() -> bytes:
        g = GraphBuilder()
        g.op("NoOp", "n", attrs_={f"_{k}": k for k in "qwertyuiop"})
        return g.build().to_bytes()

    assert build() == build()


def test_what_to_def_gives_is_a_copy() -> None:
    g = GraphBuilder()
    g.op("NoOp", "n")
    graph = g.build()
    graph.to_def().node[0].name = "changed"
    assert graph.to_def().node[0].name == "n"
