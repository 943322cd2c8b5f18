"""The conformance suite of Ascend's TensorFlow adapter: cases, goldens, and the judge."""

from typing import Any


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext npu_conformance``: the magic ``%npu`` of notebooks."""
    from npu_conformance.magics import register

    register(shell)
