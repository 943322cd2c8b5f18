"""Which engine and kernel column one operator gets, from its dtypes, its list and the mode."""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Sequence, Tuple

from npu_reference.catalog.descriptor import Column, Descriptor
from npu_reference.errors import NpuError
from npu_reference.options.files.customize_dtypes import Dtypes
from npu_reference.precision.matchers import FLOATS, half, reduced, risen
from npu_reference.precision.modes import ALLOW, FORCE16, FORCE32, KEEP, MIX, Mode

__all__ = ["KernelChoice", "Question", "choose"]


class Question(NamedTuple):
    """One operator.

    Attributes:
        kernel: its kernel's name after graph fusion.
        colour: blocklist, graylist, trustlist or None.
        inputs, outputs: the graph's dtypes, base types of references.
        takes_in, takes_out: position in a column of every tensor, -1 where the kernel has none.
        last: inputs that constants or variables feed; they decide last.
        lowered: for a gray operator of a mixed mode, whether its producers are lowered.
        barred: for one, the producer that may not be lowered, or "": none forbids it (P32).
        keep: whether keep_dtype_scope holds it.
        custom: what customize_dtypes says of it.
    """

    descriptor: Descriptor
    kernel: str
    colour: Optional[str]
    inputs: Tuple[str, ...]
    outputs: Tuple[str, ...]
    takes_in: Tuple[int, ...]
    takes_out: Tuple[int, ...]
    last: Tuple[int, ...]
    lowered: bool
    keep: bool
    custom: Optional[Dtypes]
    barred: str = ""


class KernelChoice(NamedTuple):
    """The answer: engine, dtypes, and the rule that decided as the end of a sentence."""

    engine: str
    inputs: Tuple[str, ...]
    outputs: Tuple[str, ...]
    why: str


class _Tensor(NamedTuple):
    """A tensor of the operator that its kernel has: dtype in the graph, dtype by column."""

    dtype: str
    kinds: Tuple[str, ...]
    output: bool
    position: int  # in the kernel


def choose(question: Question, mode: Mode, subject: str) -> KernelChoice:
    """The engine and dtypes of one operator.

    Args:
        subject: how errors name it.

    Raises:
        NpuError: PRECISION_NO_KERNEL where no engine has a kernel at the precision demanded, PRECISION_DTYPES where
            customize_dtypes demands what no kernel has.
    """
    descriptor = question.descriptor
    if descriptor.engine == "host":
        return _unchanged(question, "unset", "the device has no kernel of it")
    if not descriptor.columns and descriptor.engine in ("cube", "vector") and not question.inputs + question.outputs:
        return _unchanged(question, descriptor.engine, "it has no tensors")
    if not descriptor.columns:
        return _on_aicpu(question, "its only kernel is one of the AI CPU", subject)
    if descriptor.ge_op == "Cast" and question.custom is None:
        return _cast(question, subject)
    tensors = _tensors(question)
    columns = list(range(len(descriptor.columns)))
    if question.custom is not None and not question.keep:
        columns = _customised(question, question.custom, tensors, columns, subject)
    else:
        refused = _refused(question, tensors, mode)
        if refused is not None and question.barred and not _aicpu_has(question):
            question = question._replace(barred="")  # P32: lowered rather than not computed
            refused = _refused(question, tensors, mode)
        if refused is not None:
            return _elsewhere(question, refused, mode, subject)
    left, why = _narrow(question, mode, tensors, columns)
    return _result(question, descriptor.columns[left[0]], why)


def _cast(question: Question, subject: str) -> KernelChoice:
    """A Cast says itself what it does: on the AI Core if that has it, else on the AI CPU."""
    if question.inputs == question.outputs:
        return _unchanged(question, question.descriptor.engine, "a Cast to the same dtype is removed")
    if Column(question.inputs, question.outputs) in question.descriptor.columns:
        return _unchanged(question, question.descriptor.engine, "a Cast keeps the dtypes it is given")
    return _on_aicpu(question, f"the AI Core does not cast {question.inputs[0]} to {question.outputs[0]}", subject)


