"""What DeformableOffsets computes: the features under a filter whose places are moved, for a convolution to read.

Offsets are those of modulated deformable convolution (X. Zhu et al., "Deformable ConvNets v2", arXiv 1811.11168): for
every place of the output, for every group of channels and place of the filter, first all moves along x (columns), then
all along y (rows), then all masks. Features between pixels are interpolated linearly, those outside are 0.
"""

from __future__ import annotations

from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

from npu_reference.errors import NpuError
from npu_reference.runtime.operators.calls import attribute, call, gradient
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["deformable_conv2d"]


class _Form(NamedTuple):
    """Attributes of DeformableOffsets, by dimension: (rows, columns)."""

    kernel: Tuple[int, int]
    strides: Tuple[int, int]
    dilations: Tuple[int, int]
    before: Tuple[int, int]
    after: Tuple[int, int]
    groups: int
    channels_first: bool


def deformable_conv2d(
    x: Any,
    filter: Any,
    offsets: Any,
    strides: Optional[Sequence[int]] = None,
    pads: Optional[Sequence[int]] = None,
    data_format: str = "NHWC",
    dilations: Sequence[int] = (1, 1, 1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
    modulated: bool = True,
    name: Optional[str] = None,
) -> Any:
    """A 2-D convolution that reads its features at moved places: DeformableOffsets, then Conv2D.

    Args:
        x: ``[batch, height, width, channels]`` or, with ``NCHW``, ``[batch, channels, height, width]``.
        filter: ``[filter height, filter width, channels, out channels]``, its size known.
        offsets: ``[batch, out height, out width, 3 deformable_groups filter height filter width]`` (or ``NCHW``).
        strides, dilations: four ints in the order of ``data_format``.
        pads: top, bottom, left, right.

    Raises:
        NpuError: RUN_FAILED for what neither a device nor this has, or for arguments that contradict each other.
    """
    v1 = tensorflow().v1
    x, offsets, filter = (v1.convert_to_tensor(tensor) for tensor in (x, offsets, filter))
    if modulated is not True or groups != 1:
        raise _refused("modulated must be True and groups 1, as on the device.")
    if data_format not in ("NHWC", "NCHW"):
        raise _refused(f"data_format {data_format!r} is neither NHWC nor NCHW.")
    if strides is None or pads is None or any(len(four) != 4 for four in (strides, pads, dilations)):
        raise _refused("strides, pads and dilations are four ints each.")
    kernel: List[Any] = filter.get_shape().as_list()[:2] if filter.get_shape().ndims == 4 else [None]
    if None in kernel:
        raise _refused("the size of the filter must be known when the graph is built.")
    rows, columns = data_format.index("H"), data_format.index("W")
    form = _Form(
        (kernel[0], kernel[1]),
        (strides[rows], strides[columns]),
        (dilations[rows], dilations[columns]),
        (pads[0], pads[2]),
        (pads[1], pads[3]),
        deformable_groups,
        data_format == "NCHW",
    )
    inputs = [("x", x), ("offsets", offsets)]
    attrs = {f"form_{k}": value for k, value in enumerate(_flat(form))}
    moved_name = f"{name}/DeformableOffsets" if name else ""
    moved = call("DeformableOffsets", inputs, ["y"], _body(form), key=form, attrs=attrs, name=moved_name)[0]
    known = x.get_shape().as_list() if x.get_shape().ndims == 4 else [None] * 4
    shape: List[Optional[int]] = [known[0], None, None, known[1 if form.channels_first else 3]]
    moved.set_shape([shape[0], shape[3], None, None] if form.channels_first else shape)
    steps = [1, 1, 1, 1]
    steps[rows], steps[columns] = kernel
    if not form.channels_first:
        return v1.nn.conv2d(moved, filter, strides=steps, padding="VALID", name=name)
    # TensorFlow's CPU has convolutions of NHWC only.
    read = v1.nn.conv2d(v1.transpose(moved, [0, 2, 3, 1]), filter, strides=[1, *kernel, 1], padding="VALID")
    return v1.transpose(read, [0, 3, 1, 2], name=name)


def _refused(reason: str) -> NpuError:
    return NpuError("RUN_FAILED", "deformable_conv2d", reason, "See its docstring for what each argument is.")


def _flat(form: _Form) -> List[int]:
    pairs = (form.kernel, form.strides, form.dilations, form.before, form.after)
    return [*(number for pair in pairs for number in pair), form.groups, int(form.channels_first)]


def _formed(numbers: Sequence[int]) -> _Form:
    pairs = [(numbers[k], numbers[k + 1]) for k in range(0, 10, 2)]
    return _Form(pairs[0], pairs[1], pairs[2], pairs[3], pairs[4], numbers[10], bool(numbers[11]))


def _body(form: _Form) -> Any:
    def compute(x: Any, offsets: Any) -> Sequence[Any]:
        return [_moved(x, offsets, form)]

    return compute


@gradient("DeformableOffsets")
def _offsets_grad(op: Any, grad: Any) -> Sequence[Any]:
    v1 = tensorflow().v1
    form = _formed([attribute(op, f"form_{k}") for k in range(12)])

    def compute(grad: Any, x: Any, offsets: Any) -> Sequence[Any]:
        return v1.gradients(_moved(x, offsets, form), [x, offsets], [grad])

    x, offsets = op.inputs
    inputs = [("grad", grad), ("x", x), ("offsets", offsets)]
    shapes = [x.get_shape(), offsets.get_shape()]
    return list(call("DeformableOffsetsGrad", inputs, ["grad_x", "grad_offsets"], compute, key=form, shapes=shapes))


def _moved(x: Any, offsets: Any, form: _Form) -> Any:
    """``[batch, out height x kernel, out width x kernel, channels]``: what each place of the filter reads."""
    v1 = tensorflow().v1
    if form.channels_first:
        x, offsets = (v1.transpose(tensor, [0, 2, 3, 1]) for tensor in (x, offsets))
    (high, wide), groups = form.kernel, form.groups
    shape = v1.shape(x)
    batch, height, width, channels = (shape[k] for k in range(4))
    out_high, out_wide = v1.shape(offsets)[1], v1.shape(offsets)[2]
    parts = v1.reshape(offsets, [batch, out_high, out_wide, 3, groups, high, wide])
    columns, rows = parts[:, :, :, 0], parts[:, :, :, 1]
    rows += v1.cast(_grid(out_high, form, 0), x.dtype)[v1.newaxis, :, v1.newaxis, v1.newaxis, :, v1.newaxis]
    columns += v1.cast(_grid(out_wide, form, 1), x.dtype)[v1.newaxis, v1.newaxis, :, v1.newaxis, v1.newaxis, :]
    top, left = v1.floor(rows), v1.floor(columns)
    total: Any = 0.0
    grouped = v1.reshape(x, [batch, height, width, groups, channels // groups])
    for down in (0, 1):
        for right in (0, 1):
            row, column = top + float(down), left + float(right)
            weight = (1.0 - v1.abs(rows - row)) * (1.0 - v1.abs(columns - column))
            total += v1.expand_dims(weight, -1) * _read(grouped, row, column)
    total *= v1.expand_dims(parts[:, :, :, 2], -1)
    # [batch, out rows, out columns, groups, kernel rows, kernel columns, channels of a group]
    total = v1.transpose(total, [0, 1, 4, 2, 5, 3, 6])
    result = v1.reshape(total, [batch, out_high * high, out_wide * wide, channels])
    return v1.transpose(result, [0, 3, 1, 2]) if form.channels_first else result


def _grid(size: Any, form: _Form, side: int) -> Any:
    """Where the filter's places are without offsets, along one dimension: ``[size, kernel]``."""
    v1 = tensorflow().v1
    starts = v1.range(size) * form.strides[side] - form.before[side]
    return v1.expand_dims(starts, 1) + v1.expand_dims(v1.range(form.kernel[side]) * form.dilations[side], 0)


def _read(x: Any, rows: Any, columns: Any) -> Any:
    """Pixels, 0 outside: ``[*rows, channels of a group]`` of ``x`` ``[batch, height, width, groups, channels]``."""
    v1 = tensorflow().v1
    shape = v1.shape(x)
    last = [v1.cast(shape[k] - 1, rows.dtype) for k in (1, 2)]
    inside = v1.cast((rows >= 0.0) & (rows <= last[0]) & (columns >= 0.0) & (columns <= last[1]), x.dtype)
    row, column = (v1.cast(v1.clip_by_value(value, 0.0, end), v1.int32) for value, end in zip((rows, columns), last))
    whole = v1.shape(rows)
    batch = v1.reshape(v1.range(whole[0]), [-1, 1, 1, 1, 1, 1]) + v1.zeros_like(row)
    group = v1.reshape(v1.range(whole[3]), [1, 1, 1, -1, 1, 1]) + v1.zeros_like(row)
    return v1.gather_nd(x, v1.stack([batch, row, column, group], -1)) * v1.expand_dims(inside, -1)
