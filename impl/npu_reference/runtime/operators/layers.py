"""The recurrent layers of the adapter as objects: their arguments, their variables, and what a call builds."""

from __future__ import annotations

import math
from typing import Any, Dict, List, Optional, Sequence, Tuple

from npu_reference.options.classes import OptionTypeError, OptionValueError
from npu_reference.runtime.operators import recurrent
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["DynamicAUGRU", "DynamicGRUV2", "DynamicRNN"]

#: Batch that the adapter assumes for the variable of lengths where the input's is open.
_OPEN_BATCH = 16


class _Layer:
    """Arguments that all recurrent layers have, and variables that are made at the first call.

    Args:
        hidden_size: of the state.
        dtype: float32 or float16, of weights and input.
        direction, cell_depth, keep_prob, cell_clip, num_proj, activation: accepted with the one value that the device
            computes: ``UNIDIRECTIONAL``, 1, 1.0, no clip, 0 and ``tanh``.
        time_major: whether inputs and results are ``[time, batch, size]`` rather than ``[batch, time, size]``.
        is_training: accepted; the gates are given in any case.

    Raises:
        OptionTypeError, OptionValueError: an argument that is none, or asks for what is not simulated.
    """

    #: What TensorFlow calls a layer of this class, and its variables.
    _scope = ""
    _prefix = ""

    def __init__(
        self,
        hidden_size: int,
        dtype: Any,
        direction: str = "UNIDIRECTIONAL",
        cell_depth: int = 1,
        keep_prob: float = 1.0,
        cell_clip: float = -1.0,
        num_proj: int = 0,
        time_major: bool = True,
        activation: str = "tanh",
        is_training: bool = True,
    ) -> None:
        if isinstance(hidden_size, bool) or not isinstance(hidden_size, int):
            raise self._error(OptionTypeError, "hidden_size", f"{hidden_size!r} is no int.", "Give an int.")
        if hidden_size < 1:
            raise self._error(OptionValueError, "hidden_size", f"{hidden_size} is not positive.", "Give 1 or more.")
        self.dtype = tensorflow().v1.as_dtype(dtype)
        self.hidden_size = hidden_size
        self.direction, self.activation = direction, activation
        self.cell_depth, self.num_proj = cell_depth, num_proj
        self.keep_prob, self.cell_clip = keep_prob, cell_clip
        self.time_major = bool(time_major)
        self.is_training = is_training
        self._only("direction", direction, direction == "UNIDIRECTIONAL", "UNIDIRECTIONAL")
        self._only("cell_depth", cell_depth, cell_depth == 1, "1")
        self._only("keep_prob", keep_prob, keep_prob == 1, "1.0")
        self._only("cell_clip", cell_clip, cell_clip <= 0, "-1.0")
        self._only("num_proj", num_proj, num_proj == 0, "0")
        self._only("activation", activation, activation == "tanh", "tanh")
        self._variables: Dict[str, Any] = {}
        self.built = False

    @property
    def variables(self) -> List[Any]:
        """All variables; empty before the first call."""
        return list(self._variables.values())

    @property
    def weights(self) -> List[Any]:
        """All variables, as of a layer of TensorFlow."""
        return self.variables

    @property
    def trainable_variables(self) -> List[Any]:
        """Those that training changes."""
        return [variable for name, variable in self._variables.items() if name != "dynamicbase/seq_length"]

    @property
    def trainable_weights(self) -> List[Any]:
        """Those that training changes, as of a layer of TensorFlow."""
        return self.trainable_variables

    def _error(self, kind: Any, argument: str, reason: str, remedy: str) -> Exception:
        code = "OPTION_TYPE" if kind is OptionTypeError else "OPTION_VALUE"
        error: Exception = kind(code, f"{type(self).__name__}: {argument}", reason, remedy)
        return error

    def _only(self, argument: str, given: Any, holds: bool, value: str) -> None:
        if not holds:
            reason = f"{given!r} is not simulated."
            raise self._error(OptionValueError, argument, reason, f"Leave it out, or give {value}.")

    def _call(self, x: Any, *arguments: Any) -> Tuple[Any, ...]:
        """Build the variables at the first call, and the operator under the layer's name at each."""
        v1 = tensorflow().v1
        x = v1.convert_to_tensor(x)
        if x.dtype.base_dtype != self.dtype:
            reason = f"it is {x.dtype.name}, and the layer computes {self.dtype.name}."
            raise self._error(OptionTypeError, "x", reason, "Give both the same dtype.")
        if x.get_shape().ndims not in (None, 3) or x.get_shape().ndims is None:
            raise self._error(OptionValueError, "x", f"its shape is {x.get_shape()}.", "Give three dimensions.")
        if x.get_shape().as_list()[2] is None:
            raise self._error(OptionValueError, "x", "its last size is not known.", "Set it with set_shape.")
        if self.built:
            with v1.name_scope(self._scope):
                return self._operator(x, *arguments)
        with v1.variable_scope(None, default_name=self._scope):
            self._build(x)
            self.built = True
            return self._operator(x, *arguments)

    def _build(self, x: Any) -> None:
        time, batch, size = self._sizes(x)
        assert size is not None
        for name, shape, initializer in self._weights(size):
            self._variables[name] = tensorflow().v1.get_variable(name, shape, self.dtype, initializer=initializer)
        v1 = tensorflow().v1
        name = "dynamicbase/seq_length"
        initial = v1.constant_initializer(time or 1)
        shape = [batch or _OPEN_BATCH]
        self._variables[name] = v1.get_variable(name, shape, v1.int32, initializer=initial, trainable=False)

    def _weights(self, size: int) -> Sequence[Tuple[str, List[int], Any]]:
        """Name, shape and initializer of each weight."""
        raise NotImplementedError

    def _operator(self, x: Any, *arguments: Any) -> Tuple[Any, ...]:
        raise NotImplementedError

    def _sizes(self, x: Any) -> List[Optional[int]]:
        """Static time, batch and input size."""
        first, second, size = x.get_shape().as_list()
        return [first, second, size] if self.time_major else [second, first, size]

    def _lengths(self, x: Any, given: Any) -> Any:
        """The lengths given, or full ones: the variable, where the input's sizes are known, as it has them."""
        v1 = tensorflow().v1
        if given is not None:
            return v1.cast(given, v1.int32)
        time, batch, _ = self._sizes(x)
        variable = self._variables["dynamicbase/seq_length"]
        if time is not None and batch is not None and variable.get_shape().as_list() == [batch]:
            return v1.convert_to_tensor(variable)
        shape = v1.shape(x)
        return v1.fill([shape[1 if self.time_major else 0]], shape[0 if self.time_major else 1])

    def _zeros(self, x: Any, *lead: int) -> Any:
        v1 = tensorflow().v1
        batch = self._sizes(x)[1]
        if batch is None:
            batch = v1.shape(x)[1 if self.time_major else 0]
        return v1.zeros([*lead, batch, self.hidden_size], self.dtype)


