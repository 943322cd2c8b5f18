"""What `simulate` says of a script: as it launches it, while it runs, when it is refused, and at the end."""

from __future__ import annotations

import json
import os
import textwrap

import pytest
import tensorflow.compat.v1 as tf

from npu_conformance import cli
from npu_conformance.protocol import schema
from npu_reference.runtime import simulate
from npu_reference.runtime.observing.account import KEPT_SIGNATURES, Account
from npu_reference.runtime.scripts import final_summary
from npu_reference.runtime.scripts.environment import LAUNCHER

HEAD = """
import numpy as np
import tensorflow.compat.v1 as tf
from npu_bridge.npu_init import *

def config(**values):
    made = tf.ConfigProto()
    entry = made.graph_options.rewrite_options.custom_optimizers.add()
    entry.name = "NpuOptimizer"
    for name, value in values.items():
        field = "b" if isinstance(value, bool) else "i" if isinstance(value, int) else "s"
        setattr(entry.parameter_map[name], field, value.encode() if field == "s" else value)
    return made

"""

TWO_GEOPS = """
x = tf.placeholder(tf.float32, [2])
between = tf.py_func(lambda a: a, [tf.exp(x)], tf.float32, name="between")
between.set_shape([2])
y = tf.exp(between, name="y")
"""

ONE_RUN = """
with tf.Session(config=config(mix_compile_mode=True)) as sess:
    sess.run(y, {x: [1.0, 2.0]})
"""


@pytest.fixture(autouse=True)
def fresh_graph():
    with tf.Graph().as_default():
        yield


@pytest.fixture
def script(tmp_path):
    def write(text):
        path = tmp_path / "train.py"
        path.write_text(HEAD + textwrap.dedent(text), encoding="utf-8")
        return str(path)

    return write


def line_of(path, text):
    with open(path, encoding="utf-8") as stream:
        return next(number for number, line in enumerate(stream, 1) if text in line)


def test_what_launch_scripts_export_is_there_and_gone_afterwards(script, monkeypatch, capsys):
    for name in LAUNCHER:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RANK_ID", "3")
    text = f"import json, os\nprint(json.dumps({{name: os.environ[name] for name in {sorted(LAUNCHER)!r}}}))\n"
    simulate(script(text), log=lambda line: None)
    assert json.loads(capsys.readouterr().out) == {**LAUNCHER, "RANK_ID": "3"}
    assert [name for name in LAUNCHER if name in os.environ] == ["RANK_ID"]


def test_a_refused_session_says_its_cause_first_then_the_scripts_lines_and_nothing_else(script, capsys):
    said = []
    path = script(
        """
        def make():
            return tf.Session(config=config(precision_mode="allow_mixed_precision"))

        make()
        """
    )
    with pytest.raises(SystemExit) as ended:
        simulate(path, log=said.append)
    assert ended.value.code == 1
    told = capsys.readouterr().err.splitlines()
    start = next(number for number, line in enumerate(told) if line.startswith("error[OPTION_VALUE] precision_mode: "))
    assert told[start + 1 :] == [
        f"  {path}:{line_of(path, 'return tf.Session')} in make",
        '    return tf.Session(config=config(precision_mode="allow_mixed_precision"))',
        f"  {path}:{line_of(path, 'make()') + 3}",
        "    make()",
    ]
    assert not any("no session was taken over" in line for line in said)
    assert said[-1].startswith("simulated NPU: 0 runs")


def test_a_refusal_inside_a_monitored_session_shows_no_frame_of_tensorflow(script, capsys):
    path = script(
        """
        tf.train.get_or_create_global_step()
        with tf.train.MonitoredTrainingSession(config=config(mix_compile_mode="yes")) as sess:
            pass
        """
    )
    with pytest.raises(SystemExit):
        simulate(path, log=lambda line: None)
    told = capsys.readouterr().err
    assert "error[OPTION_TYPE] mix_compile_mode" in told and "Traceback" not in told
    assert "site-packages" not in told and f"{path}:{line_of(path, 'MonitoredTrainingSession')}" in told


def test_a_warning_is_said_once_however_many_sessions_give_it(script):
    said = []
    simulate(script("for _ in range(3):\n    tf.Session(config=config()).close()\n"), log=said.append)
    assert len([line for line in said if "remapping" in line]) == 1


