"""What a script is told that ends because of a name of the adapter: the cause, its line, what to write instead."""

from __future__ import annotations

import pytest

from npu_reference.runtime import simulate
from npu_reference.runtime.scripts.missing_names import explain

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
