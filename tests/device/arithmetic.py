"""What the tests of this folder share: sessions of the device with device precision on."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import tensorflow.compat.v1 as tf

from npu_reference.runtime.config import current_overrides, overriding
from npu_reference.runtime.sessions.interception import engine_of


def config(**options):
    """A config of a device session, without grappler."""
    made = tf.ConfigProto()
    rewrite = made.graph_options.rewrite_options
    rewrite.remapping = rewrite.OFF
    rewrite.disable_meta_optimizer = True
    entry = rewrite.custom_optimizers.add(name="NpuOptimizer")
    for name, value in {"mix_compile_mode": True, **options}.items():
        if isinstance(value, bool):
            entry.parameter_map[name].b = value
        elif isinstance(value, int):
            entry.parameter_map[name].i = value
        else:
            entry.parameter_map[name].s = value.encode()
    return made


@contextmanager
def precise(**options):
    """A session of the default graph that computes at the dtypes of its options, variables initialised."""
    with overriding(current_overrides()._replace(device_precision="on")):
        session = tf.Session(config=config(**options))
    with session:
        session.run(tf.global_variables_initializer())
        yield session


def force_fp16(**options):
    """Everything at float16 that can be; only inference may (A6)."""
    return precise(precision_mode="force_fp16", graph_run_mode=0, **options)


def status(session):
    """The overflow flag of a session's device."""
    return engine_of(session).numerics.status


def decided(session):
    """Every decision so far, by operator."""
    found = {}
    for assignment in engine_of(session).numerics.assignments:
        found.update({node.node: node for node in assignment.nodes})
    return found


def grid(values):
    """Values rounded to float16's, in a float32 array."""
    return np.asarray(values, np.float32).astype(np.float16).astype(np.float32)


def draw(*shape, seed=0, low=-2.0, high=2.0):
    """Numbers of float16, in a float32 array."""
    return grid(np.random.RandomState(seed).uniform(low, high, shape))
