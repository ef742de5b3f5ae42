"""LoRA: fine-tuning by small matrices beside frozen ones."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .. import ops
from ..common.initializer import HeUniform, initializer
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor
from . import checks
from .cell import Cell
from .dense import Dense, Linear
from .dropout import Dropout
from .replaced_layers import replace_layers

__all__ = ["LoRADense", "add_lora", "merge_lora"]


class LoRADense(Cell):
    """A dense layer with frozen weights, and a product of two small matrices that is trained.

    ``y = layer(x) + alpha / rank * (dropout(x) Aᵀ) Bᵀ`` (Hu et al., 2021). B starts at zero, so
    that the network computes at first what it did.

    Args:
        layer: the `Dense` or `Linear`, whose Parameters are shared and no longer trained.
        rank: the rows of A.
        alpha: the weight of the product, over `rank`.
        dropout: the share of inputs that A doesn't see in training.

    Inputs:
        - **x** - Tensor (..., in_channels).

    Outputs:
        Tensor (..., out_channels).

    Raises:
        TypeError: if `layer` is no `Dense` or `Linear`, or has an activation.
        ValueError: if `rank` is not above 0, or `dropout` not in 0 to 1.

    Examples:
        >>> import lamella as ms
        >>> layer = ms.nn.LoRADense(ms.nn.Dense(8, 4), rank=2)
        >>> [p.name for p in layer.trainable_params()]
        ['lora_a', 'lora_b']
    """

    def __init__(self, layer: Cell, rank: int = 8, alpha: float = 16.0, dropout: float = 0.0):
        super().__init__()
        name = type(self).__name__
        if not isinstance(layer, (Dense, Linear)) or getattr(layer, "activation_flag", False):
            raise TypeError(f"For '{name}', 'layer' must be a Dense or Linear without an "
                            f"activation, but got {layer!r}.")
        self.rank = checks.positive_int(rank, "rank", name)
        self.alpha = alpha
        self.weight, self.bias = layer.weight, layer.bias
        for parameter in (self.weight, self.bias):
            if parameter is not None:
                parameter.requires_grad = False
        out_channels, in_channels = self.weight.shape
        kind = self.weight.dtype
        self.lora_a = Parameter(
            initializer(HeUniform(math.sqrt(5)), (rank, in_channels), kind), name="lora_a")
        self.lora_b = Parameter(
            initializer("zeros", (out_channels, rank), kind), name="lora_b")
        self.dropout = Dropout(p=dropout) if dropout else None

    def construct(self, x: Tensor) -> Tensor:
        seen = x if self.dropout is None else self.dropout(x)
        small = ops.dense(ops.dense(seen, self.lora_a), self.lora_b)
        return ops.dense(x, self.weight, self.bias) + small * (self.alpha / self.rank)

    def merged(self) -> Dense:
        """A `Dense` that computes the same as this layer does in evaluation."""
        out_channels, in_channels = self.weight.shape
        weight = self.weight + ops.matmul(self.lora_b, self.lora_a) * (self.alpha / self.rank)
        return Dense(in_channels, out_channels, weight, None if self.bias is None else
                     self.bias.value(), self.bias is not None, dtype=self.weight.dtype)

    def extend_repr(self) -> str:
        out_channels, in_channels = self.weight.shape
        return (f"input_channels={in_channels}, output_channels={out_channels}, rank={self.rank}, "
                f"alpha={self.alpha}")


def add_lora(network: Cell, rank: int = 8, alpha: float = 16.0, dropout: float = 0.0,
             names: Iterable[str] | None = None) -> list[Parameter]:
    """Freeze a network, and put `LoRADense` in the place of its dense layers.

    Args:
        network: the network, which is changed.
        rank, alpha, dropout: as for `LoRADense`.
        names: the layers, by the ends of their names (``("query", "value")``); None: all that
            have no activation of their own.

    Returns:
        The Parameters that are trained; `network.trainable_params()` gives the same.

    Raises:
        TypeError: if `network` is no Cell, or a named layer has an activation.
        ValueError: if there is no such layer.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.SequentialCell(ms.nn.Dense(8, 8), ms.nn.ReLU(), ms.nn.Dense(8, 2))
        >>> [p.name for p in ms.nn.add_lora(net, rank=2, names=["2"])]
        ['2.lora_a', '2.lora_b']
    """
    def made(layer: Any) -> Cell:
        if names is None and getattr(layer, "activation_flag", False):
            return layer
        return LoRADense(layer, rank, alpha, dropout)

    if isinstance(network, Cell):
        for parameter in network.get_parameters():
            parameter.requires_grad = False
    replace_layers("add_lora", network, names, made)
    return network.trainable_params()


def merge_lora(network: Cell) -> Cell:
    """Put `Dense` layers with the trained weights in the place of a network's `LoRADense`.

    Args:
        network: the network, which is changed.

    Returns:
        `network`, as fast as before `add_lora`.

    Raises:
        TypeError: if `network` is no Cell.
        ValueError: if it has no `LoRADense`.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.SequentialCell(ms.nn.Dense(8, 2))
        >>> _ = ms.nn.add_lora(net, rank=2)
        >>> ms.nn.merge_lora(net)[0]
        Dense(input_channels=8, output_channels=2, has_bias=True)
    """
    replace_layers("merge_lora", network, None, LoRADense.merged, (LoRADense,))
    return network
