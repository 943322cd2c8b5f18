"""Where the elements of data sets come from when one process of a server reads for all (``local_rank_id``).

The main process reads one element for each device and run, in the order of ``local_device_list``, keeps its own and
hands out the others: no element goes to two devices. The other processes read none; GetNext waits for what they are
handed.
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

from npu_reference.errors import NpuError

__all__ = ["Distribution", "redirect"]

_GET_NEXT = ("IteratorGetNext", "IteratorGetNextSync")

_STRING = 7  # DataType.DT_STRING
_PASSED = frozenset((1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 14, 17, 18, 19, 22, 23))  # numbers, bools and texts


class Distribution(NamedTuple):
    """Who reads for whom.

    Attributes:
        rank: of this process, among all.
        main: rank of the process that reads.
        ranks: who gets elements, in the order in which they do; the main process among them.
    """

    rank: int
    main: int
    ranks: Tuple[int, ...]


def redirect(graph_def: Any, distribution: Distribution, token: str) -> List[str]:
    """Let every GetNext of a partitioned graph take part in the distribution.

    Args:
        graph_def: changed in place.
        distribution: who reads.
        token: of the Python function that exchanges data for this session.

    Returns:
        The names under which elements are handed out.

    Raises:
        NpuError: RUN_FAILED, elements that processes cannot hand each other.
    """
    found: List[str] = []
    scopes: List[Tuple[Any, Any]] = [(graph_def.node, None)]
    scopes += [(function.node_def, function) for function in graph_def.library.function]
    for nodes, function in scopes:
        for node in [node for node in nodes if node.op in _GET_NEXT]:
            _check(node)
            found.append(node.name)
            if distribution.rank == distribution.main:
                _read_for_all(nodes, node, distribution, token, function is not None)
            else:
                _obtain(nodes, node, distribution, token, function is not None)
            if function is not None:
                _rename(function, node.name)
    return found


def _check(node: Any) -> None:
    if any(number not in _PASSED for number in node.attr["output_types"].list.type):
        reason = "its elements are not all numbers and texts, so the main process cannot hand them out."
        raise NpuError("RUN_FAILED", node.name, reason, "Unset local_rank_id, or batch to dense tensors first.")


def _read_for_all(nodes: Any, node: Any, distribution: Distribution, token: str, inside: bool) -> None:
    types = list(node.attr["output_types"].list.type)
    reads: List[Any] = []
    for rank in distribution.ranks:
        read = nodes.add()
        read.CopyFrom(node)
        read.name = f"{node.name}__npu_for_{rank}"
        if reads:
            read.input.append(f"^{reads[-1].name}")
        reads.append(read)
    own = reads[distribution.ranks.index(distribution.rank)]
    others = [(rank, read) for rank, read in zip(distribution.ranks, reads) if read is not own]
    del node.input[:]
    node.input.extend(_outputs(own.name, len(types), inside))
    if others:
        told = {"kind": "hand_out", "name": node.name, "to": [rank for rank, _ in others], "components": len(types)}
        inputs = [text for _, read in others for text in _outputs(read.name, len(types), inside)]
        given = nodes.add(name=f"{node.name}__npu_hand_out")
        _become_python(nodes, given, told, inputs, types * len(others), [], token, inside)
        # Whatever goes wrong in reading, nobody is handed a part of it.
        given.input.append(f"^{reads[-1].name}")
        node.input.append(f"^{given.name}")
    # Elements go on only once the others have theirs: the order of reading and handing out is one.
    node.op = "IdentityN"
    for name in list(node.attr):
        del node.attr[name]
    node.attr["T"].list.type.extend(types)


def _obtain(nodes: Any, node: Any, distribution: Distribution, token: str, inside: bool) -> None:
    types = list(node.attr["output_types"].list.type)
    told = {"kind": "obtain", "name": node.name, "source": distribution.main}
    controls = [text for text in node.input if text.startswith("^")]
    del node.input[:]
    for name in list(node.attr):
        del node.attr[name]
    _become_python(nodes, node, told, [], [], types, token, inside)
    node.input.extend(controls)


def _become_python(
    nodes: Any, node: Any, told: Dict[str, Any], inputs: Sequence[str], takes: Sequence[int], gives: Sequence[int],
    token: str, inside: bool,
) -> None:  # fmt: skip
    text = nodes.add(name=f"{node.name}__npu_told", op="Const")
    text.attr["dtype"].type = _STRING
    text.attr["value"].tensor.dtype = _STRING
    text.attr["value"].tensor.tensor_shape.SetInParent()
    text.attr["value"].tensor.string_val.append(json.dumps(told, sort_keys=True).encode())
    node.op = "PyFunc"
    node.input.extend([f"{text.name}:output:0" if inside else text.name, *inputs])
    node.attr["token"].s = token.encode()
    node.attr["Tin"].list.type.extend([_STRING, *takes])
    node.attr["Tout"].list.SetInParent()
    node.attr["Tout"].list.type.extend(gives)


def _outputs(name: str, count: int, inside: bool) -> List[str]:
    if inside:
        return [f"{name}:components:{slot}" for slot in range(count)]
    return [f"{name}:{slot}" if slot else name for slot in range(count)]


def _rename(function: Any, name: str) -> None:
    """Let those who read the components of a GetNext read the outputs of what stands in its place."""
    before, after = f"{name}:components:", f"{name}:output:"
    for node in function.node_def:
        for position, text in enumerate(node.input):
            if text.startswith(before):
                node.input[position] = after + text[len(before) :]
    for result, text in list(function.ret.items()):
        if text.startswith(before):
            function.ret[result] = after + text[len(before) :]
