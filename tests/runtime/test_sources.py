"""Which line of a TensorFlow 1 script is read differently under TensorFlow 2."""

from __future__ import annotations

import ast

import pytest

from npu_reference.runtime.scripts.tf1_sources import read_for

ONLY_V1 = {("Session",), ("placeholder",), ("train", "AdamOptimizer")}

#: What version 1 of a later TensorFlow does not have.
LACKING = {("contrib",), ("python",)}


def read(text):
    source = read_for(
        text.encode(), "script.py", ONLY_V1.__contains__, lambda names: names[:1] not in (("contrib",), ("python",))
    )
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


@pytest.mark.parametrize(
    "text",
    [
        "import tensorflow as tf\ntf.constant(1)\n",
        "import tensorflow.compat.v1 as tf\ntf.Session()\n",
        "import numpy as tf\ntf.Session()\n",
        "from .tensorflow import Session\nfrom . import tensorflow\ntensorflow.Session()\n",
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
    assert [node.lineno for node in source.tree.body] == [1, 4]
    assert "line 1 " in source.changed


def test_a_script_that_does_not_parse_raises_as_python_does():
    with pytest.raises(SyntaxError):
        read("def f(:\n")


@pytest.mark.parametrize(
    "written, read_as",
    [
        ("from tensorflow import keras", "from tensorflow.compat.v1 import keras"),
        ("from tensorflow.keras import backend as K", "from tensorflow.compat.v1.keras import backend as K"),
        ("from tensorflow.nn import relu, tanh", "from tensorflow.compat.v1.nn import relu, tanh"),
        ("from tensorflow.python.keras import layers", "from tensorflow.compat.v1.keras import layers"),
        ("from tensorflow.python.framework import ops", "from tensorflow.python.framework import ops"),
        ("import tensorflow.keras as k, os", "import tensorflow.compat.v1.keras as k, os"),
        ("def f():\n    import tensorflow as tf", "def f():\n    import tensorflow.compat.v1 as tf"),
        ("from tensorflow.nn import *", "from tensorflow.compat.v1.nn import *"),
        ("import tensorflow.nn", "import tensorflow.nn"),
        ("import tensorflow.compat.v2 as t", "import tensorflow.compat.v2 as t"),
        ("import tensorflow.contrib.slim as slim", "import tensorflow.contrib.slim as slim"),
        ("from tensorflow import contrib", "from tensorflow import contrib"),
    ],
)
def test_every_import_of_what_version_1_has_is_changed(written, read_as):
    used = "import tensorflow as T\nT.Session()\n"
    source, _ = read(f"{used}{written}\n")
    expected = ast.parse(f"{used.replace('tensorflow', 'tensorflow.compat.v1')}{read_as}\n")
    assert ast.dump(source.tree) == ast.dump(expected)
    compile(source.tree, "script.py", "exec")


@pytest.mark.parametrize(
    "text, said",
    [
        ("from tensorflow import Session\n", "'from tensorflow.compat.v1 import Session'"),
        ("from tensorflow import train\ntrain.AdamOptimizer\n", "'from tensorflow.compat.v1 import train'"),
        ("def f():\n    import os, tensorflow as t\n    t.placeholder\n", "'import tensorflow.compat.v1 as t'"),
    ],
)
def test_names_are_found_however_they_were_imported(text, said):
    assert said in read(text)[0].changed
