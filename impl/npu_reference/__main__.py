"""``python -m npu_reference script.py [args]``: runs a script on the simulated device."""

from __future__ import annotations

import sys

from npu_reference.errors import ExitStatus, NpuError
from npu_reference.printing import printable

_USAGE = "usage: python -m npu_reference SCRIPT [ARGS...]"


def main() -> int:
    """Exit status as the script's, or the error's."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_USAGE)
        return ExitStatus.OK if arguments else ExitStatus.BAD_INPUT
    if arguments[0].startswith("-"):
        print(f"{_USAGE}\n[USAGE] {arguments[0]}: there is no such option.", file=sys.stderr)
        return ExitStatus.BAD_INPUT
    from npu_reference.runtime.scripts.simulate import simulate

    try:
        simulate(arguments[0], arguments[1:])
    except NpuError as error:
        print(printable(error), file=sys.stderr)
        return error.exit_status
    return ExitStatus.OK


if __name__ == "__main__":
    sys.exit(main())
