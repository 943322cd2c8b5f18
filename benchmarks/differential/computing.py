"""What each kind of simple statement computes, in TensorFlow."""

from __future__ import annotations

import numpy as np
import tensorflow.compat.v1 as tf

DTYPES = {"v": tf.float32, "w": tf.float32, "i": tf.int32, "b": tf.bool, "s": tf.string}
SHAPES = {"v": [3], "w": [None], "i": [], "b": [], "s": []}
DEFAULTS = {"v": [0.5, -1.0, 2.0], "w": [1.0, -0.25], "i": 2, "b": True, "s": "a"}


def constant(kind, value=None):
    """A constant of a type."""
    return tf.constant(DEFAULTS[kind] if value is None else value, DTYPES[kind], SHAPES["v"] if kind == "v" else None)


def typed(kind, tensor):
    """A tensor that says the shape that its type has, and no more."""
    if kind == "w" and tensor.shape.ndims is not None and tensor.shape.as_list() != [None]:
        return tf.placeholder_with_default(tensor, [None])
    tensor.set_shape(SHAPES[kind])
    return tensor


def copied(kind, tensor):
    """The value of a variable now, not a view of its buffer."""
    return tf.strings.join([tensor, ""]) if kind == "s" else tf.add(tensor, tf.zeros_like(tensor))


MATH = {
    "add": tf.add,
    "sub": tf.subtract,
    "mul": lambda a, b: tf.tanh(a) * b,
    "tanh": tf.tanh,
    "square": lambda a: tf.square(tf.sin(a)),
    "softmax": tf.nn.softmax,
    "reverse": lambda a: tf.reverse(a, [0]),
    "outer": lambda a, b: tf.reshape(tf.matmul(tf.tanh(tf.reshape(a, [3, 1])) * [[1.0, 0.5, 0.25]], b[:, None]), [3]),
    "choose": lambda p, a, b: tf.where(tf.fill([3], p), a, b),
    "float": lambda i: tf.cast(i, tf.float32) * 0.25 + [0.0, 1.0, 2.0],
    "total": lambda w: tf.reduce_sum(w) + tf.zeros([3]),
    "pad": lambda w: tf.concat([w, [0.0, 1.0, -1.0]], 0)[:3],
    "grow": lambda v, w: tf.concat([w, v], 0)[-7:],
    "rest": lambda w: w[1:],
    "distinct": lambda w: tf.unique(w)[0],
    "some": lambda v: tf.boolean_mask(v, v > 0.0),
    "round": lambda v: tf.cast(tf.reduce_sum(tf.tanh(v)) * 4.0, tf.int32),
    "inc": lambda i: i + 1,
    "plus": tf.add,
    "rem": lambda i: tf.floormod(i, 3),
    "pick": tf.where,
    "count": tf.size,
    "length": tf.strings.length,
    "hash": lambda s: tf.cast(tf.strings.to_hash_bucket_fast(s, 5), tf.int32),
    "less": tf.less,
    "positive": lambda v: tf.reduce_sum(v) > 0.0,
    "not": tf.logical_not,
    "both": tf.logical_and,
    "same": tf.equal,
    "text": tf.as_string,
    "join": lambda a, b: tf.strings.substr(tf.strings.join([a, b]), 0, tf.minimum(tf.strings.length(a) + 3, 20)),
    "cut": lambda s: tf.strings.substr(s, 0, tf.minimum(tf.strings.length(s), 2)),
}

PYTHON = {
    "double": lambda a: a * np.float32(2),
    "flip": lambda a: a[::-1].copy(),
    "tail": lambda a: a[1:].copy(),
    "odd": lambda a: np.bool_(a % 2 == 1),
    "next": lambda a: np.int32(a + 1),
    "shout": lambda a: a + b"!" if len(a) < 20 else a,
}


def _refuse(a, bound):
    raise ValueError("refused")


def _assert(value, number, bound):
    with tf.control_dependencies([tf.Assert(tf.less(number, bound), ["too many", number])]):
        return tf.identity(value)


def _unwritten(value, number, bound):
    array = tf.TensorArray(tf.float32, size=bound + 1, element_shape=[3], clear_after_read=False)
    array = array.write(tf.floormod(number, bound + 1), value)
    return tf.reduce_sum(array.stack(), 0)


def _python(value, number, bound):
    def work(a, n):
        if n >= bound:
            raise ValueError("refused")
        return a

    return tf.py_func(work, [value, number], tf.float32)


#: What fails, unless what is read is harmless.
FAILURES = {
    "assert": _assert,
    "number": lambda v, s, bound: v + tf.strings.to_number(s),
    "gather": lambda v, i, bound: v + tf.gather(v, i + bound),
    "numerics": lambda v, bound: tf.check_numerics(tf.log(v), "a log"),
    "python": _python,
    "reshape": lambda v, w, bound: v + tf.reshape(w, [3]),
    "divide": lambda i, j, bound: tf.floordiv(i, j - bound),
    "slice": lambda w, i, bound: tf.slice(w, [i], [bound]),
    "unwritten": _unwritten,
    "example": lambda v, s, bound: v + tf.parse_single_example(s, {"x": tf.FixedLenFeature([], tf.float32, 0.0)})["x"],
    "regex": lambda s, t, bound: tf.strings.regex_replace(s, tf.strings.join([t, "("] if bound > 1 else [t]), "x"),
}
