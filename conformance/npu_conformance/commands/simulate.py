"""``npu-conformance simulate``: runs a script."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Dict, List, Optional, Tuple

import click

from npu_conformance.commands.shared import FORMAT, echo_json, examples, how_made
from npu_reference.errors import ExitStatus, NpuError

__all__ = ["simulate"]


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog=examples("simulate train.py --epochs 1"),
)
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
@click.option(
    "--dump-plain",
    type=click.Path(),
    metavar="FOLDER",
    help="Write every operator's output as plain TensorFlow computes it, for inspect --against.",
)
@click.option(
    "--clock/--no-clock",
    default=True,
    show_default=True,
    help="Work out the time and the memory of every run on the device, by its model: npu-conformance docs device.",
)
@click.option("--device", metavar="NAME|FILE.toml[:NAME]", help="The simulated device; default Ascend910A.")
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="KIND[:NODE][@RUN][,FIELD=N]|FILE.json",
    help="Let the device suffer a fault, such as hang:dense/MatMul@2: npu-conformance docs runtime; repeatable.",
)
@click.option("--trace", "trace_file", type=click.Path(), help="Write what ran where as JSON.")
@click.option(
    "--ranks",
    type=click.IntRange(1, 64),
    help="Run SCRIPT as so many processes, each of them one rank of a job with a simulated device of its own.",
)
@click.option(
    "--nodes", is_flag=True, help="List every operator of every run: where it ran, its dtypes, why on the host."
)
@click.option("--html", type=click.Path(), help="Also write one self-contained page of the whole script.")
@FORMAT
@click.argument("script", type=click.Path())
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[args]...")
def simulate(
    device_precision: Optional[str], edition: Optional[str], dump_plain: Optional[str], clock: bool,
    device: Optional[str], faults: Tuple[str, ...], trace_file: Optional[str], ranks: Optional[int],
    nodes: bool, html: Optional[str], form: str, script: str, arguments: Tuple[str, ...],
) -> int:  # fmt: skip
    """Run SCRIPT unchanged on the simulated device; its exit status is the script's.

    With --format json the answer is the last line of stdout, after all that the script prints.
    """
    from npu_conformance.files import output
    from npu_reference.device.faults import parse_text
    from npu_reference.hardware import load
    from npu_reference.runtime.observing.account import Account
    from npu_reference.runtime.scripts.simulate import simulate as execute

    if html:
        output.check_writable(html)  # before the script has run for an hour
    if ranks is not None:
        _check_of_ranks(dump_plain, nodes)
    given: Dict[str, Any] = {
        "device_precision": device_precision,
        "edition": edition,
        "trace_file": trace_file,
        "clock": clock,
        "device": None if device is None else load(device),
        "faults": parse_text(faults),
    }
    if ranks is not None:
        return _ranks(ranks, script, list(arguments), given, html, form)
    account = Account()
    ended: Optional[SystemExit] = None
    try:
        execute(script, list(arguments), account=account, dump_plain=dump_plain, **given)
    except SystemExit as leaving:
        ended = leaving
    if html or nodes or form == "json":
        _tell(account, script, _status(ended), html, nodes, form)
    if ended is not None:
        raise ended
    return ExitStatus.OK


def _check_of_ranks(dump_plain: Optional[str], nodes: bool) -> None:
    if nodes:
        raise NpuError("USAGE", "--nodes", "it lists the operators of one rank.", "Leave out --ranks.")
    if dump_plain:
        what = "it holds the dump of one rank, and --ranks runs several."
        raise NpuError("USAGE", "--dump-plain", what, "Use the options of data dumps, which have a folder a device.")


def _ranks(size: int, script: str, arguments: List[str], given: Dict[str, Any], html: Optional[str], form: str) -> int:
    """Several ranks; each leaves what is told of it in a folder, from which one page or answer is made."""
    from npu_conformance.files import scratch
    from npu_conformance.protocol import schema
    from npu_conformance.report import script_ranks
    from npu_reference.runtime.scripts.multi_rank import simulate_ranks

    if not html and form != "json":
        return simulate_ranks(size, script, arguments, **given).status
    with contextlib.closing(scratch.Scratch("npu-conformance-ranks-")) as made:
        folder = made.path

        def tell(rank: int, account: Any, status: int) -> None:
            script_ranks.leave(folder, rank, account, script, status, bool(html))

        ended = simulate_ranks(size, script, arguments, tell=tell, **given)
        answer = script_ranks.answer(folder, script, ended)
        if html:
            how = how_made()
            _write_page(html, lambda: script_ranks.page(folder, answer, how))
        if form == "json":
            echo_json({"schema": schema.header("simulate-ranks"), **answer})
    return ended.status


def _write_page(path: str, make: Callable[[], str]) -> None:
    from npu_conformance.files import output

    try:
        output.write_file(path, make())
    except NpuError as error:  # the script's own end is worth more than the page
        click.echo(f"error{error}", err=True)


def _status(ended: Optional[SystemExit]) -> int:
    """As Python makes one of what ``sys.exit`` was given."""
    if ended is None or ended.code is None:
        return 0
    return ended.code if isinstance(ended.code, int) else 1


def _tell(account: Any, script: str, status: int, html: Optional[str], nodes: bool, form: str) -> None:
    from npu_conformance.models import script as scripts
    from npu_conformance.protocol import schema
    from npu_conformance.report import script_page

    told = scripts.tell(account, script, status, nodes)
    if html:
        how = how_made()
        _write_page(html, lambda: script_page.page(told, how))
    if form == "json":
        echo_json({"schema": schema.header("simulate"), **told.answer})
    elif nodes:
        from npu_conformance.report import text

        text.script_nodes(told.answer["sessions"])
