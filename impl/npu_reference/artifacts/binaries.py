"""Decides what a compiled kernel is called, what makes two the same, and what its files say, marked as simulated."""

from __future__ import annotations

import hashlib
import importlib
import json
import re
from typing import Any, Dict, FrozenSet, Iterator, List, Mapping, NamedTuple, Sequence, Tuple

from npu_reference.catalog import Catalog
from npu_reference.compiler import Compiled
from npu_reference.compiler.kernels import Kernel
from npu_reference.compiler.lowering.unfolding import unfold
from npu_reference.partition import Partition
from npu_reference.precision import Assignment, NodePrecision

__all__ = ["FORM", "Binary", "CoreKernels", "content", "sealed", "seal_of", "version"]

#: Number of the form of these files; an entry of another form is no entry.
FORM = 1

#: Engines whose kernels are compiled to files; the AI CPU's and the collectives' come with the device.
_COMPILED = ("cube", "vector")

_MARK = "simulated: made by npu-conformance; no device can run this"
_SMALL = 1024  # bytes of a constant that its reader takes into the kernel, as its attribute (assumed)
_LONGEST = 60  # characters of the part of a name that people read

#: Bytes of a kernel's .o: of any, and for each operator it computes; what the switches of the compiler make of it
#: (runconfig.op_debug_config.kernel_size says that they enlarge it; the numbers are assumed).
_OBJECT_BYTES = (2048, 512)
_ENLARGED = {"-O0": 2, "-g": 3}

_OOM = """\
inline __aicore__ void CheckInvalidAccessOfDDR(int64_t access_offset, int64_t access_extent, int64_t ddr_size,
                                               int32_t read_or_write) {
    if (access_offset < 0 || access_offset + access_extent > ddr_size) {
        if (read_or_write == 1) {
            trap(0X5A5A0001);
        } else {
            trap(0X5A5A0002);
        }
    }
}
"""
_EVENTS = range(4)
_PIPES = ("MTE3", "MTE2", "M", "V", "MTE1", "ALL")


def version() -> str:
    """The version of this program, which stands at the door of the package: above this room, so asked for by name."""
    return str(importlib.import_module("npu_reference").__version__)


class Binary(NamedTuple):
    """A kernel as compiled.

    Attributes:
        stem: the name its files begin with (D13).
        digest: of everything it was compiled from (C1).
        kernel: what it computes.
        types: its operators' types, and its own.
        switches: of the kernel compiler; words: of op_debug_config.
        described: what its description says beyond names, as JSON.
    """

    stem: str
    digest: str
    kernel: Kernel
    types: FrozenSet[str]
    switches: Tuple[str, ...]
    words: Tuple[str, ...]
    described: Mapping[str, Any]

    @property
    def bytes(self) -> int:
        """Size of its .o."""
        base, each = _OBJECT_BYTES
        size = base + each * len(self.kernel.members)
        for switch in self.switches:
            size *= _ENLARGED.get(switch, 1)
        return size


