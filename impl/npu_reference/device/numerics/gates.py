"""The nodes that round a tensor to float16 or hold it to finite values, and nothing else when it is finite already."""

from __future__ import annotations

from typing import Any, Sequence, Tuple

from npu_reference.device.numerics.editing import Nodes, become_py_func
from npu_reference.device.numerics.status import FLOAT16_MAX, FLOAT32_MAX, FloatStatus
from npu_reference.graphs import DType

__all__ = ["Gates"]

_FLOAT, _HALF = DType.FLOAT.number, DType.HALF.number


class Gates(Nodes):
    """Adds nodes to one FunctionDef. Every node has its data from the gated tensor, so it is in that tensor's frame."""

    def __init__(self, function: Any, status: FloatStatus) -> None:
        super().__init__(function)
        self.status = status

    def call(self, name: str, token: bytes, inputs: Sequence[str], types: Sequence[int], result: Sequence[int]) -> Any:
        """A PyFunc."""
        node = self.add("PyFunc", name, inputs, {})
        become_py_func(node, token, types, result)
        return node

    def cast(self, text: str, name: str, source: int, target: int) -> str:
        """A Cast between the containers float and half."""
        node = self.add("Cast", name, [text], {"SrcT": source, "DstT": target})
        return f"{node.name}:y:0"

    def round(self, text: str, name: str) -> str:
        """To the float16 grid as IEEE 754 does it: to nearest even, too large becomes infinite."""
        half = self.cast(text, f"{name}_half", _FLOAT, _HALF)
        return self.cast(half, name, _HALF, _FLOAT)

    def round_and_hold(self, text: str, name: str, owner: str) -> str:
        """To the float16 grid as the device does it: saturated, NaN to 0, the flag raised if there was any of these."""
        return self._hold(self.round(text, f"{name}/rounded"), name, owner, FLOAT16_MAX)

    def hold(self, text: str, name: str, owner: str) -> str:
        """To finite float32 values: saturated, NaN to 0, the flag raised if there was any of these."""
        return self._hold(text, name, owner, FLOAT32_MAX)

    def hold_variable(self, text: str, node: str, name: str, limit: float, *, is_ref: bool) -> str:
        """The node that has run once a float32 variable, which ``node`` writes, holds finite values only.

        Args:
            text: its handle or its reference.
        """
        dtype = {"T": _FLOAT} if is_ref else {"dtype": _FLOAT}
        read = self.add("Identity" if is_ref else "ReadVariableOp", f"{name}/read", [text, f"^{node}"], dtype)
        value = f"{read.name}:{'output' if is_ref else 'value'}:0"
        true, fixed = self._ways(value, name, node, limit)
        write = self.add("Assign" if is_ref else "AssignVariableOp", f"{name}/write", [text, fixed], dtype)
        written = self.add("Identity", f"{name}/written", [fixed, f"^{write.name}"], {"T": _FLOAT})
        merged = self.add("Merge", name, [true, f"{written.name}:output:0"], {"T": _FLOAT})
        merged.attr["N"].i = 2
        return str(merged.name)

    def _hold(self, text: str, name: str, owner: str, limit: float) -> str:
        merged = self.add("Merge", name, self._ways(text, name, owner, limit), {"T": _FLOAT})
        merged.attr["N"].i = 2
        return f"{merged.name}:output:0"

    def _ways(self, text: str, name: str, owner: str, limit: float) -> Tuple[str, str]:
        """A tensor where all of it is finite, and saturated where it is not: one of the two is dead.

        The usual way costs one reduction, the other a detour over Python. The sum of squares is not finite as soon as
        one element is not; of float16 values it cannot overflow otherwise.
        """
        squares = self.add("L2Loss", f"{name}/squares", [text], {"T": _FLOAT})
        finite = self.add("IsFinite", f"{name}/finite", [f"{squares.name}:output:0"], {"T": _FLOAT})
        way = self.add("Switch", f"{name}/way", [text, f"{finite.name}:y:0"], {"T": _FLOAT})
        fixed = self.call(
            f"{name}/saturated", self.status.fixer(owner, limit), [f"{way.name}:output_false:0"], [_FLOAT], [_FLOAT]
        )
        return f"{way.name}:output_true:0", f"{fixed.name}:output:0"
