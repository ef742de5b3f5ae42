"""Primitive classes of convolutions, normalization, dropout, padding and codes."""

from __future__ import annotations

from typing import Any

import torch

from ...core.dtype import float32
from ...tensors.tensor import Tensor, wrap
from .. import convolution, normalization
from ..dropout import keep_mask
from ..embedding import intopk, one_hot
from ..padding import mirror_pad, pad, padding
from ..primitive import primitive
from .attributed import Attributed
from .random import own_stream

__all__ = [
    "Conv2D", "Conv2DTranspose", "Conv2DBackpropInput", "Conv3D", "Conv3DTranspose", "BiasAdd",
    "Dense", "BatchNorm", "LayerNorm", "RmsNorm", "LRN", "Dropout", "Dropout2D", "Dropout3D",
    "Pad", "MirrorPad", "PadV3", "Padding", "OneHot", "InTopK",
    "EmbeddingLookup",
]


def channels_first(x: Tensor, data_format: str) -> Tensor:
    return wrap(x._raw.movedim(-1, 1)) if data_format.endswith("C") else x


def as_before(x: Tensor, data_format: str) -> Tensor:
    return wrap(x._raw.movedim(1, -1)) if data_format.endswith("C") else x


class _Conv(Attributed):
    """A convolution without bias; `out_channel` and `kernel_size` are those of the weight."""

    _rank = 2

    def __init__(self, out_channel: int, kernel_size: Any, mode: int = 1, pad_mode: str = "valid",
                 pad: Any = 0, stride: Any = 1, dilation: Any = 1, group: int = 1,
                 data_format: str = "NCHW"):
        super().__init__(out_channel=out_channel, kernel_size=kernel_size, mode=mode,
                         pad_mode=pad_mode, pad=pad, stride=stride, dilation=dilation, group=group,
                         data_format=data_format)
        convolution.pad_mode_of(self.name, pad_mode, pad)
        for what in ("kernel_size", "stride", "dilation"):
            convolution.each(self.name, what, getattr(self, what), self._rank)

    def __call__(self, x: Any, weight: Any) -> Any:
        run = convolution.conv2d if self._rank == 2 else convolution.conv3d
        x, weight = (channels_first(v, self.data_format) for v in (x, weight))
        out = run(x, weight, None, self.stride, self.pad_mode, self.pad, self.dilation, self.group)
        return as_before(out, self.data_format)


class Conv2D(_Conv):
    """`ops.conv2d` with its attributes.

    Examples:
        >>> import lamella as ms
        >>> conv = ms.ops.Conv2D(out_channel=32, kernel_size=3)
        >>> conv(ms.ops.ones((10, 32, 32, 32)), ms.ops.ones((32, 32, 3, 3))).shape
        (10, 32, 30, 30)
    """


class Conv3D(_Conv):
    """`ops.conv3d` with its attributes.

    Examples:
        >>> import lamella as ms
        >>> conv = ms.ops.Conv3D(out_channel=2, kernel_size=3, pad_mode='same')
        >>> conv(ms.ops.ones((1, 3, 4, 5, 6)), ms.ops.ones((2, 3, 3, 3, 3))).shape
        (1, 2, 4, 5, 6)
    """

    _rank = 3

    def __init__(self, out_channel: int, kernel_size: Any, mode: int = 1, pad_mode: str = "valid",
                 pad: Any = 0, stride: Any = 1, dilation: Any = 1, group: int = 1,
                 data_format: str = "NCDHW"):
        super().__init__(out_channel, kernel_size, mode, pad_mode, pad, stride, dilation, group,
                         data_format)


