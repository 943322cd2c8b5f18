"""Takes the GEOPs of a built graph apart again, for comparison with the graph that was partitioned."""

from __future__ import annotations


class Flat:
    """The operators of a partitioned graph with every GEOP inlined.

    `inputs[name]` are a node's data inputs as (name, slot), `controls[name]` the nodes it waits for, `op[name]` its
    operator; Identities that only read a reference at a border are looked through, copies stay under their own name.
    """

    def __init__(self, graph, partition, built):
        self.op, self.inputs, self.controls = {}, {}, {}
        self.geops = {geop.name: geop for geop in partition.geops}
        self.bodies = {function.signature.name: function for function in built.library.function}
        self.outer = {node.name: node for node in built.node}
        self.slots = {}
        for node in graph.nodes:
            op_def = graph.op_def(node.id)
            names = []
            for arg in op_def.outputs:
                count = 1
                if arg.number_attr:
                    count = node.proto.attr[arg.number_attr].i
                elif arg.type_list_attr:
                    count = len(node.proto.attr[arg.type_list_attr].list.type)
                names.extend(f"{node.name}:{arg.name}:{k}" for k in range(count))
            for slot, name in enumerate(names):
                self.slots[name] = (node.name, slot)
        for node in built.node:
            if node.name not in self.geops and not node.name.endswith("_dummyIdentity"):
                self._add(node.name, node.op, [self._outer(text) for text in node.input if text[0] != "^"],
                          self._waits(node.input))  # fmt: skip
        for name, geop in self.geops.items():
            self._body(name, geop)

    def _add(self, name, op, inputs, controls):
        assert name not in self.op, name
        self.op[name], self.inputs[name], self.controls[name] = op, inputs, controls

    def _waits(self, inputs):
        found = set()
        for text in inputs:
            if text[0] == "^":
                name = text[1:]
                if name in self.geops:
                    found.update(self.bodies[name].control_ret.values())
                    found.update(r.rsplit(":", 2)[0] for r in self.bodies[name].ret.values())
                else:
                    found.add(name)
        return found

    def _outer(self, text):
        name, _, slot = text.rpartition(":")
        if text in self.outer or not slot.isdigit():
            name, slot = text, "0"
        if name in self.geops:
            body = self.bodies[name]
            returned = body.ret[body.signature.output_arg[int(slot)].name]
            return self._inner(returned, name)
        if name.endswith("_dummyIdentity"):
            return self._outer(self.outer[name].input[0])
        return name, int(slot)

    def _inner(self, text, name):
        body = self.bodies[name]
        args = [arg.name for arg in body.signature.input_arg]
        if text in args:
            return self._outer([i for i in self.outer[name].input if i[0] != "^"][args.index(text)])
        node, output, slot = text.rsplit(":", 2)
        if node.endswith("_dummyIdentity"):
            inner = next(n for n in body.node_def if n.name == node)
            return self._inner(inner.input[0], name)
        copies = {copy.name: copy for copy in self.geops[name].copies}
        if text not in self.slots and node in copies:
            text = f"{node[: -len('_copied')]}:{output}:{slot}"
        return self.slots[text]

    def _body(self, name, geop):
        copies = {copy.name for copy in geop.copies}
        for node in self.bodies[name].node_def:
            if node.name in copies or node.name.endswith("_dummyIdentity"):
                continue
            inputs = [self._inner(text, name) for text in node.input if text[0] != "^"]
            self._add(node.name, node.op, inputs, {text[1:] for text in node.input if text[0] == "^"})