def _tensors(question: Question) -> List[_Tensor]:
    """Inputs by index, those of constants and variables last, then outputs."""
    columns = question.descriptor.columns
    last = set(question.last)
    order = [*(k for k in range(len(question.inputs)) if k not in last), *sorted(last)]
    found = []
    for k in order:
        position = question.takes_in[k]
        if 0 <= position < len(columns[0].inputs):
            found.append(
                _Tensor(question.inputs[k], tuple(column.inputs[position] for column in columns), False, position)
            )
    for k, dtype in enumerate(question.outputs):
        position = question.takes_out[k]
        if 0 <= position < len(columns[0].outputs):
            found.append(_Tensor(dtype, tuple(column.outputs[position] for column in columns), True, position))
    return [tensor for tensor in found if tensor.dtype not in ("resource", "variant")]


# Engine


def _refused(question: Question, tensors: Sequence[_Tensor], mode: Mode) -> Optional[_Tensor]:
    """The first tensor for which the AI Core has no kernel, or None: it has one."""
    for tensor in tensors:
        if not _supported(tensor, question, mode):
            return tensor
    return None


def _supported(tensor: _Tensor, question: Question, mode: Mode) -> bool:
    dtype, kinds = tensor.dtype, tensor.kinds
    if dtype in kinds:
        return True
    if tensor.output and dtype not in FLOATS:
        return True  # what an operator gives besides floats follows from its inputs
    if dtype not in FLOATS:
        return False
    kept = mode.rule == KEEP
    if dtype != "float32":
        # precision.must_keep.fp16_to_fp32; document 002 keeps without exception (A10)
        return "float32" in kinds and not (kept and mode.legacy)
    if "float16" not in kinds:
        return False
    if kept or question.keep:
        return False
    # precision.cube.vector_black_aicpu, P34: a blocklisted operator is not reduced, it goes to the AI CPU; nor is a
    # gray one behind it (P32)
    guarded = mode.rule == MIX or (mode.rule == FORCE32 and not mode.legacy)
    return not (guarded and (question.colour == "blocklist" or question.barred))


def _elsewhere(question: Question, tensor: _Tensor, mode: Mode, subject: str) -> KernelChoice:
    """An operator that the AI Core refuses: on the AI CPU with its own dtypes, or not at all."""
    if tensor.dtype not in FLOATS:
        return _on_aicpu(question, f"the AI Core has no kernel for {tensor.dtype}", subject)
    has = " and ".join(sorted({kind for kind in tensor.kinds if kind in FLOATS}) or ["no float dtype"])
    lacks = f"the AI Core has {question.kernel} with {has}, not {tensor.dtype}"
    interrupted = mode.rule == KEEP and mode.legacy and tensor.dtype == "float32"  # A9: document 004 has no AI CPU
    if interrupted or not _aicpu_has(question):
        raise _no_kernel(question, tensor, mode, lacks, subject)
    return _unchanged(question, "aicpu", f"{lacks}, so the AI CPU's kernel is used ({_demand(question, mode)})")


def _demand(question: Question, mode: Mode) -> str:
    if question.keep:
        return "keep_dtype_scope"
    if question.barred:
        return f"{mode.name}, its producer {question.barred} may not be lowered"
    if mode.rule in (FORCE32, MIX):
        return f"{mode.name}, blocklist"
    return mode.name


def _no_kernel(question: Question, tensor: _Tensor, mode: Mode, lacks: str, subject: str) -> NpuError:
    where = "" if _aicpu_has(question) else ", and the AI CPU has no kernel of it"
    if mode.rule == KEEP and mode.legacy:
        where = f", and {mode.name} allows no other precision"
    return NpuError("PRECISION_NO_KERNEL", subject, f"{lacks}{where}")