class Conv2DTranspose(Attributed):
    """The transpose of `Conv2D`: the gradient of its input. The input size is an input.

    Examples:
        >>> import lamella as ms
        >>> x, w = ms.ops.ones((10, 32, 30, 30)), ms.ops.ones((32, 32, 3, 3))
        >>> ms.ops.Conv2DTranspose(out_channel=32, kernel_size=3)(x, w, (10, 32, 32, 32)).shape
        (10, 32, 32, 32)
    """

    def __init__(self, out_channel: int, kernel_size: Any, pad_mode: str = "valid", pad: Any = 0,
                 pad_list: Any = None, mode: int = 1, stride: Any = 1, dilation: Any = 1,
                 group: int = 1, data_format: str = "NCHW"):
        super().__init__(out_channel=out_channel, kernel_size=kernel_size, pad_mode=pad_mode,
                         pad=pad, pad_list=pad_list, mode=mode, stride=stride, dilation=dilation,
                         group=group, data_format=data_format)

    def __call__(self, dout: Any, weight: Any, input_size: Any) -> Any:
        sizes = input_size.tolist() if isinstance(input_size, Tensor) else input_size
        pads = self.pad_list if self.pad_list and self.pad_mode == "pad" else self.pad
        return convolution.convolve_transposed(
            self.name, dout, weight, None, self.stride, self.pad_mode, pads, self.dilation,
            self.group, list(sizes)[2:])


class Conv2DBackpropInput(Conv2DTranspose):
    """Another name of `Conv2DTranspose`.

    Examples:
        >>> import lamella as ms
        >>> x, w = ms.ops.ones((1, 2, 3, 3)), ms.ops.ones((2, 1, 3, 3))
        >>> ms.ops.Conv2DBackpropInput(2, 3)(x, w, (1, 1, 5, 5)).shape
        (1, 1, 5, 5)
    """


class Conv3DTranspose(Attributed):
    """`ops.conv3d_transpose` with its attributes.

    Examples:
        >>> import lamella as ms
        >>> x, w = ms.ops.ones((1, 2, 3, 3, 3)), ms.ops.ones((2, 1, 3, 3, 3))
        >>> ms.ops.Conv3DTranspose(2, 1, 3)(x, w).shape
        (1, 1, 5, 5, 5)
    """

    def __init__(self, in_channel: int, out_channel: int, kernel_size: Any, mode: int = 1,
                 pad_mode: str = "valid", pad: Any = 0, stride: Any = 1, dilation: Any = 1,
                 group: int = 1, output_padding: Any = 0, data_format: str = "NCDHW"):
        super().__init__(in_channel=in_channel, out_channel=out_channel, kernel_size=kernel_size,
                         mode=mode, pad_mode=pad_mode, pad=pad, stride=stride, dilation=dilation,
                         group=group, output_padding=output_padding, data_format=data_format)

    def __call__(self, dout: Any, weight: Any) -> Any:
        return convolution.conv3d_transpose(dout, weight, self.pad_mode, self.pad, self.stride,
                                            self.dilation, self.group, self.output_padding)


class BiasAdd(Attributed):
    """`ops.bias_add`, also for channels in the last dimension.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.BiasAdd()(ms.Tensor([[0.0, 1.0]]), ms.Tensor([10.0, 20.0])))
        [[10. 21.]]
    """

    def __init__(self, data_format: str = "NCHW"):
        if data_format not in ("NCHW", "NHWC", "NCDHW"):
            raise ValueError(f"For 'BiasAdd', 'data_format' must be 'NCHW', 'NHWC' or 'NCDHW', "
                             f"but got {data_format!r}.")
        super().__init__(data_format=data_format)

    def __call__(self, input_x: Any, bias: Any) -> Any:
        x = channels_first(input_x, self.data_format)
        return as_before(convolution.bias_add(x, bias), self.data_format)


Dense = primitive("Dense", convolution.dense)


