"""Penalties for tokens that a sequence already has, computed on the device.

What a sequence has is read from a static history of tokens, a row for each slot, which each step
writes its tokens into, as it writes keys and values into the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from .sampling import Sampling


class Penalties(NamedTuple):
    """The penalties of a batch, each a tensor of shape (rows,)."""

    repetition: torch.Tensor
    presence: torch.Tensor
    frequency: torch.Tensor
    prompt: torch.Tensor  # how many tokens of the sequence are its prompt

    @classmethod
    def of(cls, samplings: Sequence[Sampling], prompts: Sequence[int], device: torch.device
           ) -> Penalties:
        """The penalties of some requests whose prompts have so many tokens."""
        rows = [(s.repetition_penalty, s.presence_penalty, s.frequency_penalty)
                for s in samplings]
        repetition, presence, frequency = torch.tensor(
            rows, dtype=torch.float32, device=device).unbind(1)
        return cls(repetition, presence, frequency,
                   torch.tensor(prompts, dtype=torch.int64, device=device))


def penalized(scores: torch.Tensor, history: torch.Tensor, lengths: torch.Tensor,
              penalties: Penalties) -> torch.Tensor:
    """Scores less what their tokens lose for being in the sequence already.

    The repetition penalty is that of Keskar et al., "CTRL" (2019), in the form of Hugging Face's
    `transformers`: a positive score is divided by it, a negative one multiplied. The others are
    OpenAI's: of a score, the frequency penalty is subtracted for each time, and the presence
    penalty once, if the token was generated. Tokens of the prompt count for repetition alone.

    Args:
        scores: shape (rows, V).
        history: tokens of the sequences, int64, shape (rows, T).
        lengths: how many of them there are, int64, shape (rows,); others aren't looked at.
        penalties: of each row.

    Returns:
        float32 tensor of shape (rows, V).
    """
    scores = scores.float()
    place = torch.arange(history.shape[1], device=history.device)
    # a decoder may read tokens that it never scores
    there = (place < lengths[:, None]) & (history >= 0) & (history < scores.shape[1])
    tokens = torch.where(there, history, 0)
    repetition = penalties.repetition[:, None]
    lowered = torch.where(scores < 0, scores * repetition, scores / repetition)
    none = torch.zeros_like(scores)
    seen = none.scatter_add(1, tokens, there.float())
    count = none.scatter_add(1, tokens, (there & (place >= penalties.prompt[:, None])).float())
    return (torch.where(seen > 0, lowered, scores) - penalties.frequency[:, None] * count
            - penalties.presence[:, None] * (count > 0))
