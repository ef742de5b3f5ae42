"""Layers without parameters that change shapes, sizes and scales."""

from __future__ import annotations

import math
from typing import Any

from .. import ops
from ..core import dtype as mstype
from ..core.require import one_of
from ..ops.patches import extract_image_patches
from ..ops.primitive import Primitive
from ..tensors.tensor import Tensor
from . import checks
from .cell import Cell

__all__ = [
    "Flatten", "ClipByNorm", "Norm", "OneHot", "Pad", "Unfold", "L1Regularizer", "Upsample", "Roll",
    "Identity", "Unflatten", "ChannelShuffle", "TimeDistributed",
]


class Flatten(Cell):
    """Joins the dimensions from `start_dim` to `end_dim`.

    Args:
        start_dim, end_dim: the first and the last of them.

    Raises:
        ValueError: if the input has no such dimensions.

    Examples:
        >>> import lamella as ms
        >>> ms.nn.Flatten()(ms.ops.ones((2, 3, 4))).shape
        (2, 12)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def construct(self, x: Tensor) -> Tensor:
        rank = x._raw.dim() or 1
        if not (-rank <= self.start_dim < rank and -rank <= self.end_dim < rank):
            raise ValueError(f"For '{type(self).__name__}', 'start_dim' and 'end_dim' must be in "
                             f"[{-rank}, {rank}) for an input of shape {x.shape}, "
                             f"but got {self.start_dim} and {self.end_dim}.")
        return ops.flatten(x, start_dim=self.start_dim, end_dim=self.end_dim)


class Identity(Cell):
    """Gives its input; takes any arguments, so that it can stand for any layer.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.Identity(3, p=0.5)(ms.Tensor([1.0])))
        [1.]
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()

    def construct(self, input: Any) -> Any:
        return input


class Unflatten(Cell):
    """Splits one dimension into several.

    Args:
        axis: the dimension.
        unflattened_size: the lengths it is split into; a tuple or list.

    Examples:
        >>> import lamella as ms
        >>> ms.nn.Unflatten(1, (2, 3))(ms.ops.ones((5, 6))).shape
        (5, 2, 3)
    """

    def __init__(self, axis: int, unflattened_size: Any):
        super().__init__()
        self.axis = checks.of_type(axis, int, "axis", type(self).__name__)
        checks.of_type(unflattened_size, (tuple, list), "unflattened_size", type(self).__name__)
        self.unflattened_size = tuple(unflattened_size)

    def construct(self, input_x: Tensor) -> Tensor:
        shape = input_x.shape
        after = () if self.axis == -1 else shape[self.axis + 1:]
        return input_x.reshape(shape[:self.axis] + self.unflattened_size + after)


class Roll(Cell):
    """Moves the elements along axes; what leaves at one end comes in at the other.

    Args:
        shift: how far, for each axis.
        axis: an axis, or a list of as many as there are shifts.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.Roll(2, 0)(ms.Tensor([0.0, 1.0, 2.0, 3.0])))
        [2. 3. 0. 1.]
    """

    def __init__(self, shift: Any, axis: Any):
        super().__init__()
        name = type(self).__name__
        checks.of_type(shift, (int, tuple, list), "shift", name)
        checks.of_type(axis, (int, tuple, list), "axis", name)
        self.shift = [shift] if isinstance(shift, int) else list(shift)
        self.axis = [axis] if isinstance(axis, int) else list(axis)
        for what, values in (("shift", self.shift), ("axis", self.axis)):
            for value in values:
                checks.of_type(value, int, what, name)
        if len(self.shift) != len(self.axis):
            raise ValueError(f"For '{name}', 'shift' and 'axis' must be equally long, "
                             f"but got {shift} and {axis}.")

    def construct(self, input_x: Tensor) -> Tensor:
        rank = input_x.ndim
        for axis in self.axis:
            checks.within(axis, -rank, rank, "[)", "axis", type(self).__name__)
        return ops.roll(input_x, tuple(self.shift), tuple(self.axis))


