"""Our graph classes and TensorFlow's live in one process, whichever comes first, and mean the same."""

from __future__ import annotations

import subprocess
import sys

import pytest

import npu_reference
from tests.depth import at_night

pytestmark = [pytest.mark.between_at_night, pytest.mark.newest_at_night]

_ROOT = npu_reference.__file__.rsplit("npu_reference", 1)[0]

_OURS = "from npu_reference.graphs import GraphBuilder, graph_from_def; GraphBuilder().op('NoOp', 'n')\n"
_THEIRS = "import tensorflow as tf; import tensorflow.compat.v1 as v1\n"
_EXCHANGE = """
with tf.Graph().as_default() as g:
    x = v1.placeholder(tf.float32, [2], name="x")
    v = v1.Variable([1.0, 2.0], use_resource=True, name="v")
    y = v1.while_loop(lambda i: i < 3, lambda i: i + 1, [0], name="w")
    v1.py_func(lambda a: a, [x + v], tf.float32, name="p")
    theirs = g.as_graph_def()
ours = graph_from_def(theirs)
for node in ours.nodes:
    op = g.get_operation_by_name(node.name)
    assert [t.dtype.as_datatype_enum for t in op.outputs] == [d.number for d in ours.output_dtypes(node.id)], node
    assert [t.op.name for t in op.inputs] == [
        ours.nodes[ours.edges.src[e]].name for e in ours.in_edges(node.id) if not ours.edges.is_control(e)], node
back = type(theirs)()
back.ParseFromString(ours.to_bytes())
assert back == theirs
with tf.Graph().as_default():
    tf.import_graph_def(back, name="")
print("same", len(ours))
"""


@pytest.mark.parametrize("first", ["ours", at_night("theirs")])
def test_either_may_be_imported_first_and_graphs_pass_between_them(first: str) -> None:
    start = _OURS + _THEIRS if first == "ours" else _THEIRS + _OURS
    code = f"import sys; sys.path.insert(0, {_ROOT!r})\n" + start + _EXCHANGE
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout.startswith("same "), done.stderr
