"""Which shapes ``input_shape``, ``dynamic_dims`` and ``dynamic_inputs_shape_range`` describe."""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from npu_reference.options.grammars.scanner import Scanner, ScannerNote, few, taken

__all__ = [
    "EXAMPLE_DIMS",
    "EXAMPLE_RANGE",
    "EXAMPLE_SHAPE",
    "Dim",
    "InputShape",
    "Profiles",
    "Ranges",
    "parse_dynamic_dims",
    "parse_input_shape",
    "parse_shape_range",
    "write_dynamic_dims",
    "write_input_shape",
    "write_dim",
    "write_shape_range",
]

EXAMPLE_SHAPE = "data:1,1,40,-1;label:1,-1;mask:-1,-1"
EXAMPLE_DIMS = "20,20,1,1;40,40,2,2;80,60,4,4"
EXAMPLE_RANGE = "getnext:[128,3~5,2~128,-1],[64,3~5,2~128,-1];data:[128,3~5,2~128,-1]"

_SHAPE_FORM = f"Write name:dims;name:dims, such as {EXAMPLE_SHAPE}."
_DIMS_FORM = f"Write profiles separated by ';', such as {EXAMPLE_DIMS}."
_RANGE_FORM = f"Write the shapes of getnext and data, such as {EXAMPLE_RANGE}."

_NAME = re.compile(r"[^:;,\s\x00-\x1f]+")
_KEYWORD = re.compile(r"getnext|data")
_BLANKS = re.compile(r"[ \t]*")
_BLANK_BEFORE = re.compile(r"[ \t]\[")

#: Profiles beyond this are more than the adapter takes (S5).
USUAL_PROFILES = 100


class InputShape(NamedTuple):
    """Inputs in order, each with its dimensions: -1 is dynamic, a scalar has none."""

    inputs: Tuple[Tuple[str, Tuple[int, ...]], ...]
    notes: Tuple[ScannerNote, ...] = ()

    @property
    def dynamic(self) -> int:
        """How many dimensions are dynamic."""
        return sum(dims.count(-1) for _, dims in self.inputs)

    def in_profile(self, profile: Sequence[int]) -> InputShape:
        """The shapes with the dynamic dimensions filled in, in order of appearance."""
        sizes = iter(profile)
        return InputShape(
            tuple((name, tuple(next(sizes) if dim == -1 else dim for dim in dims)) for name, dims in self.inputs)
        )


def parse_input_shape(text: str) -> InputShape:
    """The shapes of an ``input_shape`` value (session.input_shape.grammar).

    Raises:
        GrammarError: also for a name given twice, and for 0 beside other dimensions (S3).
    """
    scanner = Scanner(text, _SHAPE_FORM)
    inputs: Dict[str, Tuple[int, ...]] = {}
    while True:
        start = scanner.position
        name = scanner.match(_NAME, "the name of an input")
        if name in inputs:
            scanner.refuse(f"input {name} is given twice.", start)
        scanner.take(":", f"':' after input {name}")
        inputs[name] = _dims(scanner)
        if scanner.done:
            break
        scanner.take(";", "',' or ';'")
    in_order = list(inputs) == sorted(inputs)
    notes = (
        () if in_order else (ScannerNote("its inputs are not in alphabetical order; they go by name.", "advice"),)
    )  # S2
    return InputShape(tuple(inputs.items()), notes)


def _dims(scanner: Scanner) -> Tuple[int, ...]:
    start = scanner.position
    dims = [_dim(scanner)]
    while scanner.at(","):
        scanner.take(",", "','")
        dims.append(_dim(scanner))
    if dims == [0]:
        return ()
    if 0 in dims:
        scanner.refuse("0 stands for a scalar and cannot be beside other dimensions.", start)
    return tuple(dims)


def _dim(scanner: Scanner) -> int:
    if scanner.at("-"):
        scanner.take("-1", "-1 for a dynamic dimension")
        return -1
    return scanner.integer("a dimension: -1 or an integer")


def write_input_shape(shape: InputShape) -> str:
    """The text that :func:`parse_input_shape` reads as ``shape``."""
    return ";".join(f"{name}:{','.join(map(str, dims)) or '0'}" for name, dims in shape.inputs)


class Profiles(NamedTuple):
    """Distinct profiles in order, each with the sizes of all dynamic dimensions."""

    profiles: Tuple[Tuple[int, ...], ...]
    notes: Tuple[ScannerNote, ...] = ()


