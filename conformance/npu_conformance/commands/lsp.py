"""``npu-conformance lsp``: lint as a language server, for editors."""

from __future__ import annotations

import os
import sys
from typing import Tuple

import click

from npu_conformance.commands.shared import EDITION, IGNORE, SELECT, examples
from npu_reference.errors import ExitStatus, NpuError

__all__ = ["lsp"]


@click.command(epilog=examples("lsp --select E,W"))
@SELECT
@IGNORE
@click.option("--docs-url", "docs", default="", metavar="URL", help="Where the page lint is published, to link to.")
@EDITION
def lsp(select: Tuple[str, ...], ignore: Tuple[str, ...], docs: str, edition: str) -> int:
    """Serve lint to an editor, over standard input and output, in the language server protocol.

    Findings are told while a script is written, with fixes as quick fixes, and hovering over an option tells what the
    documents say of it. Needs the extra npu-conformance[lsp], and Python 3.9 or newer.
    """
    from npu_conformance.lint.registry import LintSettings, selected

    chosen = selected(select, ignore)
    try:
        from npu_conformance.lint.server import server
    except ImportError as missing:
        remedy = "pip install 'npu-conformance[lsp]', with Python 3.9 or newer."
        raise NpuError("SYSTEM", "pygls 2", f"is needed for the language server ({missing}).", remedy) from None
    # The streams of the protocol are its own: it closes them, and nothing else may write there.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    server(chosen, LintSettings(edition), docs).start_io(stdout=answers)
    return ExitStatus.OK
