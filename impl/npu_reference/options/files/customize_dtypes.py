"""Which data types a ``customize_dtypes`` file gives to operators (files.customize_dtypes.*)."""

from __future__ import annotations

from typing import Dict, NamedTuple, Tuple

from npu_reference.options.domains import echo
from npu_reference.options.files.lines import Line, lines, refuse
from npu_reference.options.grammars.scanner import ScannerNote

__all__ = ["DTYPES", "EXAMPLE", "CustomDtypes", "Dtypes", "parse", "write"]

EXAMPLE = (
    "# By operator name\n"
    "resnet_v1_50/block1/unit_3/bottleneck_v1/Relu::InputDtype:float16,int8,OutputDtype:float16,int8\n"
    "# By operator type\n"
    "OpType::Relu:InputDtype:float16,int8,OutputDtype:float16,int8\n"
)

#: Names of data types; the sample of document 003 has float16 and int8, the others are TensorFlow's (``assumed``).
DTYPES = frozenset(
    {"float16", "float32", "float64", "float", "double", "bfloat16", "bool", "string", "complex64", "complex128"}
    | {"int4", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
)
_FORM = "Write name::InputDtype:dtype,dtype,OutputDtype:dtype or OpType::type:InputDtype:…,OutputDtype:…."
_INPUT, _OUTPUT, _TYPE = "InputDtype:", "OutputDtype:", "OpType::"


class Dtypes(NamedTuple):
    """Data types of the first inputs and outputs of an operator."""

    inputs: Tuple[str, ...]
    outputs: Tuple[str, ...]


class CustomDtypes(NamedTuple):
    """Node name to data types, and operator type to data types; the name goes first."""

    by_name: Dict[str, Dtypes]
    by_type: Dict[str, Dtypes]
    notes: Tuple[ScannerNote, ...] = ()


def parse(text: str) -> CustomDtypes:
    """The data types of a file. A comma before ``OutputDtype`` may be there or not (B16).

    Raises:
        GrammarError: a line of another form, an unknown data type, an operator given twice.
    """
    by_name: Dict[str, Dtypes] = {}
    by_type: Dict[str, Dtypes] = {}
    for line in lines(text):
        table, name, rest = _subject(line, by_name, by_type)
        if name in table:
            refuse(line, f"{name} is given twice.", "Give every operator one line.")
        table[name] = _dtypes(line, rest)
    return CustomDtypes(by_name, by_type)


def _subject(line: Line, by_name: Dict[str, Dtypes], by_type: Dict[str, Dtypes]) -> Tuple[Dict[str, Dtypes], str, int]:
    """The table and key of a line, and where its data types start."""
    if line.text.lower().startswith(_TYPE.lower()):
        start, table, separator = len(_TYPE), by_type, ":"
    else:
        start, table, separator = 0, by_name, "::"
    end = line.text.find(separator + _INPUT, start)
    if end < 0:
        refuse(line, f"there is no {separator}{_INPUT} after the operator.", _FORM, len(line.text))
    name = line.text[start:end].strip()
    if not name or ":" in name or any(blank in name for blank in " \t"):
        refuse(line, f"{echo(name)} is no operator.", _FORM, start)
    return table, name, end + len(separator + _INPUT)


def _dtypes(line: Line, start: int) -> Dtypes:
    output = line.text.find(_OUTPUT, start)
    if output < 0:
        refuse(line, f"there is no {_OUTPUT}", _FORM, len(line.text))
    inputs = line.text[start:output].rstrip()
    if inputs.endswith(","):
        inputs = inputs[:-1]
    return Dtypes(_list(line, inputs, start), _list(line, line.text[output + len(_OUTPUT) :], output + len(_OUTPUT)))


def _list(line: Line, text: str, start: int) -> Tuple[str, ...]:
    names = []
    for piece in text.split(","):
        name = piece.strip()
        if name not in DTYPES:
            refuse(line, f"{echo(name)} is no data type.", _FORM, start)
        names.append(name)
        start += len(piece) + 1
    return tuple(names)


def write(custom: CustomDtypes) -> str:
    """The text that :func:`parse` reads as ``custom``."""
    rows = [f"{name}::{_row(dtypes)}\n" for name, dtypes in custom.by_name.items()]
    rows += [f"{_TYPE}{name}:{_row(dtypes)}\n" for name, dtypes in custom.by_type.items()]
    return "".join(rows)


def _row(dtypes: Dtypes) -> str:
    return f"{_INPUT}{','.join(dtypes.inputs)},{_OUTPUT}{','.join(dtypes.outputs)}"