def parse_dynamic_dims(text: str) -> Profiles:
    """The profiles of a ``dynamic_dims`` value (session.dynamic_dims.grammar, .min_two).

    Raises:
        GrammarError: also when profiles differ in length, or fewer than two distinct ones are left (S4).
    """
    scanner = Scanner(text, _DIMS_FORM)
    profiles: Dict[Tuple[int, ...], None] = {}
    notes: List[ScannerNote] = []
    while True:
        start = scanner.position
        profile = _profile(scanner)
        if profiles and len(profile) != len(next(iter(profiles))):
            scanner.refuse(f"a profile has {len(profile)} sizes, the first has {len(next(iter(profiles)))}.", start)
        if profile in profiles:
            notes.append(ScannerNote(f"profile {','.join(map(str, profile))} is given twice and kept once."))
        profiles[profile] = None
        if scanner.done:
            break
        scanner.take(";", "',' or ';'")
    if len(profiles) < 2:
        scanner.refuse("there is only one profile.", 0)
    if len(profiles) > USUAL_PROFILES:
        text = f"it has {len(profiles)} profiles, more than the usual limit of {USUAL_PROFILES}; all of them hold."
        return Profiles(tuple(profiles), (*few(notes), ScannerNote(text, "advice")))
    return Profiles(tuple(profiles), few(notes))


def _profile(scanner: Scanner) -> Tuple[int, ...]:
    sizes = [_size(scanner)]
    while scanner.at(","):
        scanner.take(",", "','")
        sizes.append(_size(scanner))
    return tuple(sizes)


def _size(scanner: Scanner) -> int:
    start = scanner.position
    size = scanner.integer("a positive size")
    if size == 0:
        scanner.refuse("a size is 0.", start)
    return size


def write_dynamic_dims(profiles: Profiles) -> str:
    """The text that :func:`parse_dynamic_dims` reads as ``profiles``."""
    return ";".join(",".join(map(str, profile)) for profile in profiles.profiles)


class Dim(NamedTuple):
    """Sizes of one dimension, both inclusive; ``high`` None is without bound."""

    low: int
    high: Optional[int]

    def __contains__(self, size: object) -> bool:
        return isinstance(size, int) and self.low <= size and (self.high is None or size <= self.high)


Shape = Tuple[Dim, ...]


class Ranges(NamedTuple):
    """Shapes of the dataset inputs and of the placeholders, in the order of inputs; None where not given."""

    getnext: Optional[Tuple[Shape, ...]]
    data: Optional[Tuple[Shape, ...]]
    notes: Tuple[ScannerNote, ...] = ()


def parse_shape_range(text: str) -> Ranges:
    """The shapes of a ``dynamic_inputs_shape_range`` value.

    Blanks are fine inside a shape; before its bracket they are noted, and refused where it is a scalar's (B19).
    Groups stand in any order (S11).

    Raises:
        GrammarError: another keyword, a group given twice (S12), a range that falls, a size of 0 (S10).
    """
    scanner = Scanner(text, _RANGE_FORM)
    groups: Dict[str, Tuple[Shape, ...]] = {}
    while True:
        start = scanner.position
        keyword = scanner.match(_KEYWORD, "getnext or data")
        if keyword in groups:
            scanner.refuse(f"group {keyword} is given twice.", start)
        scanner.take(":", f"':' after {keyword}")
        groups[keyword] = _shapes(scanner)
        if scanner.done:
            blank = _BLANK_BEFORE.search(text) is not None
            notes = (taken("blanks before '[' are read over."),) if blank else ()
            return Ranges(groups.get("getnext"), groups.get("data"), notes)
        scanner.take(";", "',' or ';' after a shape")


def _shapes(scanner: Scanner) -> Tuple[Shape, ...]:
    shapes = [_shape(scanner)]
    while scanner.at(","):
        scanner.take(",", "','")
        shapes.append(_shape(scanner))
    return tuple(shapes)


def _shape(scanner: Scanner) -> Shape:
    start = scanner.position
    blank = scanner.match(_BLANKS, "") != ""
    scanner.take("[", "'['")
    scanner.match(_BLANKS, "")
    if blank and scanner.at("]"):
        scanner.refuse("a blank stands before the '[' of a scalar.", start)  # document 003
    dims: List[Dim] = []
    while not scanner.at("]"):
        if dims:
            scanner.take(",", "',' or ']' after a dimension")
            scanner.match(_BLANKS, "")
        dims.append(_range(scanner))
        scanner.match(_BLANKS, "")
    scanner.take("]", "']'")
    return tuple(dims)


def _range(scanner: Scanner) -> Dim:
    start = scanner.position
    if scanner.at("-"):
        scanner.take("-1", "-1 for a dimension without bounds")
        return Dim(1, None)
    low = _size(scanner)
    if not scanner.at("~"):
        return Dim(low, low)
    scanner.take("~", "'~'")
    high = _size(scanner)
    if low > high:
        scanner.refuse(f"the range {low}~{high} falls.", start)
    return Dim(low, high)


def write_shape_range(ranges: Ranges) -> str:
    """The text that :func:`parse_shape_range` reads as ``ranges``."""
    groups = (("getnext", ranges.getnext), ("data", ranges.data))
    return ";".join(
        f"{keyword}:" + ",".join(f"[{','.join(map(write_dim, shape))}]" for shape in shapes)
        for keyword, shapes in groups
        if shapes is not None
    )


def write_dim(dim: Dim) -> str:
    """One size as it is written in a range."""
    if dim.high is None:
        return "-1"
    return str(dim.low) if dim.low == dim.high else f"{dim.low}~{dim.high}"