class DynamicRNN(_Layer):
    """An LSTM over a sequence; the operator is DynamicRnnV2, or DynamicRnn where lengths are given.

    >>> y, output_h, output_c, i, j, f, o, tanhc = DynamicRNN(64, tf.float32, forget_bias=1.0)(x)

    Variables: ``dynamicrnn/w`` ``[input + hidden, 4 hidden]`` with the gates in the order i, j, f, o, and
    ``dynamicrnn/b`` ``[4 hidden]``.

    Args:
        cell_type, use_peephole: accepted as ``LSTM`` and False.
        forget_bias: added to the forget gate.
    """

    _scope = "dynamic_rnn"

    def __init__(
        self,
        hidden_size: int,
        dtype: Any,
        cell_type: str = "LSTM",
        direction: str = "UNIDIRECTIONAL",
        cell_depth: int = 1,
        use_peephole: bool = False,
        keep_prob: float = 1.0,
        cell_clip: float = -1.0,
        num_proj: int = 0,
        time_major: bool = True,
        activation: str = "tanh",
        forget_bias: float = 0.0,
        is_training: bool = True,
    ) -> None:
        super().__init__(
            hidden_size,
            dtype,
            direction,
            cell_depth,
            keep_prob,
            cell_clip,
            num_proj,
            time_major,
            activation,
            is_training,
        )
        self.cell_type, self.use_peephole, self.forget_bias = cell_type, use_peephole, forget_bias
        self._only("cell_type", cell_type, cell_type == "LSTM", "LSTM")
        self._only("use_peephole", use_peephole, not use_peephole, "False")

    def __call__(
        self,
        x: Any,
        seq_length: Any = None,
        init_h: Any = None,
        init_c: Any = None,
        weight: Any = None,
        bias: Any = None,
    ) -> Tuple[Any, ...]:
        """Run over a sequence.

        Args:
            x: ``[time, batch, input]``, or as ``time_major`` says.
            seq_length: ``[batch]``, how many steps of each sequence count.
            init_h, init_c: ``[1, batch, hidden]``, zeros by default.
            weight, bias: instead of the layer's own.

        Returns:
            y, output_h, output_c, i, j, f, o, tanhc: all ``[time, batch, hidden]``, or as ``x``.
        """
        return self._call(x, seq_length, init_h, init_c, weight, bias)

    def _weights(self, size: int) -> Sequence[Tuple[str, List[int], Any]]:
        v1 = tensorflow().v1
        gates = 4 * self.hidden_size
        # The seed is the adapter's.
        kernel = v1.glorot_uniform_initializer(seed=10)
        bias = v1.zeros_initializer()
        return [("dynamicrnn/w", [size + self.hidden_size, gates], kernel), ("dynamicrnn/b", [gates], bias)]

    def _operator(self, x: Any, *arguments: Any) -> Tuple[Any, ...]:
        v1 = tensorflow().v1
        seq_length, init_h, init_c, weight, bias = arguments
        weight = self._variables["dynamicrnn/w"] if weight is None else weight
        bias = self._variables["dynamicrnn/b"] if bias is None else bias
        h, c = (self._zeros(x, 1) if state is None else v1.convert_to_tensor(state) for state in (init_h, init_c))
        lengths = None if seq_length is None else self._lengths(x, seq_length)
        weight, bias = v1.convert_to_tensor(weight), v1.convert_to_tensor(bias)
        return recurrent.lstm(x, weight, bias, h, c, lengths, self.forget_bias, self.time_major)


