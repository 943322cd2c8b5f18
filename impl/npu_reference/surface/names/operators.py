"""Operators called by hand, ranks and groups."""

from __future__ import annotations

from npu_reference.surface.declaration import NO_EFFECT, REFUSED, SIMULATED
from npu_reference.surface.names.declaring import HCCL, IN_STAR, NPU, REFERENCE, SCRIPTS, SOURCES, NameTable, instead

__all__ = ["NAMES"]

NAMES = NameTable()
_of = NAMES.of

_of(
    "npu_bridge.estimator.npu_ops", REFERENCE,
    ("dropout", "function", SIMULATED, "dropout by keep_prob, its mask drawn on the device"),
    ("initialize_system", "function", NO_EFFECT, "an operation that would make the device ready"),
    ("shutdown_system", "function", NO_EFFECT, "an operation that would give the device back"),
    ("NPUInit", "function", NO_EFFECT, "initialize_system", {"source": SOURCES}),
    ("NPUShutdown", "function", NO_EFFECT, "shutdown_system", {"source": SOURCES}),
    ("LARSV2", "function", SIMULATED, "a gradient scaled by the norms of weight and gradient"),
    ("LARS", "function", SIMULATED, "gradients scaled by the norms of weights and gradients",
     {"source": SCRIPTS, "successor": "LARSV2"}),
    ("npu_alloc_float_status", "function", SIMULATED, "room for the overflow flag"),
    ("npu_get_float_status", "function", SIMULATED, "reads the overflow flag"),
    ("npu_clear_float_status", "function", SIMULATED, "clears the overflow flag"),
    ("basic_lstm_cell", "function", SIMULATED, "one step of an LSTM", {"source": SCRIPTS}),
    ("adam_apply_one_assign", "function", SIMULATED, "one step of Adam, assigned", {"source": SCRIPTS}),
    ("adam_apply_one_with_decay_assign", "function", SIMULATED, "one step of Adam with decay, assigned",
     {"source": SCRIPTS}),
    ("npu_onnx_graph_op", "function", REFUSED, "a model in ONNX as an operator",
     instead("Convert the model to TensorFlow and import its graph.")),
    ("gen_npu_ops", "object", SIMULATED, "the operators of the adapter's library by their own names",
     {"source": SCRIPTS, "also": (f"{NPU}.npu_dynamic_rnn", f"{NPU}.npu_loss_scale_optimizer",
                                  f"{NPU}.npu_optimizer", "npu_bridge.tbe.npu_cube_ops",
                                  "npu_bridge.tbe.npu_vector_ops")}),
    ("outfeed_dequeue_op", "function", REFUSED, "what operators on the device print, for another session to read",
     instead("Fetch the tensors, or print them with tf.print.", source=SCRIPTS)),
    ("outfeed_enqueue_op", "function", REFUSED, "tensors on the device handed to another session",
     instead("Fetch the tensors.", source=SCRIPTS)),
    ("stop_outfeed_dequeue_op", "function", REFUSED, "the end of what another session reads",
     instead("Leave it out, with the outfeed.", source=SCRIPTS)),
)  # fmt: skip
_of(
    "npu_bridge.estimator.npu_unary_ops", SCRIPTS,
    ("npu_unary_ops", "object", SIMULATED, "holds gelu", IN_STAR),
    ("gelu", "function", SIMULATED, "the Gaussian error linear unit"),
)  # fmt: skip
_of(
    f"{NPU}.npu_dynamic_rnn", REFERENCE,
    ("DynamicRNN", "class", SIMULATED, "an LSTM over time"),
    ("DynamicGRUV2", "class", SIMULATED, "a GRU over time"),
    ("DynamicAUGRU", "class", SIMULATED, "a GRU with an attention gate over time", {"source": SCRIPTS}),
    *[(f"DYNAMIC_RNN_{name}", "value", SIMULATED, "a word for the argument direction", {"source": SOURCES})
      for name in ("UNIDIRECTION", "BIDIRECTION", "REDIRECTIONAL")],
)  # fmt: skip
_of(
    f"{NPU}.npu_rnn", REFERENCE,
    ("npu_dynamic_rnn", "function", SIMULATED, "tf.nn.static_rnn over the time of a tensor"),
)  # fmt: skip
_of(
    "npu_bridge.hccl.hccl_ops", HCCL,
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
     instead("One device has nobody to reach: leave the parameter server's part out.", source=SCRIPTS)),
    ("remote_write", "function", REFUSED, "memory of another device",
     instead("One device has nobody to reach: leave the parameter server's part out.", source=SCRIPTS)),
)  # fmt: skip
_of(
    "npu_bridge.tbe.npu_cube_ops", SCRIPTS,
    ("deformable_conv2d", "function", SIMULATED, "a convolution at moved positions"),
)  # fmt: skip
_of(
    "npu_bridge.tbe.npu_vector_ops", SCRIPTS,
    ("lamb_apply_optimizer_assign", "function", SIMULATED, "the direction of a LAMB step, its moments assigned"),
    ("lamb_apply_weight_assign", "function", SIMULATED, "the weight after a LAMB step, assigned"),
    ("PReLU", "class", REFUSED, "a Keras layer with a slope that is learnt", instead("Use tf.keras.layers.PReLU.")),
)  # fmt: skip
_EMBEDDING = instead("Keep the embedding in a variable and use tf.nn.embedding_lookup.")
_of(
    "npu_bridge.embedding.embedding_service", SCRIPTS,
    ("ESWorker", "class", REFUSED, "a client of a service that keeps embeddings", _EMBEDDING),
)  # fmt: skip
_of(
    "npu_bridge.embedding.embedding_resource", SCRIPTS,
    ("NpuEmbeddingResource", "class", REFUSED, "an embedding that a service keeps", _EMBEDDING),
)  # fmt: skip
_of(
    "npu_bridge.experimental.get_shape", SCRIPTS,
    ("getshape", "function", REFUSED, "the shape of a tensor on the device", instead("Use tf.shape.")),
)  # fmt: skip
_of(
    f"{NPU}.npu_common", SCRIPTS,
    ("NPUBasics", "class", REFUSED, "reads a launcher's description of a job",
     instead("Read RANK_ID, RANK_SIZE and DEVICE_ID from the environment.")),
)  # fmt: skip
_of(
    f"{NPU}.npu_saver", SCRIPTS,
    ("NPUSaver", "class", REFUSED, "checkpoints of variables that several devices share",
     instead("Use tf.train.Saver.")),
    ("NPUBulkSaverBuilder", "class", REFUSED, "checkpoints of variables that several devices share",
     instead("Use tf.train.Saver.")),
)  # fmt: skip
_of(
    "npu_bridge.estimator.npu_aicore_ops", SCRIPTS,
    ("prelu", "function", SIMULATED, "a rectifier with a slope that is learnt"),
    ("fast_gelu", "function", SIMULATED, "the sigmoid form of gelu"),
    ("npu_aicore_ops", "object", SIMULATED, "holds prelu and fast_gelu"),
)  # fmt: skip
_of(
    "npu_bridge.npu_cpu.npu_cpu_ops", SCRIPTS,
    ("randomchoicewithmask", "function", SIMULATED, "positions drawn where a mask holds"),
    ("RandomChoiceWithMask", "function", SIMULATED, "positions drawn where a mask holds"),
    ("gen_npu_cpu_ops", "object", SIMULATED, "the operators of the adapter's library by their own names"),
    ("dense_image_warp", "function", REFUSED, "an image read at places that a flow moves",
     instead("Compute the places, and gather the pixels with tf.gather_nd.")),
    ("embeddingrankid", "function", REFUSED, "which device keeps a row of an embedding in host memory",
     instead("Keep the embedding in a variable and use tf.nn.embedding_lookup.")),
)  # fmt: skip
_of(
    "npu_bridge.tf_adapter", SCRIPTS,
    ("DT_FLOAT", "value", REFUSED, "the type number of memory shared between devices",
     instead("Use tf.float32; memory shared between devices is not simulated.")),
)  # fmt: skip
_of(
    "npu_bridge.helper.helper", SCRIPTS,
    ("get_gen_ops", "function", SIMULATED, "the operators of the adapter's library by their own names",
     {"also": ("npu_bridge.helper",)}),
    ("npu_bridge_handle", "object", REFUSED, "the adapter's library, for operators loaded by hand",
     instead("Call the operators of npu_bridge.estimator.npu_ops and npu_aicore_ops.",
              also=("npu_bridge", "npu_bridge.helper"))),
)  # fmt: skip
_of(
    "npu_bridge.profiler.profiler", REFERENCE,
    ("Profiler", "class", REFUSED, "a profile of the runs inside",
     instead("Set profiling_mode and profiling_options in the session's config.")),
)  # fmt: skip
_of(
    "npu_bridge.scoped_graph_manager.scoped_graph_manager", REFERENCE,
    ("ScopedGraphManager", "class", REFUSED, "shares compiled graphs between sessions",
     instead("Leave it out: graphs are partitioned once for each session.")),
)  # fmt: skip

_of(
    "hccl.manage.api", HCCL,
    ("get_rank_size", "function", SIMULATED, "RANK_SIZE, which is 1 where unset", IN_STAR),
    ("get_rank_id", "function", SIMULATED, "RANK_ID, which is 0 where unset", IN_STAR),
    ("get_local_rank_id", "function", SIMULATED, "the rank inside its server", {**IN_STAR, "source": "document 002"}),
    ("get_local_rank_size", "function", SIMULATED, "how many ranks its server has", IN_STAR),
    ("create_group", "function", SIMULATED, "remembers a group of ranks", IN_STAR),
    ("destroy_group", "function", SIMULATED, "forgets a group of ranks", IN_STAR),
    ("get_world_rank_from_group_rank", "function", SIMULATED, "the rank among all of a rank of a group", IN_STAR),
    ("get_group_rank_from_world_rank", "function", SIMULATED, "the rank in a group of a rank among all", IN_STAR),
)  # fmt: skip
_of(
    "hccl.split.api", HCCL,
    ("set_split_strategy_by_idx", "function", SIMULATED, "where gradients are split for communication", IN_STAR),
    ("set_split_strategy_by_size", "function", SIMULATED, "how gradients are split for communication", IN_STAR),
)  # fmt: skip
