"""NPUEstimator: what it refuses, and training, evaluation and prediction on the device."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from npu_bridge._tensorflow import HAS_ESTIMATOR
from npu_bridge.npu_init import (
    NPUDistributedOptimizer,
    NPUEstimator,
    NPUEstimatorSpec,
    NPUOptimizer,
    NPUOutputTensorHook,
    NPURunConfig,
    keras_to_npu,
)
from npu_reference.runtime import ranks

v1 = tf.compat.v1
FEATURES = np.array([[-2.0], [-1.0], [1.0], [2.0]], dtype=np.float32)


def endless():
    return tf.data.Dataset.from_tensors((FEATURES, 3 * FEATURES)).repeat()


def once():
    return tf.data.Dataset.from_tensors((FEATURES, 3 * FEATURES))


def tensors():
    return v1.constant(FEATURES), v1.constant(3 * FEATURES)


def model_fn(features, labels, mode, params):
    weight = v1.get_variable("weight", [1, 1], initializer=v1.zeros_initializer())
    answer = v1.matmul(features, weight)
    if mode == "infer":
        return NPUEstimatorSpec(mode, predictions={"answer": answer, "input": features})
    loss = v1.reduce_mean(v1.square(answer - labels))
    optimizer = params.get("wrap", lambda optimizer: optimizer)(v1.train.GradientDescentOptimizer(0.1))
    train_op = optimizer.minimize(loss, global_step=v1.train.get_global_step())
    metrics = {"mean": v1.metrics.mean(answer)}
    return NPUEstimatorSpec(mode, loss=loss, train_op=train_op, eval_metric_ops=metrics)


def estimator(tmp_path, params=None, **config):
    config.setdefault("mix_compile_mode", True)
    return NPUEstimator(model_fn, str(tmp_path), NPURunConfig(**config), params or {})


@pytest.mark.parametrize("config", [None, object(), v1.ConfigProto()])
def test_a_configuration_that_is_none_is_refused(config):
    # api.NPUEstimator.config
    with pytest.raises(TypeError, match="NPURunConfig"):
        NPUEstimator(model_fn, config=config)


def test_a_model_that_is_no_function_is_refused():
    with pytest.raises(TypeError, match="model_fn"):
        NPUEstimator("model", config=NPURunConfig())


def test_two_different_model_directories_are_refused(tmp_path):
    with pytest.raises(ValueError, match="model_dir"):
        NPUEstimator(model_fn, str(tmp_path / "a"), NPURunConfig(model_dir=str(tmp_path / "b")))


def test_steps_must_fill_whole_loops(tmp_path):
    # T18
    config = NPURunConfig(iterations_per_loop=4)
    with pytest.raises(ValueError, match="iterations_per_loop"):
        NPUEstimator(model_fn, str(tmp_path), config).train(endless, max_steps=10)


def test_loops_are_counted_from_where_a_training_goes_on(tmp_path):
    # T18: three steps are done, so five are left of eight, and eight of eleven
    estimator(tmp_path).train(endless, max_steps=3)
    loops = estimator(tmp_path, mix_compile_mode=False, iterations_per_loop=4)
    with pytest.raises(ValueError, match="5, which are left of 8 after 3"):
        loops.train(endless, max_steps=8)
    loops.train(endless, max_steps=11)
    assert loops.get_variable_value("global_step") == 11
    loops.train(endless, max_steps=10)  # nothing left to do


def test_without_a_model_directory_there_is_a_new_one_in_the_current_folder(tmp_path, monkeypatch):
    # T54
    monkeypatch.chdir(tmp_path)
    one = NPUEstimator(model_fn, config=NPURunConfig(mix_compile_mode=True), params={})
    assert not list(tmp_path.iterdir())  # before anything is trained
    one.train(endless, max_steps=1)
    (made,) = tmp_path.iterdir()
    assert str(made) == one.model_dir == one.config.model_dir and len(made.name) == len("model_dir_") + 10


def test_the_environment_may_name_a_checkpoint_to_start_from(tmp_path, monkeypatch):
    # T55
    first = estimator(tmp_path / "first")
    first.train(endless, max_steps=5)
    monkeypatch.setenv("RESTORE_FROM", str(first.model_dir))
    second = estimator(tmp_path / "second")
    second.train(endless, max_steps=1)
    assert second.get_variable_value("global_step") == 1
    assert abs(second.get_variable_value("weight") - 3) < abs(first.get_variable_value("weight") - 3)


def test_all_ranks_begin_with_the_variables_of_rank_0(tmp_path):
    # T56
    def model(features, labels, mode):
        start = v1.constant_initializer(float(ranks.rank_id()))
        weight = v1.get_variable("weight", [1, 1], initializer=start, use_resource=False)
        loss = v1.reduce_mean(v1.square(v1.matmul(features, weight) - labels))
        train_op = v1.train.GradientDescentOptimizer(0.0).minimize(loss, global_step=v1.train.get_global_step())
        return NPUEstimatorSpec(mode, loss=loss, train_op=train_op)

    def work(rank):
        one = NPUEstimator(model, str(tmp_path / str(rank)), NPURunConfig(save_summary_steps=0))
        one.train(endless, max_steps=1)
        return one.get_variable_value("weight").item()

    assert ranks.as_ranks(2, work) == [0.0, 0.0]


def test_the_session_of_the_estimator_is_an_npu_session(tmp_path):
    entries = estimator(tmp_path).config.session_config.graph_options.rewrite_options.custom_optimizers
    assert [entry.name for entry in entries] == ["NpuOptimizer"]
    assert entries[0].parameter_map["mix_compile_mode"].b is True


def test_it_trains_evaluates_and_predicts(tmp_path):
    trained = estimator(tmp_path)
    trained.train(endless, max_steps=20)
    scores = trained.evaluate(once)
    assert scores["global_step"] == 20 and scores["loss"] < 1e-4 and abs(scores["mean"]) < 1e-3
    rows = list(trained.predict(once))
    assert sorted(rows[0]) == ["answer", "input"]
    np.testing.assert_allclose([row["answer"][0] for row in rows], 3 * FEATURES[:, 0], atol=1e-2)


def test_an_input_function_may_return_tensors(tmp_path):
    trained = estimator(tmp_path)
    trained.train(tensors, steps=2)
    assert trained.evaluate(tensors, steps=1)["global_step"] == 2


def test_training_goes_on_where_a_checkpoint_ended(tmp_path):
    estimator(tmp_path).train(endless, max_steps=3)
    estimator(tmp_path).train(endless, max_steps=5)
    again = estimator(tmp_path)
    again.train(endless, max_steps=5)  # nothing left to do
    assert again.evaluate(once)["global_step"] == 5


def test_checkpoints_come_every_so_many_steps(tmp_path):
    estimator(tmp_path, save_checkpoints_steps=2, keep_checkpoint_max=2).train(endless, max_steps=6)
    steps = sorted(int(path.name.split("-")[1].split(".")[0]) for path in tmp_path.glob("model.ckpt-*.index"))
    assert steps == [4, 6]


def test_some_predictions_can_be_chosen_and_kept_in_batches(tmp_path):
    trained = estimator(tmp_path)
    trained.train(endless, max_steps=1)
    batches = list(trained.predict(once, predict_keys=["answer"], yield_single_examples=False))
    assert [sorted(batch) for batch in batches] == [["answer"]] and batches[0]["answer"].shape == (4, 1)


def test_a_model_never_trained_is_evaluated_with_its_initial_values(tmp_path):
    fresh = estimator(tmp_path)
    assert fresh.evaluate(once)["loss"] == pytest.approx(22.5)
    with pytest.raises(ValueError):
        fresh.get_variable_value("weight")


def test_hooks_see_every_step(tmp_path):
    seen = []

    def model(features, labels, mode):
        weight = v1.get_variable("weight", [1, 1], initializer=v1.zeros_initializer())
        loss = v1.reduce_mean(v1.square(v1.matmul(features, weight) - labels))
        train_op = v1.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=v1.train.get_global_step())
        hook = NPUOutputTensorHook({"loss": loss}, output_fn=seen.append, output_every_n_steps=2)
        return NPUEstimatorSpec(mode, loss=loss, train_op=train_op, training_hooks=[hook])

    NPUEstimator(model, str(tmp_path), NPURunConfig(mix_compile_mode=True)).train(endless, max_steps=5)
    assert [len(part) for part in seen] == [2, 2, 1]
    losses = [row["loss"] for part in seen for row in part]
    assert losses == sorted(losses, reverse=True)


def test_a_host_call_runs_with_every_step(tmp_path):
    seen = []

    def remember(loss):
        return v1.py_func(lambda value: seen.append(float(value)) or np.int32(0), [loss], tf.int32)

    def model(features, labels, mode):
        weight = v1.get_variable("weight", [1, 1], initializer=v1.zeros_initializer())
        loss = v1.reduce_mean(v1.square(v1.matmul(features, weight) - labels))
        train_op = v1.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=v1.train.get_global_step())
        return NPUEstimatorSpec(mode, loss=loss, train_op=train_op, host_call=(remember, [loss]))

    NPUEstimator(model, str(tmp_path), NPURunConfig(mix_compile_mode=True)).train(endless, max_steps=3)
    assert len(seen) == 3


@pytest.mark.skipif(not tf.__version__.startswith("1."), reason="later versions have no contrib summaries")
def test_a_host_call_writes_contrib_summaries(tmp_path):
    summaries = tf.contrib.summary

    def remember(loss):
        writer = summaries.create_file_writer(str(tmp_path / "events"), name="of_the_host")
        with writer.as_default(), summaries.always_record_summaries():
            summaries.scalar("loss", loss, step=v1.train.get_global_step())
            return summaries.all_summary_ops()

    def model(features, labels, mode):
        weight = v1.get_variable("weight", [1, 1], initializer=v1.zeros_initializer())
        loss = v1.reduce_mean(v1.square(v1.matmul(features, weight) - labels))
        train_op = v1.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=v1.train.get_global_step())
        return NPUEstimatorSpec(mode, loss=loss, train_op=train_op, host_call=(remember, [loss]))

    NPUEstimator(model, str(tmp_path), NPURunConfig(mix_compile_mode=True)).train(endless, max_steps=3)
    events = [one for path in (tmp_path / "events").iterdir() for one in v1.train.summary_iterator(str(path))]
    assert [value.tag for one in events for value in one.summary.value] == ["loss"] * 3


def test_a_specification_without_what_its_mode_needs_is_refused():
    with v1.Graph().as_default(), pytest.raises(ValueError):
        NPUEstimatorSpec("train", loss=v1.constant(1.0))


def tailing(optimizer):
    return NPUOptimizer(optimizer, is_distributed=True, is_tailing_optimization=True)


@pytest.mark.parametrize(
    ("wrap", "config"), [(NPUDistributedOptimizer, {}), (tailing, {"is_tailing_optimization": True})]
)
def test_wrapped_optimizers_train_as_the_optimizer_does(tmp_path, wrap, config):
    # api.NPUOptimizer.tailing: equal values train
    trained = estimator(tmp_path, {"wrap": wrap}, **config)
    trained.train(endless, max_steps=20)
    assert trained.evaluate(once)["loss"] < 1e-4


def test_optimizer_and_configuration_must_agree_on_tailing(tmp_path):
    # api.NPUOptimizer.tailing, T20
    with pytest.raises(ValueError, match="True in NPUOptimizer and False in NPURunConfig"):
        estimator(tmp_path, {"wrap": tailing}).train(endless, max_steps=1)


def test_loss_scaling_without_a_manager_is_refused():
    optimizer = v1.train.GradientDescentOptimizer(0.1)
    with pytest.raises(TypeError, match="is_loss_scale"):
        NPUOptimizer(optimizer, is_loss_scale=True)
    with pytest.raises(TypeError, match="optimizer"):
        NPUDistributedOptimizer("sgd")


class Seen(v1.train.SessionRunHook):
    """The global step after each run, as the run itself fetched it and as it then was."""

    def __init__(self):
        self.fetched, self.steps = [], []

    def before_run(self, run_context):
        return v1.train.SessionRunArgs(v1.train.get_global_step())

    def after_run(self, run_context, run_values):
        self.fetched.append(int(run_values.results))
        self.steps.append(int(run_context.session.run(v1.train.get_global_step())))


def steps_of_checkpoints(tmp_path):
    state = v1.train.get_checkpoint_state(str(tmp_path))
    return [int(path.rpartition("-")[2]) for path in state.all_model_checkpoint_paths]


def test_a_loop_of_four_iterations_is_one_run_to_hooks(tmp_path):
    # 003 L576: so many iterations on the device before it comes back
    seen = Seen()
    loops = estimator(tmp_path, mix_compile_mode=False, iterations_per_loop=4, save_checkpoints_steps=8)
    loops.train(endless, hooks=[seen], max_steps=16)
    assert seen.steps == [4, 8, 12, 16]
    assert all(step - 1 <= fetched <= step for fetched, step in zip(seen.fetched, seen.steps)), "not of the last one"
    assert steps_of_checkpoints(tmp_path) == [0, 8, 16]


def test_a_loop_trains_to_the_values_of_as_many_single_steps(tmp_path):
    weights = []
    for loop in (1, 4):
        one = estimator(tmp_path / str(loop), mix_compile_mode=False, iterations_per_loop=loop)
        one.train(endless, steps=8)
        weights.append(one.get_variable_value("weight"))
        assert one.evaluate(once)["global_step"] == 8
    np.testing.assert_array_equal(weights[0], weights[1])


def test_a_loop_ends_with_its_input_in_the_middle(tmp_path):
    six = lambda: tf.data.Dataset.from_tensors((FEATURES, 3 * FEATURES)).repeat(6)  # noqa: E731
    one = estimator(tmp_path, mix_compile_mode=False, iterations_per_loop=4)
    one.train(six)
    assert one.get_variable_value("global_step") == 6


def test_hooks_for_several_devices_are_taken_by_every_phase(tmp_path):
    from npu_bridge.npu_init import npu_hooks_append

    one = estimator(tmp_path)
    one.train(endless, hooks=npu_hooks_append(), max_steps=3)
    assert one.evaluate(once, hooks=npu_hooks_append())["global_step"] == 3
    assert len(list(one.predict(once, hooks=npu_hooks_append()))) == 4


def test_the_batch_size_of_a_tpu_estimator_reaches_the_params(tmp_path):
    sizes = []

    def sized(features, labels, mode, params):
        sizes.append(params["batch_size"])
        return model_fn(features, labels, mode, params)

    config = NPURunConfig(mix_compile_mode=True)
    NPUEstimator(sized, str(tmp_path), config, use_tpu=False, train_batch_size=4).train(endless, max_steps=1)
    NPUEstimator(sized, str(tmp_path), config, {"batch_size": 2}, train_batch_size=4).evaluate(once)
    assert sizes == [4, 2]


def test_a_tpu_is_refused():
    with pytest.raises(ValueError, match="use_tpu"):
        NPUEstimator(model_fn, config=NPURunConfig(), use_tpu=True)


@pytest.mark.skipif(not tf.__version__.startswith("1."), reason="later versions export otherwise, or have no Estimator")
def test_what_train_and_evaluate_exports_serves_what_the_estimator_predicts(tmp_path):
    def model(features, labels, mode):
        spec = model_fn(features["x"], labels, mode, {})
        if mode != "infer":
            return spec
        return spec._replace(export_outputs={"serving_default": v1.estimator.export.PredictOutput(spec.predictions)})

    def data():
        return once().map(lambda x, y: ({"x": x}, y)).repeat()

    def serving():
        x = v1.placeholder(tf.float32, [None, 1], name="x")
        return v1.estimator.export.ServingInputReceiver({"x": x}, {"x": x})

    one = NPUEstimator(model, str(tmp_path), NPURunConfig(mix_compile_mode=True, save_checkpoints_steps=4))
    exporter = v1.estimator.LatestExporter("latest", serving)
    scores, (exported,) = v1.estimator.train_and_evaluate(
        one,
        v1.estimator.TrainSpec(data, max_steps=8),
        v1.estimator.EvalSpec(data, steps=1, exporters=[exporter], throttle_secs=0),
    )
    assert scores["global_step"] == 8 and steps_of_checkpoints(tmp_path) == [0, 4, 8]
    predicted = next(one.predict(data, yield_single_examples=False))["answer"]
    with v1.Session(graph=tf.Graph()) as session:
        loaded = v1.saved_model.load(session, ["serve"], exported.decode())
        outputs = loaded.signature_def["serving_default"].outputs
        np.testing.assert_array_equal(session.run(outputs["answer"].name, {"x:0": FEATURES}), predicted)


@pytest.mark.skipif(not tf.__version__.startswith("1."), reason="scripts that use it are of TensorFlow 1.15")
@pytest.mark.parametrize("kind", ["NPUEstimator", "Estimator"])
def test_a_strategy_of_one_replica_trains_to_the_same_values(kind, tmp_path):
    from npu_bridge.npu_init import npu_run_config_init, npu_strategy

    weights = []
    for name, strategy in (("with", npu_strategy.NPUStrategy()), ("without", None)):
        folder = str(tmp_path / name)
        if kind == "NPUEstimator":
            one = NPUEstimator(model_fn, config=NPURunConfig(model_dir=folder, train_distribute=strategy), params={})
        else:
            config = v1.estimator.RunConfig(model_dir=folder, train_distribute=strategy)
            one = v1.estimator.Estimator(model_fn, config=npu_run_config_init(config), params={})
        one.train(endless, max_steps=4)
        weights.append(one.get_variable_value("weight"))
    np.testing.assert_array_equal(weights[0], weights[1])


@pytest.mark.skipif(not HAS_ESTIMATOR, reason="no Estimator to make of a Keras model")
def test_a_keras_model_becomes_an_estimator_that_begins_with_its_weights(tmp_path):
    model = v1.keras.Sequential([v1.keras.layers.Dense(1, use_bias=False, input_shape=(1,), name="only")])
    model.compile(v1.keras.optimizers.SGD(0.1), "mse")
    model.set_weights([np.array([[3.0]], np.float32)])
    made = keras_to_npu.model_to_npu_estimator(model, model_dir=str(tmp_path), config=NPURunConfig())
    weights = made._warm_start_settings.ckpt_to_initialize_from
    assert isinstance(made, NPUEstimator) and v1.train.load_variable(weights, "only/kernel") == 3.0
