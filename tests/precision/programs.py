"""Small graphs for the tests of precision, and how they are assigned."""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping, Optional

from npu_reference.catalog import Catalog
from npu_reference.graphs import GraphBuilder
from npu_reference.options import resolve
from npu_reference.partition import partition
from npu_reference.precision import Assignment, NodePrecision, assign

__all__ = ["assigned", "dtypes", "matmul", "nodes"]


def assigned(
    build: Callable[[GraphBuilder], Any],
    options: Optional[Mapping[str, Any]] = None,
    *,
    edition: str = "current",
    surface: str = "session",
    files: Optional[Mapping[str, str]] = None,
    ops_info: str = "",
) -> Assignment:
    """The assignment of a graph that a function builds."""
    g = GraphBuilder()
    build(g)
    values: Dict[str, Any] = dict(options or {})
    resolution = resolve(values, surface=surface, edition=edition, env={}, files=dict(files or {}))
    catalog = Catalog.built_in().with_ops_info(ops_info, "ops-info") if ops_info else None
    cut = partition(g.build(), resolve({}, edition=edition, env={}))
    return assign(cut, resolution, catalog=catalog)


def nodes(*args: Any, **kwargs: Any) -> Dict[str, NodePrecision]:
    """Operators of an assignment by name; arguments as for :func:`assigned`."""
    return assigned(*args, **kwargs).by_name()


def dtypes(node: NodePrecision) -> str:
    """`float16,float16>float32`."""
    return ",".join(node.inputs) + ">" + ",".join(node.outputs)


def matmul(g: GraphBuilder, name: str, dtype: str = "float32", **more: Any) -> Any:
    """A product of two placeholders."""
    x, w = g.placeholder(name + "_x", dtype, [4, 4]), g.placeholder(name + "_w", dtype, [4, 4])
    return g.op("MatMul", name, [x, w], **more)
