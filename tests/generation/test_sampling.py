"""Draws follow the chances that scores, temperature, top-k and top-p give."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lamella.generation import Sampling
from lamella.generation.sampling import Rules, choose, filtered, noise

SCORES = torch.tensor([1.0, 3.0, 0.5, 2.0, -1.0, 2.5, 0.0, 1.5])
DRAWS = 20000


def drawn(sampling: Sampling) -> np.ndarray:
    """How often each token is drawn, over many positions."""
    rows = Rules.of([sampling], torch.device("cpu"))
    rules = Rules(*(r.expand(DRAWS) for r in rows))
    tokens = choose(SCORES.expand(DRAWS, -1), torch.arange(DRAWS), rules, sampling.kind)
    return np.bincount(tokens.numpy(), minlength=len(SCORES)) / DRAWS


def expected(sampling: Sampling) -> np.ndarray:
    """The chances of each token, by NumPy."""
    scores = SCORES.double().numpy() / sampling.temperature
    order = np.argsort(-scores)[:sampling.top_k or None]
    chances = np.exp(scores[order] - scores.max())
    chances /= chances.sum()
    kept = np.searchsorted(np.cumsum(chances), sampling.top_p) + 1  # until they reach top_p
    out = np.zeros(len(scores))
    out[order[:kept]] = chances[:kept] / chances[:kept].sum()
    return out


@pytest.mark.parametrize("sampling", [
    Sampling(1.0), Sampling(0.5, seed=3), Sampling(2.0, seed=2**40 + 7), Sampling(1.0, top_k=3),
    Sampling(1.5, top_k=100), Sampling(1.0, top_p=0.8), Sampling(1.0, top_k=4, top_p=0.75),
    Sampling(1.0, top_p=1e-6)])
def test_frequencies(sampling):
    chances = expected(sampling)
    deviation = np.sqrt(chances * (1 - chances) / DRAWS)
    assert np.all(np.abs(drawn(sampling) - chances) <= 5 * deviation)


def test_seeds_and_positions_give_independent_draws():
    tokens = torch.arange(64).expand(2, -1)
    one = noise(torch.tensor([1, 2]), torch.tensor([5, 5]), tokens).numpy()
    two = noise(torch.tensor([1, 1]), torch.tensor([5, 6]), tokens).numpy()
    for pair in (one, two):
        assert np.isfinite(pair).all() and abs(np.corrcoef(pair)[0, 1]) < 0.4
    assert np.array_equal(one[0], two[0])
    many = noise(torch.arange(2000), torch.zeros(2000, dtype=torch.int64), tokens[:1]).numpy()
    assert abs(many.mean() - 0.5772) < 0.02 and abs(many.var() - np.pi**2 / 6) < 0.05


@pytest.mark.parametrize("top_k, kept", [(0, 4000), (3000, 3000)])
def test_without_top_p_no_token_is_left_out(top_k, kept):
    scores = torch.linspace(0, -30, 4000)[None]  # the chances of the first add up to 1, rounded
    rules = Rules.of([Sampling(1.0, top_k)], torch.device("cpu"))
    assert int((filtered(scores, rules) > -torch.inf).sum()) == kept


def test_greedy_rows_among_others_take_the_best():
    rules = Rules.of([Sampling(), Sampling(5.0, top_p=0.9)], torch.device("cpu"))
    for kind in ("plain", "filtered"):
        assert choose(SCORES.expand(2, -1), torch.tensor([3, 3]), rules, kind)[0] == 1


@pytest.mark.parametrize("given", [
    dict(temperature=-1.0), dict(top_k=-1), dict(top_p=0.0), dict(top_p=1.5), dict(seed=-1),
    dict(seed=2**63)])
def test_wrong_rules(given):
    with pytest.raises(ValueError, match="Sampling"):
        Sampling(**given)
    with pytest.raises(TypeError, match="Sampling"):
        Sampling(**{next(iter(given)): "a"})
