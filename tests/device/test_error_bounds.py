"""Each operator errs against float64 no more than the table allows, at the dtype its mode gives it.

The table is ``error_bounds.csv``: operator, mode, dtypes of the first float input and output, and the bound: ``ulps``
of the result at the output's dtype, plus ``sums`` times 2**-24 of what the operator gives on absolute values, which
is how far apart two orders of summation at float32 may be. 0.501 is one rounding of what float32 computes; 0 is
exact; 4 at float32 allows for TensorFlow's kernels of functions; bounds of high_performance are assumed
(docs/numerics.md).
"""

from __future__ import annotations

import csv
import os

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from tests.device.arithmetic import decided, precise
from tests.device.operators import OPERATORS, build

with open(os.path.join(os.path.dirname(__file__), "error_bounds.csv"), newline="", encoding="utf-8") as _file:
    ROWS = list(csv.DictReader(_file))

MODES = list(dict.fromkeys(row["mode"] for row in ROWS))

#: Mantissa bits, and the exponent of the smallest positive number.
_PRECISION = {"float16": (10, -24), "float32": (23, -149)}


def _values(operators, dtype, magnitude=False):
    with tf.Graph().as_default():
        results = {name: build(name, dtype, magnitude) for name in operators}
        with tf.Session() as session:
            return session.run(results)


@pytest.fixture(scope="module")
def truth():
    return _values(OPERATORS, np.float64), _values(OPERATORS, np.float64, magnitude=True)


def _ulp(values, dtype):
    bits, smallest = _PRECISION[dtype]
    exponent = np.floor(np.log2(np.maximum(np.abs(values), 1e-45)))
    return np.exp2(np.maximum(exponent - bits, smallest))


def _session(mode):
    name, _, implementation = mode.partition("+")
    options = {"precision_mode": name, "graph_run_mode": 0 if name == "force_fp16" else 1}
    if implementation:
        options["op_select_implmode"] = implementation
    return precise(**options)


def _first_float(dtypes):
    return next(dtype for dtype in dtypes if dtype.startswith("float"))


@pytest.mark.parametrize("mode", MODES)
def test_an_operator_errs_no_more_than_its_bound(mode, truth):
    exact, magnitude = truth
    rows = [row for row in ROWS if row["mode"] == mode]
    results = {row["operator"]: build(row["operator"], np.float32) for row in rows}
    with _session(mode) as session:
        found = session.run(results)
        decisions = decided(session)
    wrong = []
    for row in rows:
        name = row["operator"]
        decision = decisions[results[name].op.name]
        dtype = _first_float(decision.outputs)
        assert f"{_first_float(decision.inputs)}>{dtype}" == row["dtypes"], name
        error = np.abs(found[name].astype(np.float64) - exact[name])
        bound = float(row["ulps"]) * _ulp(exact[name], dtype) + float(row["sums"]) * 2.0**-24 * np.abs(magnitude[name])
        if (error > bound).any():
            wrong.append(f"{name}: {error.max()} against {bound.flat[error.argmax()]}")
    assert not wrong


def test_the_table_has_every_operator_in_every_mode_that_takes_it():
    covered = {(row["operator"], row["mode"]) for row in ROWS}
    # must_keep_origin_dtype has no float32 kernel for these, and no session would run.
    refused = {"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", "DepthwiseConv2dNative"}
    missing = [pair for pair in ((name, mode) for name in OPERATORS for mode in MODES) if pair not in covered]
    assert set(missing) == {(name, "must_keep_origin_dtype") for name in refused}
