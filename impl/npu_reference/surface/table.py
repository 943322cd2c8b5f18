"""Every name of the adapter's Python API, declared once: drop-in, documentation, tests and linter follow this table.

Names are those of the five documents, of the published references of TF Adapter and HCCL, of the adapter's public
sources (its repository as of 2026, with names of earlier versions that scripts still use), and of scripts in use.
Names that a module only has because it imports them from TensorFlow are left out, but for the star import's.
"""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

from npu_reference.surface.declaration import NO_EFFECT, REFUSED, SIMULATED, STAR, Name

__all__ = ["MODULES", "NAMES", "OPEN"]

#: All names, in the order of their modules.
NAMES: List[Name] = []

#: Every module and package of the adapter -> what it holds.
MODULES: Dict[str, str] = {
    "npu_bridge": "the adapter for TensorFlow 1",
    STAR: "everything of one star import",
    "npu_bridge.estimator": "operators, and the package of estimators",
    "npu_bridge.embedding": "embeddings kept by a service on other machines",
    "npu_bridge.embedding.embedding_optimizer": "optimizers of embeddings kept by a service",
    "npu_bridge.embedding.embedding_resource": "embeddings kept by a service on other machines",
    "npu_bridge.embedding.embedding_service": "embeddings kept by a service on other machines",
    "npu_bridge.embedding.embedding_table_map_policy": "which tables of embeddings are kept as one",
    "npu_bridge.embedding.tf_path": "where TensorFlow looks for embeddings",
    "npu_bridge.estimator.npu_ops": "operators called by hand",
    "npu_bridge.estimator.npu_unary_ops": "activation functions",
    "npu_bridge.estimator.npu_aicore_ops": "operators of the vector engine called by hand",
    "npu_bridge.estimator.npu": "configuration, training, hooks",
    "npu_bridge.estimator.npu.keras_to_npu": "from a Keras model to an NPUEstimator",
    "npu_bridge.estimator.npu.npu_callbacks": "callbacks of Keras",
    "npu_bridge.estimator.npu.npu_common": "the job that a launcher describes",
    "npu_bridge.estimator.npu.npu_compile": "graphs compiled ahead of their first run",
    "npu_bridge.estimator.npu.npu_config": "NPURunConfig and its objects",
    "npu_bridge.estimator.npu.npu_convert_dropout": "dropout layers on the device, by being imported",
    "npu_bridge.estimator.npu.npu_decorator": "broadcasts of Keras variables, by being imported",
    "npu_bridge.estimator.npu.npu_dynamic_rnn": "recurrent layers of the device",
    "npu_bridge.estimator.npu.npu_estimator": "NPUEstimator",
    "npu_bridge.estimator.npu.npu_hook": "session hooks",
    "npu_bridge.estimator.npu.npu_loss_scale_manager": "how a loss scale develops",
    "npu_bridge.estimator.npu.npu_loss_scale_optimizer": "loss scaling",
    "npu_bridge.estimator.npu.npu_optimizer": "distributed optimizers",
    "npu_bridge.estimator.npu.npu_plugin": "the device itself, and memory shared between devices",
    "npu_bridge.estimator.npu.npu_rnn": "a recurrent layer of TensorFlow on the device",
    "npu_bridge.estimator.npu.npu_saver": "checkpoints of variables that several devices share",
    "npu_bridge.estimator.npu.npu_scope": "scopes that mark operators",
    "npu_bridge.estimator.npu.npu_strategy": "a distribution strategy",
    "npu_bridge.estimator.npu.util": "settings of one graph",
    "npu_bridge.experimental": "operators that may change",
    "npu_bridge.experimental.dataset_ops": "datasets mapped on the device",
    "npu_bridge.experimental.file_constant": "constants read from files",
    "npu_bridge.experimental.get_shape": "shapes of tensors on the device",
    "npu_bridge.experimental.hccl": "ranks of a group",
    "npu_bridge.experimental.image": "pictures decoded on the device",
    "npu_bridge.hccl": "collective communication",
    "npu_bridge.hccl.hccl_ops": "operators of collective communication",
    "npu_bridge.helper": "operators loaded by hand",
    "npu_bridge.helper.helper": "operators loaded by hand",
    "npu_bridge.image": "pictures on the device",
    "npu_bridge.image.image_ops": "pictures decoded on the device",
    "npu_bridge.npu_cpu": "operators of the device's CPU",
    "npu_bridge.npu_cpu.lru_cache": "a cache of the device's CPU",
    "npu_bridge.tbe": "operators of the cube and vector engines",
    "npu_bridge.tbe.npu_cube_ops": "operators of the cube engine called by hand",
    "npu_bridge.tbe.npu_vector_ops": "operators of the vector engine called by hand",
    "npu_bridge.npu_cpu.npu_cpu_ops": "operators of the device's CPU",
    "npu_bridge.profiler": "profiles taken by a script",
    "npu_bridge.profiler.profiler": "profiles taken by a script",
    "npu_bridge.scoped_graph_manager": "graphs shared by scopes",
    "npu_bridge.scoped_graph_manager.scoped_graph_manager": "graphs shared by scopes",
    "npu_bridge.tf_adapter": "the adapter's library",
    "hccl": "management of ranks and groups",
    "hccl.manage": "ranks and groups",
    "hccl.manage.api": "ranks and groups",
    "hccl.split": "how gradients are grouped for communication",
    "hccl.split.api": "how gradients are grouped for communication",
    "npu_device": "the adapter for TensorFlow 2",
    "npu_device.compat": "the way of TensorFlow 1 under TensorFlow 2",
    "npu_device.compat.utils": "a session's configuration for the way of TensorFlow 1",
    "npu_device.compat.v1": "npu_bridge, under TensorFlow 2",
    "npu_device.configs": "options of a device for tf.function",
    **{
        f"npu_device.configs.{name}": "options of a device for tf.function"
        for name in (
            "aoe_config", "dump_config", "experimental", "experimental_config", "graph_parallel_config",
            "logical_device_deploy_config", "memory_config", "memory_optimize_config", "model_deploy_config",
            "multi_branches_config", "npu_config", "npu_run_context_option", "option_base", "profiling_config",
        )
    },
    "npu_device.data": "datasets for tf.function",
    "npu_device.data.dataset_ops": "datasets mapped on the device",
    "npu_device.distribute": "collective communication for tf.function",
    "npu_device.distribute.hccl": "collective communication for tf.function",
    "npu_device.distribute.hccl_ops": "operators of collective communication for tf.function",
    "npu_device.distribute.npu_callbacks": "callbacks of Keras that broadcast",
    "npu_device.distribute.weight_update_grouping": "which device updates which weights",
    "npu_device.npu_device": "a device for tf.function",
    "npu_device.ops": "activation functions for tf.function",
    "npu_device.ops.train_ops": "activation functions for tf.function",
    "npu_device.train": "training for tf.function",
    "npu_device.train.convert_dropout": "dropout on the device for tf.function",
    "npu_device.train.npu_convert": "functions of TensorFlow replaced by the device's",
    "npu_device.train.optimizer": "loss scaling for tf.function",
    "npu_device.train.optimizer.npu_loss_scale_optimizer": "loss scaling for tf.function",
    "npu_device.utils": "what the adapter's own modules use",
    "npu_device.utils.file_deduplication": "what the adapter's own modules use",
    "npu_device.utils.npu_wrapper": "what the adapter's own modules use",
    "npu_device.utils.scope": "scopes that mark operators",
}  # fmt: skip

