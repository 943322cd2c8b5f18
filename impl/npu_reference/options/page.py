"""The reference page of every option, made from the table: ``python -m npu_reference.options.page`` writes it."""

from __future__ import annotations

import importlib
import sys
from typing import Iterator, List, Mapping, Sequence, Tuple

from npu_reference.derived_page import write_page
from npu_reference.options.classes import CLASSES
from npu_reference.options.declaration import EDITIONS, SAME, STATUSES, SURFACES, Facet, Option
from npu_reference.options.domains import Text
from npu_reference.options.fields import FIELD_TYPES
from npu_reference.options.outcome import ORIGINS, WARNING_CODES
from npu_reference.options.rules import RULES, Rule
from npu_reference.options.table import OPTIONS

__all__ = ["described", "main", "page"]

_HEAD = """# Options

Every option of the adapter, on both surfaces and in both editions. This page is made from the option table by
`python -m npu_reference.options.page`; change the table, not the page.

**Session** is the parameter map of the custom optimizer `NpuOptimizer`; the letter is the field a value is written to:
`.b`, `.i` or `.s`. **RunConfig** is the constructor of `NPURunConfig`. **Legacy** is what documents 001, 002 and 004
describe, **current** documents 000 and 003. *T* is training (`graph_run_mode` 1), *I* online inference (0); outside of
it there is a warning, and where it says *alone* the option is ignored, since it means nothing there (G13). Letters and
numbers such as `A17` are rows of [readings](readings.md); `npu-conformance explain A17` prints one.

**Visible in** says where an option can be seen at work, each with a case that shows it: `npu-conformance run -k CASE`.

`npu-conformance options --surface runconfig hccl_timeout=600` shows what values mean, and where each comes from.
"""


#: By option, what is seen of it and the case that shows that.
Shown = Mapping[str, Sequence[Tuple[str, str]]]


def page(shown: Shown) -> str:
    """The whole page as Markdown."""
    parts = [_HEAD, *_contents(), *_topics(shown), *_rules(), *_classes(), *_words()]
    return "\n".join(parts).rstrip() + "\n"


def _grouped() -> List[Tuple[str, List[Option]]]:
    groups: List[Tuple[str, List[Option]]] = []
    for option in OPTIONS.values():
        if not groups or groups[-1][0] != option.topic:
            groups.append((option.topic, []))
        groups[-1][1].append(option)
    return groups


def _contents() -> Iterator[str]:
    yield "## All options\n"
    for topic, options in _grouped():
        links = ", ".join(f"[{option.name}](#{option.name.lower()})" for option in options)
        yield f"- **{topic}**: {links}"
    yield ""


def _topics(shown: Shown) -> Iterator[str]:
    for topic, options in _grouped():
        yield f"## {topic}\n"
        for option in options:
            yield from _option(option, shown.get(option.name, ()))


def _option(option: Option, shown: Sequence[Tuple[str, str]]) -> Iterator[str]:
    yield f"### {option.name}\n"
    unit = f" Unit: {option.unit}." if option.unit else ""
    yield f"{option.meaning}{unit}\n"
    yield "| surface | edition | type | allowed | default | for | status | source |"
    yield "|---|---|---|---|---|---|---|---|"
    for surface in SURFACES:
        legacy, current = (option.facet(surface, edition) for edition in EDITIONS)
        if legacy is not None and legacy == current:
            yield _row((surface, "both", *_cells(surface, legacy)))
            continue
        for edition, facet in zip(EDITIONS, (legacy, current)):
            if facet is not None:
                yield _row((surface, edition, *_cells(surface, facet)))
    yield ""
    for example in sorted({f.domain.example for f in option.facets.values() if isinstance(f.domain, Text)} - {""}):
        yield f"Example: `{example}`\n"
    rules = [rule for rule in RULES if option.name in rule.triggers]
    for rule in rules:
        yield f"- {rule.meaning} (`{rule.name}`{_where(rule)})"
    if rules:
        yield ""
    readings = f"Readings: {', '.join(option.readings)}." if option.readings else ""
    for advice in option.advice:
        only = f", {advice.editions[0]} only" if len(advice.editions) == 1 else ""
        yield f"- Note: {advice.text} (`{advice.requirement}`{only})"
    if option.advice:
        yield ""
    visible = ", ".join(f"{what} (`{case}`)" for what, case in shown)
    yield (f"Visible in {visible}." if visible else "No case shows it.") + "\n"
    requirements = ", ".join(f"`{name}`" for name in option.requirements)
    yield " ".join(filter(None, (f"Requirements: {requirements}." if requirements else "", readings))) + "\n"


