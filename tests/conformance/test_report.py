"""What a run leaves behind can be read by anyone, trusted by no one, and judged again by all."""

from __future__ import annotations

import atexit
import hashlib
import json
import lzma
import os
import shutil
import tempfile
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from typing import Any, Dict, Tuple

import markupsafe
import pytest

import npu_reference
from npu_conformance.files import output, packing
from npu_conformance.protocol import schema
from npu_conformance.report import comparison, results, summary, verify, write
from npu_conformance.report.page import worded
from npu_reference.errors import NpuError
from tests.conformance.shelves import QUICK, Shelf, hosted, judged

pytestmark = pytest.mark.oldest_at_night

#: (digest of the library, backend) -> the report of a run, made once and copied for each test that changes it.
MADE: Dict[Tuple[str, str], str] = {}


def reported(shelf: Shelf, backend: str, name: str = "report", **more) -> str:
    """Folder of the report of a run; of a new run where more is given, or something is there already."""
    folder, loaded = shelf.path(name), shelf.load()
    made = None if more or os.path.exists(folder) else MADE.get((loaded.digest, backend))
    if made:
        return shutil.copytree(made, folder)
    report = judged(shelf, hosted(backend), **more)
    with output.replaced_folder(folder) as aside:
        assert write.write(loaded, report, aside) == ""
    if not more and (loaded.digest, backend) not in MADE:
        kept = tempfile.mkdtemp(prefix="npu-report-")
        atexit.register(shutil.rmtree, kept, ignore_errors=True)
        MADE[loaded.digest, backend] = shutil.copytree(folder, os.path.join(kept, "report"))
    return folder


def lines(folder: str) -> list:
    with open(os.path.join(folder, "results.jsonl"), encoding="ascii") as stream:
        return [json.loads(line) for line in stream]


def rewrite(folder: str, records: list) -> None:
    with open(os.path.join(folder, "results.jsonl"), "w", encoding="ascii") as stream:
        stream.write("".join(output.dumps(record) + "\n" for record in records))


def test_a_report_has_every_file_and_nothing_else(shelf: Shelf) -> None:
    folder = reported(shelf, "Honest")
    assert sorted(os.listdir(folder)) == ["badge.json", "junit.xml", "report.html", "results.jsonl", "statement.json"]


def test_the_same_run_writes_the_same_results(shelf: Shelf) -> None:
    def content(name: str, **more) -> bytes:
        with open(os.path.join(reported(shelf, "Lies", name, **more), "results.jsonl"), "rb") as stream:
            return stream.read()

    three = QUICK._replace(jobs=3)
    assert content("one", settings=QUICK) == content("two", settings=QUICK) == content("three", settings=three)


def test_results_name_no_path_of_this_machine(shelf: Shelf) -> None:
    assert shelf.folder not in json.dumps(lines(reported(shelf, "Refuses"))[1:])


def test_records_follow_their_schema(shelf: Shelf) -> None:
    declared = schema.load("results")
    for backend in ("Lies", "Crashes", "Modest"):
        for record in lines(reported(shelf, backend)):
            assert schema.fault(record, declared["lines"][record["kind"]], declared) is None


