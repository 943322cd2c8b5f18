"""Bounds on what a graph file may hold; each stops a file that would exhaust the machine, none stops a real model."""

from __future__ import annotations

__all__ = [
    "MAX_BYTES",
    "MAX_TEXT_BYTES",
    "MAX_TEXT_STRING",
    "MAX_UNPACKED_BYTES",
    "MAX_TENSOR_BYTES",
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

#: One string of the text form, quotes and escapes included. That parser keeps some fifty bytes for each character of a
#: string; a weight of sixteen megabytes written as text has four times as many characters and belongs in a .pb.
MAX_TEXT_STRING = 16 * 2**20

#: What a gzip file unpacks to; deflate packs a thousand to one, a graph seldom more than a hundred.
MAX_UNPACKED_BYTES = 2**30

#: Bytes of a tensor as numbers have them everywhere: 63 bits. TensorFlow makes no shape beyond; here its bytes are
#: unknown, as those of a shape that is not stated.
MAX_TENSOR_BYTES = 2**63 - 1

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
