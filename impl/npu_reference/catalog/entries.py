"""Which entries of option files name an operator or a type that a graph does not have, and what they probably mean.

One mechanism for every option that lists operators (G30, P10, P23). A name that no operator has is a warning, and so
is a type that the device has not; both with the nearest name that would match. A type that the device has and the graph
has not is a note: one file serves the several graphs of a session, as M9 says of ranges.
"""

from __future__ import annotations

from typing import Dict, FrozenSet, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from npu_reference.catalog.catalog import Catalog
from npu_reference.graphs import OPS, Graph
from npu_reference.options.resolution import Resolution
from npu_reference.printing import listed
from npu_reference.spelling import nearest

__all__ = ["Operators", "Unmatched", "names_operators", "operators_of", "unmatched"]

_MOST = 20  # entries of one option that are told one by one (assumed)
_MOST_NEAR = 5  # of them, those to which the nearest name is told: each is a search among all names (assumed)
_MOST_TYPES = 10  # types named in a note (assumed)


class Unmatched(NamedTuple):
    """An entry that matches nothing: its option, a code, one sentence, the entry, and ``warning`` or ``info``."""

    option: str
    code: str
    message: str
    subject: str
    level: str = "warning"

    def to_json(self) -> Dict[str, str]:
        return {"code": self.code, "message": self.message, "subject": self.subject, "level": self.level}


class Operators(NamedTuple):
    """What entries may name.

    Attributes:
        nodes: names in the graph; those of functions also as ``function/node``.
        inner: names in functions, which a call puts behind its own.
        types: TensorFlow's operators, in the graph and its functions.
    """

    nodes: FrozenSet[str]
    inner: FrozenSet[str]
    types: FrozenSet[str]

    def has(self, name: str) -> bool:
        """Whether an operator has this name, in the graph or below a call."""
        if name in self.nodes:
            return True
        parts = name.split("/")
        return bool(self.inner) and any("/".join(parts[at:]) in self.inner for at in range(1, len(parts)))


class _Listed(NamedTuple):
    """The entries of one option.

    names: of operators; types: of operator types; either: those without a prefix, a name or else a type (D17).
    single: whether TensorFlow's name of a type counts only where it has one kernel (P11). codes: of a name and of a
    type that match nothing. documented: all its types are ones that the documents list, whatever the device has.
    """

    option: str
    names: Sequence[str] = ()
    types: Sequence[str] = ()
    either: Sequence[str] = ()
    single: bool = False
    codes: Tuple[str, str] = ("entry_no_operator", "entry_unknown_type")
    documented: bool = False


def operators_of(graph: Graph) -> Operators:
    """The operators of a graph, by name and type. O(nodes)."""
    names: Set[str] = set(graph.index)
    inner: Set[str] = set()
    types = {node.op for node in graph.nodes}
    for name, function in graph.functions.items():
        for node in function.proto.node_def:
            names.add(f"{name}/{node.name}")
            inner.add(node.name)
            types.add(node.op)
    return Operators(frozenset(names), frozenset(inner), frozenset(types))


def names_operators(resolution: Resolution) -> bool:
    """Whether an effective option file names any operator or type."""
    return any(one.names or one.types or one.either for one in _lists(resolution))


def unmatched(resolution: Resolution, graph: Graph, catalog: Optional[Catalog] = None) -> List[Unmatched]:
    """The entries of all effective option files that match no operator of a graph, each once, in the options' order.

    Args:
        graph: the whole graph of the user's, since what one run leaves out another may need.
        catalog: the operator library; the built-in one without it.
    """
    if not names_operators(resolution):
        return []
    library = catalog or Catalog.built_in()
    operators = operators_of(graph)
    found = [note for one in _lists(resolution) for note in _Check(one, operators, library).notes()]
    return list(dict.fromkeys(found))


def _lists(resolution: Resolution) -> Iterator[_Listed]:
    options = resolution.typed
    moves, custom, modes = options.precision.mixlist, options.precision.dtypes, options.implementation.file
    debug, tuned = options.artifacts.debug, options.tuning.config
    if moves is not None:
        types = (*moves.black_remove, *moves.black_add, *moves.white_remove, *moves.white_add)
        yield _Listed("modify_mixlist", (), types, (), True, ("", "mixlist_unknown"))
    if custom is not None:
        codes = ("customize_no_node", "customize_unknown")
        yield _Listed("customize_dtypes", tuple(custom.by_name), tuple(custom.by_type), (), True, codes)
    if modes is not None:
        codes = ("op_precision_unknown", "op_precision_unknown")
        yield _Listed("op_precision_mode", tuple(modes.by_name), tuple(modes.by_type), (), True, codes)
    if options.implementation.types is not None:
        yield _Listed("optypelist_for_implmode", (), options.implementation.types, documented=True)
    if debug is not None:
        yield _Listed("op_debug_config", (), debug.types, debug.names)
    if tuned is not None:
        yield _Listed("aoe_config_file", tuned.names, tuned.types)
    yield _Listed("profiling_options", options.trace_points)