class BatchNorm(Attributed):
    """Batch normalization; in training it changes the running mean and variance it is given.

    Inputs are x, scale, bias, mean and variance; the result is the normalized x, two Tensors of
    zeros, and the batch's mean and biased variance, which are zeros too in inference.

    Examples:
        >>> import lamella as ms
        >>> zero, one = ms.Tensor([0.0]), ms.Tensor([1.0])
        >>> print(ms.ops.BatchNorm(epsilon=0.0)(ms.Tensor([[1.0], [2.0]]), one, zero, zero, one)[0])
        [[1.]
         [2.]]
    """

    def __init__(self, is_training: bool = False, epsilon: float = 1e-5, momentum: float = 0.1,
                 data_format: str = "NCHW"):
        if not 0 <= epsilon <= 1:
            raise ValueError(f"For 'BatchNorm', 'epsilon' must be in [0, 1], but got {epsilon}.")
        super().__init__(is_training=is_training, epsilon=epsilon, momentum=momentum,
                         data_format=data_format)

    def __call__(self, input_x: Any, scale: Any, bias: Any, mean: Any, variance: Any) -> Any:
        x = channels_first(input_x, self.data_format)
        empty = wrap(torch.zeros_like(mean._raw))
        if self.is_training:
            out, *batch = normalization.batch_norm_training(x, mean, variance, scale, bias,
                                                            self.momentum, self.epsilon)
        else:
            out, batch = normalization.batch_norm(x, mean, variance, scale, bias,
                                                  eps=self.epsilon), [empty, empty]
        return (as_before(out, self.data_format), empty, empty, *batch)


class LayerNorm(Attributed):
    """Layer normalization from an axis on; gives the result, the mean and the variance.

    The latter two are float32, whatever the input is.

    Args:
        begin_norm_axis: the first axis to normalize over.
        begin_params_axis: the first axis of gamma and beta.
        epsilon: added to the variance.

    Examples:
        >>> import lamella as ms
        >>> norm, one = ms.ops.LayerNorm(epsilon=0.0), ms.Tensor([1.0, 1.0])
        >>> print(*norm(ms.Tensor([[1.0, 3.0]]), one, ms.Tensor([0.0, 0.0])))
        [[-1.  1.]] [[2.]] [[1.]]
    """

    def __init__(self, begin_norm_axis: int = 1, begin_params_axis: int = 1,
                 epsilon: float = 1e-7):
        super().__init__(begin_norm_axis=begin_norm_axis, begin_params_axis=begin_params_axis,
                         epsilon=epsilon)

    def __call__(self, input_x: Any, gamma: Any, beta: Any) -> Any:
        kind = input_x.dtype
        out, mean, variance = normalization.layer_norm_from(
            "LayerNorm", input_x, gamma.astype(kind), beta.astype(kind), self.begin_norm_axis,
            self.begin_params_axis, self.epsilon)
        return out, mean.astype(float32), variance.astype(float32)


class RmsNorm(Attributed):
    """`ops.rms_norm` with its attribute.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.RmsNorm()(ms.Tensor([[1.0, 7.0]]), ms.Tensor([5.0, 10.0]))[0])
        [[ 1. 14.]]
    """

    def __init__(self, epsilon: float = 1e-6):
        super().__init__(epsilon=epsilon)

    def __call__(self, x: Any, gamma: Any) -> Any:
        return normalization.rms_norm(x, gamma, self.epsilon)


class LRN(Attributed):
    """`ops.lrn` with its attributes.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.LRN()(ms.ops.ones((1, 2, 2, 2))).shape
        (1, 2, 2, 2)
    """

    def __init__(self, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0,
                 beta: float = 0.5, norm_region: str = "ACROSS_CHANNELS"):
        super().__init__(depth_radius=depth_radius, bias=bias, alpha=alpha, beta=beta,
                         norm_region=norm_region)

    def __call__(self, x: Any) -> Any:
        return normalization.lrn(x, *self.attrs.values())


