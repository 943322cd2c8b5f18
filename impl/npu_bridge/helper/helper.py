"""Operators loaded by hand, by the names that the adapter's library gives them."""

from __future__ import annotations

import importlib
from typing import Any, Tuple

from npu_bridge._names import module_getattr
from npu_reference.graphs import python_names
from npu_reference.surface import Refused, missing, of_library, where

__all__ = ["get_gen_ops"]

_MODULES = ("npu_bridge.estimator.npu_ops", "npu_bridge.estimator.npu_aicore_ops", "npu_bridge.npu_cpu.npu_cpu_ops",
            "npu_bridge.tbe.npu_vector_ops")  # fmt: skip
#: Operators of the library that the functions called by hand name otherwise, where both take the same arguments.
_OTHERWISE = {"random_choice_with_mask": "randomchoicewithmask", "npu_init": "initialize_system",
              "npu_shutdown": "shutdown_system"}  # fmt: skip


class _Operators:
    """Stands for the loaded library: what is simulated by itself is here, what is not says so."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        for home, function in self._homes(name):
            return getattr(home, function)
        operator = python_names().get(name)
        if operator is not None:
            return Refused(of_library(name, operator))
        raise missing(name, "npu_bridge.helper.helper", where())

    def _homes(self, name: str) -> Tuple[Tuple[Any, str], ...]:
        operator = _OTHERWISE.get(name, name)
        modules = [importlib.import_module(module) for module in _MODULES]
        return tuple((module, operator) for module in modules if operator in module.__all__)


_LIBRARY = _Operators()


def get_gen_ops() -> Any:
    """The operators of the adapter's library, such as ``npu_alloc_float_status``."""
    return _LIBRARY


__getattr__ = module_getattr(__name__)
