"""Facts of the files that a run or a compilation left, by kind of file: names, structure, invariants.

A kind is registered once, with :func:`kind`; a file of no kind is its name and digest. What varies from run to run and
from device to device stands in names as a word: ``<time>``, ``<device>``, ``<model>``.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_conformance.observing import tensors

__all__ = ["KINDS", "Left", "Triples", "kind", "left", "observations"]

#: Aspect, subject, text.
Triples = Iterator[Tuple[str, str, str]]


class Left(NamedTuple):
    """A file as an answer tells it.

    Attributes:
        name: below the run's folder, with ``/``.
        content: None where only its size was told.
        size: bytes.
    """

    name: str
    content: Optional[bytes]
    size: int


class Kind(NamedTuple):
    """A kind of files: which are of it, and what they say beside the rest of the answer."""

    name: str
    recognises: Callable[[Left], bool]
    observe: Callable[[Sequence[Left], Mapping[str, Any]], Triples]


KINDS: Dict[str, Kind] = {}


def kind(name: str, recognises: Callable[[Left], bool]) -> Callable[[Any], Any]:
    """Decorator that registers the observer of a kind of files; it gets all files of the kind, and the answer."""

    def register(observe: Any) -> Any:
        KINDS[name] = Kind(name, recognises, observe)
        return observe

    return register


def left(answer: Mapping[str, Any]) -> List[Left]:
    """The files of an answer, sorted by name.

    Raises:
        tensors.BadTensor: content that is no base64.
    """
    found = []
    for name, told in sorted(answer.get("files", {}).items()):
        if "b64" not in told:
            found.append(Left(name, None, told["bytes"]))
            continue
        try:
            content = base64.b64decode(told["b64"], validate=True)
        except ValueError:
            raise tensors.BadTensor(f"file {ascii_name(name)} has no valid b64") from None
        found.append(Left(name, content, len(content)))
    return found


def ascii_name(name: str) -> str:
    """A name for a message."""
    return name.encode("unicode_escape").decode("ascii")[:80]


def observations(answer: Mapping[str, Any]) -> Triples:
    """The facts of all files of an answer."""
    of_kind: Dict[str, List[Left]] = {}
    for one in left(answer):
        found = next((name for name, which in KINDS.items() if which.recognises(one)), None)
        if found is not None:
            of_kind.setdefault(found, []).append(one)
        elif one.content is None:
            yield "files", one.name, f"file {one.name} bytes:{one.size}"
        else:
            yield "files", one.name, f"file {one.name} sha256:{hashlib.sha256(one.content).hexdigest()}"
    for name, files in of_kind.items():
        yield from KINDS[name].observe(files, answer)
