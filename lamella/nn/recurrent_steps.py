"""The steps of recurrent cells, and whole sequences by them."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from .. import ops
from ..tensors.tensor import Tensor, wrap


def _products(inputs: Tensor, hidden: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None,
              b_hh: Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
    """The products of the weights with the input and with the state."""
    return ops.dense(inputs, w_ih, b_ih)._raw, ops.dense(hidden, w_hh, b_hh)._raw


# The steps themselves, under the names that programs import them by.


def _rnn_tanh_cell(inputs: Tensor, hidden: Tensor, *weights: Any) -> Tensor:
    inner, outer = _products(inputs, hidden, *weights)
    return wrap(torch.tanh(inner + outer))


def _rnn_relu_cell(inputs: Tensor, hidden: Tensor, *weights: Any) -> Tensor:
    inner, outer = _products(inputs, hidden, *weights)
    return wrap(F.relu(inner + outer))


def _lstm_cell(inputs: Tensor, hidden: tuple[Tensor, Tensor],
               *weights: Any) -> tuple[Tensor, Tensor]:
    inner, outer = _products(inputs, hidden[0], *weights)
    take, keep, value, show = (inner + outer).chunk(4, -1)
    memory = keep.sigmoid() * hidden[1]._raw + take.sigmoid() * value.tanh()
    return wrap(show.sigmoid() * memory.tanh()), wrap(memory)


def _gru_cell(inputs: Tensor, hidden: Tensor, *weights: Any) -> Tensor:
    inner, outer = _products(inputs, hidden, *weights)
    (reset_i, keep_i, new_i), (reset_h, keep_h, new_h) = inner.chunk(3, -1), outer.chunk(3, -1)
    new = (new_i + (reset_i + reset_h).sigmoid() * new_h).tanh()
    return wrap(new + (keep_i + keep_h).sigmoid() * (hidden._raw - new))


def _steps_of(cell: Any) -> Any:
    """A cell's step on raw tensors, whose state is a tuple."""
    def step(x: torch.Tensor, state: tuple[torch.Tensor, ...], weights: list[Tensor]) -> tuple:
        hidden = tuple(map(wrap, state))
        found = cell(wrap(x), hidden if len(hidden) == 2 else hidden[0],
                     *weights, *[None] * (4 - len(weights)))
        return tuple(part._raw for part in (found if isinstance(found, tuple) else (found,)))

    return step


_STEPS = {"LSTM": _steps_of(_lstm_cell), "GRU": _steps_of(_gru_cell),
          "RNN_TANH": _steps_of(_rnn_tanh_cell), "RNN_RELU": _steps_of(_rnn_relu_cell)}


def run_by_steps(mode: str, x: torch.Tensor, state: tuple[torch.Tensor, ...], weights: list,
                  layers: int, has_bias: bool, bidirectional: bool, sizes: list[int] | None
                  ) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
    """Run the cells' own steps: slower than the kernels, on tensors that those don't take."""
    directions, count, steps = 2 if bidirectional else 1, 4 if has_bias else 2, x.shape[0]
    ends = None if sizes is None else torch.tensor(sizes, device=x.device).view(-1, 1)
    last = []
    for layer in range(layers):
        found = []
        for way in range(directions):
            place = layer * directions + way
            own = [wrap(w) for w in weights[place * count:(place + 1) * count]]
            now = tuple(s[place] for s in state)
            outs: list[Any] = [None] * steps
            for t in reversed(range(steps)) if way else range(steps):
                new = _STEPS[mode](x[t], now, own)
                if ends is None:
                    outs[t], now = new[0], new
                else:  # outputs behind an end are 0, states stop there
                    goes_on = t < ends
                    outs[t] = torch.where(goes_on, new[0], torch.zeros_like(new[0]))
                    now = tuple(torch.where(goes_on, a, b) for a, b in zip(new, now, strict=True))
            found.append(torch.stack(outs))
            last.append(now)
        x = torch.cat(found, -1)
    return x, tuple(torch.stack(parts) for parts in zip(*last, strict=True))
