"""Decides how a step on the simulated device looks in a terminal: the whole first, then where it goes."""

from __future__ import annotations

import itertools
from typing import Any, Mapping, Sequence, Tuple

from npu_conformance.report.terminal import Rows, Terminal, Text, line, noted, plain
from npu_reference.printing import counted

__all__ = [
    "TYPES", "bytes_text", "changed", "engines_table", "kernel_of", "profile", "spent", "time_text",
    "types_table",
]  # fmt: skip

_COUNTED = 4  # loops, conditionals, tensors and profiles shown; --format json has all
TYPES = 12  # types of kernels shown; --format json has all


def profile(answer: Mapping[str, Any], warnings: Sequence[Any], title: str) -> None:
    """The step, engines, types of kernels, the dearest kernels, memory, and what other options change."""
    console = Terminal()
    device = answer["device"]["name"]
    head = f"{title}: {time_text(answer['step_ns'])} a step on a simulated {device}, by its model and not measured"
    line(console, plain(head), 2)
    error = answer["error"]
    if error is not None:
        least, most = (f"{error[name]:.2f}" for name in ("least", "most"))
        known = f"published steps of {error['nets']} {error['class']} networks took {least} to {most} times as long"
        line(console, plain(f"{known} as the model says"), 2)
    if answer["fused_kernels"]:
        line(console, Text("least known: ", style="bold") + plain(least_known(answer)), 2)
    if answer["pipeline"] and answer["pipeline"]["likely"]:
        line(console, plain(answer["pipeline"]["says"]), 2)
    if answer["loops"] > 1:
        line(console, plain(f"one launch makes {answer['loops']} iterations"), 2)
    steps = answer["concurrent"]
    if steps["steps"] > 1:
        whole = time_text(answer["run_ns"])
        line(console, plain(f"{steps['steps']} steps asked for at once take {whole}, {steps['at_once']} at a time"), 2)
    path = answer["critical_path"]
    line(console, Text("critical path: ", style="bold") + plain(spent(path)), 2)
    fused = sum(count["effect_times"] for count in answer["fusion"])
    line(console, Text("kernels: ", style="bold") + plain(f"{answer['fused_kernels']} ({fused} fused into others)"), 2)
    _counted(console, answer)
    engines_table(console, answer["engines"], {name: row["share"] for name, row in answer["engines"].items()})
    types_table(console, answer["types"])
    _dearest(console, answer["dearest"])
    _memory(console, answer)
    _communication(console, answer["communication"])
    noted(console, answer["notes"])
    for warning in warnings:
        line(console, Text("warning ", style="yellow") + plain(warning.text), 2)
    _compared(console, answer)


def least_known(answer: Mapping[str, Any]) -> str:
    """The operators that the model knows least about, with their kernels' part of the time."""
    rows = answer["least_known"]
    if not rows:
        return "nothing; published steps have every operator"
    told = []
    for says, some in itertools.groupby(rows[:_COUNTED], key=lambda row: row["says"]):
        told.append(", ".join(f"{row['op']} {100 * row['share']:.1f} %" for row in some) + f" ({says})")
    more = [f"and {len(rows) - _COUNTED} more"] if len(rows) > _COUNTED else []
    return ", ".join([*told, *more])


def _counted(console: Terminal, answer: Mapping[str, Any]) -> None:
    """What was counted where the graph alone does not tell: turns, branches, sizes, profiles."""
    control = answer["control"]
    for title, rows in (
        ("loops", [f"{loop['name']} {_turns(loop)}" for loop in control["loops"]]),
        ("conditionals", [f"{one['name']} by its dearest branch, {one['taken']}" for one in control["conditionals"]]),
        ("as large as they can be", control["largest"]),
        ("profiles", [f"{one['name']} {time_text(one['step_ns'])}" for one in answer["profiles"]]),
    ):
        if rows:
            more = [f"and {len(rows) - _COUNTED} more"] if len(rows) > _COUNTED else []
            line(console, Text(f"{title}: ", style="bold") + plain(", ".join([*rows[:_COUNTED], *more])), 2)


def _turns(loop: Mapping[str, Any]) -> str:
    if loop["how"] == "unknown":
        return "one turn, as its turns are not known"
    most = "at most " if loop["how"] == "at_most" else ""
    return f"{most}{counted(loop['turns'], 'turn')}"


def spent(path: Mapping[str, Any]) -> str:
    """The time along a critical path by kind of task, the longest first."""
    rows = sorted(path["ns_by_kind"].items(), key=lambda row: (-row[1], row[0]))
    return f"{counted(path['tasks'], 'task')}: {', '.join(f'{kind} {time_text(ns)}' for kind, ns in rows)}"


def engines_table(console: Terminal, engines: Mapping[str, Any], shares: Mapping[str, float]) -> None:
    """What each engine did, and its share of the whole."""
    table = Rows("Engine", "Tasks", "Busy", "Share", numbers=("Tasks", "Busy", "Share"))
    for name, row in engines.items():
        table.add_row(name, f"{row['tasks']}", time_text(row["busy_ns"]), f"{100 * shares[name]:.1f} %")
    console.print(table)


def types_table(console: Terminal, types: Sequence[Mapping[str, Any]]) -> None:
    """The types of kernels that take most."""
    table = Rows("Kernel", "Engine", "Count", "Time", "Launch", "Memory", numbers=("Count", "Time", "Launch", "Memory"))
    for row in types[:TYPES]:
        table.add_row(
            row["type"], row["engine"], f"{row['count']}", time_text(row["busy_ns"]), time_text(row["launch_ns"]),
            bytes_text(row["hbm_bytes"]),
        )  # fmt: skip
    console.print(table)
    if len(types) > TYPES:
        line(console, plain(f"{counted(len(types) - TYPES, 'more type')}: --format json"), 2)


