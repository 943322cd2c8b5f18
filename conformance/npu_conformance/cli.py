"""The command line ``npu-conformance``: its one entry, which turns every error into one line and an exit status."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from typing import Dict, List, Optional, Sequence

import click

import npu_reference
from npu_conformance.commands.compare import compare
from npu_conformance.commands.coverage import coverage
from npu_conformance.commands.golden import golden
from npu_conformance.commands.lint import lint
from npu_conformance.commands.mutants import mutants
from npu_conformance.commands.options import options
from npu_conformance.commands.partition import partition
from npu_conformance.commands.precision import precision
from npu_conformance.commands.profile import profile
from npu_conformance.commands.run import run
from npu_conformance.commands.simulate import simulate
from npu_conformance.commands.verify import verify
from npu_conformance.commands.worker import worker
from npu_conformance.commands.worker_check import worker_check
from npu_reference.errors import ExitStatus, NpuError

__all__ = ["main", "cli"]


def main(argv: Optional[Sequence[str]] = None) -> None:
    """Runs a command and exits with its status; every error is one line on stderr."""
    arguments = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    try:
        status = cli.main(args=arguments, prog_name="npu-conformance", standalone_mode=False)
        sys.stdout.flush()
        code = status if isinstance(status, int) else ExitStatus.OK
    except NpuError as error:
        code = _say(error)
    except click.ClickException as error:
        code = _say(_usage(error))
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        code = 130  # 128 + SIGINT, as shells have it
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the interpreter flushes stdout once more at exit
        code = ExitStatus.OK
    except Exception as error:  # noqa: BLE001  the last resort: no traceback reaches a user
        code = _say(_internal(error))
    sys.exit(code)


def _say(error: NpuError) -> int:
    text = str(error).replace("\r", "\\r").replace("\n", "\\n")
    click.echo(f"error{text}", err=True)
    return error.exit_status


def _usage(error: click.ClickException) -> NpuError:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "npu-conformance"
    return NpuError("USAGE", command, error.format_message(), f"See: {command} --help")


def _internal(error: Exception) -> NpuError:
    if os.environ.get("NPU_CONFORMANCE_DEBUG"):
        traceback.print_exc()
        return NpuError("INTERNAL", "npu-conformance", f"{type(error).__name__}: {error}")
    handle, path = tempfile.mkstemp(prefix="npu-conformance-crash-", suffix=".txt")
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(" ".join(sys.argv) + "\n" + traceback.format_exc())
    return NpuError("INTERNAL", "npu-conformance", f"{type(error).__name__}: {error}", f"Details are in {path}.")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(version=npu_reference.__version__, message="%(version)s")
def cli() -> None:
    """Executable specification of Ascend's TensorFlow adapter, on a simulated NPU."""


for _command in (
    run,
    verify,
    compare,
    coverage,
    mutants,
    options,
    partition,
    precision,
    profile,
    simulate,
    lint,
    golden,
    worker,
    worker_check,
):
    cli.add_command(_command)


def _commands() -> Dict[str, List[str]]:
    """Every command with its options, for tests of the documentation."""
    return {
        name: [option for parameter in command.params for option in parameter.opts]
        for name, command in cli.commands.items()
    }


if __name__ == "__main__":
    main()
