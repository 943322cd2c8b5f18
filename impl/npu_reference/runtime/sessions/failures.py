"""How what goes wrong in a session reaches the script: as the exceptions its authors know, naming their own nodes."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Type

from npu_reference.device.numerics import ADDED, has_channels_first
from npu_reference.errors import DeviceError, NpuError
from npu_reference.graphs import Graph
from npu_reference.partition import Partition
from npu_reference.partition.structure.calls import called_functions
from npu_reference.runtime.execution.inlining import dissolved
from npu_reference.runtime.execution.reference_reads import MARK
from npu_reference.runtime.sessions.rerun import ToldAgain
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["About", "failed_at", "in_users_words", "refused", "session_error"]

_TAG = re.compile(r"\{\{node ([^\s}]+)\}\}")
_FUNCTION_TAG = re.compile(r"\{\{function_node ([^\s}]+)\}\}\s*")
_BRACKET = re.compile(r"\[\[([^\[\]]+)\]\]")
_BARE = re.compile(r"\[\[([^\s\[\]{}]+)\]\]")

#: The operator, or its call, that a line of a message names.
_LINE = re.compile(r"\s*\[\[(?:\{\{node )?([^\s\[\]{}]+)(?:\}\})?\]\]")

#: What TensorFlow 1.15 puts before what goes wrong in a function; in the user's graph it is in none.
_DERIVED = "[_Derived_]"

#: A fetch that a branch not taken would have had to compute; in no function, and so without an operator's name.
_VALUELESS = re.compile(r"\ARetval\[(\d+)\](?= does not have value\Z)")

#: What TensorFlow puts before the names of what was in a branch or a loop.
_LOWERED = re.compile(r"\A(?:then|else|branch\d+|cond|body)/_\d+/")

#: What TensorFlow puts in the place of a loop or branch: named by that, and by what it reads for it.
_ADDED_FOR = re.compile(r"/_\d+\Z")

_CLASSES: Dict[str, Any] = {}


def session_error(error: NpuError) -> NpuError:
    """The same error as an NpuError that is also TensorFlow's InvalidArgumentError and a ValueError (G11).

    One of the device, while it runs, is TensorFlow's InternalError, as the adapter raises.
    """
    if "refused" not in _CLASSES:
        _CLASSES["refused"] = _make_class()
        _CLASSES["failed"] = _make_device_class()
    if isinstance(error, (_CLASSES["refused"], _CLASSES["failed"])):
        return error
    told = (error.code, error.subject, error.reason, error.remedy)
    if isinstance(error, DeviceError):
        known = {name: getattr(error, name) for name in ("rule", "number", "option", "after_ns")}
        return _CLASSES["failed"](*told, **known)
    return _CLASSES["refused"](*told)


def _make_class() -> Type[NpuError]:
    invalid_argument = tensorflow().v1.errors.InvalidArgumentError

    class SessionRefused(NpuError, invalid_argument, ValueError):  # type: ignore[misc,valid-type]
        """What a session was asked for cannot be: an option, a range or a graph that is wrong."""

        def __init__(self, code: str, subject: str, reason: str, remedy: str = "") -> None:
            text = NpuError(code, subject, reason, remedy)
            invalid_argument.__init__(self, None, None, str(text))
            self.code, self.subject, self.reason, self.remedy = code, subject, reason, remedy

    SessionRefused.__module__ = __name__
    return SessionRefused


def _make_device_class() -> Type[NpuError]:
    internal = tensorflow().v1.errors.InternalError

    class DeviceFailed(DeviceError, internal):  # type: ignore[misc,valid-type]
        """The device failed while it ran."""

        def __init__(self, code: str, subject: str, reason: str, remedy: str = "", **known: Any) -> None:
            text = DeviceError(code, subject, reason, remedy, **known)
            internal.__init__(self, None, None, str(text))
            self.__dict__.update(text.__dict__)

        __str__ = NpuError.__str__

    DeviceFailed.__module__ = __name__
    return DeviceFailed


@contextmanager
def refused() -> Iterator[None]:
    """Turn an NpuError that leaves the block into :func:`session_error`."""
    try:
        yield
    except NpuError as error:
        raise session_error(error) from None


class About(NamedTuple):
    """What the error of a partitioned graph is told by.

    Attributes:
        graph: the user's tf.Graph.
        partition: of what was asked of it.
        origin: name in the partitioned graph to name in the user's graph, where they differ.
        geops: name of each GEOP's node and function to the name it has in the partition.
        apart: name of each operator to its GEOP, where GEOPs were taken apart.
        fetches: what was fetched, by name in the user's graph.
        taken: the tensors that were taken of the partitioned graph instead, in the same order, and further ones.
    """

    graph: Any
    partition: Partition
    origin: Mapping[str, str]
    geops: Mapping[str, str]
    apart: Mapping[str, str]
    fetches: Sequence[str] = ()
    taken: Sequence[str] = ()


def _readers_of_references(partition: Partition) -> Dict[str, str]:
    """Of what reads a reference where it leaves a GEOP or the host: its name to that of the operator it reads for.

    A variable without a value fails at who reads it. Of several readers it is the first of the graph.
    """
    graph, home, edges = partition.graph, partition.assignment, partition.graph.edges
    found: Dict[str, str] = {}
    for node in graph.nodes:
        if node.id not in partition.wires.ref_outputs:
            continue
        readers = (
            edges.dst[edge]
            for edge in graph.out_edges(node.id)
            if edges.src_slot[edge] >= 0 and home[edges.dst[edge]] != home[node.id]
        )
        names = [graph.nodes[reader].name for reader in sorted(readers) if graph.nodes[reader].op != "_Retval"]
        if names:
            found[f"{node.name}_dummyIdentity"] = names[0]
    return found


#: Versions of TensorFlow in which an error names what a loop or branch reads: 1.15 and 2.6 do, 2.15 does not.
_NAMES_WHAT_IS_READ = ("1.", "2.0.", "2.1.", "2.2.", "2.3.", "2.4.", "2.5.", "2.6.")


def _reader_in_geop(name: str, partition: Partition) -> str:
    """The operator that TensorFlow 1.15 and 2.6 name where a loop of version 2 reads a reference; else the name.

    In a graph it names the loop for what it puts in its place, or what a Switch hands on; in a GEOP it has lost both.
    """
    added = _ADDED_FOR.sub("", name)
    if added == name or not tensorflow().v1.VERSION.startswith(_NAMES_WHAT_IS_READ):
        return name
    head, _, read = added.rpartition("/")
    if read in ("enter", "switch_pred", "branch_index") and head in partition.graph.index:
        return head
    references = (partition.graph.nodes[node].name for node in partition.wires.ref_outputs)
    return max((reference for reference in references if added.endswith(f"/{reference}")), key=len, default=name)


def in_users_words(error: Any, about: About) -> Any:
    """An OpError of the partitioned graph as one of the user's graph.

    Args:
        error: the OpError that TensorFlow raised.
        about: the graphs and names that it is told by.

    Returns:
        An error of the same class; its op is the user's operator where the message names one, and its message says in
        which GEOP it failed, or, where the device would have had the operator's layout, why it is not in one.
    """
    geops, model = about.geops, about.partition.graph
    readers = _readers_of_references(about.partition)
    calls = model.index.keys() - {model.nodes[node].name for node in about.partition.wires.ref_outputs}

    def own(name: str) -> str:
        name = _own_name(name, about.origin, geops)
        if name.partition(MARK)[0] in calls:
            return name.partition(MARK)[0]
        return readers.get(name) or _reader_in_geop(name, about.partition)

    text = error.message if isinstance(error.message, str) else error.message.decode("utf-8", "replace")
    inside = _geop_of(text, geops)
    if not about.apart:
        text = _FUNCTION_TAG.sub("", text).replace(_DERIVED, "")
    # In the user's graph nothing calls the operators of a GEOP.
    text = _LINE.sub(lambda match: "" if match.group(1) in geops else match.group(0), text)
    text = _TAG.sub(lambda match: "{{node " + own(match.group(1)) + "}}", text)
    text = _BARE.sub(lambda match: "[[" + own(match.group(1)) + "]]", text)
    text = _without_calls(text, model)
    if inside is None:
        inside = _part_of(text, about.apart)
    text = _TAG.sub(lambda match: "{{node " + (_innermost(match.group(1), model) or match.group(1)) + "}}", text)
    op = _first_op(text, about.graph)
    # TensorFlow finds no operator by a name that stands alone in its brackets.
    why = next(filter(None, (_why_on_host(name, about.partition) for name in _LINE.findall(text))), "")
    text = _VALUELESS.sub(lambda match: _place(int(match.group(1)), about), text)
    text = _interpolate(text, about.graph)
    text += why if inside is None else f"\n\t (on the simulated NPU, in GEOP {inside})"
    return type(error)(None if op is None else op.node_def, op, text)


def _place(number: int, about: About) -> str:
    """A result without a value: TensorFlow counts results by the order of their names."""
    taken = sorted(set(about.taken))
    known = number < len(taken) and taken[number] in about.taken[: len(about.fetches)]
    if known:
        number = sorted(set(about.fetches)).index(about.fetches[about.taken.index(taken[number])])
    return f"Retval[{number}]"


def _why_on_host(name: str, partition: Partition) -> str:
    """What is to be said of a host operator that has the channels first, which TensorFlow's CPU kernels may not."""
    entry = next((entry for entry in partition.host if entry.node == name), None)
    if entry is None:
        return ""
    layout = partition.graph.nodes[partition.graph.index[name]].attr("data_format", b"")
    if not has_channels_first(entry.op, layout):
        return ""
    why = f"on the host, for the reason {entry.reason.value}: TensorFlow's CPU kernel may not have {layout.decode()}"
    return f"\n\t ({why}. {entry.remedy})"


