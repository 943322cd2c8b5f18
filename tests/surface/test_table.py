"""The table of the adapter's names: nothing twice, nothing without a home, a remedy for what is refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from npu_reference import surface
from npu_reference.errors import NpuError
from npu_reference.surface import MODULES, NAMES, REFUSED, STATUSES
from npu_reference.surface.page import BEGIN, main, with_table

ROOT = Path(__file__).parents[2]

IDS = [name.dotted for name in NAMES]


def words(text):
    return text.split()


#: What scripts in use were counted to take from the adapter, and from where.
USED = words(
    """
    npu_ops.dropout npu_run_config_init npu_tf_optimizer npu_hooks_append init_resource shutdown_resource
    hccl_ops hccl_ops.allreduce hccl_ops.broadcast hccl_ops.allgather hccl_ops.remote_read hccl_ops.remote_write
    get_rank_size get_rank_id get_local_rank_id get_local_rank_size get_npu_rank_size get_npu_rank_id
    get_npu_local_rank_id create_group set_split_strategy_by_idx set_split_strategy_by_size npu_unary_ops.gelu
    tf os config_pb2 rewriter_config_pb2 session atexit npu_plugin npu_distributed_optimizer_wrapper
    npu_strategy.NPUStrategy NpuEmptyHook NPUBroadcastGlobalVariablesHook NPUBroadcastGlobalVariablesCallback
    npu_callbacks_append npu_keras_optimizer KerasDistributeOptimizer npu_session_config_init npu_graph_options
    npu_optimizer_options npu_allreduce npu_plugin.malloc_shared_memory npu_plugin.get_var_addr_and_size
    npu_plugin.rdma_remote_init npu_plugin.set_device_sat_mode npu_plugin.npu_close npu_plugin.npu_resource_init
    npu_scope.npu_variable_scope util.variable_initializer_in_host npu_ops.LARS npu_config_proto close_session
    NPULossScaleOptimizer NPURunConfig NPUEstimator NPUDistributedOptimizer ExponentialUpdateLossScaleManager
    set_keras_session_npu_config FixedLossScaleManager NPUEstimatorSpec DumpConfig npu_ops.initialize_system
    npu_ops.shutdown_system util.set_iteration_per_loop npu_scope.without_npu_compile_scope ProfilingConfig
    npu_scope.keep_dtype_scope NPUOptimizer util.set_graph_exec_config RewriterConfig NpuExecutePlacement
    """
)

USED_BY_PATH = words(
    """
    npu_bridge.estimator.npu.npu_optimizer.allreduce npu_bridge.estimator.npu_unary_ops.npu_unary_ops
    npu_bridge.estimator.npu.npu_dynamic_rnn.DynamicRNN npu_bridge.estimator.npu.npu_dynamic_rnn.DynamicGRUV2
    npu_bridge.estimator.npu.npu_dynamic_rnn.DynamicAUGRU npu_bridge.estimator.npu.npu_convert_dropout
    npu_bridge.estimator.npu.npu_hook.NPUBroadcastGlobalVariablesHook
    npu_bridge.estimator.npu.npu_hook.SetIterationsVarHook npu_bridge.npu_cpu.npu_cpu_ops.embeddingrankid
    npu_bridge.tf_adapter.DT_FLOAT npu_bridge.estimator.npu_ops.basic_lstm_cell
    npu_bridge.tbe.npu_cube_ops.deformable_conv2d npu_bridge.npu_cpu.npu_cpu_ops.randomchoicewithmask
    npu_bridge.estimator.npu_aicore_ops npu_bridge.helper.helper hccl.manage.api.get_rank_size
    hccl.manage.api.get_rank_id hccl.manage.api.get_local_rank_id hccl.manage.api.get_local_rank_size
    hccl.manage.api.create_group hccl.split.api.set_split_strategy_by_idx
    hccl.split.api.set_split_strategy_by_size npu_device.open npu_device.global_options
    npu_device.distribute.all_reduce npu_device.compat.v1.npu_init npu_device.compat.enable_v1
    """
)


#: Ways that the adapter's sources and their documentation reach names, re-exports among them.
OF_SOURCES = words(
    """
    npu_bridge.npu_close npu_bridge.hccl_ops.allreduce npu_bridge.npu_estimator.NPUEstimator
    npu_bridge.helper.get_gen_ops npu_bridge.npu_init.profiler.Profiler npu_bridge.npu_init.npu_cpu_ops.dequeue
    npu_bridge.npu_init.scoped_graph_manager.ScopedGraphManager npu_bridge.npu_init.backend
    npu_bridge.npu_init.SetIterationsVarHook npu_bridge.npu_init.TellMeStepOrLossHook
    npu_bridge.npu_init.get_npu_local_rank_size npu_bridge.npu_init.experimental_options
    npu_bridge.npu_init.decorator_tf_session npu_bridge.npu_init.npu_scope.npu_recompute_scope
    npu_bridge.npu_init.npu_ops.NPUInit npu_bridge.npu_init.util.get_ranksize npu_bridge.embedding.es_initializer
    npu_bridge.estimator.npu.npu_optimizer.gen_npu_ops npu_bridge.experimental.dataset_ops.map_and_batch
    npu_bridge.image.image_ops.decode_and_resize_jpeg npu_bridge.npu_cpu.lru_cache.LruCache
    npu_device.npu_device.set_device_sat_mode npu_device.npu_device.global_options npu_device.npu_run_context
    npu_device.configs.run_context_options npu_device.configs.npu_config.NpuConfig npu_device.compat.v1.npu_close
    npu_device.compat.utils.SessionConfigBuilder npu_device.compat.v1.SessionConfigBuilder
    npu_device.compat.v1.hccl.hccl_ops.allreduce npu_device.compat.v1.experimental.dataset_ops.map
    npu_device.distribute.grouping_broadcast npu_device.distribute.hccl_ops.allreduce npu_device.utils.scope
    npu_device.train.optimizer.npu_loss_scale_optimizer.NpuExperimentalLossScaleOptimizer
    npu_device.ops.train_ops.gelu npu_device.data.dataset_ops.map npu_device.is_inf_nan_enabled
    """
)


@pytest.mark.parametrize("path", [f"npu_bridge.npu_init.{name}" for name in USED] + USED_BY_PATH + OF_SOURCES)
def test_a_name_that_scripts_use_is_declared(path):
    assert surface.lookup(path) is not None


def test_no_name_is_declared_twice():
    assert [key for key, times in Counter(IDS).items() if times > 1] == []


@pytest.mark.parametrize("name", NAMES, ids=IDS)
def test_a_row_is_whole(name):
    assert name.status in STATUSES and name.kind in surface.KINDS
    assert name.behaviour and name.behaviour[-1] not in ".;" and name.source
    assert bool(name.remedy) == (name.status == REFUSED)
    assert set(name.modules) <= set(MODULES)
    assert not name.successor or surface.lookup(f"{name.module}.{name.successor}") is not None
    assert surface.lookup(name.dotted) == name


def test_every_module_stands_in_a_package_that_is_declared():
    assert all(module.rpartition(".")[0] in MODULES for module in MODULES if "." in module)
    assert surface.packages() == ("npu_bridge", "hccl", "npu_device")


@pytest.mark.parametrize(
    ("path", "dotted"),
    [
        ("npu_bridge.npu_init.npu_ops.dropout", "npu_bridge.estimator.npu_ops.dropout"),
        ("npu_device.compat.v1.npu_init.npu_ops.dropout", "npu_bridge.estimator.npu_ops.dropout"),
        ("npu_bridge.npu_init.npu_unary_ops.gelu", "npu_bridge.estimator.npu_unary_ops.gelu"),
        ("npu_bridge.estimator.npu_unary_ops.npu_unary_ops.gelu", "npu_bridge.estimator.npu_unary_ops.gelu"),
        ("npu_bridge.npu_init.get_rank_size", "hccl.manage.api.get_rank_size"),
        ("npu_device.compat.v1.hccl.hccl_ops.allreduce", "npu_bridge.hccl.hccl_ops.allreduce"),
        ("npu_device.distribute.all_reduce", "npu_device.distribute.all_reduce"),
    ],
)
def test_a_name_is_found_by_every_way_to_it(path, dotted):
    assert surface.lookup(path).dotted == dotted


@pytest.mark.parametrize("path", ["npu_bridge.nothing", "nothing", "", "npu_bridge.npu_init.tf.Session", "numpy.array"])
def test_what_the_adapter_does_not_have_is_not_found(path):
    assert surface.lookup(path) is None


def test_a_name_missed_after_the_star_import_is_told_its_home():
    error = surface.missing("DynamicRNN")
    assert isinstance(error, NpuError) and isinstance(error, AttributeError)
    assert error.remedy == "Write: from npu_bridge.estimator.npu.npu_dynamic_rnn import DynamicRNN."


def test_a_misspelt_name_is_told_the_nearest():
    assert surface.missing("npu_confg_proto").remedy == "Did you mean npu_config_proto?"
    assert (
        surface.missing("keepdtype_scope", "npu_bridge.estimator.npu.npu_scope").remedy
        == "Did you mean keep_dtype_scope?"
    )


def test_a_refusal_names_the_name_the_line_and_what_to_use():
    error = surface.refusal(surface.find("embeddingrankid")[0], "train.py:7")
    assert error.code == "ADAPTER_NAME" and "embeddingrankid (train.py:7)" in str(error)
    assert "tf.nn.embedding_lookup" in error.remedy


USES = {
    "called": lambda name: name(1, rank=2),
    "looked into": lambda name: name.HOST,
    "set": lambda name: setattr(name, "precision_mode", "fp16"),
    "entered": lambda name: name.__enter__(),
    "inherited": lambda name: type("Mine", (), {}) and name.__mro_entries__(()),
}


@pytest.mark.parametrize("use", sorted(USES))
def test_whatever_is_done_with_a_refused_name_is_refused(use):
    refused = surface.Refused(surface.find("Profiler")[0])
    with pytest.raises(surface.NameRefused, match=r"Profiler \(test_table\.py:\d+\)"):
        USES[use](refused)


def test_a_refused_name_can_be_looked_at():
    refused = surface.Refused(surface.find("Profiler")[0])
    assert "not simulated" in repr(refused) and not hasattr(refused, "__wrapped__")


def test_the_page_has_the_table_as_it_is():
    page = (ROOT / "docs" / "npu_bridge.md").read_text(encoding="utf-8")
    assert page == with_table(page), "run python -m npu_reference.surface.page"


def test_a_page_without_the_lines_around_the_table_is_refused_and_stays(tmp_path, capsys):
    path = tmp_path / "page.md"
    path.write_text("# Names\n" + BEGIN + "\n", encoding="utf-8")
    assert main([str(path)]) == 1 and "End of the table" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["page.md"]
