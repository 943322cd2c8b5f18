"""The guides say what the program does: their tables and examples are checked against it."""

from __future__ import annotations

import os
import re
import shlex
from typing import Any, Iterator

import pytest

from npu_conformance.backends import reference
from npu_conformance.cli import cli
from npu_conformance.judging import judge, known_failures
from npu_conformance.protocol import client
from npu_conformance.protocol import messages as protocol
from npu_reference.errors import CATALOGUE, NpuError
from npu_reference.graphs import load_graph
from tests.cases.corpus import corpus
from tests.conformance.shelves import Shelf

pytestmark = pytest.mark.not_oldest

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")


def guide(name: str) -> str:
    with open(os.path.join(DOCS, name), encoding="utf-8") as stream:
        return stream.read()


def test_the_codes_a_backend_may_refuse_with_are_those_of_the_catalogue() -> None:
    table = guide("write-a-backend.md").split("<!-- codes -->")[1].split("<!-- /codes -->")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE))
    ours = (
        "TENSORFLOW_", "ADAPTER_NAME", "USAGE", "CASE_FILE", "BACKEND_", "PROTOCOL", "DUMP_FILE", "INSPECT_FOLDER",
        "OUTPUT", "SYSTEM", "INTERNAL",
    )  # fmt: skip
    assert rows == {kind.code: kind.meaning for kind in CATALOGUE.values() if not kind.code.startswith(ours)}


def test_every_method_of_the_protocol_is_in_the_guide() -> None:
    section = guide("write-a-backend.md").split("## Methods")[1].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == list(protocol.methods())


def test_every_parameter_and_member_of_a_method_is_in_the_guide() -> None:
    section = guide("write-a-backend.md").split("## Methods")[1].split("\n## ")[0]
    for method, declared in protocol.methods().items():
        row = next(line for line in section.splitlines() if line.startswith(f"| `{method}` |"))
        for name in declared["params"].get("properties", {}):
            assert f"`{name}" in row, (method, name)


def test_every_feature_the_reference_claims_or_a_case_needs_is_in_the_guide() -> None:
    named = set(re.findall(r"`([\w.]+)`", guide("write-a-backend.md").split("## What to claim")[1].split("\n## ")[0]))
    claimed = set(reference.ReferenceBackend().hello({})["capabilities"]["features"])
    needed = {feature for case in corpus().cases.values() for feature in case.needs}
    assert (claimed | needed) - named == set()


#: Parameters whose values are words of a fixed list; names, paths and sizes are the case's own.
WORDS = {"surface", "edition", "flavour", "policy", "device_precision", "kind", "how", "ends", "tell"}


def words_of(params: Any) -> Iterator[str]:
    """Every word that a request has for a parameter of WORDS."""
    for name, value in params.items() if isinstance(params, dict) else ():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if name in WORDS and isinstance(one, str):
                yield one
            elif name not in ("values", "env", "files", "feeds"):
                yield from words_of(one)


def test_every_word_and_mark_that_a_question_can_hold_is_in_the_guide() -> None:
    table = guide("write-a-backend.md").split("<!-- words -->")[1].split("<!-- /words -->")[0]
    named = set(re.findall(r"`(\w+)`", table))
    cases = list(corpus().cases.values())
    asked = {word for case in cases for word in words_of(case.params)}
    assert len(asked) > 15 and asked - named == set()
    paths = {case.params["graph"] for case in cases if isinstance(case.params.get("graph"), str)}
    marks = {name for path in sorted(paths) for name in marks_of(path)}
    assert "_without_npu_compile" in marks and marks - named == set()


def marks_of(path: str) -> Iterator[str]:
    """Attributes of the nodes of a graph file, those in functions too, that begin with `_`; none of a broken file."""
    try:
        graph = load_graph(path)
    except NpuError:
        return
    yield from (name for node in graph.nodes for name in node.attrs if name.startswith("_"))
    for function in graph.functions.values():
        yield from (name for node in function.proto.node_def for name in node.attr if name.startswith("_"))


def test_every_status_is_explained_in_the_guide() -> None:
    table = guide("run.md").split("## What a status means")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `([a-z-]+)` \| (.*?) \|", table, re.MULTILINE)
    assert [(name, meaning.replace("`", "")) for name, meaning in rows] == list(judge.MEANINGS.items())


def test_every_option_of_run_is_in_the_guide() -> None:
    text = guide("run.md")
    for parameter in cli.commands["run"].params:
        assert any(option in text for option in parameter.opts), parameter.opts


def test_every_command_line_of_the_guides_can_be_parsed() -> None:
    text = guide("run.md") + guide("write-a-backend.md")
    lines = re.findall(r"^\|? ?`?(npu-conformance [^`#|\n]*)", text, re.MULTILINE)
    assert len(lines) >= 7
    for line in lines:
        words = shlex.split(line)[1:]
        command = cli.commands[words[0]]
        command.make_context(words[0], words[1:])


def test_the_known_failures_of_the_guide_load(shelf: Shelf) -> None:
    text = re.findall(r"```toml\n(\[\[known\]\].*?)```", guide("run.md"), re.DOTALL)[0]
    text = re.sub(r'id = "[^"]*"', 'id = "small-partition@*"', text)
    entry = known_failures.load(shelf.write("known.toml", text), shelf.load().instances())[0]
    assert entry.outcome in known_failures.OUTCOMES


def test_the_variables_a_worker_sees_are_those_the_guide_names() -> None:
    named = guide("write-a-backend.md").split("Of our environment it sees")[1].split("hands on more")[0]
    for name in client.environment():
        short = "TF_*" if name.startswith("TF_") else "the locale" if name.startswith(("LANG", "LC_")) else name
        assert short in named or name in ("PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "VIRTUAL_ENV", "SYSTEMROOT")


def test_every_code_and_status_that_the_help_by_message_names_is_one() -> None:
    named = set(re.findall(r"^\| (.*?) \|", guide("troubleshooting.md"), re.MULTILINE))
    words = {word for cell in named for word in re.findall(r"`([A-Z_]{5,}|[a-z-]+)`", cell)}
    assert len(words) > 12
    assert words - {*CATALOGUE, *judge.ORDER, *cli.commands} == {"tensorflow"}


def test_the_areas_of_the_glossary_are_those_of_the_cases() -> None:
    row = next(line for line in guide("glossary.md").splitlines() if line.startswith("| area |"))
    assert set(re.findall(r"`(\w+)`", row)) == {case.area for case in corpus().cases.values()}
