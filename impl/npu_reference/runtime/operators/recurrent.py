"""What the recurrent layers of the device compute: DynamicRnn (LSTM), DynamicGruV2, DynamicAUGRU, BasicLSTMCell.

Gates of an LSTM stand in the order i, j, f, o in weights ``[input + hidden, 4 hidden]``; those of a GRU in the order z
(update), r (reset), h (new) in two weights, ``[input, 3 hidden]`` and ``[hidden, 3 hidden]``, with two biases, the
reset gate acting on what the hidden state gives (``reset_after``). What is beyond a sequence's length gives 0 in ``y``
and leaves the state as it is, as ``tf.nn.dynamic_rnn`` does (assumed of the device).
"""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

from npu_reference.runtime.operators.calls import attribute, call, gradient, loop
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["augru", "gru", "lstm", "lstm_cell"]

_LSTM_RESULTS = ("y", "output_h", "output_c", "i", "j", "f", "o", "tanhc")
_LSTM_GRADS = ("dw", "db", "dx", "dh_prev", "dc_prev")
_GRU_GRADS = ("dw_input", "dw_hidden", "db_input", "db_hidden", "dx", "dh_prev")
_GRU_RESULTS = ("y", "output_h", "update", "reset", "new", "hidden_new")
_AUGRU_RESULTS = ("y", "output_h", "update", "update_att", "reset", "new", "hidden_new")

#: The order of a GRU's gates, in the terms of its `gate_order`.
_UPDATE_FIRST = "zrh"


def lstm(
    x: Any,
    w: Any,
    b: Any,
    init_h: Any,
    init_c: Any,
    seq_length: Any = None,
    forget_bias: float = 0.0,
    time_major: bool = True,
    name: str = "",
) -> Tuple[Any, ...]:
    """An LSTM over a sequence: DynamicRnnV2, or DynamicRnn with lengths.

    Args:
        x: ``[time, batch, input]``; ``[batch, time, input]`` where it is not time-major.
        w, b: ``[input + hidden, 4 hidden]`` and ``[4 hidden]``.
        init_h, init_c: ``[1, batch, hidden]``.
        seq_length: ``[batch]``, int32; every step counts without it.
        forget_bias: added to the forget gate.

    Returns:
        y, output_h, output_c, i, j, f, o, tanhc: all ``[time, batch, hidden]`` (or as ``x``), the gates activated.
    """
    inputs = [("x", x), ("w", w), ("b", b)]
    op = "DynamicRnnV2"
    if seq_length is not None:
        op = "DynamicRnn"
        inputs.append(("seq_length", seq_length))
    inputs += [("init_h", init_h), ("init_c", init_c)]
    shape = _states(x, w, 4)
    form = (float(forget_bias), time_major)
    attrs = {"time_major": time_major}
    return call(op, inputs, _LSTM_RESULTS, _Lstm(*form).forward, key=form, shapes=[shape] * 8, attrs=attrs, name=name)