class ChannelShuffle(Cell):
    """Splits the channels into groups and interleaves these.

    Args:
        groups: how many groups.

    Inputs:
        - **x** - Tensor (N, C, ...).

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([0.0, 1.0, 2.0, 3.0]).reshape(1, 4, 1, 1)
        >>> print(ms.nn.ChannelShuffle(2)(x).reshape(-1))
        [0. 2. 1. 3.]
    """

    def __init__(self, groups: int):
        super().__init__()
        self.groups = checks.positive_int(groups, "groups", type(self).__name__)

    def construct(self, x: Tensor) -> Tensor:
        return ops.channel_shuffle(x, self.groups)


class Upsample(Cell):
    """Resizes images and the like; the arguments are those of `ops.interpolate`.

    Args:
        size: the new size, an int or one for each dimension after (N, C).
        scale_factor: the new size over the old one; give one of the two.
        mode: ``"nearest"``, ``"linear"``, ``"bilinear"``, ``"bicubic"``, ``"trilinear"`` or
            ``"area"``.
        align_corners: whether corner elements keep their position.
        recompute_scale_factor: whether the factor is computed again from the rounded size.

    Examples:
        >>> import lamella as ms
        >>> ms.nn.Upsample(size=(5, 5))(ms.ops.ones((2, 3, 4, 4))).shape
        (2, 3, 5, 5)
    """

    def __init__(self, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
                 align_corners: bool | None = None, recompute_scale_factor: bool | None = None):
        super().__init__()
        self.size = size
        self.scale_factor = scale_factor
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def construct(self, x: Tensor) -> Tensor:
        return ops.interpolate(x, self.size, self.scale_factor, self.mode, self.align_corners,
                               self.recompute_scale_factor)


class UnfoldExt(Cell):
    """Cuts patches out of images and makes each a column, as `mint.nn` has it.

    Args:
        kernel_size, dilation, padding, stride: ints or (height, width).

    Inputs:
        - **input** - Tensor (N, C, H, W).

    Outputs:
        Tensor (N, C * height * width, number of patches).

    Examples:
        >>> import lamella as ms
        >>> UnfoldExt(2, stride=2)(ms.ops.ones((1, 3, 4, 4))).shape
        (1, 12, 4)
    """

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1):
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def construct(self, input: Tensor) -> Tensor:
        return ops.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(Cell):
    """Adds the columns that `UnfoldExt` makes back up to images, as `mint.nn` has it.

    Args:
        output_size: (height, width) of the images, or an int.
        kernel_size, dilation, padding, stride: those of the unfolding.

    Examples:
        >>> import lamella as ms
        >>> Fold(4, 2, stride=2)(ms.ops.ones((1, 12, 4))).shape
        (1, 3, 4, 4)
    """

    def __init__(self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
                 stride: Any = 1):
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def construct(self, input: Tensor) -> Tensor:
        return ops.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding,
                        self.stride)


class Pad(Cell):
    """Lengthens every dimension at both ends.

    Args:
        paddings: a tuple with (before, after) for each dimension, for 4 at most.
        mode: ``"CONSTANT"`` (zeros), ``"REFLECT"`` or ``"SYMMETRIC"`` (the mirror image without or
            with the edge).

    Raises:
        TypeError, ValueError: if an argument is none of these.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.Pad(((0, 0), (1, 2)), mode="SYMMETRIC")(ms.Tensor([[1.0, 2.0]])))
        [[1. 1. 2. 2. 1.]]
    """

    def __init__(self, paddings: tuple, mode: str = "CONSTANT"):
        super().__init__()
        name = type(self).__name__
        self.mode = one_of(mode, ("CONSTANT", "REFLECT", "SYMMETRIC"), "mode", name)
        self.paddings = checks.of_type(paddings, tuple, "paddings", name)
        if len(paddings) > 4 or any(len(pair) != 2 for pair in paddings):
            raise ValueError(f"For '{name}', 'paddings' must have a pair for each of at most 4 "
                             f"dimensions, but got {paddings}.")
        self._flat = tuple(n for pair in paddings[::-1] for n in pair)

    def construct(self, x: Tensor) -> Tensor:
        if x.ndim != len(self.paddings):
            raise ValueError(f"For '{type(self).__name__}', 'paddings' must have a pair for each "
                             f"dimension, but got {self.paddings} for an input of shape {x.shape}.")
        if self.mode == "CONSTANT":
            return ops.pad(x, self._flat)
        return ops.mirror_pad(x, self.paddings, self.mode)


