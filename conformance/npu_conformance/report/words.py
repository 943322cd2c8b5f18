"""Decides what there is to say about any word that an answer prints, whichever part of the suite it is of."""

from __future__ import annotations

import os
import re
from typing import Callable, Dict, Iterator, List, Mapping, Optional, Tuple

from npu_conformance.files import resources
from npu_conformance.judging import judge
from npu_conformance.library import explaining
from npu_conformance.library.explaining import Explanation
from npu_conformance.report import causes
from npu_reference.errors import NpuError
from npu_reference.spelling import several

__all__ = ["NOTES", "explain", "kinds"]

_REPAIRED = "The adapter's own division of the graph cannot run, so the documented one is another: "

#: Codes of notes of ``partition``, ``precision`` and ``profile``, but for those that are reasons, to their meaning.
NOTES: Mapping[str, str] = {
    "FP16_OVERFLOW": "A constant or range is read in float16, and is larger than that type holds.",
    "FP16_UNDERFLOW": "A constant is read in float16, and is smaller than that type holds: it becomes zero.",
    "FULL_OFFLOAD_INCOMPLETE": "Full offload was asked for, and some operators stay on the host all the same.",
    "HOST_VARIABLES_V1_CONTROL_FLOW": "variable_placement is Host in a graph with control flow of TensorFlow 1, which "
    "may fail.",
    "NOTHING_OFFLOADED": "No operator of the graph is offloaded; the message says why.",
    "PLACEHOLDER_AS_FEED": "A placeholder that is not among the feeds was taken for one.",
    "RANGE_EMPTY": "in_out_pair selects nothing in this graph, which is divided as without it.",
    "RANGE_EXTENDED": "Operators were added to the ranges of in_out_pair, since loops and conditionals cannot be cut.",
    "RANGE_HOST_OUTSIDE": "Outside of the ranges of in_out_pair, too, some operators cannot be offloaded.",
    "RANGE_NO_PATH": "No path joins a node of an in_out_pair entry to any node of the other side.",
    "RANGE_SELECTION": "The adapter itself selects other operators for in_out_pair than its documents say.",
    "RANGE_UNKNOWN_NODE": "in_out_pair names a node that is not in the graph.",
    "REPAIRED_CYCLE": f"{_REPAIRED}a GEOP and a host operator would wait for each other.",
    "REPAIRED_DEAD": f"{_REPAIRED}a tensor of a branch not taken would have to cross a border.",
    "REPAIRED_FRAME": f"{_REPAIRED}a GEOP would hold a part of a while loop.",
    "REPAIRED_LOOP": f"{_REPAIRED}a GEOP and a while loop on the host would wait for each other.",
    "REPAIRED_QUEUE": f"{_REPAIRED}a GEOP would wait for a queue that it fills itself.",
    "REPAIRED_REF": f"{_REPAIRED}a variable's reference would have to cross a border.",
    "REWRITTEN": "An operator was replaced or removed before the graph was divided, as the adapter does.",
    "SCOPE_WITHOUT_MIX": "without_npu_compile_scope has no effect without mix_compile_mode.",
    "VARIABLE_ON_HOST": "A host operator takes a variable's reference or handle, so that the variable stays there.",
    "customize_no_node": "customize_dtypes names an operator that the device does not compute.",
    "customize_unknown": "customize_dtypes names an operator type that the device does not have.",
    "entry_no_operator": "An entry of an option file names no operator of the graph.",
    "entry_no_effect": "An entry of an option file names operator types of which the graph has no operator.",
    "entry_unknown_type": "An entry of an option file names an operator type that does not exist.",
    "fp16_overflow": "A tensor holds values that are larger than float16 holds, in which it is read.",
    "fp16_underflow": "A tensor holds values that become zero in float16, in which it is read.",
    "mixlist_not_listed": "A mixed precision list removes an operator type that is not on the list it is removed from.",
    "mixlist_unknown": "A mixed precision list names an operator type that the device does not have.",
    "no_kernel_known": "The operator information does not say in which dtypes the device computes this operator.",
    "op_precision_unknown": "op_precision_mode names an operator type or operator that the device does not have.",
    "op_precision_unsupported": "op_precision_mode names a mode that this operator does not have.",
    "ops_info_unknown": "The operator information that was given could be read in part only.",
}


