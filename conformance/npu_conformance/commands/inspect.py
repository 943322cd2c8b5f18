"""``npu-conformance inspect``: what lies in a folder that a run left, and where two of them depart."""

from __future__ import annotations

from typing import Any, Dict, Optional

import click

from npu_conformance.commands.shared import FORMAT, echo_json
from npu_reference.errors import ExitStatus, NpuError

__all__ = ["inspect"]


@click.command()
@click.option("--step", type=click.IntRange(min=0), help="Only this iteration, from 0.")
@click.option("--op", metavar="PATTERN", help="Only operators whose names match, with * and ?.")
@click.option("--tensor", metavar="NAME[:SLOT]", help="Show one operator's output, its values too.")
@click.option("--export", type=click.Path(), metavar="FILE.npy", help="With --tensor: write it as .npy.")
@click.option("--against", type=click.Path(), metavar="FOLDER", help="Compare with another dump of the same graph.")
@click.option("--cosine", type=click.FloatRange(-1, 1), help="With --against: departs below it (default 0.999).")
@click.option(
    "--error",
    type=click.FloatRange(min=0),
    help="With --against: departs above this difference, by the largest value (default 0.01).",
)
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
    form: str,
    folder: str,
) -> int:
    """Show what lies in FOLDER: a data dump or an exception dump, as a table of its tensors.

    With --against the answer is the first operator that departs; the status is then 1.
    """
    from npu_conformance.inspecting.registry import Inspected, recognise
    from npu_conformance.protocol import schema

    _check(tensor, export, against, cosine, error)
    found = recognise(folder)
    asked = Inspected(folder, {"step": step, "op": op})
    answer: Dict[str, Any] = {"schema": schema.header("inspect"), "kind": found.name, "folder": folder}
    if tensor is not None:
        answer["tensor"] = _tensor(asked, tensor, export)
    elif against is not None:
        if found.compare is None:
            raise NpuError("USAGE", "--against", f"folders of kind {found.name} cannot be compared.")
        from npu_conformance.inspecting.dumps import LIMITS

        limits = {"cosine": LIMITS["cosine"] if cosine is None else cosine, "error": LIMITS["error"]}
        limits["error"] = limits["error"] if error is None else error
        answer["comparison"] = found.compare(asked, against, limits)
    else:
        answer["content"] = found.look(asked)
    if form == "json":
        echo_json(answer)
    else:
        from npu_conformance.report import text_inspect

        text_inspect.show(answer)
    departs = answer.get("comparison", {}).get("first") is not None
    return ExitStatus.NEGATIVE if departs else ExitStatus.OK


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
