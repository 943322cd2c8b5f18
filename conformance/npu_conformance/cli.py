"""The command line ``npu-conformance``: reads arguments, calls one function, renders, and sets the exit status."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import click

import npu_reference
from npu_reference.errors import ExitStatus, NpuError

__all__ = ["main", "cli"]

_OUT = "npu-conformance-report"

#: Operator types whose absence is weighed without being asked, and the size of graph beyond which none is: a partition
#: of 50 000 operators takes some seconds.
_BLAMED = 5
_BLAME_NODES = 50000


def main(argv: Optional[Sequence[str]] = None) -> None:
    """Runs a command and exits with its status; every error is one line on stderr."""
    arguments = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    try:
        status = cli.main(args=arguments, prog_name="npu-conformance", standalone_mode=False)
        sys.stdout.flush()
        code = status if isinstance(status, int) else ExitStatus.OK
    except NpuError as error:
        code = _say(error)
    except click.ClickException as error:
        code = _say(_usage(error))
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        code = 130  # 128 + SIGINT, as shells have it
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the interpreter flushes stdout once more at exit
        code = ExitStatus.OK
    except Exception as error:  # noqa: BLE001  the last resort: no traceback reaches a user
        code = _say(_internal(error))
    sys.exit(code)


def _say(error: NpuError) -> int:
    text = str(error).replace("\r", "\\r").replace("\n", "\\n")
    click.echo(f"error{text}", err=True)
    return error.exit_status


def _usage(error: click.ClickException) -> NpuError:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "npu-conformance"
    return NpuError("USAGE", command, error.format_message(), f"See: {command} --help")


def _internal(error: Exception) -> NpuError:
    if os.environ.get("NPU_CONFORMANCE_DEBUG"):
        traceback.print_exc()
        return NpuError("INTERNAL", "npu-conformance", f"{type(error).__name__}: {error}")
    handle, path = tempfile.mkstemp(prefix="npu-conformance-crash-", suffix=".txt")
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(" ".join(sys.argv) + "\n" + traceback.format_exc())
    return NpuError("INTERNAL", "npu-conformance", f"{type(error).__name__}: {error}", f"Details are in {path}.")


# Options that several commands share


def _together(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def decorate(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


_FORMAT = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to answer."
)
_EDITION = click.option(
    "--edition",
    type=click.Choice(["legacy", "current"]),
    default="current",
    show_default=True,
    help="Age of the documents: legacy (001, 002, 004) or current (000, 003).",
)
_SURFACE = click.option(
    "--surface",
    type=click.Choice(["session", "runconfig"]),
    default="session",
    show_default=True,
    help="Where the options are set: NpuOptimizer's parameter map, or NPURunConfig.",
)
_SIZES = _together(
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
_BACKEND = click.option(
    "--backend",
    "spec",
    default="reference",
    show_default=True,
    metavar="SPEC",
    help="reference, mutant:NAME, py:module:attr or 'exec:command line'.",
)
_WORKERS = _together(
    click.option("-n", "jobs", type=click.IntRange(1, 256), default=1, show_default=True, help="Worker processes."),
    click.option(
        "--timeout-factor",
        "factor",
        type=click.FloatRange(0.01, 1000.0),
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
    click.option("--worker-python", "python", default="", metavar="PATH", help="Interpreter that hosts a py: backend."),
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(version=npu_reference.__version__, message="%(version)s")
def cli() -> None:
    """Executable specification of Ascend's TensorFlow adapter, on a simulated NPU."""


def _settings(jobs: int, factor: float, variables: Sequence[str], python: str) -> Any:
    from .runner import Settings

    env = {}
    for text in variables:
        name, equals, value = text.partition("=")
        if not name:
            raise NpuError("USAGE", f"--backend-env {text!r}", "names no variable", "Write NAME or NAME=VALUE.")
        if not equals and name not in os.environ:
            raise NpuError("USAGE", f"--backend-env {name}", "is not set here", f"Write {name}=VALUE.")
        env[name] = value if equals else os.environ[name]
    return Settings(jobs, factor, env, python)


def _stop_on_sigterm() -> None:
    """A terminated run ends its workers as an interrupted one does."""
    import signal

    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)


