"""How what goes wrong in a session reaches the script: as the exceptions its authors know, naming their own nodes."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Mapping, Optional, Type

from npu_reference.device.numerics import ADDED, has_channels_first
from npu_reference.errors import DeviceError, NpuError
from npu_reference.partition import Partition
from npu_reference.runtime.sessions.running_again import Told
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["failed_at", "in_users_words", "refused", "session_error"]

_TAG = re.compile(r"\{\{node ([^\s}]+)\}\}")
_FUNCTION_TAG = re.compile(r"\{\{function_node ([^\s}]+)\}\}\s*")
_BRACKET = re.compile(r"\[\[([^\[\]]+)\]\]")
_BARE = re.compile(r"\[\[([^\s\[\]{}]+)\]\]")

#: What TensorFlow 1.15 puts before what goes wrong in a function; in the user's graph it is in none.
_DERIVED = "[_Derived_]"

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
    found: NpuError
    if isinstance(error, DeviceError):
        found = _CLASSES["failed"](
            error.code,
            error.subject,
            error.reason,
            error.remedy,
            rule=error.rule,
            number=error.number,
            option=error.option,
            after_ns=error.after_ns,
        )
    else:
        found = _CLASSES["refused"](error.code, error.subject, error.reason, error.remedy)
    return found


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


def in_users_words(
    error: Any, graph: Any, origin: Mapping[str, str], geops: Mapping[str, str], partition: Partition
) -> Any:
    """An OpError of the partitioned graph as one of the user's graph.

    Args:
        error: the OpError that TensorFlow raised.
        graph: the user's tf.Graph.
        origin: name in the partitioned graph to name in the user's graph, where they differ.
        geops: name of each GEOP's node and function to the name it has in the partition.
        partition: of what was asked for.

    Returns:
        An error of the same class; its op is the user's operator where the message names one, and its message says in
        which GEOP it failed, or, where the device would have had the operator's layout, why it is not in one.
    """
    text = error.message if isinstance(error.message, str) else error.message.decode("utf-8", "replace")
    inside = _geop_of(text, geops)
    text = _FUNCTION_TAG.sub("", text).replace(_DERIVED, "")
    text = _TAG.sub(lambda match: "{{node " + _own_name(match.group(1), origin, geops) + "}}", text)
    text = _BARE.sub(lambda match: "[[" + _own_name(match.group(1), origin, geops) + "]]", text)
    op = _first_op(text, graph, geops)
    text = _interpolate(text, graph)
    if inside is not None:
        text = f"{text}\n\t (on the simulated NPU, in GEOP {inside})"
    elif op is not None:
        text += _why_on_host(op.name, partition)
    return type(error)(None if op is None else op.node_def, op, text)


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


def failed_at(error: Any, origin: Mapping[str, str], geops: Mapping[str, str]) -> Optional[Told]:
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
    return Told(names[0], functions[-1] if functions else "", tuple(names[1:]))


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


def _own_name(name: str, origin: Mapping[str, str], geops: Mapping[str, str]) -> str:
    name = name.partition(ADDED)[0]
    if name in origin:
        return origin[name]
    head, slash, rest = name.partition("/")
    if slash and head in geops:
        return origin.get(rest, rest)
    return name


def _first_op(text: str, graph: Any, geops: Mapping[str, str]) -> Any:
    """The first operator of the user's graph that the message names."""
    names: List[str] = _TAG.findall(text) + _BARE.findall(text)
    for name in names:
        try:
            return graph.get_operation_by_name(name)
        except (KeyError, ValueError):
            continue
    return None


def _interpolate(text: str, graph: Any) -> str:
    """TensorFlow's own "(defined at …)", for the nodes of the user's graph."""
    interpolation = tensorflow().session.error_interpolation
    interpolate = getattr(interpolation, "interpolate_graph", None) or interpolation.interpolate
    return str(interpolate(text, graph))
