"""Lawful backends whose runs leave, log or compute something else than the reference's.

Written from the five documents and the pages of the protocol, without a look at any case. The documents say what is
dumped, profiled and refused; names of files, moments, further files, wordings and the last bit of a number they leave.
"""

from __future__ import annotations

import base64
import copy
import json
import posixpath
import re
import struct
from typing import Any, Callable, Dict, List, Mapping, Optional

from faulty.answered import encoded
from faulty.asked import graph_of, regraphed, rescripted, source_of, value_of, with_env
from faulty.making import Answer, Files, Params

from lawful.kinds import asks, broken, changed
from lawful.timeline import runs_of
from lawful.tuning import profiles, rows_of, table, table_of
from npu_conformance.backends.mutants import edits
from npu_reference.dumps import form
from npu_reference.dumps.names import MAPPING
from npu_reference.errors import NpuError


def running(name: str, sentence: str, change: Callable[[Dict[str, Any], Params], Any]) -> None:
    """Registers a backend whose answers to runs, of each rank as well, are changed."""

    def edit(answer: Answer, params: Params) -> None:
        for one in runs_of(answer):
            change(one, params)

    changed("run", name, sentence, edit, "run")


# Values

#: Operators whose results depend on the order of a sum, or on a formula that approximates a function.
_ROUNDED = re.compile(
    r"(MatMul|BatchMatMul(V2|V3)?|Conv2D.*|DepthwiseConv2dNative.*|Sum|Mean|Prod|AddN|BiasAddGrad|L2Loss|Exp|Expm1|Log|"
    r"Log1p|Tanh|Sigmoid|Softmax|LogSoftmax|Sin|Cos|Tan|Erf|Erfc|Rsqrt|Pow|Softplus|Elu|Selu|FusedBatchNorm.*|"
    r"SoftmaxCrossEntropyWithLogits|SparseSoftmaxCrossEntropyWithLogits|AvgPool|LRN)\Z"
)
_PASSED_ON = ("Identity", "StopGradient", "Reshape", "PreventGradient", "Squeeze", "ExpandDims", "Snapshot")


def _origin(name: str, ops: Mapping[str, Any]) -> Optional[str]:
    """The type of the operator that computed a tensor, behind those that only pass it on."""
    for _ in range(64):
        node = ops.get(source_of(name))
        if node is None:
            return None
        if node.op not in _PASSED_ON:
            return str(node.op)
        data = [one for one in node.inputs if not one.startswith("^")]
        if not data:
            return None
        name = data[0]
    return None


def _last_bits(tensor: Dict[str, Any]) -> None:
    """Every second number that was rounded becomes its neighbour."""
    kinds = {"float32": ("I", 8, 0x7F800000), "float16": ("H", 3, 0x7C00)}
    if tensor.get("dtype") not in kinds or "b64" not in tensor:
        return
    letter, low, exponent = kinds[tensor["dtype"]]
    data = base64.b64decode(tensor["b64"])
    numbers = list(struct.unpack(f"<{len(data) // struct.calcsize(letter)}{letter}", data))
    for at, number in enumerate(numbers):
        # What has at most one of its last bits was probably exact; infinities, NaN and what is close to 0 stay.
        if at % 2 == 0 and bin(number & ((1 << low) - 1)).count("1") > 1 and 0 < number & exponent < exponent:
            numbers[at] = number ^ 1
    tensor["b64"] = base64.b64encode(struct.pack(f"<{len(numbers)}{letter}", *numbers)).decode()


def _summed_otherwise(answer: Answer, params: Params) -> None:
    if "graph" not in params or given_any(params, "enable_dump", "dump_config"):
        return
    ops = {node.name: node for node in graph_of({**params, "fetches": [], "feeds": []}).nodes}
    for name, tensor in answer["fetches"].items():
        found = _origin(name, ops)
        if found is not None and _ROUNDED.match(found) and source_of(name) not in params.get("feeds", {}):
            _last_bits(tensor)


def given_any(params: Params, *names: str) -> bool:
    return any(value_of(params, name) is not None for name in names)


changed(
    "run", "sums_and_functions_differ_in_the_last_bit",
    "003 L55: the accumulation sequence of floating point numbers may change; no document gives one",
    _summed_otherwise, "run"
)  # fmt: skip

