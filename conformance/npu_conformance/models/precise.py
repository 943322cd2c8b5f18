"""Decides what ``precision`` answers: the assignment of a graph, its work by dtype, and what other options change."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_reference import reading
from npu_reference.errors import NpuError
from npu_reference.precision import Assignment
from npu_reference.printing import counted, listed

__all__ = [
    "PrecisionRequest", "PrecisionQuestion", "answer", "ask", "difference", "given", "parse_shapes",
    "read_ops_info", "sizes", "title",
]  # fmt: skip

_MAX_OPS_INFO = 16 << 20

_LIBRARY = "`npu-conformance library DIR` writes one to start from."
_FORMS = ("precision_mode", "precision_mode_v2")
_SHAPE = r"([^:\s]+?)(?::0)?:([0-9]+(?:,[0-9]+)*)?\Z"


class PrecisionRequest(NamedTuple):
    """A graph's assignment under some options, with what was asked."""

    partition: Any
    assignment: Assignment
    resolution: Any
    work: Any
    batch: Optional[int]  # examples the work is counted for; None where no shape leaves that open
    feeds: Sequence[str] = ()


class PrecisionQuestion(NamedTuple):
    """What ``precision`` is asked.

    Attributes:
        graph: path of the graph; feeds, fetches: as for ``partition``.
        values: options; surface, edition: where and in which documents.
        op_list, ops_info: paths of the user's own files, or None.
        shapes: shapes of first outputs by node, for the count of operations.
        batch: the first size of other inputs that leave it open; None: one example where there are no shapes.
    """

    graph: str
    values: Mapping[str, Any]
    surface: str
    edition: str
    feeds: Sequence[str]
    fetches: Sequence[str]
    op_list: Optional[str]
    ops_info: Optional[str]
    shapes: Mapping[str, Tuple[int, ...]]
    batch: Optional[int] = None


def ask(question: PrecisionQuestion, other: Sequence[Mapping[str, Any]] = ()) -> List[PrecisionRequest]:
    """The assignment under the question's options, and under each of the ``other`` values laid over them.

    Raises:
        NpuError: for what is wrong with the graph, the options or the files.
    """
    from npu_reference.catalog import OpList, unmatched
    from npu_reference.graphs import close_over, load_graph
    from npu_reference.graphs.names import split_fetches
    from npu_reference.partition import partition as cut
    from npu_reference.precision import assign
    from npu_reference.precision.flops import work_of

    found_options = resolutions(question, other)
    operators = OpList.load(question.op_list) if question.op_list is not None else None
    catalog = catalog_of(question)
    graph = whole = load_graph(question.graph)
    shapes, batch = sizes(graph, question.shapes, _batch(question), question.feeds)
    tensors, targets = split_fetches(list(question.fetches))
    if question.feeds or tensors or targets:
        graph = close_over(graph, list(question.feeds), tensors, targets)
    found = []
    for resolution in found_options:
        divided = cut(graph, resolution, op_list=operators)
        entries = unmatched(resolution, whole, catalog)
        assignment = assign(divided, resolution, catalog=catalog, entries=entries)
        work = work_of(divided, assignment, shapes)
        found.append(PrecisionRequest(divided, assignment, resolution, work, batch, question.feeds))
    return found


def resolutions(question: PrecisionQuestion, other: Sequence[Mapping[str, Any]] = ()) -> List[Any]:
    """The question's options resolved, and each of the ``other`` values laid over them.

    Raises:
        NpuError: OPTION_*, the first refused option.
    """
    from npu_reference.options import resolve

    variants = [dict(question.values), *(_laid_over(question.values, values) for values in other)]
    found = [resolve(v, surface=question.surface, edition=question.edition, env={}) for v in variants]
    for resolution in found:
        resolution.raise_first()
    return found


