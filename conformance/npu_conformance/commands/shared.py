"""What several commands take, and how all of them answer in JSON."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any, Callable, List, Mapping, Optional, Sequence

import click

from npu_reference.errors import NpuError

__all__ = [
    "ASSIGNED", "BACKEND", "COMPARE", "EDITION", "EDITIONS", "FEEDS", "FETCHES", "FORMAT", "GRAPH", "IGNORE", "MODEL",
    "MISNAMED", "OP_LIST", "POLICY", "SELECT", "SIZES", "STDIN", "STRICT", "SURFACE", "WORDS", "WORKERS", "echo_json",
    "examples", "how_made", "names_first", "processors", "read_stdin", "seed_of", "stop_on_signals", "word_for",
    "worker_settings",
]  # fmt: skip


_MOST_WORKERS = 256  # assumed


def _together(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def decorate(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


class Number(click.FloatRange):
    """A number between two others: what is no number at all is in no range, though it is outside of none either."""

    def convert(self, value: Any, param: Optional[click.Parameter], ctx: Optional[click.Context]) -> float:
        number = float(super().convert(value, param, ctx))
        if number != number:
            self.fail(f"{value!r} is no number.", param, ctx)
        return number


def examples(*lines: str) -> str:
    """The end of a command's help: command lines, each a line of its own; one with a pipe is whole already."""
    whole = [line if "npu-conformance" in line else f"npu-conformance {line}" for line in lines]
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in whole)


#: What a path is written as to mean standard input.
STDIN = "-"


def read_stdin(most: int = 1 << 31) -> bytes:
    """All of standard input.

    Raises:
        NpuError: USAGE, where it has more than ``most`` bytes.
    """
    data = sys.stdin.buffer.read(most + 1)
    if len(data) > most:
        raise NpuError("USAGE", "standard input", f"has more than {most} bytes.", "Name a file instead.")
    return data


class GraphPath(click.Path):
    """The path of a graph; standard input becomes a file of its own, which goes when the command ends."""

    def convert(self, value: Any, param: Optional[click.Parameter], ctx: Optional[click.Context]) -> Any:
        if value != STDIN or ctx is None:
            return super().convert(value, param, ctx)
        import tempfile

        folder = tempfile.TemporaryDirectory(prefix=_FOLDER)
        ctx.call_on_close(folder.cleanup)
        path = os.path.join(folder.name, "stdin")
        with open(path, "wb") as stream:
            stream.write(read_stdin())
        return path


_FOLDER = "npu-conformance-stdin-"


def word_for(graph: str) -> str:
    """The path of a graph as it was written on the command line."""
    return STDIN if os.path.basename(os.path.dirname(graph)).startswith(_FOLDER) else graph


#: A graph as a file, a SavedModel, or standard input.
GRAPH = click.argument("graph", type=GraphPath())

FORMAT = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to answer."
)
EDITION = click.option(
    "--edition",
    type=click.Choice(["legacy", "current"]),
    default="current",
    show_default=True,
    help="Age of the documents: legacy (001, 002, 004) or current (000, 003).",
)
#: Of questions that are asked in both, unless told otherwise.
EDITIONS = click.option(
    "--edition",
    "editions",
    multiple=True,
    type=click.Choice(["legacy", "current"]),
    help="Only this edition; default both.",
)


def _codes(context: click.Context, parameter: click.Parameter, values: Sequence[str]) -> Sequence[str]:
    """Codes given one by one or with commas between them."""
    return tuple(code.strip() for value in values for code in value.split(",") if code.strip())


#: Rules of lint, by the beginnings of their codes.
SELECT = click.option(
    "--select", multiple=True, callback=_codes, metavar="CODE,...", help="Only rules whose codes begin so."
)
IGNORE = click.option(
    "--ignore", multiple=True, callback=_codes, metavar="CODE,...", help="Without rules whose codes begin so."
)
SURFACE = click.option(
    "--surface",
    type=click.Choice(["session", "runconfig"]),
    default="session",
    show_default=True,
    help="Where the options are set: NpuOptimizer's parameter map, or NPURunConfig.",
)
STRICT = click.option(
    "--strict", is_flag=True, help="Fail where a name is given that is no option here, such as a misspelt one."
)
#: Whose answer, in the words of `partition`.
POLICY = _together(
    click.option(
        "--policy",
        type=click.Choice(["documented", "adapter"]),
        default="documented",
        show_default=True,
        help="As the documents say, or exactly as the adapter's own pass.",
    ),
    click.option(
        "--flavour",
        type=click.Choice(["tf1", "tf2"]),
        default="tf1",
        show_default=True,
        help="Which build of the adapter.",
    ),
)
SIZES = _together(
    click.option(
        "--shape",
        "shapes",
        multiple=True,
        metavar="NAME:8,224,224,3",
        help="Shape of an input, for bytes and operations; may be repeated.",
    ),
    click.option(
        "--batch",
        type=click.IntRange(1, 1 << 31),
        metavar="N",
        help="First size of all inputs that leave it open and have no --shape.",
    ),
)
ASSIGNED = click.option("-o", "assignments", multiple=True, metavar="k=v", help="An option; may be repeated.")
OP_LIST = click.option(
    "--op-list", "op_list", type=click.Path(), help="JSON of offloadable operators; default the catalog's."
)
FEEDS = click.option(
    "--feed", "feeds", multiple=True, metavar="NAME:SLOT", help="A tensor that is fed; may be repeated."
)
FETCHES = click.option(
    "--fetch",
    "fetches",
    multiple=True,
    metavar="NAME[:SLOT]",
    help="A tensor that is fetched, or an operator that is run; may be repeated.",
)
#: A graph as one session.run sees it, under options and with the operators of a device.
MODEL = _together(
    GRAPH,
    ASSIGNED,
    OP_LIST,
    click.option(
        "--ops-info",
        "ops_info",
        type=click.Path(),
        help="Your aic-<soc>-ops-info.json, laid over the built-in operator library.",
    ),
    FEEDS,
    FETCHES,
    SIZES,
)
COMPARE = click.option(
    "--compare",
    "other",
    multiple=True,
    metavar="k=v",
    help="Also say what this option changes, laid over those of -o; may be repeated, one comparison each.",
)
BACKEND = click.option(
    "--backend",
    "spec",
    default="reference",
    show_default=True,
    metavar="SPEC",
    help="reference, adapter[:PYTHON], mutant:NAME, py:module:attr or 'exec:command line'.",
)
WORKERS = _together(
    click.option(
        "-n",
        "jobs",
        type=click.IntRange(1, _MOST_WORKERS),
        default=None,
        metavar="N",
        help="Worker processes.  [default: as many as this process may use processors]",
    ),
    click.option(
        "--timeout-factor",
        "factor",
        type=Number(0.01, 1000.0),
        default=1.0,
        show_default=True,
        help="Multiplies every time limit.",
    ),
    click.option(
        "--backend-env",
        "variables",
        multiple=True,
        metavar="NAME[=VALUE]",
        help="Hand this variable to the backend, which sees almost none of ours.",
    ),
    click.option(
        "--worker-python", "python", default="", metavar="PATH", help="Interpreter that hosts a py: or adapter backend."
    ),
)