def _json(value: Mapping[str, Any]) -> None:
    from .output import dumps

    click.echo(dumps(value))


# Judging


@cli.command()
@_BACKEND
@click.option("--area", "areas", multiple=True, help="Only cases of this area; may be repeated.")
@click.option(
    "-k",
    "keyword",
    default="",
    metavar="EXPR",
    help="Only instances whose id or requirement contains this; with and, or, not, ().",
)
@click.option(
    "--edition",
    "editions",
    multiple=True,
    type=click.Choice(["legacy", "current"]),
    help="Only this edition; default both.",
)
@_WORKERS
@click.option(
    "--known-failures",
    "known",
    type=click.Path(),
    help="TOML of failures that are known, each with signature and expiry.",
)
@click.option(
    "--laws",
    type=click.IntRange(0, 1000000),
    default=0,
    show_default=True,
    metavar="N",
    help="Also ask for the partitions of N random graphs, and judge them by laws.",
)
@click.option(
    "--law-seed", type=click.IntRange(0), default=0, show_default=True, metavar="SEED", help="Which random graphs."
)
@click.option(
    "--out",
    default=_OUT,
    show_default=True,
    type=click.Path(),
    help="Folder of the report; an earlier report is replaced.",
)
@_FORMAT
def run(
    spec: str,
    areas: Tuple[str, ...],
    keyword: str,
    editions: Tuple[str, ...],
    jobs: int,
    factor: float,
    variables: Tuple[str, ...],
    python: str,
    known: Optional[str],
    laws: int,
    law_seed: int,
    out: str,
    form: str,
) -> int:
    """Judge a backend by all cases; exit 0 if it conforms, 1 if not."""
    from . import backends, known_failures, library, output, progress, render, runner, selection
    from .laws import asking
    from .report import summary, write

    _stop_on_sigterm()
    backends.check(spec)
    shelf = library.load()
    more = asking.instances() if laws else []
    wanted = selection.select(shelf, areas=areas, editions=editions, keyword=keyword, more=more)
    instances = [instance for instance in wanted if instance not in more]
    lawful = tuple(instance for instance in wanted if instance in more)
    if not wanted:
        raise NpuError("USAGE", "npu-conformance run", "the selection matches no case")
    if laws and not lawful:
        raise NpuError("USAGE", f"--laws {laws}", "the selection leaves no law", "Laws are of the area partition.")
    entries = known_failures.load(known, [*shelf.instances(), *more]) if known else []
    asked: Dict[str, Any] = {"areas": list(areas), "editions": list(editions), "keyword": keyword}
    if laws:
        asked.update(laws=laws, law_seed=law_seed)
    settings = _settings(jobs, factor, variables, python)
    with output.replaced_folder(out) as folder:
        plan = asking.Plan(laws, law_seed, lawful, folder) if laws else None
        with progress.bar(len(instances) + laws) as advance:
            report = runner.run(shelf, instances, spec, settings, entries, asked, advance, folder, plan)
        missing = write.write(shelf, report, folder)
    if form == "json":
        _json(summary.answer(report))
    else:
        render.run(report, summary.areas(report), out, bool(missing))
    if missing:
        click.echo(f"note: {missing}", err=True)
    return ExitStatus.OK if report.verdict == "conformant" else ExitStatus.NEGATIVE


@cli.command()
@click.argument("folder", type=click.Path())
@_FORMAT
def verify(folder: str, form: str) -> int:
    """Judge a report FOLDER again from its raw observations; exit 1 if it does not hold."""
    from . import library, render
    from . import verify as verification

    found = verification.verify(library.load(), folder)
    if form == "json":
        _json(verification.answer(found))
    else:
        render.verification(found)
    return ExitStatus.OK if found.holds and found.verdict == "conformant" else ExitStatus.NEGATIVE


@cli.command()
@click.argument("before", type=click.Path())
@click.argument("after", type=click.Path())
@_FORMAT
def compare(before: str, after: str, form: str) -> int:
    """Compare two report folders; exit 1 if anything became worse."""
    from . import comparison, render

    found = comparison.compare(before, after)
    if form == "json":
        _json(comparison.answer(found))
    else:
        render.comparison(found)
    return ExitStatus.NEGATIVE if found.worse else ExitStatus.OK


