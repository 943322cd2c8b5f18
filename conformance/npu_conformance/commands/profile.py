"""``npu-conformance profile``: where the time and the memory of one step go on a simulated device."""

from __future__ import annotations

from typing import Optional, Tuple

import click

from npu_conformance.commands import shared
from npu_reference.errors import ExitStatus, NpuError

__all__ = ["profile"]


@click.command(
    epilog=shared.examples("profile model.pb --batch 32 --trace step.json", "profile train.py -- --epochs 1")
)
@shared.MODEL
@click.argument("arguments", nargs=-1, metavar="[-- SCRIPT'S ARGUMENTS]...")
@click.option(
    "--device",
    default="Ascend910A",
    show_default=True,
    metavar="NAME|FILE.toml[:NAME]",
    help="The simulated device; npu-conformance docs device has the form of a file of your own.",
)
@click.option("--ranks", type=click.IntRange(1, 1024), metavar="N", help="Devices that run GRAPH together; default 1.")
@click.option("--rank-table", type=click.Path(), help="JSON of HCCL that says where they are; default servers of 8.")
@click.option(
    "--split",
    metavar="idx:20,100 | size:60,40",
    help="How gradients are split for AllReduce: the last of each segment, or percentages; default 96.54 and 3.46.",
)
@click.option("--group", "groups", multiple=True, metavar="NAME:0,1", help="Ranks of a group that GRAPH names.")
@click.option(
    "--algorithm",
    type=click.Choice(["mesh", "ring", "double_ring", "halving_doubling", "star", "hierarchical"]),
    help="Of all collectives; default the one that fits the links best.",
)
@shared.COMPARE
@click.option("--html", type=click.Path(), help="Also write one self-contained page with the timeline.")
@click.option("--trace", "trace_file", type=click.Path(), help="Write the step as Chrome trace JSON, for Perfetto.")
@shared.STRICT
@shared.SURFACE
@shared.EDITION
@shared.FORMAT
def profile(
    graph: str, arguments: Tuple[str, ...], assignments: Tuple[str, ...], op_list: Optional[str],
    ops_info: Optional[str], feeds: Tuple[str, ...], fetches: Tuple[str, ...], shapes: Tuple[str, ...],
    batch: Optional[int], device: str, ranks: Optional[int], rank_table: Optional[str], split: Optional[str],
    groups: Tuple[str, ...], algorithm: Optional[str], other: Tuple[str, ...], html: Optional[str],
    trace_file: Optional[str], strict: bool, surface: str, edition: str, form: str,
) -> int:  # fmt: skip
    """Show how long one step of GRAPH takes on a simulated device, on which engines, and what lies in its memory.

    A GRAPH that ends in .py is a script: it runs as under `simulate`, and all of its runs are told of.

    The times are of a model (npu-conformance docs device), never measurements.
    """
    from npu_conformance.commands import profile_script as script_command
    from npu_conformance.files import output
    from npu_conformance.models import precise, profiling, script_profile
    from npu_conformance.protocol import schema
    from npu_reference.options import parse_assignments

    if script_profile.is_script(graph):
        given = {"-o": assignments, "--op-list": op_list, "--ops-info": ops_info, "--feed": feeds, "--fetch": fetches}
        script_command.refuse_for_scripts({**given, "--shape": shapes, "--batch": batch, "--strict": strict})
        return script_command.profile_script(
            graph,
            arguments,
            device=device,
            other=other,
            html=html,
            trace_file=trace_file,
            edition=None if edition == "current" else edition,
            form=form,
        )
    if arguments:
        raise NpuError("USAGE", arguments[0], "a graph takes no arguments.", "Only a script, which ends in .py, does.")
    values = parse_assignments(assignments)
    sizes = precise.parse_shapes(shapes)
    question = precise.PrecisionQuestion(
        graph, values, surface, edition, feeds, fetches, op_list, ops_info, sizes, batch
    )
    warnings = shared.names_first(precise.resolutions(question)[0].warnings, strict)
    together = profiling.together(ranks, rank_table, split, groups, algorithm)
    asked = profiling.ask(question, device, [parse_assignments([text]) for text in other], together)
    answer = profiling.answer(asked)
    if html:
        from npu_conformance.report import profile_page

        title, options = precise.title(graph), precise.given(asked[0].resolution)
        page = profile_page.page(asked[0].profile, answer, title=title, options=options, made=shared.how_made())
        output.write_file(html, page)
    if trace_file:
        output.write_file(trace_file, output.dumps(profiling.trace(asked[0])) + "\n")
    if form == "json":
        shared.echo_json({"schema": schema.header("profile"), **answer})
    else:
        from npu_conformance.report import text_profile

        text_profile.profile(answer, warnings, precise.title(graph))
    return ExitStatus.OK
