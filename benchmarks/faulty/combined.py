"""Mistakes of several kinds: answers that depend on the question before, and conditions across areas."""

from __future__ import annotations

from typing import Any

from faulty.answered import to_host, told_value
from faulty.asked import given, plain, texts, value_of, with_env, with_values
from faulty.making import Answer, Params, fault, mistake
from faulty.operators import changed, repeats
from npu_reference.errors import NpuError
from npu_reference.options import OPTIONS


@mistake("session.table.unlisted_reserved", ("options",))
def options_of_the_other_edition(ask: Any, params: Params) -> Answer:
    other = {"legacy": "current", "current": "legacy"}[params["edition"]]
    return ask({**params, "edition": other})


def _one_tool(answer: Answer, params: Params) -> None:
    if value_of(params, "profiling_mode") is True and value_of(params, "enable_dump") is True:
        told_value(answer, "enable_dump", False)


fault("a_profile_ends_the_dump", "session.enable_dump.true", changed(_one_tool), methods=("options",))


@mistake("files.customize_dtypes.one_per_line", ("precision",))
def the_last_line_needs_an_end(ask: Any, params: Params) -> Answer:
    def edit(text: str) -> str:
        return text if text.endswith("\n") or "\n" not in text else text.rpartition("\n")[0]

    return ask(texts(params, "customize_dtypes", edit))


@mistake("precision.domain", ("precision",))
def inference_on_run_config_ignores_the_mode(ask: Any, params: Params) -> Answer:
    if params["surface"] == "runconfig" and plain(params["values"].get("graph_run_mode")) == 0:
        return ask(with_values(params, precision_mode=None))
    return ask(params)


@mistake("env.HCCL_EXEC_TIMEOUT.fallback", ("timeline", "compile", "options"))
def the_environment_is_never_read(ask: Any, params: Params) -> Answer:
    return ask(with_env(params, lambda env: {}))


@mistake("runconfig.session_device_id.over_env", ("options",))
def the_variable_decides_beside_ranks(ask: Any, params: Params) -> Answer:
    env = params.get("env", {})
    if "RANK_SIZE" in env and "ASCEND_DEVICE_ID" in env and given(params, "session_device_id"):
        return ask(with_values(params, session_device_id=None))
    return ask(params)


@mistake("runconfig.session_device_id.over_env", ("options",))
def the_third_variable_wins(ask: Any, params: Params) -> Answer:
    env = params.get("env", {})
    known = [name for name in ("ASCEND_DEVICE_ID", "HCCL_EXEC_TIMEOUT", "AOE_MODE") if name in env]
    if len(known) == 2 and given(params, "session_device_id", "hccl_timeout"):
        return ask(with_env(with_values(params, session_device_id=None), dict))
    return ask(params)


fault(
    "options_repeats_the_answer_of_the_question_before",
    "runconfig.mix_compile_mode.true",
    repeats("options"),
    methods=("options",),
)
fault(
    "partition_repeats_the_answer_of_the_question_before",
    "mixed.partition.identify_first",
    repeats("partition"),
    methods=("partition",),
)
fault(
    "precision_repeats_the_answer_of_the_question_before",
    "precision.domain",
    repeats("precision"),
    methods=("precision",),
)


@mistake("session.dynamic_input.example", ("options",))
def every_second_option_is_refused(ask: Any, params: Params) -> Answer:
    for name in params["values"]:
        if sorted(OPTIONS).index(name) % 2 if name in OPTIONS else False:
            raise NpuError("OPTION_VALUE", name, "is not supported")
    return ask(params)


@mistake("mixed.partition.identify_first", ("partition",))
def long_names_stay(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    return to_host(answer, [name for geop in answer["geops"] for name in geop["nodes"] if len(name) > 40])