@cli.command()
@click.option("--prefix", default="", help="Only requirements whose id begins with this.")
@click.option("--missing", is_flag=True, help="List those without a case or a written reason; exit 1 if there are any.")
@_FORMAT
def coverage(prefix: str, missing: bool, form: str) -> int:
    """Say which requirements have cases, mutants, or a reason why no case can see them."""
    from . import coverage as counting
    from . import library, render

    rows = [row for row in counting.rows(library.load()) if row.id.startswith(prefix)]
    if form == "json":
        _json(counting.answer(rows))
    else:
        render.coverage(rows, missing)
    return ExitStatus.NEGATIVE if missing and not all(row.covered for row in rows) else ExitStatus.OK


@cli.command()
@click.argument("names", nargs=-1)
@click.option("--list", "listed", is_flag=True, help="List the mutants without running them.")
@click.option("--area", "areas", multiple=True, help="Only mutants of this area; may be repeated.")
@_WORKERS
@_FORMAT
def mutants(
    names: Tuple[str, ...],
    listed: bool,
    areas: Tuple[str, ...],
    jobs: int,
    factor: float,
    variables: Tuple[str, ...],
    python: str,
    form: str,
) -> int:
    """Run the cases against faulty backends (all, or NAMES); exit 1 if one survives.

    With all mutants of options it ends with a table of options and kinds of faults.
    """
    from . import library, mutation, progress, render
    from .mutation import fault_table, killing

    registry = mutation.registry()
    unknown = [name for name in names if name not in registry]
    if unknown:
        raise NpuError("USAGE", unknown[0], "there is no mutant of this name", "See: npu-conformance mutants --list")
    chosen = [registry[name] for name in (names or sorted(registry))]
    shelf = library.load() if areas or not listed else None
    if areas and shelf is not None:
        chosen = killing.in_area(shelf, chosen, areas)
    if listed or shelf is None:
        if form == "json":
            _json(killing.listing(chosen))
        else:
            render.mutant_list(chosen)
        return ExitStatus.OK
    _stop_on_sigterm()
    with progress.bar(len(chosen)) as advance:
        found = killing.kill(shelf, chosen, _settings(jobs, factor, variables, python), advance)
    whole = fault_table.whole(found, registry.values())
    if form == "json":
        _json(killing.answer(found, fault_table.answer(found) if whole else None))
    else:
        render.killing(found)
        if whole:
            render.faults(found)
    return ExitStatus.NEGATIVE if not found or any(one.alive for one in found) else ExitStatus.OK


# Asking the reference


def _environment(variables: Sequence[str], inherit: bool) -> Dict[str, str]:
    """The whole environment that options may see: none of the process's own unless that is asked for."""
    env = dict(os.environ) if inherit else {}
    for text in variables:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise NpuError("USAGE", f"--env {text!r}", "is no variable with a value", "Write NAME=VALUE.")
        env[name] = value
    return env


@cli.command()
@click.argument("assignments", nargs=-1, metavar="[k=v]...")
@click.option(
    "--env",
    "variables",
    multiple=True,
    metavar="NAME=VALUE",
    help="An environment variable that options may see; may be repeated. Without one they see none.",
)
@click.option(
    "--env-from-process",
    "inherit",
    is_flag=True,
    help="Let options see the environment of this process, --env over it.",
)
@_SURFACE
@_EDITION
@_FORMAT
def options(
    assignments: Tuple[str, ...], variables: Tuple[str, ...], inherit: bool, surface: str, edition: str, form: str
) -> int:
    """Show the effective value of every option, where it comes from, and what is wrong."""
    from npu_reference.options import parse_assignments, resolve

    env = _environment(variables, inherit)
    resolution = resolve(parse_assignments(assignments), surface=surface, edition=edition, env=env)
    if form == "json":
        from . import schema

        _json(
            {
                "schema": schema.header("options"),
                "effective": {
                    name: {"value": one.value, "origin": one.origin, "rule": one.rule}
                    for name, one in resolution.effective.items()
                },
                "errors": [error.to_json() for error in resolution.errors],
                "warnings": [warning._asdict() for warning in resolution.warnings],
            }
        )
    else:
        from . import render

        render.options(resolution)
    return ExitStatus.BAD_INPUT if resolution.errors else ExitStatus.OK


