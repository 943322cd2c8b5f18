"""The command line of the modules that write a page of the documentation: ``python -m MODULE [PATH]``."""

from __future__ import annotations

from pathlib import Path
from typing import Callable, Sequence

__all__ = ["between", "write_page"]


def between(page: str, begin: str, end: str, text: str) -> str:
    """A page with a text between its marks; ValueError where it lacks one of them."""
    before, found, rest = page.partition(begin)
    _, last, after = rest.partition(end)
    if not found or not last:
        raise ValueError(f"the page lacks {begin.strip()!r} or {end.strip()!r}")
    return f"{before}{begin}{text}{end}{after}"


def write_page(arguments: Sequence[str], module: str, default: str, make: Callable[[str], str]) -> int:
    """Write a page at the path given, or where it belongs below the current directory.

    Args:
        arguments: those of the command line.
        module: as ``python -m`` has it.
        default: path of the page.
        make: the page from its text until now, empty where there is none; ValueError where that is not its text.

    Returns:
        The exit status; what is wrong has been said on stderr.
    """
    import click

    @click.command(help=f"Write the page at PATH, {default} unless it is given, from what it is made of.")
    @click.argument("path", type=click.Path(dir_okay=False), default=default)
    def write(path: str) -> None:
        page = Path(path)
        aside = page.with_name(page.name + ".tmp")
        try:
            text = make(page.read_text(encoding="utf-8") if page.exists() else "")
            aside.write_text(text, encoding="utf-8")
            aside.replace(page)
        except OSError as error:
            raise click.FileError(path, error.strerror or str(error)) from None
        except ValueError as error:
            raise click.ClickException(f"{path}: {error}") from None

    try:
        # Of --help click gives the status, of a page that was written nothing.
        return int(write.main(list(arguments), prog_name=f"python -m {module}", standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        return error.exit_code
