"""Which error ends a run in which operators wait: the one that plain TensorFlow raises, and what it leaves is left.

Every kind of waiting and every kind of end once; `benchmarks/errors.py` runs all of them together.
"""

from __future__ import annotations

import pytest
import tensorflow.compat.v1 as tf

from npu_reference.runtime.execution.inlining import must_dissolve
from npu_reference.runtime.observing.trace import process_trace
from tests.depth import at_night
from tests.runtime.comparing import TF1, npu
from tests.runtime.waiting import ENDS, FAILURES, WAITS, outcome, same

pytestmark = pytest.mark.between_at_night


def scenes():
    """(what waits, what ends it, relation, mode), one relation and one mode for each."""
    found = [(waits, "device", ("beside", "joined")[number % 2]) for number, waits in enumerate(sorted(WAITS))]
    for number, ends in enumerate(sorted(FAILURES)):
        found.append(("FIFOQueue.dequeue", ends, ("joined", "beside")[number % 2]))
    found += [("nothing", ends, "joined") for ends in sorted(FAILURES) if "function" in ends or "loop" in ends]
    found += [(waits, ends, "beside") for waits in ("FIFOQueue.dequeue", "FIFOQueue.enqueue") for ends in sorted(ENDS)]
    return [(*scene, ("mixed", "full")[number % 2]) for number, scene in enumerate(dict.fromkeys(found))]


def asked(scene):
    """A scene; at night where TensorFlow 1.15 can stand still: its prefetching thread is sometimes gone too early."""
    stands_still = TF1 and scene[0] == "Dataset of a generator, prefetched"
    return at_night(*scene) if stands_still else scene


@pytest.mark.parametrize("waits,ends,relation,mode", [asked(scene) for scene in scenes()])
def test_a_run_in_which_something_waits_ends_as_in_tensorflow(waits, ends, relation, mode):
    expected, got = (outcome(of, waits, ends, relation) for of in ("plain", mode))
    assert expected.error != "hang"
    assert same(got, expected, waits, ends), f"{got}\n{expected}"


def planned(fetches, feeds=None):
    """Whether the calls of a run of these are taken apart."""
    process_trace().clear()
    with tf.Session(config=npu()) as session:
        session.run(tf.global_variables_initializer())
        session.run(fetches, feeds)
    return must_dissolve(process_trace().runs[-1].partition)


def test_a_geop_is_one_call_unless_it_could_fail_while_something_waits():
    with tf.Graph().as_default():
        data = tf.data.Dataset.from_tensors([1.0, 2.0]).repeat()
        element = tf.data.make_one_shot_iterator(data).get_next()
        weight = tf.get_variable("weight", [2], use_resource=True)
        queue = tf.FIFOQueue(9, [tf.float32], [[2]])
        filled = queue.enqueue(tf.exp(weight))
        waits = queue.dequeue()
        host = tf.py_func(lambda a: a, [tf.reduce_sum(element * weight)], tf.float32)
        assert not planned([tf.exp(host)]), "a data set that only yields late ends no run"
        assert not planned(filled), "what fails before the operator waits is no different"
        with tf.control_dependencies([filled]):
            after = queue.dequeue()
        assert not planned(tf.exp(after)), "all that a GEOP holds comes after what waits"
        assert planned([filled, tf.reduce_sum(waits * weight)])
