"""``npu-conformance worker``: serves a backend."""

from __future__ import annotations

import click

from npu_conformance.commands.shared import examples

__all__ = ["worker"]


@click.command(epilog=examples("worker py:my.backend:Backend"))
@click.argument("spec", default="reference")
def worker(spec: str) -> int:
    """Serve backend SPEC over stdin and stdout (worker protocol 1)."""
    from npu_conformance.backends.worker import main as serve

    return serve(spec)
