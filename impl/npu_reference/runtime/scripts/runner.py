"""Answers the protocol method ``run``: a graph, or a script, on the simulated device."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from npu_reference import graphs
from npu_reference.catalog import OpList
from npu_reference.device.faults import parse
from npu_reference.errors import NpuError
from npu_reference.hardware import load
from npu_reference.runtime.config import OPTIMIZER, Overrides, overriding
from npu_reference.runtime.execution import compile_files, run_files, virtual_clock
from npu_reference.runtime.observing.account import Account, Failure
from npu_reference.runtime.observing.log import LogEntry, listening
from npu_reference.runtime.observing.trace import process_trace
from npu_reference.runtime.scripts.isolation import apart
from npu_reference.runtime.scripts.run_folder import RunFolder, run_folder
from npu_reference.runtime.scripts.simulate import simulate
from npu_reference.runtime.scripts.tensor_codec import from_wire, to_wire
from npu_reference.runtime.sessions import activation
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["execute", "run_graph", "run_script"]


#: Codes of what can happen to an operator while it runs.
_FAILURES = ("RUN_FAILED", "DEVICE_FAULT", "DEVICE_TIMEOUT", "DEVICE_ENDLESS", "KERNEL_FAILURE", "COLLECTIVE_TIMEOUT")

_LINES = 3  # told of what ended a script


def run_graph(params: Mapping[str, Any]) -> Dict[str, Any]:
    """Run a graph in a session of its own whose config names ``NpuOptimizer``.

    Args:
        params: of the protocol: ``graph`` (a path), ``surface``, ``edition``, ``values``, ``env``, ``files``,
            ``op_list``, ``device_precision``, ``feeds`` (name to tensor), ``fetches`` (a name without
            slot is an operator to run), ``init`` (operators to run once first), ``steps`` (default 1), ``faults``,
            ``tell`` (which of ``timeline``, ``memory`` and ``transfers`` to answer), ``device``, ``may_fail``
            (an operator that fails is answered as ``failed``, with no fetches).

    Returns:
        The protocol's ``ok``: ``fetches`` of the last step, ``trace`` with a record for each run, ``log``, ``files``.

    Raises:
        NpuError: GRAPH_* and OPTION_* for what was given, RUN_FAILED where TensorFlow fails.
    """
    activation.activate()
    graph = graphs.load_graph(params["graph"])
    parse(params.get("faults")).check_nodes(graph.index)
    params = _settled(params)
    with run_folder(params.get("files")) as folder, _observed(params, folder) as log:
        failed: Optional[NpuError] = None
        fetches: Dict[str, Any] = {}
        try:
            fetches = _run(params, graph)
        except NpuError as error:
            if not params.get("may_fail") or error.code not in _FAILURES:
                raise
            failed = error
        _end()
        answer = {"fetches": fetches, "files": folder.files(), "trace": _records(), "log": folder.without(log)}
        answer.update(_told(params))
        return answer if failed is None else {**answer, "failed": failed.to_json()}


def _settled(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same with what counts from the current directory made absolute, before the run has one of its own."""
    place, colon, name = str(params.get("device", "")).partition(":")
    return {**params, "device": os.path.abspath(place) + colon + name} if os.path.isfile(place) else params


