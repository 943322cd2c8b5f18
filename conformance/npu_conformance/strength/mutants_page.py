"""The page of mutants, made from their declarations: ``python -m npu_conformance.strength.mutants_page`` writes it."""

from __future__ import annotations

import sys
from typing import Dict, Iterator, List, Mapping, Sequence

from npu_conformance.backends.mutants import Mutant, fault_kinds, registry
from npu_conformance.library import inventory
from npu_conformance.strength import fault_table
from npu_reference.derived_page import write_page

__all__ = ["main", "page"]

_HEAD = """# Mutants

A suite is as strong as what it notices. A mutant is the reference with one named fault, which breaks one requirement;
the suite must tell it from the reference by a case that cites this requirement. This page is made from the mutants'
declarations by `python -m npu_conformance.strength.mutants_page`; change those, not the page.

```
npu-conformance mutants --list                     # every mutant, what it breaks and how
npu-conformance mutants --area options             # which cases kill those of options; ends with the tables below
npu-conformance mutants options.session.dump_mode.ignored --format json
npu-conformance run --backend mutant:options.session.dump_mode.ignored --area options
```

Status 1 means that a mutant survived, or breaks a requirement that no case cites. A mutant whose cases run something
needs TensorFlow; without it the answer says so, and does not call the mutant alive. In the answer `specific` says that
a case of the broken requirement noticed, `only_its_requirement` that no case of another did.
"""


def page() -> str:
    """The whole page as Markdown."""
    mutants = registry()
    rows = fault_table.table(mutants.values())
    parts = [_HEAD, *_summary(list(mutants.values())), *_kinds()]
    for surface, options in rows.items():
        parts += [*_surface(surface, options)]
    parts += [*_others(mutants)]
    return "\n".join(parts).rstrip() + "\n"


def _summary(mutants: Sequence[Mutant]) -> Iterator[str]:
    requirements = inventory.load()
    broken = {one.requirement for one in mutants}
    groups: Dict[str, List[str]] = {}
    for one in requirements.values():
        if one.level == "must" and not one.excused:
            groups.setdefault(one.id.split(".")[0], []).append(one.id)
    yield "## How many\n"
    yield "| requirements | must | of them broken by a mutant | mutants |"
    yield "|---|---|---|---|"
    for name in sorted(groups):
        of = [one for one in mutants if one.requirement.split(".")[0] == name]
        yield f"| `{name}.*` | {len(groups[name])} | {len(broken & set(groups[name]))} | {len(of)} |"
    yield ""


def _kinds() -> Iterator[str]:
    yield "## Faults of options\n"
    yield "Every option has every kind of fault that it can have, on the surface its document describes it for.\n"
    yield "| kind | column | a backend that |"
    yield "|---|---|---|"
    for kind in fault_kinds.KINDS.values():
        yield f"| `{kind.name}` | {kind.column} | {kind.meaning} |"
    yield ""


def _surface(surface: str, options: Mapping[str, Mapping[str, fault_table.Cell]]) -> Iterator[str]:
    edition = fault_kinds.EDITIONS[surface]
    yield f"### {surface}, {edition} edition\n"
    yield "The number of mutants; letters are reasons why there is none.\n"
    letters: Dict[str, str] = {}
    columns = [kind.column for kind in fault_kinds.KINDS.values()]
    yield "| option | " + " | ".join(columns) + " |"
    yield "|---" * (len(columns) + 1) + "|"
    for option, kinds in options.items():
        cells = []
        for cell in kinds.values():
            if cell.mutants:
                cells.append(str(len(cell.mutants)))
            else:
                cells.append(letters.setdefault(cell.reason, _letter(len(letters))))
        yield f"| [{option}](options.md#{option}) | " + " | ".join(cells) + " |"
    yield ""
    for reason, letter in letters.items():
        yield f"- {letter}: {reason}"
    yield ""


def _letter(number: int) -> str:
    return "abcdefghijklmnopqrstuvwxyz"[number] if number < 26 else _letter(number // 26 - 1) + _letter(number % 26)


def _others(mutants: Mapping[str, Mutant]) -> Iterator[str]:
    yield "## All others\n"
    yield "| mutant | breaks | fault |"
    yield "|---|---|---|"
    for name, one in mutants.items():
        if not one.kind:
            yield f"| `{name}` | `{one.requirement}` | {one.fault} |"


def main(arguments: Sequence[str]) -> int:
    """Write the page; returns the exit status."""
    return write_page(arguments, "npu_conformance.strength.mutants_page", "docs/mutants.md", lambda _: page())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
