"""What sessions hold their runs to: shapes of inputs, memory, loops, tailing."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tensorflow as tf

from npu_bridge.npu_init import get_local_rank_id, set_graph_exec_config, set_iteration_per_loop
from npu_reference import NpuError
from npu_reference.runtime.config import Overrides, overriding
from npu_reference.runtime.observing.log import listening

v1 = tf.compat.v1


def config(**values):
    proto = v1.ConfigProto()
    entry = proto.graph_options.rewrite_options.custom_optimizers.add()
    entry.name = "NpuOptimizer"
    for name, value in values.items():
        field = "b" if isinstance(value, bool) else "i" if isinstance(value, int) else "s"
        setattr(entry.parameter_map[name], field, value.encode() if field == "s" else value)
    proto.graph_options.rewrite_options.remapping = type(proto.graph_options.rewrite_options).OFF
    return proto


def ones(*shape):
    return np.ones(shape, np.float32)


@pytest.fixture(autouse=True)
def graph():
    with v1.Graph().as_default() as default:
        yield default


def counted(number, **values):
    """A counter after one run of a loop of this many iterations, and what the run fetched beside it."""
    count = v1.get_variable("count", [], initializer=v1.zeros_initializer())
    step = v1.assign_add(count, 1.0)
    with v1.Session(config=config(**values)) as session:
        loop = set_iteration_per_loop(session, step, number)
        session.run(v1.global_variables_initializer())
        fetched = session.run([loop, step])[1]
        return session.run(count), fetched


def test_a_loop_does_all_its_iterations_in_one_run_and_fetches_the_last():
    # api.set_iteration_per_loop
    assert counted(5) == (5.0, 5.0)


def test_a_loop_in_mixed_computing_is_refused():
    # A42
    with pytest.raises(NpuError, match="mix_compile_mode"):
        counted(2, mix_compile_mode=True)


def test_runs_that_do_not_train_need_no_loop():
    # T17 is about training runs; an initialisation or a prediction is none.
    x = v1.placeholder(tf.float32, [2])
    with v1.Session(config=config(iterations_per_loop=10)) as session:
        assert list(session.run(x + 1.0, {x: ones(2)})) == [2.0, 2.0]


def test_two_loops_of_different_length_are_refused_in_one_run():
    count = v1.get_variable("count", [], initializer=v1.zeros_initializer())
    with v1.Session(config=config()) as session:
        loops = [set_iteration_per_loop(session, v1.assign_add(count, 1.0), number) for number in (2, 3)]
        session.run(v1.global_variables_initializer())
        with pytest.raises(NpuError, match="2, 3"):
            session.run(loops)


def test_a_shape_that_was_refused_changes_nothing_and_the_next_run_is_free():
    x = v1.placeholder(tf.float32, [None], name="x")
    total = v1.get_variable("total", [], initializer=v1.zeros_initializer())
    add = v1.assign_add(total, v1.reduce_sum(x))
    values = {"dynamic_input": True, "dynamic_inputs_shape_range": "data:[2~3]"}
    with v1.Session(config=config(**values)) as session:
        session.run(v1.global_variables_initializer())
        for size in (1, 4):
            with pytest.raises(ValueError, match=r"2~3"):
                session.run(add, {x: ones(size)})
        session.run(add, {x: ones(3)})
        assert session.run(total) == 3.0


def test_eleven_unnamed_placeholders_take_ranges_in_the_order_of_their_text():
    # A51, B20: Placeholder, Placeholder_1, Placeholder_10, Placeholder_2, ...
    placeholders = [v1.placeholder(tf.float32, [None]) for _ in range(11)]
    sizes = dict(zip(sorted(range(11), key=lambda n: placeholders[n].op.name), range(1, 12)))
    text = "data:" + ",".join(f"[{sizes[n]}]" for n in sorted(sizes, key=sizes.get))
    together = v1.add_n([v1.reduce_sum(one) for one in placeholders])
    with v1.Session(config=config(dynamic_input=True, dynamic_inputs_shape_range=text)) as session:
        feeds = {placeholders[n]: ones(size) for n, size in sizes.items()}
        assert session.run(together, feeds) == 66.0
        assert sizes[10] == 3
        with pytest.raises(NpuError, match="Placeholder_10"):
            session.run(together, {**feeds, placeholders[10]: ones(11)})


def test_a_placeholder_that_is_not_listed_in_input_shape_is_named():
    x, y = (v1.placeholder(tf.float32, [None], name=name) for name in "xy")
    values = {"graph_run_mode": 0, "input_shape": "x:-1", "dynamic_dims": "1;2", "dynamic_node_type": 1}
    with v1.Session(config=config(**values)) as session:
        assert list(session.run(x * 2.0, {x: ones(1)})) == [2.0]
        with pytest.raises(NpuError, match="y: it is a placeholder"):
            session.run(x + y, {x: ones(1), y: ones(1)})


def test_a_dataset_whose_stated_shape_fits_no_range_is_refused():
    element = v1.data.make_one_shot_iterator(v1.data.Dataset.from_tensors(ones(4))).get_next()
    total = v1.reduce_sum(element)
    values = {"dynamic_input": True, "dynamic_inputs_shape_range": "getnext:[5~6]"}
    with v1.Session(config=config(**values)) as session, pytest.raises(NpuError, match=r"5~6"):
        session.run(total)


@pytest.mark.parametrize("text", ["data:[5~3]", "feeds:[1]"])
def test_a_range_of_a_graph_is_checked_when_it_is_given(text):
    with pytest.raises(ValueError, match="dynamic_inputs_shape_range"):
        set_graph_exec_config(v1.constant(1.0), dynamic_input=True, dynamic_inputs_shape_range=text)


def test_only_a_tensor_or_an_operation_can_have_a_range():
    with pytest.raises(TypeError, match="fetch"):
        set_graph_exec_config(object(), dynamic_input=True)
    with pytest.raises(ValueError, match="fetch"):
        set_graph_exec_config("nobody:0", dynamic_input=True)


def test_several_fetches_and_names_of_tensors_have_a_range_each():
    x = v1.placeholder(tf.float32, [None], name="x")
    fetches = [v1.reduce_sum(x), "max:0"]
    largest = v1.reduce_max(x, name="max")
    ranges = {"dynamic_input": True, "dynamic_inputs_shape_range": "data:[2~3]"}
    assert set_graph_exec_config(fetches, **ranges) is fetches
    assert set_graph_exec_config("max:0", **ranges) is largest
    with v1.Session(config=config()) as session:
        for fetch in (fetches[0], largest):
            session.run(fetch, {x: ones(3)})
            with pytest.raises(NpuError, match="2~3"):
                session.run(fetch, {x: ones(9)})


def test_a_graph_set_apart_as_static_has_no_range():
    x = v1.placeholder(tf.float32, [None], name="x")
    total = set_graph_exec_config(v1.reduce_sum(x), dynamic_input=False)
    values = {"dynamic_input": True, "dynamic_inputs_shape_range": "data:[2~3]"}
    with v1.Session(config=config(**values)) as session:
        assert session.run(total, {x: ones(9)}) == 9.0


def test_constants_count_as_memory_of_the_graph():
    # session.graph_memory_max_size.meaning; the current edition has no such limit (A22).
    x = v1.placeholder(tf.float32, [256])
    total = x + v1.constant(np.arange(256, dtype=np.float32))
    for edition, size, refused in (("legacy", "3071", True), ("legacy", "4096", False), ("current", "3071", False)):
        limited = config(graph_memory_max_size=size)
        with overriding(Overrides(edition=edition)), v1.Session(config=limited) as session:
            if refused:
                with pytest.raises(NpuError, match="4096 bytes"):
                    session.run(total, {x: ones(256)})
            else:
                assert session.run(total, {x: ones(256)})[1] == 2.0


def test_advice_on_training_is_given_once_a_session():
    weight = v1.get_variable("weight", [], initializer=v1.zeros_initializer(), use_resource=True)
    train = v1.train.GradientDescentOptimizer(0.25).minimize(v1.square(4.0 - weight))
    heard = []
    with listening(lambda entry: heard.append(entry.code)):
        values = {"precision_mode": "allow_mix_precision", "is_tailing_optimization": True}
        with v1.Session(config=config(**values)) as session:
            session.run(v1.global_variables_initializer())
            assert "loss_scaling" not in heard
            session.run(train)
            session.run([train, weight])
    assert heard.count("loss_scaling") == heard.count("tailing_without_npu_optimizer") == 1


def test_ranks_come_from_a_rank_table_where_there_is_one(monkeypatch, tmp_path):
    # api.get_local_rank_id
    table = tmp_path / "table.json"
    servers = [{"device": [{"rank_id": rank} for rank in ranks]} for ranks in ("01", "2")]
    table.write_text(json.dumps({"server_list": servers}))
    monkeypatch.setenv("RANK_TABLE_FILE", str(table))
    found = []
    for rank in ("0", "1", "2"):
        monkeypatch.setenv("RANK_ID", rank)
        found.append(get_local_rank_id())
    assert found == [0, 1, 0]
    monkeypatch.setenv("RANK_ID", "3")
    with pytest.raises(ValueError, match="rank 3"):
        get_local_rank_id()
    monkeypatch.setenv("RANK_TABLE_FILE", str(tmp_path))
    with pytest.raises(ValueError, match="RANK_TABLE_FILE"):
        get_local_rank_id()


@pytest.mark.parametrize("text", ["-1", "first", "1" * 99])
def test_a_rank_that_is_none_is_refused(monkeypatch, text):
    monkeypatch.setenv("RANK_ID", text)
    with pytest.raises(ValueError, match="RANK_ID"):
        get_local_rank_id()
