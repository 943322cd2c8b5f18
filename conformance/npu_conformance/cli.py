"""The command line ``npu-conformance``: its one entry, which turns every error into one line and an exit status."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from typing import Dict, Iterator, List, Mapping, Optional, Sequence

import click

import npu_reference
from npu_conformance.files import streams
from npu_reference.collection import collect_no_more, no_collection
from npu_reference.errors import ExitStatus, NpuError

__all__ = ["main", "cli"]


def main(argv: Optional[Sequence[str]] = None) -> None:
    """Runs a command and exits with its status; every error is one line on stderr."""
    arguments = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    streams.prepare(script=arguments[0] == "simulate")  # a script's own output fails or not as under Python
    try:
        status = _invoke(arguments, alone=argv is None)
        if arguments[0] != "simulate":
            sys.stdout.flush()
        code = status if isinstance(status, int) else ExitStatus.OK
    except NpuError as error:
        code = _say(error)
    except click.ClickException as error:
        code = _say(_usage(error))
    except (click.Abort, KeyboardInterrupt):
        streams.say("interrupted")
        code = 130  # 128 + SIGINT, as shells have it
    except (OSError, MemoryError) as error:
        code = _denied(error)
    except Exception as error:  # noqa: BLE001  the last resort: no traceback reaches a user
        code = _say(_internal(error))
    if argv is None and arguments[0] not in _LASTING:  # a script may count on a last look
        collect_no_more()
    sys.exit(code)


def _invoke(arguments: List[str], alone: bool) -> object:
    """What a command returns; ``alone``: nothing else runs in this process.

    click's own `main` would make a closed pipe status 1, which means not conformant.
    """
    if "_NPU_CONFORMANCE_COMPLETE" in os.environ:  # a shell asks for completions
        return cli.main(args=arguments, prog_name="npu-conformance", standalone_mode=False)
    try:
        lasting = arguments[0] in _LASTING
        colour = False if streams.without_colour() else None
        with cli.make_context("npu-conformance", list(arguments), obj=alone, color=colour) as context, (
            contextlib.nullcontext() if lasting else no_collection()
        ):
            context.meta["npu_conformance.words"] = arguments  # what a page says wrote it (commands/shared.py)
            return cli.invoke(context)
    except click.exceptions.Exit as ended:
        return ended.exit_code


def _say(error: NpuError) -> int:
    streams.say(str(error), "error")
    return error.exit_status


def _usage(error: click.ClickException) -> NpuError:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "npu-conformance"
    return NpuError("USAGE", command, error.format_message(), f"See: {command} --help")


def _denied(error: Exception) -> int:
    """What the system does not let us do is no defect of ours, and says nothing about a backend."""
    if os.environ.get("NPU_CONFORMANCE_DEBUG"):
        import traceback

        traceback.print_exc()
    if isinstance(error, OSError) and streams.is_of_output(error):
        streams.give_up_output()
        if isinstance(error, BrokenPipeError):
            return 141  # 128 + SIGPIPE, as shells have it: whoever read it has read enough, and no verdict is lost
        return _say(NpuError("OUTPUT", "standard output", f"cannot be written: {error.strerror or error}"))
    if isinstance(error, MemoryError):
        return _say(NpuError("SYSTEM", "memory", "is exhausted"))
    name = getattr(error, "filename", None)
    subject = os.fsdecode(name) if isinstance(name, (str, bytes)) else "npu-conformance"
    return _say(NpuError("SYSTEM", subject, str(getattr(error, "strerror", None) or error)))


def _internal(error: Exception) -> NpuError:
    import tempfile  # here, since loading them costs every command a tenth of its start
    import traceback

    if os.environ.get("NPU_CONFORMANCE_DEBUG"):
        traceback.print_exc()
        return NpuError("INTERNAL", "npu-conformance", f"{type(error).__name__}: {error}")
    remedy = ""
    with contextlib.suppress(OSError):
        handle, path = tempfile.mkstemp(prefix="npu-conformance-crash-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(" ".join(sys.argv) + "\n" + traceback.format_exc())
        remedy = f"Details are in {path}."
    return NpuError("INTERNAL", "npu-conformance", f"{type(error).__name__}: {error}", remedy)


class _Commands(Mapping[str, click.Command]):
    """The commands by name; the module of each is loaded when it is asked for."""

    def __getitem__(self, name: str) -> click.Command:
        if name not in iter(self):
            raise KeyError(name)
        word = name.replace("-", "_")
        command: click.Command = getattr(importlib.import_module(f"npu_conformance.commands.{word}"), word)
        return command

    def __iter__(self) -> Iterator[str]:
        return (name for names in _SECTIONS.values() for name in names)

    def __len__(self) -> int:
        return sum(map(len, _SECTIONS.values()))


class _Sections(click.Group):
    """A group whose help shows its commands by what a person wants, in the order of :data:`_SECTIONS`."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.commands))
        for title, names in _SECTIONS.items():
            with formatter.section(title):
                rows = [(name.ljust(width), self.commands[name].get_short_help_str(limit=300)) for name in names]
                formatter.write_dl(rows)


#: The commands by what a person wants; each is in the module of its name, under its name.
_SECTIONS: Dict[str, Sequence[str]] = {
    "Judge a backend": ("run", "join", "verify", "compare", "site", "explore", "worker-check", "worker"),
    "Port a script": ("demo", "simulate", "profile", "lint", "lsp", "inspect"),
    "Ask the reference": ("options", "partition", "precision", "golden", "library", "explain", "docs"),
    "Look at the suite": ("case", "coverage", "mutants"),
}

_COMPLETION = """\b
Completion of commands and options, by click:
  bash  eval "$(_NPU_CONFORMANCE_COMPLETE=bash_source npu-conformance)"
  zsh   eval "$(_NPU_CONFORMANCE_COMPLETE=zsh_source npu-conformance)"
  fish  _NPU_CONFORMANCE_COMPLETE=fish_source npu-conformance | source"""

#: Commands that go on for as long as there is to do, or run what others wrote: the collector has work there.
_LASTING = ("run", "verify", "compare", "site", "explore", "worker-check", "worker", "simulate", "profile", "lsp")


@click.group(
    cls=_Sections,
    commands=_Commands(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_COMPLETION,
)
@click.version_option(version=npu_reference.__version__, message="%(version)s")
def cli() -> None:
    """Executable specification of Ascend's TensorFlow adapter, on a simulated NPU."""


def _commands() -> Dict[str, List[str]]:
    """Every command with its options, for tests of the documentation."""
    return {
        name: [option for parameter in command.params for option in parameter.opts]
        for name, command in cli.commands.items()
    }


if __name__ == "__main__":
    main()
