"""Mutants of what a run does on the device: loops, timeouts on its clock, checks of kernels. Cases need TensorFlow."""

from __future__ import annotations

import copy
from typing import Any, Callable, Dict, List, Mapping

from npu_conformance.backends.mutants.edits import Answer, Params, altered, with_values
from npu_reference.errors import DeviceError, NpuError

__all__: List[str] = []

Run = Callable[[Params], Answer]
Fault = Callable[[Run, Params], Answer]


def _hears(**changes: Any) -> Fault:
    """Runs under another value of options that are given; a callable makes it of the one given."""

    def fault(run: Run, params: Params) -> Answer:
        given = params.get("values", {})
        new = {name: made(given[name]) if callable(made) else made for name, made in changes.items() if name in given}
        return run(with_values(params, **new))

    return fault


def _suffers(change: Callable[[Dict[str, Any]], Dict[str, Any]]) -> Fault:
    """Has other faults than were asked for."""

    def fault(run: Run, params: Params) -> Answer:
        asked = [change(dict(one)) for one in params.get("faults", [])]
        return run({**params, "faults": asked} if asked else params)

    return fault


def _raises(code: str, change: Callable[[DeviceError], None]) -> Fault:
    """Ends in an error that says something else."""

    def fault(run: Run, params: Params) -> Answer:
        try:
            return run(params)
        except NpuError as error:
            if error.code == code and isinstance(error, DeviceError):
                change(error)
            raise

    return fault


def _tells(change: Callable[[Dict[str, Any]], None]) -> Fault:
    """Answers other times of its runs."""

    def fault(run: Run, params: Params) -> Answer:
        answer = copy.deepcopy(run(params))
        for step in answer.get("timeline", []):
            if step is not None:
                change(step)
        return answer

    return fault


def _later(option: str) -> Callable[[DeviceError], None]:
    def change(error: DeviceError) -> None:
        if error.option == option and error.after_ns is not None:
            error.after_ns *= 2

    return change


def _says(old: str, new: str) -> Callable[[DeviceError], None]:
    def change(error: DeviceError) -> None:
        error.reason = error.reason.replace(old, new)

    return change


def _unnamed(error: DeviceError) -> None:
    error.reason = error.reason.replace(error.subject, "a kernel")
    error.subject = "device"


def _one_launch_each(step: Dict[str, Any]) -> None:
    step["launches"] = step["launches"] * step["iterations"]


def _one_iteration(step: Dict[str, Any]) -> None:
    step["iterations"] = 1


def _short(step: Dict[str, Any]) -> None:
    step["run_ns"] = min(step["run_ns"], 10**9)


def _with_script(params: Params, change: Callable[[List[str]], List[str]]) -> Params:
    return {**params, "args": change(list(params.get("args", [])))}


def _map_loops(run: Run, params: Params) -> Answer:
    """The entry of the map calls the API itself."""
    args = params.get("args", [])
    by_map = next((text for text in args if text.startswith("map=") and text != "map=0"), None)
    return run(_with_script(params, lambda _: [by_map.replace("map", "api"), by_map]) if by_map else params)


def _api_alone(run: Run, params: Params) -> Answer:
    return run(_with_script(params, lambda args: ["api=0" if text.startswith("api=") else text for text in args]))


def _counts_overflows(run: Run, params: Params) -> Answer:
    return run({key: value for key, value in params.items() if key != "faults"})


def _unchecked(run: Run, params: Params) -> Answer:
    return run(with_values(params, op_debug_config=None))


def _checked_everywhere(run: Run, params: Params) -> Answer:
    files: Mapping[str, Any] = params.get("files", {})
    plain = {name: text.split("op_debug_list")[0] if isinstance(text, str) else text for name, text in files.items()}
    return run({**params, "files": plain})


def _always_checked(run: Run, params: Params) -> Answer:
    given = {"op_debug_config": "always.cfg", **params.get("values", {})}
    files = {"always.cfg": "op_debug_config = oom\n", **params.get("files", {})}
    return run({**params, "values": given, "files": files} if params.get("surface") == "runconfig" else params)


def _past(extra: int) -> Callable[[Dict[str, Any]], Dict[str, Any]]:
    def change(fault: Dict[str, Any]) -> Dict[str, Any]:
        return {**fault, "past": max(fault["past"] + extra, 0)} if "past" in fault else fault

    return change


