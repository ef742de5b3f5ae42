"""scaled_dot_product_attention against PyTorch's and against the formula."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, mint

F = mint.nn.functional


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


Q, K, V = drawn(2, 4, 5, 8), drawn(2, 4, 6, 8, seed=1), drawn(2, 4, 6, 3, seed=2)
MASK = drawn(5, 6, seed=3)


@pytest.mark.parametrize("named", [
    {}, {"attn_mask": MASK}, {"attn_mask": MASK > 0}, {"is_causal": True}, {"scale": 0.3},
], ids=["plain", "bias", "bool", "causal", "scale"])
def test_as_pytorch(named):
    ours = {k: Tensor(v) if isinstance(v, np.ndarray) else v for k, v in named.items()}
    theirs = {k: torch.tensor(v) if isinstance(v, np.ndarray) else v for k, v in named.items()}
    expected = torch.nn.functional.scaled_dot_product_attention(
        *map(torch.tensor, (Q, K, V)), **theirs)
    given = F.scaled_dot_product_attention(*map(Tensor, (Q, K, V)), **ours)
    np.testing.assert_allclose(given.asnumpy(), expected.numpy(), rtol=1e-5, atol=1e-6)


def test_heads_share_keys_and_values():
    key, value = K[:, :2], V[:, :2]
    given = F.scaled_dot_product_attention(*map(Tensor, (Q, key, value)), enable_gqa=True)
    expected = F.scaled_dot_product_attention(
        Tensor(Q), Tensor(key.repeat(2, 1)), Tensor(value.repeat(2, 1)))
    np.testing.assert_allclose(given.asnumpy(), expected.asnumpy(), rtol=1e-5, atol=1e-6)


def test_second_derivatives():
    x = Tensor(drawn(1, 1, 3, 2).astype(np.float64))
    ms.check_grads(lambda x: F.scaled_dot_product_attention(x, x, x), x, order=2)


def test_a_mask_and_causal_are_one_too_many():
    with pytest.raises(ValueError, match="'attn_mask' must be None when 'is_causal' is True"):
        F.scaled_dot_product_attention(*map(Tensor, (Q, K, V)), Tensor(MASK), is_causal=True)


def test_rms_norm_names_itself():
    with pytest.raises(ValueError, match="For 'rms_norm'"):
        F.rms_norm(Tensor(Q), 7)
