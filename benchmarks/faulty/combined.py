"""Mistakes that show under a condition only, and many at once."""

from __future__ import annotations

from typing import Any, Callable, Dict, List

from faulty import (
    artifacts,
    conditioned,
    drawn_conditions,
    drawn_eighteenth,
    drawn_eighth,
    drawn_eighth_second,
    drawn_eighth_subtle,
    drawn_eleventh_conditions,
    drawn_fifteenth,
    drawn_fifth,
    drawn_fifth_second,
    drawn_fifth_subtle,
    drawn_fifth_third,
    drawn_files,
    drawn_nineteenth,
    drawn_nineteenth_conditions,
    drawn_ninth,
    drawn_ninth_conditions,
    drawn_ninth_subtle,
    drawn_options,
    drawn_options_second,
    drawn_options_third,
    drawn_runs,
    drawn_seventeenth,
    drawn_seventh,
    drawn_seventh_subtle,
    drawn_sixteenth,
    drawn_sixth,
    drawn_sixth_graphs,
    drawn_sixth_graphs_subtle,
    drawn_sixth_subtle,
    drawn_tenth_conditions,
    drawn_thirteenth,
    drawn_thirteenth_conditions,
    drawn_twelfth_conditions,
    evaluators,
    first,
    fresh,
    options,
    partition,
    precision,
    run,
    subtle,
    timeline,
    vendor,
    vendor_stories,
    vendor_stories_fifth,
    vendor_stories_fourth,
    vendor_stories_second,
    vendor_stories_third,
)
from faulty.making import FAULTY, REFERENCE, Answer, Faulty, Params, broken, graph_of, plain, to_host, with_values
from npu_conformance.backends.reference import ReferenceBackend
from npu_reference.errors import NpuError

#: The tables whose mistakes are joined here, in their order.
TABLES = (
    first,
    options,
    partition,
    precision,
    run,
    timeline,
    artifacts,
    fresh,
    subtle,
    vendor,
    drawn_options,
    drawn_options_second,
    drawn_options_third,
    drawn_runs,
    drawn_fifth,
    drawn_fifth_subtle,
    drawn_fifth_second,
    drawn_fifth_third,
    drawn_sixth,
    drawn_sixth_graphs,
    drawn_sixth_graphs_subtle,
    drawn_sixth_subtle,
    drawn_seventh,
    drawn_seventh_subtle,
    drawn_conditions,
    conditioned,
    drawn_files,
    drawn_eighth,
    drawn_eighth_subtle,
    drawn_eighth_second,
    drawn_ninth,
    drawn_ninth_conditions,
    drawn_ninth_subtle,
    drawn_tenth_conditions,
    drawn_eleventh_conditions,
    drawn_twelfth_conditions,
    drawn_thirteenth,
    drawn_thirteenth_conditions,
    vendor_stories,
    drawn_fifteenth,
    vendor_stories_second,
    drawn_sixteenth,
    vendor_stories_third,
    drawn_seventeenth,
    drawn_eighteenth,
    vendor_stories_fourth,
    drawn_nineteenth_conditions,
    drawn_nineteenth,
    evaluators,
    vendor_stories_fifth,
)


def _large(params: Params, least: int) -> bool:
    return "graph" in params and len(graph_of(params).nodes) >= least


def _last_geop_to_host(answer: Answer) -> Answer:
    return to_host(answer, answer["geops"][-1]["nodes"]) if answer["geops"] else answer


def _partition(name: str, sentence: str, wanted: Callable[[Params], bool], wrong: Callable[[Answer], Answer]) -> None:
    def fault(ask: Any, params: Params) -> Answer:
        answer = ask(params)
        return wrong(answer) if params.get("policy") != "adapter" and wanted(params) else answer

    fault.__name__ = name
    broken("combined", sentence, "partition")(fault)


_OFFLOADED = "000: offloadable operators are offloaded"
_partition("large_graphs_lose_a_geop", _OFFLOADED, lambda params: _large(params, 24), _last_geop_to_host)
_partition(
    "legacy_loses_a_geop",
    _OFFLOADED,
    lambda params: params["edition"] == "legacy" and bool(plain(params["values"].get("mix_compile_mode"))),
    _last_geop_to_host,
)
_partition(
    "inference_loses_a_geop",
    _OFFLOADED,
    lambda params: plain(params["values"].get("graph_run_mode")) == 0,
    _last_geop_to_host,
)
_partition("run_config_loses_a_geop", _OFFLOADED, lambda params: params["surface"] == "runconfig", _last_geop_to_host)
_partition("functions_lose_a_geop", _OFFLOADED, lambda params: bool(graph_of(params).functions), _last_geop_to_host)
_partition("feeds_lose_a_geop", _OFFLOADED, lambda params: bool(params.get("feeds")), _last_geop_to_host)
_partition(
    "five_geops_lose_one",
    _OFFLOADED,
    lambda params: _large(params, 8),
    lambda answer: _last_geop_to_host(answer) if len(answer["geops"]) >= 5 else answer,
)


