"""The tests of pages notice a Chromium that does not start, and say so in one line."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.not_oldest

_PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "browser", "chromium.py")

_STARTS = "#!/bin/sh\necho '<html><head></head><body></body></html>'\n"
_BROKEN = "#!/bin/sh\necho 'error while loading shared libraries: libnss3.so' >&2\nexit 127\n"
_EMPTY = "#!/bin/sh\nexit 0\n"


def asked(named: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, _PROGRAM], capture_output=True, timeout=60, env={**os.environ, "NPU_CHROMIUM": named}
    )


def command(tmp_path, content: str) -> str:
    path = tmp_path / "chromium"
    path.write_text(content)
    path.chmod(0o755)
    return str(path)


def test_one_that_shows_a_page_is_taken(tmp_path) -> None:
    path = command(tmp_path, _STARTS)
    done = asked(path)
    assert (done.returncode, done.stdout.decode()) == (0, path + "\n")


@pytest.mark.parametrize("content, says", [(_BROKEN, "status 127 and no page: error while"), (_EMPTY, "status 0")])
def test_one_that_does_not_start_is_named_with_the_reason(tmp_path, content: str, says: str) -> None:
    done = asked(command(tmp_path, content))
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.count(b"\n") == 1
    assert says in done.stderr.decode() and "NPU_CHROMIUM" in done.stderr.decode()


def test_none_is_one_line_as_well(tmp_path) -> None:
    done = asked(str(tmp_path / "nothing"))
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (1, b"", 1)


def test_debian_installs_it_again_where_it_is_broken(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a false apt-get, which puts one that starts in the place of the broken one."""
    broken = command(tmp_path, _BROKEN)
    apt = tmp_path / "apt-get"
    apt.write_text(f"#!/bin/sh\necho \"$@\" >> {tmp_path}/said\nprintf '%s' '{_STARTS}' > {broken}\n".replace(
        "'<html><head></head><body></body></html>'", "\"<html></html>\""
    ))  # fmt: skip
    apt.chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:/bin:/usr/sbin"}
    env.pop("NPU_CHROMIUM", None)
    program = (
        "import os, sys\n"
        "os.geteuid = lambda: 0\n"
        f"sys.path.insert(0, {os.path.dirname(_PROGRAM)!r})\n"
        "import chromium\n"
        "chromium._COMMANDS = ('chromium',)\n"
        "sys.exit(chromium.main())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, env=env)
    assert (done.returncode, done.stdout.decode()) == (0, broken + "\n"), done
    assert "--reinstall" in (tmp_path / "said").read_text()


def test_environments_install_one_after_the_other_and_not_what_is_there_by_then(tmp_path) -> None:
    """With a false apt-get, which fails where another runs."""
    apt = tmp_path / "apt-get"
    apt.write_text(
        f"#!/bin/sh\ncd {tmp_path}\necho \"$@\" >> said\nmkdir lock || exit 100\nsleep 0.2\nrmdir lock\n"
        '[ "$4" != install ] || touch "$7"\n'
    )
    apt.chmod(0o755)
    program = (
        "import os, sys\n"
        "os.geteuid = lambda: 0\n"
        f"sys.path.insert(0, {os.path.dirname(os.path.dirname(_PROGRAM))!r})\n"
        "import debian\n"
        f"path = os.path.join({str(tmp_path)!r}, sys.argv[1])\n"
        "debian.install(lambda: os.path.exists(path), [sys.argv[1]])\n"
        "sys.exit(not os.path.exists(path))\n"
    )
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    started = [subprocess.Popen([sys.executable, "-c", program, name], env=env) for name in ("one", "two", "two")]
    assert [one.wait(60) for one in started] == [0, 0, 0]
    said = (tmp_path / "said").read_text().splitlines()
    assert len(said) == 4 and all("DPkg::Lock::Timeout=600" in line for line in said)
