"""Configuration, training, hooks and scopes, and what only the star import has."""

from __future__ import annotations

from npu_reference.surface.declaration import NO_EFFECT, REFUSED, SIMULATED, STAR
from npu_reference.surface.names.declaring import IN_STAR, NPU, REFERENCE, SCRIPTS, SOURCES, NameTable, instead

__all__ = ["NAMES"]

NAMES = NameTable()
_of = NAMES.of

# The star import's own.
_of(
    STAR, SCRIPTS,
    ("npu_config_proto", "function", SIMULATED, "copies a ConfigProto and names NpuOptimizer in it"),
    ("npu_session_config_init", "function", SIMULATED, "the same as npu_config_proto"),
    ("npu_run_config_init", "function", SIMULATED, "the same RunConfig, with NpuOptimizer in its session config"),
    ("npu_graph_options", "function", SIMULATED, "the GraphOptions given or new ones, remapping and XLA off"),
    ("npu_optimizer_options", "function", SIMULATED, "the OptimizerOptions given or new ones, XLA off"),
    ("set_keras_session_npu_config", "function", SIMULATED, "gives Keras a session that names NpuOptimizer"),
    ("npu_clear_session", "function", SIMULATED, "clears Keras, then set_keras_session_npu_config"),
    ("init_resource", "function", SIMULATED, "opens a session with NpuOptimizer and runs initialize_system in it"),
    ("shutdown_resource", "function", SIMULATED, "runs the shutdown operation that init_resource returned"),
    ("close_session", "function", SIMULATED, "closes a session"),
    ("npu_tf_optimizer", "function", SIMULATED, "NPUDistributedOptimizer around a tf.train.Optimizer"),
    ("npu_keras_optimizer", "function", SIMULATED, "a Keras optimizer ready for distributed training"),
    ("npu_hooks_append", "function", SIMULATED, "the list of hooks, with NPUBroadcastGlobalVariablesHook at its end"),
    ("npu_callbacks_append", "function", SIMULATED,
     "the list of callbacks, with NPUBroadcastGlobalVariablesCallback at its end"),
    ("NpuEmptyHook", "class", NO_EFFECT, "a session hook without any effect"),
    ("get_npu_rank_size", "function", SIMULATED, "get_rank_size"),
    ("get_npu_rank_id", "function", SIMULATED, "get_rank_id"),
    ("get_npu_local_rank_id", "function", SIMULATED, "get_local_rank_id"),
    ("get_npu_local_rank_size", "function", SIMULATED, "get_local_rank_size", {"source": SOURCES}),
    ("experimental_options", "value", SIMULATED, "Grappler's rewrites and their switches, for set_experimental_options",
     {"source": SOURCES}),
    ("backend", "module", SIMULATED, "the backend of TensorFlow's Keras", {"source": SOURCES}),
    ("tf", "module", SIMULATED, "TensorFlow as the importing module has it, else with the names of version 1"),
    ("os", "module", SIMULATED, "Python's os"),
    ("atexit", "module", SIMULATED, "Python's atexit"),
    ("config_pb2", "module", SIMULATED, "tensorflow.core.protobuf.config_pb2"),
    ("rewriter_config_pb2", "module", SIMULATED, "tensorflow.core.protobuf.rewriter_config_pb2"),
    ("session", "module", SIMULATED, "tensorflow.python.client.session"),
    ("session_run_hook", "module", SIMULATED, "tensorflow.python.training.session_run_hook"),
    ("RewriterConfig", "class", SIMULATED, "TensorFlow's own", {"source": "document 000"}),
    star=True,
)  # fmt: skip

