"""How the next token is chosen from the scores, on the device.

The draw of a token is a function of the request's seed, the position and the token alone: what else
is in the batch, and the size classes, don't change what a request gets.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from ..core.require import float_within, int_at_least_0, non_negative_float, within


class Sampling:
    """The rule for choosing the next token.

    Args:
        temperature: what scores are divided by; 0, the default, takes the best token (greedy).
        top_k: only so many of the best tokens; 0 for all.
        top_p: after that, only the best tokens whose chances together reach this; 1 for all.
        seed: of the draws, from 0 to 2 ** 63 - 1.
        repetition_penalty: what the positive scores of tokens in the sequence so far, prompt
            included, are divided by, and negative ones multiplied with: from 1e-6 to 1e6, 1 for
            none. Penalties come before the temperature, and count for greedy choices, too.
        presence_penalty: what is subtracted from the score of each token that was generated;
            from -1e6 to 1e6.
        frequency_penalty: what is subtracted as often as the token was generated; likewise.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if an argument is outside of its range.

    Examples:
        >>> from lamella.generation import Sampling
        >>> Sampling(0.8, top_k=50, top_p=0.95, seed=3)
        Sampling(temperature=0.8, top_k=50, top_p=0.95, seed=3)
        >>> Sampling(repetition_penalty=1.2)
        Sampling(temperature=0.0, top_k=0, top_p=1.0, seed=0, repetition_penalty=1.2)
    """

    def __init__(self, temperature: float = 0.0, top_k: int = 0, top_p: float = 1.0,
                 seed: int = 0, repetition_penalty: float = 1.0, presence_penalty: float = 0.0,
                 frequency_penalty: float = 0.0):
        self.temperature = float(non_negative_float(temperature, "temperature", "Sampling"))
        self.top_k = int_at_least_0(top_k, "top_k", "Sampling")
        self.top_p = float_within(top_p, 0.0, 1.0, "(]", "top_p", "Sampling")
        self.seed = int_at_least_0(seed, "seed", "Sampling")
        if self.seed >= 2**63:
            raise ValueError(f"For 'Sampling', 'seed' must be below 2 ** 63, but got {seed}.")
        self.repetition_penalty, self.presence_penalty, self.frequency_penalty = (
            float(within(value, low, 1e6, "[]", name, "Sampling")) for value, low, name in (
                (repetition_penalty, 1e-6, "repetition_penalty"),
                (presence_penalty, -1e6, "presence_penalty"),
                (frequency_penalty, -1e6, "frequency_penalty")))

    def __repr__(self) -> str:
        penalties = "".join(
            f", {name}={value}" for name, value, none in (
                ("repetition_penalty", self.repetition_penalty, 1),
                ("presence_penalty", self.presence_penalty, 0),
                ("frequency_penalty", self.frequency_penalty, 0)) if value != none)
        return (f"Sampling(temperature={self.temperature}, top_k={self.top_k}, "
                f"top_p={self.top_p}, seed={self.seed}{penalties})")

    @property
    def kind(self) -> str:
        """Which of `choose`'s ways it needs."""
        if not self.temperature:
            return "greedy"
        return "plain" if not self.top_k and self.top_p == 1 else "filtered"

    @property
    def penalizes(self) -> bool:
        """Whether tokens that are in the sequence count for less, or more."""
        return (self.repetition_penalty != 1 or self.presence_penalty != 0
                or self.frequency_penalty != 0)


KINDS = ("greedy", "plain", "filtered")  # each can do what those before it can


class Rules(NamedTuple):
    """The rules of a batch, each a tensor of shape (rows,)."""

    temperature: torch.Tensor
    top_k: torch.Tensor
    top_p: torch.Tensor
    seed: torch.Tensor

    @classmethod
    def of(cls, samplings: list[Sampling], device: torch.device) -> Rules:
        """The rules of some requests."""
        kinds = torch.float32, torch.int64, torch.float32, torch.int64
        rows = [(s.temperature, s.top_k, s.top_p, s.seed) for s in samplings]
        return cls(*(torch.tensor(column, dtype=kind, device=device)
                     for column, kind in zip(zip(*rows, strict=True), kinds, strict=True)))


def choose(scores: torch.Tensor, positions: torch.Tensor, rules: Rules, kind: str
           ) -> torch.Tensor:
    """The next token of each row.

    Args:
        scores: shape (rows, V).
        positions: of the tokens that are chosen, int64, shape (rows,).
        rules: of each row.
        kind: one of `KINDS` that all rules can do with.

    Returns:
        int64 tensor of shape (rows,).
    """
    if kind == "greedy":
        return scores.argmax(-1)
    heated = scores.float() / rules.temperature.clamp_min(1e-6)[:, None]
    tokens = torch.arange(scores.shape[-1], device=scores.device).expand(scores.shape)
    if kind == "filtered":
        heated, tokens = heated.sort(-1, descending=True)
        heated = filtered(heated, rules)
    drawn = (heated + noise(rules.seed, positions, tokens)).argmax(-1, keepdim=True)
    drawn = tokens.gather(-1, drawn)[:, 0]
    return torch.where(rules.temperature > 0, drawn, scores.argmax(-1))


def filtered(scores: torch.Tensor, rules: Rules) -> torch.Tensor:
    """Scores in falling order; those that `top_k` and `top_p` leave out become minus infinity."""
    rank = torch.arange(scores.shape[-1], device=scores.device)
    many = torch.where(rules.top_k > 0, rules.top_k, scores.shape[-1])[:, None]
    scores = scores.masked_fill(rank >= many, -torch.inf)
    chances = scores.softmax(-1)
    before = chances.cumsum(-1) - chances  # the chances of better tokens
    top_p = rules.top_p.masked_fill(rules.top_p >= 1, torch.inf)[:, None]  # sums may round to 1
    return scores.masked_fill((before >= top_p) & (rank > 0), -torch.inf)


def noise(seed: torch.Tensor, positions: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """Gumbel noise: the largest sum of score and noise is a draw by softmax of the scores.

    Maddison, Tarlow and Minka, "A* Sampling" (2014). The uniform numbers behind it are a hash.

    Args:
        seed: of each row, int64, shape (rows,).
        positions: shape (rows,).
        tokens: shape (rows, V).
    """
    key = mixed(mixed(mixed(seed & LOW) ^ (seed >> 32)) + positions)
    bits = mixed(mixed(tokens + key[:, None]) ^ key[:, None])
    return -(-(-(bits.float() + 0.5) / 2**32).log1p()).log()


LOW = 0xFFFFFFFF


def mixed(x: torch.Tensor) -> torch.Tensor:
    """A hash of the lower 32 bits: the finalizer of Appleby's MurmurHash3 (2011)."""
    x = x & LOW
    x = ((x ^ (x >> 16)) * 0x85EBCA6B) & LOW
    x = ((x ^ (x >> 13)) * 0xC2B2AE35) & LOW
    return x ^ (x >> 16)
