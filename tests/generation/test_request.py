"""Requests: when they end; the size classes of steps; rules of sampling at their limits."""

from __future__ import annotations

import pytest
import torch

from lamella.generation import Sampling
from lamella.generation.request import Request
from lamella.generation.sampling import Rules, choose, filtered
from lamella.generation.steps import size_class


@pytest.mark.parametrize("count, smallest, largest, want", [
    (1, 1, 64, 1), (2, 1, 64, 2), (3, 1, 64, 4), (4, 1, 64, 4), (5, 1, 64, 8), (3, 16, 64, 16),
    (16, 16, 64, 16), (17, 16, 64, 32), (63, 1, 64, 64), (33, 1, 40, 40), (3, 5, 4, 4)])
def test_size_classes(count, smallest, largest, want):
    assert size_class(count, smallest, largest) == want


def request(most=3, stops=(9,), heard=None):
    return Request([5, 6], most, frozenset(stops), Sampling(), heard)


def test_a_request_ends_with_its_last_token():
    heard: list[int] = []
    one = request(heard=heard.append)
    assert (one.newest, one.position, one.is_finished) == (6, 1, False)
    assert repr(one) == "Request(2 + 0 tokens, going on)"
    for token in (7, 8):
        one.receive(token)
    assert (one.newest, one.position, one.reason) == (8, 3, None)
    one.receive(4)
    assert (one.reason, one.is_finished, one.tokens) == ("length", True, [7, 8, 4])
    one.receive(3)
    one.cancel()
    assert one.tokens == heard == [7, 8, 4] and one.reason == "length"
    assert repr(one) == "Request(2 + 3 tokens, length)"


def test_a_stop_token_is_no_part_of_the_sequence():
    heard: list[int] = []
    one = request(1, heard=heard.append)
    one.receive(9)
    assert (one.reason, one.tokens, heard) == ("stop", [], [])
    two = request()
    two.cancel()
    two.receive(1)
    assert (two.reason, two.tokens) == ("cancelled", [])


@pytest.mark.parametrize("given, kind, penalizes", [
    ({}, "greedy", False), ({"top_k": 3, "top_p": 0.5}, "greedy", False),
    ({"temperature": 1e-3}, "plain", False), ({"temperature": 1.0, "top_k": 1}, "filtered", False),
    ({"temperature": 1.0, "top_p": 0.999}, "filtered", False),
    ({"repetition_penalty": 1.1}, "greedy", True), ({"presence_penalty": -0.1}, "greedy", True),
    ({"frequency_penalty": 0.1}, "greedy", True)])
def test_what_a_rule_needs(given, kind, penalizes):
    assert (Sampling(**given).kind, Sampling(**given).penalizes) == (kind, penalizes)
    shown = repr(Sampling(**given))
    for name in ("repetition_penalty", "presence_penalty", "frequency_penalty"):
        assert (f", {name}=" in shown) is (name in given)


@pytest.mark.parametrize("name, ends, beyond", [
    ("repetition_penalty", (1e-6, 1e6), (0.9e-6, 1.1e6)),
    ("presence_penalty", (-1e6, 1e6), (-1.1e6, 1.1e6)),
    ("frequency_penalty", (-1e6, 1e6), (-1.1e6, 1.1e6)), ("top_p", (1e-9, 1.0), (0.0, 1.1)),
    ("seed", (0, 2**63 - 1), (-1, 2**63)), ("top_k", (0,), (-1,)), ("temperature", (0.0,), (-.1,))])
def test_ends_of_ranges(name, ends, beyond):
    for value in ends:
        assert getattr(Sampling(**{name: value}), name) == value
    for value in beyond:
        with pytest.raises(ValueError, match=f"For 'Sampling', '{name}' must be"):
            Sampling(**{name: value})


def test_which_tokens_are_left_in():
    """The chances are 0.5, 0.25, 0.125, 0.125: those before a token must be below `top_p`."""
    scores = torch.tensor([0.5, 0.25, 0.125, 0.125]).log()
    for top_k, top_p, kept in ((0, 1.0, 4), (0, 0.5, 1), (0, 0.51, 2), (0, 0.75, 2), (0, 0.76, 3),
                               (1, 1.0, 1), (3, 1.0, 3), (4, 1.0, 4), (9, 1.0, 4),
                               (2, 0.6, 1), (2, 0.7, 2), (0, 1e-9, 1)):
        rules = Rules.of([Sampling(1.0, top_k, top_p)], torch.device("cpu"))
        found = filtered(scores[None], rules)[0]
        assert torch.equal(found[:kept], scores[:kept]), (top_k, top_p)
        assert bool((found[kept:] == -torch.inf).all()), (top_k, top_p)


def test_each_row_has_its_own_rule():
    samplings = [Sampling(), Sampling(1e-6, seed=5), Sampling(1.0, top_k=1), Sampling(1.0, 2, 0.1)]
    rules = Rules.of(samplings, torch.device("cpu"))
    scores = torch.randn((4, 50), generator=torch.Generator().manual_seed(0))
    found = choose(scores, torch.arange(4), rules, "filtered")
    assert torch.equal(found, scores.argmax(-1))


@pytest.mark.parametrize("kind", ["greedy", "plain", "filtered"])
def test_a_greedy_row_takes_the_first_of_equal_tokens(kind):
    scores = torch.zeros(2, 50)
    scores[:, :7] = -1.0
    rules = Rules.of([Sampling(), Sampling(seed=3)], torch.device("cpu"))
    for position in range(5):
        assert choose(scores, torch.full((2,), position), rules, kind).tolist() == [7, 7]


def test_draws_do_not_follow_from_each_other():
    """Equal sums of a seed, a position or a token don't give equal draws."""
    scores, count = torch.zeros(32, 200), 32
    found = []
    for seeds, positions in ((range(count), [9] * count), ([9] * count, range(count)),
                             (range(count), range(count)), (range(count), range(count)[::-1])):
        rules = Rules.of([Sampling(1.0, seed=seed) for seed in seeds], torch.device("cpu"))
        found.append(choose(scores, torch.tensor([*positions]), rules, "plain"))
    for tokens in found:
        assert len(set(tokens.tolist())) > 20  # of 32 draws among 200
    assert sum(map(torch.equal, found, found[1:])) == 0
