"""How one signature - what is fed, fetched and asked to run - is partitioned and placed."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_reference import graphs
from npu_reference.device.numerics import compute_channels_last
from npu_reference.partition import Partition, build, partition
from npu_reference.runtime.config import Settings
from npu_reference.runtime.execution.border_counters import gauges
from npu_reference.runtime.execution.collective_order import calls_in_order
from npu_reference.runtime.execution.dumping.data_dump import Dumping
from npu_reference.runtime.execution.execution_graph import Placed, Request, Shadow
from npu_reference.runtime.execution.inlining import must_dissolve
from npu_reference.runtime.execution.liveness import unsteady
from npu_reference.runtime.execution.needed_inputs import only_needed
from npu_reference.runtime.execution.numerics import Numerics
from npu_reference.runtime.execution.transfers import Crossings, crossings
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["Plan", "Signature", "make_plan"]


class Signature(NamedTuple):
    """What a run asks for, by names in the user's graph.

    Attributes:
        feeds: tensors fed, sorted.
        fetches: tensors fetched, in the order of the results.
        targets: operators to run.
        connections: pairs of tensors: the second takes its value from the first (CallableOptions.tensor_connection).
        settled: operators that have run already, in an earlier part of a partial run: nobody waits for them.
    """

    feeds: Tuple[str, ...]
    fetches: Tuple[str, ...]
    targets: Tuple[str, ...]
    connections: Tuple[Tuple[str, str], ...] = ()
    settled: Tuple[str, ...] = ()


class Plan(NamedTuple):
    """How a signature runs on the inner session.

    Attributes:
        partition: what was decided.
        feeds: tensor fed to the C-level output that takes its value; feeds nobody reads have none.
        fetches: C-level outputs, the crossings' probes after the script's own.
        taken: their names in the shadow graph.
        wanted: how many of them are the script's own.
        targets: C-level operations.
        crossings: what is copied, and how its size is found.
        notes: what the user should know of it, for the trace.
        geops: names of its GEOPs in the shadow graph.
        geop_names: name of each GEOP's node and of its function there to its name in the partition.
        counting: functions of those that count what crosses their borders themselves.
        host: names of its host operators, without those that only stand for feeds and fetches.
        streams: how many of its GEOPs and host operators may wait for other ranks.
        apart: name of each operator to its GEOP, where GEOPs are no functions of the shadow graph.
    """

    partition: Partition
    feeds: Dict[str, Any]
    fetches: List[Any]
    taken: List[str]
    wanted: int
    targets: List[Any]
    crossings: Crossings
    notes: Tuple[str, ...]
    geops: Tuple[str, ...]
    geop_names: Dict[str, str]
    counting: Tuple[str, ...]
    host: Tuple[str, ...]
    streams: int = 0
    apart: Mapping[str, str] = {}


def make_plan(
    graph: graphs.Graph,
    signature: Signature,
    settings: Settings,
    shadow: Shadow,
    numerics: Optional[Numerics] = None,
    dumping: Optional[Dumping] = None,
    prepare: Callable[[Any], int] = lambda graph_def: 0,
) -> Plan:
    """Partition the graph for a signature and place the result in the shadow graph.

    Args:
        graph: the user's graph, connections applied.
        signature: what is asked for.
        settings: the session's.
        shadow: where to place it.
        numerics: the device's arithmetic; None for TensorFlow's own.
        dumping: the data dump; None where nothing is dumped.
        prepare: what else is done to the partitioned graph; answers the plan's ``streams``.

    Raises:
        NpuError: from partitioning (RANGE_*, REF_BORDER, GRAPH_*), from assigning dtypes (PRECISION_*), or INTERNAL
            where TensorFlow refuses the result.
    """
    closed = only_needed(
        graphs.close_over(graph, signature.feeds, signature.fetches, signature.targets), signature.targets
    )
    flavour = tensorflow().flavour
    parts = partition(closed, settings.resolution, policy="documented", flavour=flavour, op_list=settings.op_list)
    graph_def = tensorflow().v1.GraphDef.FromString(build(closed, parts).SerializeToString())
    notes = [f"{note.subject}: {note.message}" if note.subject else note.message for note in parts.notes]
    if dumping is not None:
        dumping.instrument(graph_def, parts)
    if numerics is not None:
        notes.extend(numerics.apply(graph_def, parts, signature.feeds))
        if dumping is not None:
            dumping.assigned(numerics.assignments[-1])
    streams = prepare(graph_def)
    homes = _homes(parts)
    names = [geop.name for geop in parts.geops]
    compute_channels_last(graph_def, names)
    # What a dump adds to bodies stays in bodies.
    apart = parts if dumping is None and must_dissolve(parts) else None
    if apart is None:
        calls_in_order(graph_def, names)
    shaky = unsteady(parts.graph) if parts.borders else None
    counted = gauges(parts, shaky)
    nodes = parts.graph.nodes
    answers = {geop.name: tuple(f"{nodes[ret.node].name}:{ret.slot}" for ret in geop.rets) for geop in parts.geops}
    placed = shadow.place(Request(graph_def, names, signature.feeds, counted, closed, answers, apart))
    # What a GEOP that is taken apart holds beside operators of the user's is named by it.
    places = [placed.nodes, placed.bodies, *([] if apart is None else [dict(zip(names, names))])]
    fetched = sorted(set(signature.fetches))
    outputs = {name: shadow.tensor(placed.rets[position]) for position, name in enumerate(fetched)}
    crossing = crossings(parts, placed, shadow, signature.feeds, signature.fetches, shaky)
    taken = [*(outputs[name] for name in signature.fetches), *crossing.probes]
    return Plan(
        parts,
        _feeds(signature, placed, shadow),
        [tensor._as_tf_output() for tensor in taken],
        [tensor.name for tensor in taken],
        len(signature.fetches),
        [shadow.operation(key)._c_op for key in dict.fromkeys([*_targets(signature, homes, placed), *placed.effects])],
        crossing,
        tuple(notes),
        tuple(placed.nodes[name] for name in names),
        {place[name]: name for place in places for name in names},
        tuple(placed.bodies[name] for name in counted),
        tuple(entry.node for entry in parts.host if entry.op not in ("_Arg", "_Retval")),
        streams,
        {} if apart is None else homes,
    )


def _homes(parts: Partition) -> Dict[str, str]:
    """Name of every operator in a GEOP to the name of the GEOP."""
    nodes = parts.graph.nodes
    return {nodes[member].name: geop.name for geop in parts.geops for member in geop.nodes}


def _targets(signature: Signature, homes: Mapping[str, str], placed: Placed) -> Sequence[str]:
    names = [placed.nodes[homes.get(name, name)] for name in signature.targets]
    return list(dict.fromkeys(names))


def _feeds(signature: Signature, placed: Placed, shadow: Shadow) -> Dict[str, Any]:
    feeds: Dict[str, Any] = {}
    for arg, at in placed.args.items():
        position = int(arg.rsplit("_", 1)[1])
        feeds[signature.feeds[position]] = shadow.tensor(at)._as_tf_output()
    return feeds