# Modules.
_of(
    f"{NPU}.npu_config", "document 003",
    ("NPURunConfig", "class", SIMULATED, "configuration of an NPUEstimator", IN_STAR),
    ("ProfilingConfig", "class", SIMULATED, "profiling options of an NPURunConfig, checked", IN_STAR),
    ("DumpConfig", "class", SIMULATED, "dump options of an NPURunConfig, checked", IN_STAR),
    ("MemoryConfig", "class", SIMULATED, "memory options of an NPURunConfig, checked", IN_STAR),
    ("ExperimentalConfig", "class", SIMULATED, "experimental options of an NPURunConfig, checked", IN_STAR),
    ("DynamicInputConfig", "class", REFUSED, "dynamic inputs of an NPURunConfig as an object",
     instead("Give NPURunConfig dynamic_input and dynamic_inputs_shape_range.", star=True, source=SCRIPTS)),
    ("decorator_tf_session", "function", REFUSED, "a session's constructor that names NpuOptimizer in its config",
     instead("Give the session config=npu_config_proto().", star=True, source=SOURCES)),
    ("NpuExecutePlacement", "class", SIMULATED, "where variables are placed, for npu_variable_scope",
     {"star": True, "source": SCRIPTS}),
)  # fmt: skip
_of(
    f"{NPU}.npu_estimator", "document 003",
    ("NPUEstimator", "class", SIMULATED, "an Estimator on the device", IN_STAR),
    ("NPUEstimatorSpec", "class", SIMULATED, "an EstimatorSpec, with a host_call besides", IN_STAR),
)  # fmt: skip
_of(
    f"{NPU}.npu_optimizer", REFERENCE,
    ("NPUDistributedOptimizer", "class", SIMULATED, "averages gradients over all ranks", IN_STAR),
    ("NPUOptimizer", "class", SIMULATED, "distribution, loss scaling and tailing optimization in one",
     {"star": True, "source": "documents 002 and 003"}),
    ("KerasDistributeOptimizer", "class", SIMULATED, "a Keras optimizer, its gradients averaged over ranks", IN_STAR),
    ("npu_distributed_optimizer_wrapper", "function", SIMULATED,
     "an optimizer, or that of a name of Keras, its gradients averaged", IN_STAR),
    ("npu_allreduce", "function", SIMULATED, "gradients reduced over the ranks of a group", IN_STAR),
    ("allreduce", "function", SIMULATED, "a tensor or IndexedSlices averaged over all ranks",
     {"source": SCRIPTS, "successor": "npu_allreduce"}),
)  # fmt: skip
_of(
    f"{NPU}.npu_loss_scale_optimizer", REFERENCE,
    ("NPULossScaleOptimizer", "class", SIMULATED, "scales the loss, leaves out steps that overflowed", IN_STAR),
)  # fmt: skip
_of(
    f"{NPU}.npu_loss_scale_manager", REFERENCE,
    ("FixedLossScaleManager", "class", SIMULATED, "the same loss scale in all steps", IN_STAR),
    ("ExponentialUpdateLossScaleManager", "class", SIMULATED, "a loss scale that follows the overflows", IN_STAR),
    ("LossScaleManager", "class", SIMULATED, "what a manager of one's own has to have"),
)  # fmt: skip
_of(
    f"{NPU}.npu_hook", REFERENCE,
    ("NPUCheckpointSaverHook", "class", SIMULATED, "saves checkpoints, also between loops", IN_STAR),
    ("NPUOutputTensorHook", "class", SIMULATED, "hands tensors to a function every few runs", IN_STAR),
    ("NPUBroadcastGlobalVariablesHook", "class", SIMULATED, "gives all ranks the variables of one",
     {"star": True, "source": SCRIPTS}),
    ("SetIterationsVarHook", "class", SIMULATED, "each session.run does so many iterations",
     {"star": True, "source": SCRIPTS}),
    ("TellMeStepOrLossHook", "class", NO_EFFECT, "would tell the device how far training is", IN_STAR),
    ("NPUShutDownHook", "class", NO_EFFECT, "would give the device back at the end of a session", {"source": SOURCES}),
    ("broadcast_global_variables", "function", SIMULATED, "an operation that gives all ranks the variables of one",
     {"source": SOURCES}),
)  # fmt: skip
_of(
    f"{NPU}.npu_callbacks", REFERENCE,
    ("NPUBroadcastGlobalVariablesCallback", "class", SIMULATED, "gives all ranks the variables of one", IN_STAR),
)  # fmt: skip
_of(
    f"{NPU}.npu_strategy", REFERENCE,
    ("NPUStrategy", "class", SIMULATED, "a distribution strategy of one replica on each rank"),
    ("NPUExtended", "class", SIMULATED, "what NPUStrategy is made of", {"source": SOURCES}),
)  # fmt: skip
_of(
    f"{NPU}.npu_scope", "document 000",
    ("without_npu_compile_scope", "scope", SIMULATED, "operators built inside stay on the host", IN_STAR),
    ("keep_dtype_scope", "scope", SIMULATED, "operators built inside keep their precision",
     {"star": True, "source": "document 003"}),
    ("npu_variable_scope", "scope", SIMULATED, "variables built inside are on the host, or on the device",
     {"source": SCRIPTS}),
    ("npu_weight_prefetch_scope", "scope", NO_EFFECT, "would load weights into the device's cache ahead of time",
     {"source": REFERENCE}),
    ("disable_autofuse", "scope", NO_EFFECT, "would keep operators from being fused", {"source": REFERENCE}),
    *[
        (name, "scope", NO_EFFECT, behaviour, {"source": SOURCES})
        for name, behaviour in (
            ("npu_stage_scope", "would let stages of a graph run beside each other"),
            ("npu_mem_type_scope", "would choose the kind of memory that outputs lie in"),
            ("op_specified_engine_scope", "would choose the engine that runs operators"),
            ("npu_qos_label_scope", "would label operators for the device's quality of service"),
            ("npu_optimizer_scope", "would mark operators as the optimizer's"),
            ("npu_recompute_scope", "would let outputs be computed again to save memory"),
            ("npu_graph_slice_scope", "would cut a graph into slices to save memory"),
            ("limit_core_num_scope", "would limit the cores that operators run on"),
        )
    ],
    ("subgraph_multi_dims_scope", "scope", REFUSED, "profiles of dynamic sizes for a part of a graph",
     instead("Give the whole graph its profiles with input_shape and dynamic_dims.", source=REFERENCE)),
)  # fmt: skip
_of(
    f"{NPU}.util", REFERENCE,
    ("set_iteration_per_loop", "function", SIMULATED, "an operation of which one run does so many steps", IN_STAR),
    ("IterationPerLoop", "class", SIMULATED, "set_iteration_per_loop in two parts, for a graph to be finalized"),
    ("set_graph_exec_config", "function", SIMULATED, "dynamic inputs for one graph of a session", IN_STAR),
    ("keep_tensors_dtypes", "function", SIMULATED, "operators of the tensors named keep their precision"),
    ("variable_initializer_in_host", "function", SIMULATED, "an operation var_in_host that initializes variables",
     {"source": SCRIPTS}),
    ("get_ranksize", "function", SIMULATED, "how many ranks there are, as a text", {"source": SOURCES}),
    ("set_op_input_tensor_multi_dims", "function", REFUSED, "profiles of dynamic sizes for a part of a graph",
     instead("Give the whole graph its profiles with input_shape and dynamic_dims.")),
)  # fmt: skip
_of(
    f"{NPU}.npu_compile", SCRIPTS,
    ("npu_compile", "function", NO_EFFECT, "would compile what a session is going to fetch, before it does"),
)  # fmt: skip
_of(
    f"{NPU}.keras_to_npu", REFERENCE,
    ("model_to_npu_estimator", "function", SIMULATED, "an NPUEstimator from a Keras model, where there are Estimators"),
)  # fmt: skip
_of(
    f"{NPU}.npu_plugin", SCRIPTS,
    ("npu_resource_init", "function", NO_EFFECT, "would make the device ready, which here it always is"),
    ("npu_resource_shutdown", "function", NO_EFFECT, "would give the device back"),
    ("npu_close", "function", NO_EFFECT, "would give the device back", {"also": ("npu_bridge",)}),
    ("set_device_sat_mode", "function", NO_EFFECT, "takes 0, 1 and 2; how overflows end is decided by the options",
     {"source": REFERENCE}),
    ("malloc_shared_memory", "function", REFUSED, "memory that other devices write into",
     instead("One device has nobody to share memory with: leave the parameter server's part out.")),
    ("get_var_addr_and_size", "function", REFUSED, "the address of a variable on the device",
     instead("Read the variable with session.run.")),
    ("rdma_remote_init", "function", REFUSED, "remote access to the memory of other devices",
     instead("One device has nobody to reach: leave the parameter server's part out.")),
)  # fmt: skip
