"""Scripts run as ``__main__`` on the simulated device, unchanged, and a line at the end says what ran there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import pytest
import tensorflow.compat.v1 as tf

from npu_reference.errors import NpuError
from npu_reference.runtime import simulate
from tests.depth import at_night
from tests.runtime.comparing import TF1

pytestmark = [pytest.mark.not_between, pytest.mark.newest_at_night]

SESSION = """
import sys
import tensorflow as tf
from npu_bridge.npu_init import *

config = tf.ConfigProto()
config.graph_options.rewrite_options.custom_optimizers.add().name = "NpuOptimizer"
config.graph_options.rewrite_options.custom_optimizers[0].parameter_map["mix_compile_mode"].b = True
config.graph_options.rewrite_options.remapping = RewriterConfig.OFF
x = tf.placeholder(tf.float32, [2])
with tf.Session(config=config) as sess:
    print(__name__, sys.argv[1:], sess.run(tf.exp(x) * 0.0 + 2.0, {x: [1.0, 2.0]}).tolist())
"""


@pytest.fixture(autouse=True)
def fresh_graph():
    with tf.Graph().as_default():
        yield


@pytest.fixture
def script(tmp_path):
    def write(text, name="script.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return str(path)

    return write


def test_a_script_of_tensorflow_1_runs_unchanged(script, capsys):
    said = []
    trace = simulate(script(SESSION), ["a", "--b"], log=said.append)
    assert capsys.readouterr().out == "__main__ ['a', '--b'] [2.0, 2.0]\n"
    assert [run.geops for run in trace.runs] == [1]
    assert said[-1] == "simulated NPU: 1 run, 1 GEOP, 0 host operators, 8 bytes copied h2d, 8 bytes copied d2h"
    adapted = [line for line in said if "tensorflow.compat.v1" in line]
    assert len(adapted) == (0 if TF1 else 1)


ENTRIES = """
import tensorflow as tf
from npu_bridge.npu_init import *

config = tf.ConfigProto()
config.graph_options.rewrite_options.remapping = RewriterConfig.OFF
options = config.graph_options.rewrite_options.custom_optimizers.add()
options.name = "NpuOptimizer"
options.parameter_map["op_precision_mode"].s = tf.compat.as_bytes({path!r})
x = tf.placeholder(tf.float32, [2], name="x")
v = tf.get_variable("v", [2])
y = tf.nn.relu(x + v, name="tower/relu")
with tf.Session(config=config) as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(y, {{x: [1.0, 2.0]}})
    sess.run(tf.exp(y), {{x: [1.0, 2.0]}})
"""


@pytest.mark.parametrize("device_precision", [None, "on"])
def test_entries_of_an_option_file_that_match_nothing_are_told_once_and_those_of_another_run_are_not(
    script, tmp_path, capsys, device_precision
):
    """The initialiser's run needs none of the operators that the file names."""
    modes = tmp_path / "modes.ini"
    modes.write_text("[ByNodeName]\ntower/relu=high_precision\nrelu:0=high_precision\n", encoding="ascii")
    said = []
    simulate(script(ENTRIES.format(path=str(modes))), [], log=said.append, device_precision=device_precision)
    (told,) = [line for line in said if "the graph has no operator" in line]
    assert told.endswith("op_precision_mode: the graph has no operator relu:0. Did you mean tower/relu?")


def test_the_line_about_the_import_can_be_switched_off(script, capsys):
    if TF1:
        simulate(script(SESSION), log=lambda line: None, adapt_imports=False)
        return
    with pytest.raises(SystemExit) as caught:
        simulate(script(SESSION), log=lambda line: None, adapt_imports=False)
    assert caught.value.code == 1
    assert "AttributeError" in capsys.readouterr().err


def test_a_script_of_tensorflow_2_is_read_as_it_is(script):
    said = []
    text = "import tensorflow as tf\nimport tensorflow.compat.v1 as tf1\ntf1.ConfigProto()\n"
    simulate(script(text), log=said.append)
    assert not any("compat.v1" in line for line in said)


@pytest.mark.parametrize(
    "line, changed", [("import npu_bridge", not TF1), ("import os", False), ("import npu_bridge; tf.function", False)]
)
def test_a_script_of_the_adapter_has_the_keras_optimizers_that_sessions_can_train_with(script, line, changed):
    said = []
    text = f"import tensorflow as tf\n{line}\ndef made():\n    return tf.keras.optimizers.SGD(0.1)\n"
    simulate(script(text), log=said.append)
    assert any("tf.keras.optimizers, which TensorFlow 2 has not for sessions" in line for line in said) == changed


NET = """
import tensorflow as tf
from tensorflow import keras

def doubled():
    assert keras.backend.set_session
    return tf.placeholder(tf.float32, [2], name="x") * 2.0
"""