def explain(word: str) -> Explanation:
    """What there is to say about a word, in whatever case it is written; ``law:reasons`` says of which kind it is.

    Where several kinds have the word and none is named, the first is told.

    Raises:
        NpuError: USAGE, with the nearest names, where nothing is called so.
    """
    bare = word.strip()
    kind, colon, rest = bare.partition(":")
    if colon and kind in _KINDS:
        only = _KINDS[kind](rest)
        if only is not None:
            return only
    for teller in (explaining.find, *_KINDS.values()):
        found = teller(bare)
        if found is not None:
            return found
    raise NpuError("USAGE", repr(word[:80]), "nothing is called so.", _nearest(bare))


def kinds() -> Explanation:
    """The kinds of words that can be explained, each with an example."""
    return Explanation("kinds", "WORD", {kind: f"npu-conformance explain {one}" for kind, one in _EXAMPLES.items()})


def _rule(word: str) -> Optional[Explanation]:
    from npu_conformance.lint.registry import rules

    rule = next((one for one in rules() if word.upper() == one.code or word.lower() == one.name), None)
    if rule is None:
        return None
    meaning = " ".join(rule.text.split())
    facts = {"Name": rule.name, "Severity": rule.severity, "Finds": rule.summary, "Meaning": meaning}
    if rule.fix:
        facts["Fixes"] = f"{rule.fix}. {rule.why}"
    facts["Examples"] = f"npu-conformance lint --explain {rule.code}"
    return Explanation("rule", rule.code, {label: text for label, text in facts.items() if text})


def _reason(word: str) -> Optional[Explanation]:
    from npu_reference.partition.reasons import MEANINGS, REMEDIES, Reason

    try:
        reason = Reason(word.upper())
    except ValueError:
        return None
    return Explanation("reason", reason.value, {"Meaning": MEANINGS[reason], "Remedy": REMEDIES[reason]})


def _note(word: str) -> Optional[Explanation]:
    meaning = NOTES.get(word)
    return Explanation("note", word, {"Meaning": meaning}) if meaning else None


def _status(word: str) -> Optional[Explanation]:
    name = word.lower()
    if name not in judge.MEANINGS:
        return None
    facts = {"Meaning": judge.MEANINGS[name], "What to do": causes.OF_STATUS.get(name, "")}
    return Explanation("status", name, {label: text for label, text in facts.items() if text})


def _case(word: str) -> Optional[Explanation]:
    from npu_conformance.library import library

    case = library.load().cases.get(word.partition("@")[0])
    if case is None:
        return None
    facts = {
        "Title": case.title,
        "Area": f"{case.area}, {case.topic}",
        "Asks": case.method,
        "Level": case.level,
        "Editions": ", ".join(case.editions),
        "In full": f"npu-conformance case {case.id}",
    }
    return Explanation("case", case.id, facts, case.requirements, case.readings)


def _mutant(word: str) -> Optional[Explanation]:
    from npu_conformance.backends.mutants import registry

    mutant = registry().get(word)
    if mutant is None:
        return None
    facts = {"Fault": mutant.fault, "Options": ", ".join(mutant.options), "Kind": mutant.kind}
    told = {label: text for label, text in facts.items() if text}
    return Explanation("mutant", mutant.name, told, [mutant.requirement])


def _law(word: str) -> Optional[Explanation]:
    from npu_conformance.strength.laws.table import LAWS

    law = LAWS.get(word) or LAWS.get(re.sub("^law-", "", word))
    if law is None:
        return None
    facts = {"Holds": law.title, "Asks": law.method, "Needs": ", ".join(law.needs)}
    return Explanation("law", law.name, {label: text for label, text in facts.items() if text}, law.requirements)


