"""Draws follow the chances that scores, temperature, top-k and top-p give."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lamella.generation import Sampling
from lamella.generation.penalties import Penalties, penalized
from lamella.generation.sampling import Rules, choose, filtered, mixed, noise

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


def lowered(scores: np.ndarray, tokens: list[int], prompt: int, sampling: Sampling) -> np.ndarray:
    """Scores after the penalties, token by token, by the definitions of each."""
    scores = scores.astype(np.float32).copy()
    for token in set(tokens):
        if scores[token] < 0:
            scores[token] *= np.float32(sampling.repetition_penalty)
        else:
            scores[token] /= np.float32(sampling.repetition_penalty)
    for token in set(tokens[prompt:]):
        scores[token] -= np.float32(sampling.frequency_penalty) * tokens[prompt:].count(token)
        scores[token] -= np.float32(sampling.presence_penalty)
    return scores


PENALTIES = [Sampling(repetition_penalty=1.3), Sampling(repetition_penalty=0.7),
             Sampling(presence_penalty=0.5), Sampling(frequency_penalty=-0.25), Sampling(),
             Sampling(repetition_penalty=1.1, presence_penalty=2, frequency_penalty=1.5)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_penalties_are_those_of_their_definitions(dtype):
    rng = np.random.default_rng(3)
    rows, most, count = len(PENALTIES), 12, 9
    scores = torch.tensor(rng.normal(size=(rows, count)) * 3).to(dtype)
    scores[:, 0], scores[:, 1] = 0.0, -torch.inf
    history = rng.integers(0, count, (rows, most))
    lengths, prompts = rng.integers(1, most + 1, rows), [1, 4, 3, 1, 2, 5]
    lengths[-1] = most
    rules = Penalties.of(PENALTIES, prompts, torch.device("cpu"))
    found = penalized(scores, torch.tensor(history), torch.tensor(lengths), rules)
    for row, sampling in enumerate(PENALTIES):
        tokens = history[row, :lengths[row]].tolist()
        want = lowered(scores[row].float().numpy(), tokens, prompts[row], sampling)
        np.testing.assert_array_equal(found[row].numpy(), want)
    assert torch.equal(found[4], scores[4].float())  # without penalties nothing changes


def test_a_repetition_penalty_is_that_of_transformers():
    logits_process = pytest.importorskip(
        "transformers.generation.logits_process", reason="compared where transformers is there")
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn((3, 501), generator=generator) * 5
    history = torch.randint(0, 501, (3, 40), generator=generator)
    for penalty in (0.5, 1.0, 1.2, 3.7):
        want = logits_process.RepetitionPenaltyLogitsProcessor(penalty)(history, scores.clone())
        rules = Penalties.of([Sampling(repetition_penalty=penalty)] * 3, [40] * 3, scores.device)
        assert torch.equal(penalized(scores, history, torch.full((3,), 40), rules), want)


def test_tokens_that_have_no_scores_are_passed_over():
    rules = Penalties.of([Sampling(repetition_penalty=2.0)], [0], torch.device("cpu"))
    found = penalized(torch.ones(1, 3), torch.tensor([[-1, 3, 2, 1]]), torch.tensor([3]), rules)
    assert found.tolist() == [[1.0, 1.0, 0.5]]


@pytest.mark.parametrize("name, values", [
    ("repetition_penalty", [0.0, -1.0, 1e7, float("nan")]),
    ("presence_penalty", [float("inf"), 1e7, float("nan")]),
    ("frequency_penalty", [-float("inf"), -1e7])])
def test_wrong_penalties(name, values):
    for value in values:
        with pytest.raises(ValueError, match=f"For 'Sampling', '{name}' must be in"):
            Sampling(**{name: value})
    with pytest.raises(TypeError, match=f"For 'Sampling', '{name}' must be a number"):
        Sampling(**{name: "a"})


def test_the_printed_form_names_penalties_that_are_given():
    assert repr(Sampling(presence_penalty=1)) == (
        "Sampling(temperature=0.0, top_k=0, top_p=1.0, seed=0, presence_penalty=1.0)")


@pytest.mark.parametrize("given, want", [
    (0, 0), (1, 0x514E28B7), (0xFFFFFFFF, 0x81F16F39), (2**32, 0), (2**40 + 1, 0x514E28B7)])
def test_the_hash_is_murmurs(given, want):
    """That of an empty text by MurmurHash3 is the finalizer of its seed."""
    assert int(mixed(torch.tensor(given))) == want


def test_the_upper_bits_of_a_seed_count():
    tokens = torch.arange(8)[None]
    found = [noise(torch.tensor([seed]), torch.tensor([3]), tokens) for seed in (
        5, 5 + 2**32, 5 + 2**62)]
    assert not torch.equal(found[0], found[1]) and not torch.equal(found[1], found[2])
