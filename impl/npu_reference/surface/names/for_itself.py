"""What the adapter's sources have besides, and the simulated device refuses."""

from __future__ import annotations

from npu_reference.surface.declaration import SIMULATED
from npu_reference.surface.names.declaring import GRADIENT, NPU, OWN, SOURCES, NameTable

__all__ = ["NAMES"]

NAMES = NameTable()
_of, _refused = NAMES.of, NAMES.refused

_CACHE = "Keep the embedding in a variable and use tf.nn.embedding_lookup."
_CALLED = "Put it together from TensorFlow's operators, which the device has."
_refused(
    f"{NPU}.npu_config", "GraphMemoryOptimizeConfig", "how a graph is recomputed and sliced to save memory",
    "Leave graph_memory_optimize_config out of ExperimentalConfig.", "class",
)  # fmt: skip
_refused(
    f"{NPU}.npu_config", "set_npu_default_config", "arguments of a session, with NpuOptimizer in its config",
    "Give the session config=npu_config_proto().",
)  # fmt: skip
_refused(f"{NPU}.npu_optimizer", "reduce", "a tensor or IndexedSlices averaged on one rank", "Use hccl_ops.reduce.")
_refused(
    f"{NPU}.npu_hook", "NPULogOutfeedSessionHook NPUInfeedOutfeedSessionHook",
    "prints what operators on the device hand to another session", "Fetch the tensors, or print them with tf.print.",
    "class",
)  # fmt: skip
_refused(
    f"{NPU}.npu_callbacks", "broadcast_global_variables", "an operation that gives all ranks the variables of one",
    "Use NPUBroadcastGlobalVariablesCallback.",
)  # fmt: skip
_refused(
    f"{NPU}.npu_callbacks", "BroadcastGlobalVariablesCallbackImpl", "what the callback that broadcasts is made of",
    "Use NPUBroadcastGlobalVariablesCallback.", "class",
)  # fmt: skip
_refused(
    f"{NPU}.npu_common", "JobInfo JobConfig DeviceInfo", "a launcher's description of a job",
    "Read RANK_ID, RANK_SIZE and DEVICE_ID from the environment.", "class",
)  # fmt: skip
_refused(
    f"{NPU}.npu_decorator", "npu_keras_var_broadcast_decorator", "a function, then a broadcast of Keras variables",
    "Use NPUBroadcastGlobalVariablesCallback.",
)  # fmt: skip
_refused(
    f"{NPU}.npu_plugin", "init_rdma_pool rdma_remote_register get_rdma_cache",
    "remote access to the memory of other devices",
    "One device has nobody to reach: leave the parameter server's part out.",
)  # fmt: skip
_refused(
    f"{NPU}.npu_plugin", "is_inf_nan_enabled", "whether an overflow gives infinity on the device",
    "Options decide it here (npu-conformance docs numerics): set them, and do not ask.",
)  # fmt: skip
_refused(
    f"{NPU}.npu_plugin",
    "init_op_compiler_cache_mode init_op_compiler_cache_dir init_debug_dir check_graph_run_mode",
    "a part of npu_resource_init", "Give the options to the session.",
)  # fmt: skip
_refused(
    f"{NPU}.util", "set_op_tensor_max_range set_op_tensor_max_size", "the largest size that a tensor may have",
    "Leave it out: sizes are those of the tensors.",
)  # fmt: skip
_refused(
    f"{NPU}.util",
    "check_not_none check_positive_integer check_nonnegative_integer check_bool_type convert_bool_to_int format_string"
    " check_profiling_options check_path check_aoe_mode register_func create_or_get_var fair_division"
    " add_grads_and_vars get_gid_by_grad get_gid_by_weight get_all_grad_item global_dict_init set_value get_value",
    "what the adapter's own modules use", OWN,
)  # fmt: skip
_refused(f"{NPU}.util", "GradDivisionItem", "what the adapter's own modules use", OWN, "class")
_refused(
    f"{NPU}.util", "npu_compile", "runs what is fetched, so that it is compiled",
    "Write: from npu_bridge.estimator.npu.npu_compile import npu_compile.",
)  # fmt: skip
_refused(
    "npu_bridge.estimator.npu_ops",
    "basic_lstm_cell_grad dynamic_gru_v2_grad dynamic_augru_grad dynamic_rnn_grad dynamic_rnn_v2_grad",
    "the gradient of a recurrent operator", GRADIENT,
)  # fmt: skip
_refused(
    "npu_bridge.estimator.npu_ops", "scatter_elements k_means_centroids", "an operator of the device", _CALLED,
)  # fmt: skip
_refused(
    "npu_bridge.estimator.npu_ops", "channel_get_next", "what another session hands over by a channel",
    "Read the dataset in the session that uses it.",
)  # fmt: skip
_refused("npu_bridge.estimator.npu_ops", "npu_test get_seed", "what the adapter's own modules use", OWN)
_refused(
    "npu_bridge.estimator.npu_aicore_ops",
    "fast_gelu_v2 centralization dropout_v3 dropout_v4 lru_cache_v2 nonzero nonzerowithvalue layer_norm prod_env_mat_a"
    " prodvirialsea prodforcesea tabulatefusionsea tabulatefusionseagrad tabulatefusion tabulatefusiongrad",
    "an operator of the device", _CALLED,
)  # fmt: skip
_refused("npu_bridge.estimator.npu_aicore_ops", "prelu_grad", "the gradient of prelu", GRADIENT)
_refused("npu_bridge.estimator.npu_aicore_ops", "get_seed", "what the adapter's own modules use", OWN)
for _module in ("npu_bridge.estimator.npu_ops", "npu_bridge.estimator.npu_aicore_ops"):
    _refused(_module, "DEFAULT_GRAPH_SEED", "the seed of a graph without one", "Call tf.set_random_seed.", "value")
_refused(
    "npu_bridge.hccl.hccl_ops", "remote_ref_read remote_scatter_write gather_all_to_all_v", "memory of another device",
    "One device has nobody to reach: leave the parameter server's part out.",
)  # fmt: skip
_of(
    "npu_bridge.hccl.hccl_ops", SOURCES,
    ("gen_hccl_ops", "object", SIMULATED, "the operators of the adapter's library by their own names"),
)  # fmt: skip
_refused("npu_bridge.tbe.npu_cube_ops", "deformable_offsets_grad", "the gradient of deformable_conv2d", GRADIENT)
_refused("npu_bridge.npu_cpu.npu_cpu_ops", "dense_image_warp_grad", "the gradient of dense_image_warp", GRADIENT)
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
