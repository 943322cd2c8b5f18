"""Which process of its server this one is, as the collective library tells it."""

from __future__ import annotations

import json
import os
from typing import Any, List

from npu_reference.options.classes import OptionValueError

__all__ = ["get_local_rank_id"]

#: Devices of a server where no rank table tells; assumed, as of an Atlas 800.
_DEVICES = 8

#: Largest rank table that is read, in bytes; assumed.
_LARGEST = 4 << 20


def get_local_rank_id() -> int:
    """The rank of this process inside its server (document 002, local_rank_id): 0 is the main process.

    ``RANK_ID`` is the rank among all processes, 0 without it; ``RANK_TABLE_FILE`` lists the servers, if there are
    several kinds of them.

    Raises:
        OptionValueError: a variable that is no rank, or a table that cannot be read or does not list the rank.
    """
    text = os.environ.get("RANK_ID", "") or "0"
    if not (text.isdigit() and len(text) < 10):
        raise OptionValueError("OPTION_VALUE", "RANK_ID", f"{text[:80]!r} is no rank.", "Set a number from 0 on.")
    path = os.environ.get("RANK_TABLE_FILE", "")
    return _place(path, text) if path else int(text) % _DEVICES


def _place(path: str, rank: str) -> int:
    for devices in _servers(path):
        if rank in devices:
            return devices.index(rank)
    raise OptionValueError("OPTION_VALUE", "RANK_TABLE_FILE", f"no server of {path!r} has the rank {rank}.")


def _servers(path: str) -> List[List[str]]:
    """The ranks of the devices of every server of a rank table."""
    try:
        with open(path, encoding="utf-8") as stream:
            table: Any = json.loads(stream.read(_LARGEST))
        return [[str(device["rank_id"]) for device in server["device"]] for server in table["server_list"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        text = f"{path!r} is no rank table: {type(error).__name__}: {error}."
        raise OptionValueError("OPTION_FILE", "RANK_TABLE_FILE", text, "Give a JSON with server_list.") from None