@cli.command()
@click.argument("graph", type=click.Path())
@click.option("-o", "assignments", multiple=True, metavar="k=v", help="An option; may be repeated.")
@click.option(
    "--policy",
    type=click.Choice(["documented", "adapter"]),
    default="documented",
    show_default=True,
    help="As the documents say, or exactly as the adapter's own pass.",
)
@click.option(
    "--flavour", type=click.Choice(["tf1", "tf2"]), default="tf1", show_default=True, help="Which build of the adapter."
)
@click.option("--op-list", "op_list", type=click.Path(), help="JSON of offloadable operators; default the catalog's.")
@click.option("--feed", "feeds", multiple=True, metavar="NAME:SLOT", help="A tensor that is fed; may be repeated.")
@click.option(
    "--fetch",
    "fetches",
    multiple=True,
    metavar="NAME[:SLOT]",
    help="A tensor that is fetched, or an operator that is run; may be repeated.",
)
@click.option(
    "--require-offload",
    "required",
    multiple=True,
    metavar="OP_OR_NAME",
    help="Exit 1 unless every operator of this type or name is offloaded; 'all': all that compute anything.",
)
@_SIZES
@click.option("--max-geops", "most", type=click.IntRange(0), metavar="N", help="Exit 1 if there are more GEOPs.")
@click.option(
    "--blame",
    "blamed",
    type=click.IntRange(0, 1000),
    metavar="N",
    help=f"Missing operators to weigh, a partition each; default {_BLAMED}, 0 above {_BLAME_NODES:,} operators.",
)
@click.option("--html", type=click.Path(), help="Also write one self-contained page.")
@click.option(
    "--graph-out",
    type=click.Path(),
    metavar="FILE",
    help="Also write the graph (.pb, .pbtxt, .gz) with all places as attributes, for Netron and TensorBoard.",
)
@_SURFACE
@_EDITION
@_FORMAT
def partition(
    graph: str,
    assignments: Tuple[str, ...],
    policy: str,
    flavour: str,
    op_list: Optional[str],
    feeds: Tuple[str, ...],
    fetches: Tuple[str, ...],
    required: Tuple[str, ...],
    shapes: Tuple[str, ...],
    batch: Optional[int],
    most: Optional[int],
    blamed: Optional[int],
    html: Optional[str],
    graph_out: Optional[str],
    surface: str,
    edition: str,
    form: str,
) -> int:
    """Show what of GRAPH runs on the device, what stays on the host, and why."""
    from npu_reference.catalog import OpList
    from npu_reference.graphs import close_over, load_graph, write_graph
    from npu_reference.options import parse_assignments, resolve
    from npu_reference.partition import annotate, blame, separations
    from npu_reference.partition import partition as cut

    from . import demands, precise
    from .backends.reference import split_fetches

    values = parse_assignments(assignments)
    given = precise.parse_shapes(shapes)
    resolution = resolve(values, surface=surface, edition=edition, env={})
    if policy != "adapter":  # whose own pass reads the values its own way
        resolution.raise_first()
    operators = OpList.load(op_list) if op_list else None
    loaded = load_graph(graph)
    sizes, _ = precise.sizes(loaded, given, batch, feeds)
    tensors, targets = split_fetches(list(fetches))
    if feeds or tensors or targets:
        loaded = close_over(loaded, list(feeds), tensors, targets)
    options = values if policy == "adapter" else resolution
    found = cut(loaded, options, policy=policy, flavour=flavour, op_list=operators, shapes=sizes)
    apart = separations(found)
    if blamed is None:
        blamed = _BLAMED if len(found.graph.nodes) <= _BLAME_NODES else 0
        if not blamed:
            click.echo(f"note: missing operators are not weighed above {_BLAME_NODES:,}; ask with --blame N", err=True)
    ranking = []
    if blamed:
        ranking = blame(found, options, op_list=operators, flavour=flavour, most=blamed, shapes=sizes)
    checks = [demands.require_offload(found, wanted) for wanted in required]
    if most is not None:
        checks.append(demands.max_geops(found, most, apart))
    passed = all(check.passed for check in checks)
    answer = {
        **found.to_json(),
        "separations": [one.to_json() for one in apart],
        "blame": [one.to_json() for one in ranking],
        "checks": [check.to_json() for check in checks],
        "verdict": "passed" if passed else "failed",
    }
    title = os.path.basename(graph)
    if html:
        from . import output
        from .report import partition_page

        changed = {name: one.value for name, one in resolution.effective.items() if one.origin != "default"}
        output.write_file(html, partition_page.page(found.graph, answer, title=title, options=changed))
    if graph_out:
        write_graph(annotate(found), graph_out)
    if form == "json":
        from . import schema

        _json({"schema": schema.header("partition"), **answer})
    else:
        from . import render

        render.partition(answer, len(found.graph.nodes), resolution.warnings, title)
    return ExitStatus.OK if passed else ExitStatus.NEGATIVE