def catalog_of(question: PrecisionQuestion) -> Any:
    """The operator library, with the user's file laid over it. NpuError OPS_INFO_FILE."""
    from npu_reference.catalog import Catalog

    catalog = Catalog.built_in()
    if question.ops_info is None:
        return catalog
    return catalog.with_ops_info(read_ops_info(question.ops_info), question.ops_info)


def _batch(question: PrecisionQuestion) -> Optional[int]:
    """One example is counted unless told otherwise; inputs beside one of given shape have its batch, not one."""
    return question.batch or (None if question.shapes else 1)


def _laid_over(values: Mapping[str, Any], other: Mapping[str, Any]) -> Dict[str, Any]:
    """The two forms of the precision mode exclude each other: the one given last stays."""
    merged = dict(values)
    if any(form in other for form in _FORMS):
        for form in _FORMS:
            merged.pop(form, None)
    return {**merged, **other}


def read_ops_info(path: str) -> str:
    """The text of a user's operator information file; NpuError OPS_INFO_FILE."""
    try:
        return reading.text(path, _MAX_OPS_INFO)
    except reading.FileProblem as problem:
        remedy = "Save it as UTF-8." if "UTF-8" in str(problem) else _LIBRARY
        raise NpuError("OPS_INFO_FILE", path or "--ops-info", f"it cannot be read: it {problem}.", remedy) from None


def parse_shapes(texts: Sequence[str]) -> Dict[str, Tuple[int, ...]]:
    """``NAME:2,224,224,3`` by name; NpuError USAGE."""
    shapes: Dict[str, Tuple[int, ...]] = {}
    for text in texts:
        match = re.match(_SHAPE, text)
        if match is None or len(match.group(2) or "") > 200:
            raise NpuError("USAGE", f"--shape {text!r}", "it is no name and shape.", "Write NAME:8,224,224,3.")
        name, dims = match.groups()
        if name in shapes:
            raise NpuError("USAGE", f"--shape {text!r}", f"{name} has a shape already.", "Give every name one shape.")
        shapes[name] = tuple(int(dim) for dim in (dims or "").split(",") if dim)
    return shapes


def sizes(
    graph: Any, shapes: Mapping[str, Tuple[int, ...]], batch: Optional[int], feeds: Sequence[str]
) -> Tuple[Dict[str, Tuple[Optional[int], ...]], Optional[int]]:
    """Shapes of tensors of the graph, before and after it is closed over, and the batch where any has it.

    Args:
        shapes: those given by node; they go before the batch.
        batch: the first size of all other inputs that leave it open, or None.
        feeds: what is fed.

    Raises:
        NpuError: USAGE for a name the graph does not have; GRAPH_FEED_FETCH for a feed.
    """
    from npu_reference.graphs import arg_shapes, batch_feeds

    _check_shapes(shapes, graph)
    open_sizes = {} if batch is None else batch_feeds(graph, batch)
    rest = {name: shape for name, shape in open_sizes.items() if name.rpartition(":")[0] not in shapes}
    return arg_shapes(graph, feeds, {**rest, **shapes}), batch if rest else None


def _check_shapes(shapes: Mapping[str, Tuple[int, ...]], graph: Any) -> None:
    for name in shapes:
        if name not in graph.index:
            raise NpuError("USAGE", f"--shape {name}", "the graph has no such node.", "Name one of its nodes.")


def answer(asked: Sequence[PrecisionRequest]) -> Dict[str, Any]:
    """The JSON answer: the protocol's, the work, and for each other variant its summary and what it changes."""
    first = asked[0]
    return {
        **first.assignment.to_json(),
        "work": _work(first),
        "compared": [
            {
                "options": given(one.resolution),
                "summary": one.assignment.summary(),
                "work": _work(one),
                "changed": difference(first.assignment, one.assignment),
            }
            for one in asked[1:]
        ],
    }


def _work(one: PrecisionRequest) -> Dict[str, Any]:
    work = {**one.work.to_json(), "batch": one.batch}
    for waiting in work["waiting_for"]:
        waiting["node"] = _fed(one, waiting["node"])
    return {**work, "told": _told_work(work)}


