"""A call of Horovod, for which the adapter has one of its own.

Told of scripts that do not use the adapter yet. `--fix` writes the adapter's call where it takes the same arguments;
for the others the message says what to write.

    # wrong
    import horovod.tensorflow as hvd
    size = hvd.size()
    # right
    from npu_bridge.npu_init import *
    size = get_rank_size()
"""

from __future__ import annotations

import ast
from typing import Any, Iterator, List, NamedTuple, Optional

from npu_conformance.lint.editing import at, starts_line
from npu_conformance.lint.finding import Edit, Fix
from npu_conformance.lint.module import Module
from npu_conformance.lint.porting import Ported, adapter_import, added_argument, callee, known_name, ports
from npu_conformance.lint.registry import LintReport, LintSettings, rule


class _Successor(NamedTuple):
    """What a person is told to write; ``name`` is the adapter's function where it takes the same arguments.

    ``more`` is an argument that it takes besides.
    """

    words: str
    name: str = ""
    more: str = ""


_SUCCESSORS = {
    "init": _Successor(
        "(npu_sess, npu_shutdown) = init_resource(), and shutdown_resource(npu_sess, npu_shutdown) at the end",
        "init_resource",
    ),
    "size": _Successor("get_rank_size()", "get_rank_size"),
    "rank": _Successor("get_rank_id()", "get_rank_id"),
    "local_rank": _Successor("get_local_rank_id()", "get_local_rank_id"),
    "local_size": _Successor("get_local_rank_size()", "get_local_rank_size"),
    "DistributedOptimizer": _Successor(
        "npu_distributed_optimizer_wrapper(optimizer)", "npu_distributed_optimizer_wrapper"
    ),
    "BroadcastGlobalVariablesHook": _Successor(
        "NPUBroadcastGlobalVariablesHook(0, get_rank_id())", "NPUBroadcastGlobalVariablesHook", "get_rank_id()"
    ),
    "callbacks.BroadcastGlobalVariablesCallback": _Successor(
        "NPUBroadcastGlobalVariablesCallback(0)", "NPUBroadcastGlobalVariablesCallback"
    ),
    "allreduce": _Successor('hccl_ops.allreduce(tensor, "sum")'),
    "allgather": _Successor("hccl_ops.allgather(tensor, get_rank_size())"),
    "broadcast": _Successor("hccl_ops.broadcast([tensor], root_rank)"),
    "broadcast_global_variables": _Successor("hccl_ops.broadcast(variables, root_rank), and assign its results"),
    "broadcast_variables": _Successor("hccl_ops.broadcast(variables, root_rank), and assign its results"),
    "callbacks.MetricAverageCallback": _Successor("nothing: metrics are those of each device"),
}

#: How many arguments a call has that is written anew; what has more is left to a person.
_ARGUMENTS = {
    "DistributedOptimizer": 1, "BroadcastGlobalVariablesHook": 1, "callbacks.BroadcastGlobalVariablesCallback": 1
}  # fmt: skip


@rule("S404", "horovod", "unsafe", "The adapter counts the ranks, and the import of Horovod is dropped.")
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    calls = [(one, one.name[4:]) for one in ports(module) if one.name.startswith("hvd.")]
    for one, name in calls:
        successor = _SUCCESSORS.get(name)
        if successor is None:
            yield LintReport(one.call.node, f"Horovod's {name} has no counterpart that is known here.")
        else:
            fix = _fix(module, one, successor) if _same_arguments(one, name) else None
            yield LintReport(
                one.call.node, f"Horovod does not run on the device. Instead of {name}: {successor.words}.", fix
            )
    if calls and all(_same_arguments(one, name) for one, name in calls):
        yield from _imports(module, len(calls))


def _same_arguments(one: Ported, name: str) -> bool:
    node = one.call.node
    successor = _SUCCESSORS.get(name)
    return (
        successor is not None
        and bool(successor.name)
        and not node.keywords
        and len(node.args) == _ARGUMENTS.get(name, 0)
        and not any(isinstance(argument, ast.Starred) for argument in node.args)
    )


def _fix(module: Module, one: Ported, successor: _Successor) -> Fix:
    def fix(tokens: List[Any]) -> Optional[List[Edit]]:
        node, statement = one.call.node, one.call.place.statement
        named = callee(module, tokens, node)
        if named is None:
            return None
        name = successor.name
        if name == "init_resource" and isinstance(statement, ast.Expr) and statement.value is node:
            name = f"npu_sess, npu_shutdown = {name}"
        edits = [Edit(named[0], named[1], name)]
        if successor.more:
            more = added_argument(module, tokens, node, successor.more)
            if more is None:
                return None
            edits.append(more)
        needs = [successor.name] + (["get_rank_id"] if successor.more else [])
        return [*edits, *adapter_import(module, *needs)]

    return fix


def _imports(module: Module, calls: int) -> Iterator[LintReport]:
    """The import of Horovod goes where nothing of it is left."""
    used = sum(known_name(module.resolve(one.node, one.place.scope)).startswith("hvd") for one in module.references)
    found = [one for one in module.imports if known_name(one.module).startswith("hvd") or one.module == "horovod"]
    if used != calls or len(found) != 1 or len(found[0].node.names) != 1:
        return

    def fix(tokens: List[Any]) -> Optional[List[Edit]]:
        start = at(module.source, found[0].node)
        if start is None or not starts_line(module.source, found[0].node):
            return None
        end = start
        while tokens[end].name not in ("NEWLINE", "ENDMARKER"):
            end += 1
        while start > 0 and tokens[start - 1].name in ("INDENT", "UNIMPORTANT_WS"):
            start -= 1
        return [Edit(start, end + 1, "")] if found[0].place.block is module.tree.body else None

    yield LintReport(
        found[0].node, "Nothing is left of Horovod when its calls are the adapter's: drop the import.", fix
    )
