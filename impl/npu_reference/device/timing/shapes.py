"""Which sizes inputs take that only the options tell: each profile of dynamic_dims, the largest of a range."""

from __future__ import annotations

from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_reference.compiler.kernels import GETNEXT_OPERATORS
from npu_reference.compiler.lowering.sizes import fed_name
from npu_reference.errors import NpuError
from npu_reference.graphs import Graph
from npu_reference.options import Resolution
from npu_reference.options.grammars.shapes import InputShape, Profiles, Ranges

__all__ = ["Sizes", "sizes_of"]

_INPUTS = ("_Arg", "Placeholder", "PlaceholderV2", "PlaceholderWithDefault")

Shape = Tuple[Optional[int], ...]
_Given = Mapping[str, Sequence[Optional[int]]]


class Sizes(NamedTuple):
    """Shapes of inputs by ``node:slot``, under the name of the profile they belong to, empty for none."""

    name: str
    shapes: Dict[str, Sequence[Optional[int]]]


def sizes_of(graph: Graph, resolution: Resolution, shapes: Optional[_Given]) -> List[Sizes]:
    """What to compile a graph for: one set of sizes, or one a profile where the inputs' sizes are open.

    Args:
        shapes: of inputs, by ``node`` or ``node:slot``, which hold before what the options say.

    Raises:
        NpuError: INPUT_SHAPE where the sizes given are in no profile, or outside of a range.
    """
    given: Dict[str, Sequence[Optional[int]]] = {
        name if ":" in name else f"{name}:0": shape for name, shape in (shapes or {}).items()
    }
    options = resolution.typed.shapes
    if options.listed is not None and options.profiles is not None:
        return _profiles(graph, given, options.listed, options.profiles, of_placeholders=options.of_placeholders)
    if options.ranges is not None and options.dynamic:
        return [Sizes("", _largest(graph, given, options.ranges))]
    return [Sizes("", given)]


def _profiles(
    graph: Graph, given: _Given, listed: InputShape, profiles: Profiles, *, of_placeholders: bool
) -> List[Sizes]:
    if of_placeholders:
        names = {fed_name(graph.nodes[node], slot): (node, slot) for node, slot in _placeholders(graph)}
        inputs = {name: names[name] for name, _ in listed.inputs if name in names}
    else:
        inputs = dict(zip([name for name, _ in listed.inputs], _dataset(graph)))
    if not inputs:
        return [Sizes("", dict(given))]
    found, fits = [], []
    for number, sizes in enumerate(profiles.profiles):
        shapes = {_key(graph, at): dims for name, dims in listed.in_profile(sizes).inputs for at in _at(inputs, name)}
        found.append(Sizes(f"profile {number}", {**given, **shapes}))
        if all(_fits(_known(graph, given, at), shapes[_key(graph, at)]) for at in inputs.values()):
            fits.append(found[-1])
    if not fits:
        told = ", ".join(f"{name}({_text(_known(graph, given, at))})" for name, at in inputs.items())
        shown = "; ".join(",".join(map(str, sizes)) for sizes in profiles.profiles[:8])
        raise NpuError("INPUT_SHAPE", "dynamic_dims", f"{told} is in no profile.", f"Profiles are {shown}.")
    return fits


def _largest(graph: Graph, given: _Given, ranges: Ranges) -> Dict[str, Sequence[Optional[int]]]:
    """Open sizes as large as their range lets them be; those given must lie in it."""
    found = dict(given)
    placeholders = sorted(_placeholders(graph), key=lambda at: fed_name(graph.nodes[at[0]], at[1]))  # A51
    for places, allowed in ((placeholders, ranges.data), (_dataset(graph), ranges.getnext)):
        for at, dims in zip(places, allowed or ()):
            known = _known(graph, given, at)
            name = fed_name(graph.nodes[at[0]], at[1])
            if known is not None and len(known) != len(dims):
                raise NpuError("INPUT_SHAPE", name, f"it has {len(known)} dimensions, and its range has {len(dims)}.")
            sizes = known if known is not None else (None,) * len(dims)
            for size, dim in zip(sizes, dims):
                if size is not None and size not in dim:
                    reason = f"its shape {_text(known)} is outside of its range in dynamic_inputs_shape_range."
                    raise NpuError("INPUT_SHAPE", name, reason, "Give a shape inside, or widen the range.")
            found[_key(graph, at)] = tuple(dim.high if size is None else size for size, dim in zip(sizes, dims))
    return found


def _placeholders(graph: Graph) -> List[Tuple[int, int]]:
    return [(node.id, 0) for node in graph.nodes if node.op in _INPUTS]


def _dataset(graph: Graph) -> List[Tuple[int, int]]:
    places: List[Tuple[int, int]] = []
    for node in graph.nodes:
        if node.op in GETNEXT_OPERATORS:
            places.extend((node.id, slot) for slot in range(len(graph.output_dtypes(node.id))))
    return places


def _at(inputs: Mapping[str, Tuple[int, int]], name: str) -> List[Tuple[int, int]]:
    return [inputs[name]] if name in inputs else []


def _key(graph: Graph, at: Tuple[int, int]) -> str:
    return f"{graph.nodes[at[0]].name}:{at[1]}"


def _known(graph: Graph, given: _Given, at: Tuple[int, int]) -> Optional[Shape]:
    shape = given.get(_key(graph, at), graph.static_shape(*at))
    return None if shape is None else tuple(shape)


def _fits(shape: Optional[Shape], dims: Sequence[int]) -> bool:
    if shape is None:
        return True
    return len(shape) == len(dims) and all(size is None or size == dim for size, dim in zip(shape, dims))


def _text(shape: Optional[Shape]) -> str:
    return ",".join("?" if size is None else str(size) for size in shape or ())
