"""The file formats that options name: each a parser that says where it stopped, and a writer."""

from __future__ import annotations
