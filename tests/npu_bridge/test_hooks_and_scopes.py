"""Hooks, callbacks, the strategy, host variables, loops in two parts: what each does with one device."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from npu_bridge import npu_init
from npu_bridge.estimator.npu import npu_hook, npu_plugin, npu_scope, npu_strategy, util
from npu_bridge.estimator.npu.npu_config import NpuExecutePlacement
from npu_reference.runtime.observing.trace import process_trace

v1 = tf.compat.v1
RunHook = v1.train.SessionRunHook


@pytest.fixture
def graph():
    with v1.Graph().as_default() as graph:
        yield graph


def config(**options):
    made = npu_init.npu_config_proto()
    for name, value in options.items():
        made.graph_options.rewrite_options.custom_optimizers[0].parameter_map[name].b = value
    return made


def test_hooks_are_appended_to_the_list_given(monkeypatch):
    monkeypatch.setenv("RANK_ID", "0")
    hooks = [npu_init.NpuEmptyHook()]
    assert npu_init.npu_hooks_append(hooks_list=hooks) is hooks
    assert isinstance(hooks[1], npu_hook.NPUBroadcastGlobalVariablesHook) and len(hooks) == 2


@pytest.mark.parametrize("given", [(), None, (npu_init.NpuEmptyHook(),)])
def test_hooks_given_otherwise_become_a_list(given):
    hooks = npu_init.npu_hooks_append(given)
    assert isinstance(hooks, list) and len(hooks) == len(given or ()) + 1
    assert len(npu_init.npu_hooks_append()) == 1


def test_callbacks_are_appended_to_the_list_given():
    callbacks = [v1.keras.callbacks.History()]
    assert npu_init.npu_callbacks_append(callbacks_list=callbacks) is callbacks
    assert isinstance(callbacks[1], v1.keras.callbacks.Callback) and len(npu_init.npu_callbacks_append()) == 1


def test_an_output_hook_takes_tensors_and_names_in_a_dict_or_a_list(graph):
    step = tf.identity(v1.assign_add(v1.get_variable("weight", initializer=1.0), 1.0), name="step")
    seen = {name: [] for name in "abcd"}
    hooks = [
        npu_hook.NPUOutputTensorHook({"a": "step:0"}, step, seen["a"].extend, 1),
        npu_hook.NPUOutputTensorHook([step], [step.op], seen["b"].extend, 2),
        npu_hook.NPUOutputTensorHook(["step:0"], output_fn=seen["c"].extend),
        npu_hook.NPUOutputTensorHook(None, output_fn=seen["d"].extend),
    ]
    assert all(isinstance(hook, v1.train.LoggingTensorHook) for hook in hooks)
    with v1.train.MonitoredTrainingSession(config=config(), hooks=hooks) as session:
        session.run(step)
        session.run(step)
    assert seen == {
        "a": [{"a": 2.0}, {"a": 3.0}],
        "b": [{step: 2.0}, {step: 3.0}],
        "c": [{"step:0": 2.0}, {"step:0": 3.0}],
        "d": [{}, {}],
    }


def test_hooks_without_effect_change_nothing(graph):
    weight = v1.get_variable("weight", initializer=1.0)
    step = v1.assign_add(weight, 1.0)
    hooks = npu_init.npu_hooks_append(
        [npu_init.NpuEmptyHook(), npu_hook.TellMeStepOrLossHook(step="global_step:0", total_step=9)]
    )
    assert all(isinstance(hook, RunHook) for hook in hooks)
    with v1.train.MonitoredTrainingSession(config=config(), hooks=hooks) as session:
        assert [session.run(step) for _ in range(3)] == [2.0, 3.0, 4.0]


def test_a_strategy_of_one_replica(graph):
    strategy = npu_strategy.NPUStrategy()
    assert strategy.num_replicas_in_sync == 1
    with strategy.scope():
        assert v1.distribute.get_strategy() is strategy
        weight = v1.get_variable("weight", initializer=2.0)
    with v1.Session(config=config()) as session:
        session.run(v1.global_variables_initializer())
        assert session.run(weight * 2.0) == 4.0


def placed(placement):
    """Where the variable of the scope is in mixed computing: host nodes, and device nodes."""
    with v1.Graph().as_default():
        with npu_scope.npu_variable_scope(placement=placement):
            seen = v1.get_variable("seen", initializer=np.float32(3.0), use_resource=True)
            tripled = v1.multiply(3.0, 2.0, name="inside")
        answer = v1.add(seen.read_value(), tripled, name="answer")
        with v1.Session(config=config(mix_compile_mode=True)) as session:
            session.run(seen.initializer)
            process_trace().clear()
            assert session.run(answer) == 9.0
        parts = process_trace().runs[0].to_json()["partition"]
        return {host["node"] for host in parts["host"]}, {node for geop in parts["geops"] for node in geop["nodes"]}


def test_a_variable_of_the_host_is_there_and_its_neighbours_are_not():
    host, device = placed(NpuExecutePlacement.HOST)
    assert "seen" in host and {"inside", "answer"} <= device


@pytest.mark.parametrize("placement", [one for one in NpuExecutePlacement if one.name != "HOST"])
def test_any_other_placement_is_the_device(placement):
    host, device = placed(placement)
    assert "seen" not in host and {"seen", "inside", "answer"} <= device


def test_a_placement_is_one_of_its_enumeration():
    assert [one.name for one in NpuExecutePlacement] == ["ALL", "CUBE", "VECTOR", "TAISHAN", "DVPP", "HOST"]
    with pytest.raises(TypeError, match="placement"), npu_scope.npu_variable_scope("HOST"):
        pass


@pytest.mark.parametrize("scope", [npu_scope.disable_autofuse, npu_scope.npu_weight_prefetch_scope])
def test_scopes_without_effect_leave_the_graph_as_it_is(graph, scope):
    with scope():
        node = v1.add(1.0, 2.0).op.node_def
    assert set(node.attr) == {"T"}


def test_variables_are_initialized_by_an_operation_of_a_known_name(graph):
    first, second = v1.get_variable("a", initializer=1.0), v1.get_variable("b", initializer=2.0)
    ready = util.variable_initializer_in_host([first, second])
    assert ready.name == "var_in_host"
    with v1.Session(config=config()) as session:
        session.run(ready)
        assert session.run([first, second]) == [1.0, 2.0]


def test_operators_named_keep_their_precision(graph):
    product = v1.matmul(v1.ones([2, 2]), v1.ones([2, 2]), name="product")
    util.keep_tensors_dtypes(graph, ("product:0",))
    assert product.op.get_attr("_keep_dtype") == 1


@pytest.mark.parametrize(
    ("given", "match"), [((3, ["a:0"]), "graph"), ((None, ["a"]), "graph"), (("graph", "product:0"), "graph")]
)
def test_what_is_no_graph_has_no_tensors(given, match):
    with pytest.raises(TypeError, match=match):
        util.keep_tensors_dtypes(*given)


@pytest.mark.parametrize("names", ["product:0", ["nothing:0"], ["product"], [3]])
def test_names_of_no_tensors_are_refused(graph, names):
    v1.matmul(v1.ones([2, 2]), v1.ones([2, 2]), name="product")
    with pytest.raises((TypeError, ValueError), match="input_tensors"):
        util.keep_tensors_dtypes(graph, names)


@pytest.fixture
def counting(graph):
    weight = v1.get_variable("weight", initializer=0.0)
    yield weight, v1.assign_add(weight, 1.0)


def test_a_loop_is_loaded_into_a_graph_that_is_finalized(graph, counting):
    weight, step = counting
    loops = util.IterationPerLoop()
    train_op = loops.create_iteration_per_loop_var(step)
    init = v1.global_variables_initializer()
    graph.finalize()
    with v1.Session(config=config()) as session:
        session.run(init)
        loops.load_iteration_per_loop_var(session, 4)
        session.run(train_op)
        session.run(train_op)
        assert session.run(weight) == 8.0


def test_the_hook_loads_the_loops_of_its_session(graph, counting):
    weight, step = counting
    train_op = util.IterationPerLoop().create_iteration_per_loop_var(step)
    with v1.train.MonitoredTrainingSession(config=config(), hooks=[npu_hook.SetIterationsVarHook(3)]) as session:
        session.run(train_op)
        assert session.run(weight) == 3.0


@pytest.mark.parametrize("number", [0, -1, True, 2.0])
def test_a_loop_of_no_positive_int_is_refused(graph, counting, number):
    with v1.Session(config=config()) as session, pytest.raises((TypeError, ValueError), match="iterations_per_loop"):
        util.IterationPerLoop().load_iteration_per_loop_var(session, number)


def test_the_device_is_always_ready():
    npu_plugin.npu_resource_init(graph_memory_max_size=1)
    npu_plugin.set_device_sat_mode(1)
    npu_plugin.npu_resource_shutdown()
    npu_plugin.npu_close()


@pytest.mark.parametrize("mode", [3, -1, True, "1"])
def test_an_overflow_mode_that_there_is_not_is_refused(mode):
    with pytest.raises(ValueError, match="mode"):
        npu_plugin.set_device_sat_mode(mode)


@pytest.mark.parametrize(
    ("scope", "manager"), [("", "fixed"), ("", "exponential"), ("train/", "fixed"), ("train/", "exponential")]
)
def test_scripts_find_loss_scale_and_overflow_status_by_name(graph, scope, manager):
    with v1.name_scope(scope[:-1] or None):
        weight = v1.get_variable("weight", initializer=1.0)
        if manager == "fixed":
            scaling = npu_init.FixedLossScaleManager(256.0)
        else:
            scaling = npu_init.ExponentialUpdateLossScaleManager(256.0, incr_every_n_steps=1)
        optimizer = npu_init.NPULossScaleOptimizer(v1.train.GradientDescentOptimizer(0.5), scaling)
        train_op = optimizer.minimize(weight * weight)
    scale = graph.get_tensor_by_name(f"{scope}loss_scale:0")
    fine = graph.get_tensor_by_name(f"{scope}overflow_status_reduce_all:0")
    with v1.Session(config=config()) as session:
        session.run(v1.global_variables_initializer())
        assert session.run(scale) == 256.0
        assert session.run([train_op, fine])[1]
        assert session.run(scale) == (256.0 if manager == "fixed" else 512.0)
        assert session.run(weight) == 0.0


def test_a_fixed_scale_serves_every_graph_it_is_used_in():
    scaling = npu_init.FixedLossScaleManager(8.0)
    for _ in range(2):
        with v1.Graph().as_default() as graph:
            weight = v1.get_variable("weight", initializer=1.0)
            optimizer = npu_init.NPULossScaleOptimizer(v1.train.GradientDescentOptimizer(0.25), scaling)
            train_op = optimizer.minimize(weight * weight)
            with v1.Session(config=config()) as session:
                session.run(v1.global_variables_initializer())
                session.run(train_op)
                assert session.run([weight, "loss_scale:0"]) == [0.5, 8.0] and graph
