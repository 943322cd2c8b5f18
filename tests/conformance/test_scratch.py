"""What lasts no longer than a process is swept when its process is gone, and nothing else ever is."""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import sys

import pytest

from npu_conformance.files import descriptors, output, reading, scratch
from npu_reference.errors import NpuError


@pytest.fixture(autouse=True)
def as_in_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "_swept", set())


def abandoned(made: scratch.Scratch) -> None:
    """As if its process had been killed: the kernel gives up its lock."""
    os.close(made._lock)


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path) -> None:
    program = (
        "import os, sys, time\n"
        "from npu_conformance.files import scratch\n"
        "made = scratch.Scratch('npu-worker-', sys.argv[1])\n"
        "open(os.path.join(made.path, 'tensor.bin'), 'w').close()\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], env={**os.environ, "PYTHONPATH": _path()})
    assert len(os.listdir(str(tmp_path))) == 1
    made = scratch.Scratch("npu-worker-", str(tmp_path))
    assert os.listdir(str(tmp_path)) == [os.path.basename(made.outer)]
    made.close()
    assert os.listdir(str(tmp_path)) == []


def _path() -> str:
    return os.pathsep.join(path for path in sys.path if path)


def test_another_run_that_lives_and_what_is_not_ours_are_left_alone(tmp_path, monkeypatch) -> None:
    living = scratch.Scratch("npu-worker-", str(tmp_path))
    (tmp_path / "npu-worker-mine").mkdir()
    (tmp_path / "npu-worker-file").write_text("x")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "npu-worker-link").symlink_to(tmp_path / "elsewhere")
    before = sorted(os.listdir(str(tmp_path)))
    monkeypatch.setattr(scratch, "_swept", set())
    scratch.Scratch("npu-worker-", str(tmp_path)).close()
    assert sorted(os.listdir(str(tmp_path))) == before
    living.close()


def test_a_folder_deeper_than_a_program_can_go_back_is_removed(tmp_path) -> None:
    here = os.getcwd()
    try:
        os.chdir(str(tmp_path))
        os.mkdir("deep")
        os.chdir("deep")
        for _ in range(1200):
            os.mkdir("d" * 8)
            os.chdir("d" * 8)
    finally:
        os.chdir(here)
    os.chmod(str(tmp_path / "deep"), 0)
    scratch.remove(str(tmp_path / "deep"))
    assert os.listdir(str(tmp_path)) == []


def test_an_earlier_report_comes_back_when_its_replacement_was_killed(tmp_path, monkeypatch) -> None:
    report = tmp_path / "report"
    report.mkdir()
    (report / output.MARK).write_text("earlier")
    made = scratch.Scratch(".npu-report-", str(tmp_path))
    made.set_aside(str(report))
    abandoned(made)
    monkeypatch.setattr(scratch, "_swept", set())
    scratch.Scratch(".npu-report-", str(tmp_path)).close()
    assert os.listdir(str(tmp_path)) == ["report"]
    assert (report / output.MARK).read_text() == "earlier"


def test_files_half_written_by_a_killed_process_are_removed(tmp_path) -> None:
    (tmp_path / ".npu-abc.part").write_text("half")
    (tmp_path / ".npu-notes").write_text("mine")
    output.write_file(str(tmp_path / "whole"), "a\udcffb")
    assert sorted(os.listdir(str(tmp_path))) == [".npu-notes", "whole"]
    assert (tmp_path / "whole").read_text() == "a\\udcffb"


def test_an_error_inside_a_run_is_not_blamed_on_the_report_folder(tmp_path) -> None:
    with pytest.raises(OSError, match="disk"), output.replaced_folder(str(tmp_path / "report")):
        raise OSError(28, "the disk is full")
    assert os.listdir(str(tmp_path)) == []


