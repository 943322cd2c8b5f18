"""The sentence that says which rule gave an operator its dtypes, and where its kernel could not follow the rule."""

from __future__ import annotations

from typing import Iterator, List, NamedTuple, Tuple

from npu_reference.precision.kernel import KernelChoice, Question
from npu_reference.precision.lists import Colour
from npu_reference.precision.matchers import FLOATS
from npu_reference.precision.modes import FORCE16, FORCE32, KEEP, MIX, Mode
from npu_reference.precision.operators import STORERS

__all__ = ["Told", "told"]


class Told(NamedTuple):
    """A sentence in two parts; what a gray operator's producer gives stands between them.

    Attributes:
        rule: the rule that decided.
        but: what was found instead of what the rule asks, or empty: the dtypes are those the rule asks for.
        closed: whether no producer has a part in it.
    """

    rule: str
    but: str
    closed: bool

    def sentence(self, followed: str) -> str:
        """The whole, with what was found of the producers."""
        if not followed or self.closed:
            return self.rule + self.but
        return f"{self.rule}: {followed}{self.but}" if self.rule else followed + self.but


class _Tensor(NamedTuple):
    wanted: str
    got: str
    kinds: Tuple[str, ...]


def told(question: Question, choice: KernelChoice, mode: Mode, colour: Colour) -> Told:
    """Why an operator has its dtypes, said from the column found: never that a dtype is there which is not."""
    if not question.keep and (question.custom is not None or choice.why):
        return Told(choice.why, "", True)
    if choice.engine not in ("cube", "vector"):
        return Told(choice.why, "", True)
    floats = [dtype for dtype in (*question.inputs, *question.outputs) if dtype in FLOATS]
    if not floats:
        return Told("has no tensor of float32 or float16", "", True)
    if question.keep:
        return Told(choice.why, _but(question, choice, mode), True)
    if question.descriptor.tf_op in STORERS:
        return Told("a variable keeps its own dtype", "", True)
    but = _but(question, choice, mode)
    if mode.rule != MIX:
        return Told(f"{mode.name}: {_rule(question, mode)}", but, True)
    if colour.list == "graylist" and "float32" not in floats:
        return Told(f"{colour.why}: mixed precision lowers float32 alone", but, True)
    return Told(colour.why, but, colour.list != "graylist")


def _rule(question: Question, mode: Mode) -> str:
    if mode.rule == FORCE16:
        return "float16 is forced"
    if mode.rule == FORCE32:
        return "float32 is forced"
    if mode.rule != KEEP and question.descriptor.fp16_priority and not mode.legacy:
        return "a cube operator uses float16"
    return "the graph's dtype is kept"


def _wanted(question: Question, mode: Mode, dtype: str) -> str:
    """The dtype that list and mode ask of a float tensor, whatever the kernel has."""
    if question.keep or mode.rule == KEEP:
        return dtype
    if mode.rule == FORCE16:
        return "float16"
    if mode.rule == FORCE32:
        return "float32"
    if mode.rule == MIX:
        lowers = question.colour == "trustlist" or question.lowered
    else:
        lowers = question.descriptor.fp16_priority and not mode.legacy
    return "float16" if lowers and dtype == "float32" else dtype


def _but(question: Question, choice: KernelChoice, mode: Mode) -> str:
    tensors = list(_tensors(question, choice, mode))
    missed = [tensor for tensor in tensors if tensor.got != tensor.wanted]
    if not missed:
        return ""
    lacking = [tensor for tensor in missed if tensor.wanted not in tensor.kinds]
    if not lacking:
        return f", but no column of its kernel is {missed[0].wanted} throughout"
    found = {kind for tensor in lacking for kind in tensor.kinds if kind in FLOATS}
    if len(found) != 1:
        return f", but its kernel has no {lacking[0].wanted}"
    where = "the others in " if len(missed) < len(tensors) else ""
    return f", but its kernel has {where}{found.pop()} alone"


def _tensors(question: Question, choice: KernelChoice, mode: Mode) -> Iterator[_Tensor]:
    """The float tensors that the kernel has."""
    columns = question.descriptor.columns
    sides: List[Tuple[Tuple[str, ...], Tuple[str, ...], Tuple[int, ...], int]] = [
        (question.inputs, choice.inputs, question.takes_in, 0),
        (question.outputs, choice.outputs, question.takes_out, 1),
    ]
    for graph, got, takes, side in sides:
        for dtype, given, position in zip(graph, got, takes):
            if dtype not in FLOATS or not 0 <= position < len(columns[0][side]):
                continue
            kinds = tuple(column[side][position] for column in columns)
            yield _Tensor(_wanted(question, mode, dtype), given, kinds)
