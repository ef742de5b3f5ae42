"""Dense layers with weights of 8 bits, for inference."""

from __future__ import annotations

from collections.abc import Iterable

import torch
import torch.nn.functional as F

from ..core.errors import op
from ..core.require import of_type
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor, wrap
from .cell import Cell
from .dense import Dense, Linear
from .replaced_layers import replace_layers

__all__ = ["Int8Dense", "quantize_weights"]

_FEW_ROWS = 16  # up to so many the kernel for bfloat16 wins, as reading the weights takes the time
_BLOCK = 16


class Int8Dense(Cell):
    """A dense layer for inference whose weights are int8, with a scale for each output.

    ``weight ≈ int8 * scale``, the scale being the row's largest absolute value over 127. Few rows
    of bfloat16 are multiplied with the integers by a kernel of PyTorch's; else the integers are
    converted first, which saves memory and no time.

    Args:
        layer: the `Dense` or `Linear`.

    Inputs:
        - **x** - Tensor (..., in_channels), of a floating-point type.

    Outputs:
        Tensor (..., out_channels) of the same type.

    Raises:
        TypeError: if `layer` is no `Dense` or `Linear`.

    Examples:
        >>> import lamella as ms
        >>> layer = ms.nn.Dense(2, 1, ms.Tensor([[1.27, -0.5]]), has_bias=False)
        >>> small = ms.nn.Int8Dense(layer)
        >>> print(small.weight.value(), small(ms.Tensor([[1.0, 1.0]])).round(decimals=2))
        [[127 -50]] [[0.77]]
    """

    def __init__(self, layer: Cell):
        super().__init__()
        of_type(layer, (Dense, Linear), "layer", type(self).__name__)
        raw = layer.weight.value()._raw.detach().float()
        scale = raw.abs().amax(1, keepdim=True).clamp(min=1e-12) / 127
        self.weight = Parameter(wrap((raw / scale).round().to(torch.int8)), name="weight",
                                requires_grad=False)
        self.scale = Parameter(wrap(scale.squeeze(1)), name="scale", requires_grad=False)
        self.bias = layer.bias
        if self.bias is not None:
            self.bias.requires_grad = False
        self.activation = getattr(layer, "activation", None)

    def construct(self, x: Tensor) -> Tensor:
        out = _product(x, self.weight, self.scale, self.bias)
        return out if self.activation is None else self.activation(out)

    def extend_repr(self) -> str:
        return f"input_channels={self.weight.shape[1]}, output_channels={self.weight.shape[0]}"


@op
def _product(x: Tensor, weight: Tensor, scale: Tensor, bias: Tensor | None) -> Tensor:
    """x (int8 * scale)ᵀ + bias."""
    raw, numbers, factors = x._raw, weight._raw, scale._raw.to(x._raw.dtype)
    few = raw.numel() <= _FEW_ROWS * raw.shape[-1]
    # the kernel takes _BLOCK columns at a time, also beyond the last one
    whole = raw.shape[-1] % _BLOCK == 0 and raw.shape[-1] == numbers.shape[1]
    if (raw.dtype is torch.bfloat16 and few and whole and not raw.requires_grad
            and not torch.compiler.is_compiling()):  # files of networks can't ask for it
        out = torch.ops.aten._weight_int8pack_mm(
            raw.reshape(-1, raw.shape[-1]), numbers, factors)
        out = out.reshape(*raw.shape[:-1], numbers.shape[0])
    else:
        out = F.linear(raw, numbers.to(raw.dtype)) * factors
    return wrap(out if bias is None else out + bias._raw.to(raw.dtype))


def quantize_weights(network: Cell, names: Iterable[str] | None = None) -> Cell:
    """Put `Int8Dense` in the place of a network's dense layers, for inference.

    Args:
        network: the network, which is changed; it can't be trained any more.
        names: the layers, by the ends of their names; None: all.

    Returns:
        `network`, whose dense layers take a quarter of the memory of float32.

    Raises:
        TypeError: if `network` is no Cell.
        ValueError: if there is no such layer.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.quantize_weights(ms.nn.SequentialCell(ms.nn.Dense(8, 2)))
        >>> net[0].weight.dtype
        mindspore.int8
    """
    replace_layers("quantize_weights", network, names, Int8Dense)
    return network
