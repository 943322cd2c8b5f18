"""``npu-conformance partition``: what of a graph runs on the device."""

from __future__ import annotations

import os
from typing import Any, List, Mapping, Optional, Tuple

import click

from npu_conformance.commands import shared
from npu_reference.errors import ExitStatus, NpuError

__all__ = ["partition"]

#: Operator types whose absence is weighed without being asked, and the size of graph beyond which none is: a partition
#: of 50 000 operators takes some seconds.
_BLAMED = 5
_BLAME_NODES = 50000

#: Parameters that a line to paste repeats.
_AS_GIVEN = ("assignments", "policy", "flavour", "op_list", "shapes", "batch", "surface", "edition")


@click.command(
    epilog=shared.examples(
        "partition model.pb -o mix_compile_mode=true --html places.html",
        "partition model.pb --fetch loss --require-offload all --batch 32",
    )
)
@shared.GRAPH
@shared.ASSIGNED
@shared.POLICY
@shared.OP_LIST
@shared.FEEDS
@shared.FETCHES
@click.option(
    "--require-offload",
    "required",
    multiple=True,
    metavar="OP_OR_NAME",
    help="Exit 1 unless every operator of this type or name is offloaded; 'all': all that compute anything.",
)
@shared.SIZES
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
@shared.STRICT
@shared.SURFACE
@shared.EDITION
@shared.FORMAT
def partition(
    graph: str, assignments: Tuple[str, ...], policy: str, flavour: str, op_list: Optional[str], feeds: Tuple[str, ...],
    fetches: Tuple[str, ...], required: Tuple[str, ...], shapes: Tuple[str, ...], batch: Optional[int],
    most: Optional[int], blamed: Optional[int], html: Optional[str], graph_out: Optional[str], strict: bool,
    surface: str, edition: str, form: str,
) -> int:  # fmt: skip
    """Show what of GRAPH runs on the device, what stays on the host, and why. GRAPH may be - for standard input."""
    from npu_conformance.models import advice, demands, precise
    from npu_reference.catalog import OpList, unmatched
    from npu_reference.graphs import close_over, load_graph, write_graph
    from npu_reference.graphs.names import split_fetches
    from npu_reference.options import parse_assignments, resolve
    from npu_reference.partition import annotate, blame, separations
    from npu_reference.partition import partition as cut

    values = parse_assignments(assignments)
    given = precise.parse_shapes(shapes)
    resolution = resolve(values, surface=surface, edition=edition, env={})
    warnings = shared.names_first(resolution.warnings, strict)
    if policy != "adapter":  # whose own pass reads the values its own way
        resolution.raise_first()
    operators = OpList.load(op_list) if op_list is not None else None
    loaded = load_graph(graph)
    entries = [one.to_json() for one in unmatched(resolution, loaded)]
    sizes, _ = precise.sizes(loaded, given, batch, feeds)
    tensors, targets = split_fetches(list(fetches))
    words = _words(click.get_current_context(), graph)
    proposals = [] if fetches else advice.propose(loaded, words)
    missing = advice.open_inputs(loaded, sizes)
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
    unknown = sum(border.bytes is None for border in found.borders)
    conclusion = advice.conclude(found, ranking, sizes, count_work=len(found.graph.nodes) <= _BLAME_NODES)
    answer = {
        **found.to_json(),
        "notes": [*(note.to_json() for note in found.notes), *entries],
        "separations": [one.to_json() for one in apart],
        "blame": [one.to_json() for one in ranking],
        "proposals": [one.to_json() for one in proposals],
        "open_inputs": missing if unknown else [],
        "conclusion": conclusion.to_json(),
        "checks": [check.to_json() for check in checks],
        "verdict": "passed" if passed else "failed",
    }
    title = os.path.basename(graph)
    if html:
        from npu_conformance.files import output
        from npu_conformance.report import partition_page

        changed = {name: one.value for name, one in resolution.effective.items() if one.origin != "default"}
        nodes = _assigned(found, resolution)
        how = shared.how_made()
        page = partition_page.page(found.graph, answer, title=title, options=changed, precise=nodes, made=how)
        output.write_file(html, page)
    if graph_out:
        write_graph(annotate(found), graph_out)
    if form == "json":
        from npu_conformance.protocol import schema

        shared.echo_json({"schema": schema.header("partition"), **answer})
    else:
        from npu_conformance.report import text as render

        render.partition(answer, len(found.graph.nodes), warnings, title)
    return ExitStatus.OK if passed else ExitStatus.NEGATIVE


def _assigned(found: Any, resolution: Any) -> List[Mapping[str, Any]]:
    """Engines and dtypes of the operators on the device; nothing where the options allow no assignment."""
    from npu_reference.precision import assign

    try:
        return [node.to_json() for node in assign(found, resolution, entries=()).nodes]
    except NpuError:
        return []


def _words(context: click.Context, graph: str) -> List[str]:
    """The command as it was given, but for feeds, demands and files to write; a line to paste begins with it."""
    from click.core import ParameterSource

    words = ["npu-conformance", "partition", shared.word_for(graph)]
    for option in context.command.params:
        name = str(option.name)
        if name in _AS_GIVEN and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            value = context.params[name]
            for one in value if isinstance(value, tuple) else [value]:
                words += [option.opts[0], str(one)]
    return words
