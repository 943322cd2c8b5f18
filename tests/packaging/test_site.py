"""The site has a page for all that it derives, and every link of a page leads to one."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from npu_conformance.library import inventory

pytestmark = pytest.mark.not_oldest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def build():
    spec = importlib.util.spec_from_file_location("site_build", str(ROOT / "docs" / "site" / "build.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    build.gather(folder)
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.md"))}


def test_every_page_is_in_the_table_of_contents(pages):
    listed = set()
    for name, text in pages.items():
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL):
            names = [line for line in tree.splitlines() if line and not line.startswith(":")]
            listed.update((Path(name).parent / f"{one}.md").as_posix() for one in names)
    assert listed == set(pages) - {"index.md"}


def test_every_requirement_and_error_has_its_place(pages):
    from npu_reference.errors import CATALOGUE

    headings = {
        line[3:] for name, text in pages.items() if name.startswith("requirements/") for line in text.splitlines()
        if line.startswith("## ")
    }  # fmt: skip
    assert headings == set(inventory.load())
    assert all(f"| `{code}` |" in pages["errors.md"] for code in CATALOGUE)


def test_a_link_to_nowhere_is_refused_and_files_of_the_repository_lose_theirs(build):
    with pytest.raises(SystemExit, match=r"nowhere\.md"):
        build._linked("see [that](nowhere.md)", ROOT / "docs")
    assert build._linked("see [example](../examples/iterations.py).", ROOT / "docs") == "see example."
    assert build._linked("see [run](docs/run.md#x)", ROOT) == "see [run](run.md#x)"


def test_what_a_requirement_says_is_text_and_no_markup(build):
    assert build._escaped("a <b> [c](d) `e_<f>` *g*") == r"a \<b\> \[c\](d) `e_<f>` \*g\*"