def test_notes_for_saved_graphs_are_not_said_of_runs(script):
    said = []
    text = TWO_GEOPS + "unfed = tf.placeholder_with_default([1.0, 2.0], [2])\n"
    text += "with tf.Session(config=config(mix_compile_mode=True)) as sess:\n    sess.run(y + unfed, {x: [1.0, 2.0]})\n"
    simulate(script(text), log=said.append)
    assert not any("Name feeds and fetches" in line for line in said)


def test_the_end_says_what_stays_on_the_host_and_what_to_change_first(script):
    said = []
    text = (
        TWO_GEOPS + "with tf.Session(config=config(mix_compile_mode=True)) as sess:\n    sess.run(y, {x: [1.0, 2.0]})\n"
    )
    simulate(script(text), log=said.append)
    assert said[-3].startswith("on the host: PyFunc (NOT_SUPPORTED). ")
    assert said[-2] == "change first: in runs of y:0 if the device had PyFunc, there would be 1 GEOP instead of 2."
    assert said[-1].startswith("simulated NPU: 1 run, 2 GEOPs, 1 host operator,")


def test_a_remedy_names_the_operator_that_it_is_about(script):
    """The page shows how one operator follows from another; a line of text has room for the last of them only."""
    said = []
    text = """
tf.disable_control_flow_v2()
x = tf.placeholder(tf.float32, [2], name="x")
def turn(i, a):
    return i + 1, tf.reshape(tf.py_func(lambda q: q, [a], tf.float32, name="own"), [2])
y = tf.while_loop(lambda i, a: i < 3, turn, [0, x])[1] + 1.0
with tf.Session(config=config(mix_compile_mode=True)) as sess:
    sess.run(y, {x: [1.0, 2.0]})
"""
    simulate(script(text), log=said.append)
    assert any("(FRAME). Take 'while/own' out of the loop" in line for line in said)
    assert not any("named last" in line for line in said)


SAVED = """
x = tf.placeholder(tf.float32, [2, 3], name="x")
v = tf.get_variable("v", [3, 4], use_resource=RESOURCE)
loss = tf.reduce_sum(tf.matmul(x, v), name="loss")
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")
saver = tf.train.Saver()
tf.summary.scalar("told", loss)
told = tf.summary.merge_all()
with tf.Session(config=config()) as sess:
    sess.run(tf.global_variables_initializer())
    sess.run([loss, train], {x: [[1.0] * 3] * 2})
    saver.save(sess, FOLDER + "/model")
    saver.restore(sess, FOLDER + "/model")
"""


@pytest.mark.parametrize("resource", [False, True], ids=["reference", "resource"])
def test_a_script_that_saves_checkpoints_is_told_nothing_that_nobody_can_change(script, tmp_path, resource):
    account, said = Account(), []
    text = SAVED.replace("RESOURCE", str(resource)).replace("FOLDER", repr(str(tmp_path)))
    simulate(script(text), log=said.append, account=account, clock=True)
    assert not any("Full offload leaves" in line or line.startswith("on the host") for line in said)
    groups = {group.remedy: group for group in final_summary.host_groups(account)}
    checkpoint = next(group for remedy, group in groups.items() if "checkpoints" in remedy)
    assert {"SaveV2", "RestoreV2"} <= set(dict(checkpoint.ops)) and checkpoint.remedy.startswith("None needed")
    # What a checkpoint gives has the size of the variable it is written to.
    assert not any("no time is known" in line for line in said)


def test_summaries_have_a_line_of_their_own_that_says_what_to_do_with_them(script, tmp_path):
    said = []
    text = SAVED.replace("RESOURCE", "False").replace("FOLDER", repr(str(tmp_path)))
    run = "    sess.run([loss, told, train], {x: [[1.0] * 3] * 2})\n"
    simulate(script(text + run), log=said.append)
    (line,) = [line for line in said if line.startswith("on the host")]
    assert "MergeSummary, ScalarSummary (NOT_SUPPORTED)" in line and "every so many steps" in line
    assert not any("Full offload leaves" in line for line in said)


def test_full_offload_warns_where_the_device_could_run_what_stays_behind(script):
    said = []
    run = "with tf.Session(config=config()) as sess:\n    sess.run(y, {x: [1.0, 2.0]})\n"
    simulate(script(TWO_GEOPS + run), log=said.append)
    assert len([line for line in said if "Full offload leaves operators on the host: PyFunc; 1 more" in line]) == 1


