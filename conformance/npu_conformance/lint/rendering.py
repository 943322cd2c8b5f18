"""How findings are shown: as lines, as JSON, as GitHub's annotations, as SARIF 2.1.0."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Sequence, Tuple

import npu_reference
from npu_conformance.files.annotations import annotation
from npu_conformance.lint.finding import DEFECT, SEVERITIES, Finding
from npu_conformance.lint.registry import Rule, anchor
from npu_reference.printing import printable

__all__ = ["explained", "github", "listed", "markdown", "sarif", "statistics", "text"]

#: GitHub's word for each severity.
_GITHUB = {"error": "error", "warning": "warning", "suggestion": "notice", "hint": "notice"}

#: SARIF's word for each severity.
_SARIF = {"error": "error", "warning": "warning", "suggestion": "note", "hint": "note"}

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def text(findings: Sequence[Finding]) -> str:
    """One finding a line; ``[*]`` behind the code says that ``--fix`` mends it, ``[!]`` that an unsafe fix does."""
    return "\n".join(_line(one) for one in findings)


def _line(one: Finding) -> str:
    mark = (" [!]" if one.unsafe else " [*]") if one.fixable else ""
    return printable(f"{one.place} {one.code}{mark} {'hint: ' if one.hint else ''}{one.message}")


def github(findings: Sequence[Finding]) -> str:
    """Workflow commands, which GitHub shows beside the lines of a change."""
    return "\n".join(
        annotation(_GITHUB[one.severity], _message(one), one.code, printable(one.path), *_file_place(one))
        for one in findings
    )


def _message(one: Finding) -> str:
    """The message for who shows it beside the lines of the file, which are not those of a notebook's cells."""
    where = f"cell {one.cell}, line {one.line}: " if one.cell else ""
    return where + printable(one.message)


def _file_place(one: Finding) -> Tuple[int, int]:
    return (one.file_line, 1) if one.cell else (one.line, one.column)


def sarif(findings: Sequence[Finding], rules: Sequence[Rule], docs: str = "") -> str:
    """One run of a static analysis, for tools that gather such results.

    Args:
        docs: address of the page of rules, to which every rule then links; the help of a rule is in the run without it.
    """
    index = {rule.code: number for number, rule in enumerate(rules)}
    run = {
        "tool": {
            "driver": {
                "name": "npu-conformance lint",
                "version": npu_reference.__version__,
                "rules": [_sarif_rule(rule, docs) for rule in rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(one, index) for one in findings],
    }
    defects = [one for one in findings if one.code == DEFECT]
    if defects:
        notes = [{"level": "error", "message": {"text": f"{printable(one.path)}: {one.message}"}} for one in defects]
        run["invocations"] = [{"executionSuccessful": False, "toolExecutionNotifications": notes}]
    return json.dumps({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1, sort_keys=True)


def _sarif_rule(rule: Rule, docs: str) -> Dict[str, Any]:
    entry: Dict[str, Any] = {
        "id": rule.code,
        "name": "".join(part.capitalize() for part in rule.name.split("-")),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.text or rule.summary},
        "help": {"text": explained(rule), "markdown": markdown(rule)},
        "defaultConfiguration": {"level": _SARIF[rule.severity]},
    }
    if docs:
        entry["helpUri"] = f"{docs}#{anchor(rule)}"
    return entry


def _sarif_result(one: Finding, index: Dict[str, int]) -> Dict[str, Any]:
    from urllib.parse import quote

    result: Dict[str, Any] = {
        "ruleId": one.code,
        "level": _SARIF[one.severity],
        "message": {"text": _message(one)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(os.fsencode(one.path.replace("\\", "/")))},
                    "region": dict(zip(("startLine", "startColumn"), _file_place(one))),
                }
            }
        ],
    }
    if one.code in index:
        result["ruleIndex"] = index[one.code]
    if one.replacements:
        result["fixes"] = [_sarif_fix(one, result["locations"][0]["physicalLocation"]["artifactLocation"])]
    return result


def _sarif_fix(one: Finding, file: Dict[str, str]) -> Dict[str, Any]:
    kind = "Unsafe fix: it may change what the program means." if one.unsafe else "Safe fix."
    names = ("startLine", "startColumn", "endLine", "endColumn")
    replacements = [
        {"deletedRegion": dict(zip(names, made[:4])), "insertedContent": {"text": made.text}}
        for made in one.replacements
    ]
    return {
        "description": {"text": kind},
        "artifactChanges": [{"artifactLocation": file, "replacements": replacements}],
    }


def statistics(findings: Sequence[Finding], rules: Sequence[Rule]) -> str:
    """How often each code was found, the most frequent first."""
    counts: Dict[str, int] = {}
    for one in findings:
        counts[one.code] = counts.get(one.code, 0) + 1
    names = {rule.code: rule.name for rule in rules}
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    width = len(str(max(counts.values(), default=0)))
    return "\n".join(f"{count:>{width}} {code} {names.get(code, '')}".rstrip() for code, count in ordered)


def listed(rules: Sequence[Rule]) -> str:
    """Every rule on a line: code, whether ``--fix`` mends it ([*]) or an unsafe fix ([!]), name, what it finds."""
    width = max(len(rule.name) for rule in rules)
    marks = {"": "   ", "unsafe": "[!]"}
    return "\n".join(f"{rule.code} {marks.get(rule.fix, '[*]')} {rule.name:<{width}}  {rule.summary}" for rule in rules)


def markdown(rule: Rule) -> str:
    """What there is to say about one rule, without a heading, as Markdown."""
    parts = [rule.summary]
    if rule.text:
        parts.append(rule.text)
    if rule.fix:
        parts.append(f"**Fixes: {rule.fix}.** {rule.why}")
    for title, examples in (("Found in", rule.wrong), ("Not found in", rule.right)):
        for example in examples:
            parts += [f"{title}:", f"```python\n{example}```"]
    return "\n\n".join(parts) + "\n"


def explained(rule: Rule) -> str:
    """One rule in full."""
    parts: List[str] = [f"{rule.code} {rule.name} ({SEVERITIES[rule.code[0]]})", "", rule.summary]
    if rule.text:
        parts += ["", rule.text]
    if rule.fix:
        parts += ["", f"Fixes: {rule.fix}. {rule.why}"]
    for title, examples in (("Wrong", rule.wrong), ("Right", rule.right)):
        for example in examples:
            parts += ["", f"{title}:", ""] + [f"    {line}".rstrip() for line in example.splitlines()]
    return "\n".join(parts)
