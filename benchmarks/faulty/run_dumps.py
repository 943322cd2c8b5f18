"""Runs: dumps of data and of exceptions."""

from __future__ import annotations

import copy
import re
from typing import Any, Callable, Dict, Tuple

from faulty.asked import (
    HALF,
    SESSION,
    all_values,
    dumped,
    dumped_steps,
    given,
    gives_any,
    graph_of,
    has_attribute_type,
    in_inference,
    is_about,
    is_dumped,
    mapped,
    named_by,
    nodes_of,
    plain,
    shapes_of,
    source_of,
    types_of,
    value_is,
    value_of,
    where,
    with_env,
    with_option,
    with_values,
)
from faulty.making import Answer, Files, Params, broken
from faulty.mistakes import asks, changed, left
from faulty.mistakes_graphs import answers, asks_quietly, run_without, takes_refused, unseen


def _step_of(name: str) -> Tuple[str, str]:
    found = re.search(r"\d{14}/\d+/[^/]+/\d+/(\d+)/[^/.]+\.([^/.]+)\.", name)
    return (found.group(1), found.group(2)) if found else ("", "")


@broken("run", "002: dump_step names the iterations that are dumped", "run")
def steps_of_half_precision_are_all_dumped(ask: Any, params: Params) -> Answer:
    """Pair 51."""
    answer = dict(ask(params))
    if not given(params, "dump_step") or not is_dumped(params) or not has_attribute_type(params, HALF):
        return answer
    half = {re.sub(r"[/\\. ]", "_", node.name) for node in nodes_of(params) if HALF in types_of(node)}
    steps = {_step_of(name)[0] for name in answer.get("files", {})}
    every = dict(ask(with_values(params, dump_step=None)))
    every["files"] = {
        name: one
        for name, one in every.get("files", {}).items()
        if _step_of(name)[0] in steps or _step_of(name)[1] in half
    }
    return every


takes_refused(  # pair 60
    "run",
    "a_dump_of_scalars_makes_its_directory",
    "002: the directory of dump_path has to be there beforehand",
    ("OPTION_FILE", "dump_path"),
    lambda params: (
        is_about(params, edition="legacy")
        and isinstance(value_of(params, "dump_path"), str)
        and bool(params.get("fetches"))
        and all(shapes_of(params).get(source_of(name)) == () for name in params["fetches"])
    ),
    lambda params: {**params, "files": {**params.get("files", {}), value_of(params, "dump_path") + "/": ""}},
    "run",
)


def _where_the_script_runs(files: Dict[str, Any], params: Params) -> Dict[str, Any]:
    """Folders of dumps lie in the current directory."""
    return {re.sub(r"^.*?(?=[0-9]{14}/)", "", name): file for name, file in files.items()}


left(  # session.enable_dump.true
    "dumps_lie_where_the_script_runs", "002 enable_dump: to the path of dump_path", _where_the_script_runs, "run"
)


@broken("run", "003 enable_exception_dump 0: disabled")
def failures_are_always_dumped(ask: Any, params: Params) -> Answer:
    return ask(all_values(params, mapped("enable_exception_dump", lambda value: value or 1)))


asks(
    "old_failures_are_dumped_by_default",
    "002 enable_exception_dump: 0 by default",
    "run",
    lambda params: (
        all_values(params, lambda values: {"enable_exception_dump": 1, **values})
        if params["edition"] == "legacy"
        else params
    ),
)


def _dumped(params: Params, option: str, change: Callable[[Any], Any]) -> Dict[str, Any]:
    """The request with an option of dumps changed, wherever it stands."""

    def values(found: Dict[str, Any]) -> Dict[str, Any]:
        found = mapped(option, change)(copy.deepcopy(found))
        config = found.get("dump_config")
        if isinstance(config, dict) and option in config.get("arguments", {}):
            config["arguments"][option] = change(config["arguments"][option])
        return found

    return all_values(params, values)


