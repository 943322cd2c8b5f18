"""What a faulty backend is: the reference, with one method answered by a function that makes a mistake."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence

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


class Faulty(NamedTuple):
    """One faulty backend; `area` is the table's, `sentence` what the documents say and it does not do.

    `fault` makes the mistake, of one that makes a single one.
    """

    name: str
    area: str
    methods: List[str]
    sentence: str
    backend: ReferenceBackend
    fault: Optional[Fault] = None


#: By name, in the order written.
FAULTY: Dict[str, Faulty] = {}
_TABLES: List[Dict[str, Faulty]] = [FAULTY]


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


def broken(area: str, sentence: str, *methods: str) -> Callable[[Fault], Fault]:
    """Registers a backend whose `methods` (that of the area's name where none is given) are the decorated function."""
    chosen = list(methods) or [area]

    def register(fault: Fault) -> Fault:
        name, table = fault.__name__, _TABLES[-1]
        if name in table:
            raise ValueError(f"two backends are called {name}")
        members: Dict[str, Any] = {"__doc__": sentence}
        for method in chosen:
            members[method] = _method(fault, functools.partial(_asked, method))
        backend = type("FaultyBackend", (ReferenceBackend,), members)()
        table[name] = Faulty(name, area, chosen, sentence, backend, fault)
        return fault

    return register


def chained(name: str, parts: Sequence[str]) -> None:
    """One backend with the mistakes of several, each made on what the one before it answers."""
    chosen = [FAULTY[part] for part in parts]
    methods = list(dict.fromkeys(method for one in chosen for method in one.methods))
    members: Dict[str, Any] = {}
    for method in methods:
        *before, last = [one.fault for one in chosen if one.fault is not None and method in one.methods]
        ask: Ask = functools.partial(_asked, method)
        for fault in before:
            ask = functools.partial(fault, ask)
        members[method] = _method(last, ask)
    backend = type("ChainedBackend", (ReferenceBackend,), members)()
    FAULTY[name] = Faulty(name, "combined", methods, f"makes the mistakes of {', '.join(parts)}", backend)
