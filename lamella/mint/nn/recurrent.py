"""Recurrent layers of `mint.nn`: those of `nn` with PyTorch's arguments and results."""

from __future__ import annotations

from typing import Any

from ... import nn
from ...core import dtype as mstype
from ...tensors.tensor import Tensor

__all__ = ["GRU", "LSTM"]

_SETTINGS = ("input_size", "hidden_size", "num_layers", "has_bias", "batch_first", "dropout",
             "bidirectional")


def _settings(layer: Any) -> str:
    names = {"has_bias": "bias"}
    return ", ".join(f"{names.get(name, name)}={getattr(layer, name)}" for name in _SETTINGS)


def _of_one_sequence(layer: Any, run: Any, input: Tensor, hx: Any) -> tuple[Tensor, Any]:
    """Run a layer on a sequence (T, C) without a batch, whose states are (layers, hidden_size)."""
    axis = 0 if layer.batch_first else 1
    if isinstance(hx, tuple):
        hx = tuple(state.unsqueeze(1) for state in hx)
    elif hx is not None:
        hx = hx.unsqueeze(1)
    output, last = run(input.unsqueeze(axis), hx)
    if isinstance(last, tuple):
        return output.squeeze(axis), tuple(state.squeeze(1) for state in last)
    return output.squeeze(axis), last.squeeze(1)


class LSTM(nn.LSTM):
    """Long short-term memory over sequences (Hochreiter and Schmidhuber, 1997).

    Args:
        input_size, hidden_size: lengths of the input's and the state's last dimension.
        num_layers: how many layers, each over the outputs of the one before.
        bias: whether there are biases.
        batch_first: whether the batch comes first in input and output, not in the states.
        dropout: the share of outputs that is dropped between layers in training.
        bidirectional: whether a second set of layers runs from the end.
        dtype: type of the Parameters; default float32.

    Inputs:
        - **input** - Tensor (T, N, input_size), with `batch_first` (N, T, input_size), or
          (T, input_size) for one sequence.
        - **hx** - the first states h and c, each (layers * directions, N, hidden_size), without N
          for one sequence; default zeros.

    Outputs:
        Tensor (T, N, directions * hidden_size), and the last states (h, c).

    Examples:
        >>> from lamella import mint
        >>> output, (h, c) = mint.nn.LSTM(3, 4, batch_first=True)(mint.ones((2, 5, 3)))
        >>> output.shape, h.shape, c.shape
        ((2, 5, 4), (1, 2, 4), (1, 2, 4))
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, *,
                 dtype: Any = None):
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, float(dropout),
                         bidirectional, mstype.float32 if dtype is None else dtype)

    def construct(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Any]:
        if input.ndim == 2:
            return _of_one_sequence(self, super().construct, input, hx)
        return super().construct(input, hx)

    def extend_repr(self) -> str:
        return _settings(self)


class GRU(nn.GRU):
    """Gated recurrent units over sequences (Cho et al., 2014), the reset gate behind the product.

    Args: those of `LSTM`.

    Inputs and outputs: those of `LSTM`, with the state h in place of the pair.

    Examples:
        >>> from lamella import mint
        >>> output, h = mint.nn.GRU(3, 4, bidirectional=True)(mint.ones((5, 3)))
        >>> output.shape, h.shape
        ((5, 8), (2, 4))
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, *,
                 dtype: Any = None):
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, float(dropout),
                         bidirectional, mstype.float32 if dtype is None else dtype)

    def construct(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Any]:
        if input.ndim == 2:
            return _of_one_sequence(self, super().construct, input, hx)
        return super().construct(input, hx)

    def extend_repr(self) -> str:
        return _settings(self)
