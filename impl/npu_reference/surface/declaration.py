"""What is said of a name of the adapter: where it is found, and what it does on one simulated device."""

from __future__ import annotations

from typing import NamedTuple, Tuple

__all__ = ["KINDS", "MIRRORS", "NO_EFFECT", "REFUSED", "SIMULATED", "STAR", "STATUSES", "Name"]

#: It does here what it does on a device.
SIMULATED = "simulated"

#: It can be used, and on one device there is nothing for it to do.
NO_EFFECT = "no effect on one device"

#: It can be imported; whoever uses it gets an error that says what to use instead.
REFUSED = "refused"

STATUSES = (SIMULATED, NO_EFFECT, REFUSED)

KINDS = ("function", "class", "scope", "object", "module", "value")

#: The module of document 000's star import.
STAR = "npu_bridge.npu_init"

#: Packages that have all modules and names of another one: scripts of TensorFlow 2 reach the adapter by this way.
MIRRORS = {"npu_device.compat.v1": "npu_bridge"}


class Name(NamedTuple):
    """One public name of the adapter.

    Attributes:
        name: as scripts write it.
        module: where it is defined, dotted; for a module, the package it is in.
        kind: one of :data:`KINDS`; a ``scope`` is a context manager, an ``object`` has names of its own.
        status: one of :data:`STATUSES`.
        behaviour: what it does here, one sentence.
        source: what says so: a document by its number, a published API reference, or scripts in use.
        star: whether the star import of :data:`STAR` gives it.
        also: further modules that give it.
        remedy: what to use instead of a refused name.
        successor: the name that has replaced it; empty for a name that nothing has replaced.
    """

    name: str
    module: str
    kind: str
    status: str
    behaviour: str
    source: str
    star: bool = False
    also: Tuple[str, ...] = ()
    remedy: str = ""
    successor: str = ""

    @property
    def dotted(self) -> str:
        """Module and name."""
        return f"{self.module}.{self.name}"

    @property
    def modules(self) -> Tuple[str, ...]:
        """Every module that gives it, its own first."""
        star = (STAR,) if self.star and self.module != STAR else ()
        return (self.module, *star, *self.also)
