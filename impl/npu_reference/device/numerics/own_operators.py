"""The adapter's own operators in the bodies of GEOPs: functions, each computed as the one operator it stands for."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

import numpy as np

from npu_reference.graphs import OPERATOR_MARK, DType, OpDef

__all__ = ["OwnOperators"]

_FLOAT, _HALF = DType.FLOAT.number, DType.HALF.number


class OwnOperators:
    """Those of one partitioned graph.

    Attributes:
        made: functions that were made from them, to be added to the library.
    """

    def __init__(self, functions: Mapping[str, Any]) -> None:
        self._functions = functions
        self._op_defs: Dict[str, OpDef] = {
            name: OpDef(function.signature) for name, function in functions.items() if OPERATOR_MARK in function.attr
        }
        self._widened: Dict[str, str] = {}
        self.made: List[Any] = []

    def __contains__(self, name: object) -> bool:
        return name in self._op_defs

    def get(self, name: str) -> Optional[OpDef]:
        """What goes in and out of the operator that this function is; None for any other function or operator."""
        return self._op_defs.get(name)

    def widened(self, name: str) -> str:
        """The same computation on float32 where the function has float16: the name of a function, made once.

        TensorFlow's kernels for float16 round inside, which the device's do not.
        """
        if name not in self._widened:
            self._widened[name] = f"{name}__npu_float32"
            function = type(self._functions[name])()
            function.CopyFrom(self._functions[name])
            function.signature.name = self._widened[name]
            for arg in (*function.signature.input_arg, *function.signature.output_arg):
                arg.type = _wide(arg.type)
            for node in function.node_def:
                for value in node.attr.values():
                    self._widen(value)
            self.made.append(function)
        return self._widened[name]

    def _widen(self, value: Any) -> None:
        field = value.WhichOneof("value")
        if field == "type":
            value.type = _wide(value.type)
        elif field == "tensor":
            _widen_tensor(value.tensor)
        elif field == "func" and value.func.name in self._functions:
            value.func.name = self.widened(value.func.name)
        elif field == "list":
            value.list.type[:] = [_wide(number) for number in value.list.type]


def _wide(number: int) -> int:
    return _FLOAT if number == _HALF else number


def _widen_tensor(tensor: Any) -> None:
    if tensor.dtype != _HALF:
        return
    if tensor.tensor_content:
        values = np.frombuffer(tensor.tensor_content, "<f2")
    else:
        values = np.array(list(tensor.half_val), np.uint16).view(np.float16)
    tensor.ClearField("half_val")
    tensor.ClearField("tensor_content")
    tensor.dtype = _FLOAT
    tensor.float_val.extend(values.astype(np.float32).tolist())