class Unfold(Cell):
    """Cuts patches out of images, and lays each out along the channels.

    Args:
        ksizes: the size of a patch, [1, height, width, 1].
        strides: the step from one to the next, [1, height, width, 1].
        rates: the step inside a patch, [1, height, width, 1].
        padding: ``"valid"``, or ``"same"`` for zeros around.

    Inputs:
        - **input_x** - Tensor (N, C, H, W).

    Outputs:
        Tensor (N, height * width * C, H', W'): for each position in the patch its C channels.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.Unfold([1, 2, 2, 1], [1, 2, 2, 1], [1, 2, 2, 1])
        >>> net(ms.ops.ones((2, 3, 6, 6))).shape
        (2, 12, 2, 2)
    """

    def __init__(self, ksizes: Any, strides: Any, rates: Any, padding: str = "valid"):
        super().__init__()
        name = type(self).__name__
        inner = []
        for what, value in (("ksizes", ksizes), ("strides", strides), ("rates", rates)):
            checks.of_type(value, (tuple, list), what, name)
            if len(value) != 4 or value[0] != 1 or value[3] != 1:
                raise ValueError(f"For '{name}', '{what}' must be [1, height, width, 1], "
                                 f"but got {value}.")
            inner.append(checks.sizes(tuple(value[1:3]), 2, what, name))
        self._kernel, self._stride, self._rate = inner
        self.padding = one_of(padding.lower(), ("same", "valid"), "padding", name)

    def construct(self, input_x: Tensor) -> Tensor:
        checks.rank(input_x.shape, (4,), type(self).__name__)
        return extract_image_patches(input_x, self._kernel, self._stride, self._rate,
                                     self.padding.upper())


class Norm(Cell):
    """The Euclidean norm along axes.

    Args:
        axis: an axis or a tuple of them; () for all.
        keep_dims: whether they stay, with length 1.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.Norm(axis=1)(ms.Tensor([[3.0, 4.0]])))
        [5.]
    """

    def __init__(self, axis: Any = (), keep_dims: bool = False):
        super().__init__()
        self.axis = axis
        self.keep_dims = checks.boolean(keep_dims, "keep_dims", type(self).__name__)

    def construct(self, x: Tensor) -> Tensor:
        axis = tuple(range(x.ndim)) if self.axis == () else self.axis
        return ops.sqrt(ops.sum(ops.square(x), axis, self.keep_dims))

    def extend_repr(self) -> str:
        return f"axis={self.axis}, keep_dims={self.keep_dims}"


class ClipByNorm(Cell):
    """Scales the input down to a norm where it is longer.

    Args:
        axis: the axes the norm is taken along, an int or a tuple; None for all.

    Inputs:
        - **x** - Tensor of any shape.
        - **clip_norm** - the norm, a Tensor or a number.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.ClipByNorm()(ms.Tensor([3.0, 4.0]), ms.Tensor(1.0)))
        [0.6 0.8]
    """

    def __init__(self, axis: Any = None):
        super().__init__()
        if axis is not None:
            checks.of_type(axis, (int, tuple), "axis", type(self).__name__)
        self.axis = axis

    def construct(self, x: Tensor, clip_norm: Any) -> Tensor:
        axis = tuple(range(x.ndim)) if self.axis is None else self.axis
        squares = ops.sum(ops.square(x), axis, True)
        some = squares > 0  # at 0 the square root has no derivative
        length = ops.sqrt(ops.where(some, squares, ops.ones_like(squares)))
        length = ops.where(some, length, ops.zeros_like(length))
        return x * clip_norm / ops.maximum(length, clip_norm)