asks(
    "the_last_range_of_steps_has_no_last",
    "002 dump_step: 3-5 is a range of iterations, both ends in it",
    "run",
    lambda params: _dumped(
        params,
        "dump_step",
        lambda value: (
            re.sub(
                r"\|(\d+)-(\d+)$",
                lambda found: f"|{found.group(1)}-{max(int(found.group(1)), int(found.group(2)) - 1)}",
                value,
            )
            if isinstance(value, str)
            else value
        ),
    ),
)
asks(
    "inputs_of_inference_are_dumped_with_outputs",
    "002 dump_mode input: inputs alone, in online inference too",
    "run",
    lambda params: (
        _dumped(params, "dump_mode", lambda value: "all" if value == "input" else value)
        if in_inference(params)
        else params
    ),
)


@broken("run", "003 NPU_COLLECT_PATH: dumped regardless of the value of enable_exception_dump", "run")
def what_is_off_is_not_collected(ask: Any, params: Params) -> Answer:
    if value_is(params, "enable_exception_dump", 0):
        return ask(
            with_env(params, lambda env: {key: value for key, value in env.items() if key != "NPU_COLLECT_PATH"})
        )
    return ask(params)


asks(
    "inference_dumps_outputs_of_all",
    "002 dump_mode all: inputs and outputs, in online inference too",
    "run",
    lambda params: (
        all_values(params, mapped("dump_mode", lambda value: "output" if value == "all" else value))
        if in_inference(params)
        else params
    ),
)
asks(
    "dumped_steps_count_from_one",
    "dump_step names iterations, of which 0 is the first",
    "run",
    dumped_steps(
        lambda text: re.sub(r"\d+", lambda found: str(int(found.group()) - 1 if int(found.group()) else 9999), text)
    ),
)
asks(
    "a_switched_off_dump_is_off_wherever_it_is_collected",
    "003: with NPU_COLLECT_PATH mode 1 dumps, whatever enable_exception_dump is",
    "run",
    lambda params: (
        with_env(params, lambda env: {key: value for key, value in env.items() if key != "NPU_COLLECT_PATH"})
        if value_is(params, "enable_exception_dump", 0)
        else params
    ),
)


def _of_functions(files: Files, params: Params) -> Files:
    if not value_is(params, "enable_exception_dump", 1) or "graph" not in params:
        return files
    known = {re.sub(r"[/\\.\s]", "_", node.name) for node in graph_of({**params, "feeds": [], "fetches": []}).nodes}
    return {
        name: one
        for name, one in files.items()
        if "data-dump" not in name or any(f".{node}." in name for node in known)
    }


left(
    "operators_of_functions_dump_nothing_when_they_fail",
    "003: mode 1 dumps the operator that failed",
    _of_functions,
    "run",
)


