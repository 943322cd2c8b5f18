"""From operators to kernels: one for every operator that has one, with the tensors it reads and writes."""

from __future__ import annotations

import hashlib
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from npu_reference.compiler.collectives import collective_of
from npu_reference.compiler.control import in_order, turns_of
from npu_reference.compiler.functions import tensor_name
from npu_reference.compiler.kernels import GETNEXT, GETNEXT_OPERATORS, Input, Kernel, KernelTensor, Lowered
from npu_reference.compiler.lowering.idle import reduces_nothing, unread
from npu_reference.compiler.lowering.sizes import (
    SIZES,
    Reads,
    elements_of,
    gemm_of,
    launches_of,
    refuse_unknown,
    width_of,
)  # fmt: skip
from npu_reference.compiler.lowering.unfolding import Unfolded
from npu_reference.errors import NpuError
from npu_reference.graphs import DType
from npu_reference.precision import Assignment, NodePrecision
from npu_reference.printing import listed

__all__ = ["lower"]

_VARIABLES = ("VariableV2", "Variable", "VarHandleOp", "TemporaryVariable")
_CONSTANTS = ("Const", "HostConst")
_MERGES = ("Merge", "RefMerge")

#: Operators that put a tensor into a list, array or stack, and which of their inputs it is.
_HOLDS = {"TensorListPushBack": 1, "StackPushV2": 1, "TensorListSetItem": 2, "TensorArrayWriteV3": 2}
_ITERATORS = ("Iterator", "IteratorV2")

#: Operators of the graph executor whose result is what they read: no kernel, no memory of its own.
_SAME_DATA = frozenset(
    [
        "Identity", "IdentityN", "Reshape", "Squeeze", "ExpandDims", "StopGradient", "PreventGradient", "Bitcast",
        "CheckNumerics", "Snapshot", "ReadVariableOp", "Enter", "Exit", "Switch", "Merge", "NextIteration", "LoopCond",
        "RefIdentity", "RefEnter", "RefExit", "RefSwitch", "RefMerge", "RefNextIteration", "PlaceholderWithDefault",
        "EnsureShape", "Print", "Assert", "NoOp", "ControlTrigger",
    ]
)  # fmt: skip

#: Operators that read a part of their first input, as large as what they give; and what the names of those have in
#: them that change as many rows of variables as they are given.
_PARTS = frozenset(["Slice", "StridedSlice", "Gather", "GatherV2", "GatherNd", "ResourceGather", "ResourceGatherNd"])
_ROWS = ("Scatter", "SparseApply")

#: Operators that tell sizes, which are known when the graph is compiled.
_TELLS_SIZES = ("Shape", "ShapeN", "Size", "Rank", "BroadcastGradientArgs")

_NORMALIZES = frozenset(
    f"FusedBatchNorm{gradient}{version}" for gradient in ("", "Grad") for version in ("", "V2", "V3")
)

_RESERVED = 5  # output reserve_space_3 of FusedBatchNormV3, whose use no device of this kind supports (M26)


def lower(
    unfolded: Unfolded, assignment: Assignment, *, taken: Optional[Mapping[str, int]] = None, content: bool = False
) -> Lowered:
    """The kernels of a partition.

    Args:
        taken: the one branch that is computed of conditionals; of others all are.
        content: whether to look into constants, to find equal ones.

    Raises:
        NpuError: DEVICE_SIZES where sizes are unknown, with the inputs that would tell; DEVICE_MODEL for operators
            that the model of the device does not have.
    """
    return _Lowering(unfolded, assignment, taken or {}, content).run()


