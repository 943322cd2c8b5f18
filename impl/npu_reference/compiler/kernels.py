"""What the device computes, as values: kernels with the tensors they read and write."""

from __future__ import annotations

from typing import Mapping, NamedTuple, Optional, Tuple

from npu_reference.compiler.collectives import Collective
from npu_reference.compiler.control import Loop
from npu_reference.compiler.functions import Branch

__all__ = ["GETNEXT", "GETNEXT_OPERATORS", "Gemm", "Input", "Kernel", "KernelTensor", "Lowered"]

#: The kernel that takes an element of the dataset from the queue on the device.
GETNEXT = "GetNext"
GETNEXT_OPERATORS = (
    "IteratorGetNext", "IteratorGetNextSync", "AdpGetNext", "GetNext", "DynamicGetNext", "DynamicGetNextV2",
)  # fmt: skip


class KernelTensor(NamedTuple):
    """Something in the device's memory: name as ``node:slot``, bytes, and what it is.

    kind: ``variable`` and ``constant`` stay, ``input`` is copied in, ``activation`` lives from its writer to its last
    reader.
    shape: None where a size is not known; dtype: its name as computed.
    """

    name: str
    bytes: int
    kind: str
    shape: Optional[Tuple[int, ...]] = None
    dtype: str = ""


class Input(NamedTuple):
    """What an operator reads: the tensor's place, and its shape and dtype as this operator reads it (a Reshape
    before it changes the shape and not the tensor)."""

    place: int
    shape: Optional[Tuple[int, ...]]
    dtype: str


class Gemm(NamedTuple):
    """A product of matrices: ``batch`` times [m, k] by [k, n]; ``operand`` and ``result`` bytes an element.

    ``window`` is how many elements of k come from one element's surroundings (a convolution's kernel area), else 1;
    ``gradient`` is 1 where a convolution goes backwards.
    """

    batch: int
    m: int
    k: int
    n: int
    operand: int
    result: int
    window: int = 1
    channels: int = 0
    gradient: int = 0

    @property
    def operations(self) -> int:
        return 2 * self.batch * self.m * self.k * self.n


class Kernel(NamedTuple):
    """One kernel.

    Attributes:
        node, op: the operator it is for, or what it casts; type: the kernel's own name.
        engine: ``cube``, ``vector``, ``aicpu`` or ``hccl``.
        geop: index in the partition.
        reads, writes: places in :attr:`Lowered.tensors`.
        inputs: what it reads, in the order of its operators' inputs; a tensor that two of them read is there once.
        again: bytes that it reads a second time, when what it sums over them is known; more: launches after the first,
            of such parts and of the steps of a recurrent layer.
        unread, unwritten: bytes of what it reads and writes that it does not touch: rows of a table, parts of a tensor.
        rows: of tables, that it finds by their numbers, each on its own.
        elements: of its largest tensor; results: of its first output; width: bytes of one as computed.
        gemm: what a cube kernel multiplies.
        impl_mode: as assigned, or None.
        after: kernels it follows though it reads nothing of them.
        members: operators it computes; ops: what they are; passes: fusion passes that made it so.
        scratch: the place of its workspace, if it has one.
        turns: how often it runs in a step; frame: the loop it is in; branches: of conditionals, in which it stands.
        collective: what it communicates, None for nothing.
    """

    node: str
    op: str
    type: str
    engine: str
    geop: int
    reads: Tuple[int, ...]
    writes: Tuple[int, ...]
    elements: int
    results: int
    width: int
    gemm: Optional[Gemm]
    impl_mode: Optional[str]
    after: Tuple[int, ...]
    members: Tuple[str, ...]
    ops: Tuple[str, ...]
    passes: Tuple[str, ...] = ()
    scratch: Tuple[int, ...] = ()
    turns: int = 1
    frame: str = ""
    branches: Tuple[Branch, ...] = ()
    collective: Optional[Collective] = None
    inputs: Tuple[Input, ...] = ()
    again: int = 0
    more: int = 0
    unread: int = 0
    unwritten: int = 0
    rows: int = 0


class Lowered(NamedTuple):
    """All kernels of a partition in an order in which they can run, and the tensors between them.

    Attributes:
        kernels, tensors: places in these lists are how they name each other.
        inputs: by GEOP, the tensors copied in from the host; outputs: those copied back.
        needs: by GEOP, the GEOPs that end before it starts.
        queues: by GEOP, the tensors that GetNext takes from the queue on the device.
        datasets: by GEOP, those of its inputs that a GetNext on the host gives.
        loops: the graph's loops, with the turns that are counted.
        bounded: tensors whose sizes depend on values, counted as large as they can be.
        taken: conditional to the branch that is counted.
        again: constants that another GEOP has a copy of, once for each copy.
        content: constant to what it holds, of those whose content was asked for; equal ones have equal content.
        held: what lists, arrays and stacks hold after all turns of the loops that fill them.
    """

    kernels: Tuple[Kernel, ...]
    tensors: Tuple[KernelTensor, ...]
    inputs: Tuple[Tuple[int, ...], ...]
    outputs: Tuple[Tuple[int, ...], ...]
    needs: Tuple[Tuple[int, ...], ...]
    queues: Tuple[Tuple[int, ...], ...]
    loops: Tuple[Loop, ...]
    bounded: Tuple[str, ...]
    taken: Mapping[str, int]
    again: Tuple[int, ...]
    content: Mapping[int, str]
    held: Tuple[int, ...] = ()
    datasets: Tuple[Tuple[int, ...], ...] = ()