class _Gated(_Layer):
    """What the two GRUs share."""

    def __init__(
        self,
        hidden_size: int,
        dtype: Any,
        direction: str = "UNIDIRECTIONAL",
        cell_depth: int = 1,
        keep_prob: float = 1.0,
        cell_clip: float = -1.0,
        num_proj: int = 0,
        time_major: bool = True,
        activation: str = "tanh",
        gate_order: str = "zrh",
        reset_after: bool = True,
        is_training: bool = True,
    ) -> None:
        super().__init__(
            hidden_size,
            dtype,
            direction,
            cell_depth,
            keep_prob,
            cell_clip,
            num_proj,
            time_major,
            activation,
            is_training,
        )
        self.gate_order, self.reset_after = gate_order, reset_after
        self._only("gate_order", gate_order, gate_order in ("zrh", "rzh"), "zrh or rzh")
        self._only("reset_after", reset_after, bool(reset_after), "True")

    def _weights(self, size: int) -> Sequence[Tuple[str, List[int], Any]]:
        v1 = tensorflow().v1
        bound, gates = 1.0 / math.sqrt(self.hidden_size), 3 * self.hidden_size
        shapes = {"weight_input": [size, gates], "weight_hidden": [self.hidden_size, gates]}
        shapes.update(bias_input=[gates], bias_hidden=[gates])
        initial = v1.random_uniform_initializer(-bound, bound)
        return [(f"{self._prefix}/{name}", shape, initial) for name, shape in shapes.items()]

    def _kernels(self) -> List[Any]:
        """Input's and hidden weight, input's and hidden bias."""
        v1 = tensorflow().v1
        names = ("weight_input", "weight_hidden", "bias_input", "bias_hidden")
        return [v1.convert_to_tensor(self._variables[f"{self._prefix}/{name}"]) for name in names]

    def _state(self, x: Any, init_h: Any) -> Any:
        """The initial state as ``[batch, hidden]``; that of other layers, with a first size of 1, is taken, too."""
        v1 = tensorflow().v1
        if init_h is None:
            return self._zeros(x)
        init_h = v1.convert_to_tensor(init_h)
        return init_h[0] if init_h.get_shape().ndims == 3 else init_h


class DynamicGRUV2(_Gated):
    """A GRU over a sequence, its reset gate behind the hidden product; the operator is DynamicGruV2.

    >>> y, output_h, update, reset, new, hidden_new = DynamicGRUV2(64, tf.float32)(x)

    Variables: ``dynamicgruv2/weight_input``, ``weight_hidden``, ``bias_input``, ``bias_hidden``, the gates in the order
    update, reset, new, or as ``gate_order`` says.
    """

    _scope, _prefix = "dynamic_gruv2", "dynamicgruv2"

    def __call__(self, x: Any, seq_length: Any = None, init_h: Any = None) -> Tuple[Any, ...]:
        """Run over a sequence; ``init_h`` is ``[batch, hidden]``, the rest as of :class:`DynamicRNN`."""
        return self._call(x, seq_length, init_h)

    def _operator(self, x: Any, *arguments: Any) -> Tuple[Any, ...]:
        seq_length, init_h = arguments
        w_input, w_hidden, b_input, b_hidden = self._kernels()
        lengths, state = self._lengths(x, seq_length), self._state(x, init_h)
        form = (self.gate_order, self.time_major)
        return recurrent.gru(x, w_input, w_hidden, b_input, b_hidden, lengths, state, *form)


class DynamicAUGRU(_Gated):
    """A GRU whose update gate attention scales; the operator is DynamicAUGRU.

    >>> y, output_h, update, update_att, reset, new, hidden_new = DynamicAUGRU(64, tf.float32)(x, attention)
    """

    _scope, _prefix = "dynamic_augru", "dynamicaugru"

    def __call__(self, x: Any, weight_att: Any, seq_length: Any = None, init_h: Any = None) -> Tuple[Any, ...]:
        """Run over a sequence; ``weight_att`` is ``[time, batch]``, the rest as of :class:`DynamicGRUV2`."""
        return self._call(x, weight_att, seq_length, init_h)

    def _operator(self, x: Any, *arguments: Any) -> Tuple[Any, ...]:
        v1 = tensorflow().v1
        weight_att, seq_length, init_h = arguments
        w_input, w_hidden, b_input, b_hidden = self._kernels()
        attention = v1.convert_to_tensor(weight_att, dtype=self.dtype)
        lengths, state = self._lengths(x, seq_length), self._state(x, init_h)
        form = (self.gate_order, self.time_major)
        return recurrent.augru(x, w_input, w_hidden, attention, b_input, b_hidden, lengths, state, *form)