_SHIFT = 90001


def _other_seeds(graph: Any) -> None:
    nodes = list(graph.node)
    for function in graph.library.function:
        nodes += function.node_def
    for node in nodes:
        draws = "seed" in node.attr and "seed2" in node.attr and not re.search("Dataset|Queue", node.op)
        if draws and (node.attr["seed"].i or node.attr["seed2"].i):
            node.attr["seed"].i += _SHIFT


def _other_script(text: str) -> str:
    if "shuffle" in text:
        return text
    return re.sub(
        r"(set_random_seed|random\.set_seed)\((\d+)\)", lambda f: f"{f.group(1)}({int(f.group(2)) + _SHIFT})", text
    )


asks(
    "random_operators_draw_other_numbers",
    "003 L57: a definite seed makes random numbers definite; no document says which numbers these are", "run",
    lambda params: rescripted(regraphed(params, _other_seeds), _other_script), "run"
)  # fmt: skip


def _device_2(params: Params) -> Params:
    env = params.get("env", {})
    if "ranks" in params or given_any(params, "session_device_id", "local_rank_id"):
        return params
    if {"ASCEND_DEVICE_ID", "DEVICE_ID", "RANK_ID"} & set(env) or "DEVICE_ID" in edits.script_text(params):
        return params
    return with_env(params, lambda found: {**found, "ASCEND_DEVICE_ID": "2"})


asks(
    "a_session_that_names_no_device_runs_on_device_2",
    "003 L24: session_device_id takes precedence over ASCEND_DEVICE_ID; no document says which device is the default",
    "run", _device_2, "run", "timeline"
)  # fmt: skip


# What is logged and traced


def _chatty(answer: Answer, params: Params) -> None:
    if "log" in answer:
        found: List[Any] = [{"level": "info", "code": "DRIVER", "message": "the driver's version is 23.0.3"}]
        for one in answer["log"]:
            found += [one, {"level": "debug", "code": "TICK", "subject": "runtime", "message": "heartbeat"}]
        last = {"level": "info", "code": "CLOSED", "subject": "", "message": "the device is released"}
        answer["log"] = [*found, last]


running("the_runtime_logs_more_lines", "no document says what else a runtime logs", _chatty)


def _banner(answer: Answer, params: Params) -> None:
    if "output" in answer:
        answer["output"] = "[runtime] device opened\n" + answer["output"] + "[runtime] device closed\n"


running("the_runtime_prints_two_lines_of_its_own", "no document says that a runtime prints nothing", _banner)


def _renamed_engine(answer: Answer, params: Params) -> None:
    for one in answer.get("trace") or ():
        if one.get("engine"):
            one["engine"] = "vendor_npu_runtime"


running("an_engine_has_another_name", "no document says what the engine of a run is called", _renamed_engine)


def _geops_otherwise(answer: Answer, params: Params) -> None:
    for one in answer.get("trace") or ():
        one["copies"] = (one.get("copies") or [])[::-1]
        told = one.get("partition")
        if told:
            for number, geop in enumerate(told["geops"]):
                geop["name"] = f"npu_cluster_{900 - number}"
                geop["nodes"] = geop["nodes"][::-1]
            told["geops"] = told["geops"][::-1]
            told["host"] = told["host"][::-1]


running(
    "parts_of_a_graph_are_called_clusters_and_told_last_first",
    "000: the entire graph is partitioned into multiple GEOPs; no document says what each is called", _geops_otherwise
)  # fmt: skip


def _sizes_unknown(answer: Answer, params: Params) -> None:
    for one in answer.get("trace") or ():
        for copied in one.get("copies") or ():
            copied["bytes"] = None


running(
    "the_trace_does_not_know_how_much_is_copied",
    "000: data transfer for unoffloadable operators is performed via memcpy; no document has its bytes counted",
    _sizes_unknown,
)


def _parts_of_gradients(answer: Answer, params: Params) -> None:
    for one in answer.get("trace") or ():
        number = 0
        for collective in one.get("collectives") or ():
            if "part" in collective:
                collective["part"] = number
                number += 1