def _aicpu_has(question: Question) -> bool:
    descriptor = question.descriptor
    if not descriptor.has_aicpu:
        return False
    first = (*question.inputs, *question.outputs)[:1]
    # Dtypes of the AI CPU's kernels are known for their first tensor only; where they are not known at all, it is
    # taken to have the operator as TensorFlow defines it (assumed).
    return not descriptor.aicpu_dtypes or not first or first[0] in descriptor.aicpu_dtypes or first[0] == "resource"


def _on_aicpu(question: Question, why: str, subject: str) -> KernelChoice:
    if question.custom is not None and not question.keep:
        _check_custom_original(question, question.custom, subject)
    if not question.descriptor.has_aicpu:
        return _unchanged(question, "unset", f"{why}, and none of the AI CPU is known")
    if not _aicpu_has(question):
        first = (*question.inputs, *question.outputs)[0]
        if "TFKernel" in question.descriptor.aicpu_libraries:
            return _unchanged(question, "aicpu", f"{why}, which runs TensorFlow's own (assumed to take {first})")
        return _unchanged(question, "unset", f"{why}, which does not take {first}")
    return _unchanged(question, "aicpu", why)


def _unchanged(question: Question, engine: str, why: str) -> KernelChoice:
    return KernelChoice(engine, question.inputs, question.outputs, why)


# Dtypes


def _narrow(question: Question, mode: Mode, tensors: Sequence[_Tensor], columns: List[int]) -> Tuple[List[int], str]:
    """The columns that remain after every tensor had its say; a say that leaves none is not heard."""
    if mode.rule == FORCE32 and not mode.legacy and question.descriptor.fp16_priority and not question.keep:
        columns, why = _cube_order(question, tensors, columns)
    else:
        why = _why(question, mode)
    was_reduced = False
    for tensor in tensors:
        found = _wanted(question, mode, tensor, columns, was_reduced)
        if found:
            columns = found
            lowest = tensor.dtype == "float32" and tensor.kinds[found[0]] == "float16"
            was_reduced = was_reduced or (mode.rule == ALLOW and lowest)
    return columns, why


def _wanted(question: Question, mode: Mode, tensor: _Tensor, columns: List[int], was_reduced: bool) -> List[int]:
    """The columns one tensor leaves; empty where it finds none."""
    dtype, kinds = tensor.dtype, tensor.kinds
    if dtype not in FLOATS or question.keep:
        return risen(kinds, columns, dtype)  # P17, P20
    wide = dtype == "bfloat16"
    rule = mode.rule
    if rule == MIX:
        if question.colour == "trustlist":
            return half(kinds, columns, wide) or risen(kinds, columns, dtype)
        if question.colour == "blocklist":
            return risen(kinds, columns, dtype)
        wanted = "float16" if question.lowered and dtype == "float32" else dtype
        return risen(kinds, columns, wanted) or reduced(kinds, columns, wanted, wide)
    if rule == KEEP:
        return risen(kinds, columns, dtype)
    if rule == FORCE16:
        return risen(kinds, columns, "float16")
    if rule == FORCE32:
        return risen(kinds, columns, "float32") or reduced(kinds, columns, "float32", wide)
    prefers = question.descriptor.fp16_priority and not mode.legacy  # A11, P16
    wanted = "float16" if dtype == "float32" and (prefers or was_reduced) else dtype
    return risen(kinds, columns, wanted) or reduced(kinds, columns, wanted, wide)


def _cube_order(question: Question, tensors: Sequence[_Tensor], columns: List[int]) -> Tuple[List[int], str]:
    """precision.cube.order1..3: float16 in and float32 out, else float32 throughout, else float16 throughout."""
    floats = [tensor for tensor in tensors if tensor.dtype in FLOATS]
    for inside, outside in (("float16", "float32"), ("float32", "float32"), ("float16", "float16")):
        found = [
            k for k in columns if all(tensor.kinds[k] == (outside if tensor.output else inside) for tensor in floats)
        ]
        if found and floats:
            return found, f"cube operator: {inside} in and {outside} out is the first combination it has"
    return columns, "cube operator with none of the three float combinations"