def described(option: Option) -> Iterator[Tuple[str, str]]:
    """An option as label and text: its meaning, what it is where, the rules it sets off, what the documents say."""
    unit = f" Unit: {option.unit}." if option.unit else ""
    yield "Meaning", option.meaning + unit
    for (surface, edition), facet in option.facets.items():
        kind, allowed, default, applies, status, source = _cells(surface, facet)
        text = f"{kind}; allowed: {allowed}; default: {default}; for {applies}; {status}; {source}"
        yield f"{surface}, {edition}", text.replace("`", "")
    examples = sorted({f.domain.example for f in option.facets.values() if isinstance(f.domain, Text)} - {""})
    if examples:
        yield "Example", "  ".join(examples)
    for rule in RULES:
        if option.name in rule.triggers:
            yield f"Rule {rule.name}", rule.meaning + (f" ({_where(rule)[2:]})" if _where(rule) else "")
    for advice in option.advice:
        yield f"Note {advice.requirement}", advice.text


def _cells(surface: str, facet: Facet) -> Sequence[str]:
    kind = FIELD_TYPES[facet.field]
    default = _value(facet.default)
    if facet.default_inference is not SAME:
        default = f"{default} (T), {_value(facet.default_inference)} (I)"
    applies = " and ".join(facet.applies) + (" alone" if facet.bound else "")
    typed = kind if surface == "runconfig" or facet.field == "o" else f"{kind}, `.{facet.field}`"
    if facet.earlier:
        typed += f", also {FIELD_TYPES[facet.earlier]} (G27)"
    return typed, facet.domain.describe(), default, applies, facet.status, facet.source


def _value(value: object) -> str:
    return "not set" if value is None else f"`{value}`"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _where(rule: Rule) -> str:
    parts = [part[0] for part in (rule.editions, rule.surfaces) if len(part) == 1]
    return f"; {' '.join(parts)} only" if parts else ""


def _rules() -> Iterator[str]:
    yield "## Rules between options\n"
    yield "In the order in which they are applied. A refused option falls back to its default.\n"
    yield "| rule | says | looks at |"
    yield "|---|---|---|"
    for rule in RULES:
        looks = ", ".join("everything" if trigger == "*" else trigger for trigger in rule.triggers)
        yield _row((f"`{rule.name}`{_where(rule)}", rule.meaning, looks))
    yield ""


def _classes() -> Iterator[str]:
    yield "## Configuration classes\n"
    for name, arguments in CLASSES.items():
        yield f"### {name}\n"
        yield "| argument | type | allowed | default | stands for |"
        yield "|---|---|---|---|---|"
        for argument in arguments:
            facet = argument.its_facet()
            cells = FIELD_TYPES[facet.field], facet.domain.describe(), _value(argument.default), argument.option
            yield _row((argument.name, *cells))
        yield ""


def _words() -> Iterator[str]:
    for title, words in (("Status", STATUSES), ("Origins", ORIGINS), ("Warnings", WARNING_CODES)):
        yield f"## {title}\n"
        for word, meaning in words.items():
            yield f"- **{word}**: {meaning}"
        yield ""


def main(arguments: Sequence[str]) -> int:
    """Write the page; returns the exit status."""

    def make(_: str) -> str:
        # The cases are the suite's, which stands above this package and knows it.
        shown: Shown = importlib.import_module("npu_conformance.library.shown").shown()
        return page(shown)

    return write_page(arguments, "npu_reference.options.page", "docs/options.md", make)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