@cli.command()
@click.argument("graph", type=click.Path())
@click.option("-o", "assignments", multiple=True, metavar="k=v", help="An option; may be repeated.")
@click.option("--op-list", "op_list", type=click.Path(), help="JSON of offloadable operators; default the catalog's.")
@click.option(
    "--ops-info",
    "ops_info",
    type=click.Path(),
    help="Your aic-<soc>-ops-info.json, laid over the built-in operator library.",
)
@click.option("--feed", "feeds", multiple=True, metavar="NAME:SLOT", help="A tensor that is fed; may be repeated.")
@click.option(
    "--fetch",
    "fetches",
    multiple=True,
    metavar="NAME[:SLOT]",
    help="A tensor that is fetched, or an operator that is run; may be repeated.",
)
@_SIZES
@click.option(
    "--compare",
    "other",
    multiple=True,
    metavar="k=v",
    help="Also say what this option changes, laid over those of -o; may be repeated, one comparison each.",
)
@click.option("--all", "every", is_flag=True, help="Tell every operator with its reason.")
@click.option("--html", type=click.Path(), help="Also write one self-contained page.")
@click.option(
    "--bisect",
    "bisected",
    is_flag=True,
    help="GRAPH is a script: run it both ways and find the operators whose fp16 costs most accuracy.",
)
@click.option(
    "--executions", type=click.IntRange(min=4), default=40, show_default=True, help="With --bisect: of the script."
)
@_SURFACE
@_EDITION
@_FORMAT
def precision(
    graph: str,
    assignments: Tuple[str, ...],
    op_list: Optional[str],
    ops_info: Optional[str],
    feeds: Tuple[str, ...],
    fetches: Tuple[str, ...],
    shapes: Tuple[str, ...],
    batch: Optional[int],
    other: Tuple[str, ...],
    every: bool,
    html: Optional[str],
    bisected: bool,
    executions: int,
    surface: str,
    edition: str,
    form: str,
) -> int:
    """Show which dtype, engine and implementation mode every operator of GRAPH gets on the device, and why."""
    from npu_reference.options import parse_assignments

    from . import precise

    if bisected:
        from . import bisecting

        bisecting.report(graph, parse_assignments(assignments), edition, executions, form)
        return ExitStatus.OK
    values = parse_assignments(assignments)
    sizes = precise.parse_shapes(shapes)
    question = precise.Question(graph, values, surface, edition, feeds, fetches, op_list, ops_info, sizes, batch)
    asked = precise.ask(question, [parse_assignments([text]) for text in other])
    answer = precise.answer(asked)
    title = precise.title(graph)
    if html:
        from . import output
        from .report import precision_page

        output.write_file(html, precision_page.page(answer, title=title, options=precise.given(asked[0].resolution)))
    if form == "json":
        from . import schema

        _json({"schema": schema.header("precision"), **answer})
    else:
        from . import render_precision

        render_precision.precision(answer, asked[0].resolution.warnings, title, every)
    return ExitStatus.OK


@cli.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "--device-precision",
    type=click.Choice(["off", "on"]),
    help="on computes at the dtypes that the precision options give; off, the default, as TensorFlow does.",
)
@click.option(
    "--edition",
    type=click.Choice(["legacy", "current"]),
    help="Edition of the options; default as the script's environment says.",
)
@click.option("--trace", "trace_file", type=click.Path(), help="Write what ran where as JSON.")
@click.argument("script", type=click.Path())
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[args]...")
def simulate(
    device_precision: Optional[str],
    edition: Optional[str],
    trace_file: Optional[str],
    script: str,
    arguments: Tuple[str, ...],
) -> int:
    """Run SCRIPT unchanged on the simulated device; its exit status is the script's."""
    from npu_reference.runtime.simulate import simulate as execute

    execute(script, list(arguments), device_precision=device_precision, edition=edition, trace_file=trace_file)
    return ExitStatus.OK


