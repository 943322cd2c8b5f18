"""What the catalogue knows of one TensorFlow operator: its kernel, engine, dtype columns, list flag and modes."""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple

__all__ = ["ENGINES", "FLAGS", "Column", "Descriptor", "Fused"]

#: Where an operator runs. "local", "rts" and "hccl" have no kernel to choose: the graph executor, the runtime and the
#: collective library take them as they are (research: local, RTS and HCCL operators bind directly).
ENGINES = ("cube", "vector", "aicpu", "local", "rts", "hccl", "host")

#: The `precision_reduce` flag of an ops-info file, and the list it stands for (document 002, 003, 004).
FLAGS = {"true": "trustlist", "false": "blocklist"}


class Column(NamedTuple):
    """One legal combination of dtypes of a kernel, by position of its inputs and outputs."""

    inputs: Tuple[str, ...]
    outputs: Tuple[str, ...]


class Fused(NamedTuple):
    """What graph fusion makes of an operator: a kernel of another name with a list flag of its own.

    `drops` are the inputs (TensorFlow's argument positions) that become attributes, so that fusion happens only where
    they are constants; without any it always happens. `columns` are the kernel's own where it takes other dtypes than
    the kernel before fusion, with `takes_in` and `takes_out` as in :class:`Descriptor`; empty where they are the same.
    """

    kernel: str
    flag: Optional[str]
    drops: Tuple[int, ...]
    columns: Tuple[Column, ...] = ()
    takes_in: Tuple[int, ...] = ()
    takes_out: Tuple[int, ...] = ()


class Descriptor(NamedTuple):
    """One TensorFlow operator.

    Attributes:
        ge_op: the operator's name on the device (Ascend IR); empty for operators of the host.
        engine: one of :data:`ENGINES`, that of its AI Core kernel where it has one.
        columns: its AI Core kernel's dtypes, in the library's order; empty without one.
        takes_in, takes_out: for every argument of the TensorFlow operator the position in a column, or -1 where the
            kernel has no such tensor. A list argument repeats its position.
        aicpu_dtypes: dtypes of the first tensor that its AI CPU kernels take.
        aicpu_libraries: the libraries these are of; "TFKernel" runs TensorFlow's own kernel on the AI CPU.
        has_aicpu: whether there is an AI CPU kernel.
        flag: "blocklist", "trustlist", "graylist" (no `precision_reduce` in its entry), None: no entry.
        fused: what graph fusion makes of it, or None.
        fp16_priority: whether it is a cube operator of the list that prefers float16.
        source: where these facts are from.
    """

    tf_op: str
    ge_op: str
    engine: str
    columns: Tuple[Column, ...] = ()
    takes_in: Tuple[int, ...] = ()
    takes_out: Tuple[int, ...] = ()
    aicpu_dtypes: Tuple[str, ...] = ()
    aicpu_libraries: Tuple[str, ...] = ()
    has_aicpu: bool = False
    flag: Optional[str] = None
    impl_modes: Tuple[str, ...] = ()
    fused: Optional[Fused] = None
    fp16_priority: bool = False
    source: str = ""

    def after_fusion(self) -> Descriptor:
        """What is known of the operator once graph fusion has made its kernel; itself where nothing is fused."""
        fused = self.fused
        if fused is None:
            return self
        if not fused.columns:
            return self._replace(ge_op=fused.kernel, flag=fused.flag)
        return self._replace(
            ge_op=fused.kernel,
            flag=fused.flag,
            engine=self.engine if self.engine in ("cube", "vector") else "vector",
            columns=fused.columns,
            takes_in=fused.takes_in,
            takes_out=fused.takes_out,
        )
