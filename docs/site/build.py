"""Builds the site: ``python docs/site/build.py OUT``. Any warning, such as a link to nowhere, is an error.

The pages of ``docs/`` are taken as they are; beside them stand pages made from declarations: commands, error codes,
requirements with the cases that see them, schemas of answers. Needs sphinx, myst-parser, furo and sphinx-click.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping

from npu_conformance.backends.mutants import registry
from npu_conformance.files import resources
from npu_conformance.library import library
from npu_reference.errors import CATALOGUE
from npu_reference.printing import printable

SITE = Path(__file__).resolve().parent
DOCS = SITE.parent
ROOT = DOCS.parent

#: Pages of the repository's root, by the name they have on the site.
_OF_ROOT = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)\s]+)\)")


def main(arguments: List[str]) -> int:
    """Build the site into the folder named; returns Sphinx's status."""
    from sphinx.cmd.build import main as sphinx

    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: python docs/site/build.py OUT", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        gather(Path(folder))
        return sphinx(["-q", "-W", "--keep-going", "-b", "dirhtml", "-c", str(SITE), folder, arguments[0]])


def gather(folder: Path) -> None:
    """Put every page of the site into `folder`."""
    for page in sorted(DOCS.glob("*.md")):
        _write(folder / page.name, _linked(page.read_text(encoding="utf-8"), DOCS))
    for picture in sorted(DOCS.glob("*.svg")):
        shutil.copy(picture, folder / picture.name)
    for name, source in _OF_ROOT.items():
        _write(folder / name, _linked((ROOT / source).read_text(encoding="utf-8"), ROOT))
    _write(folder / "index.md", (SITE / "index.md").read_text(encoding="utf-8"))
    for name, text in derived():
        _write(folder / name, text)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _linked(text: str, folder: Path) -> str:
    """The text with links as the site has them: to its own pages; files of the repository are named without a link.

    Raises:
        SystemExit: for a link to a file that is not there.
    """

    def one(match: Any) -> str:
        path, hash_, anchor = match.group(1).partition("#")
        target = (folder / path).resolve()
        if not target.exists():
            raise SystemExit(f"a link names {path}, which is not there")
        if target.parent == DOCS and target.suffix in (".md", ".svg"):
            return f"]({target.name}{hash_}{anchor})"
        for name, source in _OF_ROOT.items():
            if target == ROOT / source:
                return f"]({name}{hash_}{anchor})"
        return "]{.file}"

    linked = _LINK.sub(one, text)
    return re.sub(r"\[([^\]\[]*)\]\{\.file\}", r"\1", linked)


def derived() -> Iterator[Any]:
    """Name and text of every page that is made from declarations."""
    yield "commands.md", _commands()
    yield "errors.md", _errors()
    yield from _requirements()
    yield from _schemas()


def _commands() -> str:
    return "\n".join(
        [
            "# Commands",
            "",
            "```{eval-rst}",
            ".. click:: npu_conformance.cli:cli",
            "   :prog: npu-conformance",
            "   :nested: full",
            "```",
            "",
        ]
    )


def _errors() -> str:
    rows = [f"| `{kind.code}` | {kind.meaning} | {kind.exit_status} |" for kind in CATALOGUE.values()]
    head = (
        "# Error codes\n\nAn error is one line: `error[CODE] where: what is wrong. What would be right.` "
        "`npu-conformance explain CODE` prints one.\n\n| code | meaning | exit status |\n|---|---|---|\n"
    )
    return head + "\n".join(rows) + "\n"


def _requirements() -> Iterator[Any]:
    """A page for each group of requirements, with the cases and mutants of each."""
    found = library.load()
    cases: Dict[str, List[str]] = {}
    for case in found.cases.values():
        for requirement in case.requirements:
            cases.setdefault(requirement, []).append(case.id)
    mutants: Dict[str, List[str]] = {}
    for name, mutant in registry().items():
        mutants.setdefault(mutant.requirement, []).append(name)
    groups: Dict[str, List[Any]] = {}
    for one in found.requirements.values():
        groups.setdefault(one.id.split(".")[0], []).append(one)
    index = [
        "# Requirements",
        "",
        "What the five documents demand, in words of this project, each with the cases that see it and the",
        "mutants that must die by them. `npu-conformance explain REQUIREMENT` prints one, `run -k CASE` runs a case.",
        "",
        "| group | requirements |",
        "|---|---|",
        *(f"| [{name}]({name}.md) | {len(group)} |" for name, group in groups.items()),
        "",
        "```{toctree}",
        ":hidden:",
        *groups,
        "```",
        "",
    ]
    yield "requirements/index.md", "\n".join(index)
    for name, group in groups.items():
        lines = [f"# Requirements `{name}.*`", ""]
        for one in group:
            lines += _requirement(one, cases.get(one.id, []), mutants.get(one.id, []))
        yield f"requirements/{name}.md", "\n".join(lines)


def _requirement(one: Any, cases: List[str], mutants: List[str]) -> Iterator[str]:
    yield f"## {one.id}"
    yield ""
    yield _escaped(one.statement)
    yield ""
    yield f"- document {one.document}, {_escaped(one.anchor)}; {one.edition} edition; {one.level}, {one.kind}"
    yield f"- seen in {one.observable}: {_escaped(one.check)}"
    if one.negative:
        yield f"- refused: {_escaped(one.negative)}"
    if one.readings:
        yield f"- readings: {', '.join(one.readings)}"
    if one.excused:
        yield f"- no case, since {_escaped(one.excused)}"
    for label, names in (("cases", cases), ("mutants", mutants)):
        if names:
            yield f"- {label}: {_listed(sorted(names))}"
    yield ""


_SHOWN = 8  # names of cases or mutants before the rest is counted


def _listed(names: List[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(f"`{name}`" for name in names[:_SHOWN]) + more


def _escaped(text: str) -> str:
    """A sentence as text of a page: what it says is no markup, but for code between backticks."""
    parts = printable(" ".join(text.split())).split("`")
    for number in range(0, len(parts), 2):
        parts[number] = re.sub(r"([\\*_\[\]{}|<>$~#])", r"\\\1", parts[number])
    return "`".join(parts) if len(parts) % 2 else html.escape(" ".join(parts))


def _schemas() -> Iterator[Any]:
    """A page for each schema: members in a table, then the schema itself."""
    names = sorted(path.stem for path in Path(resources.schemas()).glob("*.json"))
    index = [
        "# Schemas of answers", "",
        "Every JSON that a command or a worker writes follows one of these. They only grow within a major version.", "",
        "```{toctree}", *names, "```", "",
    ]  # fmt: skip
    yield "schemas/index.md", "\n".join(index)
    for name in names:
        schema = json.loads((Path(resources.schemas()) / f"{name}.json").read_text(encoding="utf-8"))
        members = [_member(key, value, schema) for key, value in schema.get("properties", {}).items()]
        table = ["| member | type | |", "|---|---|---|", *members, ""] if members else []
        text = json.dumps(schema, indent=2, ensure_ascii=False)
        head = [f"# {name}", "", _escaped(schema.get("title", "")), ""]
        yield f"schemas/{name}.md", "\n".join([*head, *table, "```json", text, "```", ""])


def _member(key: str, value: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    kind = value.get("type", value.get("$ref", "any of" if "anyOf" in value else "any"))
    kind = ", ".join(kind) if isinstance(kind, list) else str(kind)
    always = "; always there" if key in schema.get("required", []) else ""
    return f"| `{key}` | {_escaped(kind)} | {_escaped(value.get('description', ''))}{always} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
