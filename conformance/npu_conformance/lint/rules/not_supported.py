"""An option that this edition of the documents does not have, or lists as not supported.

It is ignored. `--edition` says which edition the script is for.

    # wrong
    from npu_bridge.npu_init import *
    config = tf.ConfigProto()
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    custom_op.parameter_map["enable_dump_debug"].b = True
"""

from __future__ import annotations

from npu_conformance.lint.checking import telling

check = telling(__name__, "W103", "not-supported", "not_in_edition", "unsupported", "removed")
