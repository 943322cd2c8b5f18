"""Options of dumps: which steps, which data, and exception dumps."""

from __future__ import annotations

import re
from typing import Any, Mapping

from faulty.answered import told_value
from faulty.asked import (
    CURRENT,
    EVERY_METHOD,
    RUNCONFIG,
    SESSION,
    given,
    in_inference,
    is_about,
    plain,
    value_is,
    value_of,
    with_option,
    with_values,
)
from faulty.making import Answer, Params, broken
from faulty.mistakes import accepts, asks, denies, reads_as, tells
from faulty.mistakes_options import (
    default_on,
    defaults_to,
    has_default,
    lenient,
    refuses,
    takes,
    takes_as,
    takes_type,
    takes_where,
)
from npu_reference.errors import NpuError

# runconfig.enable_exception_dump.default
defaults_to(
    "exceptions_are_dumped_in_full_by_default",
    "When the argument is omitted, enable_exception_dump is 2",
    "enable_exception_dump",
    1,
    CURRENT,
    "options",
    "run",
)


# runconfig.dump_config.class
def _other_class(params: Params) -> bool:
    value = params["values"].get("dump_config")
    return isinstance(value, dict) and value.get("class") not in (None, "DumpConfig")


accepts(
    "any_object_of_configuration_is_one_of_dumps",
    "dump_config takes a DumpConfig instance",
    "dump_config",
    _other_class,
)
accepts(  # pair 10
    "dumps_of_exceptions_that_come_later_have_two_modes",
    "002: enable_exception_dump is 0 or 1",
    "enable_exception_dump",
    lambda params: (
        is_about(params, surface="session", edition="legacy")
        and value_is(params, "enable_exception_dump", 2)
        and next(iter(params["values"])) != "enable_exception_dump"
    ),
)


@broken("options", "002: dump_step is iterations and ranges of them, joined by '|'", "compile")
def later_programs_take_any_steps(ask: Any, params: Params) -> Answer:
    """Pair 8."""
    if len(params.get("turns") or ()) < 2:
        return dict(ask(params))
    first, *later = params["turns"]
    unread = [
        {**one, "values": {key: value for key, value in one["values"].items() if key != "dump_step"}}
        if one.get("values")
        else one
        for one in later
    ]
    return dict(ask({**params, "turns": [first, *unread]}))


accepts(
    "ranges_of_steps_go_down",
    "002 dump_step: a range goes from the lower to the higher",
    "dump_step",
    lambda params: re.search(r"\b([5-9])-([0-4])\b", str(value_of(params, "dump_step"))) is not None,
)
takes_type("modes_of_dumps_may_be_numbers", "dump_mode", int, "002 dump_mode stands in .s")


def _env(params: Params, name: str) -> str:
    return str(params.get("env", {}).get(name, ""))


# session.dump_path.required
accepts(
    "a_work_path_stands_for_the_dump_path",
    "With enable_dump dump_path is given, whatever the environment says",
    "dump_path",
    lambda params: bool(_env(params, "ASCEND_WORK_PATH")) and not given(params, "dump_path"),
    enable_dump=None,
)
accepts(
    "an_exception_dump_beside_a_dump_is_not_checked",
    "003: enable_exception_dump is 0, 1 or 2",
    "enable_exception_dump",
    lambda params: given(params, "enable_dump") or given(params, "dump_config"),
)
accepts(
    "steps_backwards_beside_a_flag",
    "002 dump_step: a range from the lower to the higher step",
    "dump_step",
    lambda params: (
        given(params, "in_out_pair_flag")
        and any(
            int(low) > int(high) for low, high in re.findall(r"(\d+)\s*-\s*(\d+)", str(value_of(params, "dump_step")))
        )
    ),
)
takes_as(
    "relative_dump_paths_are_made",
    "002 dump_path: the directory must exist beforehand, a relative one too",
    "dump_path",
    lambda params, error: (
        "does not exist" in str(error) and not str(value_of(params, "dump_path") or "/").startswith("/")
    ),
    lambda params: with_values(params, enable_dump=None, dump_path=None),
)


def _equal_ends(params: Params) -> bool:
    ranges = re.findall(r"(\d+)-(\d+)", str(value_of(params, "dump_step")))
    return bool(ranges) and all(int(low) <= int(high) for low, high in ranges)