def _fed(one: PrecisionRequest, name: str) -> str:
    """The node that an argument stands for: that of the feed."""
    node = one.partition.graph.node(name)
    position = node.attr("index") if node.op == "_Arg" else None
    if not isinstance(position, int) or not 0 <= position < len(one.feeds):
        return name
    return one.feeds[position].rpartition(":")[0] or one.feeds[position]


_NAMED = 3  # inputs named


def _told_work(work: Mapping[str, Any]) -> str:
    """The work in words: a share only where it is one of the whole, which the cube unit nearly makes alone."""
    known, unknown = work["known_operators"], work["unknown_operators"]
    lacking = work["unknown_cube_operators"]
    cube = counted(work["known_cube_operators"] + lacking, "operator")
    batch = work["batch"]
    if lacking:
        whole = f"unknown: {lacking} of {cube} of the cube unit, which make nearly all of it"
        waiting = work["waiting_for"]
        if not waiting:
            return f"{whole}, are in functions, which run an unknown number of times"
        return f"{whole}, wait for sizes; {_hint(waiting)}"
    share, step = work["float16_share"], "a step"
    if share is None:
        rest = "there are no operations of floats" if not unknown else "unknown for every operator"
        return rest if not unknown else f"{rest}; give shapes with --shape NAME:8,224,224,3"
    if batch is not None:
        step = "a step of one example" if batch == 1 else f"a step of {batch} examples"
    text = f"{100 * share:.1f} % of {sum(work['flops'].values()):.3g} known operations {step} are in float16"
    return f"{text}; unknown for {unknown} of {counted(unknown + known, 'operator')}" if unknown else text


def _hint(waiting: Sequence[Mapping[str, Any]]) -> str:
    """Which option would tell the sizes that are waited for."""
    if all(one["shape"] and one["shape"][0] is None and None not in one["shape"][1:] for one in waiting):
        return f"{_names(waiting)} leave only the first size open: give --batch N"
    shapes = " ".join(f"--shape {one['node']}:{_written(one['shape'])}" for one in waiting[:_NAMED])
    more = f" (and {len(waiting) - _NAMED} more)" if len(waiting) > _NAMED else ""
    return f"give {shapes}{more} with a number for each ?"


def _names(waiting: Sequence[Mapping[str, Any]]) -> str:
    return listed([one["node"] for one in waiting], _NAMED)


def _written(shape: Optional[Sequence[Optional[int]]]) -> str:
    return "?,…" if shape is None else ",".join("?" if size is None else str(size) for size in shape)


def given(resolution: Any) -> Dict[str, Any]:
    """The options that are not at their default."""
    return {name: one.value for name, one in resolution.effective.items() if one.origin != "default"}


_FACTS = ("engine", "inputs", "outputs", "list", "impl_mode", "why")


def difference(before: Assignment, after: Assignment) -> List[Dict[str, Any]]:
    """Operators of either assignment whose engine, dtypes, list or mode differ, in graph order; None: not on the
    device."""
    was, becomes = before.by_name(), after.by_name()
    changed = []
    for name in dict.fromkeys([*was, *becomes]):
        old, new = was.get(name), becomes.get(name)
        if old is None or new is None or _fact(old) != _fact(new):
            one = old or new
            changed.append(
                {"node": name, "op": one.op if one is not None else "", "before": _told(old), "after": _told(new)}
            )
    return changed


def _fact(node: Any) -> Tuple[Any, ...]:
    return (node.engine, node.inputs, node.outputs, node.list, node.impl_mode)


def _told(node: Any) -> Optional[Dict[str, Any]]:
    if node is None:
        return None
    told = node.to_json()
    return {key: told[key] for key in _FACTS}


def title(path: str) -> str:
    """What a reader calls a graph."""
    return os.path.basename(os.path.normpath(path))
