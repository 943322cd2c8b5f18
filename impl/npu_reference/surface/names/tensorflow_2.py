"""The adapter for TensorFlow 2."""

from __future__ import annotations

from npu_reference.surface.declaration import NO_EFFECT, REFUSED, SIMULATED
from npu_reference.surface.names.declaring import GRADIENT, OWN, REFERENCE, SCRIPTS, SOURCES, NameTable, instead

__all__ = ["NAMES"]

NAMES = NameTable()
_of, _refused = NAMES.of, NAMES.refused

_SESSIONS = (
    "tf.function does not run on the simulated device: use sessions, with npu_device.compat.enable_v1() and"
    " from npu_device.compat.v1.npu_init import *."
)
_DEVICE = ("npu_device.npu_device",)
_of(
    "npu_device", REFERENCE,
    ("open", "function", REFUSED, "a device for tf.function", instead(_SESSIONS, also=_DEVICE)),
    ("global_options", "function", REFUSED, "options of that device",
     instead(_SESSIONS + " Options go into the parameter_map of NpuOptimizer.", also=_DEVICE)),
    ("keep_dtype_scope", "scope", SIMULATED, "operators built inside keep their precision",
     {"also": ("npu_device.utils.scope",)}),
    ("set_npu_loop_size", "function", REFUSED, "iterations of a loop in a tf.function",
     instead(_SESSIONS + " Loops are util.set_iteration_per_loop's.", also=_DEVICE)),
    ("set_device_sat_mode", "function", NO_EFFECT,
     "takes 0, 1 and 2; how overflows end is decided by the options", {"also": _DEVICE}),
)  # fmt: skip
_refused(
    "npu_device", "npu_compat_function never_nested_function", "a tf.function without others inside", _SESSIONS,
    also=_DEVICE,
)  # fmt: skip
_refused("npu_device", "gen_npu_ops", "the adapter's library for tf.function", _SESSIONS, "object", also=_DEVICE)
_refused("npu_device", "npu_run_context", "options of what runs inside", _SESSIONS, "scope", also=_DEVICE)
_refused(
    "npu_device", "is_inf_nan_enabled", "whether an overflow gives infinity on the device",
    "Options decide it here (npu-conformance docs numerics): set them, and do not ask.", also=_DEVICE,
)  # fmt: skip
_refused(
    "npu_device", "npu_recompute_scope", "outputs that are computed again to save memory", _SESSIONS, "scope",
    also=("npu_device.utils.scope",),
)  # fmt: skip
_refused("npu_device", "Config", "options of a device for tf.function", _SESSIONS, "class")
_refused(
    "npu_device.npu_device",
    "close global_npu_ctx stupid_repeat get_ranksize set_cm_chief_worksize_env set_rank_table_file_env"
    " wrap_cpu_only_api watch_op_register",
    "a part of the device for tf.function", _SESSIONS,
)  # fmt: skip
_refused("npu_device.npu_device", "NpuDeviceHandle NpuCompatEagerFunc", "a device for tf.function", _SESSIONS, "class")
_refused("npu_device.npu_device", "NPU", "the name of a device for tf.function", _SESSIONS, "value")
_of(
    "npu_device.compat", SCRIPTS,
    ("enable_v1", "function", SIMULATED, "switches TensorFlow 2 to version 1 behaviour", {"also": _DEVICE}),
)  # fmt: skip
_of(
    "npu_device.compat.utils", SOURCES,
    # The adapter has it in npu_device.compat.v1 as well, which is npu_bridge here.
    ("SessionConfigBuilder", "class", SIMULATED, "a session's configuration that names NpuOptimizer",
     {"also": ("npu_bridge",)}),
)  # fmt: skip
_refused("npu_device.configs", "run_context_options", "options of what runs in npu_run_context", _SESSIONS, "class")
for _module, _names in (
    ("aoe_config", "NpuAoeConfig"), ("dump_config", "NpuDumpConfig"), ("experimental_config", "NpuExperimentalConfig"),
    ("logical_device_deploy_config", "LogicalDeviceDeployConfig"), ("memory_config", "MemoryConfig"),
    ("memory_optimize_config", "GraphMemoryOptimizeConfig"), ("model_deploy_config", "ModelDeployConfig"),
    ("multi_branches_config", "NpuMultiBranchesConfig"), ("npu_config", "NpuConfig"),
    ("npu_run_context_option", "NpuRunContextOptions"), ("option_base", "OptionValue DeprecatedValue NpuBaseConfig"),
    ("profiling_config", "NpuProfilingConfig"),
):  # fmt: skip
    _refused(
        f"npu_device.configs.{_module}", _names, "options of a device for tf.function",
        _SESSIONS + " Options go into the parameter_map of NpuOptimizer.", "class",
    )  # fmt: skip