#: Modules of which only some names are here: the adapter's library has hundreds that are for its own modules.
OPEN = frozenset(["npu_bridge.tf_adapter"])

#: Where a fact about a name is from.
_REFERENCE = "TF Adapter API reference"
_HCCL = "HCCL Python API reference"
_SCRIPTS = "scripts in use"
_SOURCES = "the adapter's sources"


def _of(module: str, source: str, *rows: Tuple[Any, ...], **common: Any) -> None:
    """Declare names of one module: rows of name, kind, status, behaviour, and keywords of :class:`Name`."""
    for name, kind, status, behaviour, *rest in rows:
        given = {"source": source, **common, **(rest[0] if rest else {})}
        NAMES.append(Name(name, module, kind, status, behaviour, **given))


_S: Dict[str, Any] = {"star": True}


def _instead(remedy: str, **more: Any) -> Dict[str, Any]:
    return {"remedy": remedy, **more}


def _refused(module: str, names: str, behaviour: str, remedy: str, kind: str = "function", **more: Any) -> None:
    """Declare names, with blanks between them, that the adapter's sources have and the simulated device refuses."""
    for name in names.split():
        NAMES.append(Name(name, module, kind, REFUSED, behaviour, _SOURCES, remedy=remedy, **more))


# The star import's own ------------------------------------------------------------------------------------------------
_of(
    STAR, _SCRIPTS,
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
    ("get_npu_local_rank_size", "function", SIMULATED, "get_local_rank_size", {"source": _SOURCES}),
    ("experimental_options", "value", SIMULATED, "Grappler's rewrites and their switches, for set_experimental_options",
     {"source": _SOURCES}),
    ("backend", "module", SIMULATED, "the backend of TensorFlow's Keras", {"source": _SOURCES}),
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

# Configuration and training -------------------------------------------------------------------------------------------
_NPU = "npu_bridge.estimator.npu"
_of(
    f"{_NPU}.npu_config", "document 003",
    ("NPURunConfig", "class", SIMULATED, "configuration of an NPUEstimator", _S),
    ("ProfilingConfig", "class", SIMULATED, "profiling options of an NPURunConfig, checked", _S),
    ("DumpConfig", "class", SIMULATED, "dump options of an NPURunConfig, checked", _S),
    ("MemoryConfig", "class", SIMULATED, "memory options of an NPURunConfig, checked", _S),
    ("ExperimentalConfig", "class", SIMULATED, "experimental options of an NPURunConfig, checked", _S),
    ("DynamicInputConfig", "class", REFUSED, "dynamic inputs of an NPURunConfig as an object",
     _instead("Give NPURunConfig dynamic_input and dynamic_inputs_shape_range.", star=True, source=_SCRIPTS)),
    ("decorator_tf_session", "function", REFUSED, "a session's constructor that names NpuOptimizer in its config",
     _instead("Give the session config=npu_config_proto().", star=True, source=_SOURCES)),
    ("NpuExecutePlacement", "class", SIMULATED, "where variables are placed, for npu_variable_scope",
     {"star": True, "source": _SCRIPTS}),
)  # fmt: skip
_of(
    f"{_NPU}.npu_estimator", "document 003",
    ("NPUEstimator", "class", SIMULATED, "an Estimator on the device", _S),
    ("NPUEstimatorSpec", "class", SIMULATED, "an EstimatorSpec, with a host_call besides", _S),
)  # fmt: skip
_of(
    f"{_NPU}.npu_optimizer", _REFERENCE,
    ("NPUDistributedOptimizer", "class", SIMULATED, "averages gradients over all ranks", _S),
    ("NPUOptimizer", "class", SIMULATED, "distribution, loss scaling and tailing optimization in one",
     {"star": True, "source": "documents 002 and 003"}),
    ("KerasDistributeOptimizer", "class", SIMULATED, "a Keras optimizer, its gradients averaged over ranks", _S),
    ("npu_distributed_optimizer_wrapper", "function", SIMULATED,
     "an optimizer, or that of a name of Keras, its gradients averaged", _S),
    ("npu_allreduce", "function", SIMULATED, "gradients reduced over the ranks of a group", _S),
    ("allreduce", "function", SIMULATED, "a tensor or IndexedSlices averaged over all ranks",
     {"source": _SCRIPTS, "successor": "npu_allreduce"}),
)  # fmt: skip
_of(
    f"{_NPU}.npu_loss_scale_optimizer", _REFERENCE,
    ("NPULossScaleOptimizer", "class", SIMULATED, "scales the loss, leaves out steps that overflowed", _S),
)  # fmt: skip
_of(
    f"{_NPU}.npu_loss_scale_manager", _REFERENCE,
    ("FixedLossScaleManager", "class", SIMULATED, "the same loss scale in all steps", _S),
    ("ExponentialUpdateLossScaleManager", "class", SIMULATED, "a loss scale that follows the overflows", _S),
    ("LossScaleManager", "class", SIMULATED, "what a manager of one's own has to have"),
)  # fmt: skip
_of(
    f"{_NPU}.npu_hook", _REFERENCE,
    ("NPUCheckpointSaverHook", "class", SIMULATED, "saves checkpoints, also between loops", _S),
    ("NPUOutputTensorHook", "class", SIMULATED, "hands tensors to a function every few runs", _S),
    ("NPUBroadcastGlobalVariablesHook", "class", SIMULATED, "gives all ranks the variables of one",
     {"star": True, "source": _SCRIPTS}),
    ("SetIterationsVarHook", "class", SIMULATED, "each session.run does so many iterations",
     {"star": True, "source": _SCRIPTS}),
    ("TellMeStepOrLossHook", "class", NO_EFFECT, "would tell the device how far training is", _S),
    ("NPUShutDownHook", "class", NO_EFFECT, "would give the device back at the end of a session", {"source": _SOURCES}),
    ("broadcast_global_variables", "function", SIMULATED, "an operation that gives all ranks the variables of one",
     {"source": _SOURCES}),
)  # fmt: skip
_of(
    f"{_NPU}.npu_callbacks", _REFERENCE,
    ("NPUBroadcastGlobalVariablesCallback", "class", SIMULATED, "gives all ranks the variables of one", _S),
)  # fmt: skip
_of(
    f"{_NPU}.npu_strategy", _REFERENCE,
    ("NPUStrategy", "class", SIMULATED, "a distribution strategy of one replica on each rank"),
    ("NPUExtended", "class", SIMULATED, "what NPUStrategy is made of", {"source": _SOURCES}),
)  # fmt: skip
_of(
    f"{_NPU}.npu_scope", "document 000",
    ("without_npu_compile_scope", "scope", SIMULATED, "operators built inside stay on the host", _S),
    ("keep_dtype_scope", "scope", SIMULATED, "operators built inside keep their precision",
     {"star": True, "source": "document 003"}),
    ("npu_variable_scope", "scope", SIMULATED, "variables built inside are on the host, or on the device",
     {"source": _SCRIPTS}),
    ("npu_weight_prefetch_scope", "scope", NO_EFFECT, "would load weights into the device's cache ahead of time",
     {"source": _REFERENCE}),
    ("disable_autofuse", "scope", NO_EFFECT, "would keep operators from being fused", {"source": _REFERENCE}),
    *[
        (name, "scope", NO_EFFECT, behaviour, {"source": _SOURCES})
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
     _instead("Give the whole graph its profiles with input_shape and dynamic_dims.", source=_REFERENCE)),
)  # fmt: skip
_of(
    f"{_NPU}.util", _REFERENCE,
    ("set_iteration_per_loop", "function", SIMULATED, "an operation of which one run does so many steps", _S),
    ("IterationPerLoop", "class", SIMULATED, "set_iteration_per_loop in two parts, for a graph to be finalized"),
    ("set_graph_exec_config", "function", SIMULATED, "dynamic inputs for one graph of a session", _S),
    ("keep_tensors_dtypes", "function", SIMULATED, "operators of the tensors named keep their precision"),
    ("variable_initializer_in_host", "function", SIMULATED, "an operation var_in_host that initializes variables",
     {"source": _SCRIPTS}),
    ("get_ranksize", "function", SIMULATED, "how many ranks there are, as a text", {"source": _SOURCES}),
    ("set_op_input_tensor_multi_dims", "function", REFUSED, "profiles of dynamic sizes for a part of a graph",
     _instead("Give the whole graph its profiles with input_shape and dynamic_dims.")),
)  # fmt: skip
_of(
    f"{_NPU}.npu_compile", _SCRIPTS,
    ("npu_compile", "function", NO_EFFECT, "would compile what a session is going to fetch, before it does"),
)  # fmt: skip
_of(
    f"{_NPU}.keras_to_npu", _REFERENCE,
    ("model_to_npu_estimator", "function", REFUSED, "an NPUEstimator from a Keras model",
     _instead("Train the Keras model itself after set_keras_session_npu_config().")),
)  # fmt: skip
_of(
    f"{_NPU}.npu_plugin", _SCRIPTS,
    ("npu_resource_init", "function", NO_EFFECT, "would make the device ready, which here it always is"),
    ("npu_resource_shutdown", "function", NO_EFFECT, "would give the device back"),
    ("npu_close", "function", NO_EFFECT, "would give the device back", {"also": ("npu_bridge",)}),
    ("set_device_sat_mode", "function", NO_EFFECT, "takes 0, 1 and 2; how overflows end is decided by the options",
     {"source": _REFERENCE}),
    ("malloc_shared_memory", "function", REFUSED, "memory that other devices write into",
     _instead("One device has nobody to share memory with: leave the parameter server's part out.")),
    ("get_var_addr_and_size", "function", REFUSED, "the address of a variable on the device",
     _instead("Read the variable with session.run.")),
    ("rdma_remote_init", "function", REFUSED, "remote access to the memory of other devices",
     _instead("One device has nobody to reach: leave the parameter server's part out.")),
)  # fmt: skip

# Operators ------------------------------------------------------------------------------------------------------------
_of(
    "npu_bridge.estimator.npu_ops", _REFERENCE,
    ("dropout", "function", SIMULATED, "dropout by keep_prob, its mask drawn on the device"),
    ("initialize_system", "function", NO_EFFECT, "an operation that would make the device ready"),
    ("shutdown_system", "function", NO_EFFECT, "an operation that would give the device back"),
    ("NPUInit", "function", NO_EFFECT, "initialize_system", {"source": _SOURCES}),
    ("NPUShutdown", "function", NO_EFFECT, "shutdown_system", {"source": _SOURCES}),
    ("LARSV2", "function", SIMULATED, "a gradient scaled by the norms of weight and gradient"),
    ("LARS", "function", SIMULATED, "gradients scaled by the norms of weights and gradients",
     {"source": _SCRIPTS, "successor": "LARSV2"}),
    ("npu_alloc_float_status", "function", SIMULATED, "room for the overflow flag"),
    ("npu_get_float_status", "function", SIMULATED, "reads the overflow flag"),
    ("npu_clear_float_status", "function", SIMULATED, "clears the overflow flag"),
    ("basic_lstm_cell", "function", SIMULATED, "one step of an LSTM", {"source": _SCRIPTS}),
    ("adam_apply_one_assign", "function", SIMULATED, "one step of Adam, assigned", {"source": _SCRIPTS}),
    ("adam_apply_one_with_decay_assign", "function", SIMULATED, "one step of Adam with decay, assigned",
     {"source": _SCRIPTS}),
    ("npu_onnx_graph_op", "function", REFUSED, "a model in ONNX as an operator",
     _instead("Convert the model to TensorFlow and import its graph.")),
    ("gen_npu_ops", "object", SIMULATED, "the operators of the adapter's library by their own names",
     {"source": _SCRIPTS, "also": (f"{_NPU}.npu_dynamic_rnn", f"{_NPU}.npu_loss_scale_optimizer",
                                   f"{_NPU}.npu_optimizer", "npu_bridge.tbe.npu_cube_ops",
                                   "npu_bridge.tbe.npu_vector_ops")}),
    ("outfeed_dequeue_op", "function", REFUSED, "what operators on the device print, for another session to read",
     _instead("Fetch the tensors, or print them with tf.print.", source=_SCRIPTS)),
    ("outfeed_enqueue_op", "function", REFUSED, "tensors on the device handed to another session",
     _instead("Fetch the tensors.", source=_SCRIPTS)),
    ("stop_outfeed_dequeue_op", "function", REFUSED, "the end of what another session reads",
     _instead("Leave it out, with the outfeed.", source=_SCRIPTS)),
)  # fmt: skip
_of(
    "npu_bridge.estimator.npu_unary_ops", _SCRIPTS,
    ("npu_unary_ops", "object", SIMULATED, "holds gelu", _S),
    ("gelu", "function", SIMULATED, "the Gaussian error linear unit"),
)  # fmt: skip
_of(
    f"{_NPU}.npu_dynamic_rnn", _REFERENCE,
    ("DynamicRNN", "class", SIMULATED, "an LSTM over time"),
    ("DynamicGRUV2", "class", SIMULATED, "a GRU over time"),
    ("DynamicAUGRU", "class", SIMULATED, "a GRU with an attention gate over time", {"source": _SCRIPTS}),
    *[(f"DYNAMIC_RNN_{name}", "value", SIMULATED, "a word for the argument direction", {"source": _SOURCES})
      for name in ("UNIDIRECTION", "BIDIRECTION", "REDIRECTIONAL")],
)  # fmt: skip
_of(
    f"{_NPU}.npu_rnn", _REFERENCE,
    ("npu_dynamic_rnn", "function", REFUSED, "tf.nn.static_rnn over the time of a tensor",
     _instead("Use tf.nn.dynamic_rnn, or DynamicRNN of npu_dynamic_rnn.")),
)  # fmt: skip
_of(
    "npu_bridge.hccl.hccl_ops", _HCCL,
    ("allreduce", "function", SIMULATED, "the tensor reduced over the ranks of a group: of one it itself"),
    ("allgather", "function", SIMULATED, "the tensors of all ranks, one after the other"),
    ("broadcast", "function", SIMULATED, "the tensors of one rank on all"),
    ("reduce_scatter", "function", SIMULATED, "this rank's part of the tensor reduced over a group"),
    ("reduce", "function", SIMULATED, "the tensor reduced over a group, on one rank"),
    ("send", "function", SIMULATED, "a tensor for another rank, which must receive it with the same tag"),
    ("receive", "function", SIMULATED, "the tensor that another rank sends"),
    ("all_to_all_v", "function", SIMULATED, "parts of a tensor to all ranks, and theirs"),
    ("all_to_all_v_c", "function", SIMULATED, "parts of a tensor to all ranks, by a matrix of all counts"),
    ("remote_read", "function", REFUSED, "memory of another device",
     _instead("One device has nobody to reach: leave the parameter server's part out.", source=_SCRIPTS)),
    ("remote_write", "function", REFUSED, "memory of another device",
     _instead("One device has nobody to reach: leave the parameter server's part out.", source=_SCRIPTS)),
)  # fmt: skip
_of(
    "npu_bridge.tbe.npu_cube_ops", _SCRIPTS,
    ("deformable_conv2d", "function", SIMULATED, "a convolution at moved positions"),
)  # fmt: skip
_of(
    "npu_bridge.tbe.npu_vector_ops", _SCRIPTS,
    ("lamb_apply_optimizer_assign", "function", SIMULATED, "the direction of a LAMB step, its moments assigned"),
    ("lamb_apply_weight_assign", "function", SIMULATED, "the weight after a LAMB step, assigned"),
    ("PReLU", "class", REFUSED, "a Keras layer with a slope that is learnt", _instead("Use tf.keras.layers.PReLU.")),
)  # fmt: skip
_EMBEDDING = _instead("Keep the embedding in a variable and use tf.nn.embedding_lookup.")
_of(
    "npu_bridge.embedding.embedding_service", _SCRIPTS,
    ("ESWorker", "class", REFUSED, "a client of a service that keeps embeddings", _EMBEDDING),
)  # fmt: skip
_of(
    "npu_bridge.embedding.embedding_resource", _SCRIPTS,
    ("NpuEmbeddingResource", "class", REFUSED, "an embedding that a service keeps", _EMBEDDING),
)  # fmt: skip
_of(
    "npu_bridge.experimental.get_shape", _SCRIPTS,
    ("getshape", "function", REFUSED, "the shape of a tensor on the device", _instead("Use tf.shape.")),
)  # fmt: skip
_of(
    f"{_NPU}.npu_common", _SCRIPTS,
    ("NPUBasics", "class", REFUSED, "reads a launcher's description of a job",
     _instead("Read RANK_ID, RANK_SIZE and DEVICE_ID from the environment.")),
)  # fmt: skip
_of(
    f"{_NPU}.npu_saver", _SCRIPTS,
    ("NPUSaver", "class", REFUSED, "checkpoints of variables that several devices share",
     _instead("Use tf.train.Saver.")),
    ("NPUBulkSaverBuilder", "class", REFUSED, "checkpoints of variables that several devices share",
     _instead("Use tf.train.Saver.")),
)  # fmt: skip
_of(
    "npu_bridge.estimator.npu_aicore_ops", _SCRIPTS,
    ("prelu", "function", SIMULATED, "a rectifier with a slope that is learnt"),
    ("fast_gelu", "function", SIMULATED, "the sigmoid form of gelu"),
    ("npu_aicore_ops", "object", SIMULATED, "holds prelu and fast_gelu"),
)  # fmt: skip
_of(
    "npu_bridge.npu_cpu.npu_cpu_ops", _SCRIPTS,
    ("randomchoicewithmask", "function", SIMULATED, "positions drawn where a mask holds"),
    ("RandomChoiceWithMask", "function", SIMULATED, "positions drawn where a mask holds"),
    ("gen_npu_cpu_ops", "object", SIMULATED, "the operators of the adapter's library by their own names"),
    ("dense_image_warp", "function", REFUSED, "an image read at places that a flow moves",
     _instead("Compute the places, and gather the pixels with tf.gather_nd.")),
    ("embeddingrankid", "function", REFUSED, "which device keeps a row of an embedding in host memory",
     _instead("Keep the embedding in a variable and use tf.nn.embedding_lookup.")),
)  # fmt: skip
_of(
    "npu_bridge.tf_adapter", _SCRIPTS,
    ("DT_FLOAT", "value", REFUSED, "the type number of memory shared between devices",
     _instead("Use tf.float32; memory shared between devices is not simulated.")),
)  # fmt: skip
_of(
    "npu_bridge.helper.helper", _SCRIPTS,
    ("get_gen_ops", "function", SIMULATED, "the operators of the adapter's library by their own names",
     {"also": ("npu_bridge.helper",)}),
    ("npu_bridge_handle", "object", REFUSED, "the adapter's library, for operators loaded by hand",
     _instead("Call the operators of npu_bridge.estimator.npu_ops and npu_aicore_ops.",
              also=("npu_bridge", "npu_bridge.helper"))),
)  # fmt: skip
_of(
    "npu_bridge.profiler.profiler", _REFERENCE,
    ("Profiler", "class", REFUSED, "a profile of the runs inside",
     _instead("Set profiling_mode and profiling_options in the session's config.")),
)  # fmt: skip
_of(
    "npu_bridge.scoped_graph_manager.scoped_graph_manager", _REFERENCE,
    ("ScopedGraphManager", "class", REFUSED, "shares compiled graphs between sessions",
     _instead("Leave it out: graphs are partitioned once for each session.")),
)  # fmt: skip

# Ranks and groups -----------------------------------------------------------------------------------------------------
_of(
    "hccl.manage.api", _HCCL,
    ("get_rank_size", "function", SIMULATED, "RANK_SIZE, which is 1 where unset", _S),
    ("get_rank_id", "function", SIMULATED, "RANK_ID, which is 0 where unset", _S),
    ("get_local_rank_id", "function", SIMULATED, "the rank inside its server", {**_S, "source": "document 002"}),
    ("get_local_rank_size", "function", SIMULATED, "how many ranks its server has", _S),
    ("create_group", "function", SIMULATED, "remembers a group of ranks", _S),
    ("destroy_group", "function", SIMULATED, "forgets a group of ranks", _S),
    ("get_world_rank_from_group_rank", "function", SIMULATED, "the rank among all of a rank of a group", _S),
    ("get_group_rank_from_world_rank", "function", SIMULATED, "the rank in a group of a rank among all", _S),
)  # fmt: skip
_of(
    "hccl.split.api", _HCCL,
    ("set_split_strategy_by_idx", "function", SIMULATED, "where gradients are split for communication", _S),
    ("set_split_strategy_by_size", "function", SIMULATED, "how gradients are split for communication", _S),
)  # fmt: skip

# What the adapter's sources have besides, and the simulated device refuses --------------------------------------------
_OWN = "This is for the adapter's own modules: leave it out, or write it yourself."
_GRADIENT = "It is called by itself where the gradient is taken: use tf.gradients."
_CACHE = "Keep the embedding in a variable and use tf.nn.embedding_lookup."
_CALLED = "Put it together from TensorFlow's operators, which the device has."
_refused(
    f"{_NPU}.npu_config", "GraphMemoryOptimizeConfig", "how a graph is recomputed and sliced to save memory",
    "Leave graph_memory_optimize_config out of ExperimentalConfig.", "class",
)  # fmt: skip
_refused(
    f"{_NPU}.npu_config", "set_npu_default_config", "arguments of a session, with NpuOptimizer in its config",
    "Give the session config=npu_config_proto().",
)  # fmt: skip
_refused(f"{_NPU}.npu_optimizer", "reduce", "a tensor or IndexedSlices averaged on one rank", "Use hccl_ops.reduce.")
_refused(
    f"{_NPU}.npu_hook", "NPULogOutfeedSessionHook NPUInfeedOutfeedSessionHook",
    "prints what operators on the device hand to another session", "Fetch the tensors, or print them with tf.print.",
    "class",
)  # fmt: skip
_refused(
    f"{_NPU}.npu_callbacks", "broadcast_global_variables", "an operation that gives all ranks the variables of one",
    "Use NPUBroadcastGlobalVariablesCallback.",
)  # fmt: skip
_refused(
    f"{_NPU}.npu_callbacks", "BroadcastGlobalVariablesCallbackImpl", "what the callback that broadcasts is made of",
    "Use NPUBroadcastGlobalVariablesCallback.", "class",
)  # fmt: skip
_refused(
    f"{_NPU}.npu_common", "JobInfo JobConfig DeviceInfo", "a launcher's description of a job",
    "Read RANK_ID, RANK_SIZE and DEVICE_ID from the environment.", "class",
)  # fmt: skip
_refused(
    f"{_NPU}.npu_decorator", "npu_keras_var_broadcast_decorator", "a function, then a broadcast of Keras variables",
    "Use NPUBroadcastGlobalVariablesCallback.",
)  # fmt: skip
_refused(
    f"{_NPU}.npu_plugin", "init_rdma_pool rdma_remote_register get_rdma_cache",
    "remote access to the memory of other devices",
    "One device has nobody to reach: leave the parameter server's part out.",
)  # fmt: skip
_refused(
    f"{_NPU}.npu_plugin", "is_inf_nan_enabled", "whether an overflow gives infinity on the device",
    "Whether it does here is decided by options (docs/numerics.md): set them, and do not ask.",
)  # fmt: skip
_refused(
    f"{_NPU}.npu_plugin",
    "init_op_compiler_cache_mode init_op_compiler_cache_dir init_debug_dir check_graph_run_mode",
    "a part of npu_resource_init", "Give the options to the session.",
)  # fmt: skip
_refused(
    f"{_NPU}.util", "set_op_tensor_max_range set_op_tensor_max_size", "the largest size that a tensor may have",
    "Leave it out: sizes are those of the tensors.",
)  # fmt: skip
_refused(
    f"{_NPU}.util",
    "check_not_none check_positive_integer check_nonnegative_integer check_bool_type convert_bool_to_int format_string"
    " check_profiling_options check_path check_aoe_mode register_func create_or_get_var fair_division"
    " add_grads_and_vars get_gid_by_grad get_gid_by_weight get_all_grad_item global_dict_init set_value get_value",
    "what the adapter's own modules use", _OWN,
)  # fmt: skip
_refused(f"{_NPU}.util", "GradDivisionItem", "what the adapter's own modules use", _OWN, "class")
_refused(
    f"{_NPU}.util", "npu_compile", "runs what is fetched, so that it is compiled",
    "Write: from npu_bridge.estimator.npu.npu_compile import npu_compile.",
)  # fmt: skip
_refused(
    "npu_bridge.estimator.npu_ops",
    "basic_lstm_cell_grad dynamic_gru_v2_grad dynamic_augru_grad dynamic_rnn_grad dynamic_rnn_v2_grad",
    "the gradient of a recurrent operator", _GRADIENT,
)  # fmt: skip
_refused(
    "npu_bridge.estimator.npu_ops", "scatter_elements k_means_centroids", "an operator of the device", _CALLED,
)  # fmt: skip
_refused(
    "npu_bridge.estimator.npu_ops", "channel_get_next", "what another session hands over by a channel",
    "Read the dataset in the session that uses it.",
)  # fmt: skip
_refused("npu_bridge.estimator.npu_ops", "npu_test get_seed", "what the adapter's own modules use", _OWN)
_refused(
    "npu_bridge.estimator.npu_aicore_ops",
    "fast_gelu_v2 centralization dropout_v3 dropout_v4 lru_cache_v2 nonzero nonzerowithvalue layer_norm prod_env_mat_a"
    " prodvirialsea prodforcesea tabulatefusionsea tabulatefusionseagrad tabulatefusion tabulatefusiongrad",
    "an operator of the device", _CALLED,
)  # fmt: skip
_refused("npu_bridge.estimator.npu_aicore_ops", "prelu_grad", "the gradient of prelu", _GRADIENT)
_refused("npu_bridge.estimator.npu_aicore_ops", "get_seed", "what the adapter's own modules use", _OWN)
for _module in ("npu_bridge.estimator.npu_ops", "npu_bridge.estimator.npu_aicore_ops"):
    _refused(_module, "DEFAULT_GRAPH_SEED", "the seed of a graph without one", "Call tf.set_random_seed.", "value")
_refused(
    "npu_bridge.hccl.hccl_ops", "remote_ref_read remote_scatter_write gather_all_to_all_v", "memory of another device",
    "One device has nobody to reach: leave the parameter server's part out.",
)  # fmt: skip
_of(
    "npu_bridge.hccl.hccl_ops", _SOURCES,
    ("gen_hccl_ops", "object", SIMULATED, "the operators of the adapter's library by their own names"),
)  # fmt: skip
_refused("npu_bridge.tbe.npu_cube_ops", "deformable_offsets_grad", "the gradient of deformable_conv2d", _GRADIENT)
_refused("npu_bridge.npu_cpu.npu_cpu_ops", "dense_image_warp_grad", "the gradient of dense_image_warp", _GRADIENT)
_refused(
    "npu_bridge.npu_cpu.npu_cpu_ops",
    "embedding_local_index embedding_hashtable_lookup_or_insert host_feature_mapping device_feature_mapping"
    " init_embedding_hashmap_v2 deinit_embedding_hashmap_v2 table_to_resource_v2 embedding_hashmap_table_size_v2"
    " embedding_hashmap_export_v2 embedding_hashmap_file_size_v2 embedding_hashmap_import_v2 init_embedding_hashtable"
    " embedding_hash_table_import embedding_hash_table_export embedding_hashtable_apply_adam_w",
    "an embedding in a table of the device", _CACHE,
)  # fmt: skip
_refused(
    "npu_bridge.npu_cpu.npu_cpu_ops",
    "stateless_dropout stateless_random_choice_with_mask non_zero_with_value_shape non_zero_with_value_shape_v2"
    " warp_affine_v2 resize_v2 resize_and_clip_polys batch_dilate_polys ocr_recognition_pre_handle"
    " ocr_detection_pre_handle ocr_identify_pre_handle ocr_find_contours ocr_detection_post_handle",
    "an operator of the device's CPU", _CALLED,
)  # fmt: skip
_refused(
    "npu_bridge.npu_cpu.npu_cpu_ops", "batch_enqueue dequeue", "a queue of the device's CPU",
    "Use tf.data, or a queue of TensorFlow.",
)  # fmt: skip
_refused("npu_bridge.npu_cpu.lru_cache", "LruCache", "a cache of rows of an embedding", _CACHE, "class")
_refused(
    "npu_bridge.experimental.dataset_ops", "map map_and_batch", "a dataset mapped on the device",
    "Use map and batch of tf.data.Dataset.", also=("npu_device.data.dataset_ops",),
)  # fmt: skip
_refused(
    "npu_bridge.experimental.dataset_ops", "NpuUnaryDataset MapDataset MapAndBatchDataset",
    "a dataset mapped on the device", "Use map and batch of tf.data.Dataset.", "class",
)  # fmt: skip
_refused(
    "npu_bridge.experimental.file_constant", "file_constant", "a constant read from a file",
    "Read the file with numpy, and use tf.constant.",
)  # fmt: skip
_refused(
    "npu_bridge.experimental.hccl", "get_actual_rank_size get_user_rank_size get_user_rank_id c_str",
    "how many ranks a group has, and which this one is", "Use get_rank_size and get_rank_id of hccl.manage.api.",
)  # fmt: skip
_refused(
    "npu_bridge.experimental.image", "decode_image", "a picture decoded on the device", "Use tf.image.decode_image.",
)  # fmt: skip
_refused(
    "npu_bridge.image.image_ops", "decode_and_resize_jpeg decode_and_crop_and_resize_jpeg",
    "a JPEG decoded and resized on the device", "Use tf.image.decode_jpeg, tf.image.crop_to_bounding_box and resize.",
)  # fmt: skip
_refused("npu_bridge.helper.helper", "version", "the version of the adapter", "Read tf.__version__.", "value")
_refused(
    "npu_bridge.embedding",
    "EmbeddingAdamOptimizer EmbeddingAdagradOptimizer EmbeddingAdamWOptimizer EmbeddingSgdWOptimizer"
    " EmbeddingRmspropOptimizer EmbeddingService",
    "an embedding that a service keeps, or its optimizer", _CACHE, "class",
)  # fmt: skip
_refused(
    "npu_bridge.embedding.embedding_optimizer",
    "AdamOptimizer AdagradOptimizer AdamWOptimizer SgdOptimizer RmspropOptimizer",
    "an optimizer of an embedding that a service keeps", _CACHE, "class",
)  # fmt: skip
_refused(
    "npu_bridge.embedding.embedding_service", "es_initializer", "first values of an embedding that a service keeps",
    _CACHE, also=("npu_bridge.embedding",),
)  # fmt: skip
_refused(
    "npu_bridge.embedding.embedding_service", "specified_ps_engine_scope", "operators that a service runs", _CACHE,
    "scope",
)  # fmt: skip
_refused(
    "npu_bridge.embedding.embedding_table_map_policy",
    "BaseTableMapPolicy NoneTableMapPolicy AutoMergeTableMapPolicy", "which tables a service keeps as one", _CACHE,
    "class",
)  # fmt: skip
_refused(
    "npu_bridge.embedding.tf_path", "path_on_tf", "makes TensorFlow take embeddings of a service", _CACHE,
    also=("npu_bridge.embedding",),
)  # fmt: skip

# TensorFlow 2 ---------------------------------------------------------------------------------------------------------
_SESSIONS = (
    "tf.function does not run on the simulated device: use sessions, with npu_device.compat.enable_v1() and"
    " from npu_device.compat.v1.npu_init import *."
)
_DEVICE = ("npu_device.npu_device",)
_of(
    "npu_device", _REFERENCE,
    ("open", "function", REFUSED, "a device for tf.function", _instead(_SESSIONS, also=_DEVICE)),
    ("global_options", "function", REFUSED, "options of that device",
     _instead(_SESSIONS + " Options go into the parameter_map of NpuOptimizer.", also=_DEVICE)),
    ("keep_dtype_scope", "scope", SIMULATED, "operators built inside keep their precision",
     {"also": ("npu_device.utils.scope",)}),
    ("set_npu_loop_size", "function", REFUSED, "iterations of a loop in a tf.function",
     _instead(_SESSIONS + " Loops are util.set_iteration_per_loop's.", also=_DEVICE)),
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
    "Whether it does here is decided by options (docs/numerics.md): set them, and do not ask.", also=_DEVICE,
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
_refused(
    "npu_device.npu_device", "NpuDeviceHandle NpuCompatEagerFunc", "a device for tf.function", _SESSIONS, "class"
)
_refused("npu_device.npu_device", "NPU", "the name of a device for tf.function", _SESSIONS, "value")
_of(
    "npu_device.compat", _SCRIPTS,
    ("enable_v1", "function", SIMULATED, "switches TensorFlow 2 to version 1 behaviour", {"also": _DEVICE}),
)  # fmt: skip
_of(
    "npu_device.compat.utils", _SOURCES,
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
    "npu_device.distribute", _REFERENCE,
    *[
        (name, "function", REFUSED, behaviour, _instead(_SESSIONS, also=("npu_device.distribute.hccl",)))
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
    "npu_device.distribute.hccl", _SCRIPTS,
    ("npu_callbacks_append", "function", NO_EFFECT, "the list of callbacks, with one that broadcasts at its end"),
)  # fmt: skip
_of(
    "npu_device.ops", _REFERENCE,
    ("gelu", "function", SIMULATED, "the Gaussian error linear unit", {"also": ("npu_device.ops.train_ops",)}),
)  # fmt: skip
_refused("npu_device.ops.train_ops", "fast_gelu_grad", "the gradient of gelu", _GRADIENT)
_of(
    "npu_device.train.optimizer", _REFERENCE,
    ("NpuLossScaleOptimizer", "class", REFUSED, "loss scaling in a tf.function",
     _instead(_SESSIONS + " Loss scaling is NPULossScaleOptimizer's.",
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
_refused("npu_device.utils.npu_wrapper", "npu_symbol_register", "what the adapter's own modules use", _OWN)
_refused("npu_device.utils.npu_wrapper", "NpuOpLambda", "what the adapter's own modules use", _OWN, "class")

#: Modules that the star import gives by their last name.
_STAR_MODULES = (
    "npu_bridge.estimator.npu_ops", f"{_NPU}.npu_rnn", f"{_NPU}.npu_scope", f"{_NPU}.util", f"{_NPU}.keras_to_npu",
    f"{_NPU}.npu_strategy", f"{_NPU}.npu_plugin", "npu_bridge.hccl.hccl_ops", "npu_bridge.npu_cpu.npu_cpu_ops",
    "npu_bridge.profiler.profiler", "npu_bridge.scoped_graph_manager.scoped_graph_manager",
)  # fmt: skip

#: Modules that the adapter's own package gives by their last name.
_PACKAGE_MODULES = (f"{_NPU}.npu_estimator", "npu_bridge.hccl.hccl_ops")


def _modules() -> None:
    for module in MODULES:
        package, _, name = module.rpartition(".")
        if package:
            star, also = module in _STAR_MODULES, ("npu_bridge",) if module in _PACKAGE_MODULES else ()
            NAMES.append(Name(name, package, "module", SIMULATED, MODULES[module], _REFERENCE, star=star, also=also))


_modules()
