"""``npu-conformance worker-check``: whether a backend speaks the protocol."""

from __future__ import annotations

from typing import Optional, Tuple

import click

from npu_conformance.commands.shared import FORMAT, WORKERS, echo_json, examples, stop_on_signals, worker_settings
from npu_reference.errors import ExitStatus

__all__ = ["worker_check"]


@click.command("worker-check", epilog=examples("worker-check 'exec:./backend --serve'"))
@click.argument("spec")
@WORKERS
@FORMAT
def worker_check(
    spec: str, jobs: Optional[int], factor: float, variables: Tuple[str, ...], python: str, form: str
) -> int:
    """Check that backend SPEC speaks the protocol; exit 1 if it does not."""
    from npu_conformance import backends
    from npu_conformance.report import text as render
    from npu_conformance.running import checkup

    stop_on_signals()
    backends.check(spec)
    found = checkup.check(spec, worker_settings(jobs, factor, variables, python))
    if form == "json":
        echo_json(checkup.answer(found))
    else:
        render.checkup(found)
    return ExitStatus.OK if all(one.passed for one in found) else ExitStatus.NEGATIVE
