"""How nodes of a FunctionDef are changed in place: into calls of Python functions, and what they read."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Mapping, Sequence

from npu_reference.graphs import DType

__all__ = ["Nodes", "become_py_func", "one_turn_at_a_time", "read_instead", "spell_out"]


class Nodes:
    """Adds nodes to one FunctionDef."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self._names = {node.name for node in function.node_def}
        self._names.update(arg.name for arg in function.signature.input_arg)

    def add(self, op: str, name: str, inputs: Sequence[str], types: Dict[str, int]) -> Any:
        """A node; its name gets a number where it is taken."""
        number, wish = 1, name
        while name in self._names:
            name, number = f"{wish}_{number}", number + 1
        self._names.add(name)
        node = self.function.node_def.add(name=name, op=op)
        node.input.extend(inputs)
        for key, number in types.items():
            node.attr[key].type = number
        return node

    def constant(self, value: Any, name: str, like: str, dtype: int) -> str:
        """A number, or a list of them, as a constant in the frame of a tensor.

        Args:
            like: the text that reads the tensor.
            dtype: the number of float32 or int32.
        """
        source, is_node, _ = like.partition(":")
        node = self.add("Const", name, [f"^{source}"] if is_node else [], {"dtype": dtype})
        tensor = node.attr["value"].tensor
        tensor.dtype = dtype
        values = value if isinstance(value, list) else [value]
        (tensor.float_val if dtype == DType.FLOAT.number else tensor.int_val).extend(values)
        if isinstance(value, list):
            tensor.tensor_shape.dim.add(size=len(value))
        else:
            tensor.tensor_shape.SetInParent()
        return f"{node.name}:output:0"


def become_py_func(node: Any, token: bytes, inputs: Sequence[int], outputs: Sequence[int]) -> None:
    """Make a node a call of the Python function of this token, of which it keeps name, device and inputs.

    Args:
        node: a NodeDef; its own attributes are gone afterwards, those of TensorFlow (``_class``) stay.
        token: under which TensorFlow's registry has the function.
        inputs, outputs: numbers of dtypes.
    """
    node.op = "PyFunc"
    for name in list(node.attr):
        if not name.startswith("_"):
            del node.attr[name]
    node.attr["token"].s = token
    for name, types in (("Tin", inputs), ("Tout", outputs)):
        node.attr[name].list.SetInParent()  # a list may be empty
        node.attr[name].list.type.extend(types)


def read_instead(function: Any, renamed: Mapping[str, str]) -> None:
    """Let all that reads a tensor of a FunctionDef, its results too, read the one that stands for it."""
    for node in function.node_def:
        for position, text in enumerate(node.input):
            if text in renamed:
                node.input[position] = renamed[text]
    for name, text in list(function.ret.items()):
        if text in renamed:
            function.ret[name] = renamed[text]


def one_turn_at_a_time(nodes: Iterable[Any]) -> None:
    """Let no turn of a loop begin before all of the one before it has run, as on the device, which runs in order.

    TensorFlow otherwise leaves a loop while results that no later turn reads are still computed.

    Args:
        nodes: NodeDefs of a graph or of a function's body.
    """
    for node in nodes:
        if node.op in ("Enter", "RefEnter") or "parallel_iterations" in node.attr:
            node.attr["parallel_iterations"].i = 1


def spell_out(function: Any) -> None:
    """Give every input of a node the form ``node:argument:position``, which may be left shorter."""
    names = {node.name for node in function.node_def}
    args = {arg.name for arg in function.signature.input_arg}

    def full(text: str) -> str:
        head, _, rest = text.partition(":")
        if head in names and rest and ":" not in rest:
            return f"{text}:0"
        return head if head in args and rest == "0" else text

    for node in function.node_def:
        for position, text in enumerate(node.input):
            if not text.startswith("^") and full(text) != text:
                node.input[position] = full(text)
    for name, text in list(function.ret.items()):
        function.ret[name] = full(text)
