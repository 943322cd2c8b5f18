"""Decides what ``profile`` answers: one step of a graph on a simulated device, and what other options would change."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Sequence

from npu_conformance.models import precise

__all__ = ["Asked", "answer", "ask", "trace"]


class Asked(NamedTuple):
    """A step under some options, with what was asked."""

    profile: Any
    resolution: Any


def ask(question: precise.Question, device: str, other: Sequence[Mapping[str, Any]] = ()) -> List[Asked]:
    """The step under the question's options, and under each of the ``other`` values laid over them.

    Raises:
        NpuError: for what is wrong with the graph, the options, the files or the device; DEVICE_SIZES where sizes of
            the graph are unknown.
    """
    from npu_conformance.backends.reference import split_fetches
    from npu_reference.catalog import OpList
    from npu_reference.device.timing import profile
    from npu_reference.graphs import close_over, load_graph
    from npu_reference.hardware import load
    from npu_reference.partition import partition as cut

    machine = load(device)
    resolutions = precise.resolutions(question, other)
    operators = OpList.load(question.op_list) if question.op_list else None
    catalog = precise.catalog_of(question)
    graph = load_graph(question.graph)
    shapes, _ = precise.sizes(graph, question.shapes, question.batch, question.feeds)
    tensors, targets = split_fetches(list(question.fetches))
    if question.feeds or tensors or targets:
        graph = close_over(graph, list(question.feeds), tensors, targets)
    found = []
    for resolution in resolutions:
        divided = cut(graph, resolution, op_list=operators, shapes=shapes)
        found.append(Asked(profile(divided, resolution, machine, shapes, catalog=catalog), resolution))
    return found


def answer(asked: Sequence[Asked]) -> Dict[str, Any]:
    """The JSON answer: the step, and for each other variant what it changes."""
    first = asked[0].profile
    return {
        **first.to_json(),
        "compared": [
            {
                "options": precise.given(one.resolution),
                "step_ns": one.profile.step,
                "faster": first.step / one.profile.step if one.profile.step else None,
                "peak": one.profile.memory.peak,
                "kernels": len(one.profile.compiled.fused.kernels),
                "transfers": len(one.profile.compiled.transfers),
            }
            for one in asked[1:]
        ],
    }


def trace(asked: Asked) -> Dict[str, Any]:
    """The step as Chrome trace events, which Perfetto and chrome://tracing open.

    A process is an engine, a thread of it a stream. Times are microseconds, as the format has them; what is exact are
    the nanoseconds in ``args``. Equal steps give equal events.
    """
    from npu_reference.compiler.tasks import ENGINES

    step = asked.profile
    compiled, timeline = step.compiled, step.timeline
    events: List[Dict[str, Any]] = []
    for number, engine in enumerate(ENGINES):
        label = f"{engine} (simulated {compiled.device.name})"
        events.append({"ph": "M", "name": "process_name", "pid": number, "tid": 0, "args": {"name": label}})
    for task, span in zip(timeline.tasks, timeline.spans):
        args: Dict[str, Any] = {"start_ns": span.start, "end_ns": span.end, "geop": task.geop, "kind": task.kind}
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
                "tid": task.stream,
                "ts": span.start / 1000,
                "dur": task.duration / 1000,
                "args": args,
            }
        )
    for time, alive in step.memory.curve():
        events.append(
            {"ph": "C", "name": "device memory", "pid": 0, "tid": 0, "ts": time / 1000, "args": {"bytes": alive}}
        )
    return {
        "displayTimeUnit": "ns",
        "otherData": {"simulated": True, "device": compiled.device.name},
        "traceEvents": events,
    }
