"""The tree of a profile: its directories and files, and how it comes into the output directory whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from typing import Any, Dict, List, Mapping, Optional, Sequence

from npu_reference.device.faults import DiskFault
from npu_reference.errors import NpuError
from npu_reference.options.domains import echo
from npu_reference.options.grammars.profiling import ProfilingOptions
from npu_reference.profiling.points import points
from npu_reference.profiling.tables import ProfiledRun, iterations, moments, tables, unit_of

__all__ = ["ProfiledRun", "files", "name_of", "write"]

_PREFIX = "PROF_"
_MOST_NUMBERS = 1000000


def files(runs: Sequence[ProfiledRun], wanted: ProfilingOptions, *, device: int = 0) -> Dict[str, bytes]:
    """Path in the tree to content: tables, the timeline as Chrome trace, and what was collected of which device.

    Equal runs give equal files. Nothing is told of what was not asked for.
    """
    if not runs:
        return {}
    name = runs[0].profile.compiled.device.name
    stamp = _stamp(runs, wanted)
    where = "mindstudio_profiler_output"
    found: Dict[str, bytes] = {}
    for table in tables(runs, wanted, device):
        found[f"{where}/{table.name}_{stamp}.csv"] = table.text(name).encode("utf-8")
    found[f"{where}/msprof_{stamp}.json"] = _json(_trace(runs, wanted, device))
    found[f"device_{device}/info.json.{device}"] = _json(_info(runs, wanted, device))
    found["host/info.json"] = _json({"simulated": True, "device": name})
    return found


def name_of(number: int, content: Mapping[str, bytes]) -> str:
    """What a tree is called: its number in the output directory, and a digest of what is in it."""
    digest = hashlib.sha256()
    for path in sorted(content):
        digest.update(f"{path}\0{len(content[path])}\0".encode())
        digest.update(content[path])
    return f"{_PREFIX}{number:06d}_{digest.hexdigest()[:16].upper()}"


def write(folder: str, content: Mapping[str, bytes], disk: Optional[DiskFault] = None) -> str:
    """Put a tree into an output directory under a number of its own, and answer its path.

    The tree is written aside and renamed, so that what is called ``PROF_…`` is whole
    (session.profiling_options.output.dest).

    Args:
        disk: what it is written to; None for one that is never full.

    Raises:
        NpuError: OPTION_FILE, where the directory is missing or cannot be written.
    """
    aside = ""
    try:
        for number in range(_next_number(folder), _MOST_NUMBERS):
            name = name_of(number, content)
            aside = os.path.join(folder, f".{name}.{os.getpid()}")
            try:
                os.mkdir(aside, mode=0o750)
            except FileExistsError:
                aside = ""  # somebody else's
                continue
            for path, data in sorted(content.items()):
                at = os.path.join(aside, *path.split("/"))
                os.makedirs(os.path.dirname(at), mode=0o750, exist_ok=True)
                with open(at, "wb") as file:
                    (disk or DiskFault()).write(file, data)
            try:
                os.rename(aside, os.path.join(folder, name))
            except OSError:
                if not os.path.isdir(os.path.join(folder, name)):
                    raise
                shutil.rmtree(aside, ignore_errors=True)  # another process has taken the number
                continue
            return os.path.join(folder, name)
    except (OSError, ValueError) as error:
        if aside:
            shutil.rmtree(aside, ignore_errors=True)
        why = getattr(error, "strerror", None) or "it is no path"
        raise NpuError(
            "OPTION_FILE", "profiling_options", f"the output directory {echo(folder)} cannot take the profile: {why}.",
            "Name a directory that exists, that you may write to, and that has room.",
        ) from None  # fmt: skip
    reason = f"the output directory {echo(folder)} holds too many profiles."
    raise NpuError("OPTION_FILE", "profiling_options", reason, "Remove old ones.")


def _next_number(folder: str) -> int:
    taken = [re.match(rf"\.?{_PREFIX}([0-9]{{6}})_", name) for name in os.listdir(folder)]
    return max([int(match[1]) for match in taken if match] or [0]) + 1


def _stamp(runs: Sequence[ProfiledRun], wanted: ProfilingOptions) -> str:
    """What stands where a profiler writes the time: the virtual nanosecond at which the last run ended."""
    last = runs[-1]
    return f"{last.start + last.profile.step * last.profile.iterations:017d}"


def _json(content: Any) -> bytes:
    if isinstance(content, list):  # a timeline, of any length: an event a line, which is as readable and far quicker
        lines = ",\n".join(json.dumps(one, sort_keys=True) for one in content)
        return f"[\n{lines}\n]\n".encode("ascii")
    return (json.dumps(content, indent=1, sort_keys=True) + "\n").encode("ascii")


def _info(runs: Sequence[ProfiledRun], wanted: ProfilingOptions, device: int) -> Dict[str, Any]:
    found = {run.model: points(run.profile, wanted.fp_point, wanted.bp_point) for run in runs}
    hardware = runs[0].profile.compiled.device
    told: Dict[str, Any] = {
        "simulated": True,
        "device_id": device,
        "hardware": hardware.to_json(),
        "training_trace": _switch(wanted.training_trace),
        "task_trace": _switch(wanted.task_trace),
        "aicpu": _switch(wanted.aicpu),
        "aic_metrics": wanted.aic_metrics,
        "iterations": len(iterations(runs)),
    }
    if wanted.training_trace:
        told["points"] = {
            str(model): {
                "fp_point": None if at.forward is None else at.forward.operator,
                "bp_point": None if at.backward is None else at.backward.operator,
            }
            for model, at in sorted(found.items())
        }
    return told


def _switch(on: bool) -> str:
    return "on" if on else "off"


#: Layers of the trace, in the order in which they are drawn, and where their work is done (msprof: process_name and
#: process_labels of msprof_*.json). Tools know the names, so that what says "simulated" stands beside them.
_LAYERS = (("CANN", "CPU"), ("Ascend Hardware", "NPU"), ("Communication", "NPU"), ("Step Trace", "NPU"))
_CANN, _HARDWARE, _COMMUNICATION, _STEPS = range(len(_LAYERS))
_MODELS = 70000  # threads of the step trace, one a model, begin after this number (msprof)
_COPIES = {"h2d": "host to device", "d2h": "device to host"}


def _trace(runs: Sequence[ProfiledRun], wanted: ProfilingOptions, device: int) -> List[Dict[str, Any]]:
    """The timeline as Chrome trace events in the order of their begin, behind what names layers and threads; times in
    microseconds, as the format has them."""
    name = runs[0].profile.compiled.device.name
    events: List[Dict[str, Any]] = []
    for step in iterations(runs) if wanted.task_trace else ():
        kernels = step.run.profile.compiled.fused.kernels
        for number, task, span in step.part.tasks:
            layer, label, args = _HARDWARE, task.name, {"kind": task.kind, "iteration": step.number, "device": device}
            if task.kernel >= 0:
                label, unit = kernels[task.kernel].node, unit_of(task, kernels[task.kernel])
                layer = _COMMUNICATION if unit == "HCCL" else _HARDWARE
                args["Task Type"] = unit
            elif task.kind == "launch":
                layer = _CANN
            elif task.kind in _COPIES:
                args.update({"size(B)": task.bytes, "operation": _COPIES[task.kind]})
            args.update({"Model Id": step.run.model, "Physic Stream Id": task.thread, "Task Id": number})
            events.append(_slice(label, layer, task.thread, step.start + span.start, step.start + span.end, args))
    for one in moments(runs, wanted) if wanted.training_trace else ():
        number, model = one.step.number, one.step.run.model
        args = {
            "Iteration ID": number, "model": model, "FP Start": _us(one.forward), "BP End": _us(one.backward),
            "Iteration End": _us(one.end), "Iteration Time(us)": _us(one.end - one.began),
        }  # fmt: skip
        events.append(_slice(f"Iteration {number}", _STEPS, _MODELS + model, one.began, one.end, args))
    events.sort(key=lambda one: (one["ts"], -one["dur"], one["pid"], one["tid"]))
    return [*_heads(events, name), *events]


def _slice(name: str, layer: int, thread: int, start: int, end: int, args: Dict[str, Any]) -> Dict[str, Any]:
    return {
        "ph": "X", "name": name, "pid": layer + 1, "tid": thread, "ts": start / 1000, "dur": (end - start) / 1000,
        "args": args,
    }  # fmt: skip


def _heads(events: Sequence[Mapping[str, Any]], device: str) -> List[Dict[str, Any]]:
    """What layers and threads are called."""
    found: List[Dict[str, Any]] = []

    def tell(what: str, process: int, thread: int, **args: Any) -> None:
        found.append({"ph": "M", "name": what, "pid": process, "tid": thread, "args": args})

    for layer, (name, side) in enumerate(_LAYERS):
        tell("process_name", layer + 1, 0, name=name, simulated=device)
        tell("process_labels", layer + 1, 0, labels=f"{side},simulated {device}")
        tell("process_sort_index", layer + 1, 0, sort_index=layer)
    for process, thread in sorted({(one["pid"], one["tid"]) for one in events}):
        steps = process == _STEPS + 1
        tell("thread_name", process, thread, name=f"Model ID:{thread - _MODELS}" if steps else f"Stream {thread}")
    return found


def _us(nanoseconds: Optional[int]) -> Optional[float]:
    return None if nanoseconds is None else nanoseconds / 1000