def run_script(params: Mapping[str, Any]) -> Dict[str, Any]:
    """Run a script as ``__main__``.

    Args:
        params: of the protocol: ``script`` (a path), or ``source`` (its text); ``args``, ``edition``, ``env``,
            ``files``, ``op_list``, ``device_precision``, ``faults``, ``tell``, ``device``.

    Returns:
        The protocol's ``ok``: ``output`` (what it printed on stdout), ``trace``, ``log``, and no fetches.

    Raises:
        NpuError: SCRIPT_FILE; RUN_FAILED with what ended it when it fails.
    """
    with contextlib.ExitStack() as stack:
        path = params.get("script")
        if path is None:
            place = stack.enter_context(tempfile.TemporaryDirectory())
            path = os.path.join(place, "script.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(params["source"])
        path, params = os.path.abspath(path), _settled(params)
        folder = stack.enter_context(run_folder(params.get("files")))
        log = stack.enter_context(_observed(params, folder))
        output = folder.without(execute(path, list(params.get("args", [])), params.get("edition")))
        _end()
        answer = {"fetches": {}, "files": folder.files(), "output": output, "trace": _records()}
        return {**answer, "log": folder.without(log), **_told(params)}


def execute(path: str, args: Sequence[str], edition: Optional[str]) -> str:
    """Run a script as ``__main__`` in a graph of its own; answers what it printed.

    Raises:
        NpuError: SCRIPT_FILE; RUN_FAILED with what ended it when it fails.
    """
    account = Account()
    out, err = io.StringIO(), io.StringIO()

    def hear(line: str) -> None:
        # Entries of the logger come to the listener around this one with their code; here is what has none.
        err.write(line + "\n")

    v1 = tensorflow().v1
    with v1.Graph().as_default(), apart(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            simulate(path, list(args), log=hear, edition=edition, account=account)
        except SystemExit as ended:
            if ended.code not in (None, 0):
                told = _ended_by(account.failure, err.getvalue())
                raise NpuError("RUN_FAILED", path, f"the script ended with {ended.code}: {told}.") from None
    return out.getvalue()


def _ended_by(failure: Optional[Failure], stderr: str) -> str:
    """What a script raised, and its own line; the last lines of its stderr where it raised nothing."""
    if failure is None:
        return " | ".join(stderr.strip().splitlines()[-_LINES:])
    # TensorFlow writes below a message where each of its operators was made, which is longer than the message.
    lines = [line.strip() for line in failure.message.splitlines() if line.strip()][:_LINES]
    place = "".join(f" ({os.path.basename(one.file)}:{one.line})" for one in failure.places[:1])
    return " | ".join(lines) + place


@contextlib.contextmanager
def _observed(params: Mapping[str, Any], folder: RunFolder) -> Iterator[List[Dict[str, str]]]:
    """A fresh trace, the request's surroundings, and what is logged meanwhile."""
    log: List[Dict[str, str]] = []

    def hear(entry: LogEntry) -> None:
        log.append({"level": entry.level, "code": entry.code, "subject": entry.subject, "message": entry.text})

    surface = params.get("surface", "session")
    op_list = params.get("op_list")
    overrides = Overrides(
        edition=params.get("edition"),
        env=params.get("env", {}),
        files=params.get("files"),
        values=params.get("values", {}) if surface == "runconfig" else None,
        surface=surface,
        op_list=None if op_list is None else OpList.parse(json.dumps(op_list), "op_list"),
        device_precision=params.get("device_precision"),
        clock=bool(params.get("tell")),
        device=load(params["device"]) if "device" in params else None,
        faults=parse(params.get("faults")),
        root=folder.path,
        # It reorders arithmetic differently in each version of TensorFlow, and takes longer than what is run here.
        grappler=False,
    )
    compile_files.end()  # of a request that has failed
    virtual_clock.restart()
    process_trace().restart()  # an answer must not tell how many requests came before it
    with overriding(overrides), listening(hear):
        yield log


def _end() -> None:
    """A request is a program of its own: what is written as a program ends is written before the answer is made."""
    run_files.end()
    compile_files.end()


def _records() -> List[Dict[str, object]]:
    return [record.to_json() for record in process_trace().runs]


def _run(params: Mapping[str, Any], graph: graphs.Graph) -> Dict[str, Any]:
    v1 = tensorflow().v1
    names = list(params.get("fetches", []))
    tensors = [name for name in names if ":" in name]
    targets = [name for name in names if ":" not in name]
    feeds = {name: from_wire(name, tensor) for name, tensor in params.get("feeds", {}).items()}
    with v1.Graph().as_default() as into:
        _import(graph)
        wanted = [_element(into, name) for name in tensors + targets]
        fed = {_element(into, name): value for name, value in feeds.items()}
        init = [_element(into, name) for name in params.get("init", [])]
        with v1.Session(graph=into, config=_config(params)) as session:
            for operation in init:
                _call(session, [operation], {})
            values: List[Any] = []
            for _ in range(params.get("steps", 1)):
                values = _call(session, wanted, fed)
    return {name: to_wire(name, value) for name, value in zip(tensors, values)}


def _told(params: Mapping[str, Any]) -> Dict[str, Any]:
    """What the request wants to know of every run on the device; None of a run that the model knows no time of."""
    wanted = params.get("tell", ())
    answer: Dict[str, List[Any]] = {name: [] for name in ("timeline", "memory", "transfers") if name in wanted}
    seen: Dict[int, Tuple[int, Dict[str, Any]]] = {}  # a step stands once, however often it was run
    for number, record in enumerate(process_trace().runs):
        time = record.time
        profile = None if time is None else time.profile
        if profile is not None and id(profile) not in seen:
            seen[id(profile)] = (number, profile.timeline_json())
        first, steps = seen.get(id(profile), (number, {}))
        timed = None
        if steps or (time is not None and time.late_ns):
            timed = {
                "run_ns": time.end_ns - time.start_ns,
                "start_ns": time.start_ns,
                "launches": time.launches,
                "iterations": time.iterations,
            }
        if timed is not None and steps:
            timed.update({"tasks": steps["tasks"]} if first == number else {"same_as": first})
        found = {"timeline": timed, "memory": steps.get("memory"), "transfers": steps.get("transfers")}
        for name in answer:
            answer[name].append(found[name])
    return dict(answer)


def _import(graph: graphs.Graph) -> None:
    v1 = tensorflow().v1
    try:
        v1.import_graph_def(v1.GraphDef.FromString(graph.to_bytes()), name="")
    except (ValueError, TypeError) as error:
        text = str(error).strip().split("\n", 1)[0].rstrip(".")
        raise NpuError("RUN_FAILED", graph.subject, f"TensorFlow {v1.__version__} does not take it: {text}.") from None


def _element(graph: Any, name: str) -> Any:
    try:
        return graph.as_graph_element(name)
    except (KeyError, ValueError) as error:
        text = str(error.args[0]).rstrip(".")
        raise NpuError("GRAPH_FEED_FETCH", name, f"{text}.") from None


def _call(session: Any, fetches: List[Any], feeds: Mapping[Any, Any]) -> List[Any]:
    errors = tensorflow().v1.errors
    try:
        return list(session.run(fetches, feeds))
    except NpuError:
        raise
    except errors.OpError as error:
        where = "graph" if error.op is None else error.op.name
        raise NpuError("RUN_FAILED", where, f"{str(error.message).strip().splitlines()[0].rstrip('.')}.") from None
    except (TypeError, ValueError) as error:
        raise NpuError("GRAPH_FEED_FETCH", "feeds", f"{str(error).rstrip('.')}.") from None


def _config(params: Mapping[str, Any]) -> Any:
    """As the documents' samples set it."""
    v1 = tensorflow().v1
    config = v1.ConfigProto(allow_soft_placement=True)
    rewrite = config.graph_options.rewrite_options
    rewrite.remapping = type(rewrite).OFF
    entry = rewrite.custom_optimizers.add()
    entry.name = OPTIMIZER
    if params.get("surface", "session") == "session":
        for name, value in params.get("values", {}).items():
            field, content = _field(name, value)
            _set(entry.parameter_map[name], name, field, content)
    return config


def _field(name: str, value: Any) -> Tuple[str, Any]:
    """Which field of the parameter map a value stands in."""
    if isinstance(value, dict) and set(value) == {"field", "value"}:
        return value["field"], value["value"]
    for kind, field in ((bool, "b"), (int, "i"), (float, "f"), (str, "s")):
        if isinstance(value, kind):
            return field, value
    raise NpuError("OPTION_TYPE", name, f"{value!r} has no field in a parameter map.", "Give a bool, int or str.")


def _set(attr: Any, name: str, field: str, value: Any) -> None:
    try:
        setattr(attr, field, value.encode("utf-8") if field == "s" else value)
    except (TypeError, ValueError, AttributeError) as error:
        raise NpuError("OPTION_TYPE", name, f"{value!r} does not go into the field .{field}: {error}.") from None
