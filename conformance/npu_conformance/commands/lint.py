"""``npu-conformance lint``: what is wrong with scripts, found by reading them."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

import click

from npu_conformance.commands.shared import EDITION, echo_json
from npu_reference.errors import ExitStatus, NpuError
from npu_reference.printing import printable

__all__ = ["lint"]


def _codes(context: click.Context, parameter: click.Parameter, values: Tuple[str, ...]) -> Tuple[str, ...]:
    """Codes given one by one or with commas between them."""
    return tuple(code.strip() for value in values for code in value.split(",") if code.strip())


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(), metavar="PATH...")
@click.option("--select", multiple=True, callback=_codes, metavar="CODE,...", help="Only rules whose codes begin so.")
@click.option(
    "--ignore", multiple=True, callback=_codes, metavar="CODE,...", help="Without rules whose codes begin so."
)
@click.option("--fix", is_flag=True, help="Mend what can be mended, and tell what is left.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github", "sarif"]),
    default="text",
    show_default=True,
    help="How to answer.",
)
@click.option("--statistics", is_flag=True, help="How often each code was found, instead of where.")
@click.option("--list", "list_", is_flag=True, help="Every rule with its code.")
@click.option("--explain", metavar="CODE", help="One rule in full, with examples.")
@click.option("-n", "jobs", type=click.IntRange(0, 256), default=0, help="Processes; 0 is one for each processor.")
@EDITION
def lint(
    paths: Tuple[str, ...],
    select: Tuple[str, ...],
    ignore: Tuple[str, ...],
    fix: bool,
    diff: bool,
    form: str,
    statistics: bool,
    list_: bool,
    explain: Optional[str],
    jobs: int,
    edition: str,
) -> int:
    """Find mistakes in scripts for the adapter by reading them; nothing is run.

    PATH is a Python file, or a folder of which every .py file is read; a file named here that is no Python is skipped,
    and told. Exit status: 0 nothing found, 1 something found
    (with --diff: something would change), 2 the command line is wrong.
    """
    from npu_conformance.lint import rendering
    from npu_conformance.lint.registry import Settings, rules, selected
    from npu_conformance.lint.running import Task, files_of, run

    if list_:
        click.echo(rendering.listed(selected(select, ignore)))
        return ExitStatus.OK
    if explain is not None:
        found = [rule for rule in rules() if rule.code == explain.strip().upper()]
        if not found:
            remedy = "npu-conformance lint --list names every code."
            raise NpuError("USAGE", repr(explain), "no rule has this code.", remedy)
        click.echo(rendering.explained(found[0]))
        return ExitStatus.OK
    if not paths:
        raise NpuError("USAGE", "PATH", "no file or folder is named.", "Write npu-conformance lint PATH...")
    chosen = selected(select, ignore)
    task = Task(tuple(rule.code for rule in chosen), Settings(edition), fix or diff, frozenset(paths))
    answers = list(run(files_of(paths), task, jobs))
    skipped = [answer for answer in answers if answer.skipped]
    for answer in skipped:
        click.echo(f"skipped {printable(answer.path)}: it is no Python source. {answer.skipped}", err=True)
    files = len(answers) - len(skipped)
    if diff:
        changed = [answer for answer in answers if answer.after is not None]
        click.echo("".join(answer.diff() for answer in changed), nl=False)
        return ExitStatus.NEGATIVE if changed else ExitStatus.OK
    mended = 0
    if fix:
        from npu_conformance.files.output import write_bytes

        for answer in answers:
            if answer.after is not None:
                write_bytes(answer.path, answer.after)
                mended += answer.mended
    findings = [finding for answer in answers for finding in answer.findings]
    if form == "json":
        from npu_conformance.protocol import schema

        echo_json(
            {
                "schema": schema.header("lint"),
                "files": files,
                "skipped": [{"path": answer.path, "reason": answer.skipped} for answer in skipped],
                "mended": mended,
                "findings": [finding.to_json() for finding in findings],
            }
        )
    elif form == "sarif":
        click.echo(rendering.sarif(findings, chosen))
    elif statistics:
        _say(rendering.statistics(findings, chosen))
    else:
        _say(rendering.github(findings) if form == "github" else rendering.text(findings))
        if form == "text":
            click.echo(_summary(files, findings, mended, fix), err=True)
    return ExitStatus.NEGATIVE if findings else ExitStatus.OK


def _say(text: str) -> None:
    if text:
        click.echo(text)


def _summary(files: int, findings: List[Any], mended: int, fix: bool) -> str:
    """One line for the person at the terminal; it goes to stderr, so that what is piped has findings alone."""
    parts = [f"{files} file{'' if files == 1 else 's'} read"]
    for severity in ("error", "warning", "suggestion"):
        count = sum(finding.severity == severity for finding in findings)
        if count:
            parts.append(f"{count} {severity}{'' if count == 1 else 's'}")
    if not findings:
        parts.append("nothing found")
    if mended:
        parts.append(f"{mended} mended")
    fixable = sum(finding.fixable for finding in findings)
    if fixable and not fix:
        parts.append(f"{fixable} of them [*] can be mended with --fix")
    return ", ".join(parts)