takes_as(
    "a_range_may_begin_where_it_ends",
    "002 dump_step: a range goes from the lower to the higher step",
    "dump_step",
    lambda params, error: _equal_ends(params),
    lambda params: with_values(params, dump_step=None),
)
takes_as(
    "a_dictionary_is_a_dump_config",
    "003 dump_config: an object of class DumpConfig",
    "dump_config",
    lambda params, error: dict(value_of(params, "dump_config") or {}).get("class") == "dict",
    lambda params: with_values(params, dump_config=None),
)
takes_as(
    "a_directory_only_to_write_to_will_do",
    "002 dump_path: read and write permission",
    "dump_path",
    lambda params, error: any(
        isinstance(one, dict) and one.get("access") == "w" for one in params.get("files", {}).values()
    ),
    lambda params: with_values(params, enable_dump=None, dump_path=None),
)
asks(  # runconfig.enable_exception_dump.example
    "the_common_exception_dump_has_become_the_lite_one",
    "003 enable_exception_dump: 1: the common ExceptionDump",
    "options",
    with_option("enable_exception_dump", lambda value: 2 if value == 1 and value is not True else value, RUNCONFIG),
    *EVERY_METHOD,
)
has_default(  # session.dump_mode.default
    "a_dump_without_a_mode_has_inputs_and_outputs",
    "002 dump_mode: output by default",
    "dump_mode",
    lambda params: "all" if SESSION(params) and value_is(params, "enable_dump", True) else None,
    "options",
    "timeline",
    "run",
)
takes_where(  # session.enable_dump.path_none
    "an_empty_path_of_a_dump_is_the_current_directory",
    "002 enable_dump: an exception where dump_path is None",
    "dump_path",
    lambda params: SESSION(params) and value_is(params, "dump_path", ""),
    lambda params: {**with_values(params, dump_path="dump"), "files": {**params.get("files", {}), "dump/": ""}},
)
accepts(  # session.enable_dump.path_none
    "a_dump_without_a_path_lies_in_the_current_directory",
    "002 enable_dump: an exception where dump_path is None",
    "dump_path",
    lambda params: SESSION(params) and value_is(params, "enable_dump", True) and not given(params, "dump_path"),
    enable_dump=None,
)
accepts(
    "steps_may_be_separated_by_commas",
    "002 dump_step: separated by |",
    "dump_step",
    lambda params: "," in str(value_of(params, "dump_step")),
)


@broken("options", "002 dump_path: a leading / means absolute", "options")
def dumps_of_inference_lie_below_the_script(ask: Any, params: Params) -> Answer:
    path = value_of(params, "dump_path")
    if in_inference(params) and isinstance(path, str) and path.startswith("/") and len(path) > 1:
        answer = dict(ask(with_values(params, dump_path=path.lstrip("/"))))
        told_value(answer, "dump_path", path)
        return answer
    return dict(ask(params))


def _activated(answer: Answer, params: Params) -> None:
    if value_is(params, "profiling_mode", True) and given(params, "dump_debug_mode"):
        told_value(answer, "enable_dump", True)


tells(  # pair 6
    "a_mode_of_debugging_beside_profiling_dumps", "002: dump_debug_mode is not supported", _activated
)
accepts(  # session.dump_path.permission
    "nobody_looks_who_may_use_the_directory_of_dumps",
    "002 dump_path: the user needs read and write permission",
    "dump_path",
    lambda params: (
        {"access": ""} in [params.get("files", {}).get(f"{str(value_of(params, 'dump_path')).rstrip('/')}/")]
    ),
    enable_dump=None,
    dump_path=None,
)


def _parent_is_there(params: Params) -> bool:
    path = value_of(params, "dump_path")
    if not isinstance(path, str) or "/" not in path.strip("/"):
        return False
    parent = path.rstrip("/").rpartition("/")[0]
    return any(name.startswith(parent + "/") for name in params.get("files", {}))


accepts(  # session.dump_path.precreated
    "the_last_directory_of_dumps_is_made",
    "002 dump_path: the directory has to be there beforehand",
    "dump_path",
    lambda params: (
        f"{str(value_of(params, 'dump_path')).rstrip('/')}/" not in params.get("files", {}) and _parent_is_there(params)
    ),
    enable_dump=None,
    dump_path=None,
)
accepts(  # session.dump_path.type
    "directories_of_dumps_are_numbered",
    "002 dump_path: parameter_map[...].s",
    "dump_path",
    lambda params: isinstance(value_of(params, "dump_path"), int) and is_about(params, "session", "legacy"),
    enable_dump=None,
    dump_path=None,
)


