"""``npu-conformance lint``: what is wrong with scripts, found by reading them."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

import click

from npu_conformance.commands.shared import EDITION, IGNORE, SELECT, STDIN, echo_json, examples, read_stdin
from npu_reference.errors import ExitStatus, NpuError
from npu_reference.printing import counted, printable

__all__ = ["lint"]


@click.command(
    epilog=examples(
        "lint train.py models/",
        "lint --fix train.py",
        "lint --format sarif . > lint.sarif",
        "cat train.py | npu-conformance lint - --stdin-filename train.py",
    )
)
@click.argument("paths", nargs=-1, type=click.Path(), metavar="PATH...")
@SELECT
@IGNORE
@click.option("--fix", is_flag=True, help="Mend what cannot change what the program means, and tell what is left.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing.")
@click.option("--unsafe-fixes", "unsafe", is_flag=True, help="With --fix or --diff: also fixes that may change it.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github", "sarif"]),
    default="text",
    show_default=True,
    help="How to answer.",
)
@click.option("--docs-url", "docs", default="", metavar="URL", help="With sarif: where the page lint is published.")
@click.option(
    "--stdin-filename",
    "stdin_name",
    default="stdin.py",
    show_default=True,
    metavar="NAME",
    help="What standard input, which is PATH -, is called; .ipynb says that it is a notebook.",
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
    unsafe: bool,
    form: str,
    docs: str,
    stdin_name: str,
    statistics: bool,
    list_: bool,
    explain: Optional[str],
    jobs: int,
    edition: str,
) -> int:
    """Find mistakes in scripts for the adapter by reading them; nothing is run.

    PATH is a Python file or notebook, or a folder of which every .py and .ipynb file is read; a file named here that is
    no Python is skipped, and told; - is standard input. Exit status: 0 nothing found, 1 something found (with --diff:
    something would change), 2 the command line is wrong or a file cannot be written, 70 lint failed on a file (E003);
    all others count.
    """
    from npu_conformance.lint import rendering
    from npu_conformance.lint.finding import DEFECT
    from npu_conformance.lint.registry import LintSettings, rules, selected
    from npu_conformance.lint.running import LintTask, check_text, files_of, run

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
    if unsafe and not (fix or diff):
        raise NpuError("USAGE", "--unsafe-fixes", "no fix is asked for.", "Add --fix or --diff.")
    if fix and not diff and STDIN in paths:
        raise NpuError("USAGE", "--fix", "standard input cannot be written back.", "Use --diff, and apply the patch.")
    chosen = selected(select, ignore)
    codes = tuple(rule.code for rule in chosen)
    task = LintTask(codes, LintSettings(edition), fix or diff, frozenset(paths), unsafe, form == "sarif")
    named = [path for path in paths if path != STDIN]
    answers = [check_text(stdin_name, read_stdin(), task)] if STDIN in paths else []
    answers += run(files_of(named), task, jobs)
    skipped = [answer for answer in answers if answer.skipped]
    for answer in skipped:
        click.echo(f"skipped {printable(answer.path)}: it is no Python source. {answer.skipped}", err=True)
    files = len(answers) - len(skipped)
    findings = [finding for answer in answers for finding in answer.findings]
    if diff:
        changed = [answer for answer in answers if answer.after is not None]
        # What a file holds may be no text for the terminal.
        text = "".join(answer.diff() for answer in changed).encode("utf-8", "backslashreplace").decode("utf-8")
        click.echo(text, nl=False)
        for finding in findings:
            if finding.code == DEFECT:
                click.echo(rendering.text([finding]), err=True)
        _say(_only_unsafe(findings, unsafe), err=True)
        return _status(findings, bool(changed))
    mended = unwritten = 0
    for answer in answers if fix else ():
        if answer.after is not None:
            from npu_conformance.files.output import write_bytes

            try:
                write_bytes(answer.path, answer.after)
                mended += answer.mended
            except NpuError as error:  # the other files are mended all the same
                click.echo(f"error{error}", err=True)
                unwritten = error.exit_status
    if form == "json":
        from npu_conformance.protocol import schema

        echo_json(
            {
                "schema": schema.header("lint"),
                "files": files,
                "skipped": [{"path": answer.path, "reason": answer.skipped} for answer in skipped],
                "mended": mended,
                "unsafe_fixes": sum(finding.unsafe for finding in findings),
                "findings": [finding.to_json() for finding in findings],
            }
        )
    elif form == "sarif":
        click.echo(rendering.sarif(findings, chosen, docs))
    elif statistics:
        _say(rendering.statistics(findings, chosen))
    else:
        _say(rendering.github(findings) if form == "github" else rendering.text(findings))
        if form == "text":
            click.echo(_summary(files, findings, mended, fix, unsafe), err=True)
    return unwritten or _status(findings, any(not finding.hint for finding in findings))


def _status(findings: List[Any], counts: bool) -> int:
    from npu_conformance.lint.finding import DEFECT

    if any(finding.code == DEFECT for finding in findings):
        return ExitStatus.INTERNAL
    return ExitStatus.NEGATIVE if counts else ExitStatus.OK


def _say(text: str, err: bool = False) -> None:
    if text:
        click.echo(text, err=err)


def _only_unsafe(findings: List[Any], unsafe: bool) -> str:
    """How many fixes are to be had only with --unsafe-fixes; empty where there is none, or they were asked for."""
    count = 0 if unsafe else sum(finding.unsafe for finding in findings)
    told = "can be mended with --unsafe-fixes only, which may change what the program means"
    return f"{count} [!] {told}" if count else ""


def _summary(files: int, findings: List[Any], mended: int, fix: bool, unsafe: bool) -> str:
    """One line for the person at the terminal; it goes to stderr, so that what is piped has findings alone."""
    parts = [f"{counted(files, 'file')} read"]
    for severity in ("error", "warning", "suggestion", "hint"):
        count = sum(finding.severity == severity for finding in findings)
        if count:
            parts.append(counted(count, severity))
    if not findings:
        parts.append("nothing found")
    if mended:
        parts.append(f"{mended} mended")
    safe = sum(finding.fixable and not finding.unsafe for finding in findings)
    if safe and not fix:
        parts.append(f"{safe} of them [*] can be mended with --fix")
    return ", ".join(part for part in [*parts, _only_unsafe(findings, unsafe)] if part)
