"""Decides which observer looks at a file that a run, a compilation or a step left: one registry of kinds of files.

A kind is registered once, with :func:`kind` or :func:`content`; what varies from run to run and from device to device
stands in names as a word: ``<time>``, ``<device>``, ``<model>``. A file of no kind is its name and digest.
"""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_conformance.observing import tensors
from npu_conformance.observing.naming import brief

__all__ = [
    "KINDS",
    "About",
    "BadFile",
    "FileKind",
    "Left",
    "Triples",
    "check_name",
    "content",
    "kind",
    "left",
    "observations",
    "observed",
]

#: Aspect, subject, text.
Triples = Iterator[Tuple[str, str, str]]


_LONGEST = 4096  # bytes of a path on Linux


class BadFile(tensors.BadTensor):
    """A file of an answer cannot be read as the protocol says; the text says why."""


class Left(NamedTuple):
    """A file as an answer tells it.

    Attributes:
        name: below the folder that was told of, with ``/``.
        content: None where only its size was told.
        size: bytes.
    """

    name: str
    content: Optional[bytes]
    size: int


class About(NamedTuple):
    """What an observer may know beside the files: the rest of the answer, and which of several runs they are of."""

    answer: Mapping[str, Any]
    label: str = ""


class FileKind(NamedTuple):
    """A kind of files: which are of it, by name, and what all of them together say."""

    name: str
    recognises: Callable[[str], bool]
    observe: Callable[[Sequence[Left], About], Triples]


#: Every kind, in the order in which they are asked.
KINDS: Dict[str, FileKind] = {}


def kind(name: str, recognises: Callable[[str], bool]) -> Callable[[Any], Any]:
    """Decorator that registers the observer of a kind of files; it gets all files of the kind."""

    def register(observe: Any) -> Any:
        KINDS[name] = FileKind(name, recognises, observe)
        return observe

    return register


def content(name: str, path: str) -> Callable[[Any], Any]:
    """Decorator that registers a reader of files whose whole names match: what the content says, a text each."""
    pattern = re.compile(path + r"\Z")

    def register(read: Callable[[bytes], Iterator[str]]) -> Any:
        def observe(found: Sequence[Left], about: About) -> Triples:
            for one in found:
                name = brief(one.name)
                for text in read(one.content) if one.content is not None else ():
                    yield "contents", one.name, f"in {name} {text}"

        KINDS[name] = FileKind(name, lambda told: pattern.match(told) is not None, observe)
        return read

    return register


def left(files: Mapping[str, Mapping[str, Any]]) -> List[Left]:
    """The files of an answer, sorted by name.

    Raises:
        BadFile: content that is no base64, or a name that is none of a file.
    """
    found = []
    for name, told in sorted(files.items()):
        check_name(name)
        if "b64" not in told:
            found.append(Left(name, None, told["bytes"]))
            continue
        try:
            data = base64.b64decode(told["b64"], validate=True)
        except ValueError:
            raise BadFile(f"file {ascii_name(name)} has no valid b64") from None
        found.append(Left(name, data, len(data)))
    return found


def check_name(name: str) -> None:
    """Raises :class:`BadFile` for a path that no system has: how files are told apart takes time by their length."""
    if len(name) > _LONGEST:
        raise BadFile(f"file {ascii_name(name)} has a name of more than {_LONGEST} characters")


def ascii_name(name: str) -> str:
    """A name for a message."""
    return name[:80].encode("unicode_escape").decode("ascii")[:80]


def observed(files: Iterable[Left], about: About) -> Tuple[List[Tuple[str, str, str]], List[Left]]:
    """The facts of all files of some kind, and the files of none."""
    of_kind: Dict[str, List[Left]] = {}
    others: List[Left] = []
    for one in files:
        found = next((name for name, which in KINDS.items() if which.recognises(one.name)), None)
        if found is None:
            others.append(one)
        else:
            of_kind.setdefault(found, []).append(one)
    facts = [fact for name, some in of_kind.items() for fact in KINDS[name].observe(some, about)]
    return facts, others


#: Aspects of ``run`` that stand for those which other methods have of the same kinds of files.
_OF_RUN = dict.fromkeys(("contents", "profile", "profile_operators", "profile_points", "profile_faults"), "files")


def observations(answer: Mapping[str, Any]) -> Triples:
    """The facts of all files of an answer of ``run``."""
    facts, others = observed(left(answer.get("files", {})), About(answer, "run"))
    for aspect, subject, text in facts:
        yield _OF_RUN.get(aspect, aspect), subject, text
    for one in others:
        if one.content is None:
            yield "files", one.name, f"file {one.name} bytes:{one.size}"
        else:
            yield "files", one.name, f"file {one.name} sha256:{hashlib.sha256(one.content).hexdigest()}"