def test_runs_are_told_apart_by_what_they_train(script):
    said = []
    text = """
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    v = tf.get_variable("v", [3, 4])
    loss, second, third = (tf.reduce_sum(tf.matmul(x, v), name=name) for name in ("loss", "second", "third"))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")
    with tf.Session(config=config()) as sess:
        sess.run(v.initializer)
        sess.run([loss, second, third, train], {x: [[1.0] * 3] * 2})
    """
    simulate(script(text), log=said.append, clock=True)
    (line,) = [line for line in said if line.startswith("on the device's clock")]
    assert line.endswith(" in 1 run of loss:0, second:0, train, ….")


def test_a_script_that_reads_a_dataset_is_told_nothing_that_nobody_can_change(script):
    account, said = Account(), []
    text = """
    data = tf.data.Dataset.from_tensor_slices([[1.0, 2.0], [3.0, 4.0]]).map(lambda row: row * 2.0).batch(2)
    iterator = tf.data.make_initializable_iterator(data)
    y = tf.exp(iterator.get_next(), name="y")
    with tf.Session(config=config()) as sess:
        sess.run(iterator.initializer)
        sess.run(y)
    """
    simulate(script(text), log=said.append, account=account)
    assert not any("Nothing is offloaded" in line or "Full offload leaves" in line for line in said)
    (line,) = [line for line in said if line.startswith("on the host")]
    assert "IteratorGetNext" in line and "enable_data_pre_proc" in line
    excluded = [group for group in final_summary.host_groups(account) if group.reason.value == "GRAPH_EXCLUDED"]
    assert [group.remedy for group in excluded] == ["None needed: the run only initialises iterators."]


def test_an_iterator_that_is_initialised_together_with_training_is_a_warning(script):
    said = []
    text = """
    iterator = tf.data.make_initializable_iterator(tf.data.Dataset.from_tensors([1.0, 2.0]))
    y = tf.exp(iterator.get_next(), name="y")
    w = tf.exp(tf.random.normal([2]), name="w")
    with tf.Session(config=config()) as sess:
        sess.run([iterator.initializer, w])
        sess.run(iterator.initializer)
        sess.run([y])
    """
    simulate(script(text), log=said.append)
    (line,) = [line for line in said if "Nothing is offloaded" in line]
    assert "Name feeds and fetches" not in line
    assert any(line.endswith("Initialise iterators in a session.run of their own.") for line in said)


def test_no_message_names_its_option_twice(script):
    said = []
    text = "tf.Session(config=config(dynamic_input=True, dynamic_graph_execute_mode='lazy_recompile')).close()\n"
    simulate(script(text), log=said.append)
    told = [line for line in said if "dynamic_" in line]
    assert told and not any("dynamic_input: dynamic_input" in line or "mode: dynamic_graph" in line for line in told)
    assert any(line.endswith(": dynamic_input will be removed in a later version.") for line in told), told


def test_where_everything_ran_on_the_device_the_end_is_one_line(script):
    account, said = Account(), []
    simulate(
        script("with tf.Session(config=config()) as sess:\n    sess.run(tf.exp(tf.random.normal([2])))\n"),
        log=said.append,
        account=account,
    )
    assert final_summary.lines(account) == [] and said[-1].startswith("simulated NPU: 1 run, 1 GEOP, 0 host operators")


@pytest.mark.parametrize("precision", ["off", "on"])
def test_who_scales_a_loss_is_told_that_nothing_overflows_with_device_precision_off(script, precision):
    said = []
    text = """
    loss = tf.reduce_sum(tf.get_variable("w", [2]) ** 2)
    optimizer = NPULossScaleOptimizer(tf.train.GradientDescentOptimizer(0.1), FixedLossScaleManager(loss_scale=2.0))
    train = optimizer.minimize(loss)
    with tf.Session(config=config()) as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
    """
    simulate(script(text), log=said.append, device_precision=precision)
    told = [line for line in said if line.startswith("loss scaling:")]
    assert [("--device-precision on" in line) for line in told] == ([True] if precision == "off" else [])


def test_a_session_of_another_process_is_told_as_that_and_not_as_misspelt(script):
    said = []
    text = """
    server = tf.train.Server.create_local_server()
    with tf.Session(server.target, config=config()) as sess:
        sess.run(tf.constant(1.0))
    """
    simulate(script(text), log=said.append)
    assert any("remote session" in line for line in said)
    assert not any("no session was taken over" in line for line in said)


