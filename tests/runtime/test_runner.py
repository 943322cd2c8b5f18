"""The protocol's ``run``: graphs and scripts."""

from __future__ import annotations

import base64
import struct
import sys

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from npu_reference.errors import NpuError
from npu_reference.runtime.scripts import runner
from npu_reference.runtime.scripts.tensor_codec import from_wire, to_wire
from npu_reference.runtime.sessions import engine
from tests.runtime.comparing import assert_same


@pytest.fixture
def graph_file(tmp_path):
    """A counter, and a table lookup between two device operators."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2], name="x")
        count = tf.get_variable("count", [], initializer=tf.zeros_initializer(), use_resource=False)
        tf.assign_add(count, 1.0, name="add")
        text = tf.as_string(tf.exp(x) * 0.0 + 3.0, name="text")
        tf.multiply(tf.string_to_number(text, name="number"), 2.0, name="y")
        tf.identity(text, name="words")
        tf.global_variables_initializer()
    path = tmp_path / "graph.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    return str(path)


def params(path, **more):
    base = {"graph": path, "surface": "session", "edition": "current", "values": {"mix_compile_mode": True}, "env": {}}
    return {**base, **more}


FEED = {"x:0": {"dtype": "float32", "shape": [2], "b64": base64.b64encode(struct.pack("<2f", 1, 2)).decode()}}


def test_a_graph_runs_step_by_step_in_one_session(graph_file):
    fetches = ["y:0", "add:0", "words:0"]
    answer = runner.run_graph(params(graph_file, feeds=FEED, fetches=fetches, init=["init"], steps=3))
    assert sorted(answer) == ["fetches", "files", "log", "trace"]
    content = base64.b64encode(struct.pack("<2f", 6, 6)).decode()
    assert answer["fetches"]["y:0"] == {"dtype": "float32", "shape": [2], "b64": content}
    assert_same(from_wire("", answer["fetches"]["add:0"]), np.float32(3.0))
    assert from_wire("", answer["fetches"]["words:0"]).tolist() == [b"3.000000", b"3.000000"]
    assert len(answer["trace"]) == 4, "one for init, one for each step"
    assert all(record["engine"] == "simulated" and record["geops"] for record in answer["trace"])
    assert answer["log"] == []


def test_what_a_request_runs_is_not_rewritten_first(graph_file, monkeypatch):
    made = []
    real = engine.inner_config

    def recorded(*given, **named):
        made.append(real(*given, **named))
        return made[-1]

    monkeypatch.setattr(engine, "inner_config", recorded)
    runner.run_graph(params(graph_file, feeds=FEED, fetches=["y:0"]))
    with tf.Graph().as_default(), tf.Session(config=runner._config(params(graph_file))):
        pass
    assert [one.graph_options.rewrite_options.disable_meta_optimizer for one in made] == [True, False]


def test_operators_without_a_slot_are_run_for_their_effect(graph_file):
    answer = runner.run_graph(params(graph_file, fetches=["add"], init=["init"]))
    assert answer["fetches"] == {} and len(answer["trace"]) == 2


def test_requests_do_not_see_each_other(graph_file):
    for _ in range(2):
        answer = runner.run_graph(params(graph_file, fetches=["add:0"], init=["init"]))
        assert_same(from_wire("", answer["fetches"]["add:0"]), np.float32(1.0))
        assert len(answer["trace"]) == 2


def test_an_operator_list_decides_what_is_offloaded(graph_file):
    answer = runner.run_graph(params(graph_file, feeds=FEED, fetches=["y:0"], op_list={}))
    assert [record["geops"] for record in answer["trace"]] == [0]


def test_the_environment_is_the_requests(graph_file, monkeypatch):
    monkeypatch.setenv("NPU_REFERENCE_EDITION", "nonsense")
    runner.run_graph(params(graph_file, feeds=FEED, fetches=["y:0"], edition="legacy"))


def test_run_config_values_are_read_as_such(graph_file):
    answer = runner.run_graph(params(graph_file, surface="runconfig", feeds=FEED, fetches=["y:0"]))
    assert answer["trace"][0]["geops"] == 2


@pytest.mark.parametrize(
    "changes, code, subject",
    [
        ({"values": {"mix_compile_mode": "yes"}}, "OPTION_TYPE", "mix_compile_mode"),
        ({"values": {"mix_compile_mode": {"field": "i", "value": "x"}}}, "OPTION_TYPE", "mix_compile_mode"),
        ({"values": {"mix_compile_mode": [1]}}, "OPTION_TYPE", "mix_compile_mode"),
        ({"fetches": ["nowhere:0"]}, "GRAPH_FEED_FETCH", "nowhere:0"),
        ({"feeds": {"x:0": {"dtype": "float32", "shape": [3], "b64": "AAAA"}}}, "PROTOCOL", "feed x:0"),
        ({"feeds": {}}, "RUN_FAILED", "x"),
        ({"graph": "nowhere.pb"}, "GRAPH_FILE", "nowhere.pb"),
    ],
)
def test_what_cannot_run_is_one_error(graph_file, changes, code, subject):
    with pytest.raises(NpuError) as caught:
        runner.run_graph({**params(graph_file, feeds=FEED, fetches=["y:0"]), **changes})
    assert (caught.value.code, caught.value.subject) == (code, subject)


def test_a_script_answers_what_it_printed(tmp_path):
    source = (
        "import tensorflow.compat.v1 as tf\n"
        "config = tf.ConfigProto()\n"
        "config.graph_options.rewrite_options.custom_optimizers.add().name = 'NpuOptimizer'\n"
        "with tf.Session(config=config) as sess:\n"
        "    print('value', sess.run(tf.exp(tf.zeros([2]))).tolist())\n"
    )
    answer = runner.run_script({"source": source, "edition": "current", "env": {}})
    assert answer["output"] == "value [1.0, 1.0]\n"
    assert [record["geops"] for record in answer["trace"]] == [1]
    assert [(entry["level"], entry["code"]) for entry in answer["log"]] == [("warning", "remapping_forced_off")]
    with pytest.raises(NpuError) as caught:
        runner.run_script({"source": "raise KeyError('gone')\n", "edition": "current"})
    assert caught.value.code == "RUN_FAILED" and "KeyError: 'gone'" in caught.value.reason


def test_a_script_is_a_program_whatever_sessions_the_one_before_has_left_open(tmp_path):
    script = tmp_path / "weights.py"
    script.write_text(
        "import glob, os, sys\n"
        "import tensorflow.compat.v1 as tf\n"
        "from npu_bridge.npu_init import *\n"
        "config = tf.ConfigProto()\n"
        "config.graph_options.rewrite_options.custom_optimizers.add().name = 'NpuOptimizer'\n"
        "session = tf.Session(config=config)\n"
        "x = tf.placeholder(tf.float32, [2, 2], name='x')\n"
        "session.run(tf.matmul(x, tf.ones([2, 2]) * 3), {x: [[1, 2], [3, 4]]})\n"
        "print(glob.glob('tmp_weight_*'))\n"
        "if 'stays' in sys.argv:\n"
        "    sys.modules['session that stays'] = session\n"
    )
    values = {"external_weight": True, "export_compile_stat": 1}
    wanted = {"script": str(script), "values": values, "surface": "runconfig"}
    try:
        first = runner.run_script({**wanted, "args": ["stays"]})
        second = runner.run_script(wanted)
    finally:
        session = sys.modules.pop("session that stays", None)
        if session is not None:
            session.close()
    assert first["output"] == second["output"] != "[]\n"
    assert list(first["files"]) == list(second["files"]) == ["fusion_result.json"]  # the weights went as it ended


def test_what_a_script_switches_for_all_of_tensorflow_is_as_before_for_the_next():
    ask = "import tensorflow.compat.v1 as tf\nprint(tf.control_flow_v2_enabled(), tf.resource_variables_enabled())\n"
    before = runner.run_script({"source": ask, "edition": "current"})["output"]
    for verb in ("enable", "disable"):
        switch = f"import tensorflow.compat.v1 as tf\ntf.{verb}_control_flow_v2()\ntf.{verb}_resource_variables()\n"
        runner.run_script({"source": switch, "edition": "current"})
        assert runner.run_script({"source": ask, "edition": "current"})["output"] == before


@pytest.mark.parametrize(
    "value",
    [
        np.arange(6, dtype=np.int64).reshape(2, 3),
        np.array(True),
        np.array([1 + 2j], np.complex64),
        np.array([[b"a", b""], [b"\xff\n", b"long" * 9]], dtype=object),
        np.zeros([0, 4], np.float16),
        np.linspace(0, 1, 20000),
    ],
    ids=lambda value: f"{value.dtype}{list(value.shape)}",
)
def test_arrays_survive_the_wire(value, tmp_path):
    back = from_wire("v", to_wire("v", value, str(tmp_path)))
    assert back.shape == value.shape
    np.testing.assert_array_equal(back, value)


def test_what_a_script_sets_for_its_process_is_gone_for_the_next(tmp_path):
    script = tmp_path / "setting.py"
    script.write_text(
        "import logging, os, sys, warnings\n"
        "import numpy as np\n"
        "import tensorflow.compat.v1 as tf\n"
        "from hccl.manage.api import create_group\n"
        "flags = tf.app.flags\n"
        "flags.DEFINE_integer('depth', 1, 'layers')\n"
        "print(flags.FLAGS.depth, os.environ.get('FROM_A_SCRIPT'), os.umask(0o077), len(warnings.filters))\n"
        "print(np.get_printoptions()['precision'], sys.getrecursionlimit(), tf.logging.get_verbosity())\n"
        "print(logging.getLogger().level, tf.keras.backend.floatx())\n"
        "create_group('mine', 1, [0])\n"
        "os.environ['FROM_A_SCRIPT'] = '1'\n"
        "warnings.simplefilter('error')\n"
        "np.set_printoptions(precision=3)\n"
        "sys.setrecursionlimit(sys.getrecursionlimit() + 1000)\n"
        "tf.logging.set_verbosity(tf.logging.DEBUG)\n"
        "logging.getLogger().setLevel(logging.DEBUG)\n"
        "tf.keras.backend.set_floatx('float16')\n"
    )
    outputs = [runner.run_script({"script": str(script), "args": [f"--depth={n}"]})["output"] for n in (3, 4)]
    first, second = [output.split() for output in outputs]
    assert (first[0], second[0]) == ("3", "4") and first[1:] == second[1:]
