"""Attention with a cache, beside the definition; every dimension has a length of its own."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lamella import Tensor
from lamella.generation import WholeSequence
from lamella.generation.caches import LayerForm, NextTokens, Prompt

SLOTS, CAPACITY, HEADS, GROUPS, D, E = 5, 12, 6, 2, 4, 3


def drawn(seed, *shape):
    return Tensor(np.random.default_rng(seed).standard_normal(shape))


def attention(q, k, v, scale=None):
    """Of the last tokens of a sequence to all: (T, heads, D), (S, G, D), (S, G, E)."""
    out = np.zeros((*q.shape[:2], v.shape[-1]))
    for t, head in np.ndindex(*q.shape[:2]):
        group, seen = head // (q.shape[1] // k.shape[1]), k.shape[0] - q.shape[0] + t + 1
        scores = k[:seen, group] @ q[t, head] * (q.shape[-1] ** -0.5 if scale is None else scale)
        chances = np.exp(scores - scores.max())
        out[t, head] = chances / chances.sum() @ v[:seen, group]
    return out


def given(seed, rows, length):
    return (drawn(seed, rows, length, HEADS, D), drawn(seed + 1, rows, length, GROUPS, D),
            drawn(seed + 2, rows, length, GROUPS, E))


@pytest.mark.parametrize("scale", [None, 0.9])
def test_a_whole_sequence(scale):
    q, k, v = given(0, 2, 7)
    cache = WholeSequence(Tensor(np.zeros((2, 7), np.int64)))
    found = cache.attention(q, k, v, scale).asnumpy()
    for row in range(2):
        want = attention(q.asnumpy()[row], k.asnumpy()[row], v.asnumpy()[row], scale)
        np.testing.assert_allclose(found[row], want, rtol=1e-6)
    assert cache.positions.asnumpy().tolist() == [list(range(7))] and cache.last(q) is q
    assert cache.forms == [LayerForm(GROUPS, D, E, torch.float64, torch.device("cpu"))]


@pytest.mark.parametrize("scale", [None, 0.9])
def test_prompts_of_several_lengths_and_the_tokens_after_them(scale):
    layer = LayerForm(GROUPS, D, E, torch.float64, torch.device("cpu")).allocate(SLOTS, CAPACITY)
    assert layer.keys.shape == (SLOTS, GROUPS, CAPACITY, D)
    assert layer.values.shape == (SLOTS, GROUPS, CAPACITY, E)
    lengths, size, rows = [3, 8, 5], 8, 3
    seen = []
    for slot, length in enumerate(lengths):
        q, k, v = given(10 * slot, 1, size)
        cache = Prompt([layer], torch.tensor([slot]), torch.tensor([length]), size)
        found = cache.attention(q, k, v, scale).asnumpy()[0]
        seen.append([x.asnumpy()[0, :length] for x in (k, v)])
        want = attention(q.asnumpy()[0, :length], *seen[-1], scale)
        np.testing.assert_allclose(found[:length], want, rtol=1e-6)
        last = cache.last(drawn(9, 1, size, 2)).asnumpy()
        assert np.array_equal(last, drawn(9, 1, size, 2).asnumpy()[:, length - 1:length])
        assert cache.positions.asnumpy().tolist() == [list(range(size))]
    for step in range(2):
        q, k, v = given(100 + 10 * step, rows, 1)
        positions = torch.tensor(lengths) + step
        cache = NextTokens([layer], positions, 11)
        found = cache.attention(q, k, v, scale).asnumpy()
        for row in range(rows):
            seen[row] = [np.concatenate([old, new.asnumpy()[row]])
                         for old, new in zip(seen[row], (k, v), strict=True)]
            np.testing.assert_allclose(found[row], attention(q.asnumpy()[row], *seen[row], scale),
                                       rtol=1e-6)
        assert cache.positions.asnumpy().tolist() == positions[:, None].tolist()
        assert cache.last(q) is q
    assert not layer.keys.asnumpy()[rows:].any()


SHAPES = [((2, 7, 6, 4), (2, 7, 2, 4), (2, 7, 2, 3)), ((1, 7, 2, 4), (1, 7, 2, 4), (1, 7, 2, 4))]
WRONG = [((7, 6, 4), (2, 7, 2, 4), (2, 7, 2, 3)), ((2, 7, 6, 4), (7, 2, 4), (7, 2, 3)),
         ((2, 7, 6, 4), (2, 7, 2, 4), (2, 7, 3, 3)), ((2, 7, 6, 4), (2, 7, 2, 4), (2, 6, 2, 3)),
         ((3, 7, 6, 4), (2, 7, 2, 4), (2, 7, 2, 3)), ((2, 8, 6, 4), (2, 7, 2, 4), (2, 7, 2, 3)),
         ((2, 7, 6, 5), (2, 7, 2, 4), (2, 7, 2, 3)), ((2, 7, 6, 4), (2, 7, 0, 4), (2, 7, 0, 3)),
         ((2, 7, 6, 4), (2, 7, 4, 4), (2, 7, 4, 3))]


@pytest.mark.parametrize("shapes", SHAPES + WRONG)
def test_shapes(shapes):
    cache = WholeSequence(Tensor(np.zeros((2, 7), np.int64)))
    if shapes in SHAPES:
        assert cache.attention(*(drawn(0, *shape) for shape in shapes)).shape == (
            *shapes[0][:3], shapes[2][3])
    else:
        with pytest.raises(ValueError, match=r"'attention'.*must have the shapes"):
            cache.attention(*(drawn(0, *shape) for shape in shapes))
