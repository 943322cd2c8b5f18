"""Decides what the author of a backend is told of an answer that is none: what was due, what came, what to change."""

from __future__ import annotations

import json
import re
from typing import Any, List, Mapping, NamedTuple, Optional

from npu_conformance.protocol import messages as protocol
from npu_reference.printing import shorten

__all__ = ["HintedFault", "ended", "extra", "failed", "late", "line", "message", "mute", "other"]

_SHOWN = 120  # characters of what came
_FRAME = re.compile(r'File "(?P<file>[^"<]+)", line (?P<line>\d+), in (?P<within>\S+)')
_MISSING = re.compile(r"(?P<path>\S+): has no '(?P<name>[^']+)'\Z")
_OF_TYPE = re.compile(r"(?P<path>\S+): (?P<came>.+) is not of type (?P<wanted>.+)\Z")
_NONE_OF = re.compile(r"(?P<path>\S+): (?P<came>.+) is none of (?P<wanted>.+)\Z")
_FAULT = re.compile(r"(?P<path>(answer|ok)[\w.\[\]$*-]*): (?P<why>.+)\Z", re.DOTALL)

#: How an author adds a member of `hello`, where most leave something out.
_EXAMPLES = {
    "protocol": '"protocol": 1',
    "backend": '"backend": {"name": "my backend", "version": "1.0"}',
    "name": '"name": "my backend"',
    "version": '"version": "1.0"',
    "capabilities": '"capabilities": {"areas": ["mixed"], "editions": ["current"], "features": ["options"]}',
    "areas": '"areas": ["mixed"]',
    "editions": '"editions": ["current"]',
    "features": '"features": ["options"]',
    "effective": '"effective": {}',
    "warnings": '"warnings": []',
    "geops": '"geops": [{"nodes": ["a", "b"]}]',
    "host": '"host": [{"node": "x"}]',
    "nodes": '"nodes": []',
    "id": '"id": request["id"]',
    "code": '"code": "OPTION_VALUE"',
    "message": '"message": "why"',
    "subject": '"subject": "the option, node or file"',
    "feature": '"feature": "partition"',
}


class HintedFault(NamedTuple):
    """What is wrong with an answer.

    text: in one sentence; expected, came: what was due and what there was; remedy: what to change; path: where in the
    answer's JSON, empty where it is none; at: `file:line` of the backend's own code, empty where it did not tell.
    """

    text: str
    expected: str
    came: str
    remedy: str
    path: str = ""
    at: str = ""


def other(text: str, expected: str, came: str, remedy: str) -> HintedFault:
    """A fault that is about more than one answer."""
    return HintedFault(text, expected, came, remedy)


def late(method: str, seconds: float, waiting: bytes, stderr: str) -> HintedFault:
    """No line in time; `waiting` is what came without a newline."""
    expected = f"an answer to {method} within {seconds:g} s"
    if waiting:
        remedy = 'End every answer with one newline: sys.stdout.write(json.dumps(answer) + "\\n").'
        return HintedFault(
            f"no answer within {seconds:g} s, but a line that never ends", expected, _shown(waiting), remedy
        )
    remedy = (
        "Flush after every answer (Python: sys.stdout.flush(), C: fflush(stdout), C++: std::endl), read one line at a "
        "time, and do slow work after hello; --timeout-factor allows more time."
    )
    came = "nothing" + (f"; stderr ends with: {_last(stderr)}" if stderr.strip() else "")
    return HintedFault(f"no answer within {seconds:g} s", expected, came, remedy, "", at(stderr))


def mute(method: str) -> HintedFault:
    """The worker closed its stdout and lives on."""
    remedy = "Keep stdout open until shutdown, and let nothing redirect it: the protocol has no other way."
    return HintedFault("stdout was closed before an answer", f"an answer to {method}", "the end of stdout", remedy)


def ended(method: str, status: int, stderr: str) -> HintedFault:
    """The worker ended instead of answering."""
    how = f"by signal {-status}" if status < 0 else f"with status {status}"
    where, said = at(stderr), _last(stderr)
    if where:
        remedy = f"Mend {where}" + (f": {said}" if said else "") + "."
    elif status < 0:
        remedy = "Find the native code that died, for example by running the command under a debugger."
    elif status == 0:
        remedy = "Read the next line in a loop until shutdown or the end of input; a worker that answers once is over."
    elif status in (126, 127):
        remedy = "Check the command line: a shell or an interpreter on the way did not find the program."
    else:
        remedy = "Run the command by hand with the request on its stdin: what it says on stderr is the reason."
    came = f"the worker ended {how}" + (f"; stderr ends with: {said}" if said else "; stderr is empty")
    return HintedFault(
        f"the worker ended {how} instead of answering", f"an answer to {method}", came, remedy, "", where
    )


def extra(method: str, found: bytes) -> HintedFault:
    """A further line behind an answer."""
    remedy = "Write one line for each request. Logs and progress belong on stderr."
    text = f"a line more than the answer to {method}"
    return HintedFault(text, "one line an answer", _shown(found), remedy)


