"""The partitioned graph as a GraphDef: each GEOP a function of the library and one node that calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Sequence, Set, Tuple

from npu_reference.graphs import message_class
from npu_reference.graphs.signature import count_args
from npu_reference.partition.building.names import GeopNames, argument_name, fresh
from npu_reference.partition.building.state import name_state
from npu_reference.partition.model import Geop, Partition

if TYPE_CHECKING:
    from npu_reference.graphs import Graph

__all__ = ["build"]


def build(graph: Graph, partition: Partition, *, op: str = "StatefulPartitionedCall") -> Any:
    """The graph with every GEOP called as one function.

    Args:
        graph: the graph that was partitioned (`partition.graph` counts where operators were rewritten first).
        partition: the answer of :func:`partition` for it.
        op: operator of the calling nodes; it must take the attributes Tin, Tout and f of StatefulPartitionedCall.

    Returns:
        A GraphDef of the package's own message classes. A GEOP's function and calling node have the GEOP's name; its
        arguments and returns are those of the partition, in order, of base types. Functions of the given graph are
        carried along. Operators that nothing inside a GEOP reads are control outputs of its function, so that they
        run. O(nodes + edges).
    """
    del graph
    return _Builder(partition, op).run()


class _Builder:
    def __init__(self, partition: Partition, op: str) -> None:
        self.partition = partition
        self.graph = partition.graph
        self.op = op
        self.home = partition.assignment
        self.names = GeopNames(self.graph, (geop.name for geop in partition.geops))
        self.return_slot: Dict[Tuple[int, int], int] = {}
        for geop in partition.geops:
            for position, returned in enumerate(geop.rets):
                self.return_slot[returned.node, returned.slot] = position
        self.dereferenced: Dict[Tuple[int, int], str] = {}
        self.result = message_class("GraphDef")()
        self.index = self.graph.index

    def run(self) -> Any:
        source = self.graph.to_def()
        self.result.versions.CopyFrom(source.versions)
        self.result.library.CopyFrom(source.library)
        first = {geop.nodes[0]: number for number, geop in enumerate(self.partition.geops)}
        for node in self.graph.nodes:
            number = self.home[node.id]
            if number < 0:
                self._add_host_node(source.node[node.id])
            elif node.id in first:
                self._add_call(self.partition.geops[number])
        for geop in self.partition.geops:
            _Body(self, geop).write(source, self.result.library.function.add())
        return self.result

    # -- the graph around the GEOPs ----------------------------------------------------------------------------

    def _add_host_node(self, proto: Any) -> None:
        node = self.result.node.add()
        node.CopyFrom(proto)
        del node.input[:]
        node.input.extend(self._rewired(proto.input))
        _keep_locations(node, lambda name: name in self.index and self.home[self.index[name]] < 0)

    def _rewired(self, inputs: Sequence[str]) -> List[str]:
        found: List[str] = []
        for text in inputs:
            name, slot = split_input(text, self.index)
            i = self.index[name]
            if self.home[i] < 0:
                found.append(text)
            elif slot < 0:
                found.append(f"^{self.partition.geops[self.home[i]].name}")
            else:
                found.append(self._tensor(i, slot))
        data = [text for text in found if not text.startswith("^")]
        return data + list(dict.fromkeys(text for text in found if text.startswith("^")))

    def _tensor(self, i: int, slot: int) -> str:
        """The text that reads a tensor in the outer graph."""
        if self.home[i] < 0:
            return _text(self.graph.nodes[i].name, slot)
        return _text(self.partition.geops[self.home[i]].name, self.return_slot[i, slot])

    def _add_call(self, geop: Geop) -> None:
        inputs = [self._argument(argument.node, argument.slot) for argument in geop.args]
        waits = dict.fromkeys(
            self.partition.geops[self.home[i]].name if self.home[i] >= 0 else self.graph.nodes[i].name
            for i in geop.control_in
        )
        call = self.result.node.add(name=geop.name, op=self.op)
        call.input.extend(inputs)
        call.input.extend(f"^{name}" for name in waits)
        call.attr["Tin"].list.SetInParent()
        call.attr["Tin"].list.type.extend(argument.dtype.number for argument in geop.args)
        call.attr["Tout"].list.SetInParent()
        call.attr["Tout"].list.type.extend(returned.dtype.number for returned in geop.rets)
        call.attr["f"].func.name = geop.name

    def _argument(self, i: int, slot: int) -> str:
        """A tensor as the argument of a call; a reference is read first."""
        if self.home[i] >= 0 or i not in self.partition.wires.ref_outputs:
            return self._tensor(i, slot)
        dtype = self.graph.output_dtypes(i)[slot]
        if not dtype.is_ref:
            return self._tensor(i, slot)
        if (i, slot) not in self.dereferenced:
            name = self.names.fresh(f"{self.graph.nodes[i].name}_dummyIdentity")
            read = self.result.node.add(name=name, op="Identity", device=self.graph.nodes[i].device)
            read.input.append(self._tensor(i, slot))
            read.attr["T"].type = dtype.base.number
            self.dereferenced[i, slot] = name
        return self.dereferenced[i, slot]


class _Body:
    """One GEOP as a FunctionDef."""

    def __init__(self, builder: _Builder, geop: Geop) -> None:
        self.builder = builder
        self.graph = builder.graph
        self.geop = geop
        self.number = builder.home[geop.nodes[0]]
        self.node_names: Set[str] = {self.graph.nodes[node].name for node in geop.nodes}
        self.copies: Dict[int, str] = {}
        for copy in geop.copies:
            self.copies[copy.node] = fresh(copy.name, self.node_names)
        taken = {name.lower() for name in self.node_names}
        self.arg_names = {(arg.node, arg.slot): argument_name(arg.name, taken) for arg in geop.args}
        self.ret_names = [argument_name(ret.name, taken) for ret in geop.rets]
        self.outputs: Dict[int, List[str]] = {}
        self.read: Set[int] = set()  # members whose outputs or completion another member waits for

    def write(self, source: Any, function: Any) -> None:
        geop = self.geop
        function.signature.name = geop.name
        function.signature.is_stateful = True
        for argument in geop.args:
            function.signature.input_arg.add(
                name=self.arg_names[argument.node, argument.slot], type=argument.dtype.number
            )
        function.attr["_noinline"].b = True
        for copy in geop.copies:
            self._add_copy(source.node[copy.node], self.copies[copy.node], function.node_def.add())
        for node in geop.nodes:
            self._add_member(source.node[node], function.node_def.add())
        self._add_returns(function)
        self._add_control_returns(function)

    def _add_copy(self, proto: Any, name: str, node: Any) -> None:
        node.CopyFrom(proto)
        node.name = name
        node.device = ""
        del node.input[:]  # the copy waits for the original, hence for all that the original waits for
        _keep_locations(node, lambda _: False)
        self._share(node, proto.name)

    def _add_member(self, proto: Any, node: Any) -> None:
        node.CopyFrom(proto)
        node.device = ""
        del node.input[:]
        node.input.extend(self._inputs(proto.input))
        _keep_locations(node, lambda name: name in self.node_names)
        self._share(node, proto.name)

    def _share(self, node: Any, name: str) -> None:
        """A resource found by its node's name must be found under it from inside the function, too."""
        op_def = self.graph.op_def(self.graph.index[name])
        if "shared_name" in op_def.attrs:
            name_state(node, name)

    def _inputs(self, texts: Sequence[str]) -> List[str]:
        data: List[str] = []
        controls: Dict[str, None] = {}
        for text in texts:
            name, slot = split_input(text, self.graph.index)
            i = self.graph.index[name]
            inside = self.builder.home[i] == self.number
            if slot < 0:
                if inside:
                    self.read.add(i)
                    controls[f"^{name}"] = None
            elif inside:
                self.read.add(i)
                data.append(f"{name}:{self._slots(i)[slot]}")
            elif i in self.copies:
                data.append(f"{self.copies[i]}:{self._slots(i)[slot]}")
            else:
                data.append(self.arg_names[i, slot])
        return data + list(controls)

    def _slots(self, i: int) -> List[str]:
        """`argument:position` of every output of a node, as function bodies write them."""
        if i not in self.outputs:
            op_def = self.graph.op_def(i)
            attrs = self.graph.nodes[i].proto.attr
            self.outputs[i] = [
                f"{arg.name}:{position}"
                for arg in op_def.outputs
                for position in range(count_args(op_def, (arg,), attrs))
            ]
        return self.outputs[i]

    def _add_returns(self, function: Any) -> None:
        for returned, name in zip(self.geop.rets, self.ret_names):
            function.signature.output_arg.add(name=name, type=returned.dtype.number)
            node = self.graph.nodes[returned.node]
            text = f"{node.name}:{self._slots(node.id)[returned.slot]}"
            if self.graph.output_dtypes(node.id)[returned.slot].is_ref:
                read = function.node_def.add(name=fresh(f"{node.name}_dummyIdentity", self.node_names), op="Identity")
                read.input.append(text)
                read.attr["T"].type = returned.dtype.number
                text = f"{read.name}:output:0"
            function.ret[name] = text

    def _add_control_returns(self, function: Any) -> None:
        """Members that run for their effect: nothing inside reads them, or something outside waits for them."""
        wires, home = self.builder.partition.wires, self.builder.home
        returned = {ret.node for ret in self.geop.rets}
        taken = set(self.ret_names)
        for i in self.geop.nodes:
            waited = any(
                wires.src_slot[edge] < 0 and home[wires.dst[edge]] != self.number for edge in self.graph.out_edges(i)
            )
            if waited or (i not in self.read and i not in returned):
                name = argument_name(self.graph.nodes[i].name, taken)
                function.signature.control_output.append(name)
                function.control_ret[name] = self.graph.nodes[i].name


def split_input(text: str, index: Any) -> Tuple[str, int]:
    """A node's name and the slot an input text reads; -1 for a control input."""
    if text.startswith("^"):
        return text[1:], -1
    if text in index:
        return text, 0
    name, _, slot = text.rpartition(":")
    return name, int(slot)


def _text(name: str, slot: int) -> str:
    return name if slot == 0 else f"{name}:{slot}"


def _keep_locations(node: Any, known: Any) -> None:
    """Drop colocation with nodes that are no longer beside this one."""
    if "_class" not in node.attr:
        return
    prefix = b"loc:@"
    kept = [
        entry
        for entry in node.attr["_class"].list.s
        if not entry.startswith(prefix) or known(entry[len(prefix) :].decode("utf-8", "replace"))
    ]
    if kept:
        del node.attr["_class"].list.s[:]
        node.attr["_class"].list.s.extend(kept)
    else:
        del node.attr["_class"]
