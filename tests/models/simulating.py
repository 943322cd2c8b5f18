"""Recorded models on the simulated device, for tests of small ones and of those of full size."""

from __future__ import annotations

import tensorflow.compat.v1 as tf

from npu_reference.runtime.observing.trace import process_trace
from tests.models import recorded_models

VERSION = tuple(int(part) for part in tf.__version__.split(".")[:2])

MODELS = ["resnet50", "bert_base", "yolo", "lstm", "text_pipeline"]

#: TensorFlow 1.15 cannot import what 2.21 recorded: VarHandleOp, MatMul and datasets have attributes it does not know.
RECORDINGS = [""] if VERSION[0] == 1 else ["", "_tf221"]


def plain():
    config = tf.ConfigProto(allow_soft_placement=True)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


def simulated(**options):
    config = plain()
    optimizer = config.graph_options.rewrite_options.custom_optimizers.add()
    optimizer.name = "NpuOptimizer"
    for name, value in {"use_off_line": True, "mix_compile_mode": True, **options}.items():
        if isinstance(value, bool):
            optimizer.parameter_map[name].b = value
        else:
            optimizer.parameter_map[name].s = value.encode()
    return config


def on_device(name, folder, **options):
    """The values on the simulated device, and whether each run of the sidecar had a GEOP."""
    process_trace().clear()
    values = recorded_models.run(name, simulated(**options), str(folder))
    _, sidecar = recorded_models.load(name)
    names = [run.name for run in sidecar.runs for _ in range(run.repeat)] + ["variables"]
    records = process_trace().runs
    assert len(records) == len(names), "some run was not taken over: TensorFlow alone gave its values"
    return values, {run: record.geops > 0 for run, record in zip(names, records)}


def must_offload(name):
    """The runs of which something can be offloaded: all but initialisation together with an iterator's."""
    _, sidecar = recorded_models.load(name)
    return {run.name for run in sidecar.runs if not any("MakeIterator" in target for target in run.targets)}
