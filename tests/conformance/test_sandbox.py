"""A worker that is shut in reads the system, writes into its own folder alone, and reaches nobody."""

from __future__ import annotations

import os
import socket
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional

import pytest

from npu_conformance import cli
from npu_conformance.files import output
from npu_conformance.protocol import client, sandbox
from npu_conformance.report import summary, verify, write
from tests.conformance.shelves import QUICK, Shelf, judged, spoken, statuses
from tests.conformance.test_hostile_backends import attacking

ALONE = {"means": "none"}


@pytest.fixture
def tmp_path(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on disk, and scratch folders beside it: a worker that is shut in has a /dev/shm of its own."""
    monkeypatch.setattr(tempfile, "tempdir", "/var/tmp")
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def deeds(tmp_path: Any, by: Optional[Dict[str, Any]]) -> List[str]:
    """What a worker could do that tries everything."""
    outside = tmp_path / "outside"
    outside.write_text("precious")
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        spec = attacking("Escapes", str(outside), str(listening.getsockname()[1]))
        with client.Client(spec, env=QUICK.env, sandbox=by) as worker:
            outcome = worker.request("options", {"values": {}}, 60)
    assert isinstance(outcome, client.Answered), client.describe(outcome)
    done: List[str] = outcome.ok["effective"]["done"]["value"]
    assert by is None or outside.read_text() == "precious"
    return done


def means_here() -> List[Dict[str, Any]]:
    """Every means that works on this machine."""
    found = [one for one in (sandbox.means(), sandbox.landlock()) if one is not None]
    return [one for place, one in enumerate(found) if one not in found[:place]]


def test_a_worker_that_is_not_shut_in_may_do_all_that_its_user_may(tmp_path: Any) -> None:
    assert {"inside", "reads", "writes", "removes", "connects"} <= set(deeds(tmp_path, None))


def test_a_worker_that_is_shut_in_writes_into_its_folder_and_reaches_nobody(tmp_path: Any) -> None:
    found = means_here()
    for by in found:
        reached = ["connects"] if by["network"] == "open" else []
        assert deeds(tmp_path, by) == sorted(["inside", "reads", *reached]), by
    if not found:  # then the command says so, whatever it is asked for
        with pytest.raises(SystemExit) as ended:
            cli.main(["run", "--sandbox", "--out", str(tmp_path / "report")])
        assert ended.value.code == 2


def test_where_nothing_shuts_a_worker_in_the_run_is_refused_with_a_remedy(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(sandbox, "means", lambda: None)
    with pytest.raises(SystemExit) as ended:
        cli.main(["run", "--sandbox", "--out", str(tmp_path / "report")])
    said = capsys.readouterr().err
    assert "neither bubblewrap nor Landlock works on this machine" in said
    assert "Install bubblewrap" in said
    assert ended.value.code == 2
    assert not os.path.exists(str(tmp_path / "report"))


def test_a_statement_says_what_shut_the_workers_in(shelf: Shelf) -> None:
    (*_, by) = [{"means": "none", "network": "open"}, *means_here()]
    settings = QUICK._replace(sandbox=by if by["means"] != "none" else None)
    folder = shelf.path("report")
    with output.replaced_folder(folder) as aside:
        report = judged(shelf, spoken("Honest"), settings)
        write.write(shelf.load(), report, aside)
    assert set(statuses(report).values()) == {"pass"}
    stated = summary.statement(shelf.load(), report, b"")["sandbox"]
    assert stated == (ALONE if settings.sandbox is None else by)
    assert verify.verify(shelf.load(), folder).faults == ()
    assert summary.statement(shelf.load(), judged(shelf, spoken("Honest")), b"")["sandbox"] == ALONE
