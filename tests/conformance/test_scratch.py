"""What lasts no longer than a process is swept when its process is gone, and nothing else ever is."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from npu_conformance.files import output, scratch
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
