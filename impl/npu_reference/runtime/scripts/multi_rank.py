"""Runs a script as several ranks, and says what each of them says with its rank before it."""

from __future__ import annotations

import os
import sys
from typing import Any, Callable, List, Optional, Sequence

from npu_reference.errors import NpuError
from npu_reference.printing import printable
from npu_reference.runtime.exchange.joining import topology_of
from npu_reference.runtime.observing.account import Account
from npu_reference.runtime.scripts.environment import prefer_keras_2
from npu_reference.runtime.scripts.launching import Ended, launch
from npu_reference.runtime.scripts.simulate import simulate
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["Tell", "simulate_ranks"]

#: Takes a rank, its account and its exit status, in the rank's own process, after the script has ended.
Tell = Callable[[int, Any, int], None]

#: Most ranks that one machine is asked to run (assumed: each is a process with a TensorFlow of its own).
_MOST = 64


def simulate_ranks(
    size: int,
    script: str,
    argv: Sequence[str] = (),
    *,
    trace_file: Optional[str] = None,
    tell: Optional[Tell] = None,
    **given: Any,
) -> Ended:
    """Run a script as ``size`` processes, each of them one rank, and print what they print.

    Args:
        size: how many; 1 to 64.
        script, argv, given: as of :func:`simulate`.
        trace_file: where each rank writes its trace, with ``.rankK`` before the ending.
        tell: called in each rank's process with what became of its script; not for a rank that is ended from outside.

    Returns:
        How they ended: with status 0, or with that of the rank that failed first; the others are ended with it.

    Raises:
        NpuError: SCRIPT_FILE, TENSORFLOW_MISSING, SYSTEM, OPTION_VALUE, OUTPUT.
    """
    if not 1 <= size <= _MOST:
        raise NpuError("USAGE", "ranks", f"{size} processes are not started on one machine.", f"Give 1 to {_MOST}.")
    topology_of(size, os.environ)
    if not os.path.isfile(script):
        raise NpuError("SCRIPT_FILE", script, "it cannot be read.", "Give the path of a Python file.")
    prefer_keras_2(lambda line: print(line, file=sys.stderr))
    tensorflow()

    def act(rank: int) -> int:
        account = None if tell is None else Account()
        status = run(rank, account)
        if tell is not None:
            tell(rank, account, status)
        return status

    def run(rank: int, account: Optional[Account]) -> int:
        path = None if trace_file is None else _of_rank(trace_file, rank)
        try:
            simulate(script, argv, trace_file=path, account=account, **given)
        except SystemExit as leaving:
            if leaving.code is None or isinstance(leaving.code, int):
                return leaving.code or 0
            print(leaving.code, file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            return 130
        except NpuError as error:
            print(printable(error), file=sys.stderr)
            return error.exit_status
        return 0

    ended = launch(size, act, _Printer())
    for line in _told(ended):
        print(line, file=sys.stderr)
    return ended


class _Printer:
    """Writes lines with the rank that they are from."""

    def __call__(self, rank: int, kind: str, line: bytes) -> None:
        stream = sys.stdout if kind == "out" else sys.stderr
        stream.write(f"[rank {rank}] {line.decode('utf-8', 'backslashreplace')}\n")
        stream.flush()


def _told(ended: Ended) -> List[str]:
    if ended.first is None:
        return []
    status = ended.statuses[ended.first]
    how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
    return [f"error: rank {ended.first} {how}, and the other ranks with it: see what it says above."]


def _of_rank(path: str, rank: int) -> str:
    head, ending = os.path.splitext(path)
    return f"{head}.rank{rank}{ending}"