def test_no_place_for_temporary_files_is_said_so(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(NpuError) as caught:
        scratch.Scratch("npu-worker-")
    assert caught.value.code == "SYSTEM"
    assert "TMPDIR" in caught.value.remedy


# Whatever a backend puts in place of a folder, and when


class Swapping:
    """Puts a link to what is elsewhere in place of a folder, right before one of the calls of ``os`` that are made.

    Args:
        at: the number of the call; level: the folder; elsewhere: where the link leads; known: inodes of what is there.
    """

    CALLS = ("chmod", "listdir", "mkdir", "open", "rename", "replace", "rmdir", "stat", "unlink")

    def __init__(self, at: int, level: str, elsewhere: str, known: set) -> None:
        self.at, self.level, self.elsewhere, self.known = at, level, elsewhere, known
        self.made = 0
        self.plain = {name: getattr(os, name) for name in self.CALLS}

    def __enter__(self) -> Swapping:
        for name, call in self.plain.items():
            setattr(os, name, self.watched(name, call))
        return self

    def __exit__(self, *error: object) -> None:
        for name, call in self.plain.items():
            setattr(os, name, call)

    def watched(self, name: str, call):
        def called(*arguments, **named):
            if self.made == self.at:
                with contextlib.suppress(OSError):  # it is not there any more
                    if stat.S_ISDIR(os.lstat(self.level).st_mode):
                        self.plain["rename"](self.level, self.level + "-gone")
                        os.symlink(self.elsewhere, self.level)
            self.made += 1
            found = call(*arguments, **named)
            if name == "open":
                assert _inode(found) not in self.known, f"{arguments} opened what is elsewhere"
            return found

        return called


def _inode(of) -> tuple:
    found = os.fstat(of) if isinstance(of, int) else os.lstat(of)
    return found.st_dev, found.st_ino


def _told(folder: str) -> list:
    """All that is in a folder, when it was changed, and what it holds."""
    found = []
    for base, _, names in sorted(os.walk(folder)):
        about = os.stat(base)
        found.append((base, about.st_mode, about.st_mtime_ns, about.st_ctime_ns))
        for name in sorted(names):
            with open(os.path.join(base, name), "rb") as stream:
                found.append((name, stream.read()))
    return found


def _close(made: scratch.Scratch) -> None:
    made.close()


def _sweep_after(made: scratch.Scratch) -> None:
    abandoned(made)
    scratch._swept.clear()
    scratch._sweep(os.path.dirname(made.outer), "npu-worker-")


def _read(made: scratch.Scratch) -> None:
    reading.content(os.path.join(made.path, "case", "file"), 100)


@pytest.mark.parametrize(
    "act",
    [
        _close,
        _sweep_after,
        _read,
        lambda made: scratch.empty(os.path.join(made.path, "case")),
        lambda made: scratch.folder(made.path),
        lambda made: scratch.remove(os.path.join(made.path, "a")),
        lambda made: descriptors.write(os.path.join(made.path, "case", "file"), b"new"),
    ],
)
@pytest.mark.parametrize("level", [(), ("folder",), ("folder", "case"), ("folder", "a", "b")])
def test_a_link_in_place_of_a_folder_at_any_step_leads_nowhere(tmp_path, act, level) -> None:
    elsewhere = tmp_path / "elsewhere"
    for inner in ("folder/case", "folder/a/b", "case", "a/b", "b"):
        (elsewhere / inner).mkdir(parents=True)
        (elsewhere / inner / "file").write_text("precious")
    known = {_inode(str(path)) for path in elsewhere.rglob("*")} | {_inode(str(elsewhere))}
    before = _told(str(elsewhere))
    place = tmp_path / "temporary"
    for at in range(1000):
        place.mkdir()
        made = scratch.Scratch("npu-worker-", str(place))
        for inner in ("case", "a/b"):
            os.makedirs(os.path.join(made.path, inner))
            with open(os.path.join(made.path, inner, "file"), "w") as stream:
                stream.write("mine")
        os.chmod(os.path.join(made.path, "a", "b"), 0)
        level_path = os.path.join(made.outer, *level)
        with Swapping(at, level_path, str(elsewhere), known) as swapping, contextlib.suppress(OSError):
            act(made)
        assert _told(str(elsewhere)) == before
        if act is not _sweep_after:
            made.close()
        scratch.remove(str(place))
        if swapping.made <= at:
            break
    assert at > 2