def failed_at(error: Any, origin: Mapping[str, str], geops: Mapping[str, str]) -> Optional[ToldAgain]:
    """What an OpError of the partitioned graph says of the operator in a GEOP that failed; None where it names none."""
    text = error.message if isinstance(error.message, str) else error.message.decode("utf-8", "replace")
    text = text.replace(_DERIVED, "")
    names: List[str] = []
    first = _BRACKET.search(text)
    if first is None:
        return None
    for found in _BRACKET.finditer(text):
        name = _own_name(_bare_name(found.group(1)), origin, geops)
        if _lookup(name, geops) is not None:
            break
        names.append(name)
    functions = _FUNCTION_TAG.findall(text[: first.end()])
    functions = [name for name in functions if _lookup(name, geops) is None]
    if not names:
        return None
    return ToldAgain(names[0], functions[-1] if functions else "", tuple(names[1:]))


def _bare_name(text: str) -> str:
    found = _TAG.search(text)
    return found.group(1) if found else text


def _geop_of(text: str, geops: Mapping[str, str]) -> Optional[str]:
    for pattern in (_FUNCTION_TAG, _TAG, _BARE):
        for name in pattern.findall(text):
            found = _lookup(name, geops)
            if found is not None:
                return found
    return None


def _lookup(name: str, geops: Mapping[str, str]) -> Optional[str]:
    """The GEOP that a name stands for; grappler appends to the names of functions it specializes."""
    if name in geops:
        return geops[name]
    head = name.split("_specialized_for_", 1)[0].split("/", 1)[0]
    head = head.rsplit("__instantiated", 1)[0]
    return geops.get(head)