class _Lstm:
    """An LSTM's arithmetic; TensorFlow's BlockLSTM has the same gates in the same order."""

    def __init__(self, forget_bias: float, time_major: bool) -> None:
        self.forget_bias = forget_bias
        self.turned = _Turned(time_major)

    def forward(self, x: Any, w: Any, b: Any, *rest: Any) -> List[Any]:
        v1 = tensorflow().v1
        lengths, (init_h, init_c) = (rest[0] if len(rest) == 3 else None), rest[-2:]
        x = self.turned(x)
        none = v1.zeros([v1.shape(b)[0] // 4], x.dtype)
        i, c, f, o, j, tanhc, h = v1.raw_ops.BlockLSTM(
            seq_len_max=v1.shape(x, out_type=v1.int64)[0],
            x=x,
            cs_prev=init_c[0],
            h_prev=init_h[0],
            w=w,
            wci=none,
            wcf=none,
            wco=none,
            b=b,
            forget_bias=self.forget_bias,
            cell_clip=-1.0,
            use_peephole=False,
        )
        y = h
        if lengths is not None:
            steps = _Steps(lengths, h)
            y = steps.only(h)
            h, c = steps.kept(h, init_h[0]), steps.kept(c, init_c[0])
        return [self.turned(tensor) for tensor in (y, h, c, i, j, f, o, tanhc)]

    def backward(self, x: Any, w: Any, b: Any, y: Any, init_h: Any, init_c: Any, *rest: Any) -> List[Any]:
        v1 = tensorflow().v1
        del y
        h, c, dy, dh, dc, i, j, f, o, tanhc = (self.turned(tensor) for tensor in rest[:10])
        lengths = rest[10] if len(rest) > 10 else None
        x = self.turned(x)
        none = v1.zeros([v1.shape(b)[0] // 4], x.dtype)
        past_h = past_c = None
        if lengths is None:
            dh = dy + dh
        else:
            steps = _Steps(lengths, h)
            (dh, past_h), (dc, past_c) = steps.gathered(dh, also=dy), steps.gathered(dc)
        found = v1.raw_ops.BlockLSTMGrad(
            seq_len_max=v1.shape(x, out_type=v1.int64)[0],
            x=x,
            cs_prev=init_c[0],
            h_prev=init_h[0],
            w=w,
            wci=none,
            wcf=none,
            wco=none,
            b=b,
            i=i,
            cs=c,
            f=f,
            o=o,
            ci=j,
            co=tanhc,
            h=h,
            cs_grad=dc,
            h_grad=dh,
            use_peephole=False,
        )
        dh_prev, dc_prev = found.h_prev_grad, found.cs_prev_grad
        if past_h is not None:
            dh_prev, dc_prev = dh_prev + past_h, dc_prev + past_c
        dx = self.turned(found.x_grad)
        return [found.w_grad, found.b_grad, dx, v1.expand_dims(dh_prev, 0), v1.expand_dims(dc_prev, 0)]


@gradient("DynamicRnnV2")
def _lstm_grad(op: Any, *grads: Any) -> List[Any]:
    dw, db, dx, dh_prev, dc_prev = _lstm_backward(op, grads, None)
    return [dx, dw, db, dh_prev, dc_prev]


@gradient("DynamicRnn")
def _lstm_grad_with_lengths(op: Any, *grads: Any) -> List[Any]:
    dw, db, dx, dh_prev, dc_prev = _lstm_backward(op, grads, op.inputs[3])
    return [dx, dw, db, None, dh_prev, dc_prev]


def _lstm_backward(op: Any, grads: Sequence[Any], lengths: Any) -> Sequence[Any]:
    """As on the device, gradients of y, output_h and output_c count, and none of the gates."""
    x, w, b = op.inputs[:3]
    init_h, init_c = op.inputs[-2:]
    names = ("x", "w", "b", "y", "init_h", "init_c", "h", "c", "dy", "dh", "dc", "i", "j", "f", "o", "tanhc")
    y, h, c, *gates = op.outputs
    inputs = list(zip(names, (x, w, b, y, init_h, init_c, h, c, *grads[:3], *gates)))
    if lengths is not None:
        inputs.append(("seq_length", lengths))
    form = (0.0, attribute(op, "time_major"))  # the forget gate has been recorded
    shapes = [tensor.get_shape() for tensor in (w, b, x, init_h, init_c)]
    return call("DynamicRnnGrad", inputs, _LSTM_GRADS, _Lstm(*form).backward, key=form, shapes=shapes)


def gru(
    x: Any,
    weight_input: Any,
    weight_hidden: Any,
    bias_input: Any,
    bias_hidden: Any,
    seq_length: Any,
    init_h: Any,
    gate_order: str = _UPDATE_FIRST,
    time_major: bool = True,
    name: str = "",
) -> Tuple[Any, ...]:
    """A GRU over a sequence: DynamicGruV2.

    Args:
        x: ``[time, batch, input]``; ``[batch, time, input]`` where it is not time-major.
        weight_input, weight_hidden: ``[input, 3 hidden]`` and ``[hidden, 3 hidden]``.
        bias_input, bias_hidden: ``[3 hidden]``.
        seq_length: ``[batch]``, int32.
        init_h: ``[batch, hidden]``.
        gate_order: ``zrh`` or ``rzh``.

    Returns:
        y, output_h, update, reset, new, hidden_new: all ``[time, batch, hidden]`` (or as ``x``).
    """
    names = ("x", "weight_input", "weight_hidden", "bias_input", "bias_hidden", "seq_length", "init_h")
    tensors = (x, weight_input, weight_hidden, bias_input, bias_hidden, seq_length, init_h)
    return _gru_call("DynamicGruV2", names, tensors, _GRU_RESULTS, gate_order, time_major, name)


def augru(
    x: Any,
    weight_input: Any,
    weight_hidden: Any,
    weight_att: Any,
    bias_input: Any,
    bias_hidden: Any,
    seq_length: Any,
    init_h: Any,
    gate_order: str = _UPDATE_FIRST,
    time_major: bool = True,
    name: str = "",
) -> Tuple[Any, ...]:
    """A GRU whose update gate attention scales by ``1 - weight_att``: DynamicAUGRU.

    Args:
        weight_att: ``[time, batch]``, or ``[batch, time]`` where it is not time-major; the others as :func:`gru`.

    Returns:
        y, output_h, update, update_att, reset, new, hidden_new: all ``[time, batch, hidden]`` (or as ``x``). The
        arithmetic is that of the cell in G. Zhou et al., "Deep Interest Evolution Network" (arXiv 1809.03672), section
        4.3, with the gate that keeps the old state called update.
    """
    names = ("x", "weight_input", "weight_hidden", "weight_att", "bias_input", "bias_hidden", "seq_length", "init_h")
    tensors = (x, weight_input, weight_hidden, weight_att, bias_input, bias_hidden, seq_length, init_h)
    return _gru_call("DynamicAUGRU", names, tensors, _AUGRU_RESULTS, gate_order, time_major, name)


def _gru_call(
    op: str,
    names: Sequence[str],
    tensors: Sequence[Any],
    results: Sequence[str],
    gate_order: str,
    time_major: bool,
    name: str,
) -> Tuple[Any, ...]:
    form = (op == "DynamicAUGRU", gate_order == _UPDATE_FIRST, time_major)
    body = _Gru(*form).forward
    attrs = {"update_first": form[1], "time_major": time_major}
    shapes = [_states(tensors[0], tensors[2], 3)] * len(results)
    return call(op, list(zip(names, tensors)), results, body, key=form, shapes=shapes, attrs=attrs, name=name)


class _Gru:
    """A GRU's arithmetic, with attention or without."""

    def __init__(self, attended: bool, update_first: bool, time_major: bool) -> None:
        self.attended = attended
        self.update_first = update_first
        self.turned = _Turned(time_major)

    def _gates(self, both: Any) -> List[Any]:
        """Update, reset and new, of what holds all three side by side."""
        first, second, new = tensorflow().v1.split(both, 3, axis=-1)
        return [first, second, new] if self.update_first else [second, first, new]

    def _joined(self, update: Any, reset: Any, new: Any) -> Any:
        gates = [update, reset, new] if self.update_first else [reset, update, new]
        return tensorflow().v1.concat(gates, axis=-1)

    def forward(self, x: Any, weight_input: Any, weight_hidden: Any, *rest: Any) -> List[Any]:
        v1 = tensorflow().v1
        attention = self.turned(rest[0], 2) if self.attended else None
        bias_input, bias_hidden, lengths, init_h = rest[-4:]
        x = self.turned(x)
        time = v1.shape(x)[0]
        given = v1.tensordot(x, weight_input, 1) + bias_input
        size = v1.shape(weight_hidden)[0]
        weight = v1.ones([1, 1], x.dtype) if attention is None else attention
        lists = [_reserved(time, x.dtype) for _ in range(6)]

        def turn(t: Any, time: Any, h: Any, given: Any, weight: Any, kernel: Any, bias: Any, lengths: Any, *lists: Any):
            update, reset, new = self._gates(given[t])
            hidden_update, hidden_reset, hidden_new = self._gates(v1.matmul(h, kernel) + bias)
            update, reset = v1.sigmoid(update + hidden_update), v1.sigmoid(reset + hidden_reset)
            new = v1.tanh(new + reset * hidden_new)
            scaled = update
            if attention is not None:
                scaled = update * (1.0 - v1.expand_dims(weight[t], 1))
            going = v1.cast(v1.expand_dims(t < lengths, 1), h.dtype)
            after = going * (scaled * h + (1.0 - scaled) * new) + (1.0 - going) * h
            written = [after, update, scaled, reset, new, hidden_new]
            lists = tuple(_set(items, t, item) for items, item in zip(lists, written))
            return (t + 1, time, after, given, weight, kernel, bias, lengths, *lists)

        state = [v1.constant(0), time, init_h, given, weight, weight_hidden, bias_hidden, lengths, *lists]
        after = loop(lambda t, time, *_: t < time, turn, state)
        h, update, scaled, reset, new, hidden_new = (_stacked(items, init_h, size, time) for items in after[8:])
        y = _Steps(lengths, h).only(h)
        found = [y, h, update, scaled, reset, new, hidden_new]
        if attention is None:
            del found[3]
        return [self.turned(tensor) for tensor in found]

    def backward(self, x: Any, weight_input: Any, weight_hidden: Any, *rest: Any) -> List[Any]:
        v1 = tensorflow().v1
        attention = self.turned(rest[0], 2) if self.attended else None
        init_h, lengths = rest[2 if self.attended else 1], rest[-1]
        tensors = [self.turned(tensor) for tensor in rest[(3 if self.attended else 2) : -1]]
        h, dy, dh, update, *between = tensors
        scaled = between[0] if self.attended else update
        reset, new, hidden_new = between[-3:]
        x = self.turned(x)
        time, size = v1.shape(x)[0], v1.shape(weight_hidden)[0]
        dh = dh + _Steps(lengths, h).only(dy)
        before = v1.concat([v1.expand_dims(init_h, 0), h[:-1]], 0)
        weight = v1.ones([1, 1], x.dtype) if attention is None else attention
        carried = [dh, before, update, scaled, reset, new, hidden_new, weight, weight_hidden, lengths]
        lists = [_reserved(time, x.dtype) for _ in range(3)]

        def turn(t: Any, coming: Any, *state: Any) -> Any:
            dh, before, update, scaled, reset, new, hidden_new, weight, kernel, lengths = state[:10]
            whole = dh[t] + coming
            going = v1.cast(v1.expand_dims(t < lengths, 1), whole.dtype)
            d = going * whole
            z, s, r, n = update[t], scaled[t], reset[t], new[t]
            d_scaled = d * (before[t] - n)
            d_new = d * (1.0 - s) * (1.0 - n * n)
            factor = 1.0 if attention is None else 1.0 - v1.expand_dims(weight[t], 1)
            d_update = d_scaled * factor * z * (1.0 - z)
            d_reset = d_new * hidden_new[t] * r * (1.0 - r)
            d_given = self._joined(d_update, d_reset, d_new)
            d_hidden = self._joined(d_update, d_reset, d_new * r)
            coming = (1.0 - going) * whole + d * s + v1.matmul(d_hidden, kernel, transpose_b=True)
            written = [d_given, d_hidden, -d_scaled * z]
            lists = tuple(_set(items, t, item) for items, item in zip(state[10:], written))
            return (t - 1, coming, *state[:10], *lists)

        state = [time - 1, v1.zeros_like(init_h), *carried, *lists]
        after = loop(lambda t, *_: t >= 0, turn, state)
        d_given, d_hidden = (_stacked(items, init_h, 3 * size, time) for items in after[-3:-1])
        found = [
            v1.tensordot(x, d_given, [[0, 1], [0, 1]]),
            v1.tensordot(before, d_hidden, [[0, 1], [0, 1]]),
            v1.reduce_sum(d_given, [0, 1]),
            v1.reduce_sum(d_hidden, [0, 1]),
            self.turned(v1.tensordot(d_given, weight_input, [[2], [1]])),
            after[1],
        ]
        if attention is not None:
            found.append(self.turned(v1.reduce_sum(_stacked(after[-1], init_h, size, time), 2), 2))
        return found


@gradient("DynamicGruV2")
def _gru_grad(op: Any, *grads: Any) -> List[Any]:
    x, weight_input, weight_hidden, _, _, seq_length, init_h = op.inputs
    y, h, update, reset, new, hidden_new = op.outputs
    names = ["x", "weight_input", "weight_hidden", "y", "init_h", "h", "dy", "dh", "update", "reset", "new"]
    names += ["hidden_new", "seq_length"]
    tensors = (x, weight_input, weight_hidden, y, init_h, h, *grads[:2], update, reset, new, hidden_new, seq_length)
    dw_input, dw_hidden, db_input, db_hidden, dx, dh = _gru_backward("DynamicGruV2Grad", op, names, tensors, _GRU_GRADS)
    return [dx, dw_input, dw_hidden, db_input, db_hidden, None, dh]


@gradient("DynamicAUGRU")
def _augru_grad(op: Any, *grads: Any) -> List[Any]:
    x, weight_input, weight_hidden, weight_att, _, _, seq_length, init_h = op.inputs
    y, h, update, update_att, reset, new, hidden_new = op.outputs
    names = ["x", "weight_input", "weight_hidden", "weight_att", "y", "init_h", "h", "dy", "dh", "update"]
    names += ["update_att", "reset", "new", "hidden_new", "seq_length"]
    tensors = [x, weight_input, weight_hidden, weight_att, y, init_h, h, *grads[:2], update, update_att, reset, new]
    tensors += [hidden_new, seq_length]
    found = _gru_backward("DynamicAUGRUGrad", op, names, tensors, (*_GRU_GRADS, "dw_att"))
    dw_input, dw_hidden, db_input, db_hidden, dx, dh, dw_att = found
    return [dx, dw_input, dw_hidden, dw_att, db_input, db_hidden, None, dh]


def _gru_backward(
    grad_op: str, op: Any, names: Sequence[str], tensors: Sequence[Any], results: Sequence[str]
) -> Tuple[Any, ...]:
    form = (grad_op == "DynamicAUGRUGrad", attribute(op, "update_first"), attribute(op, "time_major"))
    like = dict(zip(names, tensors))
    wide = like["weight_input"].get_shape()
    shapes = [like[name].get_shape() for name in ("weight_input", "weight_hidden")]
    shapes += [None if wide.dims is None else wide[1:]] * 2
    shapes += [like[name].get_shape() for name in ("x", "init_h", "weight_att") if name in like]
    return call(grad_op, list(zip(names, tensors)), results, _Gru(*form).backward, key=form, shapes=shapes)


def lstm_cell(x: Any, h: Any, c: Any, w: Any, b: Any, *, forget_bias: float = 1.0, name: str = "") -> Tuple[Any, ...]:
    """One step of an LSTM: BasicLSTMCell.

    Args:
        x, h, c: ``[batch, input]``, ``[batch, hidden]``, ``[batch, hidden]``.
        w, b: as in :func:`lstm`.

    Returns:
        ct, ht, it, jt, ft, ot, tanhct: all ``[batch, hidden]``, the gates activated.
    """
    v1 = tensorflow().v1

    def step(x: Any, h: Any, c: Any, w: Any, b: Any) -> Sequence[Any]:
        i, j, f, o = v1.split(v1.matmul(v1.concat([x, h], 1), w) + b, 4, axis=1)
        i, j, f, o = v1.sigmoid(i), v1.tanh(j), v1.sigmoid(f + forget_bias), v1.sigmoid(o)
        ct = c * f + i * j
        tanhct = v1.tanh(ct)
        return [ct, o * tanhct, i, j, f, o, tanhct]

    inputs = list(zip(("x", "h", "c", "w", "b"), (x, h, c, w, b)))
    shapes = [v1.convert_to_tensor(c).get_shape()] * 7
    results = ("ct", "ht", "it", "jt", "ft", "ot", "tanhct")
    return call("BasicLSTMCell", inputs, results, step, key=(float(forget_bias),), shapes=shapes, name=name)


@gradient("BasicLSTMCell")
def _lstm_cell_grad(op: Any, dct: Any, dht: Any, *gates: Any) -> List[Any]:
    """As on the device, gradients of ct and ht count, and none of the gates."""
    v1 = tensorflow().v1
    del gates
    x, h, c, w, b = op.inputs
    it, jt, ft, ot, tanhct = op.outputs[2:]

    def state(c: Any, dht: Any, dct: Any, it: Any, jt: Any, ft: Any, ot: Any, tanhct: Any) -> Sequence[Any]:
        d = dct + dht * ot * (1.0 - tanhct * tanhct)
        di, dj = d * jt * it * (1.0 - it), d * it * (1.0 - jt * jt)
        df, do = d * c * ft * (1.0 - ft), dht * tanhct * ot * (1.0 - ot)
        return [v1.concat([di, dj, df, do], 1), d * ft]

    inputs = list(zip(("c", "dht", "dct", "it", "jt", "ft", "ot", "tanhct"), (c, dht, dct, it, jt, ft, ot, tanhct)))
    batch, hidden = c.get_shape().as_list() if c.get_shape().dims else (None, None)
    shapes = [[batch, hidden and 4 * hidden], c.get_shape()]
    dgate, dc = call("BasicLSTMCellCStateGrad", inputs, ["dgate", "dct_1"], state, shapes=shapes)

    def weights(x: Any, h: Any, dgate: Any) -> Sequence[Any]:
        return [v1.matmul(v1.concat([x, h], 1), dgate, transpose_a=True), v1.reduce_sum(dgate, 0)]

    inputs = [("x", x), ("h", h), ("dgate", dgate)]
    shapes = [w.get_shape(), b.get_shape()]
    dw, db = call("BasicLSTMCellWeightGrad", inputs, ["dw", "db"], weights, shapes=shapes)

    def ends(dgate: Any, w: Any) -> Sequence[Any]:
        both = v1.matmul(dgate, w, transpose_b=True)
        hidden = v1.shape(dgate)[1] // 4
        rows = v1.shape(both)[1] - hidden
        return [both[:, :rows], both[:, rows:]]

    shapes = [x.get_shape(), h.get_shape()]
    dx, dh = call("BasicLSTMCellInputGrad", [("dgate", dgate), ("w", w)], ["dxt", "dht"], ends, shapes=shapes)
    return [dx, dh, dc, dw, db]


class _Turned:
    """Makes time-major what is not, and the other way round."""

    def __init__(self, time_major: bool) -> None:
        self.time_major = time_major

    def __call__(self, tensor: Any, rank: int = 3) -> Any:
        return tensor if self.time_major else tensorflow().v1.transpose(tensor, [1, 0, 2][:rank])


class _Steps:
    """Which steps of each sequence count. What stands in the others, were it not a number, does not matter."""

    def __init__(self, lengths: Any, like: Any) -> None:
        v1 = tensorflow().v1
        self.lengths = lengths
        self.time = v1.shape(like)[0]
        self.nothing = v1.zeros([], like.dtype)
        steps = v1.range(self.time)[:, v1.newaxis, v1.newaxis]
        self.going = steps < lengths[v1.newaxis, :, v1.newaxis]
        #: The step with which each sequence ends, and the sequences that have none.
        self.last = v1.equal(steps, lengths[v1.newaxis, :, v1.newaxis] - 1)
        self.empty = lengths[:, v1.newaxis] <= 0

    def only(self, tensor: Any) -> Any:
        """0 where the sequence is over."""
        return self._where(self.going, tensor, self.nothing)

    def kept(self, states: Any, initial: Any) -> Any:
        """The last state where the sequence is over."""
        v1 = tensorflow().v1
        last = v1.reduce_sum(self._where(self.last, states, self.nothing), 0)
        return self._where(self.going, states, self._where(self.empty, initial, last)[v1.newaxis])

    def gathered(self, grads: Any, also: Any = None) -> Tuple[Any, Any]:
        """The other way round: gradients by step, and what goes to the initial state."""
        v1 = tensorflow().v1
        past = v1.reduce_sum(self._where(self.going, self.nothing, grads), 0)
        whole = self.only(grads if also is None else grads + also)
        return whole + self._where(self.last, past[v1.newaxis], self.nothing), self._where(
            self.empty, past, self.nothing
        )

    @staticmethod
    def _where(condition: Any, one: Any, other: Any) -> Any:
        return tensorflow().v1.where_v2(condition, one, other)


def _states(x: Any, w: Any, gates: int) -> Sequence[Optional[int]]:
    """The static shape of a state at every step."""
    lead, wide = x.get_shape().dims, w.get_shape().dims
    sizes = [None, None] if lead is None else x.get_shape().as_list()[:2]
    hidden = None if wide is None else w.get_shape().as_list()[1]
    return [*sizes, None if hidden is None else hidden // gates]


def _reserved(count: Any, dtype: Any) -> Any:
    """A list of tensors, to be set one by one."""
    v1 = tensorflow().v1
    shape = v1.constant(-1, v1.int32)
    return v1.raw_ops.TensorListReserve(element_shape=shape, num_elements=count, element_dtype=dtype)


def _set(items: Any, at: Any, item: Any) -> Any:
    return tensorflow().v1.raw_ops.TensorListSetItem(input_handle=items, index=at, item=item)


def _stacked(items: Any, like: Any, size: Any, time: Any) -> Any:
    """All tensors of a list, of the rows of ``like`` and so many columns."""
    v1 = tensorflow().v1
    shape = v1.stack([v1.shape(like)[0], size])
    stacked = v1.raw_ops.TensorListStack(input_handle=items, element_shape=shape, element_dtype=like.dtype)
    return v1.reshape(stacked, v1.concat([[time], shape], 0))
