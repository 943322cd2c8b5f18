"""`profile SCRIPT`, and `simulate` with its clock: what a whole script costs the device, in every form of answer."""

from __future__ import annotations

import json
import textwrap

import pytest
import tensorflow.compat.v1 as tf

from npu_conformance import cli
from npu_conformance.protocol import schema
from npu_reference.runtime.execution import virtual_clock
from npu_reference.runtime.observing.trace import process_trace

SCRIPT = """
    import sys

    import numpy as np
    import tensorflow as tf
    from npu_bridge.npu_init import *

    config = tf.ConfigProto()
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    config.graph_options.rewrite_options.remapping = RewriterConfig.OFF
    x = tf.placeholder(tf.float32, [None, 64], name="x")
    y = tf.nn.relu(tf.matmul(x, tf.ones([64, 64]), name="product"), name="y")
    with tf.Session(config=config) as sess:
        for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 3):
            sess.run(y, {x: np.ones([8, 64], np.float32)})
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(textwrap.dedent(SCRIPT), encoding="utf-8")
    return str(path)


def ask(capfd, *arguments):
    """Exit status and what was printed, as of a process of its own."""
    process_trace().restart()
    virtual_clock.restart()
    with tf.Graph().as_default(), pytest.raises(SystemExit) as leaving:
        cli.main(list(arguments))
    status = leaving.value.code
    return status or 0, capfd.readouterr()


def last_json(printed, name):
    answer = json.loads(printed.out.strip().splitlines()[-1])
    declared = schema.load(name)
    assert schema.fault(answer, declared, declared) is None
    return answer


def test_a_script_is_told_of_run_by_run(script, capfd):
    status, printed = ask(capfd, "profile", "--format", "json", "--compare", "jit_compile=false", script, "--", "4")
    answer = last_json(printed, "profile-script")
    assert status == 0 and answer["runs"] == 4 and answer["simulated"] is True
    (one,) = answer["signatures"]
    assert one["device_ns"] == 4 * one["run_ns"] == answer["device_ns"] > 0
    assert (one["launches"], one["iterations"]) == (1, 1)
    assert sum(row["count"] for row in answer["types"]) == 4 * sum(
        row["tasks"] for name, row in one["engines"].items() if name in ("aicore", "aicpu")
    )
    assert one["compared"][0]["kernels"] >= 2 and answer["dearest"][0]["times"] == 4


def test_runs_that_likely_wait_for_their_dataset_are_told_of(tmp_path, capfd):
    path = tmp_path / "train.py"
    text = textwrap.dedent(SCRIPT).replace('x = tf.placeholder(tf.float32, [None, 64], name="x")', "x = element")
    dataset = "tf.data.Dataset.from_tensors(np.ones([8192, 64], np.float32)).repeat().make_one_shot_iterator()"
    text = text.replace("x = element", f"x = {dataset}.get_next()").replace(", {x: np.ones([8, 64], np.float32)}", "")
    path.write_text(text, encoding="utf-8")
    for form in ("json", "text"):
        status, printed = ask(capfd, "profile", "--format", form, str(path))
        assert status == 0 and "likely bound by its input pipeline" in " ".join(printed.out.split())


def test_text_and_page_say_that_it_is_simulated(script, tmp_path, capfd):
    page = tmp_path / "page.html"
    status, printed = ask(capfd, "profile", "--html", str(page), script)
    assert status == 0
    assert "simulated Ascend910A, by its model and not measured" in " ".join(printed.out.split())
    assert "critical path of session 1" in printed.out and "Dearest kernels" in printed.out
    text = page.read_text(encoding="utf-8")
    assert "simulated" in text and '"timeline"' in text


def check_trace(told):
    """What the trace event format asks for, and what a viewer needs to show every task of a stream."""
    assert set(told) == {"displayTimeUnit", "otherData", "traceEvents"} and told["otherData"]["simulated"] is True
    rows = {}
    for event in told["traceEvents"]:
        assert event["ph"] in ("X", "M", "C") and isinstance(event["name"], str)
        assert all(isinstance(event[key], int) for key in ("pid", "tid"))
        if event["ph"] != "M":
            assert event["ts"] >= 0
        if event["ph"] == "X":
            assert event["dur"] >= 0 and isinstance(event["args"], dict)
            rows.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["dur"]))
    named = {event["pid"] for event in told["traceEvents"] if event["name"] == "process_name"}
    assert {pid for pid, _ in rows} <= named
    for spans in rows.values():
        ordered = sorted(spans)
        # A viewer drops what overlaps on one thread without being inside; a nanosecond is 0.001.
        assert all(a[0] + a[1] <= b[0] + 0.0005 for a, b in zip(ordered, ordered[1:]))
    return rows


def test_the_trace_of_a_script_follows_the_schema_and_is_the_same_twice(script, tmp_path, capfd):
    texts = []
    for number in range(2):
        path = tmp_path / f"trace{number}.json"
        assert ask(capfd, "profile", "--trace", str(path), script)[0] == 0
        texts.append(path.read_bytes())
    assert texts[0] == texts[1]
    rows = check_trace(json.loads(texts[0].decode("utf-8")))
    assert max(len(spans) for spans in rows.values()) >= 3


def test_options_of_a_graph_are_refused_for_a_script_and_arguments_for_a_graph(script, tmp_path, capfd):
    status, printed = ask(capfd, "profile", "-o", "jit_compile=false", script)
    assert status == 2 and "--compare" in printed.err
    status, printed = ask(capfd, "profile", str(tmp_path / "model.pb"), "--", "4")
    assert status == 2 and "takes no arguments" in printed.err


def test_simulate_tells_the_time_of_each_signature_unless_its_clock_is_off(script, tmp_path, capfd):
    trace = tmp_path / "trace.json"
    _, printed = ask(capfd, "simulate", "--format", "json", "--trace", str(trace), script)
    told = last_json(printed, "simulate")["sessions"][0]["signatures"][0]["clock"]
    assert told["runs"] == 3 and told["transfers"] == {"h2d": 1, "d2h": 1} and told["peak"] > 0
    assert "on the device's clock" in printed.err
    runs = json.loads(trace.read_text(encoding="utf-8"))["runs"]
    assert [run["time"]["start_ns"] for run in runs] == [n * told["run_ns"] for n in range(3)]
    _, printed = ask(capfd, "simulate", "--no-clock", "--format", "json", script)
    assert last_json(printed, "simulate")["sessions"][0]["signatures"][0]["clock"] is None
    assert "on the device's clock" not in printed.err


def test_simulate_suffers_the_faults_that_are_asked_for_and_says_when_one_did_not_happen(script, capfd):
    status, printed = ask(capfd, "simulate", "--fault", "kernel_failure:product", script)
    assert status == 1 and "asked for" in printed.err and "product" in printed.err
    status, printed = ask(capfd, "simulate", "--fault", "hang:product@9,seconds=1", script)
    assert status == 0 and "did not happen" in printed.err
    status, printed = ask(capfd, "simulate", "--fault", "hangs", script)
    assert status == 2 and "FAULT_VALUE" in printed.err
    status, printed = ask(capfd, "simulate", "--fault", "hang:product@2,seconds=7", script)
    assert status == 0 and "700" in printed.err.split("on the device's clock: ")[1][:8]


def test_a_slower_device_computes_for_longer(script, tmp_path, capfd):
    slow = tmp_path / "mine.toml"
    slow.write_text('[slow]\nlike = "Ascend910A"\nclock = { value = 10, unit = "MHz" }\n', encoding="utf-8")
    found = {}
    for name in ("Ascend910A", str(slow)):
        _, printed = ask(capfd, "profile", "--device", name, "--format", "json", script)
        answer = last_json(printed, "profile-script")
        found[answer["device"]] = answer["engines"]["aicore"]["busy_ns"]
    assert found["slow"] > found["Ascend910A"]
