"""Routing of tokens to experts: documented results, and the meaning on random tokens."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops
from lamella.ops.primitives.experts import (
    FusedAddTopKDiv,
    MoeFinalizeRouting,
    MoeInitRoutingV2,
    MoeTokenUnpermute,
)

RNG = np.random.default_rng(0)
X = RNG.standard_normal((6, 3)).astype(np.float32)
CHOSEN = np.array([[1, 3], [0, 1], [3, 2], [1, 0], [1, 2], [3, 1]], np.int32)


def test_documented_drop_and_pad():
    x = Tensor(np.array([[0.1, 0.2, 0.3], [0.2, 0.7, 0.8], [0.3, 0.3, 0.5]]), ms.float32)
    chosen = Tensor(np.array([[0, 1, 1], [2, 1, 1], [0, 0, 0]]), ms.int32)
    out, rows, _, before = MoeInitRoutingV2()(x, chosen, 3, 2, 3, 1, 0, True)
    np.testing.assert_allclose(out.asnumpy(), [
        [[0.1, 0.2, 0.3], [0.3, 0.3, 0.5]], [[0.1, 0.2, 0.3], [0.1, 0.2, 0.3]],
        [[0.2, 0.7, 0.8], [0, 0, 0]]], rtol=1e-6)
    assert rows.tolist() == [0, 2, 3, 4, -1, -1, 1, -1, -1] and rows.dtype is ms.int32
    assert before.tolist() == [4, 4, 1]


@pytest.mark.parametrize(("flag", "counts"), [(0, [0] * 4), (1, [2, 7, 9, 12]),
                                              (2, [2, 5, 2, 3])])
def test_all_tokens_there_and_back(flag, counts):
    out, rows, found, _ = ops.moe_init_routing_v2(Tensor(X), Tensor(CHOSEN), 0, 0, 4, 0, flag,
                                                  False)
    assert found.tolist() == counts
    order = np.argsort(CHOSEN.reshape(-1), kind="stable")
    np.testing.assert_array_equal(out.asnumpy(), X[order // 2])
    weights = RNG.random((6, 2)).astype(np.float32)
    back = MoeTokenUnpermute()(out, rows, Tensor(weights))
    np.testing.assert_allclose(back.asnumpy(), X * weights.sum(1, keepdims=True), rtol=1e-5)


def test_gradients_and_compiled():
    def step(x):
        out, rows, *_ = ops.moe_init_routing_v2(x, Tensor(CHOSEN), 0, 3, 4, 1, 0, False)
        return (out ** 2).sum() + rows.sum()

    kept = np.ones(12)
    kept[[8, 11]] = 0  # expert 1 takes three of five
    expected = 2 * X * kept.reshape(6, 2).sum(1, keepdims=True)
    for gradient in (ms.grad(step), ms.jit(ms.grad(step))):
        for _ in range(2):
            np.testing.assert_allclose(gradient(Tensor(X)).asnumpy(), expected, rtol=1e-5)


def test_documented_finalization():
    rows = np.array([0.1, 0.2, 0.3, 0.1, 0.2, 0.3])[:, None].repeat(4, 1)
    x1 = np.array([1, 0.2, 0.3])[:, None].repeat(4, 1)
    bias = np.array([0.1, 0.2, 0.3, 0.4])[:, None].repeat(4, 1)
    out = MoeFinalizeRouting()(
        Tensor(rows), Tensor(x1), None, Tensor(bias),
        Tensor(np.array([[0.7, 0.3], [0.8, 0.2], [0.8, 0.2]])),
        Tensor([2, 3, 1, 0, 5, 4], ms.int32), Tensor([[0, 1], [0, 2], [1, 3]], ms.int32))
    np.testing.assert_allclose(out.asnumpy()[:, 0], [1.37, 0.48, 0.74], rtol=1e-6)


def test_experts_by_groups():
    x, add = RNG.standard_normal((5, 12)).astype(np.float32), RNG.random(12).astype(np.float32)
    weights, chosen = FusedAddTopKDiv()(Tensor(x), Tensor(add), 4, 2, 2, 4, scale=1.5)
    chances = 1 / (1 + np.exp(-x))
    for token, scores in enumerate(chances + add):
        groups = np.sort(scores.reshape(4, 3), 1)[:, 1:].sum(1)
        best = np.argsort(groups)[2:]
        allowed = [i for i in range(12) if i // 3 in best]
        wanted = sorted(allowed, key=lambda i: -scores[i])[:4]
        assert chosen[token].tolist() == wanted
        share = chances[token, wanted] / chances[token, wanted].sum()
        np.testing.assert_allclose(weights[token].asnumpy(), 1.5 * share, rtol=1e-5)


@pytest.mark.parametrize(("settings", "message"), [
    ((0, 7, 4, 1, 0, False), "'expert_capacity' must be 1 to the number of tokens, 6"),
    ((0, 0, 3, 0, 1, False), "'expert_idx' must be 0 to 2"),
    ((-1, 0, 4, 0, 0, False), "'active_num' must be 0 or more"),
    ((0, 0, 4, 2, 0, False), "'drop_pad_mode' must be 0 or 1"),
])
def test_wrong_numbers(settings, message):
    with pytest.raises(ValueError, match=message):
        ops.moe_init_routing_v2(Tensor(X), Tensor(CHOSEN), *settings)


def test_what_is_missing_or_does_not_fit():
    with pytest.raises(ValueError, match="'expanded_row_idx' must be given"):
        MoeFinalizeRouting()(Tensor(X), Tensor(X))
    with pytest.raises(ValueError, match="'group_num' must divide the 3 experts"):
        FusedAddTopKDiv()(Tensor(X), Tensor(X[0]), 2, 1, 1, 1)


@pytest.mark.parametrize("count", [None, 0, 1, 5, 12, 20])
def test_permuted_tokens_and_back(count):
    chosen = Tensor(CHOSEN)
    out, places = ops.moe_token_permute(Tensor(X), chosen, count)
    order = np.argsort(CHOSEN.reshape(-1), kind="stable")
    np.testing.assert_array_equal(out.asnumpy(), X[order[:count] // 2])
    assert places.dtype is ms.int32 and places.tolist() == np.argsort(order).tolist()
    if count == 0:
        return
    weights = RNG.random((6, 2)).astype(np.float32)
    back = ops.moe_token_unpermute(out, places, Tensor(weights))
    kept = weights * (np.argsort(order).reshape(6, 2) < (12 if count is None else count))
    np.testing.assert_allclose(back.asnumpy(), X * kept.sum(1, keepdims=True), rtol=1e-5)


def test_permuted_tokens_of_one_expert_each():
    chosen = np.array([2, 0, 1, 0, 2, 1])
    for indices in (Tensor(chosen), Tensor(chosen[:, None], ms.int32)):
        out, places = ops.moe_token_permute(Tensor(X), indices)
        np.testing.assert_array_equal(out.asnumpy(), X[[1, 3, 2, 5, 0, 4]])
        np.testing.assert_array_equal(ops.moe_token_unpermute(out, places).asnumpy(), X)


@pytest.mark.parametrize(("call", "error", "named"), [
    (lambda: ops.moe_token_permute(Tensor(X), Tensor(CHOSEN), -1), ValueError, "'num_out_tokens'"),
    (lambda: ops.moe_token_permute(Tensor(X), Tensor(CHOSEN), None, True), ValueError,
     "'padded_mode' must be False"),
    (lambda: ops.moe_token_permute(Tensor(X), Tensor(CHOSEN), None, 0), TypeError,
     "'padded_mode'"),
    (lambda: ops.moe_token_permute(Tensor(X[0]), Tensor(CHOSEN)), ValueError, "rank 2"),
    (lambda: ops.moe_token_permute(Tensor(X[None]), Tensor(CHOSEN)), ValueError, "rank 2"),
    (lambda: ops.moe_token_permute(Tensor(X), Tensor(CHOSEN[None])), ValueError, "rank 1 or 2"),
    (lambda: ops.moe_token_permute(Tensor(X[:5]), Tensor(CHOSEN)), RuntimeError, "one length"),
    (lambda: ops.moe_token_permute(Tensor(X), Tensor(CHOSEN, ms.int16)), TypeError, "'indices'"),
    (lambda: ops.moe_token_unpermute(Tensor(X[0]), Tensor([0])), ValueError, "must have rank 2"),
    (lambda: ops.moe_token_unpermute(Tensor(X), Tensor([[0]])), ValueError, "must have rank 1"),
    (lambda: ops.moe_token_unpermute(Tensor(X), Tensor([0, 1]), ops.ones(2)), ValueError,
     "'probs' must have the shape"),
    (lambda: ops.moe_token_unpermute(Tensor(X), Tensor([0, 1]), ops.ones((2, 2))), ValueError,
     "'probs' must have the shape"),
    (lambda: ops.moe_token_unpermute(Tensor(X), Tensor([0]), None, True), ValueError,
     "'padded_mode' must be False"),
])
def test_limits_of_permutations(call, error, named):
    with pytest.raises(error, match=named):
        call()


@pytest.mark.parametrize("settings", [(0, 6, 4, 1, 0, False), (0, 1, 4, 1, 2, True),
                                      (0, 0, 0, 0, 0, False), (3, 0, 4, 0, 2, False)])
def test_numbers_at_their_limits(settings):
    out, rows, counts, before = ops.moe_init_routing_v2(Tensor(X), Tensor(CHOSEN), *settings)
    active, capacity, experts, padded, _, counted = settings
    assert out.shape == ((experts, capacity, 3) if padded else (active or 12, 3))
    numbers = np.bincount(CHOSEN.ravel(), minlength=4)
    assert before.tolist() == (numbers.tolist() if counted else [0] * experts)
    assert rows.shape == (12,)


@pytest.mark.parametrize("settings", [
    (0, 0, 4, 1, 0, False), (0, 7, 4, 1, 0, False), (0, 2, 0, 1, 0, False),
    (0, 0, 0, 0, 1, False), (-1, 0, 4, 0, 0, False), (0, 0, 4, -1, 0, False),
    (0, 0, 4, 0, 3, False), (0, 0, 4, 0, -1, False), (0, 0, 3, 0, 2, False)])
def test_numbers_beyond_their_limits(settings):
    with pytest.raises(ValueError, match="For 'moe_init_routing_v2'"):
        ops.moe_init_routing_v2(Tensor(X), Tensor(CHOSEN), *settings)