for _name, _requirement, _sentence, _fault in (
    (
        "run-loop-launched-each-time",
        "session.iterations_per_loop.effect",
        "Launches every iteration of a loop on its own.",
        _tells(_one_launch_each),
    ),
    (
        "run-loop-of-one-iteration",
        "api.set_iteration_per_loop",
        "Takes set_iteration_per_loop and makes one iteration a run.",
        _api_alone,
    ),
    (
        "run-loop-told-as-one",
        "session.iterations_per_loop.effect",
        "Counts a loop as one iteration.",
        _tells(_one_iteration),
    ),
    (
        "run-loop-of-the-map",
        "session.iterations_per_loop.set_by_api",
        "Makes a loop of the map entry alone.",
        _map_loops,
    ),
    (
        "run-overflow-counts",
        "runconfig.iterations_per_loop.total_may_differ",
        "Counts an iteration that overflowed, and applies its gradients.",
        _counts_overflows,
    ),
    (
        "run-op-execute-unlimited",
        "runconfig.op_execute_timeout.effect",
        "Lets a kernel run for ever, whatever op_execute_timeout says.",
        _hears(op_execute_timeout=None),
    ),
    (
        "run-op-execute-late",
        "runconfig.op_execute_timeout.effect",
        "Waits twice as long as op_execute_timeout.",
        _raises("DEVICE_TIMEOUT", _later("op_execute_timeout")),
    ),
    (
        "run-op-execute-early",
        "runconfig.op_execute_timeout.effect",
        "Ends a kernel that is within op_execute_timeout.",
        _hears(op_execute_timeout=lambda seconds: max(seconds // 2, 1)),
    ),
    (
        "run-op-wait-default",
        "runconfig.op_wait_timeout.effect",
        "Waits 120 seconds, whatever op_wait_timeout says.",
        _hears(op_wait_timeout=120),
    ),
    (
        "run-op-wait-default-of-ten-minutes",
        "runconfig.op_wait_timeout.default",
        "Waits ten minutes where op_wait_timeout is not given.",
        lambda run, params: run(
            {**params, "values": {"op_wait_timeout": 600, **params["values"]}}
            if params["surface"] == "runconfig"
            else params
        ),
    ),
    (
        "run-op-wait-in-minutes",
        "session.op_wait_timeout.unit",
        "Counts op_wait_timeout in minutes.",
        _hears(op_wait_timeout=lambda value: value * 60),
    ),
    (
        "run-stream-sync-in-seconds",
        "runconfig.stream_sync_timeout.effect",
        "Counts stream_sync_timeout in seconds.",
        _hears(stream_sync_timeout=lambda value: value * 1000 if value > 0 else value),
    ),
    (
        "run-stream-sync-minus-one-ends",
        "runconfig.stream_sync_timeout.minus_one",
        "Takes stream_sync_timeout -1 for a minute.",
        _hears(stream_sync_timeout=lambda value: 60000 if value == -1 else value),
    ),
    (
        "run-stream-sync-minus-one-does-not-wait",
        "runconfig.stream_sync_timeout.minus_one",
        "Does not wait at all with stream_sync_timeout -1.",
        _tells(_short),
    ),
    (
        "run-event-sync-unlimited",
        "runconfig.event_sync_timeout.effect",
        "Waits for an event for as long as it takes, whatever event_sync_timeout says.",
        _hears(event_sync_timeout=-1),
    ),
    (
        "run-event-sync-minus-one-ends",
        "runconfig.event_sync_timeout.minus_one",
        "Takes event_sync_timeout -1 for a minute.",
        _hears(event_sync_timeout=lambda value: 60000 if value == -1 else value),
    ),
    (
        "run-oom-not-compiled-in",
        "runconfig.op_debug_config.oom.effect",
        "Compiles kernels without the checks that op_debug_config asks for.",
        _unchecked,
    ),
    (
        "run-oom-always-compiled-in",
        "runconfig.op_debug_config.oom.effect",
        "Checks kernels for writes past a buffer although nobody asked.",
        _always_checked,
    ),
    (
        "run-oom-ignores-its-list",
        "runconfig.op_debug_config.oom.effect",
        "Checks operators that the op_debug_list does not name.",
        _checked_everywhere,
    ),
    (
        "run-oom-one-byte-late",
        "runconfig.op_debug_config.oom.boundary",
        "Lets a write end one byte past its buffer.",
        _suffers(_past(-1)),
    ),
    (
        "run-oom-one-byte-early",
        "runconfig.op_debug_config.oom.boundary",
        "Refuses a write that ends exactly at the end of its buffer.",
        _suffers(_past(1)),
    ),
    (
        "run-oom-another-code",
        "runconfig.op_debug_config.oom.error_code",
        "Reports a write past a buffer without EZ9999.",
        _raises("DEVICE_FAULT", _says("EZ9999", "EZ0000")),
    ),
    (
        "run-unmatched-signals-unnamed",
        "runconfig.op_debug_config.check_flag.error",
        "Does not name the kernel whose signals are not matched.",
        _raises("DEVICE_TIMEOUT", _unnamed),
    ),
    (
        "run-unmatched-signals-unnoticed",
        "runconfig.op_debug_config.check_flag.error",
        "Does not look for unmatched signals, whatever op_debug_config asks for.",
        _unchecked,
    ),
):
    altered(_name, _requirement, _sentence, "run", _fault)
