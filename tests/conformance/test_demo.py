"""``demo`` writes what there is to try, whole or not at all, and every command that it prints works as it stands."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
from typing import Any, Callable, Dict, List, Sequence, Tuple

import pytest

from npu_conformance import cli
from npu_conformance.files import output
from npu_conformance.models import demonstration
from npu_conformance.protocol import schema
from npu_reference.errors import NpuError
from npu_reference.graphs import load_graph
from tests.depth import at_night

pytestmark = pytest.mark.oldest_at_night

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TENSORFLOW = importlib.util.find_spec("tensorflow") is not None
#: Ends of README's commands that are no 0, by their second words: what is refused, and mistakes that are found.
ENDS = {"options": 2, "lint": 1}


def called(*words: str) -> int:
    with pytest.raises(SystemExit) as left:
        cli.main(list(words))
    return int(str(left.value.code))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: Any) -> Dict[str, str]:
    """With `npu-conformance` and `python3` as a shell finds them."""
    folder = tmp_path_factory.mktemp("bin")
    for name, module in (("npu-conformance", "-m npu_conformance "), ("python3", "")):
        program = folder / name
        program.write_text(f'#!/bin/sh\nexec {sys.executable!r} {module}"$@"\n')
        program.chmod(0o755)
    paths = os.pathsep.join(os.path.abspath(one) for one in sys.path if one)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": paths, "TF_CPP_MIN_LOG_LEVEL": "2"}


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: Any) -> str:
    """A current directory that has nothing to do with what is tried."""
    return str(tmp_path_factory.mktemp("elsewhere"))


@pytest.fixture(scope="module")
def tried(tmp_path_factory: Any) -> str:
    folder = str(tmp_path_factory.mktemp("made") / "to try it's new")  # a name that a shell has to be told as one
    demonstration.write(folder)
    return folder


def pasted(command: str, folder: str, environment: Dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, shell=True, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )


@pytest.fixture
def here(tmp_path: Any, environment: Dict[str, str], monkeypatch: Any, capsys: Any) -> Callable[[str], Tuple[int, str]]:
    """Runs a line as a shell would in a folder that `cd` changes: status and words. Most run in this process."""
    for name in ("PATH", "PYTHONPATH"):
        monkeypatch.setenv(name, environment[name])
    monkeypatch.chdir(tmp_path)

    def run(line: str) -> Tuple[int, str]:
        monkeypatch.setenv("PWD", os.getcwd())
        words = shlex.split(os.path.expandvars(line))
        if words[0] == "cd":
            os.chdir(words[1])
            return 0, ""
        if words[0] == "npu-conformance" and words[1] != "simulate":  # of which two share a default graph
            status, said = called(*words[1:]), capsys.readouterr()
            return status, said.out + said.err
        ended = pasted(line, os.getcwd(), environment)
        return ended.returncode, ended.stdout + ended.stderr

    return run


@pytest.mark.nightly  # by day the commands of the README and of a tutorial run
def test_every_command_it_prints_works_from_any_directory(
    tried: str, elsewhere: str, environment: Dict[str, str]
) -> None:
    done = {}
    for trial in demonstration.trials(tried):
        if trial.tensorflow and not TENSORFLOW:
            continue
        ended = pasted(trial.line, elsewhere, environment)
        assert ended.returncode == trial.status, (trial.line, ended.stdout, ended.stderr)
        done[trial.words[1]] = ended.stdout + ended.stderr
    assert os.listdir(elsewhere) == []
    assert "GRAY" in done["partition"] and "Did you mean precision_mode?" in done["lint"]
    assert "mixed.iterations.must_be_one" in done["run"] and '"rejected"' not in done["case"]
    assert not TENSORFLOW or "loss below 0.5" in done["simulate"]


@pytest.mark.nightly  # tutorial-judge.md does the same by day
def test_the_faulty_backend_has_one_fault_and_mended_it_passes_what_failed(
    tried: str, elsewhere: str, environment: Dict[str, str]
) -> None:
    judge, again = [trial for trial in demonstration.trials(tried) if trial.words[1] == "run"]
    assert pasted(f"{judge.line} --format json", elsewhere, environment).returncode == 1
    path = os.path.join(tried, "faulty_backend.py")
    with open(path, encoding="utf-8") as stream:
        faulty = stream.read()
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(faulty.replace("> 2:", "> 1:"))
    try:
        ended = pasted(f"{again.line} --format json", elsewhere, environment)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert json.loads(ended.stdout)["counts"] == {"pass": 3}
    finally:
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(faulty)


def _read(page: str) -> str:
    with open(os.path.join(ROOT, page), encoding="utf-8") as stream:
        return stream.read()


def blocks_of(readme: str) -> List[List[str]]:
    """Commands of each block, without comments."""
    blocks = re.findall(r"(?ms)^```sh\n(.*?)^```", _read(readme))
    return [[re.sub(r"\s+#.*", "", line) for line in block.splitlines()] for block in blocks]


def commands_of_readme() -> List[str]:
    tried = next(block for block in blocks_of("README.md") if block[0].startswith("npu-conformance demo"))
    return [command for line in tried for command in line.split(" && ")]


@pytest.mark.parametrize(
    "page", ["README", "docs/tutorial-judge", "docs/tutorial-port", "docs/tutorial-guard", "docs/troubleshooting"]
)
def test_a_page_in_chinese_has_the_same_commands_sections_and_rows(page: str) -> None:
    texts = [_read(f"{page}{ending}") for ending in (".md", ".zh-CN.md")]
    assert blocks_of(f"{page}.zh-CN.md") == blocks_of(f"{page}.md")
    assert page == "README" or len({tuple(text.count(mark) for mark in ("\n## ", "\n| ")) for text in texts}) == 1
    written = re.sub(r"(?s)```.*?```|`[^`\n]*`|<!--.*?-->|\]\([^)]*\)", "", texts[1])  # no code, no target of a link
    assert re.findall("[\u4e00-\u9fff][,:;()?]|[,:;()?][\u4e00-\u9fff]|[\u4e00-\u9fff]\n[\u4e00-\u9fff]", written) == []


def test_the_commands_of_readme_run_on_what_it_writes_as_they_are_printed(
    here: Callable[[str], Tuple[int, str]],
) -> None:
    commands = commands_of_readme()
    assert commands[:2] == ["npu-conformance demo try", "cd try"] and len(commands) > 8
    for command in commands:
        words = command.split()
        if words[1] == "simulate" and not TENSORFLOW:
            continue
        ended, said = here(command)
        assert ended == ENDS.get(words[1], 0), (command, said)
    pages = {"train.html"} if TENSORFLOW else set()
    assert {"partition.html", "precision.html", "profile.html", *pages} <= set(os.listdir("."))


def steps_of(page: str) -> List[Tuple[str, int]]:
    """Every line of a page's blocks of commands, with the exit status that a comment says, or 0."""
    blocks = re.findall(r"(?ms)^```sh\n(.*?)^```", _read(f"docs/{page}"))
    steps = []
    for line in (line for block in blocks for line in block.splitlines() if line):
        if TENSORFLOW or not line.endswith("# needs TensorFlow"):
            status = re.search(r"# exit status (\d)$", line)
            steps.append((re.sub(r"\s+#.*", "", line), int(status.group(1)) if status else 0))
    return steps