class CoreKernels:
    """The AI Core kernels of a compiled graph, each with what decides whether it equals another."""

    def __init__(
        self,
        compiled: Compiled,
        partition: Partition,
        assignment: Assignment,
        shapes: Mapping[str, Sequence[Any]],
        soc: str,
        options: Mapping[str, Any],
    ) -> None:
        unfolded = unfold(partition, shapes)
        self._graph, self._shapes = unfolded.flat.graph, unfolded.shapes
        self._origin = unfolded.flat.origin
        self._compiled, self._soc, self._options = compiled, soc, options
        self._catalog = Catalog.built_in()
        self._assigned: Dict[str, NodePrecision] = {one.node: one for one in assignment.nodes}
        self._names = {*self._graph.index, *self._origin}
        self._reads: List[List[Tuple[int, int, int]]] = [[] for _ in self._graph.nodes]
        edges = self._graph.edges
        for src, src_slot, dst, dst_slot in zip(edges.src, edges.src_slot, edges.dst, edges.dst_slot):
            if dst_slot >= 0:
                self._reads[dst].append((dst_slot, src, src_slot))
        for reads in self._reads:
            reads.sort()

    def __iter__(self) -> Iterator[Kernel]:
        return (kernel for kernel in self._compiled.fused.kernels if kernel.engine in _COMPILED)

    def operators(self, kernel: Kernel) -> Tuple[str, ...]:
        """The operators of the graph that a kernel computes; none for one that compilation has put in."""
        return tuple(member for member in kernel.members if member in self._names)

    def types(self, kernel: Kernel) -> FrozenSet[str]:
        """Types of the operators a kernel computes, as TensorFlow and as the device calls them, and its own."""
        found = {kernel.op, kernel.type}
        for member in kernel.members:
            assigned = self._assigned.get(member)
            if assigned is not None and assigned.kernel:
                found.add(assigned.kernel)
        for op in kernel.ops:
            found.add(op)
            found.update(self._catalog.kernels_of(op))  # before graph fusion and after it
        return frozenset(found)

    def binary(self, kernel: Kernel, switches: Tuple[str, ...], words: Tuple[str, ...]) -> Binary:
        """The kernel compiled with switches of the compiler and words of op_debug_config."""
        described = self._described(kernel)
        checks = [word for word in ("oom", "check_flag") if word in words]
        key = {
            "form": FORM, "version": version(), "soc": self._soc, "options": self._options,
            "switches": list(switches), "checks": checks, "kernel": described,
        }  # fmt: skip
        digest = hashlib.sha256(_canonical(key)).hexdigest()
        return Binary(f"{self._name(kernel)}_{digest}", digest, kernel, self.types(kernel), switches, words, described)

    def _name(self, kernel: Kernel) -> str:
        types = list(kernel.ops) if len(kernel.members) > 1 else [kernel.type]
        words = "_".join(["fused_op", *types] if len(kernel.members) > 1 else types)
        return "te_" + re.sub(r"[^a-z0-9_]", "_", words.lower())[:_LONGEST].strip("_")

    def _described(self, kernel: Kernel) -> Dict[str, Any]:
        """Everything the kernel's code depends on, and no name: equal operators are compiled once."""
        place = {member: number for number, member in enumerate(kernel.members)}
        tensors = self._compiled.fused.tensors
        return {
            "type": kernel.type,
            "engine": kernel.engine,
            "impl_mode": kernel.impl_mode,
            "elements": kernel.elements,
            "results": kernel.results,
            "width": kernel.width,
            "gemm": list(kernel.gemm) if kernel.gemm is not None else None,
            "inputs": [tensors[at].bytes for at in kernel.reads],
            "outputs": [tensors[at].bytes for at in kernel.writes],
            "passes": sorted(set(kernel.passes)),
            "operators": [self._operator(member, op, place) for member, op in zip(kernel.members, kernel.ops)],
        }

    def _operator(self, member: str, op: str, place: Mapping[str, int]) -> Dict[str, Any]:
        at = self._graph.index.get(member)
        if at is None:
            return {"op": op, "to": member.rpartition("/cast_")[2].partition("@")[0]}
        node, assigned = self._graph.nodes[at], self._assigned.get(self._origin[at])
        attrs = hashlib.sha256()
        for key in sorted(node.proto.attr):
            if not key.startswith("_"):
                attrs.update(key.encode() + b"\0" + node.proto.attr[key].SerializeToString(deterministic=True) + b"\0")
        outputs = range(len(self._graph.output_dtypes(at)))
        return {
            "op": node.op,
            "attributes": attrs.hexdigest(),
            "reads": [self._source(src, slot, place) for _, src, slot in self._reads[at]],
            "input_dtypes": list(assigned.inputs) if assigned is not None else [],
            "output_dtypes": list(assigned.outputs) if assigned is not None else [],
            "input_shapes": [self._shape(self._shapes.of(src, slot)) for _, src, slot in self._reads[at]],
            "output_shapes": [self._shape(self._shapes.of(at, slot)) for slot in outputs],
        }

    def _source(self, src: int, slot: int, place: Mapping[str, int]) -> Any:
        node = self._graph.nodes[src]
        if node.name in place:
            return [place[node.name], slot]
        if node.op == "Const" and node.proto.attr["value"].ByteSize() <= _SMALL:
            return hashlib.sha256(node.proto.attr["value"].SerializeToString(deterministic=True)).hexdigest()
        return None

    @staticmethod
    def _shape(shape: Any) -> Any:
        return None if shape is None else list(shape)


