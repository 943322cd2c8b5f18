"""What the compilation of a session's signatures leaves on disk, where an option or a variable asks for it (D28)."""

from __future__ import annotations

import atexit
import threading
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set

from npu_reference.artifacts import FolderPlace, Model, Program, ProgramRemark
from npu_reference.artifacts.places import plan_of
from npu_reference.device.faults import Faults
from npu_reference.options import Resolution
from npu_reference.partition import Partition
from npu_reference.precision import assign
from npu_reference.runtime.execution.compiling import Compiling
from npu_reference.runtime.observing.trace import TracedCopy

__all__ = ["COUNTS", "Leaving", "end", "leaving"]

#: Code of the remark that tells hits and misses, which nobody has to act on.
COUNTS = "KERNELS"

_LOCK = threading.RLock()
_PROGRAM: List[Program] = []


def end() -> Sequence[ProgramRemark]:
    """The program ends normally: what is written last is written now. Remarks on what could not be."""
    with _LOCK:
        found: List[ProgramRemark] = []
        while _PROGRAM:
            found.extend(_PROGRAM.pop().end())
        return found


atexit.register(end)


def leaving(
    resolution: Resolution, env: Mapping[str, str], session: int, compiling: Compiling, faults: Faults, folder: str
) -> Optional[Leaving]:
    """What a session leaves; None where nothing is asked for.

    Args:
        env: the environment that the options were resolved with; session: the session's number.
        folder: the current directory when the session was made: its relative names count from there (D8).
    """
    plan = plan_of(resolution, env, "0", session)
    asked = [plan.kernel_meta, plan.cache, plan.fusion_result, plan.weights]
    if not any(named is not None and named.asked for named in asked):
        return None
    return Leaving(resolution, env, session, compiling, faults, folder)


class Leaving:
    """The files of one session. Thread-safe.

    Args:
        faults: what the device was asked to suffer; a full disk is one of them.
    """

    def __init__(
        self,
        resolution: Resolution,
        env: Mapping[str, str],
        session: int,
        compiling: Compiling,
        faults: Faults,
        folder: str,
    ) -> None:
        self._resolution, self._env, self._session = resolution, dict(env), session
        self._compiling, self._faults, self._place = compiling, faults, FolderPlace("", folder)
        self._left: Dict[Any, None] = {}
        self._told: Set[str] = set()
        self._program: Optional[Program] = None

    def compiled(
        self, signature: Any, parts: Partition, feeds: Mapping[str, Any], copies: Optional[Sequence[TracedCopy]] = None
    ) -> List[ProgramRemark]:
        """Leave what compiling a signature leaves, once.

        Args:
            signature: a plan.Signature, whose partition is ``parts``.
            feeds: tensor to the value fed.
            copies: of a run that has ended, which tell sizes that the graph leaves open; None before it: then a
                signature whose sizes are not known waits.
        Returns: what somebody should know, each once.
        Raises:
            NpuError: FILES_LEFT.
        """
        with _LOCK:
            if signature in self._left or not parts.geops:
                return []
            timed = self._compiling.of(signature, parts, feeds, copies or ())
            if timed.compiled is None:
                if copies is None:
                    return []
                self._left[signature] = None
                return self._new(
                    [ProgramRemark("NOT_COMPILED", "kernel files", f"none are left of this run: {timed.reason}")]
                )
            self._left[signature] = None
            if not _PROGRAM:
                _PROGRAM.append(Program(self._place, asked_only=True, faults=self._faults))
            model = Model(parts, assign(parts, self._resolution, entries=()), timed.compiled, timed.shapes)
            self._program = _PROGRAM[0]
            left = self._program.compile(model, self._resolution, self._env, self._session, self._place)
            found = self._new(left.notes)
            if left.hits or left.misses:
                counts = f"{left.hits} kernels were taken from the cache, {left.misses} were compiled."
                found.append(ProgramRemark(COUNTS, "op_compiler_cache_mode", counts))
            return found

    def close(self) -> None:
        """The session is closed: its models are unloaded (D26).

        A session that nobody closes is closed when it is collected, which may be in a program behind its own, where
        another session has its number.
        """
        with _LOCK:
            if self._program is not None:
                self._program.unload(self._session)

    def _new(self, notes: Sequence[ProgramRemark]) -> List[ProgramRemark]:
        found = [note for note in notes if note.message not in self._told]
        self._told.update(note.message for note in found)
        return found
