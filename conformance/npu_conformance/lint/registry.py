"""What a rule is: a code and a function over a file, its explanation and examples in the docstring of its module."""

from __future__ import annotations

import re
import sys
import textwrap
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from npu_conformance.lint.finding import SEVERITIES, Fix
from npu_conformance.lint.module import Module
from npu_reference.errors import NpuError

__all__ = ["FIXES", "LintReport", "Rule", "LintSettings", "anchor", "rule", "rules", "selected"]


class LintSettings(NamedTuple):
    """What the user asks of all rules."""

    edition: str = "current"


class LintReport(NamedTuple):
    """What a rule has found: a node of the tree, or a line and column; one sentence or two; how to mend it.

    ``safe`` says that the fix cannot change what the program means. A ``hint`` is told, and does not count.
    """

    where: Any
    message: str
    fix: Optional[Fix] = None
    safe: bool = False
    hint: bool = False


Check = Callable[[Module, LintSettings], Iterator[LintReport]]


class Rule(NamedTuple):
    """One rule.

    ``wrong`` and ``right`` are examples: scripts in which it finds something, and in which it does not. ``fix`` is one
    of :data:`FIXES` where it offers any, and ``why`` says what makes them so.
    """

    code: str
    name: str
    summary: str
    text: str
    wrong: Tuple[str, ...]
    right: Tuple[str, ...]
    fix: str
    why: str
    check: Check

    @property
    def fixable(self) -> bool:
        return bool(self.fix)

    @property
    def severity(self) -> str:
        return SEVERITIES[self.code[0]]


#: What the fixes of a rule are: each keeps the program's meaning, none is known to, or some do.
FIXES = ("safe", "unsafe", "some safe")

_RULES: Dict[str, Rule] = {}


def rule(code: str, name: str, fix: str = "", why: str = "") -> Callable[[Check], Check]:
    """Register the check of a module under a code, which stays what it is for good.

    A rule that mends says whether that is safe, and why. Safe is what cannot change what the program means: it does
    the same as before, or failed in that line in every run and can have meant nothing else.
    """
    if fix not in ("", *FIXES) or bool(fix) != bool(why):
        raise ValueError(f"{code}: a fix is one of {FIXES}, and has a reason")

    def register(check: Check) -> Check:
        summary, text, wrong, right = _explained(sys.modules[check.__module__].__doc__ or "")
        if code in _RULES:
            raise ValueError(f"two rules have the code {code}")
        _RULES[code] = Rule(code, name, summary, text, wrong, right, fix, why, check)
        return check

    return register


def rules() -> List[Rule]:
    """Every rule: errors, warnings, suggestions, each by number."""
    import npu_conformance.lint.rules  # noqa: F401  registers them

    return sorted(_RULES.values(), key=lambda one: ("EWS".index(one.code[0]), one.code))


def anchor(one: Rule) -> str:
    """The part of an address that names a rule on the page of rules, docs/lint.md."""
    return f"{one.code.lower()}-{one.name}"


def selected(select: Tuple[str, ...], ignore: Tuple[str, ...]) -> List[Rule]:
    """The rules whose codes begin with one of ``select``, without those that begin with one of ``ignore``.

    Raises:
        NpuError: USAGE, for a code or prefix that no rule has.
    """
    every = rules()
    for prefix in (*select, *ignore):
        if not prefix or not any(one.code.startswith(prefix) for one in every):
            remedy = "npu-conformance lint --list names every code."
            raise NpuError("USAGE", repr(prefix), "no rule has a code that begins so.", remedy)
    chosen = [one for one in every if not select or one.code.startswith(select)]
    return [one for one in chosen if not ignore or not one.code.startswith(ignore)]


def _explained(doc: str) -> Tuple[str, str, Tuple[str, ...], Tuple[str, ...]]:
    """Summary, text and examples of a docstring: examples stand at its end, each below ``# wrong`` or ``# right``."""
    summary, _, rest = doc.strip().partition("\n")
    parts = re.split(r"^[ ]*# (wrong|right)$", rest, flags=re.MULTILINE)  # Python 3.13 takes the indentation away
    examples: Dict[str, List[str]] = {"wrong": [], "right": []}
    for kind, example in zip(parts[1::2], parts[2::2]):
        examples[kind].append(textwrap.dedent(example).strip("\n").rstrip() + "\n")
    return summary.strip(), parts[0].strip(), tuple(examples["wrong"]), tuple(examples["right"])