@pytest.mark.parametrize("adapt", [True, False])
def test_modules_that_a_script_brings_are_read_as_it_is(script, tmp_path, capsys, adapt):
    """Beside the script, in a package of its own, and where it looks itself; what it says is said once."""
    for folder in ("brought_package", "elsewhere"):
        (tmp_path / folder).mkdir()
    (tmp_path / "brought_package" / "__init__.py").write_text("")
    script(NET, "brought_package/net.py")
    script(NET, "elsewhere/brought_elsewhere.py")
    path = script(
        """
        import os, sys
        sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "elsewhere"))
        import brought_elsewhere
        from brought_package import net
        print(net.doubled().shape, brought_elsewhere.doubled().name)
        """
    )
    said, finders = [], list(sys.meta_path)
    try:
        if adapt or TF1:
            simulate(path, log=said.append, adapt_imports=adapt)
            assert capsys.readouterr().out == "(2,) mul_1:0\n"
            assert len([line for line in said if "tensorflow.compat.v1" in line]) == (0 if TF1 else 1)
        else:
            with pytest.raises(SystemExit):
                simulate(path, log=said.append, adapt_imports=False)
            assert "has no attribute" in capsys.readouterr().err
    finally:
        for name in [name for name in sys.modules if name.startswith("brought_")]:
            del sys.modules[name]
    assert [one for one in sys.meta_path if one not in finders] == []


HELPERS = {
    "a handler": "try:\n    seed = tf.set_random_seed\nexcept AttributeError:\n    seed = tf.random.set_seed\n",
    "a condition": """
        if tf.__version__.startswith("1"):
            seed = tf.set_random_seed
        else:
            seed = tf.random.set_seed
        """,
    "a flag": "IS_1 = not hasattr(tf, 'compat')\nseed = tf.set_random_seed if IS_1 else tf.random.set_seed\n",
    "what is left over": """
        def seed(number):
            if hasattr(tf.random, "set_seed"):
                return tf.random.set_seed(number)
            return tf.set_random_seed(number)
        seed(1)
        """,
    "a function that is not called": """
        seed = tf.random.set_seed
        def old():
            with tf.Session() as session:
                return session.run(tf.placeholder(tf.float32))
        if __name__ == "__main__":
            tf.app.run(old)
        """,
}


@pytest.mark.skipif(TF1, reason="nothing is read otherwise there")
@pytest.mark.parametrize("helper", HELPERS.values(), ids=list(HELPERS))
def test_a_script_of_tensorflow_2_stays_so_whatever_its_modules_have_for_version_1(helper, script):
    script("import tensorflow as tf\n" + textwrap.dedent(helper), "brought_helper.py")
    path = script(
        """
        import tensorflow as tf
        from brought_helper import seed

        @tf.function
        def doubled(x):
            return 2 * x

        seed(3)
        print(float(doubled(tf.constant(2.0))), tf.executing_eagerly())
        """
    )
    # A process of its own: here TensorFlow 2 behaviour has been switched off.
    done = subprocess.run([sys.executable, "-m", "npu_reference", path], capture_output=True, text=True)
    assert done.stdout == "4.0 True\n", done.stderr
    assert "compat.v1" not in done.stderr


@pytest.mark.skipif(TF1, reason="nothing is read otherwise there")
@pytest.mark.parametrize(
    ("first", "helper"),
    [
        ("tf.Session", HELPERS["a handler"]),
        (
            "tf.function",
            "def made():\n    return tf.placeholder(tf.float32)\nx = made()\nseed = tf.random.set_random_seed\n",
        ),
        ("tf.constant", "def old():\n    return tf.Session()\nseed = tf.random.set_random_seed\n"),
    ],
    ids=["a script of version 1", "what runs at import", "a script of neither"],
)
def test_modules_for_version_1_are_read_so_where_they_or_the_script_need_it(first, helper, script, capsys):
    script("import tensorflow as tf\n" + helper, "brought_helper.py")
    path = script(f"import tensorflow as tf\n{first}\nimport brought_helper\nprint(brought_helper.seed)\n")
    said = []
    try:
        simulate(path, log=said.append)
    finally:
        sys.modules.pop("brought_helper", None)
    assert "set_random_seed" in capsys.readouterr().out
    assert len([line for line in said if "tensorflow.compat.v1" in line]) == 1


def test_no_session_taken_over_is_a_clear_warning(script):
    said = []
    simulate(script("import tensorflow.compat.v1 as tf\ntf.Session().close()\n"), log=said.append)
    assert "no session was taken over" in said[-2] and "NpuOptimizer" in said[-2]
    assert said[-1].startswith("simulated NPU: 0 runs")


def test_a_session_that_ran_nothing_is_a_clear_warning(script):
    said = []
    text = SESSION.replace("    print(", "    pass\nwith tf.Session() as sess:\n    print(")
    simulate(script(text), log=said.append)
    assert "ran anything" in said[-2] and "set_session" in said[-2]
    assert said[-1].startswith("simulated NPU: 0 runs")


