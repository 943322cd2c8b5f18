"""Decides which kinds of fault an option can have on a surface, and why it cannot have the others."""

from __future__ import annotations

from typing import Dict, Mapping, NamedTuple, Tuple

from npu_reference.options import OPTIONS
from npu_reference.options.declaration import SURFACES, Facet
from npu_reference.options.domains import Anything, Boolean, Path, Text
from npu_reference.options.rules import RULES

__all__ = ["EDITIONS", "KINDS", "FaultKind", "UNBROKEN", "facets", "reason_without", "rules_of"]


class FaultKind(NamedTuple):
    """A kind of fault: ``column`` is its head in a narrow table, ``meaning`` ends the words "a backend that …"."""

    name: str
    column: str
    meaning: str


#: Every kind by name, in the order of tables.
KINDS: Mapping[str, FaultKind] = {
    kind.name: kind
    for kind in (
        FaultKind("any_type", "type", "takes values of another type"),
        FaultKind("wrong_default", "deft", "has another default"),
        FaultKind("ignored", "used", "takes no notice of the value"),
        FaultKind("skipped_domain", "dom", "takes values outside the domain, or objects of another class"),
        FaultKind("misread", "mean", "makes something else of a value, a text or a file"),
        FaultKind("dropped_rule", "rule", "knows nothing of a rule between options"),
        FaultKind("wrong_precedence", "prec", "lets the weaker of two sources decide"),
        FaultKind("out_of_scenario", "scen", "does outside the scenario of the option what G13 says it should not"),
        FaultKind("silent", "told", "leaves a warning out"),
    )
}

#: The edition whose document has the option table of a surface: 002 for the session, 003 for NPURunConfig.
EDITIONS: Mapping[str, str] = {"session": "legacy", "runconfig": "current"}

_NOT_LOOKED_AT = ("unsupported", "removed", "ignored", "idle")
_UNSEEN = "its value is not looked at (G7)"

#: Cells that have no mutant for a reason of their own; the others follow from the option table.
_REASONS: Dict[Tuple[str, str, str], str] = {}


def _except(surface: str, kind: str, reason: str, *options: str) -> None:
    for option in options:
        _REASONS[surface, option, kind] = reason


_except("runconfig", "ignored", "document 003 gives no example", "memory_config", "experimental_config")
_except(
    "runconfig",
    "wrong_default",
    "document 003 gives no default",
    *("enable_reduce_precision", "distribute", "dump_config", "experimental_config", "local_rank_id", "memory_config"),
    *("profiling_config", "session_device_id"),
)
_except(
    "session",
    "wrong_default",
    "document 002 gives no default",
    *("dynamic_node_type", "local_rank_id", "session_device_id"),
)
_except("runconfig", "skipped_domain", "any directory will do", "debug_dir")
_except("runconfig", "skipped_domain", "document 003 gives no range (T16)", "local_rank_id")
_except("runconfig", "skipped_domain", "a value out of range is brought back to it (T7)", "input_fusion_size")
_except("session", "skipped_domain", "any directory will do", "debug_dir")
_except(
    "session",
    "skipped_domain",
    "document 002 gives no range",
    "session_device_id",
    "iterations_per_loop",
    "local_rank_id",
    "hccl_timeout",
)
_except(
    "runconfig",
    "out_of_scenario",
    "document 003 does not say what becomes of it outside its scenario",
    "distribute",
    "iterations_per_loop",
    "hcom_parallel",
    "is_tailing_optimization",
    "aoe_mode",
    "work_path",
    "aoe_config_file",
)

_except(
    "session", "misread", "the mutants of area in_out_pair break it, each for a requirement of its own", "in_out_pair"
)
_except("session", "misread", "which steps are dumped shows in files alone", "dump_step")
for _surface in ("session", "runconfig"):
    _except(_surface, "misread", "where data are sent shows at run time alone", "local_device_list")

