"""The sentence that says which rule gave an operator its dtypes."""

from __future__ import annotations

from npu_reference.precision.kernel import Choice, Question
from npu_reference.precision.lists import Colour
from npu_reference.precision.matchers import FLOATS
from npu_reference.precision.modes import FORCE16, FORCE32, KEEP, MIX, Mode
from npu_reference.precision.operators import STORERS

__all__ = ["sentence"]


def sentence(question: Question, choice: Choice, mode: Mode, colour: Colour) -> str:
    """Why an operator has its dtypes; a gray operator's producer is told by the caller."""
    if choice.why:
        return choice.why
    floats = [dtype for dtype in (*question.inputs, *question.outputs) if dtype in FLOATS]
    if not floats:
        return "has no tensor of float32 or float16"
    if question.descriptor.tf_op in STORERS:
        return "a variable keeps its own dtype"
    if mode.rule == MIX:
        return colour.why if colour.list is not None else f"{mode.name}: no list names it"
    changed = (choice.inputs, choice.outputs) != (question.inputs, question.outputs)
    return f"{mode.name}: {_reason(question, mode, changed)}"


def _reason(question: Question, mode: Mode, changed: bool) -> str:
    if mode.rule == FORCE16:
        return "float16 is forced" if changed else "its kernel stays at the graph's dtype"
    if mode.rule == FORCE32:
        return "float32 is forced where the kernel has it"
    if mode.rule == KEEP:
        return "a higher precision replaces the missing one" if changed else "the graph's dtype is kept"
    if question.descriptor.fp16_priority and not mode.legacy:
        return "a cube operator uses float16"
    return "its kernel does not have the graph's dtype" if changed else "its kernel has the graph's dtype"
