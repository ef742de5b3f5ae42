"""Recurrent layers by cuDNN, from weights that aren't in one piece of memory.

`torch.nn.LSTM` keeps its weights in one piece of memory, in the order of cuDNN, and PyTorch's
function of recurrent layers warns of others. Parameters are tensors of their own, which a program
may replace. The kernel itself takes them, and copies them into one piece for the call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

__all__ = ["kernel_for"]

KERNELS = {"LSTM": torch._VF.lstm, "GRU": torch._VF.gru,  # type: ignore[attr-defined]
           "RNN_TANH": torch._VF.rnn_tanh,  # type: ignore[attr-defined]
           "RNN_RELU": torch._VF.rnn_relu}  # type: ignore[attr-defined]
MODES = {"RNN_RELU": 0, "RNN_TANH": 1, "LSTM": 2, "GRU": 3}  # cuDNN's numbers


def kernel_for(mode: str, x: torch.Tensor, dropout: float = 0.0) -> Callable[..., Any]:
    """The function that runs recurrent layers over a sequence, without dropout by cuDNN if it can.

    Args:
        mode: ``"LSTM"``, ``"GRU"``, ``"RNN_TANH"`` or ``"RNN_RELU"``.
        x: the sequence.
        dropout: the share of values between layers that become 0.
    """
    if x.is_cuda and not dropout and x.numel() and torch.backends.cudnn.is_acceptable(x):
        return functools.partial(_by_cudnn, mode)
    return KERNELS[mode]


def _by_cudnn(mode: str, x: torch.Tensor, *given: Any) -> tuple[torch.Tensor, ...]:
    """Layers over a sequence: the outputs, the last state, and an LSTM's last cell state.

    Args:
        mode: ``"LSTM"``, ``"GRU"``, ``"RNN_TANH"`` or ``"RNN_RELU"``.
        x: the sequence, (length, batch, width); or its packed steps, (steps, width).
        *given: as PyTorch's function of that name takes them: the state, the weights, whether there
            are biases, the layers, dropout, whether it trains, whether there are two directions,
            and whether the batch comes first; for packed steps, the batch of each comes before.
    """
    batches: Sequence[int] = ()
    if isinstance(given[0], torch.Tensor) and given[0].dtype is torch.int64:
        batches, given = given[0].tolist(), given[1:]
    state, weights, has_bias, layers, dropout, _, bidirectional, *_ = given
    hidden, cell = state if mode == "LSTM" else (state, None)
    # only what is run in training mode can be differentiated; without dropout it is the same
    trains = any(raw.requires_grad for raw in (x, hidden, *weights))
    out, hidden, last, *_ = torch.ops.aten._cudnn_rnn(
        x.contiguous(), weights, 4 if has_bias else 2, None, hidden.contiguous(),
        None if cell is None else cell.contiguous(), MODES[mode], hidden.shape[2], 0, layers,
        False, dropout, trains, bidirectional, batches, None)
    return (out, hidden) if cell is None else (out, hidden, last)
