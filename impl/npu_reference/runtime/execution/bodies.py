"""What is done to the body of a GEOP before it runs: a chain of functions that change a FunctionDef in place."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Set

from npu_reference.graphs import OPS
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["Hook", "make_runnable"]

#: A step of the chain: the body, and the GEOP's name in its partition. The device's precision will be one, before
#: :func:`make_runnable`.
Hook = Callable[[Any, str], None]


def make_runnable(function: Any, geop: str) -> None:
    """Prepare a body for TensorFlow on the machine at hand.

    Ensures: no node asks for a device or for the company of a node that is not here; the function stays a function (a
    GEOP is launched as a whole, so TensorFlow must not dissolve it in its caller). That everything with an effect runs
    and that state has a name is :func:`npu_reference.partition.building.build`'s promise.
    """
    del geop
    for node in function.node_def:
        node.device = ""
        if "_class" in node.attr:
            del node.attr["_class"]
    _keep_reads(function)
    function.attr["_noinline"].b = True


_INT32 = 3  # DataType.DT_INT32


def _keep_reads(function: Any) -> None:
    """Return what a reference of int32 holds, never the reference, and after what the body writes to it.

    TensorFlow 2 takes an Identity out of a function, and then, for int32, misses a type at what it left. A session of
    TensorFlow's answers a fetched reference with its buffer, as the run leaves it (`run([train_op, global_step])`). An
    Identity does so too; a copy has to wait for the writers.
    """
    if tensorflow().major == 1:
        return
    body = _Body(function)
    for name, text in list(function.ret.items()):
        node = body.nodes.get(text.split(":", 1)[0])
        if (
            node is None
            or node.op != "Identity"
            or node.attr["T"].type != _INT32
            or not body.is_reference(node.input[0])
        ):
            continue
        node.op = "DeepCopy"
        node.input.extend(f"^{writer}" for writer in body.writes_before(node))
        function.ret[name] = f"{node.name}:y:0"


class _Body:
    """What writes to which variable in a body, and what tells that it has.

    Attributes:
        nodes: by their names.
    """

    def __init__(self, function: Any) -> None:
        self.nodes: Dict[str, Any] = {node.name: node for node in function.node_def}
        self._before = {
            name: {source for source in map(_source, node.input) if source in self.nodes}
            for name, node in self.nodes.items()
        }
        self._always: Optional[Set[str]] = None
        self._after: Dict[str, List[str]] = {}
        for name, sources in self._before.items():
            for source in sorted(sources):
                self._after.setdefault(source, []).append(name)

    def is_reference(self, text: str) -> bool:
        """Whether an input reads an output that is a reference."""
        source, _, output = text.partition(":")
        op_def = OPS.get(self.nodes[source].op) if source in self.nodes else None
        return op_def is not None and any(arg.is_ref and arg.name == output.split(":")[0] for arg in op_def.outputs)

    def writes_before(self, reader: Any) -> List[str]:
        """What a copy has to wait for, to have what a run leaves in the variable that it reads: the nodes that write to
        it in every run, and of those in a branch of version 1 the merge behind it. None of a loop of version 1, nor
        what waits for the reader itself.
        """
        if self._always is None:
            self._always = self._always_run()
        always = self._always
        later = self._behind(reader.name, set())
        variable = self._variable(reader.input[0])
        found: Set[str] = set()
        for name, node in self.nodes.items():
            if _writes(node) and self._variable(node.input[0]) == variable:
                found.update({name} if name in always else self._behind(name, always) & always)
        waited = sorted(found - later - {reader.name})
        for name in waited:  # so that two copies do not wait for each other
            self._after.setdefault(name, []).append(reader.name)
        return waited

    def _variable(self, text: str) -> str:
        """The node that a reference comes from, through those that hand it on."""
        name = _source(text)
        passed: Set[str] = set()
        while name in self.nodes and name not in passed and self.nodes[name].input:
            passed.add(name)
            if not self.is_reference(self.nodes[name].input[0]):
                break
            name = _source(self.nodes[name].input[0])
        return name

    def _behind(self, name: str, ends: Set[str]) -> Set[str]:
        """The nodes that wait for one, those behind `ends` left out."""
        found: Set[str] = set()
        ready = [name]
        while ready:
            for reader in self._after.get(ready.pop(), ()):
                if reader not in found:
                    found.add(reader)
                    if reader not in ends:
                        ready.append(reader)
        return found

    def _always_run(self) -> Set[str]:
        """The nodes below as many Merges as Switches on every path that leads to them, and behind no loop."""
        depth: Dict[str, int] = {}
        ready = [name for name, sources in self._before.items() if not sources]
        waiting = {name: len(sources) for name, sources in self._before.items()}
        while ready:
            name = ready.pop()
            deepest = max((depth[source] for source in self._before[name]), default=0)
            op = self.nodes[name].op
            if op in ("Enter", "RefEnter"):
                continue  # what comes behind a loop is never reached
            depth[name] = deepest + 1 if op in ("Switch", "RefSwitch") else deepest - (op in ("Merge", "RefMerge"))
            for reader in self._after.get(name, ()):
                waiting[reader] -= 1
                if not waiting[reader]:
                    ready.append(reader)
        return {name for name, level in depth.items() if level <= 0}


def _source(text: str) -> str:
    return text.lstrip("^").split(":", 1)[0]


#: Operators that take a reference first and write nothing through it.
_PASS = frozenset(
    {
        "RefSwitch",
        "RefMerge",
        "RefIdentity",
        "RefEnter",
        "RefExit",
        "RefNextIteration",
        "RefSelect",
        "IsVariableInitialized",
    }
)


def _writes(node: Any) -> bool:
    """Whether a node writes through the reference that is its first input, as all of TensorFlow's do."""
    op_def = OPS.get(node.op)
    return op_def is not None and bool(op_def.inputs) and op_def.inputs[0].is_ref and node.op not in _PASS
