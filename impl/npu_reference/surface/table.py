"""Every name of the adapter's Python API, declared once: drop-in, documentation, tests and linter follow this table.

Names are those of the five documents, of the published references of TF Adapter and HCCL, and of scripts in use. A name
that is not here is one the adapter does not have.
"""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

from npu_reference.surface.declaration import NO_EFFECT, REFUSED, SIMULATED, STAR, Name

__all__ = ["MODULES", "NAMES"]

#: All names, in the order of their modules.
NAMES: List[Name] = []

#: Every module and package of the adapter -> what it holds.
MODULES: Dict[str, str] = {
    "npu_bridge": "the adapter for TensorFlow 1",
    STAR: "everything of one star import",
    "npu_bridge.estimator": "operators, and the package of estimators",
    "npu_bridge.embedding": "embeddings kept by a service on other machines",
    "npu_bridge.embedding.embedding_resource": "embeddings kept by a service on other machines",
    "npu_bridge.embedding.embedding_service": "embeddings kept by a service on other machines",
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
    "npu_bridge.experimental.get_shape": "shapes of tensors on the device",
    "npu_bridge.hccl": "collective communication",
    "npu_bridge.hccl.hccl_ops": "operators of collective communication",
    "npu_bridge.helper": "operators loaded by hand",
    "npu_bridge.helper.helper": "operators loaded by hand",
    "npu_bridge.npu_cpu": "operators of the device's CPU",
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
    "npu_device.compat.v1": "npu_bridge, under TensorFlow 2",
    "npu_device.distribute": "collective communication for tf.function",
    "npu_device.distribute.hccl": "collective communication for tf.function",
    "npu_device.ops": "activation functions for tf.function",
    "npu_device.train": "training for tf.function",
    "npu_device.train.optimizer": "loss scaling for tf.function",
}

#: Where a fact about a name is from.
_REFERENCE = "TF Adapter API reference"
_HCCL = "HCCL Python API reference"
_SCRIPTS = "scripts in use"


def _of(module: str, source: str, *rows: Tuple[Any, ...], **common: Any) -> None:
    """Declare names of one module: rows of name, kind, status, behaviour, and keywords of :class:`Name`."""
    for name, kind, status, behaviour, *rest in rows:
        given = {"source": source, **common, **(rest[0] if rest else {})}
        NAMES.append(Name(name, module, kind, status, behaviour, **given))


_S: Dict[str, Any] = {"star": True}


def _instead(remedy: str, **more: Any) -> Dict[str, Any]:
    return {"remedy": remedy, **more}


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
    ("SetIterationsVarHook", "class", SIMULATED, "each session.run does so many iterations", {"source": _SCRIPTS}),
    ("TellMeStepOrLossHook", "class", NO_EFFECT, "would tell the device how far training is"),
)  # fmt: skip
_of(
    f"{_NPU}.npu_callbacks", _REFERENCE,
    ("NPUBroadcastGlobalVariablesCallback", "class", SIMULATED, "gives all ranks the variables of one", _S),
)  # fmt: skip
_of(
    f"{_NPU}.npu_strategy", _REFERENCE,
    ("NPUStrategy", "class", SIMULATED, "a distribution strategy of one replica on each rank"),
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
    ("npu_close", "function", NO_EFFECT, "would give the device back"),
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
     {"source": _SCRIPTS}),
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
    ("get_gen_ops", "function", SIMULATED, "the operators of the adapter's library by their own names"),
    ("npu_bridge_handle", "object", REFUSED, "the adapter's library, for operators loaded by hand",
     _instead("Call the operators of npu_bridge.estimator.npu_ops and npu_aicore_ops.")),
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

# TensorFlow 2 ---------------------------------------------------------------------------------------------------------
_SESSIONS = (
    "tf.function does not run on the simulated device: use sessions, with npu_device.compat.enable_v1() and"
    " from npu_device.compat.v1.npu_init import *."
)
_of(
    "npu_device", _REFERENCE,
    ("open", "function", REFUSED, "a device for tf.function", _instead(_SESSIONS)),
    ("global_options", "function", REFUSED, "options of that device",
     _instead(_SESSIONS + " Options go into the parameter_map of NpuOptimizer.")),
    ("keep_dtype_scope", "scope", SIMULATED, "operators built inside keep their precision"),
    ("set_npu_loop_size", "function", REFUSED, "iterations of a loop in a tf.function",
     _instead(_SESSIONS + " Loops are util.set_iteration_per_loop's.")),
    ("set_device_sat_mode", "function", NO_EFFECT,
     "takes 0, 1 and 2; how overflows end is decided by the options"),
)  # fmt: skip
_of(
    "npu_device.compat", _SCRIPTS,
    ("enable_v1", "function", SIMULATED, "switches TensorFlow 2 to version 1 behaviour"),
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
_of(
    "npu_device.distribute.hccl", _SCRIPTS,
    ("npu_callbacks_append", "function", NO_EFFECT, "the list of callbacks, with one that broadcasts at its end"),
)  # fmt: skip
_of("npu_device.ops", _REFERENCE, ("gelu", "function", SIMULATED, "the Gaussian error linear unit"))
_of(
    "npu_device.train.optimizer", _REFERENCE,
    ("NpuLossScaleOptimizer", "class", REFUSED, "loss scaling in a tf.function",
     _instead(_SESSIONS + " Loss scaling is NPULossScaleOptimizer's.")),
)  # fmt: skip

#: Modules that the star import gives by their last name.
_STAR_MODULES = (
    "npu_bridge.estimator.npu_ops", f"{_NPU}.npu_rnn", f"{_NPU}.npu_scope", f"{_NPU}.util", f"{_NPU}.keras_to_npu",
    f"{_NPU}.npu_strategy", f"{_NPU}.npu_plugin", "npu_bridge.hccl.hccl_ops",
)  # fmt: skip


def _modules() -> None:
    for module in MODULES:
        package, _, name = module.rpartition(".")
        if package:
            star = module in _STAR_MODULES
            NAMES.append(Name(name, package, "module", SIMULATED, MODULES[module], _REFERENCE, star=star))


_modules()
