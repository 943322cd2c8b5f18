"""What a script is told that ends because of a name of the adapter: the cause, its line, what to write instead."""

from __future__ import annotations

import sys
import types

import pytest

from npu_reference.runtime import simulate
from npu_reference.runtime.scripts.missing_names import explain, version_hint

STAR = "from npu_bridge.npu_init import *\n"

SCRIPTS = {
    "a name of another module, missed after the star import": (
        STAR + "cell = DynamicRNN(4)\n",
        ["[ADAPTER_NAME] DynamicRNN", "Write: from npu_bridge.estimator.npu.npu_dynamic_rnn import DynamicRNN.", ":2"],
    ),
    "a name of the star import, without it": (
        "import npu_bridge\nconfig = npu_config_proto()\n",
        ["[ADAPTER_NAME] npu_config_proto", "Write: from npu_bridge.npu_init import *.", ":2"],
    ),
    "a misspelt name": (STAR + "\nnpu_confg_proto()\n", ["Did you mean npu_config_proto?", ":3"]),
    "a misspelt import": (
        "from npu_bridge.npu_init import npu_confg_proto\n",
        ["[ADAPTER_NAME] npu_confg_proto", "Did you mean npu_config_proto?", ":1"],
    ),
    "a misspelt attribute": (STAR + "npu_scope.keep_type_scope()\n", ["Did you mean keep_dtype_scope?", ":2"]),
    "a module that no adapter has": (
        "from npu_bridge.npu_scope import keep_dtype_scope\n",
        ["npu_bridge.npu_scope: the adapter has no such module", "It has npu_bridge.estimator.npu.npu_scope.", ":1"],
    ),
    "a misspelt module": (
        "from npu_bridge.estimator.npu.npu_confg import NPURunConfig\n",
        ["the adapter has no such module", "It has npu_bridge.estimator.npu.npu_config.", ":1"],
    ),
    "a refused function": (
        STAR + "def place():\n    return npu_plugin.malloc_shared_memory(1, [2], 0)\nplace()\n",
        ["malloc_shared_memory", "not simulated", "parameter server", ":3 in place", ":4"],
    ),
    "a device for tf.function": (
        "import npu_device\nnpu_device.open().as_default()\n",
        ["npu_device.open", "use sessions", ":2"],
    ),
}


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_a_script_is_told_the_cause_and_its_line(name, tmp_path, capsys):
    source, told = SCRIPTS[name]
    path = tmp_path / "script.py"
    path.write_text(source)
    with pytest.raises(SystemExit) as left:
        simulate(str(path), log=lambda line: None)
    error = capsys.readouterr().err
    assert left.value.code == 1
    assert error.startswith("error[ADAPTER_NAME]") and "Traceback" not in error
    assert all(text in error for text in told), error


@pytest.mark.parametrize(
    "error",
    [
        NameError("name 'numpy_array' is not defined"),
        NameError("name"),
        *[
            NameError(f"name '{name}' is not defined")
            for name in ("reduce", "sessions", "os", "train", "utils", "gelu")
        ],
        ImportError("cannot import name 'x'", name="numpy"),
        ImportError("something else", name="npu_bridge.npu_init"),
        ModuleNotFoundError("No module named 'pandas'", name="pandas"),
        ModuleNotFoundError("No module named 'npu_bridge'", name="npu_bridge"),
        ModuleNotFoundError("no name"),
        ValueError("npu_config_proto"),
        KeyboardInterrupt(),
    ],
    ids=repr,
)
def test_what_is_no_matter_of_the_adapters_names_is_left_alone(error):
    assert explain(error) is None


MISSED = {
    "module 'tensorflow.compat.v1' has no attribute 'contrib'": "1.15",
    "module 'tensorflow' has no attribute 'contrib'": "1.15",
    "No module named 'tensorflow.contrib.slim'": "1.15",
    "No module named 'tensorflow.examples'": "1.15",
    "cannot import name 'contrib' from 'tensorflow' (/usr/lib/tensorflow/__init__.py)": "1.15",
    "module 'tensorflow._api.v2.compat.v1' has no attribute 'estimator'": "up to 2.15",
    "cannot import name 'estimator' from 'tensorflow.compat.v1'": "up to 2.15",
    "cannot import name 'x' from 'tensorflow' (/home/u/.contrib/tensorflow/__init__.py)": "",
    "module 'tensorflow' has no attribute 'estimators'": "",
    "module 'mine' has no attribute 'contrib'": "",
    "No module named 'tensorflow_estimator'": "",
}


@pytest.mark.parametrize("version", ["1.15.5", "2.21.0"])
@pytest.mark.parametrize("text", sorted(MISSED))
def test_what_this_tensorflow_lacks_is_told_with_the_one_that_has_it(text, version, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", types.SimpleNamespace(__version__=version))
    told = [version_hint(kind(text)) for kind in (AttributeError, ImportError, ValueError)]
    hint = MISSED[text] if version != "1.15.5" else ""
    assert all((hint in one) if hint else not one for one in told[:2]) and not told[2]


def test_the_hint_stands_below_the_traceback(tmp_path, capsys):
    path = tmp_path / "script.py"
    path.write_text("raise AttributeError(\"module 'tensorflow' has no attribute 'contrib'\")\n")
    with pytest.raises(SystemExit):
        simulate(str(path), log=lambda line: None)
    lines = capsys.readouterr().err.splitlines()
    later = not sys.modules["tensorflow"].__version__.startswith("1.")
    assert lines[0].startswith("Traceback") and ("TensorFlow 1.15" in lines[-1]) == later
