"""Whether the inputs of a run fit the profiles or ranges of its session, or of its graph."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_reference.errors import NpuError
from npu_reference.graphs import Graph
from npu_reference.options.grammars.shapes import Dim, InputShape, Profiles, Ranges, parse_shape_range, write_dim
from npu_reference.options.typed import ShapeOptions

__all__ = ["GRAPH_ATTRS", "Inputs", "InputShapes", "inputs_of"]

#: Attributes that set_graph_exec_config leaves on an operator that is fetched or run.
GRAPH_ATTRS = ("_graph_dynamic_input", "_graph_dynamic_inputs_shape_range")

_PLACEHOLDERS = frozenset({"Placeholder", "PlaceholderV2", "PlaceholderWithDefault"})
_GETNEXT = frozenset({"IteratorGetNext", "IteratorGetNextSync", "DynamicGetNext", "DynamicGetNextV2"})

#: A shape as far as the graph states it: None for an unknown rank, None for an unknown dimension.
Stated = Optional[Tuple[Optional[int], ...]]


class Inputs(NamedTuple):
    """What a run reads: placeholders that are fed, by name with the tensor fed, and dataset outputs in order."""

    placeholders: Tuple[Tuple[str, str, Stated], ...]
    getnext: Tuple[Stated, ...]


def inputs_of(user_graph: Graph, run_graph: Graph, feeds: Sequence[str]) -> Inputs:
    """The inputs of a run.

    Placeholders stand in the order of their names as text: that is the order in which a range binds to them, whether a
    script named them or TensorFlow did (A51).

    Args:
        user_graph: the session's graph.
        run_graph: what a run of it reaches, each feed an ``_Arg``.
        feeds: the tensors fed, sorted.
    """
    placeholders = []
    for position, tensor in enumerate(feeds):
        name, _, slot = tensor.rpartition(":")
        arg = run_graph.index.get(f"_arg_{name}_{slot}_{position}")
        node = user_graph.nodes[user_graph.index[name]]
        if arg is not None and run_graph.out_edges(arg) and node.op in _PLACEHOLDERS:
            placeholders.append((name, tensor, _stated(node.attr("shape"))))
    getnext: List[Stated] = []
    for node in run_graph.nodes:
        if node.op in _GETNEXT:
            getnext.extend(_stated(shape) for shape in node.attr("output_shapes", ()))
    return Inputs(tuple(sorted(placeholders)), tuple(getnext))


def _stated(shape: Any) -> Stated:
    return tuple(None if size is None or size < 0 else size for size in shape) if isinstance(shape, tuple) else None


class InputShapes:
    """The shapes a session allows: those of its options, or of the graph that set_graph_exec_config set apart."""

    def __init__(self, options: ShapeOptions) -> None:
        self._profiles, self._shape, self._ranges = options.profiles, options.listed, options.ranges
        self._of_placeholders = options.of_placeholders

    def applies(self, user_graph: Graph, names: Sequence[str]) -> bool:
        """Whether anything is said of the shapes of a run that fetches or runs these operators."""
        return self._profiles is not None or self._ranges_for(user_graph, names) is not None

    def check(self, user_graph: Graph, names: Sequence[str], inputs: Inputs, fed: Mapping[str, Sequence[int]]) -> None:
        """Refuse inputs of other shapes.

        Args:
            user_graph: the session's graph.
            names: the operators fetched or run.
            inputs: what the run reads; a run without inputs, such as an initialisation, is free.
            fed: tensor to the shape of the value fed.

        Raises:
            NpuError: INPUT_SHAPE. Of a dataset only what the graph states of its shapes can be wrong.
        """
        if not inputs.placeholders and not inputs.getnext:
            return
        ranges = self._ranges_for(user_graph, names)
        if ranges is not None:
            _check_ranges(ranges, inputs, fed)
        if self._profiles is not None and self._shape is not None:
            self._check_profiles(self._shape, self._profiles, inputs, fed)

    def _ranges_for(self, user_graph: Graph, names: Sequence[str]) -> Optional[Ranges]:
        for name in names:
            node = user_graph.nodes[user_graph.index[name]]
            if node.has_attr(GRAPH_ATTRS[0]):
                text = node.text(GRAPH_ATTRS[1])
                return parse_shape_range(text) if node.attr(GRAPH_ATTRS[0]) and text else None
        return self._ranges

    def _check_profiles(
        self, shape: InputShape, profiles: Profiles, inputs: Inputs, fed: Mapping[str, Sequence[int]]
    ) -> None:
        listed = dict(shape.inputs)
        if self._of_placeholders:
            if not inputs.placeholders:
                return
            _one_kind(inputs.getnext, "dataset", "placeholders (dynamic_node_type 1)")
            read = {name: tuple(fed[tensor]) for name, tensor, _ in inputs.placeholders}
            for name in sorted(set(read) ^ set(listed)):
                where = "is a placeholder of this run, but not in" if name in read else "is no placeholder, but in"
                raise NpuError("INPUT_SHAPE", name, f"it {where} input_shape.", "List all inputs of the one kind.")
        else:
            if not inputs.getnext:
                return
            stated = [shape for _, _, shape in inputs.placeholders]
            _one_kind(stated, "placeholder", "those of the dataset (dynamic_node_type 0)")
            _same_number("input_shape", "dataset", len(listed), len(inputs.getnext))
            read = dict(zip(listed, inputs.getnext))  # type: ignore[arg-type]
        if not any(_fits_profile(read, dict(shape.in_profile(sizes).inputs)) for sizes in profiles.profiles):
            _refuse_profile(read, shape, profiles)


def _one_kind(shapes: Sequence[Stated], kind: str, others: str) -> None:
    """Inputs of the other kind are static (session.dynamic_node_type.not_both)."""
    if any(shape is None or None in shape for shape in shapes):
        raise NpuError(
            "INPUT_SHAPE",
            "dynamic_node_type",
            f"a {kind} input has dynamic dimensions beside {others}; only one kind can be dynamic.",
            "State its shape in the graph.",
        )


def _same_number(option: str, kind: str, listed: int, found: int) -> None:
    if listed != found:
        reason = f"it lists {listed} {kind} inputs, but the graph reads {found}."
        raise NpuError("INPUT_SHAPE", option, reason, "List every input of the kind, fixed ones too.")


def _fits_profile(read: Mapping[str, Stated], profile: Mapping[str, Sequence[int]]) -> bool:
    return all(_fits(shape, [Dim(size, size) for size in profile[name]]) for name, shape in read.items())


def _fits(shape: Stated, dims: Sequence[Dim]) -> bool:
    if shape is None:
        return True
    return len(shape) == len(dims) and all(size is None or size in dim for size, dim in zip(shape, dims))


def _refuse_profile(read: Mapping[str, Stated], shape: InputShape, profiles: Profiles) -> None:
    most = 8  # profiles shown; more would hide what is wrong
    shown = [
        f"{number}: " + ", ".join(_text(name, dims) for name, dims in shape.in_profile(sizes).inputs)
        for number, sizes in enumerate(profiles.profiles[:most])
    ]
    if len(profiles.profiles) > most:
        shown.append(f"and {len(profiles.profiles) - most} more")
    found = ", ".join(_text(name, dims) for name, dims in read.items())
    raise NpuError("INPUT_SHAPE", "dynamic_dims", f"{found} is in no profile.", f"Profiles are {'; '.join(shown)}.")


def _text(name: str, shape: Stated) -> str:
    return f"{name}({','.join('?' if size is None else str(size) for size in shape or ())})"


def _check_ranges(ranges: Ranges, inputs: Inputs, fed: Mapping[str, Sequence[int]]) -> None:
    names = [name for name, _, _ in inputs.placeholders]
    shapes: List[Stated] = [tuple(fed[tensor]) for _, tensor, _ in inputs.placeholders]
    sets: Dict[str, Tuple[Any, Sequence[str], Sequence[Stated]]] = {
        "placeholder": (ranges.data, names, shapes),
        "dataset": (ranges.getnext, [f"getnext {n}" for n in range(len(inputs.getnext))], inputs.getnext),
    }
    for kind, (allowed, subjects, found) in sets.items():
        if allowed is None or not found:
            continue
        _same_number("dynamic_inputs_shape_range", kind, len(allowed), len(found))  # S13
        for subject, shape, dims in zip(subjects, found, allowed):
            if not _fits(shape, dims):
                wanted = ",".join(write_dim(dim) for dim in dims)
                reason = f"its shape {_text('', shape)} is outside the range [{wanted}]."
                raise NpuError("INPUT_SHAPE", subject, reason, "Feed a shape inside, or widen the range.")
