"""An option given two different values, one after the other, in the same configuration.

The later value counts.

    # wrong
    from npu_bridge.npu_init import *
    config = tf.ConfigProto()
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    custom_op.parameter_map["mix_compile_mode"].b = True
    custom_op.parameter_map["mix_compile_mode"].b = False
"""

from __future__ import annotations

from npu_conformance.lint.checking import telling

check = telling(__name__, "W105", "given-twice", "overridden twice")
