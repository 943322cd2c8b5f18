"""``npu-conformance inspect``: what lies in a folder that a run left, and where two of them depart."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

import click

from npu_conformance.commands.shared import FORMAT, Number, echo_json, examples, how_made
from npu_reference.errors import ExitStatus, NpuError

__all__ = ["inspect"]


@click.command(epilog=examples("inspect dump/ --against cpu-dump/", "inspect dump/ --op 'conv*' --html dump.html"))
@click.option("--step", type=click.IntRange(min=0), help="Only this iteration, from 0.")
@click.option("--op", metavar="PATTERN", help="Only operators whose names match, with * and ?.")
@click.option("--tensor", metavar="NAME[:SLOT]", help="Show one operator's output, its values too.")
@click.option("--export", type=click.Path(), metavar="FILE.npy", help="With --tensor: write it as .npy.")
@click.option(
    "--against", type=click.Path(), metavar="FOLDER", help="Compare with another dump, or an earlier profile."
)
@click.option("--cosine", type=Number(-1, 1), help="With --against: departs below it (default 0.999).")
@click.option(
    "--error",
    type=Number(min=0),
    help="With --against: departs above this difference, by the largest value (default 0.01); of profiles, is slower "
    "above this share (default 0.05).",
)
@click.option("--html", type=click.Path(), help="Also write one self-contained page.")
@FORMAT
@click.argument("folder", type=click.Path())
def inspect(
    step: Optional[int],
    op: Optional[str],
    tensor: Optional[str],
    export: Optional[str],
    against: Optional[str],
    cosine: Optional[float],
    error: Optional[float],
    html: Optional[str],
    form: str,
    folder: str,
) -> int:
    """Show what lies in FOLDER, which a run or a compilation left, or in all such folders below it.

    Known are dumps, profiles, kernel caches, kernel files, fusion results, external weights, the bank of tuning and
    the operator information library.

    With --against the answer is what differs between two dumps or two profiles. The status is 1 if an operator departs
    or cannot be read, or if FOLDER's iteration is slower.
    """
    from npu_conformance.inspecting import registry
    from npu_conformance.protocol import schema

    _check(tensor, export, against, cosine, error)
    if html is not None and tensor is not None:
        raise NpuError("USAGE", "--html", "it shows a folder, and --tensor one tensor.", "Leave one of them out.")
    found = registry.find(folder)
    filters = {"step": step, "op": op}
    answer: Dict[str, Any] = {"schema": schema.header("inspect"), "kind": found[0].kind.name, "folder": found[0].folder}
    if tensor is not None:
        if not any(one.kind.name == "dump" for one in found):
            raise NpuError("USAGE", "--tensor", "it shows a tensor of a dump, and there is none.")
        answer.update(kind="dump", folder=folder, tensor=_tensor(registry.Inspected(folder, filters), tensor, export))
    elif against is not None:
        one = _comparable(found, against)
        limits = _limits(one.kind, cosine, error)
        assert one.kind.compare is not None
        compared = one.kind.compare(registry.Inspected(one.folder, filters), against, limits)
        answer.update(kind=one.kind.name, folder=one.folder, comparison=compared)
    elif len(found) == 1:
        answer["content"] = found[0].kind.look(registry.Inspected(found[0].folder, filters))
    else:
        answer.update(kind="several", folder=folder, folders=_several(found, filters))
    if html is not None:
        from npu_conformance.files import output
        from npu_conformance.report import inspect_page

        output.write_file(html, inspect_page.page(answer, filters, how_made()))
    if form == "json":
        echo_json(answer)
    else:
        from npu_conformance.report import text_inspect

        text_inspect.show(answer)
    comparison = answer.get("comparison", {})
    # Of dumps what cannot be read is not equal, nor is what is never compared; of profiles it is a part of the time.
    unread = answer["kind"] == "dump" and bool(comparison) and bool(comparison["flaws"] or not comparison["compared"])
    departs = comparison.get("first") is not None or comparison.get("slower") is True or unread
    return ExitStatus.NEGATIVE if departs else ExitStatus.OK


def _several(found: List[Any], filters: Dict[str, Any]) -> List[Dict[str, Any]]:
    """What lies in each; one that cannot be read does not hide the others."""
    from npu_conformance.inspecting.registry import Inspected

    answers = []
    for one in found:
        told: Dict[str, Any] = {"kind": one.kind.name, "folder": one.folder}
        try:
            told["content"] = one.kind.look(Inspected(one.folder, filters))
        except NpuError as problem:
            told["error"] = {"code": problem.code, "message": problem.message}
        answers.append(told)
    return answers


def _comparable(found: List[Any], against: str) -> Any:
    """The folder that can be held against another: the only one of a kind that both have."""
    from npu_conformance.inspecting import registry

    comparable = [one for one in found if one.kind.compare is not None]
    if not comparable:
        kinds = ", ".join(sorted({one.kind.name for one in found}))
        raise NpuError("USAGE", "--against", f"folders of kind {kinds} cannot be compared.", "Dumps and profiles can.")
    if len(comparable) > 1:
        theirs = {one.kind.name for one in registry.find(against)}
        comparable = [one for one in comparable if one.kind.name in theirs] or comparable
    if len(comparable) > 1:
        names = ", ".join(one.folder for one in comparable[:3])
        raise NpuError("USAGE", "--against", f"{len(comparable)} folders could be compared: {names}.", "Name one.")
    return comparable[0]


def _limits(kind: Any, cosine: Optional[float], error: Optional[float]) -> Dict[str, float]:
    limits = dict(kind.limits)
    for name, value in (("cosine", cosine), ("error", error)):
        if value is not None and name not in limits:
            raise NpuError(
                "USAGE", f"--{name}", f"two folders of kind {kind.name} have no such bound.", "Leave it out."
            )
        if value is not None:
            limits[name] = value
    return limits


def _check(tensor: Any, export: Any, against: Any, cosine: Any, error: Any) -> None:
    if export is not None and tensor is None:
        raise NpuError("USAGE", "--export", "it writes one tensor.", "Name it with --tensor.")
    if tensor is not None and against is not None:
        raise NpuError("USAGE", "--tensor", "it shows one folder's tensor.", "Leave --against out.")
    if against is None and (cosine is not None or error is not None):
        raise NpuError("USAGE", "--cosine", "it is a bound of a comparison.", "Give --against.")


def _tensor(asked: Any, name: str, export: Optional[str]) -> Dict[str, Any]:
    from npu_conformance.files import output
    from npu_conformance.inspecting import dumps

    found = dumps.find(asked, name)
    row = dumps.row(found)
    values = dumps.array(found)
    if export is not None:
        import io

        import numpy as np

        stream = io.BytesIO()
        np.save(stream, values, allow_pickle=False)
        output.write_bytes(export, stream.getvalue())
        row["exported"] = export
    return {**row, "values": dumps.shown(values)}
