"""``python -m npu_conformance``."""

from __future__ import annotations

from .cli import main

main()