class _Check:
    """The entries of one option against the operators of a graph."""

    def __init__(self, listed: _Listed, operators: Operators, catalog: Catalog) -> None:
        self._listed, self._operators, self._catalog = listed, operators, catalog
        self._kernels = {kernel for op in operators.types for kernel in catalog.kernels_of(op)}
        self._near = 0

    def notes(self) -> Iterator[Unmatched]:
        warnings: List[Unmatched] = []
        absent: Dict[str, None] = {}
        for name in dict.fromkeys(self._listed.names):
            if not self._is_operator(name):
                warnings.append(self._no_operator(name))
        for name in dict.fromkeys(self._listed.either):
            if self._operators.has(name) or self._is_type(name):
                continue
            if self._is_known(name):
                absent.setdefault(name)
            else:
                warnings.append(self._no_operator(name))
        for name in dict.fromkeys(self._listed.types):
            if not self._is_known(name):
                warnings.append(self._no_type(name))
            elif not self._is_type(name):
                absent.setdefault(name)
        yield from warnings[:_MOST]
        if len(warnings) > _MOST:
            more = f"{self._listed.option}: and {len(warnings) - _MOST} more entries match nothing."
            yield Unmatched(self._listed.option, warnings[_MOST].code, more, self._listed.option)
        if absent:
            yield self._absent(list(absent))

    def _is_operator(self, name: str) -> bool:
        """Whether an operator has this name; a point of a profile may have suffixes that fusion gave it."""
        if self._operators.has(name):
            return True
        stems = self._listed.option == "profiling_options"
        parts = name.split("_")
        return stems and any(self._operators.has("_".join(parts[:end])) for end in range(1, len(parts)))

    def _is_type(self, name: str) -> bool:
        """Whether an operator of the graph is of this type, by TensorFlow's name or by that of one of its kernels."""
        return name in self._operators.types or name in self._kernels

    def _is_known(self, name: str) -> bool:
        """Whether there is such a type; one that TensorFlow has and that becomes several is, where P11 holds, none."""
        if self._listed.documented or name in self._catalog.kernels():
            return True
        if self._listed.single:
            return len(set(self._catalog.kernels_of(name))) == 1
        return name in OPS or name in self._catalog

    def _no_operator(self, name: str) -> Unmatched:
        near = self._nearest(name, self._operators.nodes)
        hint = f" Did you mean {near}?" if near else ""
        if near and name.partition(":")[0] == near:
            hint = f" Names stand without an output number: {near}."
        message = f"{self._listed.option}: the graph has no operator {name}.{hint}"
        return Unmatched(self._listed.option, self._listed.codes[0], message, name)

    def _no_type(self, name: str) -> Unmatched:
        kernels = self._catalog.kernels_of(name)
        hint = f" TensorFlow's {name} becomes {' or '.join(dict.fromkeys(kernels))}." if kernels else ""
        if not hint:
            here = self._kernels if self._listed.single else self._kernels | self._operators.types
            near = self._nearest(name, here, self._catalog.kernels())
            if near:
                alike = near.lower() in (name.lower(), f"{name.lower()}v2")
                case = "Names are case-sensitive; did" if alike else "Did"
                hint = f" {case} you mean {near}?"
        message = f"{self._listed.option}: no operator of the device is called {name}.{hint}"
        return Unmatched(self._listed.option, self._listed.codes[1], message, name)

    def _nearest(self, name: str, *places: Iterable[str]) -> str:
        """The nearest name of the first of these places that has one."""
        self._near += 1
        found = (nearest(name, names) for names in places if self._near <= _MOST_NEAR)
        return next(filter(None, found), "")

    def _absent(self, types: Sequence[str]) -> Unmatched:
        kind = "type" if len(types) == 1 else "types"
        message = f"{self._listed.option}: the graph has no operator of {kind} {listed(types, _MOST_TYPES)}."
        return Unmatched(self._listed.option, "entry_no_effect", message, self._listed.option, "info")
