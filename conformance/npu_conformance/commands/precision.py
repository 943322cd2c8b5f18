"""``npu-conformance precision``: which dtypes operators get."""

from __future__ import annotations

from typing import Optional, Tuple

import click

from npu_conformance.commands import shared
from npu_reference.errors import ExitStatus

__all__ = ["precision"]


@click.command(
    epilog=shared.examples(
        "precision model.pb -o precision_mode=allow_mix_precision --all",
        "precision model.pb --compare precision_mode=force_fp16",
    )
)
@shared.MODEL
@shared.COMPARE
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
@shared.STRICT
@shared.SURFACE
@shared.EDITION
@shared.FORMAT
def precision(
    graph: str, assignments: Tuple[str, ...], op_list: Optional[str], ops_info: Optional[str], feeds: Tuple[str, ...],
    fetches: Tuple[str, ...], shapes: Tuple[str, ...], batch: Optional[int], other: Tuple[str, ...], every: bool,
    html: Optional[str], bisected: bool, executions: int, strict: bool, surface: str, edition: str, form: str,
) -> int:  # fmt: skip
    """Show which dtype, engine and implementation mode every operator of GRAPH gets on the device, and why."""
    from npu_conformance.models import precise
    from npu_reference.options import parse_assignments, resolve

    values = parse_assignments(assignments)
    warnings = shared.names_first(resolve(values, surface=surface, edition=edition, env={}).warnings, strict)
    if bisected:
        from npu_conformance.models import bisecting

        bisecting.report(graph, values, edition, executions, form)
        return ExitStatus.OK
    sizes = precise.parse_shapes(shapes)
    question = precise.PrecisionQuestion(
        graph, values, surface, edition, feeds, fetches, op_list, ops_info, sizes, batch
    )
    asked = precise.ask(question, [parse_assignments([text]) for text in other])
    answer = precise.answer(asked)
    title = precise.title(graph)
    if html:
        from npu_conformance.files import output
        from npu_conformance.report import precision_page

        options = precise.given(asked[0].resolution)
        output.write_file(html, precision_page.page(answer, title=title, options=options, made=shared.how_made()))
    if form == "json":
        from npu_conformance.protocol import schema

        shared.echo_json({"schema": schema.header("precision"), **answer})
    else:
        from npu_conformance.models import advice
        from npu_conformance.report import text_precision as render_precision
        from npu_reference.graphs import load_graph

        proposed = []
        if not fetches:
            given = [word for text in assignments for word in ("-o", text)]
            given += [word for text in shapes for word in ("--shape", text)]
            given += ["--surface", surface] if surface != "session" else []
            given += ["--edition", edition] if edition != "current" else []
            words = ["npu-conformance", "precision", shared.word_for(graph), *given]
            proposed = [one.to_json() for one in advice.propose(load_graph(graph), words)]
        render_precision.precision(answer, warnings, title, every, proposed)
    return ExitStatus.OK
