"""The loss of recurrent neural network transducers, over all alignments (Graves, 2012)."""

from __future__ import annotations

from collections.abc import Callable

import torch

from ..autodiff import engine
from ..autodiff.level import lifted
from ..core.errors import op
from ..tensors.tensor import Tensor, wrap
from .arguments import require, require_values
from .combine import log_of_sum

__all__: list[str] = []


def with_gradient(losses: Callable[[torch.Tensor], torch.Tensor], raw: torch.Tensor
                  ) -> tuple[torch.Tensor, torch.Tensor]:
    """The losses of `raw`, and the gradient of their sum, a constant: some Primitives give both."""
    if lifted():
        (found,), back, _ = engine.vjp(lambda scores: ((losses(scores),), ()), raw)
        return found, back((torch.ones_like(found),), False, False)[0].detach()
    recorded = raw.requires_grad and torch.is_grad_enabled()
    with torch.enable_grad():
        given = raw if recorded else raw.detach().requires_grad_()
        found = losses(given)
        gradient, = torch.autograd.grad(found.sum(), given, retain_graph=recorded)
    return found if recorded else found.detach(), gradient.detach()


def _log_likelihood(logs: torch.Tensor, blank: torch.Tensor, emit: torch.Tensor,
                    rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    """The logarithm of the sum over all paths from the first step to the last blank.

    Steps along a diagonal don't depend on each other: alpha is computed diagonal by diagonal.
    """
    many, steps, states = logs.shape[:3]
    far = torch.finfo(logs.dtype).min / 4
    alpha = logs.new_full((many, states), far)
    alpha[:, 0] = 0
    found = logs.new_full((many,), far)
    each = torch.arange(states, device=logs.device)
    for diagonal in range(steps + states - 1):
        time = diagonal - each
        if diagonal:
            inside = (time >= 0) & (time < steps)
            before = (time - 1).clamp(0, steps - 1)
            by_blank = torch.where((time > 0) & (time <= steps), alpha + blank[:, before, each],
                                   far)
            same = time.clamp(0, steps - 1)[1:]
            by_label = torch.where(inside[1:], alpha[:, :-1] + emit[:, same, each[:-1]], far)
            by_label = torch.nn.functional.pad(by_label, (1, 0), value=far)
            alpha = torch.where(inside, log_of_sum(by_blank, by_label), alpha)
        ends = (rows - 1 + columns) == diagonal
        here = alpha.gather(1, columns[:, None])[:, 0]
        last = blank[torch.arange(many), rows - 1, columns]
        found = torch.where(ends, here + last, found)
    return found


@op
def rnnt_loss(acts: Tensor, labels: Tensor, input_lengths: Tensor, label_lengths: Tensor,
              blank: int) -> tuple[Tensor, Tensor]:
    """The negative logarithm of a transcript's probability, and its gradient.

    Args:
        acts: logits, float16 or float32, shape (B, T, U, V).
        labels: int32, shape (B, U - 1).
        input_lengths, label_lengths: int32, shape (B,).
        blank: the number of the blank.

    Returns:
        The losses, shape (B,), and their gradient by `acts`, of its shape and type.
    """
    name, raw = "RNNTLoss", acts._raw
    numbers = labels._raw.long()
    require(raw.ndim == 4 and numbers.shape == (len(raw), raw.shape[2] - 1)
            and input_lengths.shape == label_lengths.shape == (len(raw),), ValueError,
            f"For '{name}', the shapes must be (B, T, U, V), (B, U - 1), (B,) and (B,), but got "
            f"{acts.shape}, {labels.shape}, {input_lengths.shape} and {label_lengths.shape}.")
    require(0 <= blank < raw.shape[3], ValueError,
            f"For '{name}', 'blank_label' must be in [0, {raw.shape[3]}), but got {blank}.")
    rows, columns = input_lengths._raw.long(), label_lengths._raw.long()
    require_values(((rows > 0) & (rows <= raw.shape[1]) & (columns >= 0)
                   & (columns < raw.shape[2])).all(),
                   f"For '{name}', 'input_lengths' must be in [1, {raw.shape[1]}] and "
                   f"'label_lengths' in [0, {raw.shape[2]}).")
    require_values(((numbers >= 0) & (numbers < raw.shape[3])).all(),
                   f"For '{name}', 'labels' must be in [0, {raw.shape[3]}).")
    places = numbers[:, None, :, None].expand(-1, raw.shape[1], -1, 1)

    def losses(scores: torch.Tensor) -> torch.Tensor:
        logs = scores.float().log_softmax(-1)
        emit = logs[:, :, :-1].gather(3, places)[..., 0]
        return -_log_likelihood(logs, logs[..., blank], emit, rows, columns)

    found, gradient = with_gradient(losses, raw)
    return wrap(found.to(raw.dtype)), wrap(gradient)