def _dearest(console: Terminal, dearest: Sequence[Mapping[str, Any]]) -> None:
    table = Rows("Dearest kernels", "Kernel", "Time", "Bound by", numbers=("Time",))
    for row in dearest:
        table.add_row(plain(row["node"]), kernel_of(row), time_text(row["busy_ns"] + row["launch_ns"]), row["bound"])
    console.print(table)


def kernel_of(row: Mapping[str, Any]) -> str:
    """A kernel's type, and how many operators were fused into it."""
    return str(row["type"]) + (f" (+{len(row['members']) - 1} fused)" if len(row["members"]) > 1 else "")


def _memory(console: Terminal, answer: Mapping[str, Any]) -> None:
    memory = answer["memory"]
    told = (
        f"{bytes_text(memory['total'])}: {bytes_text(memory['variables'])} of variables, "
        f"{bytes_text(memory['fixed'] - memory['variables'])} of constants, "
        f"{bytes_text(memory['arena'])} for the rest"
        f"{_workspace(memory)}; "
        f"at most {bytes_text(memory['peak'])} alive, at {time_text(memory['peak_at_ns'])}"
    )
    line(console, Text("memory: ", style="bold") + plain(told), 2)
    for row in memory["largest"][:3]:
        line(console, plain(f"  {bytes_text(row['bytes'])} {row['tensor']}"), 4)
    copies = answer["transfers"]
    own = [copy for copy in copies if copy["direction"] == "h2d" and copy.get("device", -1) < 0]
    into, tensors = [copy["bytes"] for copy in own], counted(sum(len(copy["tensors"]) for copy in own), "tensor")
    back = [copy["bytes"] for copy in copies if copy["direction"] == "d2h"]
    told = f"{len(into)} to the device ({tensors}, {bytes_text(sum(into))}), {len(back)} back ({bytes_text(sum(back))})"
    line(console, Text("copies, every GEOP its own: ", style="bold") + plain(told), 2)


def _workspace(memory: Mapping[str, Any]) -> str:
    return f" ({bytes_text(memory['workspace'])} of it workspaces)" if memory["workspace"] else ""


def _communication(console: Terminal, told: Mapping[str, Any]) -> None:
    """What goes between the devices; nothing where there is one that sends nothing."""
    found = told["collectives"] if told["ranks"] > 1 else ()
    if found:
        table = Rows("Collective", "Algorithm", "Link", "Data", "Time", numbers=("Data", "Time"))
        for one in found[:TYPES]:
            more = f" (+{len(one['nodes']) - 1})" if len(one["nodes"]) > 1 else ""
            data = (bytes_text(one["bytes"]), time_text(one["busy_ns"]))
            table.add_row(plain(one["nodes"][0] + more), one["algorithm"], one["engine"], *data)
        console.print(table)
        if len(found) > TYPES:
            line(console, plain(f"{counted(len(found) - TYPES, 'more collective')}: --format json"), 2)
    if told["ranks"] > 1:
        links = ", ".join(f"{bytes_text(count)} over {kind}" for kind, count in told["links"].items()) or "nothing"
        text = f"{told['ranks']} send {links} a step; {time_text(told['alone_ns'])} of it with nothing computed beside"
        if told.get("efficiency") is not None:
            text += f"; {told['efficiency']:.3f} of {told['ranks']} times the rate of one"
        line(console, Text("devices: ", style="bold") + plain(text), 2)
    dataset = told["dataset"]
    if dataset and dataset["sent"]:
        devices = ", ".join(str(one["device"]) for one in dataset["sent"])
        line(console, Text("dataset: ", style="bold") + plain(f"read here, sent to devices {devices}"), 2)
    elif dataset and not dataset["reads"]:
        line(console, Text("dataset: ", style="bold") + plain("not read here, received from the main process"), 2)


def _compared(console: Terminal, answer: Mapping[str, Any]) -> None:
    for one in answer["compared"]:
        options, told = changed(one)
        line(console, Text(f"with {options}: ", style="bold") + plain(told), 2)
    if answer["compared"]:
        line(console, plain("operators on the host are not timed: fewer kernels may mean more of them"), 2)


def changed(one: Mapping[str, Any]) -> Tuple[str, str]:
    """The options of a comparison, and what a step is with them."""
    options = ", ".join(f"{name}={value}" for name, value in one["options"].items())
    change = f"{one['faster']:.2f} times as fast" if one["faster"] else "no time at all"
    kernels = f"{counted(one['kernels'], 'kernel')}, " if "kernels" in one else ""
    return options, f"{time_text(one['step_ns'])} a step, {change}; {kernels}{bytes_text(one['peak'])} at most"


def time_text(nanoseconds: int) -> str:
    """Three digits and a unit, without a blank at which a table could break it."""
    return _scaled(nanoseconds, (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1)))


def bytes_text(count: int) -> str:
    """Three digits and a unit of 1024s."""
    return _scaled(count, (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)))


def _scaled(value: int, units: Sequence[Tuple[str, int]]) -> str:
    unit, size = next(((unit, size) for unit, size in units if value >= size), units[-1])
    scaled = value / size
    return f"{scaled:.3g}{unit}" if scaled < 999.5 else f"{scaled:.0f}{unit}"
