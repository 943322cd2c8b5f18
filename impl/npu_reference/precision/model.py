"""What an assignment is: dtype, engine, list and mode of every device operator, casts between them, and notes."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from npu_reference.collection import no_collection

__all__ = ["SCHEMA", "Assignment", "Cast", "NodePrecision", "PrecisionNote"]

#: Name and version of the JSON form.
SCHEMA = "npu-conformance/precision/1"


class NodePrecision(NamedTuple):
    """How one operator of the device is computed.

    Attributes:
        node: its name; an operator of a function's body is called `function/node`.
        op, kernel: TensorFlow's operator, and the device's after graph fusion (empty where there is none).
        geop: the GEOP it is in; for a function's body the first that calls it.
        engine: cube, vector, aicpu; local, rts, hccl where there is no kernel to choose; unset where no kernel is
            known for its dtypes (then a warning says so).
        inputs, outputs: dtype names as computed; a resource stays "resource".
        list: blocklist, graylist, trustlist, or None where the library has no AI Core entry.
        impl_mode: its implementation mode, or None: the kernel's own.
        why: one sentence with the rule that decided.
        function: the function whose body it is in, or None.
    """

    node: str
    op: str
    kernel: str
    geop: str
    engine: str
    inputs: Tuple[str, ...]
    outputs: Tuple[str, ...]
    list: Optional[str]
    impl_mode: Optional[str]
    why: str
    function: Optional[str] = None

    def to_json(self) -> Dict[str, Any]:
        return {
            "node": self.node,
            "op": self.op,
            "kernel": self.kernel,
            "geop": self.geop,
            "engine": self.engine,
            "inputs": list(self.inputs),
            "outputs": list(self.outputs),
            "list": self.list,
            "impl_mode": self.impl_mode,
            "why": self.why,
        }


class Cast(NamedTuple):
    """A conversion on one edge: `source` and `target` are `node:slot`, an output and an input (P13)."""

    source: str
    target: str
    from_dtype: str
    to_dtype: str

    def to_json(self) -> Dict[str, str]:
        return {"source": self.source, "target": self.target, "from": self.from_dtype, "to": self.to_dtype}


class PrecisionNote(NamedTuple):
    """Something the user should know: a code, one sentence, and the node, operator type or option it is about."""

    code: str
    message: str
    subject: str = ""

    def to_json(self) -> Dict[str, str]:
        return {"code": self.code, "message": self.message, "subject": self.subject}


class Assignment:
    """The answer of :func:`npu_reference.precision.assign`; treat it as immutable.

    Attributes:
        mode: the precision mode in effect, in the words of the option.
        edition: the edition of the documents followed.
        nodes: device operators in graph order, then those of the functions they call.
        casts: where the two ends of an edge disagree, borders included, in the order of their targets.
        warnings: what may cost accuracy or has no effect; notes: how it came about.
    """

    def __init__(
        self,
        mode: str,
        edition: str,
        nodes: Sequence[NodePrecision],
        casts: Sequence[Cast],
        warnings: Sequence[PrecisionNote],
        notes: Sequence[PrecisionNote],
    ) -> None:
        self.mode = mode
        self.edition = edition
        self.nodes = tuple(nodes)
        self.casts = tuple(casts)
        self.warnings = tuple(warnings)
        self.notes = tuple(notes)

    def __repr__(self) -> str:
        return f"Assignment({self.mode}: {len(self.nodes)} operators, {len(self.casts)} casts)"

    def by_name(self) -> Dict[str, NodePrecision]:
        """Operators by name; made at every call."""
        return {node.node: node for node in self.nodes}

    def summary(self) -> Dict[str, Any]:
        """Counts by engine, list and dtype; "mixed" is an operator whose float tensors have several dtypes."""
        return {
            "mode": self.mode,
            "edition": self.edition,
            "operators": len(self.nodes),
            "casts": len(self.casts),
            "engines": _counted([node.engine for node in self.nodes]),
            "lists": _counted([node.list or "none" for node in self.nodes]),
            "dtypes": _counted([float_dtype(node) for node in self.nodes]),
            "impl_modes": _counted([node.impl_mode or "none" for node in self.nodes]),
        }

    @no_collection()
    def to_json(self) -> Dict[str, Any]:
        """The protocol's answer to `precision`."""
        return {
            "nodes": [node.to_json() for node in self.nodes],
            "casts": [cast.to_json() for cast in self.casts],
            "warnings": [note.to_json() for note in self.warnings],
            "notes": [note.to_json() for note in self.notes],
            "summary": self.summary(),
        }


_FLOATS = ("float16", "float32", "bfloat16", "float64")


def float_dtype(node: NodePrecision) -> str:
    """The one float dtype of an operator's tensors; "mixed" for several, "other" for none."""
    found = {dtype for dtype in (*node.inputs, *node.outputs) if dtype in _FLOATS}
    if not found:
        return "other"
    return found.pop() if len(found) == 1 else "mixed"


def _counted(values: List[str]) -> Dict[str, int]:
    counts: Dict[str, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return dict(sorted(counts.items()))
