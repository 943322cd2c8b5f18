"""Mistakes of several kinds: answers that depend on the question before, and conditions across areas."""

from __future__ import annotations

import copy
import json
from typing import Any, Dict

from faulty.answered import halved, to_host, told_value
from faulty.asked import given, plain, texts, value_of, with_env, with_values
from faulty.making import FAULTY, REFERENCE, Answer, Faulty, Params, broken
from faulty.mistakes import changed
from npu_conformance.backends.reference import ReferenceBackend
from npu_reference.errors import NpuError
from npu_reference.options import OPTIONS


@broken("combined", "002 and 003: each option in its edition", "options")
def options_of_the_other_edition(ask: Any, params: Params) -> Answer:
    other = {"legacy": "current", "current": "legacy"}[params["edition"]]
    return ask({**params, "edition": other})


def _one_tool(answer: Answer, params: Params) -> None:
    if value_of(params, "profiling_mode") is True and value_of(params, "enable_dump") is True:
        told_value(answer, "enable_dump", False)


changed("combined", "a_profile_ends_the_dump", "002 L94: enable_dump stands by itself", _one_tool, "options")
_SEEN: Dict[str, str] = {}


@broken("combined", "003 L388: the file is read when the option is", "precision")
def the_lists_of_the_question_before(ask: Any, params: Params) -> Answer:
    path = value_of(params, "modify_mixlist")
    if isinstance(path, str) and isinstance(params.get("files", {}).get(path), str):
        files = {**params["files"], path: _SEEN.setdefault(path, params["files"][path])}
        return ask({**params, "files": files})
    return ask(params)


def _late_gray(answer: Answer, params: Params) -> None:
    gray = [node for node in answer["nodes"] if node.get("list") == "graylist"]
    for node in gray[8:]:
        halved(node, "float16", "float32")


changed("combined", "the_ninth_gray_operator_is_kept", "002 L774: gray ones follow", _late_gray, "precision")


@broken("combined", "003 L441: an operator occupies a line, the last one too", "precision")
def the_last_line_needs_an_end(ask: Any, params: Params) -> Answer:
    def edit(text: str) -> str:
        return text if text.endswith("\n") or "\n" not in text else text.rpartition("\n")[0]

    return ask(texts(params, "customize_dtypes", edit))


@broken("combined", "003 precision_mode: in online inference as well", "precision")
def inference_on_run_config_ignores_the_mode(ask: Any, params: Params) -> Answer:
    if params["surface"] == "runconfig" and plain(params["values"].get("graph_run_mode")) == 0:
        return ask(with_values(params, precision_mode=None))
    return ask(params)


@broken("combined", "003: a file with Windows ends of lines is the same file", "options")
def files_of_one_line(ask: Any, params: Params) -> Answer:
    files = {
        name: text.split("\n")[0] if isinstance(text, str) and text.count("\n") > 3 else text
        for name, text in params.get("files", {}).items()
    }
    return ask({**params, "files": files} if files else params)


@broken("combined", "003 hccl_timeout supersedes HCCL_EXEC_TIMEOUT", "options")
def environment_counts_with_other_options(ask: Any, params: Params) -> Answer:
    """The environment is only looked at where no other option is given."""
    return ask({**params, "env": {}} if len(params["values"]) > 1 and "env" in params else params)


@broken("vendor", "003: variables of the environment have an effect", "timeline", "compile", "options")
def the_environment_is_never_read(ask: Any, params: Params) -> Answer:
    return ask(with_env(params, lambda env: {}))


@broken("combined", "003 L30: session_device_id goes before the variable, in sessions after the first", "options")
def the_variable_decides_beside_ranks(ask: Any, params: Params) -> Answer:
    env = params.get("env", {})
    if "RANK_SIZE" in env and "ASCEND_DEVICE_ID" in env and given(params, "session_device_id"):
        return ask(with_values(params, session_device_id=None))
    return ask(params)


@broken("combined", "003 L904, L30, L768: options go before variables, all at once", "options")
def the_third_variable_wins(ask: Any, params: Params) -> Answer:
    env = params.get("env", {})
    known = [name for name in ("ASCEND_DEVICE_ID", "HCCL_EXEC_TIMEOUT", "AOE_MODE") if name in env]
    if len(known) == 2 and given(params, "session_device_id", "hccl_timeout"):
        return ask(with_env(with_values(params, session_device_id=None), dict))
    return ask(params)


def _reference_answer(method: str, params: Params) -> Answer:
    found: Answer = json.loads(json.dumps(getattr(REFERENCE, method)(params)))
    return found


def _constant(method: str) -> None:
    seen: Dict[str, Answer] = {}

    def fault(ask: Any, params: Params) -> Answer:
        key = f"{params.get('surface')} {params.get('edition')}"
        if key not in seen:
            seen[key] = _reference_answer(method, params)
        return copy.deepcopy(seen[key])

    fault.__name__ = f"{method}_repeats_the_answer_of_the_question_before"
    broken("vendor", "the protocol: a request is answered by what it asks", method)(fault)


for _method in ("options", "partition", "precision"):
    _constant(_method)


@broken("vendor", "003: what is allowed is taken", "options")
def every_second_option_is_refused(ask: Any, params: Params) -> Answer:
    for name in params["values"]:
        if sorted(OPTIONS).index(name) % 2 if name in OPTIONS else False:
            raise NpuError("OPTION_VALUE", name, "is not supported")
    return ask(params)


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


@broken("combined", "names of any length are names", "partition")
def long_names_stay(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    return to_host(answer, [name for geop in answer["geops"] for name in geop["nodes"] if len(name) > 40])