class OneHot(Cell):
    """A row for each integer: `on_value` at its position, `off_value` elsewhere.

    Args:
        axis: where the new dimension goes.
        depth: its length.
        on_value, off_value: the two values.
        dtype: type of the output.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.OneHot(depth=3)(ms.Tensor([2, 0])))
        [[0. 0. 1.]
         [1. 0. 0.]]
    """

    def __init__(self, axis: int = -1, depth: int = 1, on_value: float = 1.0,
                 off_value: float = 0.0, dtype: Any = mstype.float32):
        super().__init__()
        self.axis = axis
        self.depth = depth
        self.dtype = dtype
        self.on_value = on_value
        self.off_value = off_value

    def construct(self, indices: Tensor) -> Tensor:
        return ops.one_hot(indices, self.depth, Tensor(self.on_value, self.dtype),
                           Tensor(self.off_value, self.dtype), self.axis)


class L1Regularizer(Cell):
    """`scale` times the sum of the magnitudes.

    Args:
        scale: a positive, finite number.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.L1Regularizer(0.5)(ms.Tensor([1.0, -3.0])))
        2.0
    """

    def __init__(self, scale: float):
        super().__init__()
        name = type(self).__name__
        checks.of_type(scale, (int, float), "scale", name)
        if not 0 < scale < math.inf:
            raise ValueError(f"For '{name}', 'scale' must be positive and finite, but got {scale}.")
        self.scale = float(scale)

    def construct(self, weights: Tensor) -> Tensor:
        return ops.sum(ops.abs(weights)) * Tensor(self.scale, mstype.float32)


class TimeDistributed(Cell):
    """Applies a layer to each step of a time axis.

    Args:
        layer: the layer, a Cell or Primitive.
        time_axis: the axis of time.
        reshape_with_axis: an axis that time is joined with, so that one call does; None for a call
            a step.

    Inputs:
        - **inputs** - Tensor with 3 dimensions or more.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.TimeDistributed(ms.nn.Dense(3, 6), time_axis=1, reshape_with_axis=0)
        >>> net(ms.ops.ones((32, 10, 3))).shape
        (32, 10, 6)
    """

    def __init__(self, layer: Any, time_axis: int, reshape_with_axis: int | None = None):
        super().__init__()
        name = type(self).__name__
        self.layer = checks.of_type(layer, (Cell, Primitive), "layer", name)
        self.time_axis = checks.of_type(time_axis, int, "time_axis", name)
        if reshape_with_axis is not None:
            checks.of_type(reshape_with_axis, int, "reshape_with_axis", name)
        self.reshape_with_axis = reshape_with_axis

    def construct(self, inputs: Tensor) -> Tensor:
        shape = inputs.shape
        if len(shape) < 3:
            raise ValueError(f"For '{type(self).__name__}', the input must have 3 dimensions or "
                             f"more, but got shape {shape}.")
        time = self.time_axis % len(shape)
        if self.reshape_with_axis is None:
            steps = [self.layer(inputs.select(time, t)) for t in range(shape[time])]
            return ops.stack(steps, time)
        return self._joined(inputs, time, self.reshape_with_axis % len(shape))

    def _joined(self, inputs: Tensor, time: int, other: int) -> Tensor:
        """Move time next to the other axis, join the two, call the layer once, part them."""
        if time == other:
            raise ValueError(f"For '{type(self).__name__}', 'time_axis' and 'reshape_with_axis' "
                             f"must differ, but both are {time}.")
        rest = [a for a in range(inputs.ndim) if a != time]
        position = rest.index(other) + (1 if time > other else 0)
        order = rest[:position] + [time] + rest[position:]
        moved = inputs.permute(*order).shape
        first = min(order.index(time), order.index(other))
        joined = inputs.permute(*order).reshape(*moved[:first], -1, *moved[first + 2:])
        out = self.layer(joined)
        if out.ndim <= first or out.shape[first] != joined.shape[first]:
            raise ValueError(f"For '{type(self).__name__}', the layer must keep dimension {first} "
                             f"of {joined.shape}, but gave {out.shape}; leave out "
                             f"'reshape_with_axis'.")
        return out.reshape(*out.shape[:first], *moved[first:first + 2], *out.shape[first + 1:])
