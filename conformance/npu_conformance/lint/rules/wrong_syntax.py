"""A text that does not follow the grammar of its option.

The message says at which character, and what the form is.

    # wrong
    from npu_bridge.npu_init import *
    config = NPURunConfig(stream_max_parallel_num="DNN_VM_AICPU=10")
    # right
    from npu_bridge.npu_init import *
    config = NPURunConfig(stream_max_parallel_num="DNN_VM_AICPU:10,AIcoreEngine:1")
"""

from __future__ import annotations

from npu_conformance.lint.checking import telling

check = telling(__name__, "E106", "wrong-syntax", "OPTION_SYNTAX", at="value")