class _Dropout(Attributed):
    def __init__(self, keep_prob: float = 0.5):
        if isinstance(keep_prob, bool) or not isinstance(keep_prob, (int, float)):
            raise TypeError(f"For '{type(self).__name__}', 'keep_prob' must be a number, "
                            f"but got {keep_prob!r} of type {type(keep_prob).__name__}.")
        if not 0 <= keep_prob <= 1:
            raise ValueError(f"For '{type(self).__name__}', 'keep_prob' must be in [0, 1], "
                             f"but got {keep_prob}.")
        super().__init__(keep_prob=keep_prob)

    def _apply(self, x: Any, shape: tuple[int, ...], kind: torch.dtype,
               source: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
        raw = x._raw
        mask = keep_mask(raw, 1 - self.keep_prob, shape, source)
        scaled = mask if self.keep_prob == 0 else mask / self.keep_prob
        return wrap(raw * scaled), wrap(mask.expand(raw.shape).to(kind))


class Dropout(_Dropout):
    """Elements set to zero at random; gives the result and the mask.

    Args:
        keep_prob: the probability of an element to stay, above 0.
        Seed0, Seed1: seeds of a stream of this object's own; 0 for both means the default one.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.Dropout(keep_prob=1.0)(ms.Tensor([1.0, 2.0]))[0])
        [1. 2.]
    """

    def __init__(self, keep_prob: float = 0.5, Seed0: int = 0, Seed1: int = 0):  # noqa: N803
        super().__init__(keep_prob)
        if keep_prob == 0:
            raise ValueError("For 'Dropout', 'keep_prob' must be above 0, but got 0.")
        self.add_prim_attr("Seed0", Seed0)
        self.add_prim_attr("Seed1", Seed1)

    def __call__(self, x: Any) -> Any:
        return self._apply(x, x.shape, x._raw.dtype, own_stream(self, self.Seed0, self.Seed1))


class Dropout2D(_Dropout):
    """Channels of images set to zero at random; gives the result and the mask, of bool.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.Dropout2D(keep_prob=0.5)(ms.ops.ones((2, 1, 2, 3)))[1].dtype
        mindspore.bool
    """

    def __call__(self, x: Any) -> Any:
        return self._apply(x, (*x.shape[:2], 1, 1), torch.bool)


class Dropout3D(_Dropout):
    """Channels of volumes set to zero at random; gives the result and the mask, of bool.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.Dropout3D(keep_prob=0.5)(ms.ops.ones((2, 1, 2, 3, 1)))[1].shape
        (2, 1, 2, 3, 1)
    """

    def __call__(self, x: Any) -> Any:
        return self._apply(x, (*x.shape[:2], 1, 1, 1), torch.bool)


class Pad(Attributed):
    """Zeros before and after, a pair a dimension.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.Pad(((0, 1), (2, 0)))(ms.Tensor([[1.0]])))
        [[0. 0. 1.]
         [0. 0. 0.]]
    """

    def __init__(self, paddings: Any):
        if not isinstance(paddings, tuple):
            raise TypeError(f"For 'Pad', 'paddings' must be a tuple of pairs, but got {paddings}.")
        if any(n < 0 for pair in paddings for n in pair):
            raise ValueError(f"For 'Pad', paddings must be 0 or more, but got {paddings}.")
        super().__init__(paddings=paddings)

    def __call__(self, x: Any) -> Any:
        if len(self.paddings) != x.ndim:
            raise ValueError(f"For 'Pad', 'paddings' must have {x.ndim} pairs for an input of "
                             f"shape {x.shape}, but got {self.paddings}.")
        return pad(x, tuple(n for pair in reversed(self.paddings) for n in pair))


class MirrorPad(Attributed):
    """`ops.mirror_pad` with the mode as an attribute.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.MirrorPad('SYMMETRIC')(ms.Tensor([1, 2]), ms.Tensor([[1, 0]])))
        [1 1 2]
    """

    def __init__(self, mode: str = "REFLECT"):
        if mode not in ("REFLECT", "SYMMETRIC"):
            raise ValueError(f"For 'MirrorPad', 'mode' must be 'REFLECT' or 'SYMMETRIC', "
                             f"but got {mode!r}.")
        super().__init__(mode=mode)

    def __call__(self, input_x: Any, paddings: Any) -> Any:
        return mirror_pad(input_x, paddings, self.mode)


class PadV3(Attributed):
    """`ops.pad` with the mode as an attribute.

    Args:
        mode: ``'constant'``, ``'reflect'``, ``'edge'`` or ``'circular'``.
        paddings_contiguous: whether each dimension's two numbers stand together; else all the
            numbers before come first.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.PadV3()(ms.Tensor([1.0, 2.0]), (1, 1), 9.0))
        [9. 1. 2. 9.]
    """

    def __init__(self, mode: str = "constant", paddings_contiguous: bool = True):
        if mode not in ("constant", "reflect", "edge", "circular"):
            raise ValueError(f"For 'PadV3', 'mode' must be 'constant', 'reflect', 'edge' or "
                             f"'circular', but got {mode!r}.")
        super().__init__(mode=mode, paddings_contiguous=paddings_contiguous)

    def __call__(self, x: Any, paddings: Any, constant_values: Any = None) -> Any:
        amounts = paddings.tolist() if isinstance(paddings, Tensor) else list(paddings)
        if not self.paddings_contiguous:
            half = len(amounts) // 2
            amounts = [n for i in range(half) for n in (amounts[i], amounts[half + i])]
        return pad(x, amounts, self.mode, constant_values)


class Padding(Attributed):
    """Zeros behind the last dimension, which is of length 1, up to a length.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.Padding(3)(ms.Tensor([[1.0], [2.0]])))
        [[1. 0. 0.]
         [2. 0. 0.]]
    """

    def __init__(self, pad_dim_size: int = 8):
        super().__init__(pad_dim_size=pad_dim_size)

    def __call__(self, x: Any) -> Any:
        return padding(x, self.pad_dim_size)


class OneHot(Attributed):
    """`ops.one_hot` with the axis as an attribute; the values are Tensors.

    Examples:
        >>> import lamella as ms
        >>> on, off = ms.Tensor(1.0, ms.float32), ms.Tensor(0.0, ms.float32)
        >>> print(ms.ops.OneHot()(ms.Tensor([0, 2]), 3, on, off))
        [[1. 0. 0.]
         [0. 0. 1.]]
    """

    def __init__(self, axis: int = -1):
        super().__init__(axis=axis)

    def __call__(self, indices: Any, depth: Any, on_value: Any, off_value: Any) -> Any:
        return one_hot(indices, depth, on_value, off_value, self.axis)


class EmbeddingLookup(Attributed):
    """The rows that indices name in a slice of a table that starts at `offset`; others are zeros.

    Examples:
        >>> import lamella as ms
        >>> table = ms.Tensor([[1.0], [2.0]])
        >>> print(ms.ops.EmbeddingLookup()(table, ms.Tensor([5, 4, 9]), 4))
        [[2.]
         [1.]
         [0.]]
    """

    def __init__(self):
        super().__init__()

    def __call__(self, input_params: Any, input_indices: Any, offset: int) -> Any:
        table, rows = input_params._raw, input_indices._raw.to(torch.int64) - offset
        inside = (rows >= 0) & (rows < table.shape[0])
        taken = table[torch.where(inside, rows, 0)]
        return wrap(torch.where(inside.view(*rows.shape, *(1,) * (table.dim() - 1)), taken, 0))


class InTopK(Attributed):
    """`ops.intopk` with k as an attribute.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.InTopK(1)(ms.Tensor([[1.0, 8.0]]), ms.Tensor([1])))
        [ True]
    """

    def __init__(self, k: int):
        super().__init__(k=k)

    def __call__(self, x1: Any, x2: Any) -> Any:
        return intopk(x1, x2, self.k)