@pytest.mark.parametrize("page", ["tutorial-judge.md", at_night("tutorial-port.md"), at_night("tutorial-guard.md")])
def test_the_commands_of_a_tutorial_run_one_after_the_other(page: str, here: Callable[[str], Tuple[int, str]]) -> None:
    steps = steps_of(page)
    assert steps[0] == ("npu-conformance demo try", 0) and len(steps) > 8
    for command, status in steps:
        ended, said = here(command)
        assert ended == status, (command, said[-4000:])


def test_it_says_what_it_wrote_and_prints_one_command_a_line(tmp_path: Any, capsys: Any) -> None:
    folder = str(tmp_path / "new" / "one")
    assert called("demo", folder) == 0
    said = capsys.readouterr().out
    printed = [line.strip() for line in said.splitlines() if line.startswith("  ")]
    assert printed == [trial.line for trial in demonstration.trials(folder)]
    assert all(os.path.isfile(os.path.join(folder, name)) for name in demonstration.files())
    assert f"In {folder}: train.py" in said and "needs TensorFlow" in said


def test_the_answer_in_json_is_that_of_its_schema(tmp_path: Any, capsys: Any) -> None:
    assert called("demo", str(tmp_path / "new"), "--format", "json") == 0
    answer = json.loads(capsys.readouterr().out)
    form = schema.load("demo")
    assert schema.fault(answer, form, form) is None
    assert "model.pb" in answer["files"]