def test_what_a_script_raises_is_shown_without_the_simulators_frames(script, capsys):
    path = script(
        """
        import tensorflow.compat.v1 as tf
        config = tf.ConfigProto()
        config.graph_options.rewrite_options.custom_optimizers.add().name = "NpuOptimizer"

        def work():
            with tf.Session(config=config) as sess:
                x = tf.placeholder(tf.float32, [None])
                sess.run(x + tf.constant([1.0, 2.0]), {x: [1.0, 2.0, 3.0]})

        work()
        """
    )
    with pytest.raises(SystemExit) as caught:
        simulate(path, log=lambda line: None)
    assert caught.value.code == 1
    err = capsys.readouterr().err
    assert err.startswith("Traceback (most recent call last):")
    assert f'File "{path}", line 11, in <module>' in err and "in work" in err
    assert "npu_reference" not in err


def test_a_syntax_error_is_shown_as_python_shows_it(script, capsys):
    with pytest.raises(SystemExit) as caught:
        simulate(script("x = (\n"), log=lambda line: None)
    assert caught.value.code == 1 and "SyntaxError" in capsys.readouterr().err


def test_the_exit_status_is_the_scripts(script):
    with pytest.raises(SystemExit) as caught:
        simulate(script("import sys\nsys.exit(7)\n"), log=lambda line: None)
    assert caught.value.code == 7


def test_a_script_imports_its_neighbours_and_leaves_the_process_as_it_was(script, capsys):
    script("ANSWER = 42\n", "neighbour_of_script.py")
    path = script("import neighbour_of_script, os\nprint(neighbour_of_script.ANSWER, os.path.basename(__file__))\n")
    before = list(sys.path), list(sys.argv), sys.modules["__main__"]
    simulate(path, log=lambda line: None)
    assert capsys.readouterr().out == "42 script.py\n"
    assert (list(sys.path), list(sys.argv), sys.modules["__main__"]) == before


def test_warnings_of_the_session_are_said(script):
    said = []
    simulate(
        script(
            """
            import tensorflow.compat.v1 as tf
            config = tf.ConfigProto()
            config.graph_options.rewrite_options.custom_optimizers.add().name = "NpuOptimizer"
            tf.Session(config=config).close()
            """
        ),
        log=said.append,
    )
    assert [line for line in said if line.startswith("warning: session") and "remapping" in line]


def test_the_trace_can_be_written_to_a_file(script, tmp_path):
    path = tmp_path / "trace.json"
    simulate(script(SESSION), log=lambda line: None, trace_file=str(path))
    written = json.loads(path.read_text())
    assert written["totals"]["runs"] == 1 and written["runs"][0]["geops"] == 1
    assert [name for name in os.listdir(str(tmp_path)) if name.endswith(".tmp")] == []


def test_the_edition_is_the_sessions_and_only_during_the_script(script, monkeypatch, capsys):
    monkeypatch.delenv("NPU_REFERENCE_EDITION", raising=False)
    simulate(script("import os\nprint(os.environ['NPU_REFERENCE_EDITION'])\n"), log=lambda line: None, edition="legacy")
    assert capsys.readouterr().out == "legacy\n"
    assert "NPU_REFERENCE_EDITION" not in os.environ


@pytest.mark.parametrize(
    "arguments, code",
    [
        ({"script": "nowhere.py"}, "SCRIPT_FILE"),
        ({"script": os.path.dirname(__file__)}, "SCRIPT_FILE"),
        ({"script": __file__, "device_precision": "exact"}, "USAGE"),
        ({"script": __file__, "trace_file": "/nowhere/at/all.json"}, "OUTPUT"),
    ],
)
def test_bad_input_is_one_error(arguments, code):
    with pytest.raises(NpuError) as caught:
        simulate(arguments.pop("script"), **arguments)
    assert caught.value.code == code


def test_python_m_npu_reference_runs_a_script(script):
    path = script("import sys, npu_bridge\nprint(sys.argv[1], npu_bridge.__name__)\n")
    command = [sys.executable, "-m", "npu_reference"]
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(entry for entry in sys.path if entry))
    done = subprocess.run([*command, path, "x"], env=env, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().split() == ["x", "npu_bridge"]
    assert "no session was taken over" in done.stderr.decode()
    for arguments, status in (([], 2), (["--nonsense"], 2), (["nowhere.py"], 2), (["--help"], 0)):
        assert subprocess.run(command + arguments, env=env, capture_output=True).returncode == status


@pytest.mark.parametrize("end", [at_night("sys.stdout.close()"), "os.close(1)"])
def test_a_script_that_closes_its_stdout_ends_as_python_ends_it(script, end):
    path = script(f"import os, sys\nprint('said', flush=True)\n{end}\n")
    program = "import sys\nfrom npu_reference.runtime import simulate\nsimulate(sys.argv[1])\n"
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(entry for entry in sys.path if entry))
    plain = subprocess.run([sys.executable, path], env=env, capture_output=True, timeout=300)
    done = subprocess.run([sys.executable, "-c", program, path], env=env, capture_output=True, timeout=300)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout) == (0, b"said\n"), done
