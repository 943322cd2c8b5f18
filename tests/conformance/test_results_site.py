"""A site of several reports: every link leads somewhere, the same reports give the same bytes, nothing is trusted."""

from __future__ import annotations

import json
import os
import re
import shutil
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from typing import Any, Dict, List, Set, Tuple
from urllib.parse import unquote, urldefrag

import pytest

from npu_conformance.files import output
from npu_conformance.protocol import schema
from npu_conformance.report import comparison, comparison_page, site, stated
from npu_reference.errors import NpuError
from tests.cases.corpus import corpus
from tests.conformance import several_reports
from tests.conformance.shelves import Shelf
from tests.conformance.test_cli import inside
from tests.conformance.test_report import lines, reported, rewrite

pytestmark = pytest.mark.oldest_at_night

EVIL = "</title><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[2J\u202e"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> List[str]:
    return several_reports.made(str(tmp_path_factory.mktemp("reports")))


@pytest.fixture(scope="module")
def built(folders: List[str], tmp_path_factory: pytest.TempPathFactory) -> str:
    out = str(tmp_path_factory.mktemp("site"))
    site.write(corpus(), folders, out)
    return out


def files(folder: str) -> Dict[str, bytes]:
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            with open(path, "rb") as stream:
                found[os.path.relpath(path, folder)] = stream.read()
    return found


