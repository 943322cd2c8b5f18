"""A notebook is simulated cell by cell, without the lines of IPython; errors name cell and line."""

from __future__ import annotations

import sys

import pytest

from npu_reference.errors import NpuError
from npu_reference.runtime import simulate
from tests.lint.notebook import TEXT, notebook

STAR = "from npu_bridge.npu_init import *\n"


def run(tmp_path, *texts, **more):
    path = tmp_path / "train.ipynb"
    path.write_bytes(notebook(*texts, **more))
    said = []
    simulate(str(path), log=said.append)
    return "\n".join(said)


def test_cells_share_their_names_and_run_on_the_device(tmp_path, capsys):
    said = run(
        tmp_path,
        "%matplotlib inline\nimport tensorflow as tf\n" + STAR,
        TEXT,
        "from __future__ import annotations\nx = tf.placeholder(tf.float32, [2])\n!nvidia-smi\ny = tf.nn.relu(x) + 1.0",
        "with tf.Session(config=npu_config_proto()) as sess:\n    z = sess.run(y, {x: [-1.0, 3.0]}).tolist()",
        "print(z, __name__)",
    )
    assert capsys.readouterr().out == "[1.0, 4.0] __main__\n"
    assert "2 lines not executed" in said and "1 GEOP" in said
    if not sys.modules["tensorflow"].__version__.startswith("1."):
        assert "line 2 of cell 1 is read as 'import tensorflow.compat.v1 as tf'" in said


@pytest.mark.parametrize(
    "text, told",
    [
        ("x = 1\n%time\n1 / 0\n", ['train.ipynb, cell 3", line 3', "1 / 0", "ZeroDivisionError"]),
        ("x = 1\n\nx = (\n", ['train.ipynb, cell 3", line ', "SyntaxError"]),
        ("x = 1\nreturn x\n", ['train.ipynb, cell 3", line 2', "SyntaxError"]),
        (STAR + "\nnpu_confg_proto()\n", ["train.ipynb, cell 3:3", "Did you mean npu_config_proto?"]),
    ],
    ids=["error", "syntax", "return", "name"],
)
def test_an_error_names_its_cell_and_line(tmp_path, capsys, text, told):
    with pytest.raises(SystemExit) as left:
        run(tmp_path, "a = 1\n", TEXT, text)
    error = capsys.readouterr().err
    assert left.value.code == 1 and all(part in error for part in told), error


@pytest.mark.parametrize("data", [b"{", b"{}", b'{"worksheets": []}'])
def test_what_is_no_notebook_is_one_error(tmp_path, data):
    path = tmp_path / "a.ipynb"
    path.write_bytes(data)
    with pytest.raises(NpuError, match=r"SCRIPT_FILE.*notebook"):
        simulate(str(path), log=lambda line: None)


def test_a_notebook_of_another_language_is_refused(tmp_path):
    with pytest.raises(NpuError, match="SCRIPT_FILE"):
        run(tmp_path, "library(x)", language="R")
