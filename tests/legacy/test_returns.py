"""Weights copied at once, discounted returns, and the layer of fused attention."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as ms
from lamella.legacy.flash_attention import FlashAttention
from lamella.legacy.returns import BatchAssign, DiscountedReturn


@pytest.mark.parametrize("compiled", [False, True])
def test_weights_are_copied(compiled):
    old, new = ms.nn.Dense(3, 2), ms.nn.Dense(3, 2)
    pairs = tuple(old.get_parameters()), tuple(new.get_parameters())
    copy = BatchAssign()

    def write():
        copy(*pairs)
        return pairs[0][0] + 0

    write = ms.jit(write) if compiled else write
    for scale in (1.0, 2.0, 3.0):
        for weight in pairs[1]:
            weight.set_data(ms.ops.ones(weight.shape) * scale)
        write()
        assert all((w.asnumpy() == scale).all() for w in pairs[0])
    with pytest.raises(ValueError, match="as many Parameters, but got 2 and 1"):
        copy(pairs[0], pairs[1][:1])
    with pytest.raises(ValueError, match="must have the shape"):
        copy(pairs[0][:1], pairs[1][1:])


def test_returns_are_those_of_the_recurrence():
    random = np.random.default_rng(2)
    reward, last = random.standard_normal((7, 3)).astype("f"), random.standard_normal(3).astype("f")
    done = random.random((7, 3)) < 0.3
    expected, after = np.zeros_like(reward), last
    for step in range(6, -1, -1):
        after = expected[step] = reward[step] + 0.9 * after * ~done[step]
    operator = DiscountedReturn(0.9)
    given = ms.Tensor(reward), ms.Tensor(done), ms.Tensor(last)
    np.testing.assert_allclose(operator(*given).asnumpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(ms.jit(operator)(*given).asnumpy(), expected, rtol=1e-6)

    def total(last):
        return operator(given[0], given[1], last).sum()

    gradient = ms.grad(total)(given[2]).asnumpy()
    # each step from which no end lies before the last one sees it, with a power of gamma
    seen = np.cumprod(~done[::-1], 0) * 0.9 ** np.arange(1, 8)[:, None]
    np.testing.assert_allclose(gradient, seen.sum(0), rtol=1e-5)


def test_wrong_arguments_of_returns_are_named():
    with pytest.raises(ValueError, match="gamma"):
        DiscountedReturn(0)
    operator, done = DiscountedReturn(1.0), ms.Tensor([[False]])
    with pytest.raises(ValueError, match="'last_state_value' must have the shape"):
        operator(ms.ops.ones((1, 1)), done, ms.ops.ones(2))
    with pytest.raises(ValueError, match="as many dimensions and steps"):
        operator(ms.ops.ones((2, 1)), done, ms.ops.ones(1))
    with pytest.raises(TypeError, match="done"):
        operator(ms.ops.ones((1, 1)), ms.ops.ones((1, 1)), ms.ops.ones(1))


@pytest.mark.parametrize("causal", [False, True])
def test_fused_attention_as_a_layer(causal):
    random = np.random.default_rng(3)
    q, k, v = (random.standard_normal((2, 3, 16, 8)).astype("f") for _ in range(3))
    mask = random.random((2, 16, 16)) < 0.2
    mask[:, :, 0] = False
    scores = q @ k.swapaxes(2, 3) / np.sqrt(8)
    scores[np.broadcast_to(mask[:, None], scores.shape)] = -np.inf
    if causal:
        scores[:, :, np.triu(np.ones((16, 16), bool), 1)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = weights / weights.sum(-1, keepdims=True) @ v
    layer = FlashAttention(8, 3, next_block_num=0 if causal else 65536, dropout_rate=0.5)
    for kind in (ms.uint8, ms.float32, ms.bool_):
        given = layer(*map(ms.Tensor, (q, k, v)), ms.Tensor(mask).astype(kind))
        np.testing.assert_allclose(given.asnumpy(), expected, rtol=1e-4, atol=1e-5)
    layer.set_train()
    assert not np.allclose(layer(*map(ms.Tensor, (q, k, v))).asnumpy(), expected)
    with pytest.raises(ValueError, match="'alibi' must be False"):
        FlashAttention(8, 3, alibi=True)
