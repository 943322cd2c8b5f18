"""Marks that the scopes of npu_scope leave on nodes."""

from __future__ import annotations

import pytest
import tensorflow as tf

from npu_bridge.estimator.npu import npu_scope

v1 = tf.compat.v1


def marked(graph, attribute=npu_scope.WITHOUT_NPU_COMPILE):
    return {node.name for node in graph.as_graph_def().node if attribute in node.attr}


def test_every_node_built_in_the_scope_is_marked_constants_too():
    # api.without_npu_compile_scope, M18: document 000 multiplies by 1. and adds 0., both constants made by helpers.
    with v1.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], name="x")
        with npu_scope.without_npu_compile_scope():
            y = v1.add(v1.multiply(x, 1.0, name="product"), 0.0, name="sum")
        v1.negative(y, name="outside")
    assert marked(graph) == {"product", "product/y", "sum", "sum/y"}


def test_the_mark_is_a_true_bool():
    with v1.Graph().as_default() as graph, npu_scope.without_npu_compile_scope():
        v1.constant(1.0, name="c")
    assert graph.as_graph_def().node[0].attr["_without_npu_compile"].b is True


def test_scopes_nest_and_end_one_by_one():
    with v1.Graph().as_default() as graph:
        with npu_scope.without_npu_compile_scope():
            with npu_scope.without_npu_compile_scope():
                v1.constant(1.0, name="inner")
            v1.constant(1.0, name="middle")
        v1.constant(1.0, name="outside")
    assert marked(graph) == {"inner", "middle"}


def test_an_exception_ends_the_scope():
    with v1.Graph().as_default() as graph:
        with pytest.raises(RuntimeError), npu_scope.without_npu_compile_scope():
            raise RuntimeError
        v1.constant(1.0, name="after")
    assert marked(graph) == set()


def test_gradients_built_outside_are_not_marked():
    # M19
    with v1.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], name="x")
        with npu_scope.without_npu_compile_scope():
            y = v1.square(x, name="y")
        before = {op.name for op in graph.get_operations()}
        v1.gradients(y, x)
    assert marked(graph) == {"y"} and len(graph.get_operations()) > len(before)


def test_nodes_of_a_loop_in_the_scope_are_marked():
    with v1.Graph().as_default() as graph, npu_scope.without_npu_compile_scope():
        v1.while_loop(lambda i: i < 3, lambda i: i + 1, [v1.constant(0)])
    assert marked(graph) == {op.name for op in graph.get_operations()}


def test_keep_dtype_scope_leaves_its_own_mark():
    # api.keep_dtype_scope
    with v1.Graph().as_default() as graph:
        with npu_scope.keep_dtype_scope():
            v1.constant(1.0, name="kept")
            with npu_scope.without_npu_compile_scope():
                v1.constant(1.0, name="both")
        v1.constant(1.0, name="neither")
    assert marked(graph, npu_scope.KEEP_DTYPE) == {"kept", "both"}
    assert marked(graph) == {"both"}


def test_the_scope_takes_no_arguments():
    with pytest.raises(TypeError):
        npu_scope.without_npu_compile_scope(True)
