"""``npu-conformance golden``: golden-graph regression of a user's own models."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

import click

from npu_conformance.commands import shared
from npu_reference.errors import ExitStatus, NpuError
from npu_reference.printing import counted, printable

__all__ = ["golden"]

_JOBS = click.option(
    "-n",
    "jobs",
    type=click.IntRange(1, 256),
    default=None,
    metavar="N",
    help="Models at a time.  [default: as many as this process may use processors]",
)


@click.group(no_args_is_help=False)  # one line, as every error; the help of all versions of click differs here
def golden() -> None:
    """Record how your own models are treated, and check later that nothing moved.

    A record holds where operators lie, their dtypes, and time and memory of one step on the simulated device. MODEL is
    a graph, its record, or a folder with all that is recorded below it.
    """


@golden.command("update", epilog=shared.examples("golden update model.pb -o mix_compile_mode=true"))
@click.argument("models", nargs=-1, required=True, type=click.Path(), metavar="MODEL...")
@shared.ASSIGNED
@click.option("--again", is_flag=True, help="Ask each MODEL as its record does, instead of by these options.")
@click.option(
    "--facts",
    metavar="placement,precision,step",
    help="What to record; default all, without the step where sizes are unknown.",
)
@shared.POLICY
@shared.FEEDS
@shared.FETCHES
@shared.SIZES
@click.option(
    "--device", default="Ascend910A", show_default=True, metavar="NAME|FILE.toml[:NAME]", help="Of the step recorded."
)
@shared.OP_LIST
@click.option("--ops-info", "ops_info", type=click.Path(), help="Your own file, laid over the operator library.")
@shared.STRICT
@shared.SURFACE
@shared.EDITION
@_JOBS
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def golden_update(
    context: click.Context, models: Tuple[str, ...], assignments: Tuple[str, ...], again: bool, facts: Optional[str],
    policy: str, flavour: str, feeds: Tuple[str, ...], fetches: Tuple[str, ...], shapes: Tuple[str, ...],
    batch: Optional[int], device: str, op_list: Optional[str], ops_info: Optional[str], strict: bool, surface: str,
    edition: str, jobs: Optional[int], form: str,
) -> int:  # fmt: skip
    """Record each MODEL beside it, with the options and sizes it was asked with."""
    from npu_conformance.models import precise
    from npu_conformance.models.golden import GoldenQuestion, many
    from npu_conformance.protocol import schema
    from npu_reference.options import parse_assignments, resolve

    question = None
    if again:
        _refuse_given(context)
    else:
        values = parse_assignments(assignments)
        shared.names_first(resolve(values, surface=surface, edition=edition, env={}).warnings, strict)
        question = GoldenQuestion(
            values, surface, edition, policy, flavour, feeds, fetches, _facts(facts), precise.parse_shapes(shapes),
            batch, device, op_list, ops_info,
        )  # fmt: skip
    answers = _gathered(many.update(many.models_of(models), jobs or shared.processors(), question))
    whole = [answer for answer in answers if not answer.error]
    if form == "json":
        told = {
            "recorded": {answer.model: answer.record for answer in whole},
            "facts": {answer.model: list(answer.facts) for answer in whole},
        }
        shared.echo_json({"schema": schema.header("golden"), **told, "errors": _errors(answers)})
    else:
        for answer in whole:
            note = f"; {answer.note}" if answer.note else ""
            click.echo(printable(f"recorded {answer.record} ({', '.join(answer.facts)}{note})"))
    return _refused(answers) or ExitStatus.OK


@golden.command("check", epilog=shared.examples("golden check --tolerance 5 models/ --html moved.html"))
@click.argument("models", nargs=-1, required=True, type=click.Path(), metavar="MODEL...")
@click.option(
    "--tolerance",
    type=shared.Number(0.0, 1000.0),
    default=0.0,
    metavar="PERCENT",
    help="By which times and memory of a step may differ; default none.",
)
@click.option("--recorded", is_flag=True, help="Leave out a MODEL that has no record.")
@_JOBS
@click.option("--html", type=click.Path(), help="Also write one self-contained page.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github"]),
    default="text",
    show_default=True,
    help="How to answer; github: as annotations of a workflow.",
)
def golden_check(
    models: Tuple[str, ...], tolerance: float, recorded: bool, jobs: Optional[int], html: Optional[str], form: str
) -> int:
    """Compare each MODEL, asked as its record says, with the record; exit 1 and say what moved if anything did."""
    from npu_conformance.files import output
    from npu_conformance.files.annotations import annotation
    from npu_conformance.models.golden import many
    from npu_conformance.protocol import schema

    if html:
        output.check_writable(html)
    answers = _gathered(many.check(many.models_of(models, recorded), jobs or shared.processors(), tolerance))
    checked = [answer for answer in answers if not answer.error]
    moved = [answer for answer in checked if answer.moved]
    if html:
        from npu_conformance.report.golden_page import page

        output.write_file(html, page(answers, shared.how_made()))
    if form == "json":
        changes = {answer.model: [change.text for change in answer.moved] for answer in checked}
        names = {one.model: {change.text: change.names for change in one.moved if change.names} for one in checked}
        body = {"changes": changes, "names": names, "errors": _errors(answers)}
        shared.echo_json({"schema": schema.header("golden"), **body})
    elif form == "github":
        for answer in moved:
            told = "\n".join(change.text for change in answer.moved)
            click.echo(annotation("error", told, "golden graph moved", answer.model))
        for answer in answers:
            if answer.error:
                click.echo(annotation("error", answer.error, "golden graph", answer.model))
    else:
        for answer in checked:
            told = counted(len(answer.moved), "change") if answer.moved else "unchanged"
            click.echo(printable(f"{answer.model}: {told}"))
            for change in answer.moved:
                click.echo(printable(f"  {change.text}"))
        if len(answers) > 1:
            click.echo(f"{len(checked) - len(moved)} of {len(answers)} models unchanged, {len(moved)} moved", err=True)
    left = [] if recorded else many.unrecorded(models)
    if left:
        told = f"{left[0]} has no record" if len(left) == 1 else f"{left[0]} and {len(left) - 1} more have no record"
        click.echo(printable(f"warning: {told}, so nothing is checked of it; golden update makes one."), err=True)
    return _refused(answers) or (ExitStatus.NEGATIVE if moved else ExitStatus.OK)


def _facts(text: Optional[str]) -> Tuple[str, ...]:
    """The facts named; none for all that sizes allow. NpuError USAGE."""
    from npu_conformance.models.golden import FACTS

    if text is None:
        return ()
    named = text.split(",")
    for name in named:
        if name not in FACTS:
            raise NpuError("USAGE", f"--facts {text}", f"there are no facts {name!r}.", f"Facts are {','.join(FACTS)}.")
    return tuple(name for name in FACTS if name in named)


def _refuse_given(context: click.Context) -> None:
    """Refuse options that ``--again`` would not heed."""
    from click.core import ParameterSource

    mine = {"models", "again", "jobs", "form"}
    for parameter in context.command.params:
        name = str(parameter.name)
        if name not in mine and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise NpuError(
                "USAGE", f"--again {parameter.opts[0]}", "a record says already how its model is asked.",
                "Leave out one of them.",
            )  # fmt: skip


def _gathered(answers: Any) -> List[Any]:
    """All the answers, with what could not be asked told on stderr as it comes."""
    found = []
    for answer in answers:
        found.append(answer)
        if answer.error:
            click.echo(printable(f"error{answer.error}"), err=True)
    return found


def _errors(answers: List[Any]) -> Any:
    return {answer.model: answer.error for answer in answers if answer.error}


def _refused(answers: List[Any]) -> int:
    return ExitStatus.BAD_INPUT if any(answer.error for answer in answers) else 0