def _operator(word: str) -> Optional[Explanation]:
    from npu_reference.catalog import Catalog, OpList
    from npu_reference.graphs.ops import OPS
    from npu_reference.partition.reasons import MEANINGS, Reason, remedy_of

    versions = OPS.versions(word)
    if not versions:
        return None
    entry, kernel = OpList.built_in().get(word), Catalog.built_in().get(word)
    reason = Reason.NOT_SUPPORTED if entry is None else Reason.GRAY if entry.is_gray else None
    if word.endswith(("Dataset", "DatasetV2")) or word == "StringJoin":
        reason = Reason.STRING_JOIN if word == "StringJoin" else Reason.DATASET
    place = "the device, where nothing else of the graph keeps it on the host"
    if reason is not None:
        when = f"{place}; the host with mix_compile_mode" if reason is Reason.GRAY else "the host"
        place = f"{when}, {reason.value}: {MEANINGS[reason]}"
    facts = {"Place": place, "Remedy": remedy_of(reason, word) if reason else "", "TensorFlow": ", ".join(versions)}
    if kernel is not None and kernel.ge_op:
        columns = dict.fromkeys(", ".join(one.inputs) for one in kernel.columns)
        facts.update(Kernel=kernel.ge_op, Engine=kernel.engine, Inputs="; ".join(columns), List=kernel.flag or "")
        facts.update({"Implementation modes": ", ".join(kernel.impl_modes)})
    return Explanation("operator", word, {label: text for label, text in facts.items() if text})


def _aspect(word: str) -> Optional[Explanation]:
    from npu_conformance.observing.observe import ASPECTS

    aspect = ASPECTS.get(word)
    if aspect is None:
        return None
    facts = {"Of": aspect.method or "every method", "Facts": _forms().get(word, ""), "Feature": aspect.feature}
    return Explanation("aspect", word, {label: text for label, text in facts.items() if text})


def _forms() -> Dict[str, str]:
    """Of every aspect the facts it has, as the guide to cases tells them."""
    path = os.path.join(resources.docs(), "write-a-case.md")
    try:
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
    except OSError as error:
        raise NpuError("CASE_FILE", path, f"cannot be read: {error.strerror}") from None
    return dict(_rows(text.partition("\n## Aspects and their facts\n")[2].partition("\n## ")[0]))


def _rows(table: str) -> Iterator[Tuple[str, str]]:
    for line in table.splitlines():
        cells = re.split(r"(?<!\\)\|", line)
        for name in re.findall(r"`([a-z_]+)`", cells[1]) if len(cells) > 3 else ():
            yield name, cells[2].strip().replace("`", "").replace("\\|", "|")


#: In the order in which they are asked, those that take long to load last.
_KINDS: Mapping[str, Callable[[str], Optional[Explanation]]] = {
    "reason": _reason,
    "note": _note,
    "status": _status,
    "aspect": _aspect,
    "rule": _rule,
    "law": _law,
    "operator": _operator,
    "mutant": _mutant,
    "case": _case,
}

#: A word of each kind, in the order in which they are listed.
_EXAMPLES: Mapping[str, str] = {
    "option": "precision_mode", "operator": "PyFunc", "reason": "NOT_SUPPORTED", "note": "RANGE_EMPTY",
    "status": "overclaim", "error": "OPTION_VALUE", "warning": "adjusted", "rule": "W101", "reading": "A19",
    "requirement": "runconfig.hccl_timeout.quantize", "case": "rc-hccl-600", "law": "law:reasons",
    "aspect": "borders", "mutant": "py-func-on-device",
}  # fmt: skip


def _nearest(word: str) -> str:
    kinds_ = f"Kinds of words are {', '.join(_EXAMPLES)}: npu-conformance explain has an example of each."
    return f"{several(word, _known(), 0.6)} {kinds_}".lstrip()


def _known() -> List[str]:
    from npu_conformance.backends.mutants import registry
    from npu_conformance.library import library
    from npu_conformance.lint.registry import rules
    from npu_conformance.observing.observe import ASPECTS
    from npu_conformance.strength.laws.table import LAWS
    from npu_reference.graphs.ops import OPS
    from npu_reference.partition.reasons import Reason

    codes = [word for rule in rules() for word in (rule.code, rule.name)]
    others = [*(reason.value for reason in Reason), *NOTES, *library.load().cases, *registry(), *LAWS, *ASPECTS]
    return [*explaining.known(), *codes, *judge.ORDER, *others, *OPS.names()]