def test_the_model_is_a_graph_of_which_some_is_on_the_host(tried: str) -> None:
    graph = load_graph(os.path.join(tried, "model.pb"))
    assert {"words", "train", "loss"} <= set(graph.index)


def test_an_empty_folder_is_filled_and_stays_the_same(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    before = os.stat(str(tmp_path)).st_ino
    assert called("demo", ".") == 0
    assert os.stat(str(tmp_path)).st_ino == before
    assert sorted(os.listdir(str(tmp_path))) == sorted({name.split("/")[0] for name in demonstration.files()})


def link_to_an_empty_folder(path: Any) -> None:
    (path.parent / "empty").mkdir()
    path.symlink_to(path.parent / "empty")


@pytest.mark.parametrize(
    "make, reason",
    [
        (lambda path: path.write_text("mine"), "is no folder"),
        (lambda path: (path.mkdir(), (path / "mine").write_text("mine")), "is not empty"),
        (link_to_an_empty_folder, "is no folder"),
        (lambda path: os.mkfifo(str(path)), "is no folder"),
    ],
    ids=["a file", "a folder with a file", "a link", "a pipe"],
)
def test_what_is_there_already_is_left_alone_with_one_error(make: Any, reason: str, tmp_path: Any, capsys: Any) -> None:
    path = tmp_path / "there"
    make(path)
    before = sorted(str(one) for one in tmp_path.rglob("*"))
    assert called("demo", str(path)) == 2
    said = capsys.readouterr()
    assert len(said.err.splitlines()) == 1 and reason in said.err and not said.out
    assert sorted(str(one) for one in tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["", "x" * 5000, "/proc/nothing/here"])
def test_a_name_that_is_none_is_one_error(name: str, capsys: Any) -> None:
    assert called("demo", name) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("there", [True, False], ids=["an empty folder", "an absent one"])
def test_nothing_half_written_is_left(there: bool, tmp_path: Any, monkeypatch: Any) -> None:
    folder = tmp_path / "new"
    if there:
        folder.mkdir()
    written: List[Sequence[Any]] = []
    whole = output.write_bytes

    def fails(path: str, content: bytes) -> None:
        if len(written) == 3:
            raise NpuError("OUTPUT", path, "cannot be written: No space left on device")
        written.append(path)
        whole(path, content)

    monkeypatch.setattr(output, "write_bytes", fails)
    assert called("demo", str(folder)) == 2
    assert len(written) == 3
    assert os.listdir(str(tmp_path)) == (["new"] if there else [])
    assert not there or os.listdir(str(folder)) == []


def test_a_folder_that_is_filled_meanwhile_is_left_as_it_is(tmp_path: Any, monkeypatch: Any, capsys: Any) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    whole = output.write_bytes

    def meanwhile(path: str, content: bytes) -> None:
        (folder / "models").write_text("somebody else's")
        whole(path, content)

    monkeypatch.setattr(output, "write_bytes", meanwhile)
    assert called("demo", str(folder)) == 2
    assert os.listdir(str(folder)) == ["models"]
    assert "cannot be written" in capsys.readouterr().err