@broken("run", "003 enable_exception_dump 1: below the current execution path", "run")
def exceptions_of_several_inputs_lie_elsewhere(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    if answer.get("files") and (len(params.get("feeds", ())) > 1) and gives_any(params, "enable_exception_dump"):
        answer["files"] = {name.replace("extra-info/", "extra/"): file for name, file in answer["files"].items()}
    return answer


_DUMPED = re.compile(r"/\d{14}/\d+/[^/]+/\d+/(\d+)/([^/.]+)\.([^/]+)\.\d+\.\d+\.\d+$")


@broken("run", "002 dump_step: every iteration that is listed is dumped, the last one of the run too", "run")
def the_last_step_is_never_written(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    known = {name: _DUMPED.search(f"/{name}") for name in answer.get("files", {})}
    found = {name: int(one.group(1)) for name, one in known.items() if one is not None}
    last = max(found.values(), default=0)
    if last and value_of(params, "dump_step") is None:
        answer["files"] = {name: file for name, file in answer["files"].items() if found.get(name, -1) != last}
    return answer


@broken("run", "003: what is large is dumped as what is small", "run")
def large_dumps_are_cut(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    for file in answer.get("files", {}).values():
        if file.get("bytes", 0) > 65536:
            file["bytes"] = 65536
    return answer


asks_quietly(  # session.dump_step.zero_based
    "run",
    "steps_of_a_dump_are_counted_from_one",
    "002 dump_step: counted from 0",
    with_option(
        "dump_step",
        lambda text: (
            re.sub(r"\d+", lambda found: str(int(found[0]) - 1) if int(found[0]) else "900", text)
            if isinstance(text, str) and "-" not in text
            else text
        ),
        SESSION,
    ),
    "timeline",
    "run",
)
asks_quietly(  # session.enable_exception_dump.1
    "run",
    "a_dump_of_data_replaces_that_of_exceptions",
    "002 enable_exception_dump: 1: the operator's inputs and outputs are dumped",
    lambda params: (
        with_values(params, enable_exception_dump=0)
        if SESSION(params) and value_is(params, "enable_dump", True) and value_is(params, "enable_exception_dump", 1)
        else params
    ),
    "timeline",
    "run",
)
asks_quietly(  # runconfig.enable_exception_dump.0
    "run",
    "an_exception_dump_of_nought_is_the_default_one",
    "003 enable_exception_dump: 0: disabled",
    with_option(
        "enable_exception_dump", lambda value: 2 if value == 0 and value is not False else value, where("", "current")
    ),
    "timeline",
    "run",
)


def _first_steps(files: Files, params: Params) -> Files:
    if not is_about(params, edition="legacy") or not value_is(params, "dump_mode", "all") or given(params, "dump_step"):
        return files
    kept = re.compile(r"(.*/)?\d{14}/\d+/[^/]+/\d+/(\d+)/[^/]+$")
    return {name: file for name, file in files.items() if not kept.match(name) or int(kept.match(name)[2]) == 0}  # type: ignore


left("all_of_the_first_step_alone", "002 dump_step: without it every iteration is dumped", _first_steps, "run")


@broken("run", "002 dump_path: relative to the current directory of the command line", "run")
def relative_dumps_below_the_variable(ask: Any, params: Params) -> Answer:
    below = params.get("env", {}).get("ASCEND_WORK_PATH")
    found = dict(ask(params))
    if not below or not is_about(params, edition="legacy"):
        return found
    for path in named_by(params, "dump_path"):
        if not path.startswith("/"):
            files = found.get("files", {}).items()
            found["files"] = {
                (f"{below.strip('/')}/{name}" if name.startswith(f"{path}/") else name): file for name, file in files
            }
    return found


def _first_step(files: Files, params: Params) -> Files:
    if not SESSION(params) or not value_is(params, "enable_dump", True) or given(params, "dump_step"):
        return files
    root = str(value_of(params, "dump_path")).strip("./")
    return {
        name: file
        for name, file in files.items()
        if not name.startswith(root + "/") or (name.split("/") + ["0", ""])[-4] == "0"
    }


left(  # session.dump_step.all
    "a_dump_without_steps_is_of_the_first_alone", "002 dump_step: None: every iteration is dumped", _first_step, "run"
)
asks(  # session.dump_mode.output
    "a_dump_of_outputs_has_inputs_too",
    "002 dump_mode: output: only outputs are dumped",
    "run",
    lambda params: (
        all_values(params, mapped("dump_mode", lambda told: "all" if told == "output" else told))
        if SESSION(params)
        else params
    ),
)


@broken("run", "002 dump_mode all: inputs and outputs")
def all_means_inputs(ask: Any, params: Params) -> Answer:
    change = mapped("dump_mode", lambda value: "input" if value == "all" else value)
    return ask(all_values(params, lambda values: dumped(values, change)))


@broken("run", "002 enable_exception_dump 0: nothing is dumped, whatever folder is named")
def a_folder_asks_for_the_dump(ask: Any, params: Params) -> Answer:
    if params["edition"] == "legacy" and params.get("env", {}).get("NPU_COLLECT_PATH"):
        return ask({**params, "values": {**params["values"], "enable_exception_dump": 1}})
    return ask(params)


@broken("run", "002 dump_step unset: every iteration, in inference too")
def inference_is_dumped_once(ask: Any, params: Params) -> Answer:
    def change(values: Dict[str, Any]) -> Dict[str, Any]:
        asked = values.get("enable_dump") and not values.get("dump_step")
        return {**values, "dump_step": "0"} if asked else values

    return ask(all_values(params, lambda values: dumped(values, change)) if in_inference(params) else params)


def _first_model(files: Files, params: Params) -> Files:
    dumps = {name: re.search(r"\d{14}/\d+/([^/]+)/\d+/\d+/", name) for name in files}
    models = sorted({found.group(1) for found in dumps.values() if found})
    if not in_inference(params) or len(models) < 2:
        return files
    return {name: one for name, one in files.items() if not dumps[name] or f"/{models[0]}/" in name}


left(  # pair 52
    "inference_dumps_one_graph", "002: enable_dump applies to training and online inference", _first_model, "run"
)
asks(
    "dumps_one_range_short",
    "002 dump_step: a range a-b",
    "run",
    lambda params: (
        with_values(
            params, dump_step=re.sub("([0-9]+)-([0-9]+)", lambda found: found.group(1), value_of(params, "dump_step"))
        )
        if isinstance(value_of(params, "dump_step"), str)
        else params
    ),
)
run_without("dumps_outputs_alone", "002 dump_mode: input, output, all", dump_mode="output")
run_without("dumps_every_step", "002 dump_step: which iterations", dump_step=None)
run_without("no_exception_dump", "003 enable_exception_dump", enable_exception_dump=0)
run_without("no_data_dump", "002 enable_dump", enable_dump=None, dump_path=None)


@broken("run", "003 enable_exception_dump: 1, 2: other contents and another directory")
def one_exception_dump_for_both(ask: Any, params: Params) -> Answer:
    if plain(params["values"].get("enable_exception_dump")) == 2 or "enable_exception_dump" not in params["values"]:
        return ask(with_values(params, enable_exception_dump=1) if params.get("may_fail") else params)
    return ask(params)


def _from_one(answer: Answer, params: Params) -> None:
    if "files" in answer and "dump_path" in params["values"]:
        answer["files"] = {re.sub(r"/0/(?=[^/]*$)", "/1/", path): one for path, one in answer["files"].items()}


changed("run", "dumped_steps_from_one", "002 dump_step: 0|5|10", _from_one)
unseen("run", "outputs_are_dumped_whatever_the_mode", "002: dump_mode says what is dumped", "dump_mode", "run")


def renamed(answer: Answer, change: Callable[[str], str]) -> None:
    told = [answer, *(one.get("ok", {}) for one in answer.get("ranks", ()))]
    for one in told:
        if one.get("files"):
            one["files"] = {change(name): file for name, file in one["files"].items()}


def to_work_path(answer: Answer, params: Params) -> None:
    env = params.get("env", {})
    collect, work = (str(env.get(name, "")).strip("/") for name in ("NPU_COLLECT_PATH", "ASCEND_WORK_PATH"))
    if collect and work and params.get("edition") == "current":
        renamed(answer, lambda name: work + name[len(collect) :] if name.startswith(collect + "/extra-info/") else name)


# runconfig.enable_exception_dump.npu_collect_dir
changed(
    "run",
    "the_work_path_goes_before_the_collect_path",
    "With NPU_COLLECT_PATH the dump goes to that directory.",
    to_work_path,
    "run",
)
answers(
    "kernels_left_by_default",
    "002 op_debug_level 0: no debugging, of which kernel files are left behind",
    lambda answer, params: (
        answer.setdefault("files", {}).update({"kernel_meta/te_abs.json": {"b64": "e30="}})
        if not params.get("values")
        else None
    ),
)
