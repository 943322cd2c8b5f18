"""Which cases are suspect: the statement of a requirement they prove has changed since somebody confirmed the link.

`requirements/confirmed.txt` holds, for every requirement, a digest of its statement as it was when its cases were last
held against it. Once they have been read again, ``python -m npu_conformance.strength.suspects ID...``
confirms them; ``--all`` confirms every one.
"""

from __future__ import annotations

import hashlib
import os
import sys
from typing import Dict, List, Mapping, Optional, Sequence

from npu_conformance.files import output, resources
from npu_conformance.library.inventory import Requirement
from npu_conformance.library.library import Library, load
from npu_reference.errors import ExitStatus, NpuError

__all__ = ["confirm", "confirmed", "digest", "main", "suspects"]

_FILE = "confirmed.txt"
_HEAD = "# Requirement, and digest of its statement when its cases were last held against it (strength/suspects.py).\n"


def digest(requirement: Requirement) -> str:
    """What stands for a statement, and for what it says must be refused: white space aside, every letter counts."""
    words = " ".join(f"{requirement.level} {requirement.statement} {requirement.negative}".split())
    return hashlib.sha256(words.encode("utf-8")).hexdigest()[:12]


def confirmed(folder: Optional[str] = None) -> Mapping[str, str]:
    """Requirement to the digest confirmed.

    Raises:
        NpuError: CASE_FILE for a line that is none.
    """
    path = os.path.join(folder or resources.requirements(), _FILE)
    found: Dict[str, str] = {}
    if not os.path.exists(path):
        return found
    with open(path, encoding="ascii") as stream:
        for number, line in enumerate(stream, 1):
            words = line.split()
            if line.startswith("#"):
                continue
            if len(words) != 2:
                raise NpuError("CASE_FILE", f"{path}:{number}", "is not of the form 'requirement digest'")
            found[words[0]] = words[1]
    return found


def suspects(library: Library, known: Optional[Mapping[str, str]] = None) -> Dict[str, List[str]]:
    """Requirement whose statement is not the one confirmed, to the cases that cite it."""
    known = confirmed() if known is None else known
    found: Dict[str, List[str]] = {}
    for case in library.cases.values():
        for name in case.requirements:
            if known.get(name) != digest(library.requirements[name]):
                found.setdefault(name, []).append(case.id)
    return found


def confirm(library: Library, names: Sequence[str], folder: Optional[str] = None) -> None:
    """Writes the digests of these requirements, and forgets those that are no more.

    Raises:
        NpuError: USAGE for a name that is no requirement.
    """
    for name in names:
        if name not in library.requirements:
            raise NpuError("USAGE", name, "is no requirement")
    found = {name: one for name, one in confirmed(folder).items() if name in library.requirements}
    found.update({name: digest(library.requirements[name]) for name in names})
    path = os.path.join(folder or resources.requirements(), _FILE)
    output.write_file(path, _HEAD + "".join(f"{name} {one}\n" for name, one in sorted(found.items())))


_USAGE = """usage: python -m npu_conformance.strength.suspects [--all | ID...]

Lists requirements whose statement has changed, with their cases; or confirms those named, once the cases were read."""


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Lists the suspects, or confirms those named; 1 while there are some, 2 where a name is none."""
    names = list(sys.argv[1:] if arguments is None else arguments)
    if "--help" in names:
        print(_USAGE)
        return ExitStatus.OK
    try:
        return _suspects(names)
    except NpuError as error:
        print(error, file=sys.stderr)
        return error.exit_status


def _suspects(names: Sequence[str]) -> int:
    library = load()
    if names:
        wanted = list(library.requirements) if names == ["--all"] else names
        confirm(library, wanted)
    left = suspects(library)
    for name, cases in sorted(left.items()):
        print(f"{name}: {' '.join(library.requirements[name].statement.split())}")
        print(f"  {', '.join(sorted(cases))}")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
