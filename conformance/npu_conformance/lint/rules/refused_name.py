"""A name that the adapter has, and the simulated device refuses.

The script is right on a real device. Here the name can be imported; whoever uses it gets an error. The message says
what to use instead.

    # wrong
    from npu_bridge.hccl import hccl_ops
    x = hccl_ops.remote_read(y, data_type=None)
    # right
    from npu_bridge.hccl import hccl_ops
    x = hccl_ops.allreduce(y, "sum")
"""

from __future__ import annotations

from typing import Iterator

from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import LintReport, LintSettings, rule
from npu_conformance.lint.usage import uses
from npu_reference import surface


@rule("W201", "refused-name")
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    for use in uses(module):
        if use.name.status == surface.REFUSED and not use.place.guarded:
            what = f"The adapter has {use.name.name}, and it is not simulated here: {use.name.behaviour}."
            yield LintReport(use.node, f"{what} {use.name.remedy}")
