"""What makes a config one of the device: each way to it, and that what was given stays."""

from __future__ import annotations

import pytest
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2

from npu_bridge import npu_init
from npu_bridge._tensorflow import estimator, run_config_class
from npu_reference.runtime.observing.trace import process_trace
from npu_reference.runtime.sessions.interception import engine_of

v1 = tf.compat.v1


def entries(config):
    return [entry.name for entry in config.graph_options.rewrite_options.custom_optimizers]


@pytest.fixture
def graph():
    with v1.Graph().as_default() as graph:
        yield graph


WAYS = {
    "npu_config_proto()": lambda given: npu_init.npu_config_proto(),
    "npu_config_proto(config_proto=)": lambda given: npu_init.npu_config_proto(config_proto=given),
    "npu_session_config_init()": lambda given: npu_init.npu_session_config_init(),
    "npu_session_config_init(config)": npu_init.npu_session_config_init,
    "npu_run_config_init": lambda given: (
        npu_init.npu_run_config_init(run_config_class()(session_config=given)).session_config
    ),
}


@pytest.mark.parametrize("way", sorted(WAYS))
def test_a_session_of_the_config_is_an_npu_session(way, graph):
    config = WAYS[way](v1.ConfigProto(log_device_placement=False, inter_op_parallelism_threads=3))
    assert entries(config) == ["NpuOptimizer"]
    assert config.graph_options.rewrite_options.remapping == npu_init.RewriterConfig.OFF
    with v1.Session(config=config) as session:
        assert engine_of(session) is not None and session.run(v1.constant(2.0) * 3.0) == 6.0


def test_a_run_config_stays_the_object_it_was_with_its_fields():
    given = run_config_class()(model_dir="/models", save_checkpoints_steps=7, session_config=v1.ConfigProto())
    answer = npu_init.npu_run_config_init(run_config=given)
    assert answer is given
    assert answer.model_dir == "/models" and answer.save_checkpoints_steps == 7
    assert entries(answer.session_config) == ["NpuOptimizer"]


def test_a_run_config_initialized_twice_names_the_device_once():
    config = npu_init.npu_run_config_init(npu_init.npu_run_config_init())
    assert entries(config.session_config) == ["NpuOptimizer"]


def test_options_in_the_session_config_of_a_run_config_stay():
    session_config = v1.ConfigProto()
    entry = session_config.graph_options.rewrite_options.custom_optimizers.add()
    entry.name = "NpuOptimizer"
    entry.parameter_map["mix_compile_mode"].b = True
    config = npu_init.npu_run_config_init(run_config_class()(session_config=session_config)).session_config
    assert config.graph_options.rewrite_options.custom_optimizers[0].parameter_map["mix_compile_mode"].b


@pytest.mark.parametrize("given", [v1.ConfigProto(), "config", object()])
def test_what_is_no_run_config_is_refused(given):
    with pytest.raises(TypeError, match="RunConfig"):
        npu_init.npu_run_config_init(given)


@pytest.mark.skipif(estimator is None, reason="this TensorFlow has no tf.estimator")
def test_the_run_config_of_a_tpu_estimator_is_one():
    given = estimator.tpu.RunConfig(tpu_config=estimator.tpu.TPUConfig(iterations_per_loop=5))
    answer = npu_init.npu_run_config_init(run_config=given)
    assert answer is given and answer.tpu_config.iterations_per_loop == 5
    assert entries(answer.session_config) == ["NpuOptimizer"]


def test_graph_options_keep_what_they_hold_and_lose_xla():
    given = config_pb2.GraphOptions(place_pruned_graph=True)
    given.optimizer_options.global_jit_level = config_pb2.OptimizerOptions.ON_2
    answer = npu_init.npu_graph_options(graph_options=given)
    assert answer is given and answer.place_pruned_graph
    assert answer.optimizer_options.global_jit_level == config_pb2.OptimizerOptions.OFF
    assert npu_init.npu_graph_options().optimizer_options.global_jit_level == config_pb2.OptimizerOptions.OFF


def test_optimizer_options_keep_what_they_hold_and_lose_xla():
    given = config_pb2.OptimizerOptions(opt_level=config_pb2.OptimizerOptions.L0)
    answer = npu_init.npu_optimizer_options(optimizer_options=given)
    assert answer is given and answer.opt_level == config_pb2.OptimizerOptions.L0
    assert (
        answer.global_jit_level == npu_init.npu_optimizer_options().global_jit_level == config_pb2.OptimizerOptions.OFF
    )


@pytest.mark.parametrize("config", [None, v1.ConfigProto(allow_soft_placement=True)])
def test_resources_are_a_session_of_the_device_and_what_ends_it(graph, config):
    session, shutdown = npu_init.init_resource(config=config)
    assert engine_of(session) is not None and session.graph is graph
    weight = v1.get_variable("weight", initializer=2.0)
    session.run(weight.initializer)
    assert session.run(weight * 2.0) == 4.0
    npu_init.shutdown_resource(session, shutdown)
    npu_init.close_session(session)
    with pytest.raises(RuntimeError):
        session.run(weight)


def test_making_the_device_ready_says_nothing(graph, caplog):
    process_trace().clear()
    session, shutdown = npu_init.init_resource()
    npu_init.shutdown_resource(session, shutdown)
    assert not [record for record in caplog.records if "without_npu_compile_scope" in record.getMessage()]


def test_keras_is_given_a_session_of_the_device():
    v1.reset_default_graph()
    session = npu_init.set_keras_session_npu_config(config=v1.ConfigProto())
    assert v1.keras.backend.get_session() is session and engine_of(session) is not None
    npu_init.npu_clear_session()
    other = v1.keras.backend.get_session()
    assert other is not session and engine_of(other) is not None
    session.close()
    other.close()
    v1.keras.backend.clear_session()


@pytest.mark.parametrize("given", [{"not": "a config"}, object()])
def test_for_what_is_no_config_proto_a_new_one_is_made_and_that_is_told(given, caplog):
    answer = npu_init.npu_session_config_init(given)
    assert entries(answer) == ["NpuOptimizer"]
    assert f"a {type(given).__name__} is no ConfigProto; a new one is made" in caplog.text
