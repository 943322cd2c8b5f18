"""The laws of options: what must hold of every answer to `options`, whatever values are given."""

from __future__ import annotations

import random
from typing import AbstractSet, Any, Dict, List, Mapping, Sequence, Set, Tuple

from npu_conformance.library.library import Instance, Library
from npu_conformance.observing import observe
from npu_conformance.strength.laws.checks import Law

__all__ = ["OPTIONS", "WAYS", "asked_for", "comparable", "facts", "questions", "ways"]

#: A key that no document has.
_UNKNOWN = "no_such_option_of_any_document"

#: Ways of asking beside the first, each with the law that compares it.
WAYS: Mapping[str, str] = {
    "with an unknown key": "options-unknown",
    "in another order": "options-order",
    "with the effective values": "options-settled",
    "beside others": "options-beside",
}

#: Options that no document relates to another one, by surface, each with a value and what graph compilation is told of
#: it: those given beside the first ones.
_BESIDE: Mapping[str, Mapping[str, Tuple[Any, str]]] = {
    "session": {
        "op_wait_timeout": (77, "directive timeouts op_wait_seconds ="),
        "hcom_parallel": (False, ""),
        "is_tailing_optimization": (False, ""),
        "enable_scope_fusion_passes": ("ScopeClipBoxesPass", ""),
    },
    "runconfig": {
        "op_execute_timeout": (90, "directive timeouts op_execute_seconds ="),
        "event_sync_timeout": (60000, "directive timeouts event_sync_milliseconds ="),
        "deterministic": (1, ""),
        "external_weight": (True, ""),
        "jit_compile": ("false", ""),
        "ac_parallel_enable": ("1", ""),
        "input_fusion_size": (1024, ""),
        "is_tailing_optimization": (False, ""),
    },
}

#: What a launch script sets of a rank; RANK_SIZE makes a cluster, which stream_sync_timeout looks at (T33).
_LAUNCHED = {"RANK_SIZE": "8", "RANK_ID": "3", "DEVICE_ID": "3", "JOB_ID": "10087"}


def questions(library: Library, seed: int, count: int) -> List[Instance]:
    """Accepted questions of the option cases, half of each edition, drawn by the seed."""
    usable = [
        one
        for one in library.instances()
        if one.case.method == "options"
        and one.case.expect.rejected is None
        and one.case.params["values"]
        and (one.case.params["surface"], one.edition) != ("runconfig", "legacy")  # no document has its table
    ]
    rng = random.Random(f"options/{seed}")
    for place in range(len(usable) - 1, 0, -1):
        other = int(rng.random() * (place + 1))  # the one draw whose sequence Python promises to keep
        usable[place], usable[other] = usable[other], usable[place]
    of = {edition: [one for one in usable if one.edition == edition] for edition in ("legacy", "current")}
    return [one for found in of.values() for one in found[: max(1, count // 2)]]


def ways(params: Mapping[str, Any]) -> List[str]:
    """The ways of asking again; Python itself refuses an argument that NPURunConfig does not have (G17)."""
    here = [way for way in WAYS if way != "with an unknown key" or params["surface"] == "session"]
    return [way for way in here if way != "beside others" or _may_stand_beside(params)]


def _may_stand_beside(params: Mapping[str, Any]) -> bool:
    return "RANK_SIZE" not in params.get("env", {}) and {"stream_sync_timeout"}.isdisjoint(params["values"])


def _others(params: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: one[0] for name, one in _BESIDE[params["surface"]].items() if name not in params["values"]}


def comparable(way: str, params: Mapping[str, Any], said: AbstractSet[str]) -> Set[str]:
    """What of an answer's facts a way of asking leaves as it is: all but those of the options given beside."""
    if way != "beside others":
        return set(said)
    others = _others(params)
    heads = [f"{word} {name} " for name in others for word in ("effective", "origin", "meaning")]
    heads += [_BESIDE[params["surface"]][name][1] for name in others if _BESIDE[params["surface"]][name][1]]
    return {fact for fact in said if not fact.startswith(tuple(heads))}


def asked_for(way: str, params: Mapping[str, Any], first: Mapping[str, Any]) -> Dict[str, Any]:
    """The request of one way of asking; `first` is the answer to the plain one."""
    values: Dict[str, Any] = dict(params["values"])
    if way == "with an unknown key":
        values = {_UNKNOWN: 7, **values}
    elif way == "in another order":
        values = dict(sorted(values.items(), reverse=True))
    elif way == "beside others":
        return {**params, "values": {**_others(params), **values}, "env": {**_LAUNCHED, **params.get("env", {})}}
    else:
        for name, value in params["values"].items():
            effective = first["effective"].get(name)
            if effective is not None and effective.get("origin", "given") == "given":
                values[name] = _in_field(value, effective["value"])
    return {**params, "values": values}


def _in_field(value: Any, effective: Any) -> Any:
    if isinstance(value, dict):
        return {**value, "value": effective} if set(value) == {"field", "value"} else value
    return effective


def facts(answer: Mapping[str, Any], aspects: Sequence[str] = ("effective", "origins", "meaning", "directives")) -> Any:
    """What an answer says, its warnings aside, for comparing two."""
    return {one.text for one in observe.observations("options", answer) if one.aspect in aspects}


OPTIONS = [
    Law("options-unknown", "A key that no document has changes nothing", ("session.table.unlisted_reserved",), (),
        None, "options"),
    Law("options-order", "The order of the keys changes nothing", ("session.table.unlisted_reserved",), (), None,
        "options"),
    Law("options-beside", "Options that no document relates leave each other alone, in a launched rank too",
        ("session.hcom_parallel.default", "runconfig.jit_compile.default"), (), None, "options"),
    Law("options-settled", "An effective value, given, is effective", ("runconfig.hccl_timeout.quantize",), (), None,
        "options"),
]  # fmt: skip
