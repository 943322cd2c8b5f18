"""The laws of options: what must hold of every answer to `options`, whatever values are given."""

from __future__ import annotations

import hashlib
from typing import AbstractSet, Any, Dict, List, Mapping, Sequence, Set, Tuple

from npu_conformance.library.library import Instance, Library
from npu_conformance.observing import observe
from npu_conformance.strength.laws.checks import Law

__all__ = ["OPTIONS", "WAYS", "asked_for", "comparable", "facts", "questions", "refused", "ways"]

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

#: Options that documents relate to the run mode: listed for one mode alone, or with a value that it decides.
_OF_RUN_MODE = frozenset(
    {
        "graph_run_mode", "precision_mode", "precision_mode_v2", "enable_small_channel", "input_shape", "dynamic_dims",
        "dynamic_node_type", "iterations_per_loop", "quant_dumpable", "graph_max_parallel_model_num", "profiling_mode",
        "profiling_options", "profiling_config", "enable_data_pre_proc", "dump_step", "dump_config", "aoe_mode",
        "variable_format_optimize", "hcom_parallel", "auto_tune_mode", "is_tailing_optimization", "work_path",
        "enable_exception_dump", "aoe_config_file", "hccl_timeout", "op_wait_timeout", "op_execute_timeout",
        "distribute",
    }
)  # fmt: skip

#: Options that documents, or a reading, relate to mixed computing.
_OF_MIXING = frozenset(
    {
        "mix_compile_mode", "in_out_pair", "in_out_pair_flag", "iterations_per_loop", "input_shape", "dynamic_dims",
        "dynamic_node_type", "variable_placement", "use_off_line",
    }
)  # fmt: skip

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
    usable.sort(key=lambda one: _place(f"options/{seed}", one))
    of = {edition: [one for one in usable if one.edition == edition] for edition in ("legacy", "current")}
    return [one for found in of.values() for one in found[: max(1, count // 2)]]


def refused(library: Library, seed: int, count: int) -> List[Instance]:
    """Refused questions of the option cases, drawn by the seed: what is refused alone is refused beside others."""
    usable = [
        one
        for one in library.instances()
        if one.case.method == "options"
        and one.case.level == "must"
        and one.case.expect.rejected is not None
        and not one.case.expect.ignorable
        and one.case.params["values"]
        and (one.case.params["surface"], one.edition) != ("runconfig", "legacy")
    ]
    usable.sort(key=lambda one: _place(f"refused/{seed}", one))
    return usable[:count]


def _place(draw: str, one: Instance) -> bytes:
    """Where an instance stands in a draw: a case more, or one less, leaves the others where they are."""
    return hashlib.sha256(f"{draw}/{one.id}".encode()).digest()


def ways(params: Mapping[str, Any]) -> List[str]:
    """The ways of asking again; Python itself refuses an argument that NPURunConfig does not have (G17)."""
    here = [way for way in WAYS if way != "with an unknown key" or params["surface"] == "session"]
    return [way for way in here if way != "beside others" or _may_stand_beside(params)]


def _may_stand_beside(params: Mapping[str, Any]) -> bool:
    return "RANK_SIZE" not in params.get("env", {})


def _launched(params: Mapping[str, Any]) -> Dict[str, str]:
    """What a launch script sets, of one rank alone where a cluster would make a difference (T33), and by turns."""
    alone = "stream_sync_timeout" in params["values"] or len(params["values"]) % 2 == 0
    return {**_LAUNCHED, **({"RANK_SIZE": "1", "RANK_ID": "0"} if alone else {}), **params.get("env", {})}


def _others(params: Mapping[str, Any]) -> Dict[str, Any]:
    """What is given beside: options that concern nobody, by turns with another run mode or with mixed computing where
    no document relates those to the options that are there."""
    names = set(params["values"])
    turn = sum(map(ord, "".join(sorted(names)))) % 3
    if turn == 1 and names.isdisjoint(_OF_RUN_MODE):
        return {"graph_run_mode": 0}
    if turn == 2 and names.isdisjoint(_OF_MIXING):
        return {"mix_compile_mode": True}
    return {name: one[0] for name, one in _BESIDE[params["surface"]].items() if name not in names}


def comparable(way: str, params: Mapping[str, Any], said: AbstractSet[str]) -> Set[str]:
    """What of an answer's facts a way of asking leaves as it is: all but those of the options given beside, and of the
    two whose defaults are of the run mode (A6, A28)."""
    if way != "beside others":
        return set(said)
    others = _others(params)
    changed = [*others, *(("precision_mode", "enable_small_channel") if "graph_run_mode" in others else ())]
    heads = [f"{word} {name} " for name in changed for word in ("effective", "origin", "meaning")]
    told = [_BESIDE[params["surface"]].get(name, (None, ""))[1] for name in others]
    heads += [head for head in told if head]
    return {fact for fact in said if not fact.startswith(tuple(heads))}


def asked_for(way: str, params: Mapping[str, Any], first: Mapping[str, Any]) -> Dict[str, Any]:
    """The request of one way of asking; `first` is the answer to the plain one."""
    values: Dict[str, Any] = dict(params["values"])
    if way == "with an unknown key":
        values = {_UNKNOWN: 7, **values}
    elif way == "in another order":
        values = dict(sorted(values.items(), reverse=True))
    elif way == "beside others":
        return {**params, "values": {**_others(params), **values}, "env": _launched(params)}
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