#: Rules that hold on a surface and have no mutant there; why not.
UNBROKEN: Mapping[Tuple[str, str], str] = {
    ("runconfig", "session.dump_path.required"): "document 003 gives no arguments of dump_config",
    ("session", "in_out_pair.needs_mix"): "broken by a mutant of area in_out_pair",
    ("session", "mixed.iterations.must_be_one"): "broken by a mutant of area mixed",
    ("session", "S7"): "S7 is a reading that no requirement states",
    ("session", "S9"): "S9 is a reading that document 002 does not state",
    ("session", "T15"): "document 002 has local_rank_id and local_device_list take effect at run time alone",
    ("session", "T16"): "T16 is a reading that no requirement states",
    ("session", "session.enable_dump.false"): "without enable_dump nothing is written, which shows in files alone",
    ("session", "runconfig.op_debug_level.2_oom_exclusive"): "document 002 has no op_debug_config",
    ("session", "session.op_compiler_cache_mode.debug_level_gate"): "whether kernels are cached shows in files alone",
    ("session", "runconfig.op_precision_mode.keep_fp16.advice"): "document 002 has no mode keep_fp16",
    ("runconfig", "T16"): "T16 is a reading that no requirement states",
    ("runconfig", "T35"): "T35 is a reading that no requirement states",
    ("session", "C12"): "C12 is a reading that no requirement states",
    ("runconfig", "C12"): "C12 is a reading that no requirement states",
    ("session", "S16"): "S16 is a reading that no requirement states",
    ("runconfig", "S16"): "S16 is a reading that no requirement states",
    ("session", "S17"): "S17 is a reading that no requirement states",
    ("runconfig", "S17"): "S17 is a reading that no requirement states",
    ("session", "runconfig.op_debug_level.2_big_kernel"): "the documents fix no size from which linking fails",
    ("runconfig", "runconfig.op_debug_level.2_big_kernel"): "the documents fix no size from which linking fails",
}


def facets(surface: str) -> Dict[str, Facet]:
    """The options of a surface, as the document that has its table describes them."""
    key = (surface, EDITIONS[surface])
    return {
        name: option.facets[key]
        for name, option in OPTIONS.items()
        if key in option.facets and option.facets[key].listed
    }


def rules_of(surface: str, option: str) -> Tuple[str, ...]:
    """Names of the rules between options that this one sets off."""
    return tuple(
        rule.name
        for rule in RULES
        if option in rule.triggers and surface in rule.surfaces and EDITIONS[surface] in rule.editions
    )


def reason_without(surface: str, option: str, kind: str) -> str:
    """Why there is no fault of this kind; empty when there must be one.

    A ``misread``, ``dropped_rule``, ``wrong_precedence`` or ``silent`` fault may be there all the same, broken into
    a value that has no grammar, say: the reason then goes unused.
    """
    own = _REASONS.get((surface, option, kind))
    return own if own is not None else _DERIVED[kind](surface, option, facets(surface)[option])


def _of_type(surface: str, option: str, facet: Facet) -> str:
    return _UNSEEN if facet.status in _NOT_LOOKED_AT else ""


def _of_default(surface: str, option: str, facet: Facet) -> str:
    return "it never takes effect, so it has no default" if facet.status in ("unsupported", "removed") else ""


def _of_domain(surface: str, option: str, facet: Facet) -> str:
    if facet.status in _NOT_LOOKED_AT or isinstance(facet.domain, Anything):
        return _UNSEEN
    return "a bool has no value outside its domain" if isinstance(facet.domain, Boolean) else ""


def _of_meaning(surface: str, option: str, facet: Facet) -> str:
    if facet.status in _NOT_LOOKED_AT:
        return _UNSEEN
    domain = facet.domain
    spoken = (isinstance(domain, Text) and domain.parse is not None) or (
        isinstance(domain, Path) and domain.read is not None
    )
    return "" if spoken else "its value stands for itself"


def _of_rules(surface: str, option: str, facet: Facet) -> str:
    if facet.status in _NOT_LOOKED_AT:
        return _UNSEEN
    names = rules_of(surface, option)
    missing = [name for name in names if (surface, name) not in UNBROKEN]
    if not names:
        return "no rule binds it to another option"
    return "" if missing else "; ".join(dict.fromkeys(UNBROKEN[surface, name] for name in names))


def _of_precedence(surface: str, option: str, facet: Facet) -> str:
    return _UNSEEN if facet.status in _NOT_LOOKED_AT else "nothing else decides it, in what can be seen of options"


def _of_scenario(surface: str, option: str, facet: Facet) -> str:
    if facet.status in _NOT_LOOKED_AT:
        return _UNSEEN
    return "documented for training and online inference alike" if facet.applies == "TI" else ""


def _of_words(surface: str, option: str, facet: Facet) -> str:
    return "no warning belongs to it alone" if facet.status == "active" else ""


_DERIVED = {
    "any_type": _of_type,
    "wrong_default": _of_default,
    "ignored": _of_type,
    "skipped_domain": _of_domain,
    "misread": _of_meaning,
    "dropped_rule": _of_rules,
    "wrong_precedence": _of_precedence,
    "out_of_scenario": _of_scenario,
    "silent": _of_words,
}

assert set(EDITIONS) == set(SURFACES)
