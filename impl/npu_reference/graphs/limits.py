"""Bounds on what a graph file may hold; each stops a file that would exhaust the machine, none stops a real model."""

from __future__ import annotations

__all__ = [
    "MAX_BYTES",
    "MAX_TEXT_BYTES",
    "MAX_NODES",
    "MAX_FUNCTIONS",
    "MAX_TEXT_DEPTH",
    "MAX_FRAME_DEPTH",
    "MAX_NAME_LENGTH",
    "MAX_OUTPUTS",
]

#: A serialized protocol buffer cannot be larger (2 GiB less one byte); holds for the file and for what it unpacks to.
MAX_BYTES = 2**31 - 1

#: The text form is read by a parser written in Python at a few megabytes a second; a million-node graph fits.
MAX_TEXT_BYTES = 512 * 2**20

#: Five times the largest graph the partitioner is measured on.
MAX_NODES = 5_000_000

#: The largest published models have some ten thousand functions.
MAX_FUNCTIONS = 200_000

#: Protocol buffers' own bound on nesting in the binary form, which the text form lacks; Python's stack ends soon after.
MAX_TEXT_DEPTH = 100

#: While loops within while loops; a scheduler keeps a record for each level.
MAX_FRAME_DEPTH = 1_000

#: Names become file names and parts of messages; scripts with deep scopes reach a few hundred characters.
MAX_NAME_LENGTH = 16_384

#: Inputs or outputs one node may declare by a number attribute, before they are counted out one by one.
MAX_OUTPUTS = 1_000_000
