"""`GRUV2`, and gradients of recurrent networks whose weights are one Tensor."""

from __future__ import annotations

from typing import Any

import torch

from ...tensors.tensor import Tensor, wrap
from .recurrent import LSTM, Packed, unpacked

__all__ = ["GRUV2", "GRUV2Grad", "LSTMGrad"]


class GRUV2(Packed):
    """Layers of GRU with all weights in one Tensor, see `CudnnGRU`, in the first form of the cell.

    With the gates z, r of the input and the state, ``n = tanh(W x + U (r * h) + b)`` and the next
    state is ``z * h + (1 - z) * n`` (Cho et al.: "Learning phrase representations using RNN
    encoder-decoder", 2014). Of the two biases the first one counts.

    Inputs:
        - **input** - Tensor (T, N, I).
        - **h** - Tensor (layers * directions, N, H).
        - **w** - Tensor of all weights, and then all biases, layer by layer.
        - **seq_lengths** - accepted as MindSpore does: all steps are computed.

    Outputs:
        The result (T, N, directions * H), the last `h`, and two Tensors without meaning.
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int, has_bias: bool,
                 bidirectional: bool, dropout: float, is_train: bool = True):
        super().__init__(input_size, hidden_size, num_layers, has_bias, bidirectional, dropout,
                         is_train=is_train)

    def __call__(self, input: Tensor, h: Tensor, w: Tensor, seq_lengths: Any = None
                 ) -> tuple[Tensor, ...]:
        self._check_sizes(input, w, h=h)
        out, last = self._computed(input._raw, h._raw, w._raw)
        return wrap(out), wrap(last), *self._unused()

    def _computed(self, x: torch.Tensor, h: torch.Tensor, w: torch.Tensor
                  ) -> tuple[torch.Tensor, torch.Tensor]:
        weights, each = unpacked(self.name, wrap(w), 3, self), 4 if self.has_bias else 2
        directions, last = 2 if self.bidirectional else 1, []
        for layer in range(self.num_layers):
            sides = []
            for side in range(directions):
                number = layer * directions + side
                own = weights[number * each:(number + 1) * each]
                states = _states(x.flip(0) if side else x, h[number], *own[:3])
                last.append(states[-1])
                sides.append(states.flip(0) if side else states)
            x = torch.cat(sides, -1)
            if self.dropout and self.is_train and layer < self.num_layers - 1:
                x = torch.nn.functional.dropout(x, self.dropout)
        return x, torch.stack(last)


def _states(x: torch.Tensor, h: torch.Tensor, w: torch.Tensor, u: torch.Tensor,
            bias: torch.Tensor | None = None) -> torch.Tensor:
    """The states of one layer in one direction, (T, N, H)."""
    size, states = h.shape[-1], []
    for step in torch.nn.functional.linear(x, w, bias).unbind(0):
        z, r = (step[:, :2 * size] + h @ u[:2 * size].mT).sigmoid().chunk(2, -1)
        new = (step[:, 2 * size:] + (r * h) @ u[2 * size:].mT).tanh()
        h = z * h + (1 - z) * new
        states.append(h)
    return torch.stack(states)


class GRUV2Grad(GRUV2):
    """The gradient of `GRUV2` by the input, the state and the weights.

    Its inputs are those of `GRUV2`, its first two results, their gradients, and its third result.
    """

    def __call__(self, x: Tensor, hx: Tensor, w: Tensor, seq_length: Any, y: Tensor,  # type: ignore[override]
                 hy: Tensor, dy: Tensor, dhy: Tensor, reserve: Any) -> tuple[Tensor, ...]:
        self._check_sizes(x, w, h=hx)
        pull = torch.func.vjp(self._computed, x._raw, hx._raw, w._raw)[1]
        return tuple(map(wrap, pull((dy._raw, dhy._raw))))


class LSTMGrad(LSTM):
    """The gradient of `LSTM` by the input, the two states and the weights.

    Its inputs are those of `LSTM`, its first three results, their gradients, and its last result.
    """

    def __call__(self, x: Tensor, hx: Tensor, cx: Tensor, w: Tensor, y: Tensor, hy: Tensor,  # type: ignore[override]
                 cy: Tensor, dy: Tensor, dhy: Tensor, dcy: Tensor, reserve: Any
                 ) -> tuple[Tensor, ...]:
        forward = super().__call__

        def raw_forward(*raws: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return tuple(value._raw for value in forward(*map(wrap, raws))[:3])

        pull = torch.func.vjp(raw_forward, *(value._raw for value in (x, hx, cx, w)))[1]
        return tuple(map(wrap, pull((dy._raw, dhy._raw, dcy._raw))))
