"""An option that does not exist where it is given.

Some options are for the parameter map only, others for NPURunConfig only; where one does not exist it is ignored.

    # wrong
    from npu_bridge.npu_init import *
    config = tf.ConfigProto()
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    custom_op.parameter_map["memory_config"].s = tf.compat.as_bytes("x")
"""

from __future__ import annotations

from npu_conformance.lint.checking import telling

check = telling(__name__, "W102", "not-on-surface", "not_on_surface")