def _part_of(text: str, apart: Mapping[str, str]) -> Optional[str]:
    """The GEOP of the first operator that a message names, or of the call that led to it."""
    names: List[str] = _TAG.findall(text) + _BARE.findall(text)
    for name in names:
        heads = [name, *(name[:at] for at, char in enumerate(name) if char == "/")]
        found = next((apart[head] for head in heads if head in apart), None)
        if found is not None:
            return found
    return None


def _own_name(name: str, origin: Mapping[str, str], geops: Mapping[str, str]) -> str:
    name = name.partition(ADDED)[0]
    if name in origin:
        return origin[name]
    head, slash, rest = name.partition("/")
    if slash and head in geops:
        return origin.get(rest, rest)
    return name


def _without_calls(text: str, model: Graph) -> str:
    """A message without the calls that led to an operator: TensorFlow puts functions in the place of their calls."""
    lines = list(_LINE.finditer(text))
    if len(lines) < 2 or lines[-1].group(1) not in model.index:
        return text
    call = model.nodes[model.index[lines[-1].group(1)]].proto
    name = dissolved(call, model.functions)
    return text if name is None else text[: lines[0].end()] + text[lines[-1].end() :]


def _innermost(name: str, body: Graph) -> Optional[str]:
    """What an operator is called in its function: TensorFlow's messages tell of no calls that it has dissolved."""
    if name in body.index:
        return name
    for at in (at for at, char in enumerate(name) if char == "/"):
        if name[:at] not in body.index:
            continue
        call = body.nodes[body.index[name[:at]]].proto
        rest = _LOWERED.sub("", name[at + 1 :], count=1)
        for called in (call.op, *called_functions(call.attr)):
            if called not in body.functions:
                continue
            try:
                found = _innermost(rest, body.functions[called].body)
            except NpuError:  # a body that only its caller's attributes complete
                continue
            if found is not None:
                return found
    return None


def _first_op(text: str, graph: Any) -> Any:
    """The first operator that the message names, if it is one of the user's graph; as TensorFlow's session finds it."""
    found = tensorflow().session.BaseSession._NODEDEF_NAME_RE.search(text)
    try:
        return None if found is None else graph.get_operation_by_name(found.group(3))
    except (KeyError, ValueError):
        return None


def _interpolate(text: str, graph: Any) -> str:
    """TensorFlow's own "(defined at …)", for the nodes of the user's graph."""
    interpolation = tensorflow().session.error_interpolation
    interpolate = getattr(interpolation, "interpolate_graph", None) or interpolation.interpolate
    return str(interpolate(text, graph))
