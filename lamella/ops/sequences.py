"""Sequences of different lengths: edit distance, repeated n-grams, ragged ranges."""

from __future__ import annotations

import torch

from ..core.errors import op
from ..tensors.tensor import Tensor, wrap
from .arguments import require_values

__all__: list[str] = []


@op
def edit_distance(hypothesis: tuple[torch.Tensor, torch.Tensor],
                  truth: tuple[torch.Tensor, torch.Tensor], shape: tuple[int, ...],
                  normalize: bool) -> Tensor:
    """How many elements to insert, delete or replace to turn sequences into others (Levenshtein).

    Args:
        hypothesis, truth: raw tensors: indices, shape (n, rank), whose last column only orders, and
            values (n,).
        shape: of the result, for all columns of the indices but the last.
        normalize: whether to divide by the length of the truth.

    Returns:
        Tensor of float32 of the given shape.
    """
    first, first_length = _rows(*hypothesis, shape, "hypothesis")
    second, length = _rows(*truth, shape, "truth")
    steps = torch.arange(second.shape[1] + 1, device=second.device)
    distance = steps.expand(len(second), -1)  # to each beginning of the truth
    for i in range(first.shape[1]):
        replaced = distance[:, :-1] + (first[:, i:i + 1] != second)
        best = torch.cat((distance[:, :1] + 1, torch.minimum(distance[:, 1:] + 1, replaced)), 1)
        # an insertion moves one element on: the smallest over all that stand before
        best = (best - steps).cummin(1).values + steps
        distance = torch.where(first_length.unsqueeze(1) > i, best, distance)
    found = distance.gather(1, length.unsqueeze(1)).squeeze(1).float()
    if normalize:
        found = torch.where(found == 0, 0.0, found / length)
    return wrap(found.reshape(shape))


def _rows(positions: torch.Tensor, values: torch.Tensor, shape: tuple[int, ...],
          which: str) -> tuple[torch.Tensor, torch.Tensor]:
    """The sequences as rows of one tensor, and their lengths."""
    bounds = torch.tensor(shape, device=positions.device)
    row, count = positions[:, :-1], int(bounds.prod())
    require_values(((row >= 0) & (row < bounds)).all(),
                   f"For 'EditDistance', the positions in '{which}_indices' must be in {shape}.")
    flat = torch.zeros(len(row), dtype=torch.int64, device=positions.device)
    for column, length in zip(row.unbind(1), shape, strict=True):
        flat = flat * length + column
    order = flat.argsort(stable=True)
    flat, lengths = flat[order], torch.bincount(flat, minlength=count)
    behind = torch.arange(len(flat), device=positions.device) - (lengths.cumsum(0) - lengths)[flat]
    longest = int(lengths.max()) if count else 0
    rows = values.new_zeros((count, longest)).index_put((flat, behind), values[order])
    return rows, lengths


@op
def no_repeat_ngram(state_seq: Tensor, log_probs: Tensor, ngram_size: int) -> Tensor:
    """The lowest number for each word with which a run of `ngram_size` words would come again.

    Args:
        state_seq: the words so far, shape (N, beams, m).
        log_probs: of the next word, shape (N, beams, words).
        ngram_size: how many words a run has.
    """
    words, raw = state_seq._raw.long(), log_probs._raw
    runs = words.unfold(-1, ngram_size, 1)
    last = words[..., words.shape[-1] - ngram_size + 1:].unsqueeze(-2)
    next_word = runs[..., -1]
    known = (next_word >= 0) & (next_word < raw.shape[-1])
    again = (runs[..., :-1] == last).all(-1) & known
    spare = raw.shape[-1]  # where what isn't marked goes
    marked = torch.zeros((*raw.shape[:-1], spare + 1), dtype=torch.bool, device=raw.device)
    marked = marked.scatter(-1, torch.where(again, next_word, spare), True)[..., :-1]
    return wrap(raw.masked_fill(marked, torch.finfo(raw.dtype).min))


@op
def ragged_range(starts: Tensor, limits: Tensor, deltas: Tensor,
                 kind: torch.dtype) -> tuple[Tensor, Tensor]:
    """Several ranges one behind the other, and where each begins and the last one ends."""
    start, limit, step = (t._raw.reshape(-1) for t in (starts, limits, deltas))
    require_values((step != 0).all(), "For 'RaggedRange', no element of 'deltas' may be 0.")
    gap = (limit - start) * step.sign()
    if start.is_floating_point():
        counts = (gap / step.abs()).ceil()
    else:
        counts = torch.div(gap + step.abs() - 1, step.abs(), rounding_mode="floor")
    ends = counts.clamp_min(0).long().cumsum(0)
    splits = torch.cat((ends.new_zeros(1), ends))
    counts = splits.diff()
    behind = torch.arange(int(ends[-1]) if len(ends) else 0, device=start.device)
    behind = behind - splits[:-1].repeat_interleave(counts)
    values = start.repeat_interleave(counts) + behind.to(start.dtype) * step.repeat_interleave(
        counts)
    return wrap(splits.to(kind)), wrap(values)