def test_an_account_has_every_session_signature_and_byte(script):
    account = Account()
    text = TWO_GEOPS + (
        "for _ in range(2):\n"
        "    with tf.Session(config=config(mix_compile_mode=True)) as sess:\n"
        "        for _ in range(3):\n"
        "            sess.run(y, {x: [1.0, 2.0]})\n"
        "        sess.run(between, {x: [1.0, 2.0]})\n"
    )
    simulate(script(text), log=lambda line: None, account=account)
    assert [session.runs for session in account.sessions] == [4, 4]
    for session in account.sessions:
        first, second = session.signatures.values()
        assert (first.runs, second.runs) == (3, 1)
        # x and the py_func's result go in, exp(x) and y come back, eight bytes each.
        assert first.bytes == {"h2d": 3 * 16, "d2h": 3 * 16, "d2d": 0}


def test_signatures_beyond_those_kept_are_counted(monkeypatch):
    class Signature:
        feeds = fetches = targets = ()

    account = Account()
    account.opened(1, None)
    for _ in range(KEPT_SIGNATURES + 2):
        account.planned(1, Signature(), None, ())
    assert len(account.sessions[0].signatures) == KEPT_SIGNATURES and account.sessions[0].more == 2


def test_the_json_answer_is_the_last_line_and_keeps_to_its_schema(script, capsys):
    text = (
        TWO_GEOPS + "with tf.Session(config=config(mix_compile_mode=True)) as sess:\n    sess.run(y, {x: [1.0, 2.0]})\n"
    )
    path = script(text + "print('the script prints')\nraise SystemExit(5)\n")
    with pytest.raises(SystemExit) as ended:
        cli.main(["simulate", "--nodes", "--format", "json", path])
    assert ended.value.code == 5
    first, last = capsys.readouterr().out.splitlines()[-2:]
    answer = json.loads(last)
    assert first == "the script prints"
    assert schema.fault(answer, schema.load("simulate"), schema.load("simulate")) is None
    assert answer["status"] == 5 and answer["failure"] is None
    (signature,) = answer["sessions"][0]["signatures"]
    assert (signature["geops"], signature["on_device"], signature["operators"]) == (2, 2, 3)
    assert answer["sessions"][0]["options"]["mix_compile_mode"] == {"value": True, "origin": "given", "rule": ""}
    assert answer["host"][0]["ops"] == {"PyFunc": 1}
    places = [(row["op"], row["where"], row["dtypes"], row["reason"]) for row in signature["nodes"]]
    assert places[:2] == [("Exp", "GeOp_0", ["float32"], None), ("PyFunc", "host", ["float32"], "NOT_SUPPORTED")]


def test_every_operator_is_listed_with_its_place_on_request(script, capsys):
    lines = "with tf.Session(config=config(mix_compile_mode=True)) as sess:\n    sess.run(y, {x: [1.0, 2.0]})\n"
    path = script(TWO_GEOPS + lines)
    with pytest.raises(SystemExit) as ended:
        cli.main(["simulate", "--nodes", path])
    said = capsys.readouterr().out
    assert ended.value.code == 0 and ", 1 run of y:0\n" in said and " (Exp): GeOp_0, vector, float32\n" in said
    assert " (PyFunc): host, float32, NOT_SUPPORTED (between: " in said
    with pytest.raises(SystemExit) as ended:
        cli.main(["simulate", "--nodes", "--ranks", "2", path])
    assert ended.value.code == 2 and "error[USAGE] --nodes" in capsys.readouterr().err


def test_a_page_is_refused_before_the_script_runs_where_it_cannot_be_written(script, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["simulate", "--html", "/nowhere/at/all.html", script("print('ran')")])
    assert ended.value.code == 2
    assert "ran" not in capsys.readouterr().out


def test_the_page_is_written_whatever_ends_the_script(script, tmp_path):
    page = tmp_path / "page.html"
    text = (
        TWO_GEOPS + "with tf.Session(config=config(mix_compile_mode=True)) as sess:\n    sess.run(y, {x: [1.0, 2.0]})\n"
    )
    with pytest.raises(SystemExit) as ended:
        cli.main(["simulate", "--html", str(page), script(text + "raise KeyError('</script><b>')\n")])
    assert ended.value.code == 1
    text = page.read_text(encoding="utf-8")
    assert "KeyError" in text and "</script><b>" not in text and "PyFunc" in text