class _Lowering:
    def __init__(self, unfolded: Unfolded, assignment: Assignment, taken: Mapping[str, int], content: bool) -> None:
        self.look_into, self.content = content, {}  # type: bool, Dict[int, str]
        self.partition, self.shapes, self.control = unfolded.partition, unfolded.shapes, unfolded.control
        self.graph, self.geop_of, self.origin = unfolded.flat.graph, unfolded.flat.assignment, unfolded.flat.origin
        self.taken, self.bounded = taken, unfolded.bounded
        self.assigned: Dict[str, NodePrecision] = {one.node: one for one in assignment.nodes}
        self.casts = {(cast.source, cast.target): cast.to_dtype for cast in assignment.casts}
        names = dict(zip(self.origin, self.geop_of))
        self.leaving = {
            source: dtype
            for (source, target), dtype in self.casts.items()
            if names.get(target.rpartition(":")[0], -1) < 0 <= names.get(source.rpartition(":")[0], -1)
        }
        self.tensors: List[KernelTensor] = []
        self.kernels: List[Kernel] = []
        self.at: Dict[Tuple[int, int], int] = {}  # (node, slot) -> tensor
        self.writer: Dict[int, int] = {}  # tensor -> kernel
        self.kernel_of: Dict[int, List[int]] = {}  # node -> kernels that must have run for it to be done
        self.made_casts: Dict[Tuple[Any, ...], int] = {}
        self.inputs: List[Dict[int, None]] = [{} for _ in self.partition.geops]
        self.queues: List[Dict[int, None]] = [{} for _ in self.partition.geops]
        self.datasets: List[Dict[int, None]] = [{} for _ in self.partition.geops]
        self.unknown: List[int] = []
        self.held: List[int] = []
        self.unread = unread(self.graph, self.geop_of)
        self.reads: Reads = [[] for _ in self.graph.nodes]
        self.controls: List[List[int]] = [[] for _ in self.graph.nodes]
        edges = self.graph.edges
        for src, src_slot, dst, dst_slot in zip(edges.src, edges.src_slot, edges.dst, edges.dst_slot):
            if dst_slot < 0:
                self.controls[dst].append(src)
            else:
                self.reads[dst].append((dst_slot, src, src_slot))
        for reads in self.reads:
            reads.sort()
        if self.control.loops:
            wired = [[(src, slot) for _, src, slot in reads] for reads in self.reads]
            for exit_, ends in turns_of(self.graph, wired).items():
                self.controls[exit_] += ends

    def run(self) -> Lowered:
        self._refuse_what_is_not_modelled()
        before = [[src for _, src, _ in reads] + waits for reads, waits in zip(self.reads, self.controls)]
        order = in_order(self.graph, before)
        for node in order:
            if self.geop_of[node] < 0 or self._is_skipped(node):
                continue
            if node in self.unread:  # others wait for what it waits for
                waits = [number for src in before[node] for number in self.kernel_of.get(src, ())]
                self.kernel_of[node] = list(dict.fromkeys(waits))
            else:
                self._place(node)
        outputs = self._outputs()
        refuse_unknown(self.graph, self.shapes, self.reads, self.unknown)
        return Lowered(
            tuple(self.kernels),
            tuple(self.tensors),
            tuple(tuple(found) for found in self.inputs),
            outputs,
            _geop_needs(len(self.partition.geops), self.geop_of, order, before),
            tuple(tuple(found) for found in self.queues),
            self.control.loops,
            self.bounded,
            dict(self.taken),
            self._again(),
            self.content,
            held=tuple(self.held),
            datasets=tuple(tuple(found) for found in self.datasets),
        )

    def _again(self) -> Tuple[int, ...]:
        copied = (copy.node for geop in self.partition.geops for copy in geop.copies)
        names = (self.partition.graph.nodes[node].name for node in copied)
        places = (self.at.get((self.graph.index[name], 0)) for name in names if name in self.graph.index)
        return tuple(place for place in places if place is not None and self.tensors[place].kind == "constant")

    def _refuse_what_is_not_modelled(self) -> None:
        unset = []
        for node in self.graph.nodes:
            if self.geop_of[node.id] < 0:
                continue
            one = self.assigned.get(self.origin[node.id])
            if one is not None and one.engine == "unset" and node.op not in GETNEXT_OPERATORS + _ITERATORS:
                unset.append(f"{node.name} ({node.op})")
        if unset:
            remedy = "See: npu-conformance precision."
            raise NpuError("DEVICE_MODEL", listed(unset, 5), "no kernel is known for its dtypes.", remedy)

    # -- one operator ---------------------------------------------------------------------------------------------

    def _place(self, node: int) -> None:
        one = self.graph.nodes[node]
        assigned = self.assigned.get(self.origin[node])
        if one.op in _HOLDS:
            size = self.shapes.bytes(*self.shapes.sources(node)[_HOLDS[one.op]]) or 0
            if size:  # one element a turn
                self.held.append(self._tensor(f"{one.name}/held", size * self.control.turns[node]))
        if one.op in GETNEXT_OPERATORS:
            self._take(node)
        elif one.op in _VARIABLES + _CONSTANTS:
            self._keep(node, "variable" if one.op in _VARIABLES else "constant")
            self.kernel_of[node] = self._control_waits(node)
        elif assigned is not None and reduces_nothing(self.shapes, node, one.op):
            self._pass_on(node, same=True)
        elif assigned is None or assigned.engine in ("local", "rts") or one.op in _SAME_DATA or one.op in _ITERATORS:
            self._pass_on(node)
        elif one.op in _TELLS_SIZES or self._folds(node):
            for slot in range(len(self.graph.output_dtypes(node))):
                self._keep(node, "constant", slot)
            self.kernel_of[node] = self._control_waits(node)
        else:
            self._add(node, assigned)

    def _folds(self, node: int) -> bool:
        """Whether compilation computes it: all it reads is constant, and it is the same every time."""
        places = [self.at.get((src, slot)) for _, src, slot in self.reads[node]]
        constant = all(place is not None and self.tensors[place].kind == "constant" for place in places)
        return constant and bool(places) and not self.graph.op_def(node).is_stateful

    def _keep(self, node: int, kind: str, slot: int = 0) -> None:
        one = self.graph.nodes[node]
        size = self._variable_bytes(node) if kind == "variable" else self._bytes(node, slot, None)
        handle = kind == "variable" and one.op == "VarHandleOp"  # its result is a handle: what it names tells
        shape = _stated(one) if handle else self.shapes.known(node, slot)
        dtype = one.attr("dtype") if handle else self.graph.output_dtypes(node)[slot].base
        name = dtype.name if isinstance(dtype, DType) else ""
        place = self._tensor(f"{one.name}:{slot}", size, kind, shape, name)
        self.at[node, slot] = place
        if self.look_into and one.op in _CONSTANTS:
            held = one.proto.attr["value"].SerializeToString(deterministic=True)
            self.content[place] = hashlib.sha256(held).hexdigest()

    def _variable_bytes(self, node: int) -> int:
        one = self.graph.nodes[node]
        shape = _stated(one)
        dtype = one.attr("dtype")
        if shape is not None:
            return elements_of(shape) * (dtype.size or 0 if isinstance(dtype, DType) else 0)
        known = self.shapes.bytes(node)
        if known is None:
            self.unknown.append(node)
        return known or 0

    def _take(self, node: int) -> None:
        """GetNext on the device: what the host has put into the queue."""
        one, geop = self.graph.nodes[node], self.geop_of[node]
        places = []
        for slot in range(len(self.graph.output_dtypes(node))):
            place = self._output(node, slot, None, "input")
            self.at[node, slot] = place
            self.queues[geop].setdefault(place)
            places.append(place)
        number = len(self.kernels)
        self.kernels.append(
            Kernel(
                node=one.name,
                op=one.op,
                type=GETNEXT,
                engine="aicpu",
                geop=geop,
                reads=(),
                writes=tuple(places),
                elements=0,
                results=0,
                width=0,
                gemm=None,
                impl_mode=None,
                after=tuple(self._control_waits(node)),
                members=(one.name,),
                ops=(one.op,),
                turns=self.control.turns[node],
                frame=self.control.frame[node],
                branches=self.control.branches[node],
            )
        )
        self.kernel_of[node] = [number]

    def _pass_on(self, node: int, same: bool = False) -> None:
        """No kernel: outputs are what is read where that is as large, else small values of the graph executor."""
        op = self.graph.nodes[node].op
        reads = [self._read(node, position) for position in range(len(self.reads[node]))]
        self.kernel_of[node] = self._waits(node, reads)
        for slot, dtype in enumerate(self.graph.output_dtypes(node)):
            source = self._handed_on(node, op, reads, slot)
            if source is not None and (same or op in _SAME_DATA):
                held = self.tensors[source]
                if op in _MERGES and held.kind == "constant":
                    name = tensor_name(self.graph, node, slot)
                    source = self._tensor(name, held.bytes, "activation", held.shape, held.dtype)
                self.at[node, slot] = source
                continue
            known = self.shapes.bytes(node, slot)
            if dtype.base.name in ("resource", "variant", "string"):
                self.at[node, slot] = (
                    source if source is not None else self._tensor(tensor_name(self.graph, node, slot), 0)
                )
            elif source is not None and known is not None and known == self.tensors[source].bytes:
                self.at[node, slot] = source
            else:
                kind = "activation" if op in _MERGES else "constant"
                self.at[node, slot] = self._output(node, slot, None, kind)

    def _handed_on(self, node: int, op: str, reads: Sequence[int], slot: int) -> Optional[int]:
        """Which of the tensors read comes out."""
        if not reads:
            return None
        if op in _MERGES:
            taken = [read for read, (_, src, at) in zip(reads, self.reads[node]) if not self._is_left(src, at)]
            return (taken or reads)[0] if slot == 0 else None
        if op.endswith("Switch"):
            return reads[0]
        return reads[slot if op == "IdentityN" else 0]

    def _is_skipped(self, node: int) -> bool:
        """Whether it stands in a branch that is not the one computed."""
        return any(self.taken.get(name, side) != side for name, side in self.control.branches[node])

    def _is_left(self, src: int, slot: int) -> bool:
        """Whether a Merge gets nothing along this edge."""
        asked = self.control.asks.get(src)
        return self._is_skipped(src) or (asked is not None and self.taken.get(asked, slot) != slot)

    def _read(self, node: int, position: int) -> int:
        """The tensor that an input reads, at the dtype it wants it in."""
        source = self._source(node, position)
        cast = self.casts.get(self._edge(node, position))
        return source if cast is None else self._cast(node, position, source, cast)

    def _add(self, node: int, assigned: NodePrecision) -> None:
        one = self.graph.nodes[node]
        geop = self.geop_of[node]
        reads = [self._read(node, position) for position in range(len(self.reads[node]))]
        after = self._waits(node, reads)
        writes = []
        number = len(self.kernels)
        for slot, dtype in enumerate(self.graph.output_dtypes(node)):
            if dtype.is_ref and reads:
                self.at[node, slot] = reads[0]  # a reference to the variable that was written
                writes.append(reads[0])
                continue
            computed = assigned.outputs[slot] if slot < len(assigned.outputs) else None
            place = self._output(node, slot, computed)
            self.at[node, slot] = place
            writes.append(place)
        writes += [place for place in reads if self._stored(place, one.op) and place not in writes]
        for place in writes:
            self.writer[place] = number
        stored = [place for place in writes if place in reads]  # variables of which rows are stored into
        gemm = gemm_of(self.shapes, node, one, assigned)
        elements = self._elements(node)
        if assigned.engine == "cube" and gemm is None and elements is not None:
            self.unknown.append(node)
        self.kernels.append(
            Kernel(
                node=one.name,
                op=one.op,
                type=assigned.kernel or one.op,
                engine=assigned.engine,
                geop=geop,
                reads=tuple(dict.fromkeys(reads)),
                writes=tuple(writes),
                elements=elements or 0,
                results=elements_of(self.shapes.known(node) or ()) if self.graph.output_dtypes(node) else 0,
                width=width_of(assigned),
                gemm=gemm,
                impl_mode=assigned.impl_mode,
                after=tuple(after),
                members=(one.name,),
                ops=(one.op,),
                turns=self.control.turns[node],
                frame=self.control.frame[node],
                branches=self.control.branches[node],
                collective=collective_of(one.op, one.attr, (*assigned.inputs, *assigned.outputs)),
                inputs=tuple(self._input(node, position, place, assigned) for position, place in enumerate(reads)),
                again=sum(self.tensors[place].bytes for place in set(reads[: _twice(one)])),
                more=1 if _twice(one) else launches_of(self.shapes, node, one.op) - 1,
                rows=self._rows(node, one.op),
                unread=self._untouched(one.op, reads[:1] if one.op in _PARTS else stored, writes[:1], reads),
                unwritten=0 if one.op in _PARTS else self._untouched(one.op, stored, (), reads),
            )
        )
        self.kernel_of[node] = [number]

    def _untouched(self, op: str, wholes: Sequence[int], taken: Sequence[int], reads: Sequence[int]) -> int:
        """Bytes of whole tensors, or of variables, beyond those of the parts that are read or stored."""
        if op not in _PARTS and not any(word in op for word in _ROWS):
            return 0
        others = taken or [place for place in reads if self.tensors[place].kind != "variable"]
        part = max((self.tensors[place].bytes for place in others), default=0)
        return sum(max(self.tensors[place].bytes - part, 0) for place in dict.fromkeys(wholes))

    def _rows(self, node: int, op: str) -> int:
        """How many rows of a table it reads or adds to, by the numbers it is given."""
        if "Gather" not in op and "Segment" not in op and not any(word in op for word in _ROWS):
            return 0
        position = int(op != "ScatterNd")
        if "Apply" in op:
            dtypes = [self.graph.output_dtypes(src)[at].base.name for _, src, at in self.reads[node]]
            position = next((k for k, dtype in enumerate(dtypes) if dtype in ("int32", "int64")), -1)
        shape = self.shapes.known_input(node, position) or ()
        return elements_of(shape[:-1] if "Nd" in op else shape) if shape else 0

    def _stored(self, place: int, op: str) -> bool:
        """Whether an operator without outputs to speak of stores into a variable that it reads by its handle."""
        return self.tensors[place].kind == "variable" and ("Assign" in op or "Apply" in op or "Scatter" in op)

    def _cast(self, node: int, position: int, source: int, dtype: str) -> int:
        """The tensor that an input reads, at another dtype."""
        _, src, slot = self.reads[node][position]
        return self._cast_of(source, node, src, slot, dtype)

    def _cast_of(self, source: int, node: int, src: int, slot: int, dtype: str) -> int:
        """A tensor at another dtype; one kernel for all readers of a GEOP that want the same, where ``node`` is."""
        geop = self.geop_of[node]
        frame, branches = self.control.frame[node], self.control.branches[node]
        key = (source, geop, dtype, frame, branches)
        if key not in self.made_casts:
            shape = self.shapes.known(src, slot)
            elements = 0 if shape is None else elements_of(shape)
            name = tensor_name(self.graph, src, slot)
            kind = "constant" if self.tensors[source].kind == "constant" else "activation"
            place = self._tensor(f"{name}/cast_{dtype}", elements * SIZES.get(dtype, 4), kind, shape, dtype)
            if kind == "constant":  # compilation computes it
                self.made_casts[key] = place
                if source in self.content:
                    self.content[place] = f"{self.content[source]} as {dtype}"
                return place
            waits = dict.fromkeys(self.kernel_of.get(src, ()))
            if source in self.writer:
                waits.setdefault(self.writer[source])
            self.made_casts[key] = place
            self.writer[place] = len(self.kernels)
            self.kernels.append(
                Kernel(
                    node=f"{name}/cast_{dtype}",
                    op="Cast",
                    type="Cast",
                    engine="vector",
                    geop=geop,
                    reads=(source,),
                    writes=(place,),
                    elements=elements,
                    results=elements,
                    width=SIZES["float32"],
                    gemm=None,
                    impl_mode=None,
                    after=tuple(waits),
                    members=(f"{name}/cast_{dtype}@{'/'.join([str(geop), frame, *map(str, branches)])}",),
                    ops=("Cast",),
                    turns=self.control.turns[node],
                    frame=frame,
                    branches=branches,
                    inputs=(Input(source, shape, self.tensors[source].dtype),),
                )
            )
        return self.made_casts[key]

    # -- tensors --------------------------------------------------------------------------------------------------

    def _source(self, node: int, position: int) -> int:
        """The tensor that an input reads; one from outside the GEOP is copied in."""
        _, src, slot = self.reads[node][position]
        geop = self.geop_of[node]
        place = self.at.get((src, slot))
        if place is None:  # from the host, or along a loop's back edge
            kind = "activation" if self.geop_of[src] >= 0 else "input"
            place = self._output(src, slot, None, kind)
            self.at[src, slot] = place
        if self.tensors[place].kind == "input" and place not in self.queues[geop]:
            self.inputs[geop].setdefault(place)
            if self.graph.nodes[src].op in GETNEXT_OPERATORS:
                self.datasets[geop].setdefault(place)
        return place

    def _tensor(
        self, name: str, size: int, kind: str = "activation", shape: Optional[Tuple[int, ...]] = None, dtype: str = ""
    ) -> int:
        self.tensors.append(KernelTensor(name, size, kind, shape, dtype))
        return len(self.tensors) - 1

    def _output(self, node: int, slot: int, computed: Optional[str], kind: str = "activation") -> int:
        """A tensor for an output of a node, at the dtype it is computed in."""
        dtype = computed or self.graph.output_dtypes(node)[slot].base.name
        name, size = tensor_name(self.graph, node, slot), self._bytes(node, slot, computed)
        return self._tensor(name, size, kind, self.shapes.known(node, slot), dtype)

    def _input(self, node: int, position: int, place: int, assigned: NodePrecision) -> Input:
        """What an input reads; through a handle, the variable itself."""
        dtype = assigned.inputs[position] if position < len(assigned.inputs) else ""
        if dtype == "resource" or not dtype:
            return Input(place, self.tensors[place].shape, self.tensors[place].dtype or dtype)
        return Input(place, self.shapes.known_input(node, position), dtype)

    def _bytes(self, node: int, slot: int, computed: Optional[str]) -> int:
        shape = self.shapes.known(node, slot)
        dtype = self.graph.output_dtypes(node)[slot].base
        if dtype.name in ("resource", "variant", "string"):
            return 0
        one = self.graph.nodes[node]
        if shape is None and (one.op in _TELLS_SIZES or (one.op == "FusedBatchNormV3" and slot == _RESERVED)):
            return 0  # a few numbers; and what only other devices give
        if shape is None:
            self.unknown.append(node)
            return 0
        return elements_of(shape) * SIZES.get(computed or dtype.name, dtype.size or 0)

    def _elements(self, node: int) -> Optional[int]:
        found = [self.shapes.known(node, slot) for slot in range(len(self.graph.output_dtypes(node)))]
        op, whole = self.graph.nodes[node].op, ()  # type: str, Tuple[int, ...]
        if op in _PARTS:
            whole = (0,)
        elif any(word in op for word in _ROWS):
            whole = tuple(k for k, (_, src, _) in enumerate(self.reads[node]) if self._is_variable(src))
        inputs = [position for position in range(len(self.reads[node])) if position not in whole]
        found += [self.shapes.known_input(node, position) for position in inputs]
        sizes = [elements_of(shape) for shape in found if shape is not None]
        return max(sizes) if sizes else None

    def _is_variable(self, node: int) -> bool:
        place = self.at.get((node, 0))
        return place is not None and self.tensors[place].kind == "variable"

    def _edge(self, node: int, position: int) -> Tuple[str, str]:
        slot, src, src_slot = self.reads[node][position]
        return f"{self.origin[src]}:{src_slot}", f"{self.origin[node]}:{slot}"

    def _waits(self, node: int, reads: Sequence[int]) -> List[int]:
        """Kernels that control edges, handles and passed-on values make it wait for."""
        found: Dict[int, None] = dict.fromkeys(self._control_waits(node))
        for _, src, _ in self.reads[node]:
            if self.geop_of[src] >= 0 and src in self.kernel_of:
                found.update(dict.fromkeys(self.kernel_of[src]))
        for place in reads:
            if place in self.writer:
                found.setdefault(self.writer[place])
        return list(found)

    def _control_waits(self, node: int) -> List[int]:
        return list(dict.fromkeys(number for src in self.controls[node] for number in self.kernel_of.get(src, ())))

    def _outputs(self) -> Tuple[Tuple[int, ...], ...]:
        found: List[Dict[int, None]] = [{} for _ in self.partition.geops]
        for border in self.partition.borders:
            if border.direction != "d2h":
                continue
            name, _, slot = border.source.rpartition(":")
            node = self.graph.index[name]
            place = self.at.get((node, int(slot)))
            if place is not None:
                found[self.geop_of[node]].setdefault(self._at_border(node, int(slot), place))
        return tuple(tuple(places) for places in found)

    def _at_border(self, node: int, slot: int, place: int) -> int:
        """What the host gets: the tensor at the graph's dtype, whatever it was computed in."""
        dtype = self.leaving.get(f"{self.origin[node]}:{slot}")
        return place if dtype is None else self._cast_of(place, node, node, slot, dtype)


