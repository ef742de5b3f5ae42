"""A convolution or fully connected layer with normalization and activation behind it."""

from __future__ import annotations

from typing import Any

from ..tensors.tensor import Tensor
from . import checks
from .cell import Cell
from .convolution import Conv2d
from .dense import Dense, make_activation
from .normalization import BatchNorm1d, BatchNorm2d
from .rectifier import LeakyReLU

__all__ = ["Conv2dBnAct", "DenseBnAct"]


class _Combined(Cell):
    """What both share: what comes behind the layer."""

    def _add(self, norm: Any, channels: int, has_bn: bool, momentum: float, eps: float,
             activation: Any, alpha: float, after_fake: bool) -> None:
        name = type(self).__name__
        self.has_bn = checks.boolean(has_bn, "has_bn", name)
        self.has_act = activation is not None
        self.after_fake = checks.boolean(after_fake, "after_fake", name)
        if has_bn:
            self.batchnorm = norm(channels, eps, momentum)
        self.activation = (LeakyReLU(alpha) if activation == "leakyrelu"
                           else make_activation(activation, name))

    def _finish(self, x: Tensor) -> Tensor:
        if self.has_bn:
            x = self.batchnorm(x)
        return self.activation(x) if self.has_act else x


class Conv2dBnAct(_Combined):
    """`Conv2d`, then if wanted `BatchNorm2d` and an activation.

    Args:
        in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group,
            has_bias, weight_init, bias_init: those of `Conv2d`.
        has_bn: whether there is a normalization.
        momentum, eps: of it.
        activation: the name of an activation, a Cell or a Primitive.
        alpha: the slope of ``"leakyrelu"``.
        after_fake: accepted for MindSpore's sake.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.Conv2dBnAct(120, 240, 4, has_bn=True, activation="relu")
        >>> net(ms.ops.ones((1, 120, 32, 20))).shape
        (1, 240, 32, 20)
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
                 pad_mode: str = "same", padding: Any = 0, dilation: Any = 1, group: int = 1,
                 has_bias: bool = False, weight_init: Any = "normal", bias_init: Any = "zeros",
                 has_bn: bool = False, momentum: float = 0.997, eps: float = 1e-5,
                 activation: Any = None, alpha: float = 0.2, after_fake: bool = True):
        super().__init__()
        self.conv = Conv2d(in_channels, out_channels, kernel_size, stride, pad_mode, padding,
                           dilation, group, has_bias, weight_init, bias_init)
        self._add(BatchNorm2d, out_channels, has_bn, momentum, eps, activation, alpha, after_fake)

    def construct(self, x: Tensor) -> Tensor:
        return self._finish(self.conv(x))


class DenseBnAct(_Combined):
    """`Dense`, then if wanted `BatchNorm1d` and an activation.

    Args:
        in_channels, out_channels, weight_init, bias_init, has_bias: those of `Dense`.
        has_bn, momentum, eps, activation, alpha, after_fake: those of `Conv2dBnAct`.

    Examples:
        >>> import lamella as ms
        >>> ms.nn.DenseBnAct(3, 4, activation="relu")(ms.ops.ones((2, 3))).shape
        (2, 4)
    """

    def __init__(self, in_channels: int, out_channels: int, weight_init: Any = "normal",
                 bias_init: Any = "zeros", has_bias: bool = True, has_bn: bool = False,
                 momentum: float = 0.9, eps: float = 1e-5, activation: Any = None,
                 alpha: float = 0.2, after_fake: bool = True):
        super().__init__()
        self.dense = Dense(in_channels, out_channels, weight_init, bias_init, has_bias)
        self._add(BatchNorm1d, out_channels, has_bn, momentum, eps, activation, alpha, after_fake)

    def construct(self, x: Tensor) -> Tensor:
        return self._finish(self.dense(x))
