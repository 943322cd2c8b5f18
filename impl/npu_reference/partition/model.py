"""What a partition is: GEOPs, host operators with their reasons, borders, and notes on how it came about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Hashable, List, NamedTuple, Optional, Sequence, Tuple

from npu_reference.collection import no_collection
from npu_reference.partition.reasons import Reason

if TYPE_CHECKING:
    from npu_reference.graphs import DType, Graph
    from npu_reference.partition.structure.wires import Wires

__all__ = ["Argument", "Blame", "Border", "Copy", "Geop", "HostNode", "Note", "Partition", "Separation", "Step"]


class Argument(NamedTuple):
    """One argument or return of a GEOP: the tensor `node:slot` and its (base) type."""

    node: int
    slot: int
    dtype: DType
    name: str

    def to_json(self) -> str:
        return self.name


class Copy(NamedTuple):
    """An operator that is in several GEOPs: `node`, of which this GEOP holds a copy called `name`."""

    node: int
    name: str
    kind: str  # "variable" or "constant"


class Geop(NamedTuple):
    """One GEOP: member nodes (ids, ascending), copies, arguments and returns in order, and what it waits for."""

    name: str
    nodes: Tuple[int, ...]
    args: Tuple[Argument, ...]
    rets: Tuple[Argument, ...]
    copies: Tuple[Copy, ...]
    control_in: Tuple[int, ...]  # nodes outside (or members of other GEOPs) that run before it


class Step(NamedTuple):
    """One link of a witness: a node and why it counts."""

    node: str
    why: str

    def to_json(self) -> Dict[str, str]:
        return {"node": self.node, "why": self.why}


class HostNode(NamedTuple):
    """An operator that stays on the host, with the chain of facts down to its cause, and what would change it."""

    node: str
    op: str
    reason: Reason
    witness: Tuple[Step, ...]
    remedy: str

    def to_json(self) -> Dict[str, Any]:
        return {
            "node": self.node,
            "op": self.op,
            "reason": self.reason.value,
            "witness": [step.to_json() for step in self.witness],
            "remedy": self.remedy,
        }


class Border(NamedTuple):
    """A tensor that crosses: once each source tensor and direction, however many consumers it has (M24)."""

    source: str  # node:slot
    dtype: DType
    direction: str  # "h2d", "d2h" or "d2d"
    consumers: Tuple[str, ...]  # GEOP names, or node names on the host
    bytes: Optional[int]  # None where no static shape is known

    def to_json(self) -> Dict[str, Any]:
        return {
            "source": self.source,
            "dtype": self.dtype.name,
            "direction": self.direction,
            "consumers": list(self.consumers),
            "bytes": self.bytes,
        }


class Note(NamedTuple):
    """Something the user should know of this partition: level is "info", "warning" or "error"."""

    code: str
    message: str
    subject: str = ""
    level: str = "info"

    def to_json(self) -> Dict[str, str]:
        return {"code": self.code, "message": self.message, "subject": self.subject, "level": self.level}


class Separation(NamedTuple):
    """Why two neighbouring GEOPs are not one: a path from the first to the second through the host."""

    before: str
    after: str
    path: Tuple[str, ...]

    def to_json(self) -> Dict[str, Any]:
        return {"before": self.before, "after": self.after, "path": list(self.path)}


class Blame(NamedTuple):
    """What would be gained if the device had an operator type."""

    op: str
    nodes: int
    geops_saved: int
    copies_saved: int  # tensors a step that no longer cross a border, less those that newly do
    bytes_saved: Optional[int]  # of these copies; None where one of them has no known size

    def to_json(self) -> Dict[str, Any]:
        return self._asdict()


class Partition:
    """The answer of :func:`npu_reference.partition.partition`; treat it as immutable.

    Attributes:
        graph: the graph that was partitioned; it differs from the one given where operators were rewritten first.
        assignment: for every node of `graph` the index of its GEOP in `geops`, or -1 on the host.
        geops, host, borders, min_geops, notes: see docs/architecture.md.
        policy: the policy it follows.
        wires: the graph's edges with their kinds.
        derived: what compilation has worked out of nothing but the partition and its key, and would again.
    """

    def __init__(
        self,
        graph: Graph,
        assignment: Sequence[int],
        geops: Sequence[Geop],
        host: Sequence[HostNode],
        borders: Sequence[Border],
        min_geops: int,
        notes: Sequence[Note],
        policy: str,
        wires: Wires,
    ) -> None:
        self.graph = graph
        self.assignment = assignment
        self.geops = tuple(geops)
        self.host = tuple(host)
        self.borders = tuple(borders)
        self.min_geops = min_geops
        self.notes = tuple(notes)
        self.policy = policy
        self.wires = wires
        self.derived: Dict[Hashable, Any] = {}

    def __repr__(self) -> str:
        return f"Partition({len(self.geops)} GEOPs, {len(self.host)} operators on the host)"

    def node_names(self, geop: Geop) -> List[str]:
        """Members of a GEOP by name, copies included under the name of their original, sorted."""
        nodes = self.graph.nodes
        names = {nodes[node].name for node in geop.nodes}
        names.update(nodes[copy.node].name for copy in geop.copies)
        return sorted(names)

    @no_collection()
    def to_json(self) -> Dict[str, Any]:
        """The protocol's answer to `partition`."""
        nodes = self.graph.nodes
        return {
            "geops": [
                {
                    "name": geop.name,
                    "nodes": [nodes[node].name for node in geop.nodes],
                    "args": [argument.name for argument in geop.args],
                    "rets": [argument.name for argument in geop.rets],
                    "copies": [
                        {"node": nodes[copy.node].name, "name": copy.name, "kind": copy.kind} for copy in geop.copies
                    ],
                }
                for geop in self.geops
            ],
            "host": [entry.to_json() for entry in self.host],
            "borders": [border.to_json() for border in self.borders],
            "min_geops": self.min_geops,
            "notes": [note.to_json() for note in self.notes],
        }
