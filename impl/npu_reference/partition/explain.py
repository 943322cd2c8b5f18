"""What would change a partition: what keeps neighbouring GEOPs apart, and which missing operators cost most."""

from __future__ import annotations

from collections import Counter
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple, Union

from npu_reference.catalog import OpList
from npu_reference.errors import NpuError
from npu_reference.options.resolution import Resolution
from npu_reference.options.typed import PartitionSettings
from npu_reference.partition.api import partition
from npu_reference.partition.model import Blame, Partition, Separation
from npu_reference.partition.reasons import Reason

__all__ = ["blame", "only_initialises", "separations"]


def only_initialises(result: Partition) -> bool:
    """Whether a graph computes no floating point at all, as the run of an iterator's initializer does not."""
    graph = result.graph
    return not any(
        "float" in dtype.base.name or dtype.base.name in ("complex64", "complex128")
        for node in graph.nodes
        if node.op not in ("Const", "_Arg", "_Retval")
        for dtype in graph.output_dtypes(node.id)
    )


def separations(result: Partition, *, most: int = 1000) -> List[Separation]:
    """For every two GEOPs of which one feeds the other, directly or over the host, a host path between them.

    Joining the two would make their GEOP wait for that path, and the path for it. Paths are shortest ones, in edges.
    At most `most` pairs, by the first GEOP; each costs one search of what lies behind it.
    """
    found: List[Separation] = []
    for number in range(len(result.geops)):
        for other, path in sorted(_host_paths(result, number).items()):
            if len(found) == most:
                return found
            names = tuple(result.graph.nodes[node].name for node in path)
            found.append(Separation(result.geops[number].name, result.geops[other].name, names))
    return found


def _host_paths(result: Partition, number: int) -> Dict[int, List[int]]:
    """Neighbours behind GEOP `number`, each with the host nodes of a path to it."""
    graph, home, wires = result.graph, result.assignment, result.wires
    wanted: Set[int] = set()
    paths: Dict[int, List[int]] = {}
    before: Dict[int, Optional[int]] = {}
    level: List[int] = []
    for node in result.geops[number].nodes:
        for edge in graph.out_edges(node):
            target = wires.dst[edge]
            if home[target] >= 0 and home[target] != number:
                wanted.add(home[target])
            elif home[target] < 0 and target not in before:
                before[target] = None
                level.append(target)
    while level:
        following = []
        for node in level:
            for edge in graph.out_edges(node):
                target = wires.dst[edge]
                other = home[target]
                if other >= 0 and other != number and other not in paths:
                    paths[other] = _trace(before, node)
                elif other < 0 and target not in before:
                    before[target] = node
                    following.append(target)
        level = following
    missing = wanted - set(paths)
    if missing:
        paths.update(_longer_paths(result, number, missing))
    return paths


def _trace(before: Mapping[Any, Any], node: Any) -> List[Any]:
    path = []
    step: Any = node
    while step is not None:
        path.append(step)
        step = before[step]
    return path[::-1]


def _longer_paths(result: Partition, number: int, wanted: Set[int]) -> Dict[int, List[int]]:
    """Paths to direct neighbours that lead through other GEOPs as well as the host."""
    graph, home, wires = result.graph, result.assignment, result.wires
    start = [(node, False) for node in result.geops[number].nodes]
    before: Dict[Tuple[int, bool], Optional[Tuple[int, bool]]] = dict.fromkeys(start)
    paths: Dict[int, List[int]] = {}
    entered: Set[Tuple[int, bool]] = set()
    while start and wanted - set(paths):
        following = []
        for state in start:
            for edge in graph.out_edges(state[0]):
                target = wires.dst[edge]
                passed = state[1] or home[target] < 0
                if home[target] in wanted and passed and home[target] not in paths:
                    trace = [node for node, _ in _trace(before, state)]
                    paths[home[target]] = [node for node in trace if home[node] != number]
                    continue
                reached: Tuple[int, ...] = (target,)
                if home[target] >= 0:
                    # Whoever enters a GEOP may leave it at any of its members: it runs as one.
                    if home[target] == number or (home[target], passed) in entered:
                        continue
                    entered.add((home[target], passed))
                    reached = result.geops[home[target]].nodes
                for node in reached:
                    if (node, passed) not in before:
                        before[node, passed] = state
                        following.append((node, passed))
        start = following
    return paths


def blame(
    result: Partition,
    options: Union[Resolution, PartitionSettings, Mapping[str, Any]],
    *,
    op_list: Optional[OpList] = None,
    flavour: str = "tf1",
    most: int = 10,
    shapes: Optional[Mapping[str, Sequence[Optional[int]]]] = None,
) -> List[Blame]:
    """The operator types whose support would save most, by dividing the graph again as if the device had each.

    Ranked by GEOPs saved, then by bytes and copies saved on the borders, then by the number of operators. Looks at
    `most` types, those first that keep most pairs of GEOPs apart, then those that hold most operators on the host,
    chains of evictions included; each costs one more partition, with the same `shapes` of tensors. A type
    with which the adapter's pass would refuse the graph is left out.
    """
    operators = op_list or OpList.built_in()
    graph = result.graph
    held, apart = _culprits(result, operators)
    ranking = []
    for op, count in sorted(held.items(), key=lambda item: (-apart[item[0]], -item[1], item[0]))[:most]:
        supported = operators.with_operator(op)
        try:
            again = partition(graph, options, policy=result.policy, flavour=flavour, op_list=supported, shapes=shapes)
        except NpuError:
            continue
        copies = len(result.borders) - len(again.borders)
        ranking.append(Blame(op, count, len(result.geops) - len(again.geops), copies, _bytes_saved(result, again)))
    ranking.sort(key=lambda row: (-row.geops_saved, -(row.bytes_saved or 0), -row.copies_saved, -row.nodes, row.op))
    return ranking


def _culprits(result: Partition, operators: OpList) -> Tuple[Dict[str, int], Counter]:
    """Missing or gray types: how many operators each keeps on the host, and on how many separating paths they lie."""
    graph = result.graph
    culprit: Dict[str, str] = {}
    for entry in result.host:
        root = entry.witness[-1].node
        if root in graph.index and entry.reason not in (Reason.FEED, Reason.FETCH):
            op = graph.nodes[graph.index[root]].op
            known = operators.get(op)
            if (known is None or known.is_gray) and op not in ("_Arg", "_Retval") and op not in graph.functions:
                culprit[entry.node] = op
    apart: Counter = Counter()
    for pair in separations(result):
        apart.update({culprit[node] for node in pair.path if node in culprit})
    return dict(Counter(culprit.values())), apart


def _bytes_saved(before: Partition, after: Partition) -> Optional[int]:
    """Bytes a step that no longer cross, less those that newly do; None where one of these has no known size."""
    old = {(border.source, border.direction): border.bytes for border in before.borders}
    new = {(border.source, border.direction): border.bytes for border in after.borders}
    gone = [size for crossing, size in old.items() if crossing not in new]
    come = [size for crossing, size in new.items() if crossing not in old]
    if None in gone or None in come:
        return None
    return sum(size or 0 for size in gone) - sum(size or 0 for size in come)
