"""What a faulty backend is: the reference, with one method answered by a function that makes a mistake."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Sequence

from npu_conformance.backends.reference import ReferenceBackend
from npu_reference.errors import NpuError

Params = Mapping[str, Any]
Answer = Dict[str, Any]
Ask = Callable[[Params], Answer]
Fault = Callable[[Ask, Params], Answer]
#: Files by name, as an answer tells them.
Files = Dict[str, Any]
REFERENCE = ReferenceBackend()
#: Digest of a `run` request to the reference's message, which an earlier run of cases recorded.
RECORDED: Dict[str, str] = {}


When = Callable[[Params], bool]


def always(params: Params) -> bool:
    return True


class FaultSpec(NamedTuple):
    """A faulty backend as it is declared.

    requirement: the id of what it breaks; operator: makes the mistake; when: of which questions it is made; methods:
    those that are answered so, the method of its area unless some are named.
    """

    name: str
    requirement: str
    operator: Fault
    when: When = always
    methods: Sequence[str] = ()


class Faulty(NamedTuple):
    """One backend; `sentence` is the requirement that it breaks, or of a lawful one what leaves the choice."""

    name: str
    area: str
    methods: List[str]
    sentence: str
    backend: ReferenceBackend


#: The method of an area.
METHODS = {"artifacts": "compile"}
#: By name, in the order written.
FAULTY: Dict[str, Faulty] = {}
_TABLES: List[Dict[str, Faulty]] = [FAULTY]
#: The area of the module that is loaded, at the end.
AREA: List[str] = []


@contextlib.contextmanager
def into(table: Dict[str, Faulty]) -> Iterator[None]:
    """Backends that are registered within stand in this table instead, under names of its own."""
    _TABLES.append(table)
    try:
        yield
    finally:
        _TABLES.pop()


def _method(fault: Fault, ask: Ask) -> Callable[[ReferenceBackend, Params], Answer]:
    def answer(self: ReferenceBackend, params: Params) -> Answer:
        return fault(ask, params)

    return answer


@functools.lru_cache(maxsize=1 << 13)
def _answered(method: str, request: str, content: bytes) -> Any:
    key = hashlib.sha256(f"{method} {request}".encode() + content).hexdigest()
    if method == "run" and key in RECORDED:
        return RECORDED[key], None
    try:
        found = json.dumps(getattr(REFERENCE, method)(json.loads(request)))
    except NpuError as error:
        return "", error
    if method == "run":
        RECORDED[key] = found
    return found, None


def _asked(method: str, params: Params) -> Answer:
    content = b""
    if "graph" in params and os.path.isfile(params["graph"]):
        with open(params["graph"], "rb") as stream:
            content = stream.read()  # laws write one graph after another to the same file
    found, error = _answered(method, json.dumps(params, sort_keys=True), content)
    if error is not None:
        raise error.with_traceback(None)
    answer: Answer = json.loads(found)
    return answer


def registered(name: str, area: str, sentence: str, methods: Sequence[str], fault: Fault) -> None:
    """Registers a backend whose `methods` are answered by `fault`."""
    table = _TABLES[-1]
    if name in table:
        raise ValueError(f"two backends are called {name}")
    members: Dict[str, Any] = {"__doc__": sentence}
    for method in methods:
        members[method] = _method(fault, functools.partial(_asked, method))
    table[name] = Faulty(name, area, list(methods), sentence, type("FaultyBackend", (ReferenceBackend,), members)())


def declare(spec: FaultSpec) -> None:
    """Registers a faulty backend in the area of the module that is loaded."""
    area = AREA[-1]

    def fault(ask: Ask, params: Params) -> Answer:
        return spec.operator(ask, params) if spec.when(params) else ask(params)

    registered(spec.name, area, spec.requirement, spec.methods or [METHODS.get(area, area)], fault)


def fault(name: str, requirement: str, operator: Fault, when: When = always, methods: Sequence[str] = ()) -> None:
    """Declares a faulty backend."""
    declare(FaultSpec(name, requirement, operator, when, methods))


def mistake(requirement: str, methods: Sequence[str] = ()) -> Callable[[Fault], Fault]:
    """Declares the decorated function, a mistake of no kind, as the faulty backend of its name."""

    def register(operator: Fault) -> Fault:
        declare(FaultSpec(operator.__name__, requirement, operator, methods=methods))
        return operator

    return register
