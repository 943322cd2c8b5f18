"""How what ended a script is told: a refusal by its cause and the script's own lines, anything else as Python does."""

from __future__ import annotations

import linecache
import os
import re
import sysconfig
import traceback
from typing import Any, List, Optional

from npu_reference.errors import NpuError
from npu_reference.place import FOLDER
from npu_reference.printing import counted
from npu_reference.runtime.observing.account import AccountPlace, Failure
from npu_reference.runtime.scripts.missing_names import explain, version_hint

__all__ = ["complaint", "failure_of"]

#: A frame of this package as tracebacks print it: the place, and the line of code if there is one.
_OUR_FRAME = re.compile(
    r'^[ \t]*File "[^"\n]*npu_reference[/\\][^"\n]*", line \d+.*\n(?:[ \t]+(?!File ").*\n(?:[ \t]+[\^~]+[ \t]*\n)?)?',
    re.MULTILINE,
)

_STANDARD = os.path.abspath(sysconfig.get_paths()["stdlib"])
_INSTALLED = ("site-packages", "dist-packages")
_PLACES = 10  # lines of the script shown of a refusal (assumed)
_PLACE_CHARS = 120


def failure_of(error: BaseException) -> Failure:
    """What ended a script, with the lines of its own that led there, innermost first."""
    ours = _refusal(error) or explain(error)
    if ours is not None:
        return Failure(type(error).__name__, ours.code, str(ours), tuple(_places(error)))
    text = "".join(traceback.format_exception_only(type(error), error)).strip()
    return Failure(type(error).__name__, "", text, tuple(_places(error)))


def complaint(error: BaseException) -> str:
    """The text for stderr.

    A refusal of ours, and a name of the adapter that is not there, say their cause first, then the lines of the script
    that led there, the innermost first. Anything else is Python's traceback, without frames of this package; below it,
    which TensorFlow has what this one lacks.
    """
    failure = failure_of(error)
    if not failure.code:
        hint = version_hint(error)
        return _traceback(error) + (f"{hint}\n" if hint else "")
    told = [f"error{failure.message}"]
    for place in failure.places[:_PLACES]:
        where = f" in {place.function}" if place.function != "<module>" else ""
        told.append(f"  {place.file}:{place.line}{where}")
        if place.text:
            told.append(f"    {place.text}")
    if len(failure.places) > _PLACES:
        told.append(f"  and {counted(len(failure.places) - _PLACES, 'line')} that called it")
    if not isinstance(error, NpuError):  # a name that Python missed, and we know
        told.append("".join(traceback.format_exception_only(type(error), error)).strip())
    return "\n".join(told) + "\n"


def _refusal(error: Optional[BaseException]) -> Optional[NpuError]:
    """The refusal of ours that an exception is, or was raised from."""
    seen: List[BaseException] = []
    while error is not None and error not in seen:
        if isinstance(error, NpuError):
            return error
        seen.append(error)
        error = error.__cause__
    return None


def _places(error: BaseException) -> List[AccountPlace]:
    """The lines that are neither this package's nor a library's: the script's own, and its modules'."""
    found = []
    for frame in traceback.extract_tb(error.__traceback__):
        path = os.path.abspath(frame.filename)
        if frame.filename.startswith("<") or path.startswith((FOLDER + os.sep, _STANDARD + os.sep)):
            continue
        if any(f"{os.sep}{name}{os.sep}" in path for name in _INSTALLED) or _is_dropin(path):
            continue
        number = frame.lineno or 0
        text = (frame.line or linecache.getline(frame.filename, number)).strip()
        found.append(AccountPlace(frame.filename, number, frame.name, text[:_PLACE_CHARS]))
    return found[::-1]


def _is_dropin(path: str) -> bool:
    """Whether a file is of the adapter's drop-in packages, which lie beside this one in a checkout."""
    beside = os.path.dirname(FOLDER)
    return any(path.startswith(os.path.join(beside, name) + os.sep) for name in ("npu_bridge", "npu_device", "hccl"))


def _traceback(error: BaseException) -> str:
    """The traceback of an exception and of what led to it, without frames of this package."""
    whole = traceback.TracebackException.from_exception(error)
    waiting: List[Any] = [whole]
    seen = set()
    while waiting:
        part = waiting.pop()
        if part is None or id(part) in seen:
            continue
        seen.add(id(part))
        part.stack = traceback.StackSummary.from_list(
            [frame for frame in part.stack if not os.path.abspath(frame.filename).startswith(FOLDER + os.sep)]
        )
        waiting += [part.__cause__, part.__context__]
    # TensorFlow writes into messages where an operator was made, which is below the frames that run the script.
    return _OUR_FRAME.sub("", "".join(whole.format()))