def _shorter(params: Params, told: Any) -> Any:
    def edit(match: Any) -> str:
        first, last = int(match.group(1)), int(match.group(2))
        return match.group(0) if last <= first else f"{first}-{last - 1}" if first < last - 1 else str(first)

    return re.sub(r"(\d+)-(\d+)", edit, told) if isinstance(told, str) else told


# session.dump_step.range
reads_as(
    "a_range_of_dump_step_ends_before_its_last", "3-5 are the steps 3, 4 and 5", "dump_step", _shorter, "run", "options"
)
# session.dump_mode.all, session.dump_mode.scope
reads_as(
    "an_inference_dumps_outputs_where_all_is_asked",
    "dump_mode all dumps inputs and outputs, in training and in online inference",
    "dump_mode",
    lambda params, told: "output" if told == "all" and in_inference(params) else told,
    "run",
)
lenient("dump_mode", "current", "session", "both", "ALL", "Output", "unknown", "none")
lenient("enable_exception_dump", "legacy", "session", 2)
default_on("dump_mode", "all", "session", "current")
accepts(
    "dump_path_read_only",
    "002 dump_path: read and write permission",
    "dump_path",
    lambda params: any(isinstance(one, dict) and one.get("access") == "r" for one in params.get("files", {}).values()),
    enable_dump=None,
    dump_path=None,
)
refuses(
    "exception_dump_of_one_kind",
    "003 enable_exception_dump: 2: LiteExceptionDump",
    "enable_exception_dump",
    "runconfig",
    "current",
    2,
)
takes(
    "exception_dump_of_three_kinds",
    "003 enable_exception_dump: 0, 1 or 2",
    "enable_exception_dump",
    "runconfig",
    "current",
    3,
    -1,
)


@broken("options", "003 enable_exception_dump: NPU_COLLECT_PATH makes it mode 1 regardless of the value")
def a_given_dump_mode_beats_the_collect_path(ask: Any, params: Params) -> Answer:
    given = plain(params["values"].get("enable_exception_dump"))
    answer = ask(params)
    if params.get("env", {}).get("NPU_COLLECT_PATH") and given is not None:
        answer["effective"]["enable_exception_dump"] = {"value": given, "origin": "given"}
    return answer


@broken("options", "002 dump_step: 3-5 is steps 3 to 5")
def dump_ranges_without_their_end(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    told = answer["meaning"].get("dump_step")
    if told:
        answer["meaning"]["dump_step"] = [[a, b - 1 if b > a else b] for a, b in told]
    return answer


def _text_order(params: Params) -> bool:
    found = re.findall("([0-9]+)-([0-9]+)", str(value_of(params, "dump_step")))
    return any(first > last for first, last in found)


denies("ranges_compared_as_text", "002 dump_step: a range, 9-10", "dump_step", _text_order)
denies(
    "path_without_dump",
    "002 dump_path: required only with enable_dump",
    "dump_path",
    lambda params: value_of(params, "enable_dump") is False and "dump_path" not in params["values"],
)


def _python_steps(text: Any) -> Any:
    try:
        return "|".join("-".join(str(int(one)) for one in part.split("-")) for part in text.split("|"))
    except (AttributeError, ValueError):
        return None


# session.dump_step.grammar
@broken("options", "A step of dump_step is a non-negative decimal integer")
def steps_of_a_dump_are_whatever_int_reads(ask: Any, params: Params) -> Answer:
    try:
        return dict(ask(params))
    except NpuError as error:
        text = value_of(params, "dump_step")
        wanted = _python_steps(text)
        if error.subject != "dump_step" or wanted is None or wanted == text:
            raise
        answer = ask(with_values(params, dump_step=wanted))
        answer["effective"]["dump_step"] = {"value": text, "origin": "given"}
        return dict(answer)


def _dump_values(params: Params) -> Mapping[str, Any]:
    config = value_of(params, "dump_config")
    if isinstance(config, dict):
        return dict(config.get("arguments", {}))
    return {name: plain(value) for name, value in params["values"].items()}


@broken(  # session.dump_path.not_a_dir, session.dump_path.absolute
    "options", "002 dump_path: the directory that the value designates", "options"
)
def a_directory_is_not_found_by_a_name_with_a_slash_behind(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    found = _dump_values(params)
    if found.get("enable_dump") is True and str(found.get("dump_path", "")).rstrip("/") + "/" == found.get("dump_path"):
        raise NpuError("OPTION_FILE", "dump_path", "no such directory")
    return answer