@broken("combined", "names of any length are names", "partition")
def long_names_stay(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    return to_host(answer, [name for geop in answer["geops"] for name in geop["nodes"] if len(name) > 40])


@broken("combined", "names of any length are names", "partition")
def names_cut_at_the_last_slash(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    for geop in answer["geops"]:
        geop["nodes"] = [name if name.count("/") < 3 else name.rpartition("/")[2] for name in geop["nodes"]]
    return answer


class _Counting(ReferenceBackend):
    """Forgets nothing: the answer to every second question of a kind is made with the values of the one before."""

    def __init__(self) -> None:
        self.before: Dict[str, Any] = {}
        self.turn = 0

    def _kept(self, params: Params) -> Dict[str, Any]:
        self.turn += 1
        found = {**params, "values": {**self.before, **params["values"]}} if self.turn % 2 == 0 else dict(params)
        self.before = {name: value for name, value in params["values"].items() if name == "mix_compile_mode"}
        return found


class _CountingOptions(_Counting):
    def options(self, params: Params) -> Dict[str, Any]:
        return REFERENCE.options(self._kept(params))


class _CountingPartition(_Counting):
    def partition(self, params: Params) -> Dict[str, Any]:
        return REFERENCE.partition(self._kept(params))


for _name, _method, _kind in (
    ("options_of_the_question_before", "options", _CountingOptions),
    ("mixing_of_the_question_before", "partition", _CountingPartition),
):
    FAULTY[_name] = Faulty(_name, "combined", [_method], "every question stands alone", _kind())


@broken("combined", "every option counts, however many there are", "options")
def sixth_option_is_lost(ask: Any, params: Params) -> Answer:
    return ask({**params, "values": dict(list(params["values"].items())[:5])})


@broken("combined", "003 hccl_timeout supersedes HCCL_EXEC_TIMEOUT", "options")
def environment_counts_with_other_options(ask: Any, params: Params) -> Answer:
    """The environment is only looked at where no other option is given."""
    return ask({**params, "env": {}} if len(params["values"]) > 1 and "env" in params else params)


@broken("combined", "002 and 003: values out of their domain are refused", "options")
def never_refuses_with_an_environment(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError:
        if not params.get("env"):
            raise
        return ask({**params, "values": {}})


@broken("combined", "003: a file with Windows ends of lines is the same file", "options")
def files_of_one_line(ask: Any, params: Params) -> Answer:
    files = {
        name: text.split("\n")[0] if isinstance(text, str) and text.count("\n") > 3 else text
        for name, text in params.get("files", {}).items()
    }
    return ask({**params, "files": files} if files else params)


@broken("combined", "003 precision_mode: holds for functions of functions", "precision")
def nested_functions_keep_their_dtypes(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    index = graph_of(params).index
    for node in answer["nodes"]:
        if "/" in node["node"] and node["node"] not in index:
            for key in ("inputs", "outputs"):
                node[key] = ["float32" if one == "float16" else one for one in node[key]]
    return answer


@broken("combined", "003 precision_mode: in online inference as well", "precision")
def inference_on_run_config_ignores_the_mode(ask: Any, params: Params) -> Answer:
    if params["surface"] == "runconfig" and plain(params["values"].get("graph_run_mode")) == 0:
        return ask(with_values(params, precision_mode=None))
    return ask(params)


@broken("combined", "002 and 003: each mode in its edition", "precision")
def modes_of_the_other_edition(ask: Any, params: Params) -> Answer:
    other = {"legacy": "current", "current": "legacy"}[params["edition"]]
    try:
        return ask({**params, "edition": other})
    except NpuError:
        return ask(params)


@broken("combined", "002 and 003: each option in its edition", "options")
def options_of_the_other_edition(ask: Any, params: Params) -> Answer:
    other = {"legacy": "current", "current": "legacy"}[params["edition"]]
    return ask({**params, "edition": other})


def join(name: str, parts: List[str]) -> None:
    """One backend with the faults of several, each of another method or one after the other."""
    members: Dict[str, Any] = {}
    methods: List[str] = []
    for part in parts:
        one = FAULTY[part]
        for method in one.methods:
            if method not in members:
                members[method] = vars(type(one.backend))[method]
                methods.append(method)
    backend = type("JoinedBackend", (ReferenceBackend,), members)()
    FAULTY[name] = Faulty(name, "combined", methods, f"joins {', '.join(parts)}", backend)


join(
    "subtle_everywhere",
    [
        "collective_timeout_short_of_its_end",
        "five_geops_lose_one",
        "one_cast_a_tensor",
        "timeouts_in_milliseconds",
        "half_the_cache_size",
    ],
)
join("subtle_in_two", ["long_texts_cut", "inputs_without_casts"])
join(
    "loud_everywhere",
    [
        "options_of_the_other_edition",
        "all_geops_are_one",
        "modes_of_the_other_edition",
        "one_task_after_the_other",
        "never_a_hit",
    ],
)
