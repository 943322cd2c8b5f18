"""``run --list`` says what would be asked, and ``run --failed`` asks again what did not pass in a report."""

from __future__ import annotations

import json
import os
import shutil
from typing import Any, Callable, List

import pytest

from npu_conformance.files import output
from npu_conformance.library import selection
from npu_conformance.report import joining, results, verify, write
from npu_reference.errors import NpuError
from tests.cases.corpus import corpus
from tests.conformance.shelves import Shelf, judged, spoken
from tests.conformance.test_cli import inside

pytestmark = pytest.mark.oldest_at_night

FIRST = ("--area", "mixed", "--edition", "current", "-k", "iterations", "--laws", "0")


def listed(capsys: Any, *arguments: str) -> List[str]:
    done = inside(capsys, "run", "--list", *arguments)
    assert done.status == 0, done.err
    return done.out.splitlines()


def test_what_would_be_asked_is_listed_an_id_a_line_and_nothing_is_asked(
    capsys: Any, tmp_path: Any, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    wanted = selection.select(corpus(), areas=["mixed"], editions=["current"], keyword="iterations")
    assert listed(capsys, *FIRST) == [one.id for one in wanted]
    answer = inside(capsys, "run", "--list", *FIRST, "--format", "json").json("run-list")
    assert answer["instances"] == [one.id for one in wanted]
    assert os.listdir(str(tmp_path)) == []


def test_shards_list_each_instance_once_and_laws_are_listed_too(capsys: Any) -> None:
    whole = listed(capsys, "-k", "iterations or law-answered")
    parts = [listed(capsys, "-k", "iterations or law-answered", "--shard", f"{number}/3") for number in (1, 2, 3)]
    assert sorted(one for part in parts for one in part) == sorted(whole)
    assert {"law-answered@legacy", "law-answered@current"} <= set(whole)


def test_a_selection_of_nothing_is_one_error(capsys: Any) -> None:
    done = inside(capsys, "run", "--list", "-k", "nothing-is-called-so")
    assert (done.status, done.out, len(done.err.splitlines())) == (2, "", 1)


@pytest.fixture(scope="module")
def report(tmp_path_factory: Any) -> str:
    """A run in which some pass, some fail, and some are not claimed."""
    from npu_conformance.running import runner

    folder = str(tmp_path_factory.mktemp("reports") / "report")
    some = "range-with-two or range-with-a-listed-constant or range-without"
    wanted = selection.select(corpus(), areas=["in_out_pair"], editions=["legacy"], keyword=some)
    asked = {"areas": ["in_out_pair"], "editions": ["legacy"], "keyword": some}
    found = runner.run(corpus(), wanted, "mutant:first-in-only", runner.Settings(factor=3.0), selection=asked)
    with output.replaced_folder(folder) as aside:
        write.write(corpus(), found, aside)
    return folder


def failing(folder: str) -> List[str]:
    return [str(one["id"]) for one in results.read(folder).records if one["status"] == "fail"]


def test_only_what_did_not_pass_is_asked_again(report: str, capsys: Any, tmp_path: Any) -> None:
    wanted = failing(report)
    statuses = {one["status"] for one in results.read(report).records}
    assert wanted and "pass" in statuses
    assert listed(capsys, "--failed", report) == wanted
    out = str(tmp_path / "again")
    done = inside(capsys, "run", "--failed", report, "--out", out, "-n", "1")
    assert done.status == 0, done.err  # by the reference
    assert [one["id"] for one in results.read(out).records] == wanted
    assert verify.verify(corpus(), out).faults == ()
    done = inside(capsys, "run", "--failed", out, "--out", str(tmp_path / "third"))
    assert (done.status, len(done.err.splitlines())) == (2, 1) and "everything in this report passed" in done.err
    assert not os.path.exists(str(tmp_path / "third"))


def test_what_failed_is_narrowed_down_further(report: str, capsys: Any) -> None:
    wanted = [name for name in failing(report) if name.startswith("range-with-two-ins@")]
    assert listed(capsys, "--failed", report, "-k", "two-ins") == wanted
    done = inside(capsys, "run", "--list", "--failed", report, "--area", "precision")
    assert done.status == 2 and "nothing that did not pass" in done.err


def test_shards_of_what_failed_are_joined_to_one_report(report: str, tmp_path: Any, capsys: Any) -> None:
    parts = [str(tmp_path / str(number)) for number in (1, 2)]
    for number, out in enumerate(parts, 1):
        inside(capsys, "run", "--failed", report, "--shard", f"{number}/2", "--out", out, "-n", "1")
        assert verify.verify(corpus(), out).faults == ()
    os.mkdir(str(tmp_path / "whole"))
    whole = joining.join(corpus(), parts, str(tmp_path / "whole"))
    assert [one.instance.id for one in whole.records] == failing(report)


def test_laws_that_failed_are_asked_about_the_same_graphs(tmp_path: Any) -> None:
    header = {
        "kind": "header", "schema": {}, "suite": {}, "backend": {}, "platform": {}, "instances": 1,
        "known_failures": [], "selection": {"laws": 40, "law_seed": 7},
    }  # fmt: skip
    record = {"kind": "case", "id": "law-answered@current", "status": "fail"}
    lines = [header, record, {"kind": "footer", "verdict": "not conformant", "counts": {}, "errors": []}]
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert results.failures(str(tmp_path)) == (("law-answered@current",), 40, 7, True)
    for wrong in ({"laws": -1}, {"laws": "many"}, {"law_seed": True}):
        made = [{**header, "selection": wrong}, *lines[1:]]
        (tmp_path / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in made))
        with pytest.raises(NpuError, match="names no laws"):
            results.failures(str(tmp_path))


def to_a_link(path: str) -> None:
    os.rename(path, path + ".real")
    os.symlink(path + ".real", path)


def to_a_pipe(path: str) -> None:
    os.unlink(path)
    os.mkfifo(path)


def to_a_hole(path: str) -> None:
    os.truncate(path, 3 << 30)


@pytest.mark.parametrize("change", [to_a_link, to_a_pipe, to_a_hole, os.unlink], ids=["link", "pipe", "huge", "gone"])
def test_a_report_that_is_none_is_one_error_of_every_reader(
    change: Callable[[str], None], report: str, tmp_path: Any, capsys: Any
) -> None:
    folder = shutil.copytree(report, str(tmp_path / "changed"))
    change(os.path.join(folder, output.MARK))
    for words in (["run", "--list", "--failed", folder], ["compare", report, folder], ["verify", folder]):
        done = inside(capsys, *words)
        assert (done.status, done.out, len(done.err.splitlines())) == (2, "", 1), words
        assert done.err.startswith("error[OUTPUT]"), words


def test_a_forged_selection_of_instances_does_not_hold(shelf: Shelf) -> None:
    loaded = shelf.load()
    ids = [one.id for one in loaded.instances()]
    folder = shelf.path("report")
    for stated, holds in ((ids, True), (ids[:-1], False), ("text", False), (7, False), ([{}], False)):
        asked = {"areas": [], "editions": [], "keyword": "", "instances": stated}
        with output.replaced_folder(folder) as aside:
            write.write(loaded, judged(shelf, spoken("Honest"), selection=asked), aside)
        assert (verify.verify(loaded, folder).faults == ()) == holds, stated
