"""The action and the hook of golden graphs run what they say, on a user's repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from npu_conformance.models import golden
from tests.conformance.test_golden_graph import MIXED, chain

pytestmark = pytest.mark.not_oldest

ROOT = Path(__file__).resolve().parents[2]


def step(name):
    """The script of one step of the action, as GitHub hands it to bash."""
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    (found,) = re.findall(rf"- name: {name}\n.*?      run: \|?(.*?)(?=\n    - |\Z)", text, re.DOTALL)
    return "\n".join(line.strip() for line in found.splitlines())


def commands():
    """A folder whose `npu-conformance` is this interpreter's."""
    return str(Path(sys.executable).parent)


@pytest.fixture
def repository(tmp_path):
    model = chain(tmp_path / "a model.pb", host_op="Tanh")
    golden.update(model, MIXED)
    return tmp_path


def run(script, folder, **env):
    assert shutil.which("npu-conformance", path=commands()), "the command is not installed beside this interpreter"
    path = os.pathsep.join([commands(), os.environ.get("PATH", os.defpath)])
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script], cwd=str(folder), timeout=120,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "PATH": path, **env},
    )  # fmt: skip
    return done.returncode, done.stdout.decode("utf-8")


@pytest.mark.parametrize("models", [".", "a model.pb", "\n  \na model.pb.golden.txt\n"])
def test_the_action_passes_what_did_not_move_and_marks_what_did(repository, models):
    env = {"NPU_MODELS": models, "NPU_TOLERANCE": "0"}
    assert run(step("check"), repository, **env) == (0, "")
    chain(repository / "a model.pb")
    status, said = run(step("check"), repository, **env)
    assert status == 1 and said.startswith("::error file=") and "middle: GEOP 1 -> host" in said


def test_the_hook_reads_models_that_are_recorded_and_leaves_out_the_others(repository):
    hooks = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    entry, wanted = re.findall(r"- id: npu-conformance-golden\n.*?entry: (.*?)\n.*?files: (.*?)\n", hooks, re.DOTALL)[0]
    chain(repository / "other.pb")
    names = ["a model.pb", "a model.pb.golden.txt", "other.pb"]
    assert all(re.search(wanted, name) for name in names) and not re.search(wanted, "train.py")
    words = " ".join(f"'{name}'" for name in names)
    assert run(f"{entry} {words}", repository) == (0, "a model.pb: unchanged\n")
