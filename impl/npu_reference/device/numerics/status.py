"""What the device remembers of overflow, and the Python ends of the operators that only run when there is some."""

from __future__ import annotations

import importlib
import logging
import threading
from typing import Any, Callable, Dict, List, Sequence, Tuple

import numpy as np

__all__ = ["FLOAT16_MAX", "FLOAT32_MAX", "FloatStatus", "STATUS_SHAPE", "saturate"]

#: The largest finite values: what a result too large becomes on this device, in saturation mode (docs/numerics.md).
FLOAT16_MAX = 65504.0
FLOAT32_MAX = float(np.finfo(np.float32).max)

#: NPUAllocFloatStatus gives eight float32 zeros.
STATUS_SHAPE = (8,)

_LOG = logging.getLogger("npu_reference")


def saturate(values: Any, limit: float) -> Any:
    """Infinities become ``limit`` with their sign, NaN becomes 0; a new float32 array."""
    values = np.asarray(values, np.float32)
    finite = np.where(np.isnan(values), np.float32(0), values)
    return np.clip(finite, np.float32(-limit), np.float32(limit)).astype(np.float32)


class FloatStatus:
    """The sticky overflow flag of one session's device, and the tensors NPUGetFloatStatus writes it to. Thread-safe.

    Attributes:
        overflows: how often each operator's result had to be saturated, by name in the user's graph.
    """

    def __init__(self) -> None:
        self.overflows: Dict[str, int] = {}
        self._raised = False
        self._asked = False
        self._written: Dict[str, bool] = {}
        self._lock = threading.Lock()
        self._tokens: Dict[Any, bytes] = {}
        # TensorFlow's registry refers to Python functions weakly.
        self._alive: List[Callable[..., Any]] = []

    @property
    def raised(self) -> bool:
        """Whether something has overflowed since the flag was last cleared, or overflow was asked for in this step."""
        return self._raised or self._asked

    def ask(self, nodes: Sequence[str]) -> None:
        """Let these operators overflow in the step that begins, whatever they compute; none of them: end that."""
        with self._lock:
            self._asked = bool(nodes)
        for node in nodes:
            self._note(node)

    def clear(self) -> None:
        """What NPUClearFloatStatus does."""
        with self._lock:
            self._raised = False

    def fixer(self, node: str, limit: float) -> bytes:
        """The token of a PyFunc that saturates a result of ``node`` in which something is not finite."""

        def fix(values: Any) -> Any:
            values = np.asarray(values)
            # The check sums squares, which finite values of 1e19 can overflow, too.
            if not np.isfinite(values).all():
                self._note(node)
            return saturate(values, limit)

        return self.token(("fix", node, limit), fix)

    def allocator(self, name: str) -> bytes:
        """The token of NPUAllocFloatStatus."""

        def allocate() -> Any:
            with self._lock:
                self._written[name] = False
            return np.zeros(STATUS_SHAPE, np.float32)

        return self.token(("alloc", name), allocate)

    def getter(self, name: str) -> bytes:
        """The token of NPUGetFloatStatus: its result is zeros, the flag goes into the tensor it was given."""

        def get(_: Any) -> Any:
            with self._lock:
                self._written[name] = self._written.get(name, False) or self.raised
            return np.zeros(STATUS_SHAPE, np.float32)

        return self.token(("get", name), get)

    def getter_v2(self) -> bytes:
        """The token of NPUGetFloatStatusV2: the flag is its result."""
        return self.token(("get2",), lambda: np.full(STATUS_SHAPE, int(self.raised), np.int32))

    def clearer(self, results: Tuple[int, ...]) -> bytes:
        """The token of NPUClearFloatStatus; its second version has no results."""

        def clear(*_: Any) -> Any:
            self.clear()
            return np.zeros(STATUS_SHAPE, np.float32) if results else []

        return self.token(("clear", results), clear)

    def reader(self, name: str) -> bytes:
        """The token of a PyFunc that reads the tensor of an NPUAllocFloatStatus as it is now."""

        def read(_: Any) -> Any:
            with self._lock:
                return np.full(STATUS_SHAPE, float(self._written.get(name, False)), np.float32)

        return self.token(("read", name), read)

    def token(self, key: Any, function: Callable[..., Any]) -> bytes:
        """What a PyFunc calls a function by; the same key has the same token in all signatures of the session."""
        with self._lock:
            if key not in self._tokens:
                script_ops = importlib.import_module("tensorflow.python.ops.script_ops")
                self._alive.append(function)
                self._tokens[key] = script_ops._py_funcs.insert(function).encode()
            return self._tokens[key]

    def _note(self, node: str) -> None:
        with self._lock:
            self._raised = True
            self.overflows[node] = self.overflows.get(node, 0) + 1
            first = self.overflows[node] == 1
        if first:
            _LOG.info("overflow: %s: its result was saturated; said once for each operator.", node)
