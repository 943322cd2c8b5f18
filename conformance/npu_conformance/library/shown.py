"""Decides where each option can be seen at work: which kinds of observation, and a case that shows each."""

from __future__ import annotations

from typing import Dict, List, Mapping, Optional, Tuple

from npu_conformance.library import library
from npu_conformance.library.case import Case
from npu_reference.options.declaration import Option
from npu_reference.options.table import OPTIONS

__all__ = ["UNCHANGED", "WORDS", "shown"]

#: What shows a requirement, in the words of the inventory, and what a user would call it; in the order of the page.
WORDS: Mapping[str, str] = {
    "partition": "what is offloaded",
    "dtype-assignment": "dtypes and casts",
    "numerics": "values",
    "trace/timing": "time, memory and copies",
    "artifact-file": "files",
    "log": "what is said",
    "error": "refusals",
    "config": "the effective value",
}

#: What a case of values shows of options that change none there.
UNCHANGED = "values, which stay as they are"
_CHANGE_NO_VALUES = (
    "deterministic",
    "external_weight",
    "input_fusion_size",
    "op_precision_mode",
    "variable_format_optimize",
)

#: What the effective options alone can show; everything else shows where they are at work.
_TOLD = ("log", "error", "config")

#: Aspects of files that are there only where an option asks for them.
_FILES = ("dump", "dump_steps", "overflow_dump", "exception_dump")

#: Cases that show an effect itself come before those that show how the option is read; for what is told, after them.
_METHODS = ("compile", "library", "timeline", "run", "precision", "partition", "options")


def shown(cases: Optional[library.Library] = None) -> Dict[str, List[Tuple[str, str]]]:
    """Option to (what is seen, id of a case), for every kind of observation that a case of its requirements has."""
    cases = cases or library.load()
    by_requirement: Dict[str, List[Case]] = {}
    for case in cases.cases.values():
        for name in case.requirements:
            by_requirement.setdefault(name, []).append(case)
    found: Dict[str, List[Tuple[str, str]]] = {}
    by_reading: Dict[str, List[Case]] = {}
    for case in cases.cases.values():
        for name in case.readings:
            by_reading.setdefault(name, []).append(case)
    for option in OPTIONS.values():
        kinds: Dict[str, List[Case]] = {}
        if not option.requirements:
            # No document has it: what a reading says of it is told.
            read = [case for name in option.readings for case in by_reading.get(name, ())]
            kinds["log"] = [case for case in read if _weight(option, case, "log")]
        for name, requirement in cases.requirements.items():
            if _is_of(option, name):
                kinds.setdefault(requirement.observable, []).extend(by_requirement.get(name, ()))
                # A class of an option is read, says the inventory; what it asks for lies in files all the same.
                left = [case for case in by_requirement.get(name, ()) if _looks_at_files(case)]
                kinds.setdefault("artifact-file", []).extend(left)
        best = [(kind, _best(option, kinds[kind], kind)) for kind in WORDS if kinds.get(kind)]
        found[option.name] = [
            (_word(option, kind), case.id) for kind, case in best if kind in _TOLD or case.method != "options"
        ]
    return found


def _word(option: Option, kind: str) -> str:
    return UNCHANGED if kind == "numerics" and option.name in _CHANGE_NO_VALUES else WORDS[kind]


def _is_of(option: Option, name: str) -> bool:
    return any(name == prefix or name.startswith(prefix.rstrip(".") + ".") for prefix in option.requirements)


def _looks_at_files(case: Case) -> bool:
    """Whether what a run left is what a case is about."""
    return any(aspect in _FILES for aspect, _ in case.expect.observe)


def _best(option: Option, cases: List[Case], kind: str) -> Case:
    methods = _METHODS if kind not in _TOLD else tuple(reversed(_METHODS))
    order = {method: number for number, method in enumerate(methods)}
    return min(
        cases,
        key=lambda case: (
            _weight(option, case, kind) == 0, order.get(case.method, len(order)), -_weight(option, case, kind),
            case.expect.rejected is not None, case.id not in _PLAINER, not case.id.startswith(_DEFAULTS), case.id,
        ),
    )  # fmt: skip


#: Cases that ask for nothing but the defaults of all options begin so.
_DEFAULTS = "defaults-on-"

#: Of cases that are alike those that show the effect, where others show that there is none.
_PLAINER = ("dump-with-quant-dumpable", "scope-fusion-runconfig-named", "timing-main-process-sends")


def _weight(option: Option, case: Case, kind: str) -> int:
    """How plainly a case shows an option: by values of it that differ, by one that is no default, by any, by none.

    What the effective value is shows without any being given, and a default does so best.
    """
    if kind == "config":
        return 1
    base, variants = case.params.get("values") or {}, case.params.get("variants") or {}
    given = [_value(option.name, base)]
    given += [_value(option.name, turn.get("values") or {}) for turn in case.params.get("turns") or []]
    several = [_value(option.name, one.get("values", one)) for one in variants.values() if isinstance(one, Mapping)]
    found = [value for value in (*given, *several) if value is not None]
    if not found:
        text = str(case.params.get("source") or case.params.get("script") or "")
        return 1 if option.name in text else 0
    compared = [word for one in case.expect.compare.values() for word in one.values()]
    if compared:
        return 4 if any("equal" not in _words(word) for word in compared) else 1
    defaults = [str(facet.default) for facet in option.facets.values()]
    return 3 if any(str(value) not in defaults for value in found) else 2


def _words(told: object) -> List[str]:
    return [str(one) for one in told] if isinstance(told, (list, tuple)) else [str(told)]


def _value(name: str, values: object) -> object:
    """What is given for an option, or for a field of it."""
    if not isinstance(values, Mapping):
        return None
    return next((value for key, value in values.items() if str(key).partition(".")[0] == name), None)
