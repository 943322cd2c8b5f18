"""``python -m npu_conformance``."""

from __future__ import annotations

from npu_conformance.cli import main

main()
