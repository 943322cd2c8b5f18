"""A backend on another machine, over ssh: the same verdict as here; a connection that is lost costs its case only."""

from __future__ import annotations

import getpass
import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path
from typing import Iterator, List, NamedTuple

import pytest

from npu_conformance.library import selection
from npu_conformance.protocol import client
from npu_conformance.running import checkup, runner
from tests.cases.corpus import corpus
from tests.conformance.shelves import MINIATURES, QUICK, Shelf, judged, statuses
from tests.conformance.sshd import find

SERVER = find()

pytestmark = [
    pytest.mark.not_oldest,
    pytest.mark.skipif(not SERVER, reason="there is no sshd here: python tests/conformance/sshd.py says more"),
]

_SETTINGS = """\
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
AllowUsers {user}
"""


class Board(NamedTuple):
    """A server on this machine, which stands for the device's."""

    folder: Path
    port: int

    def spec(self, *words: str) -> str:
        """SPEC of a program there."""
        place = ["-p", str(self.port), "-i", f"{self.folder}/user", "-o", f"UserKnownHostsFile={self.folder}/known"]
        options = ["-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", "-o", "StrictHostKeyChecking=yes"]
        remote = " ".join(["exec", *map(shlex.quote, words)])
        ssh = ["ssh", "-T", "-F", "none", *place, *options, f"{getpass.getuser()}@127.0.0.1", remote]
        return "exec:" + " ".join(map(shlex.quote, ssh))

    def worker(self, backend: str) -> str:
        """SPEC of the suite's worker there, with a backend of Python."""
        packages = client.environment(QUICK.env)["PYTHONPATH"]
        return self.spec("env", f"PYTHONPATH={packages}", sys.executable, "-m", "npu_conformance", "worker", backend)


def _key(path: Path) -> str:
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path)]
    subprocess.run(words, check=True, timeout=30)
    return Path(f"{path}.pub").read_text().strip()


def _unused_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    folder, port = tmp_path_factory.mktemp("board"), _unused_port()
    _key(folder / "user")
    (folder / "known").write_text(f"[127.0.0.1]:{port} {_key(folder / 'host')}\n")
    settings = _SETTINGS.format(port=port, folder=folder, user=getpass.getuser())
    (folder / "settings").write_text(settings)
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)  # where a server that runs as root locks its helpers up
    words = [SERVER, "-D", "-e", "-f", str(folder / "settings")]
    server = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        said: List[bytes] = []
        assert server.stderr is not None
        for line in server.stderr:
            said.append(line)
            if b"Server listening" in line:
                break
        assert server.poll() is None, said
        yield Board(folder, port)
    finally:
        server.kill()
        server.communicate()


def test_the_verdict_is_that_of_the_same_backend_here(board: Board) -> None:
    shelf = corpus()
    chosen = selection.select(shelf, editions=["current"], keyword="mixed-py or mixed-default or session-device-id")
    there = runner.run(shelf, chosen, board.worker("reference"), QUICK._replace(factor=1.0))
    here = runner.run(shelf, chosen, "reference", QUICK._replace(factor=1.0))
    assert len(there.records) > 10
    assert [(one.instance.id, one.result) for one in there.records] == [
        (one.instance.id, one.result) for one in here.records
    ]
    assert there.verdict == here.verdict == "conformant"


def test_the_plumbing_is_checked_over_it(board: Board) -> None:
    found = checkup.check(board.spec(sys.executable, MINIATURES, "Honest"), QUICK._replace(factor=1.0))
    assert [one for one in found if not one.passed] == []


def test_a_lost_connection_costs_its_case_and_is_told_as_one(board: Board, tmp_path: Path) -> None:
    """The server's process of the connection dies while the second case is asked, twice."""
    report = judged(
        Shelf(str(tmp_path)), board.spec(sys.executable, MINIATURES, "LosesConnection"), QUICK._replace(factor=1.0)
    )
    assert statuses(report) == {
        "small-options": "pass",
        "small-partition": "crash",
        "small-partition-again": "crash",
        "small-what-follows": "pass",
    }
    lost = next(one.result.detail for one in report.records if one.result.status == "crash")
    assert "the connection was lost" in lost and "closed by remote host" in lost
    assert report.verdict == "not conformant"


def test_a_machine_that_refuses_the_key_is_one_error(board: Board) -> None:
    spec = board.worker("reference").replace(f"{board.folder}/user ", "/dev/null ")
    with pytest.raises(Exception, match="Permission denied") as caught, QUICK._replace(factor=1.0).client(spec) as one:
        one.hello()
    assert getattr(caught.value, "code", "") == "BACKEND_UNAVAILABLE"