def line(method: str, found: bytes, why: str) -> HintedFault:
    """A line that is no JSON object of the protocol; `why` as the protocol's reader says it."""
    expected, came = "one JSON object in UTF-8 on one line", _shown(found)
    text = found.decode("utf-8", "replace").strip()
    if "codec" in why or "\ufffd" in text:
        found_at = re.search(r"position (\d+)", why)
        where = f" (byte {found_at.group(1)})" if found_at else ""
        remedy = "Encode answers as UTF-8, or write ASCII alone: json.dumps does by default."
        return HintedFault(f"not UTF-8{where}", expected, came, remedy)
    if len(found) > protocol.MAX_LINE:
        remedy = "Answer large tensors as files: {dtype, shape, file}."
        return HintedFault(why, f"a line of at most {protocol.MAX_LINE} bytes", f"{len(found)} bytes or more", remedy)
    if re.match(r"\{\s*'|.*\b(None|True|False)\b", text) and text.startswith("{"):
        return HintedFault(
            why, expected, came, "Write JSON, not Python's own form: json.dumps(answer) in the place of str(answer)."
        )
    if re.search(r"\b(NaN|-?Infinity)\b", text) and text.startswith("{"):
        remedy = "JSON has no NaN and no Infinity: answer null, and let json.dumps(answer, allow_nan=False) find them."
        return HintedFault(why, expected, came, remedy)
    if "64 bits" in why or "half a character" in why or "nested" in why or "values" in why:
        return HintedFault(
            why, "what every reader of JSON takes", came, "Answer smaller numbers, whole characters, and less."
        )
    if text in ("{", "[") or (text.startswith("{") and not text.endswith("}")):
        remedy = "Write the whole answer on one line: json.dumps without indent, and no newline within."
        return HintedFault(why, expected, came, remedy)
    if text.startswith(("{", "[", '"')):
        return HintedFault(
            why, expected, came, "Write the answer with a library for JSON; by hand, quotes and commas go wrong."
        )
    remedy = (
        "Something else writes to stdout. Send it to stderr: print(..., file=sys.stderr), or move the descriptor away "
        "before anything is loaded: answers = os.fdopen(os.dup(1), 'w'); os.dup2(2, 1)."
    )
    return HintedFault(f"output on stdout that is no answer: {why}", expected, came, remedy)


def message(method: str, found: Mapping[str, Any], why: str, identifier: Optional[int]) -> HintedFault:
    """An object that is no answer to the request; `why` is ``path: reason``."""
    if "answer.id" in why and "id" in found:
        return HintedFault(
            why, f'"id": {json.dumps(identifier)}', f'"id": {json.dumps(found["id"])[:_SHOWN]}',
            'Copy the id of the request: {"id": request["id"], …}; answer in the order of the requests, and a '
            "line that is no request with null.", "answer.id",
        )  # fmt: skip
    matched = _FAULT.match(why)
    path = matched.group("path") if matched else ""
    path = f"answer.{path}" if path.startswith("ok") else path
    missing = _MISSING.match(why)
    if missing:
        name = missing.group("name")
        example = _EXAMPLES.get(name, f'"{name}": …')
        expected, came = f"{path} with {name}", f"members {', '.join(sorted(_at(found, path))) or 'none'}"
        return HintedFault(why, expected, came, f"Add {example} to {path} in the answer to {method}.", f"{path}.{name}")
    for pattern, words in ((_OF_TYPE, "of type "), (_NONE_OF, "one of ")):
        mistyped = pattern.match(why)
        if mistyped:
            wanted, came = mistyped.group("wanted"), mistyped.group("came")
            remedy = f"Change {path} in the answer to {method}: {came} is there, and it has to be {words}{wanted}."
            return HintedFault(why, words + wanted, came, shorten(remedy, 400), path)
    if "exactly one is required" in why:
        remedy = 'Answer {"id": …, "ok": {…}} or one of unsupported, rejected, error in the place of ok.'
        return HintedFault(
            why, "exactly one of " + ", ".join(protocol.OUTCOMES), ", ".join(sorted(found)), remedy, "answer"
        )
    remedy = f"Change {path or 'the answer'} to {method}; npu_conformance/schemas/protocol-1.json has its form."
    return HintedFault(why, "an answer of worker protocol 1", shorten(json.dumps(found), _SHOWN), remedy, path)


def failed(method: str, found: Mapping[str, Any], expected: str) -> HintedFault:
    """An answer in form, but another kind than is due here."""
    kind = next((one for one in protocol.OUTCOMES if one in found), "nothing")
    body = found.get(kind) or {}
    said = str(body.get("message") or body.get("feature") or "")
    where = str(body.get("at") or "")
    came = shorten(f"{kind}: {said}" if said else kind, _SHOWN * 2)
    if kind == "unsupported":
        remedy = f"Write the method {method}, or take it from the features that hello claims."
    elif where:
        remedy = f"Mend {where}: {said}."
    elif kind == "error":
        remedy = f"Let {method} answer this request; refuse what is wrong in it by rejected."
    else:
        remedy = f"Answer {method} with {expected}."
    return HintedFault(shorten(f"{method} is answered by {came}", 400), expected, came, remedy, f"answer.{kind}", where)


def at(stderr: str) -> str:
    """`file:line` of the last frame of a Python traceback that is in a file; empty without one."""
    frames = list(_FRAME.finditer(stderr))
    ours = [one for one in frames if "npu_conformance" not in one.group("file")] or frames
    return f"{ours[-1].group('file')}:{ours[-1].group('line')}" if ours else ""


def _at(found: Mapping[str, Any], path: str) -> List[str]:
    """The members of the object at a path of an answer."""
    here: Any = found
    for step in re.findall(r"\w[\w-]*|\[\d+\]", path)[1:]:
        try:
            here = here[int(step[1:-1])] if step.startswith("[") else here[step]
        except (KeyError, IndexError, TypeError):
            return []
    return [str(name)[:40] for name in here] if isinstance(here, dict) else []


def _shown(found: bytes) -> str:
    return shorten(repr(found[: _SHOWN * 2].decode("utf-8", "backslashreplace").rstrip("\n")), _SHOWN)


def _last(stderr: str) -> str:
    lines = [one.strip() for one in stderr.splitlines() if one.strip()]
    return shorten(lines[-1], 200) if lines else ""
