"""The arithmetic of one session's device: which dtypes its GEOPs get, and what the device remembers of overflow."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

from npu_reference.device.numerics import FloatStatus, rewrite
from npu_reference.partition import Partition
from npu_reference.precision import Assignment, NodePrecision, assign
from npu_reference.runtime.config import Settings

__all__ = ["Numerics"]


class Numerics:
    """Device precision of one session.

    Attributes:
        status: the overflow flag.
        assignments: of every partition so far.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.status = FloatStatus()
        self.assignments: List[Assignment] = []

    def dtypes_of(self, op: str) -> Optional[Tuple[Tuple[str, ...], Tuple[str, ...]]]:
        """The dtypes that an operator's inputs and outputs were last computed at; None where it was not."""
        for assignment in reversed(self.assignments):
            found = assignment.by_name().get(op)
            if found is not None:
                return tuple(found.inputs), tuple(found.outputs)
        return None

    def apply(self, graph_def: Any, partition: Partition, feeds: Sequence[str] = ()) -> List[str]:
        """Rewrite the GEOPs of a partitioned graph in place; answers what a user should know of it.

        Raises:
            NpuError: PRECISION_*, where no kernel has what the options demand.
        """
        assignment = assign(partition, self._settings.resolution, entries=())  # a session tells of them once
        if self._settings.exact:
            assignment = _with_exact(assignment, self._settings)
        self.assignments.append(assignment)
        rewrite(graph_def, partition, assignment, self.status, feeds)
        return [f"{note.subject}: {note.message}" if note.subject else note.message for note in assignment.warnings]


def _with_exact(assignment: Assignment, settings: Settings) -> Assignment:
    """The same with some operators at float32 throughout."""
    nodes = [_raised(node) if node.node in settings.exact else node for node in assignment.nodes]
    return Assignment(
        assignment.mode, assignment.edition, nodes, assignment.casts, assignment.warnings, assignment.notes
    )


def _raised(node: NodePrecision) -> NodePrecision:
    return node._replace(inputs=_float32(node.inputs), outputs=_float32(node.outputs), impl_mode=None)


def _float32(dtypes: Tuple[str, ...]) -> Tuple[str, ...]:
    return tuple("float32" if dtype == "float16" else dtype for dtype in dtypes)
