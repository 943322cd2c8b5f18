"""A report that somebody changed by hand, or that is damaged, ends every command that reads it with one clear error."""

from __future__ import annotations

import copy
import json
import lzma
import os
import shutil
from typing import Any, Callable, Dict, Iterator, List, Sequence, Tuple

import pytest

from npu_conformance.files import output
from npu_conformance.library import selection, sharding
from npu_conformance.report import comparison, comparison_page, joining, junit, site, text, verify, write
from npu_conformance.strength.laws import asking
from npu_reference.errors import NpuError
from tests.conformance.shelves import Shelf, judged, spoken
from tests.depth import share

pytestmark = pytest.mark.oldest_at_night

#: What stands in place of a value: one of every other type, and of its own what nobody expects.
OTHERS: Sequence[Any] = (
    None, True, 0, -1, 1 << 70, 10**400, 1.5, float("nan"), float("inf"), "", "\ud800", "x" * 5000, "2030-13-45",
    [], [None], [[]], {}, {"a": None}, {"kind": {}},
)  # fmt: skip


def reported(shelf: Shelf, folder: str) -> None:
    """The report of the only shard of a run that fails in part, with known failures."""
    from tests.conformance.test_known_failures import ENTRY, LATER, entries

    known = entries(shelf, ENTRY, LATER)
    loaded = shelf.load()
    wanted = sharding.share(selection.select(loaded), sharding.parse("1/1"))
    asked = {"areas": [], "editions": [], "keyword": "", "shard": "1/1"}
    with output.replaced_folder(folder) as aside:
        report = judged(shelf, spoken("Lies"), known=known, selection=asked)
        assert len(wanted) == len(report.records)
        write.write(loaded, report, aside)


def ways(value: Any, place: Tuple[Any, ...] = ()) -> Iterator[Tuple[Any, ...]]:
    """The place of every value in a JSON value."""
    yield place
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from ways(inner, (*place, key))


def changed(value: Any, place: Sequence[Any], other: Any) -> Any:
    """The value with another in one place; without it where that is ``...``."""
    if not place:
        return other
    found = copy.deepcopy(value)
    at = found
    for key in place[:-1]:
        at = at[key]
    if other is ...:
        del at[place[-1]]
    else:
        at[place[-1]] = other
    return found


def bears(library: Any, folder: str, whole: str) -> None:
    """Every reader of a report, each of which ends in an answer or an error for a user."""
    actions: Dict[str, Callable[[], Any]] = {
        "verify": lambda: text.verification(verify.verify(library, folder)),
        "verify --format json": lambda: output.dumps(verify.answer(verify.verify(library, folder))),
        "compare": lambda: text.comparison(comparison.compare(library, folder, whole)),
        "compare --format json": lambda: output.dumps(comparison.answer(comparison.compare(library, whole, folder))),
        "compare --html": lambda: comparison_page.page(library, comparison.compare(library, whole, folder)),
        "site": lambda: site_of(library, [whole, folder]),
        "join": lambda: joined(library, folder),
        "run --shard-times": lambda: sharding.share(library.instances(), sharding.parse("1/2"), junit.seconds(folder)),
    }
    for action in actions.values():
        try:
            action()
        except NpuError as error:
            assert error.exit_status in (1, 2), error


def site_of(library: Any, folders: List[str]) -> None:
    out = folders[-1] + "-site"
    shutil.rmtree(out, ignore_errors=True)
    os.mkdir(out)
    site.write(library, folders, out)


def joined(library: Any, folder: str) -> None:
    out = folder + "-joined"
    shutil.rmtree(out, ignore_errors=True)
    os.mkdir(out)
    write.write(library, joining.join(library, [folder], out), out)


@pytest.fixture(scope="module")
def real(tmp_path_factory: Any) -> Tuple[Shelf, str]:
    shelf = Shelf(str(tmp_path_factory.mktemp("real") / "shelf"))
    reported(shelf, shelf.path("report"))
    return shelf, shelf.path("report")


def lines_of(folder: str) -> List[Any]:
    with open(os.path.join(folder, output.MARK), encoding="ascii") as stream:
        return [json.loads(line) for line in stream]


def test_every_field_of_results_by_every_type(real: Tuple[Shelf, str], tmp_path: Any, capsys: Any) -> None:
    shelf, whole = real
    library, lines = shelf.load(), lines_of(whole)
    joined(library, shutil.copytree(whole, str(tmp_path / "whole")))
    folder = shutil.copytree(whole, str(tmp_path / "forged"))
    turn = 0
    for number, line in enumerate(lines):
        for place in ways(line):
            turn += 1
            if turn % share(4, 1):
                continue
            others = [OTHERS[turn % len(OTHERS)]]  # by turns: each kind of place is there several times
            others += [..., OTHERS[turn * 7 % len(OTHERS)]] if place and line["kind"] != "case" else []
            for other in others:
                made = [*lines[:number], changed(line, place, other), *lines[number + 1 :]]
                with open(os.path.join(folder, output.MARK), "w", encoding="ascii") as stream:
                    stream.write("".join(json.dumps(one) + "\n" for one in made))
                try:
                    bears(library, folder, whole)
                except Exception as error:
                    raise AssertionError(f"line {number} at {place} with {str(other)[:50]!r}") from error
    assert turn > 100


def test_a_file_of_a_report_by_every_kind_of_damage(real: Tuple[Shelf, str], tmp_path: Any, capsys: Any) -> None:
    shelf, whole = real
    library = shelf.load()
    names = sorted(os.listdir(whole))
    assert {output.MARK, "junit.xml", "statement.json", "badge.json"} <= set(names)
    deep = b'{"kind": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    twice = b'{"kind": "header", "kind": "header"}'
    for name in names:
        folder = shutil.copytree(whole, str(tmp_path / "damaged"))
        path = os.path.join(folder, name)
        with open(path, "rb") as stream:
            content = stream.read()
        for made in (None, b"", content[: len(content) // 2], b"\xff\x00", deep, twice, b"9" * 10000, b"[" + content):
            os.unlink(path)
            if made is not None:
                with open(path, "wb") as stream:
                    stream.write(made)
            bears(library, folder, whole)
            optional = made is None and name == "report.html"  # without jinja2 there is none
            assert name == output.MARK or optional or verify.verify(library, folder).faults
            if made is None:
                os.mkfifo(path)
                bears(library, folder, whole)
                os.unlink(path)
                os.symlink("/dev/zero", path)
                bears(library, folder, whole)
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    "line",
    [
        b'{"a":' * 100_000,
        b"NaN",
        b'{"number": 1e999}',
        b'{"number": 0, "edition": [], "outcomes": {"a": {}}}',
        b"",
        b"\xff",
    ],
)
def test_answers_about_laws_that_cannot_be_read_are_said_to_be_that(tmp_path: Any, line: bytes) -> None:
    line += b"\n"
    for name, content in (("laws.jsonl", line), (asking.FILE, lzma.compress(line)), (asking.FILE, line)):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError):
            asking.load(str(tmp_path))