@broken(
    "run",
    "003 L748: splitting gradients is tuned by hand or by AOE; no document says how they are split by default",
    "run",
)
def every_gradient_is_a_part_of_its_own(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    if "split_strategy" not in edits.script_text(params):
        for one in runs_of(answer):
            _parts_of_gradients(one, params)
    return answer


@broken("run", "no document has a runtime tell a trace, a log, its output or its devices", "hello", "run")
def of_a_run_only_values_and_files_are_told(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    gone = ("trace", "log", "output", "timeline", "memory", "transfers")
    if "capabilities" in answer:
        lost = {"trace", "log", "output", "devices", "collectives", "run.timeline", "run.memory", "run.transfers"}
        able = answer["capabilities"]
        able["features"] = [one for one in able["features"] if one not in lost]
    for one in runs_of(answer):
        for key in gone:
            one.pop(key, None)
    return answer


# Errors


def _coded(name: str, sentence: str, change: Callable[[Any, Params], None]) -> None:
    """Registers a backend whose runs end in errors that are told otherwise; `change` edits a copy of the error."""

    def fault(ask: Any, params: Params) -> Answer:
        if "graph" not in params:
            return dict(ask(params))
        try:
            answer = dict(ask(params))
        except NpuError as error:
            other = copy.copy(error)
            change(other, params)
            raise other from None
        if "failed" in answer:
            told = answer["failed"]
            failed = NpuError(told["code"], told["subject"], told["message"])
            change(failed, params)
            text = told["message"] if failed.reason == told["message"] else failed.message
            answer["failed"] = {"code": failed.code, "subject": failed.subject, "message": text}
        return answer

    fault.__name__ = name
    broken("run", sentence, "run")(fault)


_CODES = {
    "INPUT_SHAPE": "OPTION_VALUE",
    "DEVICE_MEMORY": "RUN_FAILED",
    "DEVICE_TIMEOUT": "RUN_FAILED",
    "RUN_FAILED": "DEVICE_FAULT",
    "OPTION_FILE": "FILES_LEFT",
    "OPTION_CONFLICT": "OPTION_VALUE",
}


def _recoded(error: Any, params: Params) -> None:
    error.code = _CODES.get(error.code, error.code)


_coded("runs_end_in_errors_of_other_codes", "no document gives a code of an error but EZ9999 (003 L201)", _recoded)


def _resubjected(error: Any, params: Params) -> None:
    if error.code == "INPUT_SHAPE" and params.get("feeds"):
        error.subject = source_of(min(params["feeds"]))
    elif error.code in ("DEVICE_MEMORY", "DEVICE_TIMEOUT"):
        error.subject = posixpath.basename(params["graph"])


_coded(
    "errors_of_runs_name_an_input_or_the_graph_and_no_option",
    "002 L392: what does not match ends in an error; no document says what the error names", _resubjected
)  # fmt: skip

_DOCUMENTED = re.compile(r"EZ9999|0[xX]5A5A000[12]|error code|Aicore kernel execute failed|rtStreamSynchronize")


def _reworded(error: Any, params: Params) -> None:
    if not _DOCUMENTED.search(error.message):
        error.reason, error.remedy = "E40021 the runtime cannot go on", "See the user guide."


_coded("errors_of_runs_are_worded_otherwise", "003 L230 words a few errors, and no document the others", _reworded)


# Files


def _more_files(answer: Answer, params: Params) -> None:
    if "files" in answer:
        answer["files"] = {
            **answer["files"],
            "ascend/log/plog/plog-4242_20261128.log": encoded("[INFO] session opened\n"),
            "ascend/log/device-0/device-4242.log": encoded("[INFO] 3 tasks\n"),
        }


running("a_run_leaves_logs_in_the_current_directory", "no document says that a run leaves nothing else", _more_files)


def _fusion_results(answer: Answer, params: Params) -> None:
    known = "files" in answer and "graph" in params and params["edition"] == "current"
    if not known or value_of(params, "export_compile_stat") == 0 or params["surface"] != "runconfig":
        return
    if not any(one.get("engine") for one in answer.get("trace") or ()):
        return
    work = params.get("env", {}).get("ASCEND_WORK_PATH", "").strip("/")
    path = posixpath.join(work, "FE", "4242fusion_result.json") if work else "fusion_result.json"
    if not any(name.endswith("fusion_result.json") for name in answer["files"]):
        content: Dict[str, Any] = {"session_and_graph_id_0_0": {"graph_fusion": {}, "ub_fusion": {}}}
        answer["files"][path] = encoded(json.dumps(content))


running(
    "a_run_leaves_fusion_results_by_default",
    "003 L299: by default the result file of fusion is generated when the program exits normally", _fusion_results
)  # fmt: skip

_DUMP = re.compile(
    r"(?P<where>(?:.*/)?)(?P<stamp>[0-9]{14})/(?P<device>[0-9]+)/(?P<model>[^/]+)/(?P<id>[0-9]+)/(?P<step>[0-9]+)/"
    r"(?P<file>[^/]+)\Z"
)
_NAME = re.compile(r"(?P<head>[^.]+\.[^.]+\.[0-9]+\.(?:[0-9]+\.)?)(?P<time>[0-9]+)\Z")
_LATER = 3_600_000_000


def _rewritten(file: Dict[str, Any], change: Callable[[form.Description], form.Description]) -> Dict[str, Any]:
    """A dump with another description; of one that is told by its size alone nothing can be said."""
    if "b64" not in file:
        return file
    data = base64.b64decode(file["b64"])
    try:
        length = struct.unpack("<Q", data[:8])[0]
        before = form.decode(data[8 : 8 + length])
    except (struct.error, NpuError):
        return file
    head = bytes(form.encode(change(before), [], [])[0])
    return {"b64": base64.b64encode(head + data[8 + length :]).decode()}


def _is_exception(file: Mapping[str, Any]) -> Optional[str]:
    """What the attribute of exception dumps says; None for any other file."""
    if "b64" not in file:
        return None
    data = base64.b64decode(file["b64"])
    try:
        found = form.decode(data[8 : 8 + struct.unpack("<Q", data[:8])[0]]).attr("exception_dump")
    except (struct.error, NpuError):
        return None
    return found


def leaving(name: str, sentence: str, change: Callable[[Files], Files]) -> None:
    """Registers a backend whose runs leave other files."""

    def edit(answer: Answer, params: Params) -> None:
        if answer.get("files"):
            answer["files"] = change(answer["files"])

    running(name, sentence, edit)


def _elsewhere(files: Files) -> Files:
    found: Files = {}
    for path, file in files.items():
        match = _DUMP.match(path)
        if match is None:
            found[path] = file
            continue
        name = _NAME.match(match.group("file"))
        last = match.group("file")
        if name is not None:
            last = f"{name.group('head')}{int(name.group('time')) + _LATER}"
            file = _rewritten(file, lambda before: before._replace(time=before.time + _LATER))
        stamp = str(int(match.group("stamp")) + 10_000_000_000)
        model = f"ge_default_{match.group('model')}_11"
        place = f"{stamp}/{match.group('device')}/{model}/{int(match.group('id')) + 20}/{match.group('step')}"
        found[f"{match.group('where')}{place}/{last}"] = file
    return found


leaving(
    "dumps_have_other_moments_and_names_of_models",
    "002 L109: dump_path is where dump files are kept; no document says how they lie below", _elsewhere
)  # fmt: skip


def _other_stream(files: Files) -> Files:
    found: Files = {}
    for path, file in files.items():
        match = _DUMP.match(path)
        parts = match.group("file").split(".") if match else []
        if len(parts) == 5 and parts[0] != "Opdebug":
            parts[3] = str(int(parts[3]) + 40)
            path = posixpath.join(posixpath.dirname(path), ".".join(parts))
        elif parts and match and match.group("file") == MAPPING and "b64" in file:
            text = base64.b64decode(file["b64"]).decode("utf-8", "surrogateescape")
            text = re.sub(r"(?m)\.(\d+)\.0\.(\d+)$", r".\1.40.\2", text)
            file = {"b64": base64.b64encode(text.encode("utf-8", "surrogateescape")).decode()}
        found[path] = file
    return found


leaving("dumped_operators_lie_on_stream_40", "no document numbers streams", _other_stream)


def _other_description(before: form.Description) -> form.Description:
    attrs = tuple(one for one in before.attrs if one[0] != form.SIMULATED[0])
    outputs = tuple(one._replace(source="", slot=0) for one in before.outputs)
    return before._replace(version="1.1", attrs=(("vendor", "another"), *attrs), outputs=outputs)


leaving(
    "dumps_are_of_another_version_with_other_attributes",
    "002 L138 dumps data of operators, and no document gives the form of a file",
    lambda files: {path: _rewritten(file, _other_description) for path, file in files.items()},
)

_EXCEPTION = re.compile(r"(?P<where>(?:.*/)?)extra-info/data-dump/[0-9]+/(?P<file>[^/]+)\Z")


def _in_current(files: Files) -> Files:
    found: Files = {}
    for path, file in files.items():
        match = _EXCEPTION.match(path)
        if match and not match.group("where") and _is_exception(file) not in (None, "lite", "2"):
            path = match.group("file")
        found[path] = file
    return found


leaving(
    "common_exception_dumps_lie_in_the_current_directory_itself",
    "003 L163: dump data is stored in the current script execution path by default", _in_current
)  # fmt: skip


def _collected(files: Files) -> Files:
    found: Files = {}
    for path, file in files.items():
        match = _EXCEPTION.match(path)
        if match and match.group("where") and _is_exception(file) not in (None, "lite", "2"):
            path = match.group("where") + match.group("file")
        found[path] = file
    return found


leaving(
    "collected_exception_dumps_lie_in_the_named_directory_itself",
    "003 L171: the dump data is stored in the directory specified by NPU_COLLECT_PATH", _collected
)  # fmt: skip


def _later_exceptions(files: Files) -> Files:
    found: Files = {}
    for path, file in files.items():
        name = _NAME.match(posixpath.basename(path))
        if name is not None and _is_exception(file) is not None:
            last = f"exception_info.{name.group('head')}{int(name.group('time')) + _LATER}"
            path = posixpath.join(posixpath.dirname(path), last)
        found[path] = file
    return found


leaving(
    "exception_dumps_begin_with_a_word_of_their_own",
    "003 L167 gives the directory, and no document names the files in it", _later_exceptions
)  # fmt: skip


def _garbage(files: Files) -> Files:
    found: Files = {}
    for path, file in files.items():
        if _is_exception(file) is not None:
            data = bytearray(base64.b64decode(file["b64"]))
            length = 8 + struct.unpack("<Q", data[:8])[0]
            told = form.decode(bytes(data[8:length]))
            start = length + sum(one.size for one in told.inputs)
            size = sum(one.size for one in told.outputs)
            data[start : start + size] = b"\xa5" * size
            file = {"b64": base64.b64encode(bytes(data)).decode()}
        found[path] = file
    return found


leaving(
    "outputs_of_a_failed_operator_are_what_lay_in_memory",
    "003 L161 dumps the output data of the exception operator, and no document says what they are when it has failed",
    _garbage,
)


def _with_workspace(files: Files) -> Files:
    found: Files = {}
    for path, file in files.items():
        if _is_exception(file) is not None:
            file = _rewritten(
                file,
                lambda before: before._replace(
                    spaces=(*before.spaces, form.Buffer("workspace", 4096)),
                    attrs=tuple(
                        (name, '{"tiling_key": 101, "block_dim": 24}' if name == "tiling" else text)
                        for name, text in before.attrs
                    ),
                ),
            )
            file = {"b64": base64.b64encode(base64.b64decode(file["b64"]) + b"\x5a" * 4096).decode()}
        found[path] = file
    return found


leaving(
    "failed_operators_have_a_workspace_and_another_tiling",
    "003 L165 dumps workspace and tiling, and no document says how large or what they are", _with_workspace
)  # fmt: skip


def _more_columns(tree: Dict[str, Any]) -> Dict[str, Any]:
    found: Dict[str, Any] = {}
    for path, file in tree.items():
        if table_of(path) and "b64" in file:
            rows = rows_of(file)
            if rows:
                head = ["Device_id", *rows[0], "Context ID"]
                file = table([head, *(["0", *row, "N/A"] for row in rows[1:])])
        found[path] = file
    return found


profiles(
    "tables_of_profiles_have_more_columns",
    "002 L66 has results collected in files; no document lists the columns of a table", _more_columns, "run"
)  # fmt: skip
