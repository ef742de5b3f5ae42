"""Dense layers with weights of 8 bits, for inference."""

from __future__ import annotations

from collections.abc import Iterable

import torch
import torch.nn.functional as F

from ..core.errors import op
from ..core.require import of_type
from ..core.state import state
from ..machine import int8_rows
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor, wrap
from .cell import Cell
from .dense import Dense, Linear
from .replaced_layers import replace_layers

__all__ = ["Int8Dense", "quantize_weights"]


_FEW_ROWS = 16  # up to so many PyTorch's kernel for bfloat16 wins: reading weights takes the time
_BLOCK = 16


class Int8Dense(Cell):
    """A dense layer for inference whose weights are int8, with scales.

    ``weight ≈ int8 * scale``, a scale being the largest absolute value over 127, of an output's
    weights or of each group of them. On a CPU up to 8 rows are multiplied with the integers
    themselves (`machine/int8_rows.cpp`, once that is built), if a group is a multiple of 32
    numbers; else the integers are converted first, which saves memory and no time.

    Args:
        layer: the `Dense` or `Linear`.
        group: how many weights of an output, side by side, have one scale; None: all.

    Inputs:
        - **x** - Tensor (..., in_channels), of a floating-point type.

    Outputs:
        Tensor (..., out_channels) of the same type.

    Raises:
        TypeError: if `layer` is no `Dense` or `Linear`, or `group` no integer.
        ValueError: if the inputs can't be divided into such groups.

    Examples:
        >>> import lamella as ms
        >>> layer = ms.nn.Dense(2, 1, ms.Tensor([[1.27, -0.5]]), has_bias=False)
        >>> small = ms.nn.Int8Dense(layer)
        >>> print(small.weight.value(), small(ms.Tensor([[1.0, 1.0]])).round(decimals=2))
        [[127 -50]] [[0.77]]
    """

    def __init__(self, layer: Cell, group: int | None = None):
        super().__init__()
        of_type(layer, (Dense, Linear), "layer", type(self).__name__)
        raw = layer.weight.value()._raw.detach().float()
        columns, width = raw.shape
        self.group = width if group is None else group
        of_type(self.group, int, "group", type(self).__name__)
        if self.group < 1 or width % self.group:
            raise ValueError(f"For 'Int8Dense', 'group' must divide the {width} inputs, but got "
                             f"{group}.")
        parts = raw.view(columns, -1, self.group)
        scale = parts.abs().amax(2, keepdim=True).clamp(min=1e-12) / 127
        numbers = (parts / scale).round().to(torch.int8).view(columns, width)
        self.weight = Parameter(wrap(numbers), name="weight", requires_grad=False)
        self.scale = Parameter(wrap(scale.squeeze(2).squeeze(1) if group is None
                                    else scale.squeeze(2)), name="scale", requires_grad=False)
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
    raw, numbers, factors = x._raw, weight._raw, scale._raw.float()
    added = None if bias is None else bias._raw.to(raw.dtype)
    columns, width = numbers.shape
    if raw.dim() and raw.shape[-1] == width and not _is_differentiated(raw):
        rows, scales = raw.reshape(-1, width), factors.view(columns, -1)
        if not torch.compiler.is_compiling() and int8_rows.fits(rows, numbers, scales):
            out = int8_rows.by_rows(rows, numbers, scales, added)
            return wrap(out.view(*raw.shape[:-1], columns))
    if factors.dim() == 2:
        return wrap(int8_rows.by_torch(raw, numbers, factors, added))
    factors = factors.to(raw.dtype)
    few = raw.numel() <= _FEW_ROWS * raw.shape[-1]
    # the kernel takes _BLOCK columns at a time, also beyond the last one
    whole = raw.shape[-1] % _BLOCK == 0 and raw.shape[-1] == width
    if (raw.dtype is torch.bfloat16 and few and whole and not raw.requires_grad
            and not torch.compiler.is_compiling()):  # files of networks can't ask for it
        out = torch.ops.aten._weight_int8pack_mm(raw.reshape(-1, width), numbers, factors)
        out = out.reshape(*raw.shape[:-1], columns)
    else:
        out = F.linear(raw, numbers.to(raw.dtype)) * factors
    return wrap(out if added is None else out + added)


def _is_differentiated(raw: torch.Tensor) -> bool:
    """Whether a kernel without derivatives can't be used."""
    level = state.level
    return raw.requires_grad or torch._C._are_functorch_transforms_active() or (
        level is not None and level.forward)


def quantize_weights(network: Cell, names: Iterable[str] | None = None,
                     group: int | None = None) -> Cell:
    """Put `Int8Dense` in the place of a network's dense layers, for inference.

    Args:
        network: the network, which is changed; it can't be trained any more.
        names: the layers, by the ends of their names; None: all.
        group: how many weights of an output have one scale; None: all. Small groups, such as 64,
            follow the weights more closely.

    Returns:
        `network`, whose dense layers take a quarter of the memory of float32.

    Raises:
        TypeError: if `network` is no Cell.
        ValueError: if there is no such layer, or inputs can't be divided into such groups.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.quantize_weights(ms.nn.SequentialCell(ms.nn.Dense(8, 2)))
        >>> net[0].weight.dtype
        mindspore.int8
    """
    replace_layers("quantize_weights", network, names, lambda layer: Int8Dense(layer, group))
    return network
