"""Every name of the adapter's Python API, declared once: drop-in, documentation, tests and linter follow this table.

Names are those of the five documents, of the published references of TF Adapter and HCCL, of the adapter's public
sources (its repository as of 2026, with names of earlier versions that scripts still use), and of scripts in use.
Names that a module only has because it imports them from TensorFlow are left out, but for the star import's.
"""

from __future__ import annotations

from typing import List

from npu_reference.surface.declaration import SIMULATED, Name
from npu_reference.surface.modules import MODULES
from npu_reference.surface.names import for_itself, operators, tensorflow_2, training
from npu_reference.surface.names.declaring import NPU, REFERENCE

__all__ = ["NAMES"]

#: All names, in the order of their modules.
NAMES: List[Name] = [*training.NAMES, *operators.NAMES, *for_itself.NAMES, *tensorflow_2.NAMES]

#: Modules that the star import gives by their last name.
_STAR_MODULES = (
    "npu_bridge.estimator.npu_ops", f"{NPU}.npu_rnn", f"{NPU}.npu_scope", f"{NPU}.util", f"{NPU}.keras_to_npu",
    f"{NPU}.npu_strategy", f"{NPU}.npu_plugin", "npu_bridge.hccl.hccl_ops", "npu_bridge.npu_cpu.npu_cpu_ops",
    "npu_bridge.profiler.profiler", "npu_bridge.scoped_graph_manager.scoped_graph_manager",
)  # fmt: skip

#: Modules that the adapter's own package gives by their last name.
_PACKAGE_MODULES = (f"{NPU}.npu_estimator", "npu_bridge.hccl.hccl_ops")


def _modules() -> None:
    for module in MODULES:
        package, _, name = module.rpartition(".")
        if package:
            star, also = module in _STAR_MODULES, ("npu_bridge",) if module in _PACKAGE_MODULES else ()
            NAMES.append(Name(name, package, "module", SIMULATED, MODULES[module], REFERENCE, star=star, also=also))


_modules()