def content(binary: Binary, kind: str) -> bytes:
    """The file of a kernel whose name ends in ``kind``."""
    return _CONTENTS[kind](binary)


def sealed(value: Mapping[str, Any]) -> bytes:
    """A description with its own digest inside, so that a torn or changed one shows."""
    whole = {**value, "seal": seal_of(value)}
    return (json.dumps(whole, indent=4, sort_keys=True) + "\n").encode("ascii")


def seal_of(value: Mapping[str, Any]) -> str:
    """The digest of a description, what it says of itself left out."""
    return hashlib.sha256(_canonical({key: part for key, part in value.items() if key != "seal"})).hexdigest()


def _object(binary: Binary) -> bytes:
    head = f"{_MARK}\nkernel {binary.stem}\ncompiled with {' '.join(binary.switches) or 'no switches'}\n".encode(
        "ascii"
    )
    line = b"simulated\n"
    return (head + line * (binary.bytes // len(line) + 1))[: max(binary.bytes, len(head))]


def _description(binary: Binary) -> bytes:
    return sealed(
        {
            "simulated": _MARK,
            "form": FORM,
            "version": version(),
            "kernelName": binary.stem,
            "binFileName": binary.stem,
            "binFileSuffix": ".o",
            "coreType": "AiCore" if binary.kernel.engine == "cube" else "VectorCore",
            "sha256": hashlib.sha256(_object(binary)).hexdigest(),
            "digest": binary.digest,
            "compileOptions": [*binary.switches, *(word for word in ("oom", "check_flag") if word in binary.words)],
            "compiledFrom": binary.described,
        }
    )


def _code(binary: Binary) -> bytes:
    """The kernel's code as far as the documents show any: the checks that debug options add."""
    lines = [f"// {_MARK}", f"// kernel {binary.stem}"]
    lines += [f"// computes {operator['op']}" for operator in binary.described["operators"]]
    if "oom" in binary.words:
        lines += _OOM.splitlines()
    lines += [f'extern "C" __global__ __aicore__ void {binary.stem}(void) {{']
    if "oom" in binary.words:
        reads = len(binary.kernel.reads)
        for number, size in enumerate([*binary.described["inputs"], *binary.described["outputs"]]):
            lines.append(f"    CheckInvalidAccessOfDDR(0, {size}, {size}, {int(number < reads)});")
    if "check_flag" in binary.words:
        lines += [f"    set_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID{event});" for event in _EVENTS]
        lines += [f"    pipe_barrier(PIPE_{pipe});" for pipe in _PIPES]
        lines += [f"    wait_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID{event});" for event in _EVENTS]
    lines += [f"    // {operator['op']}" for operator in binary.described["operators"]]
    return ("\n".join([*lines, "}"]) + "\n").encode("ascii", "backslashreplace")


def _locations(binary: Binary) -> bytes:
    """Which line of the code is of which operator."""
    lines = _code(binary).decode("ascii").splitlines()
    first = len(lines) - len(binary.kernel.members)
    places = [{"cce_line": first + number, "operator": name} for number, name in enumerate(binary.kernel.members)]
    return _json({"simulated": _MARK, "kernelName": binary.stem, "cceFile": f"{binary.stem}.cce", "loc": places})


def _computing(binary: Binary) -> bytes:
    """What is computed in one kernel, for those that were joined."""
    operators = [
        {"name": name, "type": operator["op"], "output_shapes": operator.get("output_shapes", [])}
        for name, operator in zip(binary.kernel.members, binary.described["operators"])
    ]
    passes = binary.described["passes"]
    return _json({"simulated": _MARK, "kernelName": binary.stem, "fusedBy": passes, "op_list": operators})


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=4, sort_keys=True) + "\n").encode("ascii")


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


_CONTENTS = {".o": _object, ".json": _description, ".cce": _code, "_loc.json": _locations, "_compute.json": _computing}
