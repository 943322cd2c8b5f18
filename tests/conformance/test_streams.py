"""Whatever the standard streams, the locale and the names are, a user reads one plain line, and never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from npu_conformance.files import resources
from npu_conformance.protocol import client
from tests.conformance.shelves import QUICK

pytestmark = pytest.mark.oldest_at_night

GRAPH = os.path.join(resources.fixtures(), "graphs", "cases", "pyfunc_chain.pbtxt")
COMMAND = f"{sys.executable} -m npu_conformance"
ODD = b"nam\xff\xe5\x90\x8d"


def shell(line: str, cwd: Any, **env: str) -> subprocess.CompletedProcess:
    """A line of a shell; NPU stands for the command."""
    return subprocess.run(
        ["bash", "-c", line.replace("NPU", COMMAND)], stdin=subprocess.DEVNULL, capture_output=True, cwd=str(cwd),
        timeout=60, env={**client.environment(QUICK.env), **env},
    )  # fmt: skip


@pytest.mark.parametrize(
    "line, status, says",
    [
        (
            "NPU options --format json > /dev/full",
            2,
            b"error[OUTPUT] standard output: cannot be written: No space left",
        ),
        ("NPU options > /dev/full", 2, b"error[OUTPUT] standard output: cannot be written: No space left"),
        ("NPU options >&-", 0, b""),
        ("NPU options <&- > /dev/null", 0, b""),
        ("NPU fly 2>&-", 2, b""),
        ("NPU fly 2> /dev/full", 2, b""),
        ("NPU options --format json | true; exit ${PIPESTATUS[0]}", 0, b""),
        ("NPU mutants --list | true; exit ${PIPESTATUS[0]}", 0, b""),
        ("mkdir gone; cd gone; rmdir ../gone; NPU golden update x.pb", 2, b"error[GRAPH_FILE] x.pb: "),
        ("mkdir gone; cd gone; rmdir ../gone; NPU run -k mixed-plain-chain --out r", 2, b"error[OUTPUT] r: "),
        (
            "NPU partition $'a\\x1b[31m\\nb\\u202e.pb'",
            2,
            b"error[GRAPH_FILE] a\\x1b[31m\\nb\\u202e.pb: it cannot be read",
        ),
    ],
)
def test_no_state_of_a_stream_brings_a_traceback(tmp_path, line: str, status: int, says: bytes) -> None:
    done = shell(line, tmp_path, LC_ALL="C.UTF-8")
    assert done.returncode == status, done
    assert done.stderr.startswith(says) and done.stderr.count(b"\n") == (1 if says else 0)


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}])
def test_no_name_of_a_file_brings_a_traceback_in_any_locale(tmp_path, locale: Any) -> None:
    with open(GRAPH, "rb") as stream:
        content = stream.read()
    name = os.path.join(os.fsencode(str(tmp_path)), ODD)
    with open(name + b".pbtxt", "wb") as stream:
        stream.write(content)
    words = "$'nam\\xff\\xe5\\x90\\x8d'"
    page = shell(f"NPU partition {words}.pbtxt -o mix_compile_mode=true --html {words}.html", tmp_path, **locale)
    kept = shell(f"NPU golden update {words}.pbtxt && NPU golden check {words}.pbtxt", tmp_path, **locale)
    assert (page.returncode, page.stderr, kept.returncode, kept.stderr) == (0, b"", 0, b"")
    assert b"\\udcff" in page.stdout
    assert sorted(os.listdir(os.fsencode(str(tmp_path)))) == [
        ODD + b".html",
        ODD + b".pbtxt",
        ODD + b".pbtxt.golden.txt",
    ]