# Golden-graph regression


@cli.group()
def golden() -> None:
    """Record how your own models are partitioned, and check later that nothing moved."""


@golden.command("update")
@click.argument("models", nargs=-1, required=True, type=click.Path(), metavar="MODEL...")
@click.option("-o", "assignments", multiple=True, metavar="k=v", help="An option; may be repeated.")
@click.option(
    "--policy",
    type=click.Choice(["documented", "adapter"]),
    default="documented",
    show_default=True,
    help="As the documents say, or exactly as the adapter's own pass.",
)
@click.option(
    "--flavour", type=click.Choice(["tf1", "tf2"]), default="tf1", show_default=True, help="Which build of the adapter."
)
@click.option("--feed", "feeds", multiple=True, metavar="NAME:SLOT", help="A tensor that is fed; may be repeated.")
@click.option(
    "--fetch",
    "fetches",
    multiple=True,
    metavar="NAME[:SLOT]",
    help="A tensor that is fetched, or an operator that is run; may be repeated.",
)
@_SURFACE
@_EDITION
@_FORMAT
def golden_update(
    models: Tuple[str, ...],
    assignments: Tuple[str, ...],
    policy: str,
    flavour: str,
    feeds: Tuple[str, ...],
    fetches: Tuple[str, ...],
    surface: str,
    edition: str,
    form: str,
) -> int:
    """Record the partition of each MODEL beside it, with the options it was made with."""
    from npu_reference.options import parse_assignments

    from . import golden_graph, schema

    values = parse_assignments(assignments)
    question = golden_graph.Question(values, surface, edition, policy, flavour, tuple(feeds), tuple(fetches))
    written = [str(golden_graph.update(model, question)) for model in models]
    if form == "json":
        _json({"schema": schema.header("golden"), "recorded": dict(zip(models, written))})
    else:
        for path in written:
            click.echo(f"recorded {path}")
    return ExitStatus.OK


@golden.command("check")
@click.argument("models", nargs=-1, required=True, type=click.Path(), metavar="MODEL...")
@_FORMAT
def golden_check(models: Tuple[str, ...], form: str) -> int:
    """Compare each MODEL with its record; exit 1 and say what moved if anything did."""
    from . import golden_graph, schema

    moved = {model: [change.text for change in golden_graph.check(model)] for model in models}
    if form == "json":
        _json({"schema": schema.header("golden"), "changes": moved})
    else:
        for model, texts in moved.items():
            click.echo(f"{model}: " + ("unchanged" if not texts else f"{len(texts)} changes"))
            for text in texts:
                click.echo(f"  {text}")
    return ExitStatus.NEGATIVE if any(moved.values()) else ExitStatus.OK


# The protocol


@cli.command()
@click.argument("spec", default="reference")
def worker(spec: str) -> int:
    """Serve backend SPEC over stdin and stdout (worker protocol 1)."""
    from .worker import main as serve

    return serve(spec)


@cli.command("worker-check")
@click.argument("spec")
@_WORKERS
@_FORMAT
def worker_check(spec: str, jobs: int, factor: float, variables: Tuple[str, ...], python: str, form: str) -> int:
    """Check that backend SPEC speaks the protocol; exit 1 if it does not."""
    from . import backends, checkup, render

    backends.check(spec)
    found = checkup.check(spec, _settings(jobs, factor, variables, python))
    if form == "json":
        _json(checkup.answer(found))
    else:
        render.checkup(found)
    return ExitStatus.OK if all(one.passed for one in found) else ExitStatus.NEGATIVE


def _commands() -> Dict[str, List[str]]:
    """Every command with its options, for tests of the documentation."""
    return {
        name: [option for parameter in command.params for option in parameter.opts]
        for name, command in cli.commands.items()
    }


if __name__ == "__main__":
    main()
