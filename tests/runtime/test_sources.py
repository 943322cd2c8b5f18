"""Which line of a TensorFlow 1 script is read differently under TensorFlow 2."""

from __future__ import annotations

import ast

import pytest

from npu_reference.runtime.scripts.sources import read_for

ONLY_V1 = {("Session",), ("placeholder",), ("train", "AdamOptimizer")}


def read(text):
    source = read_for(text.encode(), "script.py", ONLY_V1.__contains__)
    imports = [ast.dump(node) for node in ast.walk(source.tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    return source, imports


@pytest.mark.parametrize(
    "text, name",
    [
        ("import tensorflow as tf\ntf.Session()\n", "tf.Session"),
        ("import os, tensorflow as tf\ndef f():\n    return tf.train.AdamOptimizer(0.1)\n", "tf.train.AdamOptimizer"),
        ("import tensorflow\ntensorflow.placeholder(1)\n", "tf.placeholder"),
        ("'''Doc.'''\nfrom __future__ import division\nimport tensorflow as T\nx = T.Session\n", "tf.Session"),
    ],
)
def test_names_of_version_1_change_the_import(text, name):
    source, imports = read(text)
    assert name in source.changed
    assert sum("tensorflow.compat.v1" in one for one in imports) == 1
    compile(source.tree, "script.py", "exec")
    calls = [node for node in source.tree.body if "disable_v2_behavior" in ast.dump(node)]
    assert len(calls) == 1


@pytest.mark.parametrize(
    "text",
    [
        "import tensorflow as tf\ntf.constant(1)\n",
        "import tensorflow.compat.v1 as tf\ntf.Session()\n",
        "import numpy as tf\ntf.Session()\n",
        "import tensorflow as tf\nother.Session()\nmy.tf.placeholder\n",
        "x = 1\n",
    ],
)
def test_other_scripts_are_read_as_they_are(text):
    source, _ = read(text)
    assert source.changed == ""
    assert ast.dump(source.tree) == ast.dump(ast.parse(text))


def test_the_lines_of_the_script_keep_their_numbers():
    text = "import tensorflow as tf\n\n\nsession = tf.Session()\n"
    source, _ = read(text)
    assert [node.lineno for node in source.tree.body] == [1, 1, 4]
    assert "line 1 " in source.changed


def test_a_script_that_does_not_parse_raises_as_python_does():
    with pytest.raises(SyntaxError):
        read("def f(:\n")
