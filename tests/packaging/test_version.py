"""The version names the source: a release by its number, any other by its commit, and it costs no run of git."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from npu_reference.version import RELEASE

pytestmark = pytest.mark.oldest_at_night

ROOT = Path(__file__).resolve().parents[2]
VERSION_PY = "impl/npu_reference/version.py"

git_is_there = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture(scope="module")
def build():
    """hatch_build.py, with hatchling's two base classes in hatchling's place: only a build has it."""
    stubs = {
        "hatchling.builders.hooks.plugin.interface": {"BuildHookInterface": object},
        "hatchling.metadata.plugin.interface": {"MetadataHookInterface": object},
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, members in stubs.items():
            module = ModuleType(name)
            vars(module).update(members)
            patch.setitem(sys.modules, name, module)
        found = ModuleType("hatch_build")
        found.__file__ = str(ROOT / "hatch_build.py")
        exec(compile((ROOT / "hatch_build.py").read_text(encoding="utf-8"), found.__file__, "exec"), vars(found))
        yield found


class Checkout:
    """A repository whose sources have one release."""

    def __init__(self, root: Path, release: str) -> None:
        self.root = root
        path = root / VERSION_PY
        path.parent.mkdir(parents=True)
        text = (ROOT / VERSION_PY).read_text(encoding="utf-8")
        path.write_text(text.replace(f'"{RELEASE}"', f'"{release}"'), encoding="utf-8")
        shutil.copy(str(ROOT / ".gitattributes"), str(root))
        self.git("init", "-q")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "one")
        self.commit = self.git("rev-parse", "HEAD")[:12]

    def git(self, *words: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]
        plain = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        done = subprocess.run(["git", *who, *words], cwd=str(self.root), env=plain, stdout=subprocess.PIPE, check=True)
        return done.stdout.decode().strip()


def running(root: Path) -> str:
    """The version that sources at `root` have when nobody built them."""
    code = "import runpy, sys; print(runpy.run_path(sys.argv[1])['of_checkout']())"
    return subprocess.check_output([sys.executable, "-c", code, str(root / VERSION_PY)]).decode().strip()


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path / "here", "0.3.0.dev0")


@git_is_there
def test_a_commit_between_releases_is_named_and_changes_are_told(build, checkout):
    named = f"0.3.0.dev0+g{checkout.commit}"
    assert build.version(checkout.root) == named
    assert running(checkout.root) == f"{named}.checkout"
    (checkout.root / "new.py").write_text("")
    assert build.version(checkout.root) == f"{named}.dirty"


@git_is_there
def test_a_release_is_its_number_only_at_its_tag_and_unchanged(build, tmp_path):
    checkout = Checkout(tmp_path / "here", "0.3.0")
    named = f"0.3.0+g{checkout.commit}"
    assert build.version(checkout.root) == named
    checkout.git("tag", "v0.3.0")
    assert build.version(checkout.root) == "0.3.0"
    (checkout.root / "new.py").write_text("")
    assert build.version(checkout.root) == f"{named}.dirty"


@git_is_there
@pytest.mark.parametrize("how", ["shallow", "work tree", "packed", "detached"])
def test_every_kind_of_checkout_names_its_commit(build, checkout, tmp_path, how):
    other = tmp_path / "other"
    if how == "shallow":
        checkout.git("clone", "-q", "--depth", "1", checkout.root.as_uri(), str(other))
    elif how == "work tree":
        checkout.git("worktree", "add", "-q", "-b", "side/branch", str(other))
    else:
        other = checkout.root
        checkout.git("pack-refs", "--all") if how == "packed" else checkout.git("checkout", "-q", "--detach")
    named = f"0.3.0.dev0+g{checkout.commit}"
    assert (build.version(other), running(other)) == (named, f"{named}.checkout")


@git_is_there
def test_an_archive_of_git_names_its_commit(build, checkout, tmp_path):
    checkout.git("archive", "--format=tar", "-o", str(tmp_path / "one.tar"), "HEAD")
    with tarfile.open(str(tmp_path / "one.tar")) as archive:
        archive.extractall(str(tmp_path / "other"))
    named = f"0.3.0.dev0+g{checkout.commit}"
    assert (build.version(tmp_path / "other"), running(tmp_path / "other")) == (named, named)


@pytest.mark.parametrize("left", [None, "gitdir: nowhere", "gitdir", ""])
def test_sources_without_a_history_say_that_it_is_unknown(build, tmp_path, left):
    path = tmp_path / VERSION_PY
    path.parent.mkdir(parents=True)
    shutil.copy(str(ROOT / VERSION_PY), str(path))
    if left is not None:
        (tmp_path / ".git").write_text(left)
    named = f"{RELEASE}+unknown"
    assert (build.version(tmp_path), running(tmp_path)) == (named, named)


def test_an_sdist_has_the_version_and_the_page_that_it_was_built_with(build, tmp_path, monkeypatch):
    monkeypatch.setenv("NPU_PROJECT_URL", "https://host/later")
    path = tmp_path / build.BUILT
    path.parent.mkdir(parents=True)
    path.write_text("VERSION = '0.3.0'\nURL = 'https://host/then'\n")
    assert (build.version(tmp_path), build.project_url(tmp_path)) == ("0.3.0", "https://host/then")


def test_no_import_of_the_package_runs_a_program():
    code = "import sys, npu_reference; print({'subprocess', 'importlib.metadata', 'pkg_resources'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code]).decode().strip() == "set()"


def test_the_link_of_a_readme_leads_to_the_repository_or_nowhere(build):
    text = "![a](docs/a.svg) [run](docs/run.md#x) [there](https://else.where/y)"
    there = "[there](https://else.where/y)"
    made = "![a](https://h/p/raw/v1/docs/a.svg) [run](https://h/p/blob/v1/docs/run.md#x) "
    assert build.readme(text, "https://h/p", "v1") == made + there
    assert build.readme(text, "", "v1") == f" run {there}"


@pytest.mark.parametrize("url", ["https://h/p", None])
def test_metadata_have_urls_where_somebody_named_the_repository(build, monkeypatch, url):
    monkeypatch.delenv("NPU_PROJECT_URL", raising=False)
    if url:
        monkeypatch.setenv("NPU_PROJECT_URL", f"{url}/")
    metadata = {}
    build.Metadata.update(SimpleNamespace(), metadata)
    links = re.findall(r"\]\(([^)]+)\)", metadata["readme"]["text"])
    assert not [one for one in links if not one.startswith(("https:", "#"))]
    assert metadata.get("urls", {}).get("Source") == url
