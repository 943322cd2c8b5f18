"""A file that breaks lint costs itself only: it is named in every format, and all other files are reported."""

from __future__ import annotations

import json
import os
import sys

import pytest

from npu_conformance import cli
from npu_conformance.files import output
from npu_conformance.lint import registry, running, workers
from npu_conformance.lint.registry import LintSettings, rules
from npu_conformance.lint.running import LintTask, files_of, run
from npu_reference.errors import NpuError
from tests.lint.reading import answer, codes

pytestmark = pytest.mark.oldest_at_night

WRONG = "from npu_bridge.npu_int import *\n"
BREAKING = "# break\n" + WRONG
ALL = tuple(rule.code for rule in rules())

needs_processes = pytest.mark.skipif(workers.CONTEXT is None, reason="files are read in this process here")


def _never_end():
    while True:
        pass


def _recurse():
    _recurse()


FAULTS = {
    "an exception": lambda: 1 // 0,
    "recursion": _recurse,
    "no memory": lambda: bytearray(1 << 62),
    "the end of the process": lambda: os.kill(os.getpid(), 9),
    "no end": _never_end,
}


@pytest.fixture
def plant(monkeypatch):
    """Puts a fault into rule W103: it happens in files that begin with ``# break``."""

    def put(fault, code="W103"):
        whole = registry._RULES[code]

        def check(module, settings):
            if module.source.text.startswith("# break"):
                fault()
            return whole.check(module, settings)

        monkeypatch.setitem(registry._RULES, code, whole._replace(check=check))
        monkeypatch.setattr(running, "_CHOSEN", {})

    rules()
    return put


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Fifty files with one mistake each, and one among them that breaks."""
    monkeypatch.chdir(tmp_path)
    for number in range(50):
        (tmp_path / f"{number:02}.py").write_text(BREAKING if number == 33 else WRONG, encoding="utf-8")
    return tmp_path


def command(capsys, *arguments):
    with pytest.raises(SystemExit) as caught:
        cli.main(["lint", *arguments])
    printed = capsys.readouterr()
    return int(caught.value.code or 0), printed.out, printed.err


@needs_processes
@pytest.mark.parametrize(
    "fault, jobs", [*((fault, 2) for fault in FAULTS), ("an exception", 1), ("the end of the process", 1)]
)
def test_a_rule_that_breaks_at_one_file_leaves_all_others_as_they_are(plant, folder, fault, jobs, monkeypatch):
    monkeypatch.setattr(workers, "LONGEST", 0.4)
    plant(FAULTS[fault])
    found = {
        one.path: [f.code for f in one.findings] for one in run(files_of(["."]), LintTask(ALL, LintSettings()), jobs)
    }
    assert list(found) == sorted(found) and len(found) == 50
    broken = found.pop("33.py")
    assert set(map(tuple, found.values())) == {("E201",)}
    # What the other rules find in that file stands, where the process lives.
    expected = {"an exception": ["E003", "E201"], "no memory": ["E003", "E201"], "recursion": ["E001"]}
    assert broken == expected.get(fault, ["E003"])


@pytest.mark.parametrize("form", ["text", "json", "github", "sarif"])
def test_every_format_names_the_file_and_the_rule(plant, folder, capsys, form):
    plant(FAULTS["an exception"])
    status, out, _ = command(capsys, "--format", form, ".")
    assert status == 70
    told = "Rule W103 failed on this file: ZeroDivisionError"
    if form == "text":
        (line,) = [line for line in out.splitlines() if "E003" in line]
        assert line.startswith(f"33.py:1:1 E003 {told}") and out.count("E201") == 50
    elif form == "github":
        (line,) = [line for line in out.splitlines() if "E003" in line]
        assert line.startswith("::error file=33.py,") and told in line and out.count("title=E201") == 50
    elif form == "json":
        found = json.loads(out)["findings"]
        assert [one["path"] for one in found if one["code"] == "E003"] == ["33.py"] and len(found) == 51
    else:
        (answered,) = json.loads(out)["runs"]
        assert [one["ruleId"] for one in answered["results"]].count("E201") == 50
        (told_of,) = answered["invocations"]
        assert not told_of["executionSuccessful"]
        assert told_of["toolExecutionNotifications"][0]["message"]["text"].startswith(f"33.py: {told}")


def test_no_selection_and_no_comment_hides_that_a_rule_failed(plant, folder, capsys):
    plant(FAULTS["an exception"])
    (folder / "33.py").write_text("# break\n# npu: ignore-file\n" + WRONG, encoding="utf-8")
    status, out, _ = command(capsys, "--select", "W103", "--ignore", "E", ".")
    assert status == 70 and "33.py:1:1 E003" in out
    assert command(capsys, "--diff", ".")[0] == 70


def test_a_fix_that_breaks_leaves_its_file_and_the_others_are_mended(plant, folder, capsys, monkeypatch):
    plant(FAULTS["an exception"])
    whole = registry._RULES["E201"]

    def check(module, settings):
        for report in whole.check(module, settings):
            broken = report._replace(fix=lambda tokens: tokens[1 << 40])
            yield broken if module.source.text.startswith("# break") else report

    monkeypatch.setitem(registry._RULES, "E201", whole._replace(check=check))
    status, out, _ = command(capsys, "--fix", "--unsafe-fixes", ".")
    assert status == 70 and "Lint failed at mending this file, which stays as it is: IndexError" in out
    assert (folder / "33.py").read_text(encoding="utf-8") == BREAKING
    left = [path.name for path in folder.iterdir() if "npu_int " in path.read_text(encoding="utf-8")]
    assert left == ["33.py"]


def test_a_file_that_cannot_be_written_leaves_the_others_mended(folder, capsys, monkeypatch):
    whole = output.write_bytes

    def write(path, content):
        if path == "33.py":
            raise NpuError("OUTPUT", path, "cannot be written")
        whole(path, content)

    monkeypatch.setattr(output, "write_bytes", write)
    status, _, err = command(capsys, "--fix", "--unsafe-fixes", ".")
    assert status == 2 and "error[OUTPUT] 33.py: cannot be written" in err and "49 mended" in err
    assert "npu_init " in (folder / "49.py").read_text(encoding="utf-8")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="names of files that are no text")
@pytest.mark.parametrize("form", ["text", "json", "github", "sarif"])
def test_a_name_that_is_no_text_or_moves_the_cursor_is_shown_and_costs_nothing(tmp_path, monkeypatch, capsys, form):
    monkeypatch.chdir(tmp_path)
    for name in (b"a.py", b"\xff\x1b[2J\n.py"):
        with open(os.path.join(os.fsencode(str(tmp_path)), name), "wb") as stream:
            stream.write(WRONG.encode())
    status, out, _ = command(capsys, "--format", form, ".")
    assert status == 1 and out.count("E201") >= 2 and "\x1b" not in out
    out.encode("utf-8")
    assert command(capsys, "--diff", "--unsafe-fixes", ".")[0] == 1


def test_a_source_that_cannot_even_be_walked_is_one_finding(monkeypatch):
    def broken(source):
        raise KeyError("no such node")

    monkeypatch.setattr(running, "Module", broken)
    (one,) = answer(WRONG).findings
    assert one.code == "E003" and "KeyError: 'no such node'" in one.message and "please report it" in one.message


def test_a_file_larger_than_any_script_is_not_read_whole(tmp_path):
    path = tmp_path / "large.py"
    path.write_bytes(b"import npu_bridge\n" + b"#" * (5 << 20))
    assert codes(path.read_bytes()) == [(1, "E002")]
    (one,) = run([str(path)], LintTask(ALL, LintSettings()))
    assert [finding.code for finding in one.findings] == ["E002"]
