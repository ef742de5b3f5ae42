"""Attention of several heads: the weights and the shapes that it takes; turned positions."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops
from lamella.ops.attention import multi_head_attention_forward, scaled_dot_product

RNG = np.random.default_rng(19)
SHAPES = {"query": (3, 2, 8), "key": (5, 2, 8), "value": (5, 2, 8), "embed_dim_to_check": 8,
          "num_heads": 4}


def call(**given):
    values = SHAPES | given
    tensors = [ops.ones(values.pop(name)) for name in ("query", "key", "value")]
    rest = {"in_proj_weight": ops.ones((24, 8)), "in_proj_bias": None, "bias_k": None,
            "bias_v": None, "add_zero_attn": False, "dropout_p": 0.0,
            "out_proj_weight": ops.ones((8, 8)), "out_proj_bias": None}
    return multi_head_attention_forward(*tensors, **(rest | values))


@pytest.mark.parametrize("given", [
    {}, {"query": (3, 8), "key": (5, 8), "value": (5, 8)}, {"num_heads": 1}, {"num_heads": 8},
    {"key_padding_mask": ops.zeros((2, 5), ms.bool_)}, {"attn_mask": ops.zeros((3, 5), ms.bool_)},
    {"attn_mask": ops.zeros((8, 3, 5), ms.bool_)}, {"attn_mask": ops.zeros((3, 5), ms.uint8)},
    {"query": (3, 8), "key": (5, 8), "value": (5, 8), "key_padding_mask": ops.zeros(5, ms.bool_)},
    {"query": (3, 8), "key": (5, 8), "value": (5, 8),
     "attn_mask": ops.zeros((4, 3, 5), ms.bool_)}])
def test_shapes_that_fit(given):
    out, weights = call(**given)
    assert out.shape == given.get("query", (3, 2, 8))
    assert weights.shape == ((3, 5) if len(out.shape) == 2 else (2, 3, 5))


@pytest.mark.parametrize("given, named", [
    ({"query": (3, 2, 7)}, "last dimension of 'query'"), ({"num_heads": 3}, "'num_heads'"),
    ({"num_heads": -4}, "'num_heads'"), ({"key": (5, 2, 7)}, "'key'"),
    ({"value": (5, 2, 9)}, "'value'"), ({"query": (8,)}, "'query'"),
    ({"query": (1, 3, 2, 8)}, "'query'"), ({"key": (5, 8)}, "'key'"),
    ({"value": (5, 8)}, "'value'"), ({"value": (4, 2, 8)}, "one length"),
    ({"key": (5, 1, 8), "value": (5, 1, 8)}, "'query' their batch"),
    ({"key_padding_mask": ops.zeros((2, 3), ms.bool_)}, "'key_padding_mask'"),
    ({"key_padding_mask": ops.zeros(5, ms.bool_)}, "'key_padding_mask'"),
    ({"attn_mask": ops.zeros((5, 3), ms.bool_)}, "'attn_mask'"),
    ({"attn_mask": ops.zeros((4, 3, 5), ms.bool_)}, "'attn_mask'")])
def test_shapes_that_do_not_fit(given, named):
    with pytest.raises(ValueError, match=f"For 'multi_head_attention_forward'.*{named}"):
        call(**given)


@pytest.mark.parametrize("query, key, value", [
    ((1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 6, 4)), ((1, 2, 3, 4), (1, 2, 5, 3), (1, 2, 5, 4))])
def test_keys_are_as_many_as_values_and_as_wide_as_queries(query, key, value):
    with pytest.raises(ValueError, match="keys and values must be as many"):
        scaled_dot_product(*(ops.ones(s)._raw for s in (query, key, value)), None, 0.0, False, None)


@pytest.mark.parametrize("causal, mask", [(False, None), (True, None), (False, "bool"),
                                          (False, "uint8"), (True, "bool")])
@pytest.mark.parametrize("averaged", [True, False])
def test_outputs_and_weights(causal, mask, averaged):
    q, k, v = (RNG.standard_normal(s) for s in ((3, 2, 8), (5, 2, 8), (5, 2, 8)))
    weight, bias, last, shift = (RNG.standard_normal(s) for s in ((24, 8), (24,), (8, 8), (8,)))
    hidden = np.zeros((3, 5), bool)
    if causal and mask is None:
        hidden = ~np.tri(3, 5, dtype=bool)
    elif mask:
        hidden[0, 2:] = hidden[2, 0] = True
    masks = {} if mask is None else {"attn_mask": Tensor(hidden.astype(mask))}
    out, found = multi_head_attention_forward(
        *map(Tensor, (q, k, v)), 8, 4, Tensor(weight), Tensor(bias), None, None, False, 0.5,
        Tensor(last), Tensor(shift), False, average_attn_weights=averaged,
        is_causal=causal and mask is None, **masks)
    heads = []
    for x, w, b in zip((q, k, v), np.split(weight, 3), np.split(bias, 3), strict=True):
        heads.append((x @ w.T + b).reshape(len(x), 2, 4, 2).transpose(1, 2, 0, 3))
    scores = np.where(hidden, -np.inf, heads[0] @ heads[1].swapaxes(2, 3) / 2 ** 0.5)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    shares = powers / powers.sum(-1, keepdims=True)
    want = (shares @ heads[2]).transpose(2, 0, 1, 3).reshape(3, 2, 8) @ last.T + shift
    np.testing.assert_allclose(out.asnumpy(), want, atol=1e-9)
    np.testing.assert_allclose(found.asnumpy(), shares.mean(1) if averaged else shares, atol=1e-9)


@pytest.mark.parametrize("mode", [0, 1])
def test_pairs_are_turned(mode):
    x, angles = RNG.standard_normal((2, 3, 8)), RNG.standard_normal((3, 4))
    pairs = [(i, i + 4) if mode == 0 else (2 * i, 2 * i + 1) for i in range(4)]
    cos, sin, want = np.empty((3, 8)), np.empty((3, 8)), np.empty_like(x)
    for i, (a, b) in enumerate(pairs):
        c, s = np.cos(angles[:, i]), np.sin(angles[:, i])
        cos[:, a] = cos[:, b] = c
        sin[:, a] = sin[:, b] = s
        want[..., a], want[..., b] = x[..., a] * c - x[..., b] * s, x[..., b] * c + x[..., a] * s
    found = ops.rotary_position_embedding(*map(Tensor, (x, cos, sin)), mode)
    np.testing.assert_allclose(found.asnumpy(), want)
    for wrong in (-1, 2):
        with pytest.raises(ValueError, match="'mode' must be 0 or 1"):
            ops.rotary_position_embedding(*map(Tensor, (x, cos, sin)), wrong)
