"""Lawful backends that leave other files: how one is registered."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List

from faulty.answered import decoded, encoded
from faulty.making import Answer, Files, Params

from lawful.kinds import changed
from lawful.tuning import given_files

__all__ = ["KERNEL", "in_folder", "in_text", "leaving", "turns"]


#: Name of a kernel, as files have it.
KERNEL = re.compile(r"te_[a-z0-9_]+_[0-9a-f]{6,64}")


def turns(answer: Answer, params: Params) -> List[Any]:
    """Every program that was not refused, with its values, environment and the files that were given so far."""
    values, env = dict(params["values"]), dict(params.get("env", {}))
    found = []
    for turn, asked, files in zip(answer["turns"], params.get("turns") or [{}], given_files(params)):
        values.update(asked.get("values") or {})
        env.update(asked.get("env") or {})
        found.append((turn, {**asked, "values": dict(values), "env": dict(env), "files": files}))
    return found


def leaving(name: str, sentence: str, change: Callable[[Files, Dict[str, Any]], Files], *more: Any) -> None:
    """Registers a backend that leaves other files; those that the request gave are told as they are.

    `change` gets the files and what was asked; of `more`, each changes a program's answer beside its files.
    """

    def edit(answer: Answer, params: Params) -> None:
        for turn, asked in turns(answer, params):
            for key in ("files", "left"):
                if key in turn:
                    theirs = {path: file for path, file in turn[key].items() if path in asked["files"]}
                    ours = {path: file for path, file in turn[key].items() if path not in theirs}
                    turn[key] = {**change(ours, asked), **theirs}
            for one in more:
                one(turn)

    changed("artifacts", name, sentence, edit, "compile")


def in_text(file: Dict[str, Any], change: Callable[[str], str]) -> Dict[str, Any]:
    if "b64" not in file:
        return file
    try:
        return encoded(change(decoded(file)))
    except UnicodeDecodeError:
        return file


def in_folder(path: str, folder: str) -> bool:
    return folder in path.split("/")[:-1]