class Page(HTMLParser):
    """Addresses and anchors of a page, and the tags in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: List[str] = []
        self.anchors: Set[str] = set()
        self.tags: Set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: List[Tuple[str, Any]]) -> None:
        given = dict(attrs)
        self.tags.add(tag)
        self.anchors |= {given["id"]} if "id" in given else set()
        self.links += [given["href"]] if tag == "a" else []


def check_links(folder: str) -> int:
    """Every link of every page leads to a file of the site, and to an anchor in it; how many there are."""
    found = files(folder)
    pages = {name: Page(text.decode()) for name, text in found.items() if name.endswith(".html")}
    count = 0
    for name, page in pages.items():
        for link in page.links:
            path, anchor = urldefrag(link)
            target = os.path.normpath(os.path.join(os.path.dirname(name), unquote(path))) if path else name
            assert target in found, f"{name} leads to {link}"
            assert not anchor or unquote(anchor) in pages[target].anchors, f"{name} leads to {link}"
            count += 1
    return count


def test_every_link_of_the_site_leads_somewhere(built: str) -> None:
    assert check_links(built) > 10
    assert sorted(os.listdir(built)) == ["badges", "index.html", "reports", "site.json"]


def test_a_failing_cell_leads_to_cases_cause_input_and_command(built: str) -> None:
    found = files(built)
    told = json.loads(found["site.json"])
    assert [one["verdict"] for one in told["reports"]] == ["conformant", "conformant", "not conformant"]
    page = told["reports"][1]["page"]
    assert f'class="s-fail" href="{page}#requirement-in_out_pair.multi_entry"' in found["index.html"].decode()
    text = found[page].decode()
    place = text.index('id="requirement-in_out_pair.multi_entry"')
    anchor, case = re.findall(r'href="#(failure-\d+-\d+)">([^<]+)<', text[place:])[0]
    failure = text[text.index(f'id="{anchor}"') :]
    for part in ("Asked:", "Expected:", "Came:", f"--backend mutant:first-entry-only --edition current -k {case}@"):
        assert part in failure


def test_the_same_reports_give_the_same_bytes(folders: List[str], built: str, tmp_path: Any) -> None:
    again = tmp_path / "again"
    again.mkdir()
    site.write(corpus(), folders, str(again))
    assert files(str(again)) == files(built)


def test_site_json_follows_its_schema_and_badges_are_pictures(built: str) -> None:
    found = files(built)
    told, declared = json.loads(found["site.json"]), schema.load("site")
    assert schema.fault(told, declared, declared) is None
    for one in told["reports"]:
        picture = ElementTree.fromstring(found[one["badge"]])
        assert picture.tag == "{http://www.w3.org/2000/svg}svg"
        assert one["verdict"] in "".join(picture.itertext())


@pytest.fixture
def out(tmp_path: Any) -> str:
    """An empty folder."""
    (tmp_path / "site").mkdir()
    return str(tmp_path / "site")


def test_reports_of_one_backend_are_its_versions_and_what_moved_has_a_page(shelf: Shelf, out: str) -> None:
    good, bad = reported(shelf, "Honest", "good"), reported(shelf, "Lies", "bad")
    name = lines(good)[0]["backend"]["backend"]
    renamed(bad, {**name, "version": "2"})
    entries = site.write(shelf.load(), [good, bad], out)
    assert [entry.change.get("worse") for entry in entries] == [None, 2]
    assert entries[1].change["page"] in files(out)
    check_links(out)


def renamed(folder: str, name: Any) -> None:
    """Makes the report say another name of the backend."""
    records = lines(folder)
    records[0]["backend"]["backend"] = name
    rewrite(folder, records)


def test_what_a_hostile_report_says_is_text(shelf: Shelf, out: str) -> None:
    folder = reported(shelf, "Lies")
    records = lines(folder)
    records[0]["backend"] = {**records[0]["backend"], "backend": {"name": EVIL, "version": EVIL}, "spec": EVIL}
    records[0]["suite"]["version"] = EVIL
    records[-1]["errors"] = [EVIL]
    for record in records[1:-1]:
        if record["status"] == "fail":
            record["differences"] = [[EVIL, EVIL * 1000, "where"], [], [EVIL]]
            record["detail"] = record["signature"] = EVIL * 1000
    foreign = {**records[1], "id": EVIL, "case": EVIL, "requirements": [EVIL], "status": "fail", "detail": EVIL * 1000}
    rewrite(folder, [*records[:-1], foreign, records[-1]])
    site.write(shelf.load(), [folder, folder], out)
    check_links(out)
    for name, content in files(out).items():
        text = content.decode("ascii" if name.endswith(".json") else "utf-8")
        assert re.fullmatch(r"[a-z0-9./-]+", name)
        assert len(content) < 200_000
        assert "<script>alert" not in text or name == site.MARK
        assert not {"\x1b", "\u202e"} & set(text)
        if name.endswith(".html"):
            assert "img" not in Page(text).tags
    library, honest = shelf.load(), reported(shelf, "Honest", "honest")
    moved = comparison.compare(library, honest, folder)
    page = comparison_page.page(library, moved)
    assert moved.causes and "img" not in Page(page).tags and "<script>alert" not in page


@pytest.mark.parametrize(
    "change, reason",
    [
        (lambda records: records[-1].update(verdict="conformant"), "states the verdict 'conformant'"),
        (lambda records: records.insert(1, records[1]), "has two records"),
        (lambda records: records[0]["backend"].update(backend={"name": 1, "version": ""}), "names no backend"),
        (lambda records: records[0]["backend"].pop("backend"), "has no 'backend'"),
        (lambda records: records[1].update(requirements=[{}]), "is not of type string"),
        (lambda records: records[1].update(level="most"), "is none of"),
        (lambda records: records[0].update(selection={"laws": "1"}), "names no laws"),
        (lambda records: records.pop(), "is not complete"),
    ],
    ids=["verdict", "twice", "name", "backend", "requirements", "level", "laws", "cut"],
)
def test_a_report_that_contradicts_itself_is_one_clear_error(
    shelf: Shelf, tmp_path: Any, change: Any, reason: str
) -> None:
    folder = reported(shelf, "Lies")
    records = lines(folder)
    change(records)
    rewrite(folder, records)
    with pytest.raises(NpuError, match=re.escape(reason)) as caught:
        site.write(shelf.load(), [folder], str(tmp_path))
    assert folder in str(caught.value)


def test_a_link_in_the_folder_of_a_report_is_not_followed(shelf: Shelf, tmp_path: Any) -> None:
    folder = reported(shelf, "Honest")
    os.rename(os.path.join(folder, output.MARK), str(tmp_path / "elsewhere"))
    os.symlink(str(tmp_path / "elsewhere"), os.path.join(folder, output.MARK))
    with pytest.raises(NpuError, match="cannot be read"):
        site.write(shelf.load(), [folder], shelf.path("."))


def test_a_folder_that_is_no_earlier_site_is_left_alone(
    folders: List[str], tmp_path: Any, capsys: pytest.CaptureFixture
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    done = inside(capsys, "site", folders[0], "--out", str(out))
    assert (done.status, done.out, (out / "mine.txt").read_text()) == (2, "", "mine")
    assert done.err.count("\n") == 1 and "no earlier" in done.err and "site.json" in done.err
    shutil.rmtree(str(out))
    for _ in range(2):  # the second one replaces the first
        done = inside(capsys, "site", folders[0], "--out", str(out), "--format", "json")
        assert done.status == 0
        assert done.json("site")["reports"][0]["verdict"] == "conformant"
    bad = inside(capsys, "site", folders[0], str(tmp_path / "none"), "--out", str(out))
    assert bad.status == 2 and bad.err.count("\n") == 1
    assert (out / "index.html").is_file()


def test_too_many_reports_are_refused_before_any_is_read(tmp_path: Any) -> None:
    with pytest.raises(NpuError, match="are more than 100"):
        site.write(corpus(), ["none"] * (site.MOST + 1), str(tmp_path))


# What moved between two reports


def test_what_moved_is_told_by_cause_requirement_and_result(
    folders: List[str], tmp_path: Any, capsys: pytest.CaptureFixture
) -> None:
    page = tmp_path / "moved.html"
    done = inside(capsys, "compare", folders[0], folders[2], "--html", str(page))
    assert done.status == 1
    assert "in_out_pair.const_in_nodes" in done.out and "worse" in done.out
    assert "conformant (" in done.out and "→ not conformant (" in done.out
    told = inside(capsys, "compare", folders[0], folders[2], "--format", "json").json("compare")
    assert told["causes"][0]["after"] > told["causes"][0]["before"] == 0
    assert {"id": "in_out_pair.const_in_nodes", "before": "pass", "after": "fail"} in told["requirements"]
    text = page.read_text(encoding="utf-8")
    for part in (told["causes"][0]["sentence"], told["causes"][0]["begun"][0], "in_out_pair.const_in_nodes", "Came:"):
        assert part in text
    back = inside(capsys, "compare", folders[2], folders[0], "--format", "json").json("compare")
    assert (back["worse"], back["causes"][0]["ended"]) == (0, told["causes"][0]["begun"])


def test_two_reports_that_state_the_same_moved_nothing(folders: List[str]) -> None:
    found = comparison.compare(corpus(), folders[1], folders[1])
    assert (found.changed, found.causes, found.requirements) == ((), (), ())
    assert "No cause makes other cases fail" in comparison_page.page(corpus(), found)


def test_what_a_report_states_is_bounded(shelf: Shelf) -> None:
    folder = reported(shelf, "Lies")
    records = lines(folder)
    for record in records[1:-1]:
        record["detail"] = "x" * 5000
        record["differences"] = [["missing", "y" * 5000, "z" * 5000]] * 1000
    rewrite(folder, records)
    library = shelf.load()
    for record in stated.load(library, stated.instances(library), folder).report.records:
        assert len(record.result.detail) <= 1000 and len(record.result.differences) <= 200
        assert all(len(text) <= 1000 for one in record.result.differences for text in one)
