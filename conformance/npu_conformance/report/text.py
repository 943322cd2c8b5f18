"""Decides how answers look in a terminal: tables that fit its width, verdicts first."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple

from npu_conformance.report.terminal import Rows as _table
from npu_conformance.report.terminal import Terminal as Console
from npu_conformance.report.terminal import Text
from npu_conformance.report.terminal import line as _line
from npu_conformance.report.terminal import plain as _plain
from npu_reference.printing import clipped, counted, listed, printable

if TYPE_CHECKING:
    from npu_conformance.backends.mutants import Mutant
    from npu_conformance.judging.records import Report
    from npu_conformance.library.library import Library
    from npu_conformance.report.comparison import Comparison
    from npu_conformance.report.site import SiteEntry
    from npu_conformance.report.summary import Area
    from npu_conformance.report.verify import Verification
    from npu_conformance.running.checkup import Check
    from npu_conformance.strength.coverage import Row
    from npu_conformance.strength.killing import Kill

__all__ = [
    "checkup", "comparison", "coverage", "faults", "killing", "mutant_list", "partition", "proposals", "run",
    "script_nodes", "site", "verification",
]  # fmt: skip

_FETCHED = {"train": "the train op", "loss": "the loss", "output": "an output"}
_ROWS = 40  # a table of a terminal shows no more; JSON has all
_TYPES = 8  # operator types named in a row
_NAMED = 6  # options named beside a reason they share; docs/mutants.md names all
_STEPS = 4  # links shown of a chain of evictions, or of a path
_SAME = 5  # notes of one code shown
_PAIRS = 5  # separated pairs of GEOPs shown
_BLAMED = 5  # missing operators ranked
_REASONS = 12  # why cases were not judged, those of most cases first
_CAUSES = 10  # of failures, those of most cases first
_READINGS = 5  # that a case rests on (assumed)
_DIFFERENCES = 3  # so many are told one by one (assumed)
_ASKED, _ASKED_LINES = 600, 4  # characters and lines of a part of what an example asked (assumed)

_STYLES = {
    "pass": "green", "xfail": "blue", "unsupported": "blue", "blocked": "yellow", "unstable": "yellow",
    "not-run": "yellow",
}  # fmt: skip


def _name(text: str) -> str:
    """A name for the head of a table."""
    return printable(clipped(text, 60))


def _rest(console: Console, shown: int, total: int) -> None:
    if total > shown:
        console.print(f"… {total - shown} more; --format json has all.", style="dim")


# Judging


def run(library: Library, report: Report, areas: Sequence[Area], out: str, no_page: bool) -> None:
    """The table by area, what to fix first, the verdict, and where the report is."""
    from npu_conformance.judging.records import counts

    console = Console()
    statuses = list(counts(report.records))
    table = _table("Area", "Cases", *statuses, "Requirements", numbers=["Cases", *statuses, "Requirements"])
    for area in areas:
        cells = [Text(str(area.counts.get(status, "")), style=_STYLES.get(status, "red")) for status in statuses]
        table.add_row(area.name, str(area.instances), *cells, f"{area.passed} of {area.requirements} pass")
    _causes(console, library, report)
    for text in report.errors:
        console.print(Text("known failures ", style="red") + _plain(text))
    console.print(table)
    _unasked(console, report)
    backend = report.header["backend"]["backend"]
    good = report.verdict == "conformant"
    device = report.header["backend"].get("runtime", {}).get("device")
    what = f"{backend['name']} {backend['version']}" + (" (simulated device)" if device == "simulated" else "")
    in_part = report.header["backend"].get("capabilities", {}).get("in_part", ())
    what += f", which can be asked only in part: {', '.join(in_part)}" if in_part else ""
    console.print(Text(report.verdict, style="bold green" if good else "bold red") + _plain(f": {what}"))
    path = os.path.join(out, "results.jsonl" if no_page else "report.html")
    console.print(Text("Report: ") + _plain(path), soft_wrap=True)


def _unasked(console: Console, report: Report) -> None:
    """What a backend was not judged by, by reason: how many cases, and of which areas."""
    from npu_conformance.report import unasked

    found = unasked.reasons(report.records)
    if not found:
        return
    table = _table("Not judged", "Cases", "Areas", numbers=["Cases"])
    for row in found[:_REASONS]:
        areas = sorted(row.areas, key=lambda name: (-row.areas[name], name))
        table.add_row(_plain(row.text), str(row.instances), ", ".join(f"{name} {row.areas[name]}" for name in areas))
    console.print(table)
    _rest(console, _REASONS, len(found))


def _causes(console: Console, library: Library, report: Report) -> None:
    """What failed, by probable cause: how often, what the documents demand, one example and how to repeat it."""
    from npu_conformance.library import telling
    from npu_conformance.report import causes, failing

    found = causes.causes(report.records)
    for cause in found[:_CAUSES]:
        example = cause.example
        head = Text(cause.status, style=_STYLES.get(cause.status, "red"))
        number = counted(cause.cases, "case")
        _line(console, head + _plain(f"  {number}  {cause.sentence} ({cause.family}, {cause.method})."), 2)
        for name in cause.broken:
            _line(console, _plain(f"  {name}: {library.requirements[name].statement}"), 4)
        differences = [f"{one.kind}: {one.fact}" for one in example.result.differences[:_DIFFERENCES]]
        few = differences and len(example.result.differences) <= _DIFFERENCES
        came = "; ".join(differences) if few else example.result.detail
        rests = telling.cited(example.instance.case, library.requirements)
        level = example.instance.case.level + (f"; rests on {listed(rests, _READINGS)}" if rests else "")
        _line(console, _plain(f"  {example.instance.id} ({level}): {came}"), 4)
        told = failing.account(library, report, example, _ASKED_LINES, _ASKED)
        for one in told.asked.splitlines()[1:]:  # the method stands above
            _line(console, _plain(f"    {one}"), 6)
        console.print(_plain(f"  {told.repeat}"), soft_wrap=True)  # to be copied
    if len(found) > _CAUSES:
        rest = found[_CAUSES:]
        failures = counted(sum(len(cause.failures) for cause in rest), "failure")
        _line(console, Text(f"… {counted(len(rest), 'more cause')} of {failures} in the report.", style="dim"))
    if found:
        _line(console, Text("npu-conformance case ID tells all of a case.", style="dim"))


def verification(found: Verification) -> None:
    """Faults, then whether the results hold."""
    console = Console()
    for fault in found.faults[:_ROWS]:
        console.print(Text("fault ", style="red") + _plain(fault), soft_wrap=True)
    _rest(console, _ROWS, len(found.faults))
    if found.holds:
        console.print(_plain(f"The results hold: {found.verdict}, {counted(found.records, 'record')} judged again."))
    else:
        console.print(_plain(f"The results do not hold: stated {found.stated}, judged again {found.verdict}."))


def comparison(found: Comparison) -> None:
    """What moved by cause, by requirement and by instance, the verdicts, and how many have no partner."""
    console = Console()
    first, second = _name(found.before.name) or "before", _name(found.after.name) or "after"
    if found.causes:
        table = _table("Cause", "Cases before", "after", "Begins with", numbers=["Cases before", "after"])
        for one in found.causes[:_CAUSES]:
            style = "red" if one.begun else "green"
            about = f"{one.cause.sentence} ({one.cause.family} {one.cause.method})"
            example = one.example.instance.id if one.begun else ""
            table.add_row(_plain(about), str(one.before), Text(str(one.after), style=style), _plain(example))
        console.print(table)
        _rest(console, _CAUSES, len(found.causes))
    if found.requirements:
        table = _table("Requirement", "Before", "", "After")
        for name, before, after in found.requirements[:_ROWS]:
            table.add_row(_plain(name), before, "→", Text(after, style=_STYLES.get(after, "red")))
        console.print(table)
        _rest(console, _ROWS, len(found.requirements))
    if found.changed:
        table = _table("Instance", first, "", second)
        worse = set(found.worse)
        for change in found.changed[:_ROWS]:
            table.add_row(
                _plain(change[0]), change[1], "→", Text(change[2], style="red" if change in worse else "green")
            )
        console.print(table)
        _rest(console, _ROWS, len(found.changed))
    console.print(
        f"{len(found.changed)} changed, {len(found.worse)} of them worse; "
        f"{len(found.only_before)} only in the first, {len(found.only_after)} only in the second."
    )
    before, after = (f"{side.verdict} ({side.must[0]} of {side.must[1]} must)" for side in (found.before, found.after))
    console.print(before if before == after else f"{before} → {after}")


def site(entries: Sequence[SiteEntry], out: str) -> None:
    """A row for each report, and where the site is."""
    console = Console()
    table = _table("Backend", "Version", "Verdict", "must", "Worse", "Better", numbers=["must", "Worse", "Better"])
    for entry in entries:
        style = {"conformant": "green", "incomplete": "yellow"}.get(entry.verdict, "red")
        moved = [str(entry.change[name]) if entry.change else "" for name in ("worse", "otherwise")]
        verdict = Text(entry.verdict, style=style)
        must = f"{entry.must[0]}/{entry.must[1]}"
        table.add_row(_plain(_name(entry.name)), _plain(_name(entry.version)), verdict, must, *moved)
    console.print(table)
    console.print(_plain(f"Site: {os.path.join(out, 'index.html')}"))


def coverage(rows: Sequence[Row], missing: bool) -> None:
    """A row for the first part of the ids, and with ``missing`` every requirement without case or reason."""
    console = Console()
    if missing:
        bare = [row for row in rows if not row.covered]
        for row in bare:
            _line(console, _plain(f"{row.level:6} {row.id}: {row.statement}"), 7)
        console.print(f"{len(bare)} of {len(rows)} requirements have neither a case nor a written reason.")
        return
    numbers = ["Total", "In effect", "Option only", "Excused", "Mutants", "must without mutant"]
    table = _table("Requirements", *numbers, numbers=numbers)
    groups: dict[str, List[Row]] = {}
    for row in rows:
        groups.setdefault(row.id.split(".")[0], []).append(row)
    for name in sorted(groups):
        table.add_row(name + ".*", *_numbers(groups[name]))
    table.add_section()
    table.add_row("all", *_numbers(rows))
    console.print(table)
    covered = sum(1 for row in rows if row.covered)
    console.print(f"{covered} of {len(rows)} requirements are covered by a case or excused by a written reason.")
    shallow = sum(1 for row in rows if row.seen == "option")
    console.print(f"Of {shallow}, whose effect lies elsewhere, cases see only that the option takes its value.")
    running = [row for row in rows if row.needs_tensorflow]
    console.print(f"The effect of {len(running)} shows to cases that need TensorFlow alone, else nothing sees it.")
    suspect = [row.id for row in rows if row.suspect]
    if suspect:
        console.print(f"Suspect, since what they state has changed: {', '.join(suspect)}.")


def _numbers(rows: Sequence[Row]) -> List[str]:
    numbers = [
        len(rows),
        sum(1 for row in rows if row.seen == "effect"),
        sum(1 for row in rows if row.seen == "option"),
        sum(1 for row in rows if row.excused and not row.cases),
        sum(1 for row in rows if row.mutants),
        sum(1 for row in rows if row.level == "must" and not row.mutants and not row.excused),
    ]
    return [str(number) for number in numbers]


def killing(found: Sequence[Kill]) -> None:
    """A row a mutant, the survivors last and red, and what could not be judged; of many, only what needs a look."""
    console = Console()
    table = _table("Mutant", "Breaks", "Killed by", "Specific")
    shown = [one for one in found if not one.specific] if len(found) > _ROWS else found
    for one in sorted(shown, key=lambda one: (one.alive, not one.killed_by, one.name)):
        killers = listed(one.killed_by, 2)
        alive = Text("nobody" if one.judged else one.unjudged, style="bold red" if one.alive else "yellow")
        how = "only its own" if one.only else "yes" if one.specific else "no"
        table.add_row(one.name, one.mutant.requirement, killers or alive, how if one.killed_by else "")
    if shown:
        console.print(table)
    _rest(console, len(shown), len(found))
    killed = sum(1 for one in found if one.killed_by)
    specific, mutants = sum(1 for one in found if one.specific), counted(len(found), "mutant")
    console.print(f"{killed} of {mutants} killed, {specific} by a case of the requirement they break.")
    reasons = Counter(one.unjudged for one in found if one.unjudged and not one.killed_by)
    for reason, number in sorted(reasons.items()):
        console.print(f"{number} could not be judged: {reason}.")


def faults(found: Sequence[Kill]) -> None:
    """For each surface a row an option and a column a kind of fault, then why some cells are empty."""
    from rich import box
    from rich.table import Table

    from npu_conformance.backends.mutants import fault_kinds
    from npu_conformance.strength import fault_table

    console = Console()
    kills = {one.name: one for one in found}
    for surface, options in fault_table.table(one.mutant for one in found).items():
        edition = fault_kinds.EDITIONS[surface]
        console.print(f"\nFaults of options on the {surface} surface, {edition} edition: mutants killed\n")
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=0, header_style="bold")
        table.add_column("Option", no_wrap=True)
        for kind in fault_kinds.KINDS.values():
            table.add_column(kind.column, justify="right", no_wrap=True)
        for option, kinds in options.items():
            table.add_row(option, *[_fault_cell(cell, kills) for cell in kinds.values()])
        console.print(table)
        _empty_cells(console, options)
    words = [f"{kind.column} {kind.meaning}" for kind in fault_kinds.KINDS.values()]
    console.print(f"\nA column is a backend that: {'; '.join(words)}.")
    console.print("1/3: of three mutants one was killed; yellow, the others could not be judged here; red, one lives.")


def _fault_cell(cell: Any, kills: Mapping[str, Kill]) -> Text:
    from npu_conformance.strength import fault_table

    status = fault_table.status(cell, kills)
    killed = sum(1 for name in cell.mutants if kills[name].killed_by)
    if status == "killed":
        return Text(str(killed), style="green")
    if status == "not applicable":
        return Text("-", style="dim")
    style = "yellow" if status == "unjudged" else "bold red"
    return Text(f"{killed}/{len(cell.mutants)}" if cell.mutants else "none", style=style)


def _empty_cells(console: Console, options: Mapping[str, Mapping[str, Any]]) -> None:
    """Why cells are empty: columns that lack the same options for the same reason on one line."""
    from npu_conformance.backends.mutants import fault_kinds
    from npu_conformance.strength import fault_table

    lines: Dict[Tuple[str, Tuple[str, ...]], List[str]] = {}
    for kind, found in fault_table.reasons(options).items():
        for reason, names in found.items():
            lines.setdefault((reason, tuple(names)), []).append(fault_kinds.KINDS[kind].column)
    for (reason, found_names), columns in lines.items():
        shown = ", ".join(found_names) if len(found_names) <= _NAMED else f"{len(found_names)} options"
        console.print(Text(f"- {' '.join(columns)}: ", style="bold") + _plain(f"{reason}: {shown}"))


def mutant_list(mutants: Sequence[Mutant]) -> None:
    """A row a mutant: what it breaks and how."""
    console = Console()
    table = _table("Mutant", "Breaks", "Fault")
    for one in mutants:
        table.add_row(one.name, one.requirement, _plain(one.fault))
    console.print(table)


def checkup(found: Sequence[Check]) -> None:
    """A line a check; below one that failed what was expected, what came, where, and what to change."""
    console = Console()
    for one in found:
        mark = Text("ok    ", style="green") if one.passed else Text("wrong ", style="red")
        console.print(mark + _plain(one.name + (f": {one.detail}" if one.detail else "")), soft_wrap=True)
        if one.passed:
            continue
        told = (("expected", one.expected), ("came", one.came), ("in", one.path), ("at", one.at), ("do", one.remedy))
        for name, text in told:
            if text:
                console.print(_plain(f"      {name:8}  {text}"), soft_wrap=True)


# Asking the reference


def _complaints(console: Console, warnings: Sequence[Any]) -> None:
    for warning in warnings:
        console.print(Text("warning ", style="yellow") + _plain(warning.text), soft_wrap=True)


def partition(answer: Mapping[str, Any], nodes: int, warnings: Sequence[Any], title: str) -> None:
    """Fetches to name, GEOPs, host operators by reason with one witness each, what separates GEOPs, what would help
    most, borders, notes; last one line on all of it, and the verdict of what was demanded."""
    console = Console()
    geops, host, borders = answer["geops"], answer["host"], answer["borders"]
    inside = sum(len(geop["nodes"]) for geop in geops)
    share = f"{100 * inside / nodes:.1f} %" if nodes else "nothing"
    told = f"{inside} of {counted(nodes, 'operator')} ({share}) in {counted(len(geops), 'GEOP')}"
    _line(console, _plain(title) + f": {told}, {len(host)} on the host")
    console.print(f"Fewest GEOPs possible: {answer['min_geops']}")
    proposals(console, answer["proposals"])
    _geops(console, geops)
    _host(console, host)
    _separations(console, answer["separations"])
    _blame(console, answer["blame"])
    _borders(console, borders)
    _open_inputs(console, answer["open_inputs"])
    _notes(console, answer["notes"])
    _complaints(console, warnings)
    _line(console, _plain(answer["conclusion"]["line"]), 2)
    _checks(console, answer["checks"], answer["verdict"])


def _notes(console: Console, notes: Sequence[Mapping[str, Any]]) -> None:
    """The first notes of each code, those that say the same of several subjects as one."""
    folded: Dict[Tuple[str, str], List[Mapping[str, Any]]] = {}
    for note in notes:
        folded.setdefault((note["code"], note["message"]), []).append(note)
    told: Counter = Counter()
    for (code, message), alike in folded.items():
        told[code] += 1
        if told[code] > _SAME:
            continue
        style = {"error": "red", "warning": "yellow"}.get(alike[0].get("level", "info"), "dim")
        named = alike[0].get("subject") or ""
        subject = f"{named}: " if named not in message else ""
        if len(alike) > 1:
            subject = f"{len(alike)} times, {alike[0]['subject'] or 'here'} first: "
        _line(console, Text(f"{code} ", style=style) + _plain(subject + message), 2)
    for code, count in told.items():
        if count > _SAME:
            _line(console, Text(f"… {count - _SAME} more {code}; --format json has all.", style="dim"))


def proposals(console: Console, proposed: Sequence[Mapping[str, Any]]) -> None:
    """Lines to paste."""
    if not proposed:
        return
    _line(console, Text("No fetch is named, so initialisers, savers and all count. As one session.run sees it:"), 2)
    for one in proposed:
        console.print(Text(f"  # {_FETCHED[one['kind']]}", style="dim"), soft_wrap=True)
        for line in _continued([shlex.quote(word) for word in shlex.split(one["command"])], console.width):
            console.print(_plain(line), soft_wrap=True)


def _continued(words: Sequence[str], width: int) -> List[str]:
    """A command that can be pasted, over as many lines as it needs, each but the last ending in a backslash."""
    lines = [f"  {words[0]}"]
    for word in words[1:]:
        if len(lines[-1]) + len(word) + 3 > width and lines[-1].strip():
            lines[-1] += " \\"
            lines.append("   ")
        lines[-1] += f" {word}"
    return lines


def _open_inputs(console: Console, inputs: Sequence[str]) -> None:
    """What would make sizes known."""
    if inputs:
        batch = [text for text in inputs if ":N" in text and not any(c.isalpha() for c in text.rpartition(":N")[2])]
        first = "--batch N, or " if batch else ""
        shapes = " ".join(f"--shape {text}" for text in inputs[:_ROWS])
        _line(console, _plain(f"Sizes follow from {first}{shapes}"), 2)


def _separations(console: Console, separations: Sequence[Mapping[str, Any]]) -> None:
    """What keeps neighbouring GEOPs apart, the shortest paths first."""
    if not separations:
        return
    pairs = counted(len(separations), "pair")
    console.print(f"Kept apart by the host ({pairs} of GEOPs):", style="bold", soft_wrap=True)
    for one in sorted(separations, key=lambda row: len(row["path"]))[:_PAIRS]:
        path = list(one["path"])
        shown = path if len(path) <= _STEPS else [*path[: _STEPS - 1], "…", path[-1]]
        _line(console, _plain(f"  {one['before']} → {' → '.join(shown)} → {one['after']}"), 4)
    _rest(console, _PAIRS, len(separations))


def _blame(console: Console, blame: Sequence[Mapping[str, Any]]) -> None:
    # A type that would save nothing helps nobody choose.
    blame = [row for row in blame if row["geops_saved"] or row["copies_saved"] or row["bytes_saved"]]
    if not blame:
        return
    numbers = ["Operators", "GEOPs saved", "Copies saved", "Bytes saved"]
    table = _table("If the device had", *numbers, numbers=numbers)
    for row in blame[:_BLAMED]:
        saved = "unknown" if row["bytes_saved"] is None else f"{row['bytes_saved']:,}"
        counts = [str(row[key]) for key in ("nodes", "geops_saved", "copies_saved")]
        table.add_row(_plain(row["op"]), *counts, saved)
    console.print(table)
    _rest(console, _BLAMED, len(blame))


def _checks(console: Console, checks: Sequence[Mapping[str, Any]], verdict: str) -> None:
    """What was demanded, last, where a reader of a log looks."""
    for check in checks:
        mark = Text("passed ", style="green") if check["passed"] else Text("failed ", style="red")
        _line(console, mark + _plain(f"{check['demand']}: {check['summary']}"), 2)
        for line in check["lines"]:
            _line(console, _plain(f"  {line}"), 4)
    if checks:
        console.print(f"Verdict: {verdict}", style="green" if verdict == "passed" else "bold red")


def _geops(console: Console, geops: Sequence[Mapping[str, Any]]) -> None:
    if not geops:
        return
    numbers = ["Operators", "Arguments", "Returns", "Copies"]
    table = _table("GEOP", *numbers, "First operators", numbers=numbers)
    for geop in geops[:_ROWS]:
        first = ", ".join(geop["nodes"][:3]) + (", …" if len(geop["nodes"]) > 3 else "")
        sizes = [str(len(geop[key])) for key in ("nodes", "args", "rets", "copies")]
        table.add_row(_plain(geop["name"]), *sizes, _plain(first))
    console.print(table)
    _rest(console, _ROWS, len(geops))


def _host(console: Console, host: Sequence[Mapping[str, Any]]) -> None:
    """One row a reason; then for each reason an example with the chain to its cause, and every remedy."""
    if not host:
        return
    reasons: Dict[str, List[Mapping[str, Any]]] = {}
    for entry in host:
        reasons.setdefault(entry["reason"], []).append(entry)
    order = sorted(reasons, key=lambda reason: (-len(reasons[reason]), reason))
    table = _table("Reason", "On the host", "Operators", numbers=["On the host"])
    for reason in order:
        types = Counter(entry["op"] for entry in reasons[reason])
        shown = ", ".join(f"{op} {count}" for op, count in types.most_common(_TYPES))
        more = f", {counted(len(types) - _TYPES, 'more type')}" if len(types) > _TYPES else ""
        table.add_row(reason, str(len(reasons[reason])), _plain(shown + more))
    console.print(table)
    for reason in order:
        _line(console, Text(f"{reason}  ", style="bold") + _plain(_witness(reasons[reason][0])), 2)
        for remedy in dict.fromkeys(entry["remedy"] for entry in reasons[reason]):
            _line(console, Text("  remedy: ", style="dim") + _plain(remedy), 4)


def script_nodes(sessions: Sequence[Mapping[str, Any]]) -> None:
    """Every operator of every signature of a script: where it ran, its dtypes, and why it stayed on the host."""
    console = Console()
    for session in sessions:
        for one in session["signatures"]:
            run = ", ".join([*one["fetches"], *one["targets"]])
            _line(console, _plain(f"session {session['session']}, {counted(one['runs'], 'run')} of {run}"), 2)
            for row in one["nodes"]:
                why = row["reason"] and f"{row['reason']} ({row['why']})"
                told = [row["where"], row["engine"], " ".join(row["dtypes"]), why]
                text = f"  {row['node']} ({row['op']}): {', '.join(part for part in told if part)}"
                console.print(_plain(text), soft_wrap=True)  # a line each, to be searched


def _witness(entry: Mapping[str, Any]) -> str:
    steps = entry.get("witness") or []
    texts = [f"{step['node']}: {step['why']}" for step in steps[:_STEPS]]
    return "for example " + " ← ".join(texts) + (" ← …" if len(steps) > _STEPS else "")


def _borders(console: Console, borders: Sequence[Mapping[str, Any]]) -> None:
    if not borders:
        return
    numbers = ["Tensors a step", "Bytes a step", "Of unknown size"]
    table = _table("Border, each tensor once (M24)", *numbers, numbers=numbers)
    for direction, words in (("h2d", "host to device"), ("d2h", "device to host"), ("d2d", "GEOP to GEOP")):
        crossing = [border for border in borders if border["direction"] == direction]
        sizes: List[Optional[int]] = [border.get("bytes") for border in crossing]
        if crossing:
            known = sum(size for size in sizes if size is not None)
            table.add_row(words, str(len(crossing)), f"{known:,}", str(sizes.count(None)))
    if table.row_count > 1:
        known = sum(border.get("bytes") or 0 for border in borders)
        unknown = sum(border.get("bytes") is None for border in borders)
        table.add_section()
        table.add_row("together", str(len(borders)), f"{known:,}", str(unknown))
    console.print(table)
