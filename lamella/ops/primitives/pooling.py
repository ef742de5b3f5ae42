"""Primitive classes of pooling."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from ...core.errors import op
from ...core.primitive import primitive
from ...core.require import one_of
from ...tensors.random import fresh_generator
from ...tensors.tensor import Tensor, wrap
from .. import adaptive_pooling, pooling
from ..arguments import FLOATS, require, require_values, typed
from ..operands import flag
from ..primitive import Primitive
from ..windows import each, same_padding
from .attributed import Attributed
from .attributes import with_attributes
from .nn import as_before, channels_first
from .random import own_stream

__all__ = [
    "AdaptiveAvgPool2D", "AdaptiveAvgPool3D", "AdaptiveMaxPool2D", "AdaptiveMaxPool3D", "AvgPool",
    "AvgPool3D", "FractionalAvgPool", "FractionalMaxPool", "FractionalMaxPool3DWithFixedKsize",
    "FractionalMaxPoolWithFixedKsize", "MaxPool", "MaxPool3D", "MaxPool3DWithArgmax",
    "MaxPoolWithArgmax", "MaxPoolWithArgmaxV2", "MaxUnpool2D", "MaxUnpool3D",
]

_REAL = (*FLOATS, torch.int32, torch.int64)


class _Pool(Attributed):
    def __init__(self, kernel_size: Any = 1, strides: Any = 1, pad_mode: str = "valid",
                 data_format: str = "NCHW"):
        super().__init__(kernel_size=kernel_size, strides=strides, pad_mode=pad_mode,
                         data_format=data_format)
        for what in ("kernel_size", "strides"):
            each(self.name, what, getattr(self, what), 2)
        mode = pad_mode.upper() if isinstance(pad_mode, str) else pad_mode
        if mode not in ("VALID", "SAME"):
            raise ValueError(f"For '{self.name}', 'pad_mode' must be 'VALID' or 'SAME', "
                             f"but got {pad_mode!r}.")
        self.add_prim_attr("pad_mode", mode)


class MaxPool(_Pool):
    """The maximum over windows of images, with a pad mode.

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.arange(36.0).reshape((1, 3, 3, 4))
        >>> print(ms.ops.MaxPool(kernel_size=2, strides=1, pad_mode="VALID")(x)[0, 0])
        [[ 5.  6.  7.]
         [ 9. 10. 11.]]
    """

    def __call__(self, x: Any) -> Any:
        out = pooling.max_over_windows("MaxPool", channels_first(x, self.data_format),
                                       self.kernel_size, self.strides, self.pad_mode)
        return as_before(out, self.data_format)


class AvgPool(_Pool):
    """The mean over windows of images, with a pad mode; what is padded does not count.

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.arange(36.0).reshape((1, 3, 3, 4))
        >>> print(ms.ops.AvgPool(kernel_size=2, strides=1, pad_mode="VALID")(x)[0, 0])
        [[2.5 3.5 4.5]
         [6.5 7.5 8.5]]
    """

    def __init__(self, kernel_size: Any = 1, strides: Any = 1, pad_mode: str = "VALID",
                 data_format: str = "NCHW"):
        super().__init__(kernel_size, strides, pad_mode, data_format)

    def __call__(self, x: Any) -> Any:
        out = pooling.mean_over_windows("AvgPool", channels_first(x, self.data_format),
                                        self.kernel_size, self.strides, self.pad_mode,
                                        count_include_pad=False)
        return as_before(out, self.data_format)


class MaxPool3D(Attributed):
    """The maximum over windows of volumes, with a pad mode.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.MaxPool3D(2, 1, "VALID")(ms.ops.ones((1, 2, 2, 2, 3))).shape
        (1, 2, 1, 1, 2)
    """

    def __init__(self, kernel_size: Any = 1, strides: Any = 1, pad_mode: str = "VALID",
                 pad_list: Any = 0, ceil_mode: bool | None = None, data_format: str = "NCDHW"):
        super().__init__(kernel_size=kernel_size, strides=strides, pad_mode=pad_mode.upper(),
                         pad_list=pad_list, ceil_mode=ceil_mode, data_format=data_format)

    def __call__(self, x: Any) -> Any:
        return pooling.max_over_windows("MaxPool3D", x, self.kernel_size, self.strides,
                                        self.pad_mode, self.pad_list, 1, bool(self.ceil_mode))


class AvgPool3D(Attributed):
    """The mean over windows of volumes, with a pad mode.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.AvgPool3D(2, 1, "valid")(ms.ops.ones((1, 2, 2, 2, 3))).shape
        (1, 2, 1, 1, 2)
    """

    def __init__(self, kernel_size: Any = 1, strides: Any = 1, pad_mode: str = "valid",
                 pad: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True,
                 divisor_override: int = 0, data_format: str = "NCDHW"):
        super().__init__(kernel_size=kernel_size, strides=strides, pad_mode=pad_mode.upper(),
                         pad=pad, ceil_mode=ceil_mode, count_include_pad=count_include_pad,
                         divisor_override=divisor_override, data_format=data_format)

    def __call__(self, x: Any) -> Any:
        return pooling.mean_over_windows("AvgPool3D", x, self.kernel_size, self.strides,
                                         self.pad_mode, self.pad, self.ceil_mode,
                                         self.count_include_pad, self.divisor_override)


class MaxPoolWithArgmaxV2(Attributed):
    """`ops.max_pool2d` with its attributes; gives the maxima and their indices.

    Examples:
        >>> import lamella as ms
        >>> print(*ms.ops.MaxPoolWithArgmaxV2(2)(ms.Tensor([[[[1.0, 2.0], [4.0, 3.0]]]])))
        [[[[4.]]]] [[[[2]]]]
    """

    def __init__(self, kernel_size: Any, strides: Any = None, pads: Any = 0,
                 dilation: Any = (1, 1), ceil_mode: bool = False, argmax_type: Any = None):
        super().__init__(kernel_size=kernel_size, strides=strides, pads=pads, dilation=dilation,
                         ceil_mode=ceil_mode, argmax_type=argmax_type)

    def __call__(self, x: Any) -> Any:
        out, positions = pooling.max_pool2d(x, self.kernel_size, self.strides, self.pads,
                                         self.dilation, True, self.ceil_mode)
        return out, positions if self.argmax_type is None else positions.astype(self.argmax_type)


class MaxPool3DWithArgmax(Attributed):
    """`ops.max_pool3d` with its attributes; gives the maxima and their indices.

    Examples:
        >>> import lamella as ms
        >>> out, positions = ms.ops.MaxPool3DWithArgmax(2, 1, 0)(ms.ops.ones((1, 1, 2, 2, 3)))
        >>> out.shape, positions.shape
        ((1, 1, 1, 1, 2), (1, 1, 1, 1, 2))
    """

    def __init__(self, ksize: Any, strides: Any, pads: Any, dilation: Any = (1, 1, 1),
                 ceil_mode: bool = False, data_format: str = "NCDHW", argmax_type: Any = None):
        super().__init__(ksize=ksize, strides=strides, pads=pads, dilation=dilation,
                         ceil_mode=ceil_mode, data_format=data_format, argmax_type=argmax_type)

    def __call__(self, x: Any) -> Any:
        out, positions = pooling.max_pool3d(x, self.ksize, self.strides, self.pads, self.dilation,
                                         self.ceil_mode, True)
        return out, positions if self.argmax_type is None else positions.astype(self.argmax_type)


def _adaptive(name: str, function: Any) -> type[Primitive]:
    class _Adaptive(Attributed):
        __doc__ = f"`ops.{function.__name__}` with the output's size as an attribute."

        def __init__(self, output_size: Any):
            super().__init__(output_size=output_size)

        def __call__(self, x: Any) -> Any:
            return function(x, self.output_size)

    _Adaptive.__name__ = _Adaptive.__qualname__ = name
    return _Adaptive


AdaptiveAvgPool2D = _adaptive("AdaptiveAvgPool2D", adaptive_pooling.adaptive_avg_pool2d)
AdaptiveAvgPool3D = _adaptive("AdaptiveAvgPool3D", adaptive_pooling.adaptive_avg_pool3d)


class AdaptiveMaxPool2D(Attributed):
    """`ops.adaptive_max_pool2d`; gives the maxima and their indices.

    Examples:
        >>> import lamella as ms
        >>> print(*ms.ops.AdaptiveMaxPool2D((1, 1))(ms.Tensor([[[[1.0, 2.0]]]])))
        [[[[2.]]]] [[[[1]]]]
    """

    def __init__(self, output_size: Any):
        super().__init__(output_size=output_size)

    def __call__(self, x: Any) -> Any:
        return adaptive_pooling.adaptive_max_pool2d(x, self.output_size, True)


class _FractionalPool(Attributed):
    _mean = False

    def __init__(self, pooling_ratio: list[float], pseudo_random: bool = False,
                 overlapping: bool = False, deterministic: bool = False, seed: int = 0,
                 seed2: int = 0):
        super().__init__(pooling_ratio=pooling_ratio, pseudo_random=pseudo_random,
                         overlapping=overlapping, deterministic=deterministic, seed=seed,
                         seed2=seed2)
        require(isinstance(pooling_ratio, list), TypeError,
                f"For '{self.name}', 'pooling_ratio' must be a list, but got {pooling_ratio!r}.")
        require(all(isinstance(ratio, float) for ratio in pooling_ratio), TypeError,
                f"For '{self.name}', 'pooling_ratio' must hold floats, but got {pooling_ratio}.")
        for argument in ("pseudo_random", "overlapping", "deterministic"):
            flag(getattr(self, argument), self.name, argument)

    def __call__(self, x: Any) -> tuple[Tensor, Tensor, Tensor]:
        raw, ratio = typed(x, self.name, "x", _REAL[1:], 4), self.pooling_ratio
        require(len(ratio) == 4 and ratio[0] == ratio[3] == 1.0 and min(ratio[1:3]) >= 1.0,
                ValueError, f"For '{self.name}', 'pooling_ratio' must be 1.0, two numbers of 1.0 "
                            f"or more, and 1.0, but got {ratio}.")
        if self.deterministic and (self.seed or self.seed2):
            own = fresh_generator(self, self.seed, self.seed2)
        else:
            own = own_stream(self, self.seed, self.seed2)
        rows, columns = (adaptive_pooling.pooling_sequence(
            raw.shape[i], int(raw.shape[i] / ratio[i]), self.pseudo_random, own) for i in (1, 2))
        out = adaptive_pooling.fractional_pool(x, rows, columns, self._mean, self.overlapping)
        return out, wrap(rows), wrap(columns)


class FractionalMaxPool(_FractionalPool):
    """The maxima over cells of images at random, evenly spread positions (Graham, 2014).

    Args:
        pooling_ratio: how many times smaller the output is, a list for (N, H, W, C), 1.0 for N, C.
        pseudo_random: whether to draw one shift instead of the order of the cells' sizes.
        overlapping: whether a cell has the first row and column of the next one, too.
        deterministic: whether each call draws the same cells, given a seed.
        seed, seed2: op-level seeds; 0 for both means the default generator.

    Inputs:
        x: float32, float64, int32 or int64, shape (N, H, W, C).

    Outputs:
        The maxima, and where the cells' rows and columns begin and the last ones end, int64.

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.arange(1, 17).reshape((1, 4, 4, 1))
        >>> out, rows, columns = ms.ops.FractionalMaxPool([1.0, 1.5, 1.5, 1.0])(x)
        >>> print(out.reshape((2, 2)), rows, columns)
        [[ 6  8]
         [14 16]] [0 2 4] [0 2 4]
    """


class FractionalAvgPool(_FractionalPool):
    """As `FractionalMaxPool`, with means instead of maxima; those of integers are cut off.

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.arange(1, 17).reshape((1, 4, 4, 1))
        >>> print(ms.ops.FractionalAvgPool([1.0, 1.5, 1.5, 1.0])(x)[0].reshape((2, 2)))
        [[ 3  5]
         [11 13]]
    """

    _mean = True


class FractionalMaxPoolWithFixedKsize(Attributed):
    """`ops.fractional_max_pool2d` at positions that random numbers given to it choose.

    Args:
        ksize: of the windows, an int or two.
        output_shape: an int or (H_out, W_out).
        data_format: ``'NCHW'``.

    Inputs:
        input_x: of real numbers, shape (N, C, H, W).
        random_samples: float16, float32 or float64 in [0, 1), shape (N, C, 2).

    Outputs:
        The maxima and their indices in the flattened planes, int64.

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.arange(16.0).reshape((1, 1, 4, 4))
        >>> out, at = ms.ops.FractionalMaxPoolWithFixedKsize(2, 1)(x, ms.Tensor([[[0.5, 0.5]]]))
        >>> print(out, at)
        [[[[15.]]]] [[[[15]]]]
    """

    _formats, _rank = ("NCHW",), 2

    def __init__(self, ksize: Any, output_shape: Any, data_format: str = ""):
        super().__init__(ksize=ksize, output_shape=output_shape,
                         data_format=data_format or self._formats[0])
        one_of(self.data_format, self._formats, "data_format", self.name)
        for argument in ("ksize", "output_shape"):
            each(self.name, argument, getattr(self, argument), self._rank)

    def __call__(self, input_x: Any, random_samples: Any) -> Any:
        rank, name = self._rank, self.name
        typed(input_x, name, "input_x", _REAL, rank + 2)
        samples = typed(random_samples, name, "random_samples", FLOATS, 3)
        first = channels_first(input_x, self.data_format)
        require(samples.shape == (*first.shape[:2], rank), ValueError,
                f"For '{name}', 'random_samples' must have the shape {(*first.shape[:2], rank)}, "
                f"but got {random_samples.shape}.")
        kernel, size = (each(name, a, getattr(self, a), rank)
                        for a in ("ksize", "output_shape"))
        require(all(k + s - 1 <= n for k, s, n in zip(kernel, size, first.shape[2:], strict=True)),
                ValueError, f"For '{name}', 'ksize' + 'output_shape' - 1 must be at most "
                            f"{first.shape[2:]}, the input's size, but got {kernel} and {size}.")
        pool = adaptive_pooling.fractional_max_pool2d if rank == 2 \
            else adaptive_pooling.fractional_max_pool3d
        found = pool(first, kernel, size, None, True, random_samples)
        return tuple(as_before(part, self.data_format) for part in found)


class FractionalMaxPool3DWithFixedKsize(FractionalMaxPoolWithFixedKsize):
    """`FractionalMaxPoolWithFixedKsize` for volumes, (N, C, D, H, W) or (N, D, H, W, C).

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.arange(16.0).reshape((1, 1, 2, 2, 4))
        >>> pool = ms.ops.FractionalMaxPool3DWithFixedKsize(1, (1, 1, 2))
        >>> print(pool(x, ms.Tensor([[[0.7, 0.7, 0.7]]]))[1])
        [[[[[12 15]]]]]
    """

    _formats, _rank = ("NCDHW", "NDHWC"), 3


class MaxUnpool3D(Attributed):
    """`ops.max_unpool3d` with its attributes.

    Args:
        ksize, strides, pads: of the pooling, an int or three; `strides` of 0 are `ksize`.
        output_shape: (N, C, D, H, W), less than a stride from what those give, or ().
        data_format: ``'NCDHW'`` or ``'NDHWC'``.

    Inputs:
        x: maxima, shape (N, C, D, H, W).
        argmax: their indices in the flattened volumes, int32 or int64.

    Examples:
        >>> import lamella as ms
        >>> x, positions = ms.Tensor([[[[[4.0]]]]]), ms.Tensor([[[[[2]]]]])
        >>> print(ms.ops.MaxUnpool3D((1, 2, 2))(x, positions))
        [[[[[0. 0.]
            [4. 0.]]]]]
    """

    def __init__(self, ksize: Any, strides: Any = 0, pads: Any = 0, output_shape: Any = (),
                 data_format: str = "NCDHW"):
        super().__init__(ksize=ksize, strides=strides, pads=pads, output_shape=output_shape,
                         data_format=one_of(data_format, ("NCDHW", "NDHWC"), "data_format",
                                            "MaxUnpool3D"))
        for argument, least in (("ksize", 1), ("strides", 0), ("pads", 0)):
            each(self.name, argument, getattr(self, argument), 3, least)

    def __call__(self, x: Any, argmax: Any) -> Any:
        name = self.name
        raw, positions = (typed(value, name, argument, kinds, 5) for value, argument, kinds in (
            (x, "x", _REAL), (argmax, "argmax", (torch.int32, torch.int64))))
        require(raw.shape == positions.shape, ValueError,
                f"For '{name}', 'argmax' must have the shape of 'x', {x.shape}, "
                f"but got {argmax.shape}.")
        first = channels_first(x, self.data_format)
        kernel, steps, pads = (each(name, a, getattr(self, a), 3, 0)
                               for a in ("ksize", "strides", "pads"))
        steps = steps if any(steps) else kernel
        size = [(n - 1) * s - 2 * p + k for n, s, p, k in
                zip(first.shape[2:], steps, pads, kernel, strict=True)]
        if self.output_shape:
            require(len(self.output_shape) == 5, ValueError,
                    f"For '{name}', 'output_shape' must be () or five lengths, "
                    f"but got {self.output_shape}.")
            last = self.data_format.endswith("C")
            given = tuple(self.output_shape)[1:4] if last else tuple(self.output_shape)[2:]
            require(all(abs(g - n) < s for g, n, s in zip(given, size, steps, strict=True)),
                    ValueError, f"For '{name}', the lengths in 'output_shape' must be less than "
                                f"{steps} from {tuple(size)}, but got {given}.")
            size = list(given)
        total = size[0] * size[1] * size[2]
        require(total > 0, ValueError, f"For '{name}', the output's size must be positive, "
                                       f"but got {tuple(size)}.")
        require_values(((positions >= 0) & (positions < total)).all(),
                       f"For '{name}', 'argmax' must be in [0, {total}), the output's elements.")
        out = pooling.max_unpool3d(first, channels_first(argmax, self.data_format), kernel, steps,
                                   pads, size)
        return as_before(out, self.data_format)


def _adaptive_max_pool3d(x: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """As `ops.adaptive_max_pool3d`, with indices."""
    size = output_size.tolist() if isinstance(output_size, Tensor) else output_size
    values, indices = adaptive_pooling.adaptive_max_pool3d(x, tuple(size), True)
    return values, wrap(indices._raw.int())


@op
def _max_with_indices(x: Tensor, kernel_size: Any, strides: Any, pad_mode: str,
                      data_format: str) -> tuple[Tensor, Tensor]:
    raw = x._raw
    if pad_mode.lower() not in ("valid", "same") or data_format != "NCHW":
        raise ValueError(f"For 'MaxPoolWithArgmax', 'pad_mode' must be 'valid' or 'same' and "
                         f"'data_format' 'NCHW', but got {pad_mode!r} and {data_format!r}.")
    kernel, stride = (tuple(v)[-2:] if isinstance(v, (tuple, list)) else (v, v)
                      for v in (kernel_size, strides))
    (top, bottom), (left, right) = (0, 0), (0, 0)
    if pad_mode.lower() == "same":
        (top, bottom), (left, right) = same_padding(raw.shape[2:], kernel, stride, (1, 1))
    padded = F.pad(raw, (left, right, top, bottom), value=float("-inf"))
    values, positions = F.max_pool2d(padded, kernel, stride, return_indices=True)
    wide, width = padded.shape[-1], raw.shape[-1]
    positions = (positions // wide - top) * width + positions % wide - left
    channels = torch.arange(raw.shape[1], device=raw.device).reshape(-1, 1, 1)
    positions = positions + channels * (raw.shape[2] * width)
    return wrap(values), wrap(positions.int())


def _unpooled(x: Tensor, argmax: Tensor, *, ksize: Any, strides: Any, pads: Any, output_shape: Any,
              data_format: str) -> Tensor:
    """As `ops.max_unpool2d`."""
    if data_format != "NCHW":
        raise ValueError(f"For 'MaxUnpool2D', 'data_format' must be 'NCHW' here, "
                         f"but got {data_format!r}.")
    return pooling.max_unpool2d(x, argmax, ksize, strides or None, pads,
                                tuple(output_shape) or None)


AdaptiveMaxPool3D = primitive("AdaptiveMaxPool3D", _adaptive_max_pool3d)
MaxPoolWithArgmax = with_attributes("MaxPoolWithArgmax", _max_with_indices, kernel_size=1,
                                    strides=1, pad_mode="valid", data_format="NCHW")
MaxUnpool2D = with_attributes("MaxUnpool2D", _unpooled, "ksize", strides=0, pads=0, output_shape=(),
                              data_format="NCHW")
