"""CONTRIBUTING.md names the files that each kind of addition needs, no more and no fewer: each is made by its table.

`additions.toml` holds one small addition for each table. By day its edits are held against the table, and what works
without the commands is tried in a copy of the checkout. At night the commands run there, too, with the tests that hold
lists near the addition.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence

import pytest

from npu_conformance.files import toml_file
from tests.depth import at_night

pytestmark = pytest.mark.not_oldest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
#: Most files by hand that an option may need.
MOST = 6

Addition = Dict[str, Any]
ADDITIONS: List[Addition] = toml_file.load(str(Path(__file__).with_name("additions.toml")))["addition"]


def named(addition: Addition) -> str:
    return addition["section"].replace(" ", "-")


every_addition = pytest.mark.parametrize("addition", ADDITIONS, ids=named)

#: Of which it is tried for every change that the files by hand are enough to work.
BY_DAY = ("Add an option", "Add a lint rule")

#: What users give to the commands that are asked.
GIVEN = {
    "new.cfg": "loss = last\n",
    "new.py": "from npu_bridge.npu_init import *\n\n\ndef forever():\n    pass\n",
    "new.pbtxt": """node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "new" op: "BesselI0" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "end" op: "Relu" input: "new" attr { key: "T" value { type: DT_FLOAT } } }
""",
    "distrusted.pbtxt": """node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "middle" op: "Betainc" input: ["x", "x", "x"] attr { key: "T" value { type: DT_FLOAT } } }
""",
}


class Edit(NamedTuple):
    path: str
    text: str
    before: Optional[str] = None


#: An entry of the inventory. Document 003 and the files that it describes are of the current edition.
REQUIREMENT = """
[[requirement]]
id = "{id}"
document = "{document}"
anchor = "§ {option}"
edition = "{edition}"
surface = "{surface}"
kind = "{kind}"
level = "{level}"
observable = "config"
statement = "{statement}"
check = "Give it, and read it back."
negative = "anything else"
"""


def edits(addition: Addition) -> Iterator[Edit]:
    for one in addition["edit"]:
        yield Edit(**one)
    for name, (level, statement) in addition.get("requirement", {}).items():
        surface, option, word = name.split(".")
        text = REQUIREMENT.format(
            id=name,
            document="002" if surface == "session" else "003",
            option=option,
            edition="legacy" if surface == "session" else "current",
            surface=surface,
            kind={"scope": "note", "grammar": "domain"}.get(word, word),
            level=level,
            statement=statement,
        )
        yield Edit(f"conformance/npu_conformance/requirements/{surface}.toml", text, "")


def cells(section: str) -> List[str]:
    """The second cell of each row of a section's first table."""
    text = PAGE.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    assert text, f"CONTRIBUTING.md has no section {section!r}"
    return [row.split("|")[2] for row in re.findall(r"^\|.*\|$", text, re.MULTILINE)[2:]]


def by_hand(section: str) -> List[str]:
    """Files that the table of a section names; a folder stands for one file in it."""
    return [name for cell in cells(section) for name in re.findall(r"`([\w./<>-]+)`", cell)]


def commands(section: str) -> List[str]:
    """Modules that the table of a section runs, and what stands behind them."""
    found: List[str] = []
    for cell in cells(section):
        found += commands("Add an option") if "commands of an option" in cell else []
        found += re.findall(r"`python -m ([^`]+)`", cell)
    return found


def matches(name: str, path: str) -> bool:
    """Whether a file is the one that the table names, or one in the folder that it names."""
    pattern = re.sub(r"<\w+>", "[^/]+", name.replace(".", r"\."))
    return bool(re.fullmatch(pattern + ("[^/]+" if name.endswith("/") else ""), path))


@pytest.fixture
def checkout() -> Iterator[Path]:
    """A copy of the files that git tracks, and what a user gives to commands."""
    if not (ROOT / ".git").exists():
        pytest.skip("an unpacked archive: what belongs to it, only git knows")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=str(ROOT), stdout=subprocess.PIPE, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        for name in filter(None, listed.decode("utf-8").split("\0")):
            if (ROOT / name).is_file():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(str(ROOT / name), str(path))
        for name, text in GIVEN.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        yield Path(folder)


def place(edit: Edit, root: Path) -> Path:
    """The file of an edit; of a folder the one in which the place stands."""
    if not edit.path.endswith("/"):
        return root / edit.path
    texts = {path: path.read_text(encoding="utf-8") for path in sorted((root / edit.path).glob("*.py"))}
    (found,) = (path for path, text in texts.items() if edit.before and edit.before in text)
    return found


def changed(edit: Edit, path: Path) -> str:
    """The text of a file after an edit."""
    if edit.before is None:
        assert not path.exists()
        return edit.text
    text = path.read_text(encoding="utf-8")
    if not edit.before:
        return text + edit.text
    assert text.count(edit.before) == 1, f"{edit.path} has not one {edit.before!r}"
    return text.replace(edit.before, edit.text + edit.before)


def add(addition: Addition, root: Path) -> None:
    for edit in edits(addition):
        path = place(edit, root)
        text = changed(edit, path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def run(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A module of the copy."""
    kept: Dict[str, str] = {name: value for name, value in os.environ.items() if not name.startswith("NPU_TESTS_")}
    found = os.pathsep.join([str(root / "impl"), str(root / "conformance"), str(root)])
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=str(root),
        env={**kept, "PYTHONPATH": found},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def passes(root: Path, words: Sequence[str]) -> None:
    answer = run(root, *words)
    assert answer.returncode == 0, answer.stdout[-4000:]


@every_addition
def test_the_files_written_by_hand_are_those_of_the_table(addition):
    names = by_hand(addition["section"])
    edited = {place(edit, ROOT).relative_to(ROOT).as_posix() for edit in edits(addition)}
    assert [path for path in edited if sum(matches(name, path) for name in names) != 1] == []
    assert [name for name in names if sum(matches(name, path) for path in edited) != 1] == []


def test_an_option_needs_few_files():
    assert len(by_hand("Add an option")) <= MOST


@every_addition
def test_every_file_and_command_of_a_table_is_there(addition):
    for name in by_hand(addition["section"]):
        assert (ROOT / name.partition("<")[0]).exists(), name
    for words in commands(addition["section"]):
        module = words.split()[0].replace(".", "/") + ".py"
        assert any((ROOT / base / module).is_file() for base in ("impl", "conformance", "")), module


@pytest.mark.parametrize(
    "addition", [one if one["section"] in BY_DAY else at_night(one) for one in ADDITIONS if "ask" in one], ids=named
)
def test_what_is_added_works_at_once(addition, checkout):
    add(addition, checkout)
    for ask in addition["ask"]:
        answer = run(checkout, "npu_conformance", *ask["words"])
        assert answer.returncode == ask.get("status", 0) and ask["told"] in answer.stdout, answer.stdout[-4000:]


@pytest.mark.nightly
@every_addition
def test_the_commands_write_the_rest_and_the_tests_near_it_pass(addition, checkout):
    add(addition, checkout)
    for words in commands(addition["section"]):
        module, *rest = words.split()
        passes(checkout, [module, *(addition["requirement"] if rest == ["ID"] else rest)])
    if addition["judged"]:
        passes(checkout, ["npu_conformance", "run", "--area", addition["judged"], "-k", "new", "--out", "out"])
    passes(checkout, ["pytest", "-q", "-n0", "-p", "no:cacheprovider", *addition["tests"]])
