"""An option written to another field than the one it is read from.

The adapter reads each option from one field of its entry: `.b` a bool, `.i` an int, `.s` bytes. What stands in another
field is not seen, and the option keeps its default. `--fix` writes the field, and the value in its form, where the
value is a literal that means one.

    # wrong
    from npu_bridge.npu_init import *
    config = tf.ConfigProto()
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    custom_op.parameter_map["iterations_per_loop"].s = tf.compat.as_bytes("10")
    # wrong
    from npu_bridge.npu_init import *
    config = tf.ConfigProto()
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    custom_op.parameter_map["mix_compile_mode"] = True
    # right
    from npu_bridge.npu_init import *
    config = tf.ConfigProto()
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    custom_op.parameter_map["iterations_per_loop"].i = 10
    custom_op.parameter_map["enable_data_pre_proc"].b = True  # npu: ignore[W104]
"""

from __future__ import annotations

from npu_conformance.lint import mending
from npu_conformance.lint.checking import telling

_WHY = "The option takes effect, which until now kept its default."
check = telling(__name__, "E102", "wrong-field", "field", fix="unsafe", why=_WHY, mend=mending.field)
