"""What docs/stability.md promises, as lists in the folder `frozen`: a name that goes or a schema that changes is seen.

`python -m tests.architecture.test_frozen` writes the lists again, and adds new ids of cases to `tests/cases/ids.txt`; a
reviewer then sees which lines moved.
"""

from __future__ import annotations

import collections
import hashlib
import pathlib
from typing import Callable, Dict, Iterator, List

import click
import pytest

from npu_conformance.backends import mutants
from npu_conformance.cli import cli
from npu_conformance.files import resources
from npu_conformance.library.library import Library
from npu_conformance.strength.laws import table
from tests.cases.corpus import corpus

pytestmark = pytest.mark.not_oldest

FOLDER = pathlib.Path(__file__).with_name("frozen")
#: Every id that a case has or had: an id that was given up stays there (tests/cases/test_corpus.py).
LEDGER = pathlib.Path(__file__).resolve().parents[1] / "cases" / "ids.txt"


def _commands() -> Iterator[str]:
    """Every command, its arguments and its options."""
    with click.Context(cli) as context:
        for name in cli.list_commands(context):
            command = cli.get_command(context, name)
            assert command is not None
            yield from _command(name, command)


def _command(name: str, command: click.Command) -> Iterator[str]:
    yield name
    for parameter in command.params:
        yield f"{name} {' '.join(sorted((*parameter.opts, *parameter.secondary_opts)))}"
    for inner, below in sorted(getattr(command, "commands", {}).items()):
        yield from _command(f"{name} {inner}", below)


def _schemas() -> Iterator[str]:
    for path in sorted((pathlib.Path(resources.__file__).parents[1] / "schemas").glob("*.json")):
        yield f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"


def _cases() -> Iterator[str]:
    """The ids of each file of cases: how many, and a digest of their sorted list."""
    library: Library = corpus()
    ids: Dict[str, List[str]] = collections.defaultdict(list)
    for case in library.cases.values():
        ids[f"{case.area}/{case.topic}"].append(case.id)
    for name, of_file in sorted(ids.items()):
        yield f"{name} {len(of_file)} {hashlib.sha256(' '.join(sorted(of_file)).encode()).hexdigest()[:16]}"


def _laws() -> Iterator[str]:
    yield from sorted({case.case.id for case in table.instances()})


def _mutants() -> Iterator[str]:
    for name, mutant in sorted(mutants.registry().items()):
        yield f"{name} {mutant.requirement}"


LISTS: Dict[str, Callable[[], Iterator[str]]] = {
    "commands": _commands, "schemas": _schemas, "cases": _cases, "laws": _laws, "mutants": _mutants
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(LISTS))
def test_what_was_promised_is_there_and_what_is_new_is_written_down(name: str) -> None:
    kept = (FOLDER / f"{name}.txt").read_text("utf-8").splitlines()
    found = list(LISTS[name]())
    gone, new = sorted(set(kept) - set(found)), sorted(set(found) - set(kept))
    assert not gone, f"docs/stability.md promises what is no longer there: {gone}"
    assert not new, f"not in the list yet; run `python -m tests.architecture.test_frozen`: {new}"


def _write() -> None:
    for name, lines in LISTS.items():
        (FOLDER / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines()), "utf-8")
    kept = LEDGER.read_text("ascii").splitlines()
    heading = [line for line in kept if line.startswith("#")]
    ids = {line for line in kept if not line.startswith("#")} | set(corpus().cases)
    LEDGER.write_text("".join(f"{line}\n" for line in (*heading, *sorted(ids))), "ascii")


if __name__ == "__main__":
    _write()