class Page(HTMLParser):
    """Collects tags, text and whatever a browser would fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list = []
        self.loads: list = []
        self.words: list = []
        self.feed(text)

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append(tag)
        self.loads += [
            value for name, value in attrs if name in ("src", "href") and not value.startswith(("#", "data:"))
        ]

    def handle_data(self, data) -> None:
        self.words.append(data)


def page(folder: str) -> Page:
    with open(os.path.join(folder, "report.html"), encoding="utf-8") as stream:
        return Page(stream.read())


def test_the_page_is_self_contained(shelf: Shelf) -> None:
    found = page(reported(shelf, "Lies"))
    assert found.loads == []
    assert found.tags.count("script") == 2  # what it does, and the cases as data


def test_hostile_names_stay_text_in_every_file(shelf: Shelf) -> None:
    folder = reported(shelf, "HostileNames")
    found = page(folder)
    assert found.tags.count("script") == 2  # what it does, and the cases as data
    assert "img" not in found.tags
    assert any("</script><script>alert(1)</script>" in word for word in found.words)
    assert any("{{ 7*7 }}" in word for word in found.words)
    ElementTree.parse(os.path.join(folder, "junit.xml"))
    with open(os.path.join(folder, "results.jsonl"), "rb") as stream:
        assert max(stream.read()) < 128


def test_the_page_says_what_to_fix_and_how_to_ask_again(shelf: Shelf) -> None:
    text = " ".join(page(reported(shelf, "Lies")).words)
    assert "device x" in text
    assert "should not be there" in text
    assert "npu-conformance run --backend py:miniatures:Lies --edition current -k small-partition" in text


def test_commands_in_a_sentence_are_code_and_nothing_of_it_is_markup() -> None:
    escaped = str(markupsafe.escape("Ask `npu-conformance explain <x>`, or `b`; a ` alone stays."))
    assert worded(escaped) == (
        "Ask <code>npu-conformance explain &lt;x&gt;</code>, or <code>b</code>; a ` alone stays."
    )


def test_junit_counts_what_the_results_count(shelf: Shelf) -> None:
    root = ElementTree.parse(os.path.join(reported(shelf, "Lies"), "junit.xml")).getroot()
    suite = root.find("testsuite")
    assert suite is not None
    assert {key: suite.get(key) for key in ("name", "tests", "failures", "errors", "skipped")} == {
        "name": "small", "tests": "4", "failures": "2", "errors": "0", "skipped": "0",
    }  # fmt: skip


def test_badge_and_statement_say_the_verdict(shelf: Shelf) -> None:
    folder = reported(shelf, "Lies")
    with open(os.path.join(folder, "badge.json")) as stream:
        assert json.load(stream)["message"] == "not conformant 0/1"
    with open(os.path.join(folder, "statement.json")) as stream:
        statement = json.load(stream)
    assert statement["verdict"] == "not conformant"
    assert statement["instances"] == {"total": 4, "applicable": 4, "passed": 2}
    assert statement["whole_suite"] is True


def test_the_table_by_area_counts_requirements(shelf: Shelf) -> None:
    area = summary.areas(judged(shelf, hosted("Lies")))[0]
    assert (area.name, area.instances, dict(area.counts)) == ("small", 4, {"fail": 2, "pass": 2})
    assert (area.passed, area.requirements) == (1, 2)


# Replacing


def test_an_earlier_report_is_replaced_whole(shelf: Shelf) -> None:
    folder = reported(shelf, "Honest")
    with open(os.path.join(folder, "stale"), "w") as stream:
        stream.write("x")
    assert "stale" not in os.listdir(reported(shelf, "Lies"))
    assert lines(folder)[-1]["verdict"] == "not conformant"


def test_a_folder_that_is_no_report_is_never_touched(shelf: Shelf) -> None:
    shelf.write("report/precious.txt", "x")
    with pytest.raises(NpuError) as caught:
        reported(shelf, "Honest")
    assert caught.value.code == "OUTPUT"
    assert os.listdir(shelf.path("report")) == ["precious.txt"]


def test_nothing_is_left_when_writing_ends_early(shelf: Shelf) -> None:
    before = sorted(os.listdir(shelf.folder))
    with pytest.raises(RuntimeError), output.replaced_folder(shelf.path("report")) as aside:
        shelf.write(os.path.join(aside, "half"), "x")
        raise RuntimeError
    assert sorted(os.listdir(shelf.folder)) == before


# Verifying


@pytest.mark.parametrize(
    "backend", ["Honest", "Lies", "Crashes", "NotJson", "Refuses", "Leaks", "Modest", "Overclaims"]
)
def test_an_untouched_report_holds(shelf: Shelf, backend: str) -> None:
    folder = reported(shelf, backend)
    found = verify.verify(shelf.load(), folder)
    assert found.faults == ()
    assert found.verdict == lines(folder)[-1]["verdict"]


def test_a_report_holds_for_another_version_with_the_same_library(shelf: Shelf, monkeypatch) -> None:
    folder = reported(shelf, "Honest")
    stated = lines(folder)[0]["suite"]["version"]
    monkeypatch.setattr(npu_reference, "__version__", "9.9")
    assert verify.verify(shelf.load(), folder).faults == ()
    assert lines(folder)[0]["suite"]["version"] == stated != "9.9"


def _pass(records: list) -> None:
    for record in records[1:-1]:
        record.update(status="pass", detail="", differences=[])


def _pass_with_footer(records: list) -> None:
    _pass(records)
    records[-1].update(verdict="conformant", counts={"pass": 4})


def _observation(records: list) -> None:
    records[2]["observation"]["ok"]["host"] = [{"node": "a"}]


def _drop(records: list) -> None:
    del records[2]


def _double(records: list) -> None:
    records.insert(2, dict(records[2]))


def _foreign(records: list) -> None:
    records[2]["id"] = "no-such-case@current"


def _verdict(records: list) -> None:
    records[-1]["verdict"] = "conformant"


def _counts(records: list) -> None:
    records[-1]["counts"] = {"pass": 4}


def _library(records: list) -> None:
    records[0]["suite"]["library"] = "0" * 64


def _narrow(records: list) -> None:
    records[0]["selection"] = {"areas": [], "editions": [], "keyword": "small-options"}


def _gone(records: list) -> None:
    records[2]["observation"] = None


def _claims(records: list) -> None:
    del records[0]["backend"]["capabilities"]


@pytest.mark.parametrize(
    "tamper, says",
    [
        (_pass, "stated pass, judged again fail"),
        (_pass_with_footer, "stated pass, judged again fail"),
        (_observation, "the facts stated are not those of the observation"),
        (_drop, "has no record"),
        (_double, "has two records"),
        (_foreign, "is no instance of this selection"),
        (_verdict, "the verdict stated is 'conformant'"),
        (_counts, "the counts stated"),
        (_library, "judged by other cases"),
        (_narrow, "is no instance of this selection"),
        (_gone, "its observation cannot be judged"),
        (_claims, "does not say what the backend claims"),
    ],
)
def test_every_tampering_is_noticed(shelf: Shelf, tamper, says: str) -> None:
    folder = reported(shelf, "Lies")
    os.unlink(os.path.join(folder, "statement.json"))
    records = lines(folder)
    tamper(records)
    rewrite(folder, records)
    faults = verify.verify(shelf.load(), folder).faults
    assert any(says in fault for fault in faults), faults


def test_a_statement_about_other_results_is_noticed(shelf: Shelf) -> None:
    folder = reported(shelf, "Lies")
    records = lines(folder)
    rewrite(folder, records)
    assert verify.verify(shelf.load(), folder).holds
    records[0]["platform"] = {"system": "elsewhere"}
    rewrite(folder, records)
    assert "statement.json: is about another results.jsonl" in verify.verify(shelf.load(), folder).faults


@pytest.mark.parametrize(
    "content, reason",
    [
        ("", "not complete"),
        ("{}\n", "not complete"),
        ("nonsense\n", "not JSON"),
        ("[1]\n", "no JSON object"),
        ('{"kind": "header"}\n{"kind": "case"}\n', "not complete"),
        ('{"kind": "header"}\n{"kind": "case"}\n{"kind": "footer"}\n', "no record of a case"),
        ('{"kind": "header"}\n{"kind": "case", "id": "a", "status": "great"}\n{"kind": "footer"}\n', "no status"),
    ],
)
def test_results_that_are_cut_off_or_corrupt_are_refused(shelf: Shelf, content: str, reason: str) -> None:
    path = shelf.write("report/results.jsonl", content)
    with pytest.raises(NpuError) as caught:
        verify.verify(shelf.load(), os.path.dirname(path))
    assert caught.value.code == "OUTPUT"
    assert reason in caught.value.reason


# Long answers, in a file of their own


@pytest.fixture
def away(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> str:
    """The report of a run whose every answer is long."""
    monkeypatch.setattr(results, "_SHORT", 0)
    report = judged(shelf, hosted("Lies"))
    with output.replaced_folder(shelf.path("away")) as aside:
        assert write.write(shelf.load(), report, aside) == ""
    return shelf.path("away")


def _answers(folder: str) -> list:
    with lzma.open(os.path.join(folder, results.ANSWERS), "rt", encoding="ascii") as stream:
        return [json.loads(line) for line in stream]


def test_long_answers_are_judged_again_as_short_ones_are(shelf: Shelf, away: str) -> None:
    declared = schema.load("results")
    for line in lines(away):
        assert not {"facts", "observation"} & set(line)
        assert schema.fault(line, declared["lines"][line["kind"]], declared) is None
    for line in _answers(away):
        assert schema.fault(line, declared["lines"]["answer"], declared) is None
    near = results.read(reported(shelf, "Lies")).records
    assert results.read(away).records == near and len(near) == len(_answers(away))
    assert all(record["observation"] is None for record in results.read(away, answers=False).records)
    assert verify.verify(shelf.load(), away).holds
    assert verify.verify(shelf.load(), os.path.join(away, "results.jsonl")).holds


def test_another_answer_in_the_file_of_long_ones_does_not_hold(shelf: Shelf, away: str) -> None:
    told = _answers(away)
    told[1]["observation"]["ok"]["host"] = [{"node": "a"}]
    with open(os.path.join(away, results.ANSWERS), "wb") as stream:
        stream.write(packing.compressed(map(output.dumps, told)))
    faults = verify.verify(shelf.load(), away).faults
    assert f"{results.ANSWERS}: was changed" in faults
    assert any(fault.startswith("small-partition@current: the facts stated") for fault in faults)


@pytest.mark.parametrize(
    "change, reason",
    [
        (lambda told: told[1:], "is not the answer of small-options@current"),
        (lambda told: told[:-1], "has no answer of small-what-follows@current"),
        (lambda told: [*told, told[0]], "is the answer of no record"),
        (lambda told: [told[1], told[0], *told[2:]], "is not the answer of"),
        (lambda told: [{**told[0], "more": 1}, *told[1:]], "is not the answer of"),
        (lambda told: [], "cut off"),
        (lambda told: [[], *told], "is not the answer of"),
    ],
    ids=["first", "last", "more", "order", "member", "empty", "array"],
)
def test_a_file_of_long_answers_that_is_not_that_of_the_records_is_refused(
    shelf: Shelf, away: str, change: Any, reason: str
) -> None:
    told = change(_answers(away))
    with open(os.path.join(away, results.ANSWERS), "wb") as stream:
        stream.write(packing.compressed(map(output.dumps, told)))
    with pytest.raises(NpuError, match=reason) as caught:
        verify.verify(shelf.load(), away)
    assert results.ANSWERS in str(caught.value)


def test_a_report_of_the_first_form_is_still_judged_again(shelf: Shelf, away: str) -> None:
    records = lines(away)
    records[0]["schema"]["version"] = 1
    del records[-1]["files"]
    told = {one.pop("id"): one for one in _answers(away)}
    for record in records[1:-1]:
        for name, value in told[record["id"]].items():
            record[name] = json.loads(packing.pack(output.dumps(value)))
    rewrite(away, records)
    os.unlink(os.path.join(away, results.ANSWERS))
    statement = json.loads(_content(away, "statement.json"))
    with open(os.path.join(away, "results.jsonl"), "rb") as stream:
        statement["results_sha256"] = hashlib.sha256(stream.read()).hexdigest()
    _rewritten(away, "statement.json", output.dumps(statement) + "\n")
    assert verify.verify(shelf.load(), away).faults == ()
    del records[1]["observation"], records[1]["facts"]
    rewrite(away, records)
    assert verify.verify(shelf.load(), away).faults


# Comparing


def test_two_runs_are_compared_instance_by_instance(shelf: Shelf) -> None:
    good, bad = reported(shelf, "Honest", "good"), reported(shelf, "Lies", "bad")
    found = comparison.compare(shelf.load(), good, bad)
    assert found.changed == (
        ("small-partition@current", "pass", "fail"),
        ("small-partition-again@current", "pass", "fail"),
    )
    assert len(found.worse) == 2
    assert comparison.compare(shelf.load(), bad, good).worse == []
    assert comparison.compare(shelf.load(), good, good).changed == ()


# Every file, field by field


def _leaves(value, path=()):
    """Where a JSON value has something that can be falsified."""
    if isinstance(value, (dict, list)):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(part, (*path, key))
        if not value:
            yield path
    else:
        yield path


def _falsified(value, path):
    """The value with one leaf another of its kind."""
    if not path:
        if isinstance(value, bool):
            return not value
        if isinstance(value, (int, float)):
            return value + 1
        if isinstance(value, str):
            return value + "x"
        return ["x"] if isinstance(value, list) else {"x": 1} if isinstance(value, dict) else "x"
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _falsified(copy[path[0]], path[1:])
    return copy


def _content(folder: str, name: str) -> str:
    with open(os.path.join(folder, name), encoding="utf-8") as stream:
        return stream.read()


def _rewritten(folder: str, name: str, text: str) -> None:
    with open(os.path.join(folder, name), "w", encoding="utf-8") as stream:
        stream.write(text)


@pytest.mark.parametrize("name", ["statement.json", "badge.json"])
def test_no_field_of_a_published_file_can_be_falsified(shelf: Shelf, name: str) -> None:
    folder, loaded = reported(shelf, "Lies"), shelf.load()
    text = _content(folder, name)
    stated = json.loads(text)
    wrong = [_falsified(stated, path) for path in _leaves(stated)] + [{**stated, "new": 1}, [], {}]
    wrong += [{key: part for key, part in stated.items() if key != left} for left in stated]
    for other in wrong:
        _rewritten(folder, name, output.dumps(other) + "\n")
        faults = verify.verify(loaded, folder).faults
        assert faults and all(fault.startswith(name) for fault in faults), other
    _rewritten(folder, name, text)
    assert verify.verify(loaded, folder).holds


@pytest.mark.parametrize("backend", ["Lies", "Leaks"])
def test_no_field_of_the_results_can_be_falsified_though_the_digest_is_made_to_fit(shelf: Shelf, backend: str) -> None:
    folder, loaded = reported(shelf, backend), shelf.load()
    statement, records = json.loads(_content(folder, "statement.json")), lines(folder)
    # What the first of two attempts answered is nowhere but in these.
    free = {"differences", "first_attempt"} if backend == "Leaks" else set()
    for path in _leaves(records):
        if "observation" in path or path[1] in free:
            continue
        text = "".join(output.dumps(record) + "\n" for record in _falsified(records, path))
        _rewritten(folder, "results.jsonl", text)
        digest = hashlib.sha256(text.encode("ascii")).hexdigest()
        _rewritten(folder, "statement.json", output.dumps({**statement, "results_sha256": digest}) + "\n")
        try:
            assert verify.verify(loaded, folder).faults, path
        except NpuError as error:
            assert error.code == "OUTPUT"


def test_no_line_of_junit_or_of_the_page_can_be_falsified_but_the_times_of_suites(shelf: Shelf) -> None:
    folder, loaded = reported(shelf, "Lies"), shelf.load()
    text = _content(folder, "junit.xml")
    root = ElementTree.fromstring(text)
    for element in root.iter():
        for name in list(element.attrib):
            before = element.attrib[name]
            element.set(name, "1.000" if name == "time" else before + "x")
            changed = ElementTree.tostring(root, encoding="unicode")
            _rewritten(folder, "junit.xml", '<?xml version="1.0" encoding="utf-8"?>\n' + changed + "\n")
            # How long the slowest cases took stands in the page as well.
            assert verify.verify(loaded, folder).holds == (name == "time" and element.tag == "testsuite"), name
            element.set(name, before)
    _rewritten(folder, "junit.xml", text)
    page = _content(folder, "report.html")
    for word in ("not conformant", "small-partition", "should not be there", "<style", "Lies"):
        _rewritten(folder, "report.html", page.replace(word, word[:-1] + "y", 1))
        assert verify.verify(loaded, folder).faults == ("report.html: is not what comes out",)


def test_what_is_missing_and_what_is_no_file_of_a_report_is_named(shelf: Shelf) -> None:
    folder = reported(shelf, "Honest")
    os.unlink(os.path.join(folder, "badge.json"))
    _rewritten(folder, "laws.jsonl", "{}\n")
    _rewritten(folder, "audited\u202e.txt", "by nobody\n")
    os.mkdir(os.path.join(folder, "tensors"))
    assert sorted(verify.verify(shelf.load(), folder).faults) == [
        "audited\\u202e.txt: is no file of this report",
        "badge.json: is missing",
        "laws.jsonl: is no file of this report",
        "tensors: is no file of this report",
    ]
    os.unlink(os.path.join(folder, "statement.json"))
    os.mkfifo(os.path.join(folder, "statement.json"))
    assert (
        "statement.json: cannot be made again: Unfit: that is no regular file"
        in verify.verify(shelf.load(), folder).faults
    )


def test_results_alone_are_judged_alone(shelf: Shelf) -> None:
    folder = reported(shelf, "Honest")
    for name in ("badge.json", "statement.json", "junit.xml", "report.html"):
        os.unlink(os.path.join(folder, name))
    assert verify.verify(shelf.load(), os.path.join(folder, "results.jsonl")).holds
