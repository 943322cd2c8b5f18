"""What a newcomer is told stays true: files that guides name, environments and versions that are written twice."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PATHS = re.compile(r"`((?:impl|conformance|fixtures|golden|tests|docs|benchmarks|constraints)/[\w./-]*)`")


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "README.md", "CHANGELOG.md"])
def test_every_file_a_guide_names_is_there(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    named = [path.split("<")[0] for path in PATHS.findall(text)]
    links = re.findall(r"\]\(([^)#:]+)(?:#[\w-]*)?\)", text)
    assert [path for path in [*named, *links] if not (ROOT / path).exists()] == []


def test_every_command_contributing_names_exists():
    from npu_conformance.cli import cli

    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`npu-conformance ([\w-]+)", text)) <= set(cli.commands)
    for module in re.findall(r"`python -m ([\w.]+)`", text):
        base = "impl" if module.startswith("npu_reference") else "conformance"
        assert (ROOT / base / (module.replace(".", "/") + ".py")).exists()


def test_the_workflow_runs_every_environment_of_tox():
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini", encoding="utf-8")
    wanted = [name.strip() for name in tox["tox"]["env_list"].split(",")]
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    listed = re.search(r"env: \[(.*)\]", workflow)
    assert [name.strip() for name in listed.group(1).split(",")] == wanted


def test_the_hooks_have_the_versions_of_the_environment_lint():
    pins = dict(
        line.split("==") for line in (ROOT / "constraints" / "lint.txt").read_text().splitlines() if "==" in line
    )
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    for name in ("ruff", "mypy"):
        assert re.search(rf'"{name}==([\w.]+)"', hooks).group(1) == pins[name]


def test_the_version_follows_from_the_changelog():
    """Of the newest release there, or of one that comes after it and is not released yet."""
    from npu_reference.version import RELEASE

    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    if ".dev" not in RELEASE:
        assert headings[0] == RELEASE
        return
    assert headings[0] == "Unreleased" and RELEASE.endswith(".dev0")
    last, following = ([int(part) for part in name.split(".")] for name in (headings[1], RELEASE[: -len(".dev0")]))
    place = next(number for number, (before, after) in enumerate(zip(last, following)) if before != after)
    assert following == [*last[:place], last[place] + 1, *[0] * (2 - place)]


def test_both_packages_say_that_they_are_typed():
    assert (ROOT / "impl" / "npu_reference" / "py.typed").exists()
    assert (ROOT / "conformance" / "npu_conformance" / "py.typed").exists()


def test_the_newest_python_runs_every_test_and_the_oldest_what_a_python_may_change():
    """Environments that test only what a version of TensorFlow changes rely on these two for all the rest, and those
    between the oldest and the newest TensorFlow on these."""
    tox = (ROOT / "tox.ini").read_text(encoding="utf-8")
    scopes = dict(re.findall(r"^ *(\S+): NPU_TESTS_SCOPE = (\w+)", tox, re.MULTILINE))
    assert scopes == {"tf115": "oldest", "tf26": "between", "tf215": "between", "tf221": "newest"}
    parts = dict(re.findall(r"^ *(\S+): NPU_TESTS_PART = (\w+)", tox, re.MULTILINE))
    assert parts == {"tf26": "1", "tf215": "2"}


def test_what_the_oldest_python_leaves_to_the_newest_needs_no_tensorflow():
    from tests import conftest

    left = conftest._OF_THE_NEWEST_PYTHON
    assert all((ROOT / "tests" / name).exists() for name in left)
    assert not set(left) & {*conftest._OF_A_VERSION, "cases/test_reference.py", "conformance/test_laws.py"}
    sources = [(ROOT / "tests" / name) for name in left if name.endswith(".py")]
    needs = re.compile("^(import|from) tensorflow", re.MULTILINE)
    assert not [path.name for path in sources if needs.search(path.read_text(encoding="utf-8"))]


def test_what_needs_tensorflow_is_tested_with_every_version_of_it_but_for_what_its_ends_run():
    from tests import conftest

    assert set(conftest._NEEDS_TENSORFLOW) <= set(conftest._OF_A_VERSION)
    of_the_oldest = set(conftest._OF_THE_OLDEST_TENSORFLOW)
    left_of_the_newest = of_the_oldest | set(conftest._AT_NIGHT_OF_THE_NEWEST_TENSORFLOW)
    assert set(conftest._SCOPES["newest"]) & set(conftest._NEEDS_TENSORFLOW) <= left_of_the_newest
    left = [*conftest._OF_THE_ENDS, *conftest._OF_ONE_TENSORFLOW]
    assert all((ROOT / "tests" / name).exists() for name in left) and len(left) == len(set(left))
    assert not {*conftest._OF_THE_ENDS, *of_the_oldest} & set(conftest._SCOPES["oldest"])
    # What says for itself that it is of another version would run nowhere.
    sources = [ROOT / "tests" / name for name in conftest._OF_THE_NEWEST_TENSORFLOW]
    assert not [path.name for path in sources if "skip" in re.sub("skipped", "", path.read_text(encoding="utf-8"))]
    assert all((ROOT / "tests" / name).exists() for name in conftest._OF_A_VERSION)
