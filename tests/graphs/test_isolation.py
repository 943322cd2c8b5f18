"""Reading graphs needs no TensorFlow and disturbs none that is there."""

from __future__ import annotations

import subprocess
import sys

import npu_reference

_ROOT = npu_reference.__file__.rsplit("npu_reference", 1)[0]


def _run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {_ROOT!r})\n{code}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout.strip()


def test_importing_graphs_leaves_tensorflow_and_numpy_alone() -> None:
    assert _run("import npu_reference.graphs; print({'tensorflow', 'numpy'} & set(sys.modules) or 'none')") == "none"


def test_importing_graphs_loads_few_modules() -> None:
    # Modules stand for time, which a busy machine cannot measure. A bare interpreter has about 60 of its own.
    count = int(_run("before = len(sys.modules); import npu_reference.graphs; print(len(sys.modules) - before)"))
    assert count < 150


def test_importing_graphs_reads_no_data_file() -> None:
    code = "import npu_reference.graphs.proto as p; import npu_reference.graphs; print(len(p._STATE))"
    assert _run(code) == "0"


def test_the_private_classes_stay_out_of_the_default_pool() -> None:
    code = (
        "from npu_reference.graphs import message_class\n"
        "from google.protobuf import descriptor_pool\n"
        "message_class('GraphDef')\n"
        "try:\n"
        "    descriptor_pool.Default().FindMessageTypeByName('tensorflow.GraphDef'); print('found')\n"
        "except KeyError:\n"
        "    print('absent')\n"
    )
    assert _run(code) == "absent"
