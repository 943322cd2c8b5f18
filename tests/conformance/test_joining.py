"""Shards joined are the run that one machine would have made; what is no whole is refused in one sentence."""

from __future__ import annotations

import json
import os
import shutil
from typing import Any, Dict, List, Sequence

import pytest

from npu_conformance import cli
from npu_conformance.files import output
from npu_conformance.library import sharding
from npu_conformance.library.library import Library
from npu_conformance.report import joining, verify, write
from npu_conformance.running import runner
from npu_reference.errors import NpuError
from tests.conformance.shelves import QUICK, Shelf, hosted

pytestmark = pytest.mark.not_oldest

COUNT = 2
_PLAIN: Dict[str, Any] = {"areas": [], "editions": [], "keyword": ""}


def written(shelf: Shelf, loaded: Library, name: str, selection: Dict[str, Any], instances: Sequence[Any],
            spec: str = "Honest") -> str:  # fmt: skip
    """Folder of the report of a run over some instances."""
    with output.replaced_folder(shelf.path(name)) as aside:
        report = runner.run(loaded, instances, hosted(spec), QUICK, selection=selection, keep=aside)
        write.write(loaded, report, aside)
    return shelf.path(name)


def parts(shelf: Shelf, loaded: Library, spec: str = "Honest") -> List[str]:
    found = []
    for number in range(1, COUNT + 1):
        shard = sharding.Shard(number, COUNT)
        selection = {**_PLAIN, "shard": str(shard)}
        instances = sharding.share(loaded.instances(), shard)
        found.append(written(shelf, loaded, f"{spec}-{number}", selection, instances, spec))
    return found


def joined(shelf: Shelf, loaded: Library, folders: Sequence[str]) -> str:
    with output.replaced_folder(shelf.path("joined")) as aside:
        write.write(loaded, joining.join(loaded, folders, aside), aside)
    return shelf.path("joined")


def refusal(loaded: Library, folders: Sequence[str], tmp_path: Any) -> NpuError:
    with pytest.raises(NpuError) as raised:
        joining.join(loaded, folders, str(tmp_path))
    assert raised.value.code == "OUTPUT" and "\n" not in str(raised.value)
    return raised.value


def content(folder: str, name: str) -> bytes:
    with open(os.path.join(folder, name), "rb") as stream:
        return stream.read()


def test_joined_shards_are_the_whole_run_in_whatever_order_they_are_given(shelf: Shelf) -> None:
    loaded = shelf.load()
    whole = written(shelf, loaded, "whole", _PLAIN, loaded.instances())
    folder = joined(shelf, loaded, parts(shelf, loaded)[::-1])
    for name in ("results.jsonl", "statement.json", "badge.json"):
        assert content(folder, name) == content(whole, name)
    assert json.loads(content(folder, "statement.json"))["whole_suite"] is True
    assert verify.verify(loaded, folder).faults == ()


def test_a_missing_a_doubled_and_a_foreign_shard_are_refused(shelf: Shelf, tmp_path: Any) -> None:
    loaded = shelf.load()
    first, second = parts(shelf, loaded)
    assert "shard 2/2 is missing" in str(refusal(loaded, [first], tmp_path))
    assert "is shard 1/2, as is" in str(refusal(loaded, [first, second, first], tmp_path))
    assert "is the report of no shard" in str(
        refusal(loaded, [written(shelf, loaded, "whole", _PLAIN, loaded.instances())], tmp_path)
    )
    third = written(shelf, loaded, "third", {**_PLAIN, "shard": "1/1"}, loaded.instances())
    assert "is shard 1/1, and" in str(refusal(loaded, [first, third], tmp_path))
    other = written(
        shelf, loaded, "other", {**_PLAIN, "keyword": "small", "shard": "2/2"},
        sharding.share(loaded.instances(), sharding.Shard(2, 2)),
    )  # fmt: skip
    assert "selection.keyword is small" in str(refusal(loaded, [first, other], tmp_path))
    foreign = parts(shelf, loaded, "Modest")[1]
    assert "is of another run than" in str(refusal(loaded, [first, foreign], tmp_path))


def test_a_shard_that_does_not_hold_is_refused(shelf: Shelf, tmp_path: Any) -> None:
    loaded = shelf.load()
    first, second = parts(shelf, loaded)
    path = os.path.join(second, "statement.json")
    with open(path, "a", encoding="utf-8") as stream:
        stream.write(" ")
    error = refusal(loaded, [first, second], tmp_path)
    assert "does not hold: statement.json" in str(error) and f"verify {second}" in str(error)


def test_shards_that_were_divided_by_other_times_are_refused(shelf: Shelf, tmp_path: Any) -> None:
    loaded = shelf.load()
    names = [one.case.id for one in loaded.instances()]
    halves = {"1/2": names[:2], "2/2": names[1:], "short": names[3:]}

    def part(shard: str, cases: List[str], name: str) -> str:
        chosen = [one for one in loaded.instances() if one.case.id in cases]
        return written(shelf, loaded, name, {**_PLAIN, "shard": shard, "cases": cases}, chosen)

    first = part("1/2", halves["1/2"], "a")
    assert f"judges {names[1]}@" in str(refusal(loaded, [first, part("2/2", halves["2/2"], "b")], tmp_path))
    assert f"no shard judges {names[2]}@" in str(refusal(loaded, [first, part("2/2", halves["short"], "c")], tmp_path))


@pytest.mark.nightly
def test_the_command_joins_shards_with_their_laws(tmp_path: Any, capsys: pytest.CaptureFixture) -> None:
    def run(*words: str) -> int:
        with pytest.raises(SystemExit) as ended:
            cli.main(list(words))
        capsys.readouterr()
        return int(ended.value.code or 0)

    selection = ["-k", "law-acyclic or precision-variables-stay-float32", "--laws", "8", "--edition", "current"]
    folders = [str(tmp_path / name) for name in "ab"]
    for number, folder in enumerate(folders, 1):
        assert run("run", "--shard", f"{number}/2", *selection, "--out", folder) == 0
    out = str(tmp_path / "joined")
    assert run("join", *folders, "--out", out) == 0
    assert run("verify", out) == 0
    assert run("run", *selection, "--out", str(tmp_path / "whole")) == 0
    assert content(out, "results.jsonl") == content(str(tmp_path / "whole"), "results.jsonl")
    shutil.rmtree(out)
    assert run("join", folders[0], "--out", out) == 2 and not os.path.exists(out)
