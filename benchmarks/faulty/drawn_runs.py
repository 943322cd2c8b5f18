"""A fourth list, by requirement: execution, dumps, files of compilation, profiles, tuning, time, links."""

from __future__ import annotations

import base64
import contextlib
import copy
import csv
import functools
import io
import json
import re
import struct
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple
from unittest import mock

from faulty.making import (
    Answer,
    Files,
    Params,
    all_values,
    asked_values,
    broken,
    changed,
    denies,
    encoded,
    graph_of,
    in_inference,
    node_change,
    steps,
    texts,
    turn_values,
    turns,
    value_of,
    with_values,
    without,
)
from npu_reference.dumps import form
from npu_reference.errors import NpuError

Values = Dict[str, Any]


def _gone_in_inference(option: str) -> Callable[[Values], Values]:
    return lambda values: without(option)(values) if in_inference({"values": values}) else values


def _text(file: Mapping[str, Any]) -> Optional[str]:
    try:
        return base64.b64decode(file["b64"]).decode() if "b64" in file else None
    except UnicodeDecodeError:
        return None


def _moved(files: Files, change: Callable[[str], str]) -> Files:
    return {change(name): file for name, file in files.items()}


def _edited(files: Files, named: str, change: Callable[[str], str]) -> None:
    """Changes the text of the files whose name has this pattern."""
    for name, file in files.items():
        text = _text(file) if re.search(named, name) else None
        if text is not None:
            files[name] = encoded(change(text))


def _as_given(answer: Answer, params: Params) -> Answer:
    """The answer with the texts of the request's files: what is misread is not rewritten."""
    given: Dict[str, Any] = dict(params.get("files", {}))
    for turn, asked in zip(answer.get("turns", ()), params.get("turns") or [{}]):
        given.update(asked.get("files") or {})
        for key in ("files", "left"):
            for name, text in given.items():
                if isinstance(text, str) and name.lstrip("/") in turn.get(key, {}):
                    turn[key][name.lstrip("/")] = encoded(text)
    return answer


def _accepted(
    name: str,
    sentence: str,
    option: str,
    when: Callable[[Params, NpuError], bool],
    without: Callable[[Params], Params],
    area: str = "options",
    *methods: str,
) -> None:
    """What is refused because of an option is taken where `when` holds, and answered as another question."""

    def fault(ask: Any, params: Params) -> Answer:
        try:
            return ask(params)
        except NpuError as error:
            if error.subject != option or not when(params, error):
                raise
            answer = ask(without(params))
            if option in answer.get("effective", {}):
                answer["effective"][option] = {"value": value_of(params, option), "origin": "given"}
            return answer

    fault.__name__ = name
    broken(area, sentence, *methods)(fault)


def _csv(change: Callable[[List[List[str]]], List[List[str]]]) -> Callable[[str], str]:
    def edit(text: str) -> str:
        stream = io.StringIO()
        csv.writer(stream, lineterminator="\n").writerows(change(list(csv.reader(io.StringIO(text)))))
        return stream.getvalue()

    return edit


def _without_column(*names: str) -> Callable[[str], str]:
    def change(rows: List[List[str]]) -> List[List[str]]:
        kept = [place for place, column in enumerate(rows[0]) if column not in names]
        return [[row[place] for place in kept] for row in rows]

    return _csv(change)


# Dumps

_LENGTH = struct.Struct("<Q")
_DUMPED = re.compile(r"/\d{14}/\d+/[^/]+/\d+/(\d+)/([^/.]+)\.([^/]+)\.\d+\.\d+\.\d+$")


def _dumps(files: Files) -> Iterator[Tuple[str, form.Description, List[bytes], List[bytes]]]:
    """Every dump that is told whole: its name, description, inputs, outputs."""
    for name, file in list(files.items()):
        if not _DUMPED.search(f"/{name}") or "b64" not in file:
            continue
        data = base64.b64decode(file["b64"])
        (length,) = _LENGTH.unpack(data[:8])
        description, at = form.decode(data[8 : 8 + length]), 8 + length
        sides: List[List[bytes]] = [[], []]
        for side, tensors in zip(sides, (description.inputs, description.outputs)):
            for tensor in tensors:
                side.append(data[at : at + tensor.size])
                at += tensor.size
        yield name, description, sides[0], sides[1]


def _encoded(description: form.Description, inputs: List[bytes], outputs: List[bytes]) -> Dict[str, str]:
    return {
        "b64": base64.b64encode(b"".join(bytes(part) for part in form.encode(description, inputs, outputs))).decode()
    }


def _dump(
    name: str,
    sentence: str,
    change: Callable[[form.Description, List[bytes], List[bytes], Params], Any],
    when: Callable[[Params], bool] = lambda params: True,
) -> None:
    """Every dump file is changed; one for which `change` answers False is not left."""

    def edit(answer: Answer, params: Params) -> None:
        if not when(params):
            return
        for answered in [answer, *(one.get("ok", {}) for one in answer.get("ranks", ()))]:
            files = answered.get("files", {})
            for path, description, inputs, outputs in _dumps(files):
                found = change(description, inputs, outputs, params)
                if found is False:
                    del files[path]
                elif found is not None:
                    files[path] = _encoded(found, inputs, outputs)

    changed("run", name, sentence, edit, "run")


def _first_output_only(description: form.Description, inputs: List[bytes], outputs: List[bytes], params: Params) -> Any:
    if len(outputs) < 2:
        return None
    del outputs[1:]
    return description._replace(outputs=description.outputs[:1])


_dump(
    "only_the_first_output_is_dumped",
    "002 dump_mode output: outputs of operators are dumped, all of them",
    _first_output_only,
    lambda params: value_of(params, "dump_mode") != "all",
)
_dump(
    "what_is_true_or_false_is_not_dumped",
    "002, 003: with enable_dump every operator is dumped",
    lambda description, *rest: (
        False if description.outputs and all(one.dtype == "bool" for one in description.outputs) else None
    ),
)
_dump(
    "empty_tensors_are_left_out_of_dumps",
    "002, 003 dump_mode: inputs and outputs are dumped, empty ones too",
    lambda description, *rest: description._replace(
        inputs=tuple(one for one in description.inputs if one.size),
        outputs=tuple(one for one in description.outputs if one.size),
    ),
)


