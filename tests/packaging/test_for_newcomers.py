"""What a newcomer is told stays true: files that guides name, environments and versions that are written twice."""

from __future__ import annotations

import ast
import configparser
import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from npu_conformance.cli import cli
from tests.packaging import prose

pytestmark = pytest.mark.not_oldest

ROOT = Path(__file__).resolve().parents[2]
_ROOMS = "impl|conformance|fixtures|golden|tests|docs|benchmarks|constraints|examples"
#: Files and folders between backticks, and files of a command or a sentence.
PATHS = re.compile(rf"`((?:{_ROOMS})/[\w./-]*)`|(?<![\w/.-])((?:{_ROOMS})/[\w./-]+\.(?:py|md|toml|txt|csv|json|cpp))\b")


#: Limits of what is written by hand: words of all pages but the readings, of which one looks up a row at a time; words
#: of the readings; words of the longest sentence, and of the average one of a page.
WORDS, READINGS, LONGEST, AVERAGE = 43_800, 9_700, 40, 25


@pytest.mark.parametrize("page", prose.every_page())
def test_every_file_and_heading_a_page_names_is_there(page):
    path = ROOT / page
    text = path.read_text(encoding="utf-8")
    paths = [one or other for one, other in PATHS.findall(text)]
    named = [ROOT / one.split("<")[0] for one in paths if not re.search(r"[*…]|\.\.\.", one)]
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([\w-]*))?\)", text)
    targets = [((path.parent / one).resolve() if one else path, anchor) for one, anchor in links]
    assert [one for one in [*named, *(one for one, _ in targets)] if not one.exists()] == []
    assert [(one.name, anchor) for one, anchor in targets if anchor and anchor not in headings(one)] == []


def headings(path):
    """Anchors that a page's headings have on GitHub."""
    titles = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", prose.pages())
def test_sentences_of_a_page_are_short(page):
    found = list(prose.sentences(page))
    longest = max(found, key=lambda one: one.words)
    assert longest.words <= LONGEST, longest
    told = [one.words for one in found if not one.in_table]
    assert sum(told) / len(told) <= AVERAGE


def test_what_is_written_by_hand_can_be_read_by_one_person():
    words = {page: len(prose.by_hand(page).split()) for page in prose.pages()}
    assert words.pop("docs/readings.md") <= READINGS
    assert sum(words.values()) <= WORDS
    assert len(prose.by_hand("README.md").split()) < 700


def test_an_entry_of_the_changelog_has_at_most_twenty_words():
    entries = re.findall(r"^- (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(entries) > 50 and [one for one in entries if len(one.split()) > 20] == []


def forms():
    """Every call of npu-conformance in a block of commands: page and words, without comments and the shell's own."""
    for page in prose.pages():
        text = (ROOT / page).read_text(encoding="utf-8")
        for block in re.findall(r"(?ms)^```sh\n(.*?)^```", text):
            for line in re.findall(r"\bnpu-conformance ([^\n]*)", re.sub(r"\\\n", " ", block)):
                words = shlex.split(line, comments=True)
                ends = [number for number, word in enumerate(words) if word in ("&&", "|", ">", "||", ";")]
                yield page, words[: ends[0]] if ends else words


@pytest.mark.parametrize(("page", "words"), list(forms()))
def test_every_command_of_a_page_has_options_that_exist(page, words):
    command, rest = cli.commands[words[0]], words[1:]
    while hasattr(command, "commands"):
        command, rest = command.commands[rest[0]], rest[1:]
    with command.context_class(command, info_name=words[0]) as context:
        command.make_parser(context).parse_args(args=list(rest))


def messages():
    """Every text of the sources that is no docstring, but for programs that write pages; and the help of commands."""
    for path in [*(ROOT / "impl").rglob("*.py"), *(ROOT / "conformance").rglob("*.py")]:
        if not path.name.endswith("page.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and node not in docstrings)
            yield from (str(node.value) for node in texts)
    for command in cli.commands.values():
        for one in (command, *getattr(command, "commands", {}).values()):
            with click.Context(one) as context:
                yield " ".join(one.get_help(context).split())


def test_every_page_that_a_message_points_to_comes_with_the_package():
    told = list(messages())
    assert [text for text in told if re.search(r"\bdocs/[\w.-]+\.md", text)] == []
    named = {name for text in told for name in re.findall(r"npu-conformance docs (?!npu-c)([a-z][\w.-]*\w)", text)}
    assert {"device", "runtime", "numerics", "npu_bridge"} <= named
    assert [name for name in named if not (ROOT / "docs" / f"{name}.md").exists()] == []


def test_a_page_is_printed_whole_and_without_a_name_all_are_listed():
    run = CliRunner()
    listed = run.invoke(cli, ["docs"], standalone_mode=False).output.splitlines()
    assert [line.split()[0] for line in listed] == sorted(path.stem for path in (ROOT / "docs").glob("*.md"))
    device = (ROOT / "docs" / "device.md").read_text(encoding="utf-8")
    assert run.invoke(cli, ["docs", "device"], standalone_mode=False).output.strip() == device.strip()
    refused = run.invoke(cli, ["docs", "devise"], standalone_mode=False).exception
    assert "Did you mean device?" in str(refused)


def test_every_command_contributing_names_exists():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`npu-conformance ([\w-]+)", text)) <= set(cli.commands)
    bases = {"npu_reference": "impl", "npu_conformance": "conformance"}
    modules = [one for one in re.findall(r"`python -m ([\w.]+)[ `]", text) if one != "pytest"]
    assert modules
    for module in modules:
        assert (ROOT / bases.get(module.split(".")[0], "") / (module.replace(".", "/") + ".py")).exists()


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
