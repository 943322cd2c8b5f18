"""What a release is made of: pinned actions and tools, metadata that agree, and a script that refuses a wrong wheel."""

from __future__ import annotations

import importlib.util
import re
import zipfile
from pathlib import Path

import pytest
import tomli

pytestmark = pytest.mark.not_oldest

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomli.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def release():
    spec = importlib.util.spec_from_file_location("release", str(ROOT / "release" / "release.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pinned(path: Path) -> dict:
    """The versions of a file of constraints, by the name of the package."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return dict(re.match(r"([\w.-]+)==([^\s;]+)", line).groups() for line in lines if re.match(r"[\w.-]+==", line))


def test_every_action_is_pinned_by_one_digest_with_its_version():
    found = {}
    for path in [*WORKFLOWS, ROOT / "action.yml"]:
        for action, pin in re.findall(r"uses: *([^@\s]+)@(.*)", path.read_text(encoding="utf-8")):
            assert re.fullmatch(r"[0-9a-f]{40}  # v\d+\.\d+\.\d+", pin), f"{path.name}: {action}@{pin}"
            found.setdefault(action, set()).add(pin)
    assert found and all(len(pins) == 1 for pins in found.values()), found


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_do_no_more_than_it_says_and_leaves_no_credentials(path):
    text = path.read_text(encoding="utf-8")
    head = text[: text.index("\njobs:")]
    assert re.search(r"^permissions:( \{\}|\n  contents: read\n)", head, re.MULTILINE)
    assert "write-all" not in text and "pull_request_target" not in text
    assert text.count("uses: actions/checkout@") == text.count("persist-credentials: false")
    # What a visitor can name, such as a branch, is handed to a script as a variable.
    scripts = re.findall(r"- run: (?:\|\n((?:          .*\n)+)|(.*)\n)", text)
    assert not [one for one in scripts if "${{ github." in "".join(one)]


def test_the_pythons_are_the_same_wherever_they_are_written(release):
    named = [one.rsplit(" ", 1)[1] for one in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", one)]
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    installed = re.search(r"python-version: \|\n((?: +3\.\d+\n)+)", text).group(1).split()
    assert tuple(named) == release.PYTHONS == tuple(installed)
    assert PROJECT["requires-python"] == f">={named[0]}"


def test_a_hashed_file_has_a_hash_for_every_package():
    for path in sorted((ROOT / "constraints" / "hashed").glob("*.txt")):
        entries = re.split(r"^(?=[\w.-]+==)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
        assert entries and all("--hash=sha256:" in entry for entry in entries), path.name


def test_the_image_has_all_that_the_wheel_needs_at_the_versions_under_test():
    image, tested = pinned(ROOT / "constraints" / "hashed" / "image.txt"), pinned(ROOT / "constraints" / "core.txt")
    assert {name: tested.get(name) for name in image} == image
    needed = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["report"]]
    names = {re.match(r"[\w-]+", need).group() for need in needed if "python_version <" not in need}
    assert names <= set(image)


def test_the_dockerfile_copies_what_is_there_and_installs_by_hash():
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    sources = re.findall(r"^COPY (?!--from)(\S+) ", text, re.MULTILINE)
    assert sources and all((ROOT / source).exists() for source in sources)
    installed = re.findall(r"pip install (.*)", text)
    assert installed and all("--require-hashes" in words or "--no-index" in words for words in installed)


def wheel(folder: Path, *more: str) -> Path:
    """A wheel of version 1 that the release script takes, and `more` files."""
    path = folder / "npu_conformance-1-py3-none-any.whl"
    about = "npu_conformance-1.dist-info"
    with zipfile.ZipFile(str(path), "w") as archive:
        for name in [
            "npu_reference/_built.py", "npu_reference/_dropin/npu_bridge/__init__.py", "npu_conformance/py.typed",
            "npu_conformance/_data/docs/readings.md", f"{about}/licenses/LICENSE", *more,
        ]:  # fmt: skip
            archive.writestr(name, "")
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: npu-conformance\nVersion: 1\n")
    return path


def test_a_wheel_as_it_should_be_is_taken(release, tmp_path):
    assert release.contents(tmp_path / "npu_conformance-1.tar.gz", wheel(tmp_path)) == "1"


@pytest.mark.parametrize(
    ("name", "says"),
    [("npu_bridge/__init__.py", "at its top"), ("npu_reference/__pycache__/a.pyc", "belong to nobody")],
)
def test_a_wheel_with_what_does_not_belong_there_is_refused(release, tmp_path, name, says):
    with pytest.raises(release.Failed, match=says):
        release.contents(tmp_path / "npu_conformance-1.tar.gz", wheel(tmp_path, name))


def test_an_sdist_of_another_version_is_refused(release, tmp_path):
    with pytest.raises(release.Failed, match="is not of version 1"):
        release.contents(tmp_path / "npu_conformance-2.tar.gz", wheel(tmp_path))


def test_nothing_is_released_into_a_folder_that_has_something(release, tmp_path, capsys):
    (tmp_path / "old.whl").write_text("")
    assert release.main([str(tmp_path)]) == 2
    assert "is not empty" in capsys.readouterr().err
