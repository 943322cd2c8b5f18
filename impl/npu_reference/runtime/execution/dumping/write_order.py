"""What waits for dumps, so that times tell the turns of loops in their order."""

from __future__ import annotations

from typing import Any, Dict, FrozenSet, List, Mapping, Sequence, Tuple

from npu_reference.device.numerics.body import in_order
from npu_reference.partition.building.names import fresh
from npu_reference.runtime.execution.dumping.function_bodies import MARK

__all__ = ["wait_for_dumps", "wait_for_turns"]

#: Of v1 control flow: where one of these stands, some dumps may not come to run, and nothing may wait for them.
_DIES = ("Switch", "RefSwitch", "_SwitchN", "Enter", "RefEnter")


def wait_for_dumps(function: Any) -> None:
    """Let a function's results wait for its dumps.

    TensorFlow takes the body of a loop or a condition apart, and keeps of it what leads to a result. A loop's next turn
    begins when all of this one is dumped, so that times tell the turns in their order.
    """
    dumps = [node.name for node in function.node_def if node.op == "PyFunc" and MARK in node.attr]
    if not dumps or any(node.op in _DIES for node in function.node_def):
        return
    names = {node.name for node in function.node_def} | {arg.name for arg in function.signature.input_arg}
    joined = function.node_def.add(name=fresh("npu_dumped", names), op="NoOp")
    joined.input.extend(f"^{name}" for name in dumps)
    for result in function.signature.output_arg:
        if not result.type:
            continue
        last = function.node_def.add(name=fresh(f"npu_dumped_{result.name}", names), op="Identity")
        last.attr["T"].type = result.type
        last.input.extend([function.ret[result.name], f"^{joined.name}"])
        function.ret[result.name] = f"{last.name}:output:0"


def wait_for_turns(function: Any) -> None:
    """Let every turn of a v1 loop wait for the dumps of the one before, so that times tell the turns in their order.

    What follows the loop waits for its last turn, in which only the condition runs. What a branch within the loop may
    leave dead is not waited for: it would end the loop. O(nodes + edges).
    """
    loops = [node for node in function.node_def if node.op in ("NextIteration", "RefNextIteration")]
    if not loops:
        return
    ops = {node.name: node.op for node in function.node_def}
    preds = {node.name: node.input[1] for node in function.node_def if node.op in ("Switch", "RefSwitch", "_SwitchN")}
    frame: Dict[str, Tuple[str, ...]] = {}
    #: The sides of branches on which a node must stand to run.
    sides: Dict[str, FrozenSet[Tuple[str, str]]] = {}
    dumps: List[str] = []
    #: Where an Exit itself stands; what reads it stands outside.
    inside: Dict[str, Tuple[Tuple[str, ...], FrozenSet[Tuple[str, str]]]] = {}
    for node in in_order(function):
        ends = [text.lstrip("^").split(":") for text in node.input]
        ends = [end for end in ends if end[0] in sides]
        around = max((frame[end[0]] for end in ends), key=len, default=())
        found = [sides[end[0]] | _side(end, preds, ops) for end in ends]
        if node.op in ("Merge", "RefMerge"):
            sides[node.name] = frozenset.intersection(*found) if found else frozenset()
        else:
            sides[node.name] = frozenset().union(*found)
        if node.op in ("Enter", "RefEnter"):
            around = (*around, node.attr["frame_name"].s.decode("utf-8", "replace"))
        elif node.op in ("Exit", "RefExit"):
            loops.append(node)
            inside[node.name] = (around, sides[node.name])
            around = around[:-1]
            sides[node.name] = frozenset(side for side in sides[node.name] if side[1] != _ENDED)
        elif around and node.op == "PyFunc" and MARK in node.attr:
            dumps.append(node.name)
        frame[node.name] = around
    names = set(ops) | {arg.name for arg in function.signature.input_arg}
    joined: Dict[Tuple[str, ...], str] = {}
    for node in loops:
        around, needed = inside.get(node.name) or (frame[node.name], sides[node.name])
        certain = [one for one in dumps if frame[one] == around and sides[one] <= needed]
        if not certain:
            continue
        key = (*around, *sorted(repr(side) for side in needed))
        if key not in joined:
            join = function.node_def.add(name=fresh("npu_turn_dumped", names), op="NoOp")
            join.input.extend(f"^{name}" for name in certain)
            joined[key] = join.name
        node.input.append(f"^{joined[key]}")


#: The sides of a loop's Switch that lead out of the loop, and into its body.
_ENDED, _GOING = "ended", "going"


def _side(end: Sequence[str], preds: Mapping[str, str], ops: Mapping[str, str]) -> FrozenSet[Tuple[str, str]]:
    """The side of a branch that reading an output of a Switch means."""
    if end[0] not in preds or len(end) < 2:
        return frozenset()
    pred, side = preds[end[0]], ":".join(end[1:])
    if ops.get(pred.split(":")[0]) == "LoopCond":
        return frozenset([(pred, _ENDED if end[1] == "output_false" else _GOING)])
    return frozenset([(pred, side)])
