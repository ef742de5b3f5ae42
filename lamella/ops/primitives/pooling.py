"""Primitive classes of pooling."""

from __future__ import annotations

from typing import Any

from .. import adaptive_pooling, pooling
from ..primitive import Primitive
from ..windows import each
from .attributed import Attributed
from .nn import as_before, channels_first

__all__ = ["MaxPool", "AvgPool", "MaxPool3D", "AvgPool3D", "MaxPoolWithArgmaxV2",
           "MaxPool3DWithArgmax", "AdaptiveAvgPool2D", "AdaptiveAvgPool3D", "AdaptiveMaxPool2D"]


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
    """`ops.max_pool2d` with its attributes; gives the maxima and their places.

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
        out, places = pooling.max_pool2d(x, self.kernel_size, self.strides, self.pads,
                                         self.dilation, True, self.ceil_mode)
        return out, places if self.argmax_type is None else places.astype(self.argmax_type)


class MaxPool3DWithArgmax(Attributed):
    """`ops.max_pool3d` with its attributes; gives the maxima and their places.

    Examples:
        >>> import lamella as ms
        >>> out, places = ms.ops.MaxPool3DWithArgmax(2, 1, 0)(ms.ops.ones((1, 1, 2, 2, 3)))
        >>> out.shape, places.shape
        ((1, 1, 1, 1, 2), (1, 1, 1, 1, 2))
    """

    def __init__(self, ksize: Any, strides: Any, pads: Any, dilation: Any = (1, 1, 1),
                 ceil_mode: bool = False, data_format: str = "NCDHW", argmax_type: Any = None):
        super().__init__(ksize=ksize, strides=strides, pads=pads, dilation=dilation,
                         ceil_mode=ceil_mode, data_format=data_format, argmax_type=argmax_type)

    def __call__(self, x: Any) -> Any:
        out, places = pooling.max_pool3d(x, self.ksize, self.strides, self.pads, self.dilation,
                                         self.ceil_mode, True)
        return out, places if self.argmax_type is None else places.astype(self.argmax_type)


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
    """`ops.adaptive_max_pool2d`; gives the maxima and their places.

    Examples:
        >>> import lamella as ms
        >>> print(*ms.ops.AdaptiveMaxPool2D((1, 1))(ms.Tensor([[[[1.0, 2.0]]]])))
        [[[[2.]]]] [[[[1]]]]
    """

    def __init__(self, output_size: Any):
        super().__init__(output_size=output_size)

    def __call__(self, x: Any) -> Any:
        return adaptive_pooling.adaptive_max_pool2d(x, self.output_size, True)
