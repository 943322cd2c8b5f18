"""``python -m npu_reference script.py [args]``: runs a script on the simulated device, or as several ranks."""

from __future__ import annotations

import sys

from npu_reference.errors import ExitStatus, NpuError
from npu_reference.printing import printable

_USAGE = "usage: python -m npu_reference [--ranks N] SCRIPT [ARGS...]"


def main() -> int:
    """Exit status as the script's, or the error's."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_USAGE)
        return ExitStatus.OK if arguments else ExitStatus.BAD_INPUT
    size = None
    if arguments[0] == "--ranks" and len(arguments) > 2 and arguments[1].isdigit() and len(arguments[1]) < 9:
        size, arguments = int(arguments[1]), arguments[2:]
    if arguments[0].startswith("-"):
        print(f"{_USAGE}\n[USAGE] {arguments[0]}: there is no such option.", file=sys.stderr)
        return ExitStatus.BAD_INPUT
    from npu_reference.runtime.scripts.multi_rank import simulate_ranks
    from npu_reference.runtime.scripts.simulate import simulate

    try:
        if size is not None:
            return simulate_ranks(size, arguments[0], arguments[1:]).status
        simulate(arguments[0], arguments[1:])
    except NpuError as error:
        print(printable(error), file=sys.stderr)
        return error.exit_status
    return ExitStatus.OK


if __name__ == "__main__":
    sys.exit(main())
