"""What would change a partition: what keeps neighbouring GEOPs apart, and which missing operators cost most."""

from __future__ import annotations

from collections import Counter
from typing import Any, Dict, List, Mapping, Optional, Set, Tuple, Union

from npu_reference.catalog import OpList
from npu_reference.options.outcome import Resolution
from npu_reference.partition.api import partition
from npu_reference.partition.model import Blame, Partition, Separation
from npu_reference.partition.reasons import Reason
from npu_reference.partition.settings import Settings

__all__ = ["blame", "separations"]


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
    members: Dict[int, Tuple[int, ...]] = {other: geop.nodes for other, geop in enumerate(result.geops)}
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
                # Whoever enters a GEOP may leave it at any of its members: it runs as one.
                entered = members[home[target]] if home[target] >= 0 and home[target] != number else (target,)
                for node in entered:
                    if home[node] != number and (node, passed) not in before:
                        before[node, passed] = state
                        following.append((node, passed))
        start = following
    return paths


def blame(
    result: Partition,
    options: Union[Resolution, Settings],
    *,
    op_list: Optional[OpList] = None,
    flavour: str = "tf1",
    most: int = 10,
) -> List[Blame]:
    """The operator types whose support would save most, by dividing the graph again as if the device had each.

    Ranked by GEOPs saved, then by bytes saved on the borders, then by the number of operators. Looks at the `most`
    types that hold most operators on the host, chains of evictions included; each costs one more partition.
    """
    operators = op_list or OpList.built_in()
    causes: Counter = Counter()
    graph = result.graph
    for entry in result.host:
        root = entry.witness[-1].node
        if root in graph.index and entry.reason not in (Reason.FEED, Reason.FETCH):
            op = graph.nodes[graph.index[root]].op
            known = operators.get(op)
            if (known is None or known.is_gray) and op not in ("_Arg", "_Retval") and op not in graph.functions:
                causes[op] += 1
    ranking = []
    for op, count in sorted(causes.items(), key=lambda item: (-item[1], item[0]))[:most]:
        again = partition(graph, options, policy=result.policy, flavour=flavour, op_list=operators.with_operator(op))
        saved = _bytes(result) - _bytes(again) if _known(result) and _known(again) else None
        ranking.append(Blame(op, count, len(result.geops) - len(again.geops), saved))
    ranking.sort(key=lambda row: (-row.geops_saved, -(row.bytes_saved or 0), -row.nodes, row.op))
    return ranking


def _known(result: Partition) -> bool:
    return all(border.bytes is not None for border in result.borders)


def _bytes(result: Partition) -> int:
    return sum(border.bytes or 0 for border in result.borders)