_of(
    "npu_device.distribute", REFERENCE,
    *[
        (name, "function", REFUSED, behaviour, instead(_SESSIONS, also=("npu_device.distribute.hccl",)))
        for name, behaviour in (
            ("all_reduce", "gradients of a tf.function reduced over devices"),
            ("broadcast", "variables of a tf.function from one device to all"),
            ("npu_distributed_keras_optimizer_wrapper", "a Keras optimizer that reduces over devices"),
            ("shard_and_rebatch_dataset", "a dataset divided among devices"),
        )
    ],
)  # fmt: skip
_refused(
    "npu_device.distribute", "grouping_gradients_apply grouping_broadcast", "weights updated by one device each",
    _SESSIONS, also=("npu_device.distribute.weight_update_grouping",),
)  # fmt: skip
_refused(
    "npu_device.distribute.weight_update_grouping", "GroupingVars", "which device updates which weights", _SESSIONS,
    "class",
)  # fmt: skip
_refused(
    "npu_device.distribute.hccl_ops",
    "allreduce allgather broadcast reduce reduce_scatter send receive remote_read remote_ref_read remote_write"
    " remote_scatter_write",
    "collective communication in a tf.function", _SESSIONS + " Collectives are npu_bridge.hccl.hccl_ops'.",
)  # fmt: skip
_refused(
    "npu_device.distribute.npu_callbacks", "NPUBroadcastGlobalVariablesCallback NpuBroadcastScopeContext",
    "gives all devices the variables of one", _SESSIONS, "class",
)  # fmt: skip
_refused(
    "npu_device.distribute.npu_callbacks",
    "broadcast_helper broadcast_keras_model npu_broadcast_scope_wrapper get_ranksize",
    "gives all devices the variables of one", _SESSIONS,
)  # fmt: skip
_of(
    "npu_device.distribute.hccl", SCRIPTS,
    ("npu_callbacks_append", "function", NO_EFFECT, "the list of callbacks, with one that broadcasts at its end"),
)  # fmt: skip
_of(
    "npu_device.ops", REFERENCE,
    ("gelu", "function", SIMULATED, "the Gaussian error linear unit", {"also": ("npu_device.ops.train_ops",)}),
)  # fmt: skip
_refused("npu_device.ops.train_ops", "fast_gelu_grad", "the gradient of gelu", GRADIENT)
_of(
    "npu_device.train.optimizer", REFERENCE,
    ("NpuLossScaleOptimizer", "class", REFUSED, "loss scaling in a tf.function",
     instead(_SESSIONS + " Loss scaling is NPULossScaleOptimizer's.",
              also=("npu_device.train.optimizer.npu_loss_scale_optimizer",))),
)  # fmt: skip
_refused(
    "npu_device.train.optimizer.npu_loss_scale_optimizer", "NpuExperimentalLossScaleOptimizer",
    "loss scaling in a tf.function", _SESSIONS + " Loss scaling is NPULossScaleOptimizer's.", "class",
)  # fmt: skip
_refused(
    "npu_device.train.npu_convert",
    "npu_convert_api api_func_convert dropout_convert parse_star_ver parse_range_version parse_version"
    " check_version_format parse_version_range verify_version judge_version_support",
    "functions of TensorFlow replaced by the device's", _SESSIONS,
)  # fmt: skip
_refused(
    "npu_device.train.convert_dropout", "dropout_api_convert", "dropout of TensorFlow replaced by the device's",
    _SESSIONS,
)  # fmt: skip
_refused(
    "npu_device.utils.scope", "npu_optimizer_scope npu_gradients_scope", "operators marked for the device", _SESSIONS,
    "scope",
)  # fmt: skip
_refused("npu_device.utils.npu_wrapper", "npu_symbol_register", "what the adapter's own modules use", OWN)
_refused("npu_device.utils.npu_wrapper", "NpuOpLambda", "what the adapter's own modules use", OWN, "class")
