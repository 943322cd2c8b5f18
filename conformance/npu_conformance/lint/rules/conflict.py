"""Options of one configuration that exclude each other, or of which one needs another.

The rules are those of the option table. Only what is certain is told: where a value cannot be seen, or options may be
set elsewhere, a conflict is told only if no value of theirs would end it.

    # wrong
    from npu_bridge.npu_init import *
    config = NPURunConfig(mix_compile_mode=True, iterations_per_loop=10)
    # wrong
    from npu_bridge.npu_init import *
    config = NPURunConfig(precision_mode="allow_mix_precision", precision_mode_v2="mixed_float16")
    # right
    from npu_bridge.npu_init import *
    config = NPURunConfig(mix_compile_mode=True, iterations_per_loop=1)
"""

from __future__ import annotations

from npu_conformance.lint.checking import telling

check = telling(__name__, "E107", "conflict", "OPTION_CONFLICT")