def _why(question: Question, mode: Mode) -> str:
    if question.keep:
        return "keep_dtype_scope keeps the graph's dtype"
    if question.custom is not None:
        return "customize_dtypes"
    return ""


def _result(question: Question, column: Column, why: str) -> KernelChoice:
    custom = question.custom if question.custom is not None and not question.keep else Dtypes((), ())
    inputs = _taken(question.inputs, question.takes_in, column.inputs, len(custom.inputs))
    outputs = _taken(question.outputs, question.takes_out, column.outputs, len(custom.outputs))
    return KernelChoice(question.descriptor.engine, inputs, outputs, why)


def _taken(graph: Tuple[str, ...], takes: Tuple[int, ...], column: Tuple[str, ...], customised: int) -> Tuple[str, ...]:
    """The column's dtype for float tensors; all others are untouched by every mode (P17), unless customised."""
    taken = []
    for k, (dtype, position) in enumerate(zip(graph, takes)):
        has = 0 <= position < len(column) and dtype != "resource"
        free = has and (k < customised or (dtype in FLOATS and column[position] in FLOATS))
        taken.append(column[position] if free else dtype)
    return tuple(taken)


# customize_dtypes

_ALIASES = {"float": "float32", "double": "float64"}


def _customised(
    question: Question, custom: Dtypes, tensors: Sequence[_Tensor], columns: List[int], subject: str
) -> List[int]:
    """The columns that agree with what the file says (P21: tensors it does not mention follow the mode)."""
    _check_count(question, custom, subject)
    library = question.descriptor.columns
    for names, takes, output in ((custom.inputs, question.takes_in, False), (custom.outputs, question.takes_out, True)):
        for name, position in zip(names, takes):
            wanted = _ALIASES.get(name, name)
            if position >= 0:
                columns = [k for k in columns if _side(library[k], output)[position : position + 1] == (wanted,)]
    if not columns:
        raise _unavailable(question, custom, subject)
    return columns


def _side(column: Column, output: bool) -> Tuple[str, ...]:
    return column.outputs if output else column.inputs


#: How many inputs the device's operator may have behind those of TensorFlow's: bias and offset_w. Files of real ports
#: give MatMulV2 a dtype for its bias, which says nothing of an operator without one (P21); the other rows are assumed.
_OPTIONAL_INPUTS = {
    "BatchMatMulV2": 2, "Conv2D": 2, "Conv3D": 2, "DepthwiseConv2D": 2, "MatMul": 1, "MatMulV2": 2,
}  # fmt: skip


def _check_count(question: Question, custom: Dtypes, subject: str) -> None:
    for names, dtypes, word, more in (
        (custom.inputs, question.inputs, "inputs", _OPTIONAL_INPUTS.get(question.kernel, 0)),
        (custom.outputs, question.outputs, "outputs", 0),
    ):
        if len(names) > len(dtypes) + more:
            raise NpuError(
                "PRECISION_DTYPES",
                subject,
                f"customize_dtypes gives it {len(names)} dtypes for {len(dtypes)} {word}",
                "Give it at most as many.",
            )


def _check_custom_original(question: Question, custom: Dtypes, subject: str) -> None:
    """An operator without AI Core kernel has the graph's dtypes and no others."""
    _check_count(question, custom, subject)
    for names, dtypes in ((custom.inputs, question.inputs), (custom.outputs, question.outputs)):
        if any(_ALIASES.get(name, name) != dtype for name, dtype in zip(names, dtypes)):
            raise _unavailable(question, custom, subject)


def _unavailable(question: Question, custom: Dtypes, subject: str) -> NpuError:
    asked = f"{','.join(custom.inputs)} in and {','.join(custom.outputs)} out"
    has = "; ".join(f"{','.join(c.inputs)} in and {','.join(c.outputs)} out" for c in question.descriptor.columns[:6])
    remedy = f"{question.kernel or question.descriptor.tf_op} has {has}." if has else "Leave it out of the file."
    return NpuError("PRECISION_DTYPES", subject, f"customize_dtypes asks for {asked}, which no kernel has", remedy)