def worker_settings(jobs: Optional[int], factor: float, variables: Sequence[str], python: str) -> Any:
    """How to run workers, as :data:`WORKERS` says; ``jobs``: None for one a processor."""
    from npu_conformance.running.lanes import Settings

    env = {}
    for text in variables:
        name, equals, value = text.partition("=")
        if not name:
            raise NpuError("USAGE", f"--backend-env {text!r}", "names no variable", "Write NAME or NAME=VALUE.")
        if not equals and name not in os.environ:
            raise NpuError("USAGE", f"--backend-env {name}", "is not set here", f"Write {name}=VALUE.")
        env[name] = value if equals else os.environ[name]
    return Settings(jobs or processors(), factor, env, python)


def sandbox_here() -> Mapping[str, Any]:
    """What shuts workers in on this machine.

    Raises:
        NpuError: SYSTEM where nothing does.
    """
    from npu_conformance.protocol import sandbox

    found = sandbox.means()
    if found is None:
        remedy = "Install bubblewrap (Debian: apt-get install bubblewrap), or use Linux 5.13 or newer with Landlock."
        raise NpuError("SYSTEM", "--sandbox", "neither bubblewrap nor Landlock works on this machine", remedy)
    if found["network"] != "none":
        words = {"tcp": "of the network only TCP is closed", "open": "the network stays open"}[found["network"]]
        click.echo(f"note: workers write into their folders alone, but {words} on this machine", err=True)
    return found


def seed_of(option: str, given: str) -> int:
    """The seed that an option gives; a fresh one comes from the system's randomness."""
    if given == "fresh":
        return int.from_bytes(os.urandom(6), "big")
    if not given.isascii() or not given.isdigit() or len(given) > 20:
        raise NpuError("USAGE", f"{option} {given[:40]}", "is no seed", "Give a number from 0, or 'fresh'.")
    return int(given)


def processors() -> int:
    """How many processors this process may use, which a container or taskset may have made fewer."""
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), _MOST_WORKERS)
    return min(os.cpu_count() or 1, _MOST_WORKERS)


#: Codes of warnings about a name that means nothing here: whoever wrote it believes that it does something.
MISNAMED = ("unknown", "not_on_surface", "not_in_edition")


def refused(warning: Any) -> str:
    """What is wrong with a name, where nothing is ignored."""
    return str(warning.text).replace("; it is ignored", "", 1)


def names_first(warnings: Sequence[Any], strict: bool) -> List[Any]:
    """The other warnings, once those about names that are no options here were told on stderr, before any result.

    Raises:
        NpuError: USAGE, for the first such name, if ``strict``.
    """
    wrong = [warning for warning in warnings if warning.code in MISNAMED]
    if strict and wrong:
        raise NpuError("USAGE", "--strict", refused(wrong[0]))
    for warning in wrong:
        click.echo(click.style("warning", fg="yellow") + f"[{warning.code}] {warning.text}", err=True)
    return [warning for warning in warnings if warning.code not in MISNAMED]


def stop_on_signals() -> None:
    """SIGINT and SIGTERM end the run and its workers; the second one at once, whatever is being waited for. What a
    worker leaves is ended by this process, where nothing else runs in it."""
    import signal

    from npu_conformance.protocol import process

    context = click.get_current_context(silent=True)
    if context is not None and context.find_root().obj is True:
        process.adopt()
    asked: List[int] = []

    def stop(number: int, frame: object) -> None:
        if asked:
            os._exit(130)  # keepers end the workers, and a later run removes what is left
        asked.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:  # a job in the background does not hear the keyboard
                signal.signal(number, stop)


#: Where the context of a command keeps the words it was given, without the program's name.
WORDS = "npu_conformance.words"


def how_made() -> Any:
    """How the page that the running command writes is made, for its frame."""
    from npu_conformance.report.page import made_by

    return made_by(["npu-conformance", *click.get_current_context().meta.get(WORDS, ())])


def echo_json(value: Mapping[str, Any]) -> None:
    from npu_conformance.files import streams
    from npu_conformance.files.output import dumps

    try:
        click.echo(dumps(value))
    except BrokenPipeError:
        streams.give_up_output()  # whoever read it has read enough; the status is what it is
