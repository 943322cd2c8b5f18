"""How a table declares names: rows of one module, and names of it that are refused alike."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

from npu_reference.surface.declaration import REFUSED, Name

__all__ = [
    "GRADIENT", "HCCL", "IN_STAR", "NPU", "NameTable", "OWN", "REFERENCE", "SCRIPTS", "SOURCES", "instead",
]  # fmt: skip

#: Where a fact about a name is from.
REFERENCE = "TF Adapter API reference"
HCCL = "HCCL Python API reference"
SCRIPTS = "scripts in use"
SOURCES = "the adapter's sources"

#: The package of most that scripts for TensorFlow 1 use.
NPU = "npu_bridge.estimator.npu"

#: What to do instead of what is refused.
OWN = "This is for the adapter's own modules: leave it out, or write it yourself."
GRADIENT = "It is called by itself where the gradient is taken: use tf.gradients."

IN_STAR: Dict[str, Any] = {"star": True}


class NameTable(List[Name]):
    """The names of one table, in its order."""

    def of(self, module: str, source: str, *rows: Tuple[Any, ...], **common: Any) -> None:
        """Declare names of one module: rows of name, kind, status, behaviour, and keywords of :class:`Name`."""
        for name, kind, status, behaviour, *rest in rows:
            given = {"source": source, **common, **(rest[0] if rest else {})}
            self.append(Name(name, module, kind, status, behaviour, **given))

    def refused(
        self, module: str, names: str, behaviour: str, remedy: str, kind: str = "function", **more: Any
    ) -> None:
        """Declare names, with blanks between them, that the adapter's sources have and the simulated device refuses."""
        for name in names.split():
            self.append(Name(name, module, kind, REFUSED, behaviour, SOURCES, remedy=remedy, **more))


def instead(remedy: str, **more: Any) -> Dict[str, Any]:
    return {"remedy": remedy, **more}
