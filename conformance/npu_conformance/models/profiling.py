"""Decides what ``profile`` answers: one step of a graph on a simulated device, and what other options would change."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_conformance.models import precise
from npu_reference.errors import NpuError

__all__ = ["ProfileRequest", "answer", "ask", "link_uses", "together", "trace"]

_MOST_AT_ONCE = 16  # steps of online inference shown beside each other (assumed)


class ProfileRequest(NamedTuple):
    """A step under some options, with what was asked, nanoseconds of it on one device where several run it, and what is
    told of entries of option files that match nothing."""

    profile: Any
    resolution: Any
    alone: Optional[int] = None
    notes: Sequence[Mapping[str, Any]] = ()


def together(
    ranks: Optional[int],
    rank_table: Optional[str],
    split: Optional[str],
    groups: Sequence[str],
    algorithm: Optional[str] = None,
) -> Dict[str, Any]:
    """The ranks that run a graph, as ``device.timing.profile`` takes them.

    Args:
        ranks: how many; None for as many as the table has, or one.
        rank_table: path of a table that says where they are.
        split: of gradients, as ``idx:20,100`` or ``size:60,40``; groups: as ``NAME:0,1``.
        algorithm: of all collectives, or None.

    Raises:
        NpuError: USAGE, OPTION_FILE or OPTION_VALUE with the argument that cannot be.
    """
    from npu_reference.compiler.collectives import Split
    from npu_reference.device.links import rank_table as tables
    from npu_reference.device.links import topology

    table = None if rank_table is None else tables.read(rank_table, "--rank-table")
    where = topology(1 if ranks is None and table is None else ranks, table)
    cut = None
    if split is not None:
        kind, _, text = split.partition(":")
        if kind not in ("idx", "size"):
            raise NpuError("USAGE", "--split", f"{split[:80]!r} is no split.", "Give idx:20,100 or size:60,40.")
        numbers = _numbers("--split", text, kind == "idx")
        cut = Split.by_index(numbers, "--split") if kind == "idx" else Split.by_size(numbers, "--split")
    named = {}
    for text in groups:
        name, _, members = text.rpartition(":")
        if not name:
            raise NpuError("USAGE", "--group", f"{text[:80]!r} is no group.", "Give NAME:0,1.")
        named[name] = _numbers("--group", members, True)
    return {"ranks": where.size, "table": table, "split": cut, "groups": named, "algorithm": algorithm}


def _numbers(subject: str, text: str, whole: bool) -> List[Any]:
    try:
        found = [int(part) if whole else float(part) for part in text.split(",")]
    except ValueError:
        raise NpuError("USAGE", subject, f"{text[:80]!r} is no list of numbers.", "Separate them by commas.") from None
    return found


def ask(
    question: precise.PrecisionQuestion,
    device: str,
    other: Sequence[Mapping[str, Any]] = (),
    ranks: Optional[Mapping[str, Any]] = None,
) -> List[ProfileRequest]:
    """The step under the question's options, and under each of the ``other`` values laid over them.

    Args:
        ranks: that run the graph together, as :func:`together` gives them; one alone without.

    Raises:
        NpuError: for what is wrong with the graph, the options, the files or the device; DEVICE_SIZES where sizes of
            the graph are unknown.
    """
    from npu_reference.catalog import OpList, unmatched
    from npu_reference.device.timing import profile
    from npu_reference.graphs import close_over, load_graph
    from npu_reference.graphs.names import split_fetches
    from npu_reference.hardware import load
    from npu_reference.partition import partition as cut

    machine = load(device)
    resolutions = precise.resolutions(question, other)
    operators = OpList.load(question.op_list) if question.op_list is not None else None
    catalog = precise.catalog_of(question)
    graph = whole = load_graph(question.graph)
    shapes, _ = precise.sizes(graph, question.shapes, question.batch, question.feeds)
    tensors, targets = split_fetches(list(question.fetches))
    if question.feeds or tensors or targets:
        graph = close_over(graph, list(question.feeds), tensors, targets)
    found = []
    steps = min(max(one.typed.compiler.models for one in resolutions), _MOST_AT_ONCE)
    for resolution in resolutions:
        divided = cut(graph, resolution, op_list=operators, shapes=shapes)
        made = profile(divided, resolution, machine, shapes, catalog=catalog, concurrent=steps, **(ranks or {}))
        alone = profile(divided, resolution, machine, shapes, catalog=catalog).step if made.ranks > 1 else None
        notes = [one.to_json() for one in unmatched(resolution, whole, catalog)]
        found.append(ProfileRequest(made, resolution, alone, notes))
    return found


def _efficiency(asked: ProfileRequest) -> Optional[float]:
    """The rate of all devices to as many times the rate of one; None for one device."""
    return asked.alone / asked.profile.step if asked.alone is not None and asked.profile.step else None


def answer(asked: Sequence[ProfileRequest]) -> Dict[str, Any]:
    """The JSON answer: the step, and for each other variant what it changes."""
    first = asked[0].profile
    told = first.to_json()
    told["communication"]["efficiency"] = _efficiency(asked[0])
    return {
        **told,
        "notes": list(asked[0].notes),
        "compared": [
            {
                "options": precise.given(one.resolution),
                "step_ns": one.profile.step,
                "faster": first.step / one.profile.step if one.profile.step else None,
                "peak": one.profile.memory.peak,
                "kernels": len(one.profile.compiled.fused.kernels),
                "transfers": len(one.profile.compiled.transfers),
                "efficiency": _efficiency(one),
            }
            for one in asked[1:]
        ],
    }


def trace(asked: ProfileRequest) -> Dict[str, Any]:
    """The step as Chrome trace events, which Perfetto and chrome://tracing open.

    A process is an engine, a thread of it a stream. Times are microseconds, as the format has them; what is exact are
    the nanoseconds in ``args``. Equal steps give equal events.
    """
    from npu_reference.compiler.tasks import ENGINES

    step = asked.profile
    compiled, timeline = step.compiled, step.run.timeline
    events: List[Dict[str, Any]] = []
    for number, engine in enumerate(ENGINES):
        label = f"{engine} (simulated {compiled.device.name})"
        events.append({"ph": "M", "name": "process_name", "pid": number, "tid": 0, "args": {"name": label}})
    for task, span in zip(timeline.tasks, timeline.spans):
        args: Dict[str, Any] = {"start_ns": span.start, "end_ns": span.end, "geop": task.geop, "kind": task.kind}
        if task.iteration or task.step:
            args.update(iteration=task.iteration, step=task.step)
        name = task.name
        if task.kernel >= 0:
            kernel, cost = compiled.fused.kernels[task.kernel], compiled.costs[task.kernel]
            name = kernel.type
            args.update(node=kernel.node, bound=cost.bound, hbm_bytes=cost.hbm_read + cost.hbm_write)
            if len(kernel.members) > 1:
                args["members"] = list(kernel.members)
        else:
            args["bytes"] = task.bytes
        events.append(
            {
                "ph": "X",
                "name": name[:200],
                "cat": task.kind,
                "pid": ENGINES.index(task.engine),
                "tid": task.thread,
                "ts": span.start / 1000,
                "dur": task.duration / 1000,
                "args": args,
            }
        )
    events.extend(_on_links(step, len(ENGINES)))
    for time, alive in step.memory.curve():
        events.append(
            {"ph": "C", "name": "device memory", "pid": 0, "tid": 0, "ts": time / 1000, "args": {"bytes": alive}}
        )
    return {
        "displayTimeUnit": "ns",
        "otherData": {"simulated": True, "device": compiled.device.name},
        "traceEvents": events,
    }


def link_uses(step: Any) -> Iterator[Tuple[str, str, int, int, Any]]:
    """Messages of collectives on the links of rank 0: link, its kind, begin and end in the step, and the message."""
    for task, span in zip(step.timeline.tasks, step.timeline.spans):
        exchange = step.compiled.exchanges.get(task.kernel) if task.kind == "collective" else None
        for passage in () if exchange is None else exchange.passages:
            for link in passage.links:
                if 0 in (link.src, link.dst):
                    ends = ["any" if rank < 0 else str(rank) for rank in (link.src, link.dst)]
                    name = f"{link.kind} {ends[0]} to {ends[1]}"
                    yield name, link.kind, span.start + passage.start, span.start + passage.free, passage.message


def _on_links(step: Any, process: int) -> Iterator[Dict[str, Any]]:
    """Events of the links of rank 0, a thread for each way of a link."""
    threads: Dict[str, int] = {}
    found = []
    for name, kind, start, end, message in link_uses(step):
        found.append(
            {
                "ph": "X",
                "name": f"{message.src} to {message.dst}",
                "cat": kind,
                "pid": process,
                "tid": threads.setdefault(name, len(threads)),
                "ts": start / 1000,
                "dur": (end - start) / 1000,
                "args": {
                    "start_ns": start,
                    "end_ns": end,
                    "bytes": message.bytes,
                    "step": message.step,
                    "reduces": message.reduces,
                },
            }
        )
    if found:
        label = f"links of rank 0 (simulated {step.compiled.device.name})"
        yield {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": {"name": label}}
    for name, thread in threads.items():
        yield {"ph": "M", "name": "thread_name", "pid": process, "tid": thread, "args": {"name": name}}
    yield from found