def _twice(one: Any) -> int:
    """How many of the first inputs of an operator are read twice: batch normalization sums over all examples first.

    The compiler makes two kernels of it, as FusedBatchnormFusionPass and FusedBatchNormGradFusionPass say (derived).
    """
    if one.op not in _NORMALIZES or not one.attr("is_training", True):
        return 0
    return 2 if "Grad" in one.op else 1


def _stated(node: Any) -> Optional[Tuple[int, ...]]:
    """The shape that a node's attribute states, where every size is known."""
    shape = node.attr("shape")
    return shape if isinstance(shape, tuple) and all(size is not None and size >= 0 for size in shape) else None


def _geop_needs(
    count: int, geop_of: Sequence[int], order: Sequence[int], before: Sequence[Sequence[int]]
) -> Tuple[Tuple[int, ...], ...]:
    """By GEOP, the GEOPs reached backwards over host operators only."""
    behind: Dict[int, Set[int]] = {}
    needs: List[Set[int]] = [set() for _ in range(count)]
    for node in order:
        for src in before[node]:
            found = {geop_of[src]} if geop_of[src] >= 0 else behind.get(src, set())
            if geop_of[node] < 0:
                behind.setdefault(node, set()).update(found)
            else:
                needs[geop_of[node]].update(geop for geop in found if geop != geop_of[node])
    return tuple(tuple(sorted(found)) for found in needs)