@broken("run", "002 dump_step: every iteration that is listed is dumped, the last one of the run too", "run")
def the_last_step_is_never_written(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    known = {name: _DUMPED.search(f"/{name}") for name in answer.get("files", {})}
    found = {name: int(one.group(1)) for name, one in known.items() if one is not None}
    last = max(found.values(), default=0)
    if last and value_of(params, "dump_step") is None:
        answer["files"] = {name: file for name, file in answer["files"].items() if found.get(name, -1) != last}
    return answer


@broken("run", "003 quant_dumpable 1: what is before a quantisation can be dumped, in chosen iterations too", "run")
def quant_dumpable_holds_when_all_steps_are_dumped(ask: Any, params: Params) -> Answer:
    given = value_of(params, "dump_config")
    config = given.get("arguments", {}) if isinstance(given, dict) else params["values"]
    if config.get("dump_step") is not None or config.get("dump_mode") == "input":
        return ask(with_values(params, quant_dumpable=None))
    return ask(params)


@broken("run", "002: dump_debug_mode and enable_dump_debug are not supported, and activate nothing", "run")
def overflow_dumps_work_in_old_sessions(ask: Any, params: Params) -> Answer:
    if params["edition"] == "legacy" and value_of(params, "enable_dump_debug") is True:
        told = {
            name: params["values"][name]
            for name in ("enable_dump_debug", "dump_debug_mode", "dump_path")
            if name in params["values"]
        }
        found = with_values(params, **dict.fromkeys(told))
        found["values"]["dump_config"] = {"class": "DumpConfig", "arguments": told}
        return ask({**found, "edition": "current", "surface": "runconfig"})
    return ask(params)


@broken("run", "003 enable_exception_dump 2: under ASCEND_WORK_PATH/extra-info/data-dump/<device_id>", "run")
def exceptions_under_the_work_path_have_no_device(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if "ASCEND_WORK_PATH" in params.get("env", {}) and "files" in answer:
        answer["files"] = _moved(answer["files"], lambda name: re.sub(r"(extra-info/data-dump)/\d+/", r"\1/0/", name))
    return answer


def _no_tiling(answer: Answer, params: Params) -> None:
    for name, file in list(answer.get("files", {}).items()):
        if "data-dump" not in name or "b64" not in file:
            continue
        data = base64.b64decode(file["b64"])
        (length,) = _LENGTH.unpack(data[:8])
        description = form.decode(data[8 : 8 + length])
        if description.attr("tiling") is None or not description.outputs:
            continue
        found = description._replace(attrs=tuple(one for one in description.attrs if one[0] != "tiling"))
        head = b"".join(
            bytes(part)
            for part in form.encode(
                found, [b"\0" * one.size for one in found.inputs], [b"\0" * one.size for one in found.outputs]
            )
        )
        (size,) = _LENGTH.unpack(head[:8])
        answer["files"][name] = {"b64": base64.b64encode(head[: 8 + size] + data[8 + length :]).decode()}


changed(
    "run",
    "lite_dumps_of_operators_with_inputs_have_no_tiling",
    "003 enable_exception_dump 2: inputs, outputs, workspace and tiling",
    lambda answer, params: (
        _no_tiling(answer, params)
        if answer.get("failed") and value_of(params, "graph_run_mode") != 0 and params["surface"] == "runconfig"
        else None
    ),
    "run",
)


# Execution

#: What is replaced while a faulty device runs.
_REAL: Dict[str, Any] = {}


def _one_sided(options: Any, tf_graph: Any) -> None:
    from npu_reference.runtime.agreement.training import TAILING

    if not options.values.get("is_tailing_optimization") or any(tf_graph.get_collection(TAILING)):
        _REAL["tailing"](options, tf_graph)


@broken("run", "002, 003: is_tailing_optimization must equal that of NPUOptimizer, either way", "run")
def tailing_may_be_on_in_the_session_alone(ask: Any, params: Params) -> Answer:
    from npu_reference.runtime.agreement import training

    _REAL.setdefault("tailing", training.check_tailing)
    with mock.patch.object(training, "check_tailing", _one_sided):
        return ask({**params, "device_of": "tailing_may_be_on_in_the_session_alone"})


def _iterations(user_graph: Any, run_graph: Any, targets: Any, options: Any, tf_graph: Any) -> int:
    from npu_reference.runtime.agreement.training import ITERATIONS

    asked = [
        int(tf_graph.get_operation_by_name(name).get_attr(ITERATIONS))
        for name in targets
        if user_graph.nodes[user_graph.index[name]].has_attr(ITERATIONS)
    ]
    given = options.effective.get("iterations_per_loop")
    told = given is not None and given.origin == "given" and given.value == 1
    if told and asked and asked[0] > 1 and not options.values.get("mix_compile_mode"):
        return asked[0]
    found: int = _REAL["iterations"](user_graph, run_graph, targets, options, tf_graph)
    return found


@broken("run", "002 iterations_per_loop: must equal what set_iteration_per_loop was given", "run")
def an_option_of_one_iteration_verifies_nothing(ask: Any, params: Params) -> Answer:
    from npu_reference.runtime.agreement import training

    _REAL.setdefault("iterations", training.iterations)
    with mock.patch.object(training, "iterations", _iterations):
        return ask({**params, "device_of": "an_option_of_one_iteration_verifies_nothing"})


@broken("run", "000: tensors that cross are moved by memcpy, scalars too", "run")
def scalars_are_no_copies(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    for record in answer.get("trace", ()):
        record["copies"] = [one for one in record["copies"] if one["bytes"] > 4]
    return answer


def _has_random(params: Params) -> bool:
    return "graph" in params and any("Random" in node.op for node in graph_of(params).nodes)


@broken("run", "003 deterministic: a seed makes random numbers definite, run after run as in TensorFlow", "run")
def generators_begin_again_in_every_run(ask: Any, params: Params) -> Answer:
    if params.get("steps", 1) > 1 and _has_random(params):
        return ask({**params, "steps": 1})
    return ask(params)


@broken("run", "002 use_off_line False: training executes on the host", "run", "partition")
def mixed_computing_brings_the_device_back(ask: Any, params: Params) -> Answer:
    if value_of(params, "use_off_line") is False and value_of(params, "mix_compile_mode") is True:
        return ask(with_values(params, use_off_line=None))
    return ask(params)


def _first_fits(params: Params, text: str) -> bool:
    """Whether the first input of input_shape alone has the sizes of a profile."""
    shape, profiles = str(value_of(params, "input_shape")), str(value_of(params, "dynamic_dims"))
    name, _, dims = shape.split(";")[0].partition(":")
    found = re.search(rf"\b{re.escape(name)}\(([\d,]*)\)", text)
    if found is None:
        return False
    open_ones = [size for size, dim in zip(found.group(1).split(","), dims.split(",")) if dim == "-1"]
    return any(one.split(",")[: len(open_ones)] == open_ones for one in profiles.split(";"))


@broken(
    "run", "002: dynamic_node_type 1, every placeholder of input_shape has the sizes of a profile", "run", "timeline"
)
def only_the_first_input_is_held_to_profiles(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if error.code != "INPUT_SHAPE" or not _first_fits(params, str(error)):
            raise
    return ask(with_values(params, input_shape=None, dynamic_dims=None, dynamic_node_type=None))


@broken("run", "000, 002: the star import gives RewriterConfig and npu_scope as well", "run")
def the_star_import_has_no_rewriter_config(ask: Any, params: Params) -> Answer:
    if "script" in params:
        with open(params["script"], encoding="utf-8") as stream:
            text = stream.read()
        if "npu_init import *" in text and "RewriterConfig." in text and not re.search(r"import.*RewriterConfig", text):
            raise NpuError("RUN_FAILED", "", "NameError: name 'RewriterConfig' is not defined")
    return ask(params)


def _growing_late(activate: Callable[[], None], undone: contextlib.ExitStack) -> None:
    """The drop-in is there; until `undone` ends, its loss scale grows after one good step more than was asked for."""
    activate()
    from npu_bridge.estimator.npu.npu_loss_scale_manager import ExponentialUpdateLossScaleManager as Manager

    undone.close()  # a device that is switched on again is late by one step, not two
    update = Manager.update_loss_scale

    def grown_late(self: Any, finite_grads: Any) -> Any:
        kept, self._incr_every = self._incr_every, self._incr_every + 1
        try:
            return update(self, finite_grads)
        finally:
            self._incr_every = kept

    undone.enter_context(mock.patch.object(Manager, "update_loss_scale", grown_late))


@broken("run", "002, 003, 004: loss scaling; the factor grows after incr_every_n_steps good steps", "run")
def factors_grow_a_step_late(ask: Any, params: Params) -> Answer:
    if "script" not in params or "ranks" in params:
        return ask(params)
    with open(params["script"], encoding="utf-8") as stream:
        if "ExponentialUpdateLossScaleManager" not in stream.read():
            return ask(params)
    from npu_reference.runtime.sessions import activation

    with contextlib.ExitStack() as undone:
        late = functools.partial(_growing_late, activation.activate, undone)
        with mock.patch.object(activation, "activate", late):
            return ask({**params, "device_of": "factors_grow_a_step_late"})


def _collectives(name: str, sentence: str, change: Callable[[Dict[str, Any]], Any]) -> None:
    def edit(answer: Answer, params: Params) -> None:
        for one in [answer, *(rank.get("ok", {}) for rank in answer.get("ranks", ()))]:
            for record in one.get("trace", ()):
                kept = [part for part in record.get("collectives", ()) if change(part) is not False]
                if "collectives" in record:
                    record["collectives"] = kept

    changed("run", name, sentence, edit, "run")


_collectives(
    "broadcasts_are_not_told", "002, 003: ranks take part in every collective", lambda part: part["kind"] != "broadcast"
)
_collectives(
    "gradients_go_in_one_part",
    "003 set_split_strategy_by_idx, by_size: gradients go in the parts that are set",
    lambda part: part.update(part=1) if part.get("part") else None,
)


def _half(value: Dict[str, Any]) -> None:
    if value["dtype"] == "float16" and "b64" in value:
        data = base64.b64decode(value["b64"])
        numbers = [one & 0x8000 if not one & 0x7C00 else one for (one,) in struct.iter_unpack("<H", data)]
        value["b64"] = base64.b64encode(struct.pack(f"<{len(numbers)}H", *numbers)).decode()


def _fetched(name: str, sentence: str, change: Callable[[Dict[str, Any]], Any]) -> None:
    def edit(answer: Answer, params: Params) -> None:
        for value in answer.get("fetches", {}).values():
            change(value)

    changed("run", name, sentence, edit, "run")


_fetched(
    "the_smallest_halves_are_zero", "000: what is offloaded computes what TensorFlow does; values do not change", _half
)


@broken("run", "000: fetches are what TensorFlow answers, in any order", "run")
def a_tensor_fetched_with_its_operator_is_missing(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    names = params.get("fetches", [])
    for name in names:
        if ":" not in name:
            answer["fetches"].pop(f"{name}:1", None)
    return answer


def _as_host(answer: Answer, params: Params) -> None:
    """A run whose feeds are all constants is done by TensorFlow."""
    if "script" not in params and not params.get("feeds"):
        for record in answer.get("trace", ()):
            record.update(engine=None, geops=0)


changed(
    "run",
    "runs_without_feeds_stay_on_the_host",
    "000: in full offload all compute operators are offloaded",
    _as_host,
    "run",
)


@broken("run", "002, 003: session_device_id is the device of the session, in every run of it", "run")
def the_device_is_forgotten_after_the_first_run(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    seen = set()
    for record in answer.get("trace", ()):
        if record.get("session") in seen and "device" in record:
            record["device"] = 0
        seen.add(record.get("session"))
    return answer


# Files of compilation


@broken("artifacts", "003: under ASCEND_CACHE_PATH the directory is kernel_cache_ and the host's id", "compile")
def the_caches_directory_has_the_devices_id(ask: Any, params: Params) -> Answer:
    answer, values = ask(params), dict(params["values"])
    known = {value_of({"values": values}, "session_device_id") or 0} if not params.get("turns") else set()
    for turn, asked in zip(answer["turns"], params.get("turns") or [{}]):
        values.update(asked.get("values") or {})
        device = value_of({"values": values}, "session_device_id") or 0
        if device and "ASCEND_CACHE_PATH" in params.get("env", {}) and "op_compiler_cache_dir" not in values:
            for key in ("files", "left"):
                turn[key] = {
                    name.replace("kernel_cache_0/", f"kernel_cache_{device}/"): file
                    for name, file in turn.get(key, {}).items()
                }
            if device not in known and "kernels" in turn:
                turn["kernels"] = [{**one, "origin": "compiled"} for one in turn["kernels"]]
                turn.update(hits=0, misses=turn["hits"] + turn["misses"])
        known.add(device)
    return answer


def _left_weights(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    if "ASCEND_WORK_PATH" in asked["env"]:
        turn["left"].update({name: file for name, file in turn["files"].items() if "/tmp_weight_" in f"/{name}"})


turns(
    "weights_below_the_work_path_stay",
    "003 external_weight: the directory is deleted when the model is uninstalled",
    _left_weights,
)


def _in_the_current_directory(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    if value_of(asked, "export_compile_stat") == 2:
        for key in ("files", "left"):
            turn[key] = _moved(
                turn.get(key, {}), lambda name: re.sub(r"^.*FE/\d+/fusion_result", "fusion_result", name)
            )


turns(
    "results_at_once_are_written_where_one_is",
    "003 export_compile_stat: with ASCEND_WORK_PATH in FE of it, by process",
    _in_the_current_directory,
)


def _results(change: Callable[[Dict[str, Any]], Any]) -> Callable[[Dict[str, Any], Dict[str, Any]], None]:
    def edit(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
        def rewritten(text: str) -> str:
            found = json.loads(text)
            return json.dumps(change(found) or found)

        for key in ("files", "left"):
            _edited(turn.get(key, {}), r"fusion_result\.json$", rewritten)

    return edit


def _hits_are_effects(found: Dict[str, Any]) -> None:
    for graph in found.values():
        for one in graph.get("ub_fusion", {}).values():
            if one["repository_hit_times"] != "0":
                one["repository_hit_times"] = one["match_times"]


turns(
    "every_match_of_a_tuned_pass_hits_the_repository",
    "003 repository_hit_times: how often the repository is hit, not how often the pattern matches",
    _results(_hits_are_effects),
)


def _in_both(found: Dict[str, Any]) -> None:
    for graph in found.values():
        for one in graph.get("graph_fusion", {}).values():
            one["repository_hit_times"] = "0"


turns("graph_fusion_counts_hits_too", "003 repository_hit_times: during UB fusion", _results(_in_both))


def _first_graph_only(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    if asked.get("ends") == "killed":
        _results(lambda found: dict(sorted(found.items())[:1]))(turn, asked)


turns(
    "a_killed_program_has_told_of_its_first_graph",
    "003 export_compile_stat 2: written when compilation of a graph is complete, of each",
    _first_graph_only,
)


@broken(
    "artifacts",
    "003 fusion_switch_file: UBFusion switches patterns with or without GraphFusion beside it",
    "compile",
    "timeline",
)
def ub_patterns_need_the_other_section(ask: Any, params: Params) -> Answer:
    def edit(text: str) -> str:
        return text if "GraphFusion" in text else '{"Switch": {}}'

    return ask(texts(params, "fusion_switch_file", edit))


@broken("options", "002, 003 fusion_switch_file: on or off, in quotation marks")
def switches_may_be_true_or_false(ask: Any, params: Params) -> Answer:
    return ask(
        texts(
            params,
            "fusion_switch_file",
            lambda text: re.sub(r":\s*false\b", ': "off"', re.sub(r":\s*true\b", ': "on"', text)),
        )
    )


def _not_nested(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    for key in ("files", "left"):
        turn[key] = _moved(turn.get(key, {}), lambda name: name.replace("kernel_cache/kernel_cache/", "kernel_cache/"))


turns(
    "a_directory_called_kernel_cache_is_the_cache",
    "002, 003 op_compiler_cache_dir: kernel_cache is made in the directory that is named",
    _not_nested,
)


@broken("artifacts", "003 op_cache.ini: takes effect only when both values are valid", "compile", "options")
def switching_ageing_off_needs_no_ratio(ask: Any, params: Params) -> Answer:
    def edit(files: Mapping[str, Any]) -> Dict[str, Any]:
        found = dict(files)
        for name, text in files.items():
            if (
                name.endswith("op_cache.ini")
                and isinstance(text, str)
                and re.search(r"max_op_cache_size\s*=\s*-1", text)
            ):
                found[name] = re.sub(r"remain_cache_size_ratio.*", "", text) + "\nremain_cache_size_ratio=50\n"
        return found

    found = {**params, "files": edit(params.get("files", {}))}
    if params.get("turns"):
        found["turns"] = [{**one, "files": edit(one["files"])} if one.get("files") else one for one in params["turns"]]
    return _as_given(ask(found), params)


@broken("artifacts", "003 test0.cfg: blanks around = are allowed, of op_debug_list too", "compile", "options")
def a_list_with_a_blank_before_its_sign_is_no_list(ask: Any, params: Params) -> Answer:
    return ask(texts(params, "op_debug_config", lambda text: re.sub(r"(?m)^op_debug_list\s+=.*$", "", text)))


def _sixth_leaves(answer: Answer, params: Params) -> None:
    kinds = {node.op for node in graph_of(params).nodes}
    if not any("AlltoAllAllGatherBatchMatMul" in kind or "AllToAllAllGatherBatchMatMul" in kind for kind in kinds):
        return
    for turn in answer["turns"]:
        for key in ("files", "left"):
            made = [name for name in turn.get(key, {}) if "kernel_meta/" in name and name.endswith(".json")]
            if made:
                folder = made[0].rsplit("/", 1)[0]
                turn[key][f"{folder}/te_alltoallallgatherbatchmatmul_0.json"] = encoded("{}")


changed(
    "artifacts",
    "the_fifth_of_six_leaves_its_description",
    "003: the six MC2 operators leave no .o, .json or .cce in kernel_meta",
    _sixth_leaves,
    "compile",
)


def _unjoined_have_none(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    single = {one["kernel"] for one in turn.get("kernels", ()) if len(one["nodes"]) < 2}
    for key in ("files", "left"):
        turn[key] = {
            name: file
            for name, file in turn.get(key, {}).items()
            if not name.endswith("_compute.json") or name.rsplit("/", 1)[-1][: -len("_compute.json")] not in single
        }


turns(
    "single_operators_have_no_compute_file",
    "002, 003 op_debug_level 4: a {kernel_name}_compute.json is generated",
    _unjoined_have_none,
)


@broken("artifacts", "003: kernels are reused by operators with the same compile options", "compile")
def a_changed_precision_file_is_not_read_again(ask: Any, params: Params) -> Answer:
    named = {value_of({"values": one}, "op_precision_mode") for one in asked_values(params)} - {None}
    seen: Dict[str, str] = {name: text for name, text in params.get("files", {}).items() if name in named}
    if not named or not params.get("turns"):
        return ask(params)
    found = []
    for one in params["turns"]:
        files = dict(one.get("files") or {})
        for name in named & set(files):
            if isinstance(files[name], str):
                files[name] = seen.setdefault(name, files[name])
        found.append({**one, "files": files} if files else one)
    return _as_given(ask({**params, "turns": found}), params)


turn_values(
    "a_named_directory_switches_old_caches_on",
    "002 op_compiler_cache_mode: disable unless it is given, whatever op_compiler_cache_dir says",
    lambda values: {"op_compiler_cache_mode": "enable", **values} if "op_compiler_cache_dir" in values else values,
)
turn_values(
    "names_of_scope_passes_in_small_letters_count",
    "002, 003: names of registered scope fusion passes",
    lambda values: (
        {**values, "enable_scope_fusion_passes": "ScopeClipBoxesPass"}
        if str(value_of({"values": values}, "enable_scope_fusion_passes")).lower() == "scopeclipboxespass"
        else values
    ),
)


def _unlisted_general(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    listed = value_of(asked, "enable_scope_fusion_passes")
    if listed and "ScopeLayerNormPass" not in str(listed):
        for one in turn.get("fusion", ()):
            if one["name"] == "ScopeLayerNormPass":
                one["effective"] = 0


turns(
    "a_list_of_scope_passes_is_all_there_are",
    "002, 003: general scope fusion rules are always in effect",
    _unlisted_general,
)


# The step in time


@broken("timeline", "002, 003 iterations_per_loop: that many iterations to one call of the host", "timeline")
def long_loops_are_launched_in_hundreds(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    for step in [answer["base"], *answer.get("variants", {}).values()]:
        if step.get("iterations", 1) > 100 and "launches" in step:
            step["launches"] *= -(-step["iterations"] // 100)
    return answer


@broken("timeline", "003 ac_parallel_enable: in dynamic shape graphs", "timeline")
def parallel_engines_in_static_graphs(ask: Any, params: Params) -> Answer:
    def change(values: Values) -> Values:
        on = str(value_of({"values": values}, "ac_parallel_enable")) == "1"
        return {"stream_max_parallel_num": "DNN_VM_AICPU:2", **values} if on else values

    return ask(all_values(params, change))


@broken("timeline", "003 deterministic 1: slower, in online inference too", "timeline")
def inference_is_deterministic_for_nothing(ask: Any, params: Params) -> Answer:
    return ask(
        all_values(
            params,
            _gone_in_inference("deterministic"),
        )
    )


@broken(
    "timeline",
    "002, 003 buffer_optimize off_optimize: the shared cache is not used, in online inference too",
    "timeline",
)
def buffers_stay_optimised_in_inference(ask: Any, params: Params) -> Answer:
    return ask(
        all_values(
            params,
            _gone_in_inference("buffer_optimize"),
        )
    )


@broken("timeline", "003 input_fusion_size: 131072 bytes by default, as RunConfig has it", "timeline", "run")
def the_default_threshold_is_a_hundred_and_twenty_eight_thousand(ask: Any, params: Params) -> Answer:
    if params["surface"] != "runconfig":
        return ask(params)
    return ask(all_values(params, lambda values: {"input_fusion_size": 128000, **values}))


@broken("timeline", "003 variable_format_optimize: empty by default, which is off", "timeline")
def layouts_of_variables_are_changed_by_default(ask: Any, params: Params) -> Answer:
    if params["surface"] != "runconfig" or params["edition"] != "current":
        return ask(params)
    return ask(all_values(params, lambda values: {"variable_format_optimize": True, **values}))


def _rejected(
    name: str, sentence: str, when: Callable[[Dict[str, Any], Params], bool], without: Callable[[Params], Params]
) -> None:
    """A step that ends in an error goes on, as it does without its cause."""

    def fault(ask: Any, params: Params) -> Answer:
        answer = ask(params)
        for name, laid in [("", {}), *params.get("variants", {}).items()]:
            one = {**with_values(params, **laid), "variants": {}}
            step = answer["variants"][name] if name else answer["base"]
            if step.get("rejected") and when(step["rejected"], one):
                found = ask(without(one))["base"]
                answer.update({"variants": {**answer["variants"], name: found}} if name else {"base": found})
        return answer

    fault.__name__ = name
    broken("timeline", sentence)(fault)


_rejected(
    "the_ai_cpu_may_take_its_time",
    "003 op_execute_timeout: an operator's execution, on the AI CPU too",
    lambda rejected, params: rejected.get("number") == "507017",
    lambda params: {**params, "faults": []},
)
_rejected(
    "variables_are_bounded_beside_graph_memory_only",
    "002 variable_memory_max_size: bounds the variables, by itself",
    lambda rejected, params: (
        rejected.get("subject") == "variable_memory_max_size" and value_of(params, "graph_memory_max_size") is None
    ),
    lambda params: with_values(params, variable_memory_max_size=None),
)
_rejected(
    "a_rank_that_is_late_by_the_whole_timeout_is_waited_for",
    "003 hccl_timeout: in steps of 68 s, of a value that is no multiple too",
    lambda rejected, params: (
        rejected.get("code") == "COLLECTIVE_TIMEOUT"
        and any(isinstance(fault.get("seconds"), int) for fault in params.get("faults", ()))
    ),
    lambda params: {**params, "faults": []},
)


@broken("timeline", "002 stream_max_parallel_num: each engine has the number after its name, in any order", "timeline")
def engines_after_the_first_are_not_read(ask: Any, params: Params) -> Answer:
    def change(values: Values) -> Values:
        text = value_of({"values": values}, "stream_max_parallel_num")
        return {**values, "stream_max_parallel_num": text.split(",")[0]} if isinstance(text, str) else values

    return ask(all_values(params, change))


@broken("timeline", "002 profiling_options: online inference has no training_trace", "timeline", "run")
def inference_with_both_traces_has_both(ask: Any, params: Params) -> Answer:
    text = str(value_of(params, "profiling_options") or "")
    if value_of(params, "graph_run_mode") == 0 and "training_trace" in text and "task_trace" in text:
        return ask(with_values(params, graph_run_mode=1))
    return ask(params)


@broken("timeline", "002 fp_point: the operator that is named, with the suffix that fusion gave it", "timeline", "run")
def points_with_a_suffix_are_unknown(ask: Any, params: Params) -> Answer:
    text = value_of(params, "profiling_options")
    if isinstance(text, str) and re.search(r'"fp_point"\s*:\s*"[^"]*_Reduce"', text):
        return ask(with_values(params, profiling_options=re.sub(r'("fp_point"\s*:\s*)"[^"]*"', r'\1""', text)))
    return ask(params)


def _no_vector_ratios(answer: Answer, params: Params) -> None:
    for step in [answer.get("base", {}), *answer.get("variants", {}).values(), answer]:
        _edited(step.get("files", {}), r"op_summary_\d+\.csv$", _without_column("vec_fp16_ratio", "vec_misc_ratio"))


changed(
    "timeline",
    "only_wide_vectors_are_counted",
    "002 aic_metrics ArithmeticUtilization: the share of each class of computing",
    _no_vector_ratios,
    "timeline",
    "run",
)


@broken("timeline", "002: aoe_mode and work_path are not supported in this version, and do nothing", "timeline")
def old_sessions_are_tuned_after_all(ask: Any, params: Params) -> Answer:
    if params["edition"] == "legacy" and value_of(params, "aoe_mode") is not None:
        return ask(
            {
                **params,
                "edition": "current",
                "surface": "runconfig",
                "values": {
                    name: value for name, value in params["values"].items() if name in ("aoe_mode", "work_path")
                },
            }
        )
    return ask(params)


@broken("timeline", "003 work_path: in the current directory by default, with AOE_MODE too", "timeline")
def tuning_by_the_environment_leaves_nothing_behind(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if "AOE_MODE" in params.get("env", {}) and value_of(params, "work_path") is None:
        for step in [answer["base"], *answer.get("variants", {}).values()]:
            step["files"] = {name: one for name, one in step.get("files", {}).items() if not name.startswith("aoe_")}
    return answer


def _config(params: Params) -> Dict[str, Any]:
    text = params.get("files", {}).get(value_of(params, "aoe_config_file"))
    try:
        found = json.loads(text) if isinstance(text, str) else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


@broken("timeline", "003 tune_ops_type: a fused operator that contains the type is tuned, too", "timeline")
def fused_operators_are_of_their_first_type(ask: Any, params: Params) -> Answer:
    answer, wanted = ask(params), _config(params)
    if not wanted.get("tune_ops_type"):
        return answer
    ops = {node.name: node.op for node in graph_of(params).nodes}
    for step in [answer["base"], *answer.get("variants", {}).values()]:
        step["tuned"] = [
            nodes
            for nodes in step.get("tuned", ())
            if set(nodes) & set(wanted.get("tune_ops_name", ()))
            or any(ops.get(nodes[0], "").startswith(one.rstrip("V2")) for one in wanted["tune_ops_type"])
        ]
    return answer


@broken("timeline", "003 tune_ops_name: whole word match", "timeline")
def the_end_of_a_name_will_do(ask: Any, params: Params) -> Answer:
    wanted = _config(params)
    if not wanted.get("tune_ops_name"):
        return ask(params)
    names = [node.name for node in graph_of(params).nodes]
    found = [name for name in names if any(name == one or name.endswith(f"/{one}") for one in wanted["tune_ops_name"])]
    path = value_of(params, "aoe_config_file")
    text = json.dumps({**wanted, "tune_ops_name": sorted({*found, *wanted["tune_ops_name"]})})
    return ask({**params, "files": {**params["files"], path: text}})


# Options of these areas


@broken("options", "003 tune_optimization_level: O2 by default")
def deep_tuning_is_of_the_high_level(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    told = answer.get("meaning", {}).get("aoe_config_file")
    if isinstance(told, dict) and told.get("feature") and "tune_optimization_level" not in str(params.get("files")):
        told["tune_optimization_level"] = "O1"
    return answer


@broken("options", "003 hccl_timeout: // 68 x 68, in a session as in RunConfig")
def sessions_wait_as_long_as_they_say(ask: Any, params: Params) -> Answer:
    answer, given = ask(params), value_of(params, "hccl_timeout")
    if params["surface"] == "session" and params["edition"] == "current" and isinstance(given, int) and given > 68:
        answer["effective"]["hccl_timeout"]["value"] = given
        answer["directives"]["timeouts"]["hccl_seconds"] = given
    return answer


denies(
    "the_longest_collective_timeout_is_left_out",
    "003 hccl_timeout: (0, 17340], the end included",
    "hccl_timeout",
    lambda params: value_of(params, "hccl_timeout") == 17340,
)
_accepted(
    "any_configuration_object_is_a_memory_config",
    "003 memory_config: an object of class MemoryConfig",
    "memory_config",
    lambda params, error: error.code == "OPTION_TYPE" and isinstance(value_of(params, "memory_config"), dict),
    lambda params: with_values(params, memory_config=None),
)
_accepted(
    "relative_switch_files_may_be_missing",
    "002, 003 fusion_switch_file: the file that is named is read",
    "fusion_switch_file",
    lambda params, error: (
        "does not exist" in str(error) and not str(value_of(params, "fusion_switch_file")).startswith("/")
    ),
    lambda params: with_values(params, fusion_switch_file=None),
)
_accepted(
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


_accepted(
    "a_range_may_begin_where_it_ends",
    "002 dump_step: a range goes from the lower to the higher step",
    "dump_step",
    lambda params, error: _equal_ends(params),
    lambda params: with_values(params, dump_step=None),
)


@broken("options", "002 dynamic_dims: each profile has as many values as input_shape has -1")
def values_beyond_those_needed_are_cut_off(ask: Any, params: Params) -> Answer:
    shape, text = value_of(params, "input_shape"), value_of(params, "dynamic_dims")
    if not isinstance(shape, str) or not isinstance(text, str):
        return ask(params)
    count = shape.count("-1")
    cut = ";".join(",".join(one.split(",")[:count]) for one in text.split(";"))
    answer = ask(with_values(params, dynamic_dims=cut))
    if "dynamic_dims" in answer["effective"]:
        answer["effective"]["dynamic_dims"]["value"] = text
    return answer


_accepted(
    "a_profile_twice_is_two_profiles",
    "002 dynamic_dims: more than one profile (S4: one kept of two equal ones)",
    "dynamic_dims",
    lambda params, error: ";" in str(value_of(params, "dynamic_dims")),
    lambda params: with_values(params, dynamic_dims=None, input_shape=None, dynamic_node_type=None),
)
denies(
    "a_scalar_cannot_be_the_first_input",
    "002, 003 dynamic_inputs_shape_range: a scalar is []",
    "dynamic_inputs_shape_range",
    lambda params: re.search(r"(getnext|data):\[\]", str(value_of(params, "dynamic_inputs_shape_range"))) is not None,
)


@broken("options", "003 dynamic_inputs_shape_range: the ordering of getnext inputs is preserved")
def dataset_inputs_beside_placeholders_are_read_backwards(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    told = answer.get("meaning", {}).get("dynamic_inputs_shape_range")
    if isinstance(told, dict) and told.get("data") and told.get("getnext"):
        told["getnext"].reverse()
    return answer


# Precision of these areas


@broken("precision", "004 must_keep_origin_dtype: a float16 Conv2D is as it is")
def halves_made_by_a_cast_count_as_floats(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if params["edition"] == "legacy" and value_of(params, "precision_mode") == "must_keep_origin_dtype":
        nodes = {node.name: node for node in graph_of(params).nodes}
        for node in nodes.values():
            sources = [nodes.get(name.lstrip("^").split(":")[0]) for name in node.inputs]
            if node.op == "Conv2D" and any(one is not None and one.op == "Cast" for one in sources):
                raise NpuError("PRECISION_NO_KERNEL", node.name, "no kernel keeps float32")
    return answer


def _batches(node: Dict[str, Any], params: Params, found: Any) -> None:
    mode = value_of(params, "precision_mode")
    trains = params["edition"] == "legacy" and value_of(params, "graph_run_mode") != 0
    if trains and mode in (None, "allow_fp32_to_fp16") and found is not None and found.op.startswith("BatchMatMul"):
        for side in ("inputs", "outputs"):
            node[side] = ["float16" if one == "float32" else one for one in node[side]]


node_change(
    "products_of_batches_are_lowered_as_they_are_now",
    "002, 004 allow_fp32_to_fp16: float32 is kept where an operator supports it",
    _batches,
)


@broken("precision", "002 precision_mode: force_fp16 by default in online inference, in mixed computing too")
def mixed_inference_has_the_default_of_training(ask: Any, params: Params) -> Answer:
    if (
        params["edition"] == "legacy"
        and value_of(params, "graph_run_mode") == 0
        and value_of(params, "mix_compile_mode")
    ):
        return ask({**params, "values": {"precision_mode": "allow_fp32_to_fp16", **params["values"]}})
    return ask(params)


@broken("precision", "004: false in the library forbids lowering, with a modify_mixlist too")
def a_list_of_ones_own_hides_the_edited_library(ask: Any, params: Params) -> Answer:
    if value_of(params, "modify_mixlist") and params.get("ops_info"):
        return ask({name: value for name, value in params.items() if name != "ops_info"})
    return ask(params)


@broken("precision", "003 optypelist_for_implmode: every type that is listed has the mode", "precision", "timeline")
def the_last_type_of_a_list_is_lost(ask: Any, params: Params) -> Answer:
    def change(values: Values) -> Values:
        text = value_of({"values": values}, "optypelist_for_implmode")
        return {**values, "optypelist_for_implmode": text.rsplit(",", 1)[0]} if isinstance(text, str) else values

    return ask(all_values(params, change))


# Several at once, and under a condition


@broken("artifacts", "003: what a program finds changed since the one before counts", "compile")
def the_second_program_has_the_options_of_the_first(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if len(answer["turns"]) > 1 and "rejected" not in answer["turns"][0] and "rejected" not in answer["turns"][1]:
        given = params.get("turns") or []
        if set(given[1].get("values") or {}) - {"op_compiler_cache_mode"}:
            answer["turns"][1]["kernels"] = [
                {**one, "switches": before["switches"], "bytes": before.get("bytes")}
                for one, before in zip(answer["turns"][1].get("kernels", ()), answer["turns"][0].get("kernels", ()))
            ] + answer["turns"][1].get("kernels", [])[len(answer["turns"][0].get("kernels", ())) :]
    return answer


@broken("timeline", "003 is_tailing_optimization: beside the last AllReduce, whatever hcom_parallel says", "timeline")
def tailing_needs_no_parallel_gradients(ask: Any, params: Params) -> Answer:
    def change(values: Values) -> Values:
        on = value_of({"values": values}, "is_tailing_optimization") is True
        return {**values, "hcom_parallel": True} if on else values

    return ask(all_values(params, change))


@broken("run", "002, 003: steps, device and mode of a dump are those that are asked for", "run")
def a_second_sessions_dump_is_incomplete(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    times = sorted(
        {
            found.group(1)
            for found in (re.search(r"(?:^|/)(\d{14})/", name) for name in answer.get("files", {}))
            if found
        }
    )
    for late in times[1:]:
        names = sorted(name for name in answer["files"] if f"{late}/" in name)
        for name in names[-1:]:
            del answer["files"][name]
    return answer


@broken("run", "003: what is large is dumped as what is small", "run")
def large_dumps_are_cut(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    for file in answer.get("files", {}).values():
        if file.get("bytes", 0) > 65536:
            file["bytes"] = 65536
    return answer


@broken("timeline", "003: event_sync_timeout and stream_sync_timeout are milliseconds", "timeline", "run")
def short_synchronisations_are_rounded_up_to_seconds(ask: Any, params: Params) -> Answer:
    def change(values: Values) -> Values:
        for name in ("event_sync_timeout", "stream_sync_timeout"):
            given = value_of({"values": values}, name)
            if isinstance(given, int) and given > 0 and given % 1000:
                values[name] = -(-given // 1000) * 1000
        return values

    return ask(all_values(params, change))


@broken("artifacts", "003: weights, kernels and results are those of every model of a session", "compile")
def later_models_leave_no_kernels_of_their_own(ask: Any, params: Params) -> Answer:
    if not params.get("models"):
        return ask(params)
    answer, alone = ask(params), ask({name: value for name, value in params.items() if name != "models"})
    for turn, first in zip(answer["turns"], alone["turns"]):
        if "rejected" not in turn and "rejected" not in first:
            known = {one["kernel"] for one in first.get("kernels", ())}
            for key in ("files", "left"):
                turn[key] = {
                    name: one
                    for name, one in turn.get(key, {}).items()
                    if "kernel_meta/" not in name or any(kernel in name for kernel in known)
                }
    return answer


@broken("run", "003: the largest and smallest numbers of every type survive the border", "run")
def wide_integers_pass_as_doubles(ask: Any, params: Params) -> Answer:
    answer = copy.deepcopy(ask(params))
    for value in answer.get("fetches", {}).values():
        if value["dtype"] in ("int64", "uint64") and "b64" in value:
            code = "q" if value["dtype"] == "int64" else "Q"
            data = base64.b64decode(value["b64"])
            numbers = [int(float(one)) for (one,) in struct.iter_unpack(f"<{code}", data)]
            top = 2 ** (63 if code == "q" else 64) - 1
            value["b64"] = base64.b64encode(
                struct.pack(f"<{len(numbers)}{code}", *(min(one, top) for one in numbers))
            ).decode()
    return answer


# The second sample


@broken("options", "003 HCCL_EXEC_TIMEOUT: where hccl_timeout is unset, in steps of 68 s as well (B7)")
def the_variable_counts_in_seconds(ask: Any, params: Params) -> Answer:
    answer, given = ask(params), params.get("env", {}).get("HCCL_EXEC_TIMEOUT", "")
    told = answer["effective"].get("hccl_timeout", {})
    unset = value_of(params, "hccl_timeout") is None and told.get("value") is not None
    if unset and given.isdigit() and 68 <= int(given) <= 17340:
        told["value"] = int(given)
        answer["directives"]["timeouts"]["hccl_seconds"] = int(given)
    return answer


@broken("options", "003 tune_ops_name, tune_ops_type: lists of names and of types")
def one_name_needs_no_list(ask: Any, params: Params) -> Answer:
    pattern = r'("(?:tune_ops_name|tune_ops_type|feature)"\s*:\s*)("[^"]*")'
    return ask(texts(params, "aoe_config_file", lambda text: re.sub(pattern, r"\1[\2]", text)))


@broken("artifacts", "003 fusion_result.json: of the graphs of this program", "compile")
def results_of_earlier_programs_stay(ask: Any, params: Params) -> Answer:
    answer, before = ask(params), {}
    for number, turn in enumerate(answer["turns"]):
        found: Dict[str, Any] = {}
        for name, file in turn.get("left", {}).items():
            text = _text(file) if name.endswith("fusion_result.json") else None
            if text is not None:
                found = json.loads(text)
                turn["left"][name] = encoded(json.dumps({**before, **found}))
        before.update({f"session_and_graph_id_{number + 90}_{place}": one for place, one in enumerate(found.values())})
    return answer


def _all_of_both(text: str) -> str:
    try:
        found = json.loads(text)
        sections = found["Switch"]
        if sections["GraphFusion"].get("ALL") == "off":
            sections["UBFusion"] = {"ALL": "off", **sections.get("UBFusion", {})}
        return json.dumps(found)
    except (ValueError, KeyError, AttributeError, TypeError):
        return text


@broken("artifacts", "002, 003 fusion_switch_file: ALL is of the section it stands in", "compile", "timeline")
def all_of_one_section_is_all_of_both(ask: Any, params: Params) -> Answer:
    return _as_given(ask(texts(params, "fusion_switch_file", _all_of_both)), params)


def _debug_text(params: Params) -> str:
    return str(params.get("files", {}).get(value_of(params, "op_debug_config"), ""))


_accepted(
    "a_list_of_operators_makes_o0_and_oom_one",
    "003: ccec_O0 and oom cannot be enabled at the same time, of listed operators neither",
    "op_debug_config",
    lambda params, error: "enabled together" in str(error) and "op_debug_list" in _debug_text(params),
    lambda params: with_values(params, op_debug_config=None),
)


def _split_between(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    if value_of(asked, "debug_dir") is not None and value_of(asked, "op_debug_config") is not None:
        for key in ("files", "left"):
            turn[key] = {
                name if name.endswith(".cce") else re.sub(r"^.*?(kernel_meta/)", r"\1", name): file
                for name, file in turn.get(key, {}).items()
            }


turns("only_sources_are_left_in_the_debug_directory", "003 debug_dir: the .o, .json and .cce files", _split_between)


def _no_check_shown(answer: Answer, params: Params) -> None:
    if "op_debug_list" in _debug_text(params):
        for turn in answer["turns"]:
            for key in ("files", "left"):
                _edited(turn.get(key, {}), r"\.cce$", lambda text: text.replace("CheckInvalidAccessOfDDR", "Check"))


changed(
    "artifacts",
    "checks_of_listed_operators_are_not_in_their_source",
    "003 oom: dump_cce shows the check in the .cce of what is compiled so",
    _no_check_shown,
    "compile",
)


@broken(
    "timeline",
    "003 compile_dynamic_mode False: shapes are not generalised, whatever ac_parallel_enable says",
    "timeline",
)
def parallel_engines_make_shapes_dynamic(ask: Any, params: Params) -> Answer:
    def change(values: Values) -> Values:
        if str(value_of({"values": values}, "ac_parallel_enable")) == "1" and "compile_dynamic_mode" in values:
            values["compile_dynamic_mode"] = True
        return values

    return ask(all_values(params, change))


@broken("artifacts", "003 debug_dir: before ASCEND_WORK_PATH, for op_debug_config too", "compile")
def the_work_path_wins_for_checks(ask: Any, params: Params) -> Answer:
    if "ASCEND_WORK_PATH" in params.get("env", {}) and value_of(params, "op_debug_config") is not None:
        return ask(with_values(params, debug_dir=None))
    return ask(params)


_accepted(
    "a_dictionary_is_a_dump_config",
    "003 dump_config: an object of class DumpConfig",
    "dump_config",
    lambda params, error: dict(value_of(params, "dump_config") or {}).get("class") == "dict",
    lambda params: with_values(params, dump_config=None),
)


@broken(
    "artifacts",
    "003 external_weight: weights of several models of a session are reused, one file for equal ones",
    "compile",
)
def every_model_has_files_of_its_own(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    for turn in answer["turns"] if params.get("models") else ():
        seen: Dict[str, str] = {}
        for one in turn.get("constants", ()):
            if not one.get("file"):
                continue
            if one["file"] in seen and seen[one["file"]] != one["node"]:
                one["file"] += "b"
            seen.setdefault(one["file"], one["node"])
            for key in ("files", "left"):
                same = [
                    name for name in turn.get(key, {}) if one["file"].endswith("b") and name.endswith(one["file"][:-1])
                ]
                turn.get(key, {}).update({f"{name}b": turn[key][name] for name in same})
    return answer


@broken("timeline", "003 graph_max_parallel_model_num: applies to online inference", "timeline")
def training_takes_steps_at_once_too(ask: Any, params: Params) -> Answer:
    if (value_of(params, "graph_max_parallel_model_num") or 1) > 1 and value_of(params, "graph_run_mode") == 1:
        return ask(with_values(params, graph_run_mode=0))
    return ask(params)


@broken("options", "003 hccl_timeout: value // 68 x 68, which the device is told")
def the_device_is_told_what_was_given(ask: Any, params: Params) -> Answer:
    answer, given = ask(params), value_of(params, "hccl_timeout")
    if isinstance(given, int) and 68 < given < 600 and params["edition"] == "current":
        answer["directives"]["timeouts"]["hccl_seconds"] = given
    return answer


@broken("timeline", "003 input_fusion_size: an input as large as the default threshold is fused", "timeline")
def inputs_as_large_as_the_default_go_alone(ask: Any, params: Params) -> Answer:
    return ask(all_values(params, lambda values: {"input_fusion_size": 131071, **values}))


def _joined_results(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    back = [one for one in step.get("transfers", ()) if one["direction"] == "d2h" and one.get("times", 1) == 1]
    if (value_of({"values": values}, "input_fusion_size") or 0) > 131072 and len(back) > 1:
        whole = {
            "direction": "d2h",
            "bytes": sum(one["bytes"] for one in back),
            "times": 1,
            "tensors": [name for one in back for name in one.get("tensors", ())],
        }
        step["transfers"] = [one for one in step["transfers"] if one not in back] + [whole]


steps(
    "results_are_fused_above_the_default",
    "003 input_fusion_size: of inputs, from the host to the device",
    _joined_results,
)

_accepted(
    "sessions_may_loop_in_mixed_computing",
    "000, 003: iterations_per_loop must be 1 in mixed computing",
    "iterations_per_loop",
    lambda params, error: error.code == "OPTION_CONFLICT" and params["surface"] == "session",
    lambda params: with_values(params, iterations_per_loop=None),
)
turn_values(
    "inference_takes_prebuilt_kernels",
    "003 jit_compile auto: operators of static shape are compiled online, in inference too",
    lambda values: {"jit_compile": "false", **values} if in_inference({"values": values}) else values,
)


@broken("artifacts", "003: an empty ASCEND_CACHE_PATH is none (G9), and the cache lies in $HOME/atc_data", "compile")
def an_empty_cache_path_is_the_current_directory(ask: Any, params: Params) -> Answer:
    if params.get("env", {}).get("ASCEND_CACHE_PATH") == "":
        return ask({**params, "env": {**params["env"], "ASCEND_CACHE_PATH": "/"}})
    return ask(params)


def _here_as_well(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    if value_of(asked, "op_debug_level") == 3 and "ASCEND_WORK_PATH" in asked["env"]:
        for key in ("files", "left"):
            here = {re.sub(r"^.*/(kernel_meta/)", r"\1", name): file for name, file in turn.get(key, {}).items()}
            turn[key] = {**turn.get(key, {}), **{name: one for name, one in here.items() if "kernel_meta/" in name}}


turns("level_three_leaves_copies_here", "003 op_debug_level 3: in ASCEND_WORK_PATH where it is set", _here_as_well)


@broken("precision", "003 op_select_implmode: left empty is disabled", "precision")
def an_empty_selection_is_high_performance(ask: Any, params: Params) -> Answer:
    if value_of(params, "op_select_implmode") == "":
        return ask(with_values(params, op_select_implmode="high_performance"))
    return ask(params)


_accepted(
    "a_directory_only_to_write_to_will_do",
    "002 dump_path: read and write permission",
    "dump_path",
    lambda params, error: any(
        isinstance(one, dict) and one.get("access") == "w" for one in params.get("files", {}).values()
    ),
    lambda params: with_values(params, enable_dump=None, dump_path=None),
)


def _ranges(change: Callable[[str], str]) -> Callable[[Values], Values]:
    def edit(values: Values) -> Values:
        text = value_of({"values": values}, "dynamic_inputs_shape_range")
        return {**values, "dynamic_inputs_shape_range": change(text)} if isinstance(text, str) else values

    return edit


def _below(found: Any) -> str:
    low, high = int(found.group(1)), int(found.group(2))
    return f"{low}~{high - 1}" if high > low + 1 else str(low)


@broken("run", "002, 003 dynamic_inputs_shape_range: the upper end of a range is in it", "run", "timeline")
def ranges_of_runs_end_before_their_end(ask: Any, params: Params) -> Answer:
    return ask(all_values(params, _ranges(lambda text: re.sub(r"(\d+)~(\d+)", _below, text))))


@broken("run", "002, 003 dynamic_inputs_shape_range: -1 is without bound", "run", "timeline")
def what_has_no_bound_ends_at_a_thousand(ask: Any, params: Params) -> Answer:
    return ask(all_values(params, _ranges(lambda text: re.sub(r"(?<![\d~])-1\b", "1~1024", text))))


@broken(
    "run",
    "002, 003 dynamic_graph_execute_mode, dynamic_inputs_shape_range: when dynamic_input is True",
    "run",
    "timeline",
)
def a_mode_makes_inputs_dynamic(ask: Any, params: Params) -> Answer:
    def change(values: Values) -> Values:
        asked = {"dynamic_graph_execute_mode", "dynamic_inputs_shape_range"} <= set(values)
        return {**values, "dynamic_input": True} if asked else values

    return ask(all_values(params, change))


@broken("run", "002: ranges are as many as inputs of their kind", "run", "timeline")
def inputs_without_a_range_are_fixed(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if error.code != "INPUT_SHAPE" or "it lists" not in error.reason:
            raise
    return ask(with_values(params, dynamic_inputs_shape_range=None))


@broken("run", "002 dynamic_node_type 0: the dataset's inputs are the dynamic ones", "run", "timeline")
def fed_inputs_are_held_to_profiles_of_a_dataset(ask: Any, params: Params) -> Answer:
    if value_of(params, "dynamic_node_type") == 0:
        return ask(with_values(params, dynamic_node_type=1))
    return ask(params)


def _compiled_for_each_model(answer: Answer, params: Params) -> None:
    for turn in answer["turns"] if params.get("models") else ():
        seen = set()
        for one in turn.get("kernels", ()):
            if one["kernel"] in seen and one["origin"] == "reused":
                one["origin"] = "compiled"
            seen.add(one["kernel"])


changed(
    "artifacts",
    "each_model_compiles_for_itself",
    "002 op_compiler_cache_mode enable: equal operators are compiled once, whichever model has them",
    _compiled_for_each_model,
    "compile",
)


def _lacks(params: Params, point: str) -> bool:
    text = str(value_of(params, "profiling_options"))
    return point not in text and "training_trace" in text and "task_trace" in text


_accepted(
    "a_backward_point_alone_will_do",
    "002 fp_point: has to be configured when training_trace is on",
    "profiling_options",
    lambda params, error: _lacks(params, "fp_point"),
    lambda params: with_values(params, profiling_mode=None, profiling_options=None),
)
_accepted(
    "a_forward_point_alone_will_do",
    "002 bp_point: has to be configured when training_trace is on",
    "profiling_options",
    lambda params, error: _lacks(params, "bp_point"),
    lambda params: with_values(params, profiling_mode=None, profiling_options=None),
)


@broken("timeline", "002 profiling_options: online inference supports aicpu", "timeline", "run")
def inference_has_no_table_of_the_ai_cpu_beside_task_trace(ask: Any, params: Params) -> Answer:
    text = value_of(params, "profiling_options")
    if isinstance(text, str) and value_of(params, "graph_run_mode") == 0 and '"task_trace":"on"' in text:
        return ask(with_values(params, profiling_options=text.replace('"aicpu":"on"', '"aicpu":"off"')))
    return ask(params)


turn_values(
    "what_the_host_runs_is_compiled_all_the_same",
    "002 use_off_line False: the other options have nothing to act on",
    lambda values: {name: value for name, value in values.items() if name != "use_off_line"},
)


@broken("artifacts", "002, 003 fusion_switch_file: in online inference too", "compile", "timeline")
def switches_are_of_training(ask: Any, params: Params) -> Answer:
    return ask(
        all_values(
            params,
            _gone_in_inference("fusion_switch_file"),
        )
    )


turn_values(
    "inference_has_its_cache_at_home",
    "002, 003 op_compiler_cache_dir: in online inference too",
    _gone_in_inference("op_compiler_cache_dir"),
)


@broken("run", "002, 003 session_device_id: the device whose data are dumped", "run")
def data_are_dumped_below_the_first_device(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if "files" in answer:
        answer["files"] = _moved(answer["files"], lambda name: re.sub(r"(/\d{14}/)\d+/", r"\g<1>0/", name))
    return answer


changed(
    "timeline",
    "a_traces_last_iteration_is_missing",
    "002 training_trace: every iteration's trace",
    lambda answer, params: (
        [
            _edited(
                step.get("files", {}), r"step_trace_\d+\.csv$", _csv(lambda rows: rows[:-1] if len(rows) > 2 else rows)
            )
            for step in [answer.get("base", {}), *answer.get("variants", {}).values(), answer]
        ]
        and None
    ),
    "timeline",
    "run",
)


def _one_launch(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    if step.get("iterations", 1) == 1 and step.get("launches", 0) > 1:
        step["launches"] = 1
        first = next(one for one in step["tasks"] if one["kind"] == "launch")
        step["tasks"] = [one for one in step["tasks"] if one["kind"] != "launch" or one is first]


steps("several_pieces_are_one_launch", "000: each GEOP is started by the host when what it needs is there", _one_launch)
