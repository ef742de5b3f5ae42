"""Attention over blocks of keys and turned queries, against NumPy."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

RNG = np.random.default_rng(11)
ANGLES = RNG.uniform(-3, 3, (9, 4)).astype(np.float32)


def turned(x, angles):
    """The rows (T, heads * D) of a sequence, each turned by angles (T, D)."""
    heads = x.reshape(len(x), -1, angles.shape[1])
    first, second = np.split(heads, 2, -1)
    other = np.concatenate([-second, first], -1)
    return (heads * np.cos(angles)[:, None] + other * np.sin(angles)[:, None]).reshape(x.shape)


@pytest.mark.parametrize("form, length, at, rows", [
    (0, 1, [3, 5], [[3], [5]]), (1, 1, [8, 0], [[8], [0]]),
    (0, 3, [7, 7], [[0, 1, 2]] * 2), (1, 4, [1, 2], [[0, 1, 2, 3]] * 2),
    (2, 9, [4, 4], [range(9)] * 2), (3, 5, [2], [range(5)] * 2),
    (3, 5, [2, 3], [[0, 1, 0, 1, 2]]), (2, 6, [3, 1, 2], [[0, 1, 2, 0, 0, 1]]),
    (2, 5, [2, 2], [range(5)] * 2), (2, 9, [4, 5], [range(9)])])
def test_queries_and_keys_are_turned_by_the_angles_of_their_positions(form, length, at, rows):
    q, k = (RNG.standard_normal((len(rows), length, heads * 4)).astype(np.float16)
            for heads in (3, 2))
    found = ops.ApplyRotaryPosEmb(form)(*map(Tensor, (q, k, np.cos(ANGLES), np.sin(ANGLES),
                                                      np.array(at, np.int32))))
    for one, given in zip(found, (q, k), strict=True):
        assert one.dtype is ms.float16
        wanted = [turned(x, ANGLES[list(chosen)]) for x, chosen in zip(given, rows, strict=True)]
        np.testing.assert_allclose(one.asnumpy(), wanted, rtol=2e-3, atol=2e-3)


def test_each_sequence_of_one_element_has_rows_of_its_own():
    q, k = (RNG.standard_normal((9, 1, 4 * heads)).astype(np.float32) for heads in (1, 2))
    found = ops.ApplyRotaryPosEmb(3)(*map(Tensor, (q, k, np.cos(ANGLES), np.sin(ANGLES),
                                                   np.arange(9))))
    for one, given in zip(found, (q, k), strict=True):
        np.testing.assert_allclose(one.asnumpy()[:, 0], turned(given[:, 0], ANGLES), rtol=1e-5,
                                   atol=1e-6)


@pytest.mark.parametrize("shape", [(2, 1, 6), (2, 4)])
def test_shapes_that_hold_no_heads(shape):
    right, wrong, rows = ops.ones((2, 1, 8)), ops.ones(shape), ops.ones((5, 4))
    for q, k in ((right, wrong), (wrong, right)):
        with pytest.raises((ValueError, IndexError), match=r"heads \* 4\), but got \(2, "):
            ops.ApplyRotaryPosEmb()(q, k, rows, rows, Tensor([0, 1]))


@pytest.mark.parametrize("slots", [[5, 0, 3], [-1, 7, -2], [6, -1, 0], [-3, -1, -2]])
def test_rows_are_written_into_slots_of_a_cache(slots):
    rows = [RNG.standard_normal((3, 2, 3)).astype(np.float32) for _ in "kv"]
    caches = [ops.full((4, 2, 2, 3), fill, dtype=ms.float16) for fill in (7.0, 8.0)]
    held = ops.ReshapeAndCache()(Tensor(rows[0]), Tensor(rows[1]), *caches, Tensor(slots))
    np.testing.assert_array_equal(held.asnumpy(), rows[0])
    for fill, new, cache in zip((7.0, 8.0), rows, caches, strict=True):
        wanted = np.full((8, 2, 3), fill, np.float16)
        for row, slot in zip(new, slots, strict=True):
            if slot >= 0:
                wanted[slot] = row
        assert cache.dtype is ms.float16
        np.testing.assert_array_equal(cache.asnumpy().reshape(8, 2, 3), wanted)


@pytest.mark.parametrize("left_out", ["value", "key_cache", "value_cache", "slot_mapping"])
def test_what_a_cache_needs(left_out):
    given = {"key": ops.ones((1, 2)), "value": ops.ones((1, 2)), "key_cache": ops.ones((1, 1, 2)),
             "value_cache": ops.ones((1, 1, 2)), "slot_mapping": Tensor([0])}
    with pytest.raises(TypeError, match="'slot_mapping' and a cache for the keys, and for the val"):
        ops.reshape_and_cache(**given | {left_out: None})
    if left_out.startswith("value"):  # neither of the two
        ops.reshape_and_cache(**given | {"value": None, "value_cache": None})


@pytest.mark.parametrize("bias", [None, (3, 1, 1, 5), (3, 4, 1, 9), (3, 4, 1, 2)])
@pytest.mark.parametrize("flat", [True, False])
def test_attention_to_keys_in_blocks(flat, bias):
    heads, kv_heads, size, block, scale = 4, 2, 5, 3, 0.7
    keys, values = (RNG.standard_normal((5, block, kv_heads, size)).astype(np.float32)
                    for _ in "kv")
    tables = np.array([[4, 0, 2], [1, 3, -1], [2, 9, 0]])  # others are as the nearest block
    lengths, near = [9, 4, 5], np.clip(tables, 0, 4)
    query = RNG.standard_normal((3, heads * size) if flat else (3, 1, heads * size))
    query = query.astype(np.float32)
    given = [Tensor(query), Tensor(keys), Tensor(values), Tensor(tables), Tensor(lengths)]
    added = None if bias is None else RNG.standard_normal(bias).astype(np.float32)
    tail = None if bias is None else Tensor(added)
    found = [ops.PagedAttention(heads, scale, kv_heads)(*given, alibi_mask=tail),
             ops.PagedAttentionMask(heads, scale, kv_heads)(*given, alibi_mask=tail)]
    wanted = np.zeros((3, heads, size))
    for n, length in enumerate(lengths):
        k, v = (each[near[n]].reshape(-1, kv_heads, size)[:length] for each in (keys, values))
        for head in range(heads):
            scores = k[:, head // 2] @ query.reshape(3, heads, size)[n, head] * scale
            if added is not None:
                row = added[n, head % added.shape[1], 0][:length]
                scores[:len(row)] += row
            shares = np.exp(scores) / np.exp(scores).sum()
            wanted[n, head] = shares @ v[:, head // 2]
    for one in found:
        assert one.shape == query.shape
        np.testing.assert_allclose(one.asnumpy(), wanted.reshape(query.shape), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(2, 12), (2, 1, 12)])
def test_a_single_slot_whose_values_are_wider(shape):
    key, value = RNG.standard_normal((1, 1, 1, 4)), RNG.standard_normal((1, 1, 1, 7))
    found = ops.PagedAttention(3, 1.0, 1, mla_v_dim=0.0)(
        Tensor(RNG.standard_normal(shape)), Tensor(key), Tensor(value), Tensor([[0], [0]]),
        Tensor([1, 1]))
    assert found.shape == (*shape[:-1], 21)
    np.testing.assert_allclose(found.asnumpy().reshape(6, 7), np.tile(value.reshape(1, 7), (6, 1)))


def test_a_query_for_each_row_of_blocks():
    cache = ops.ones((2, 2, 1, 4))
    with pytest.raises(ValueError, match=r"each row of 'block_tables', 3, but got shape \(2, 4\)"):
        ops.PagedAttention(1, 1.0, 1)(ops.ones((2, 4)), cache, cache, ops.zeros((3, 1), ms.int32),
                                      Tensor([1, 1, 1]))


@pytest.mark.parametrize("argument, value", [("mask_mode", "MASK_ALIBI"), ("mla_v_dim", 1),
                                             ("kv_cache_quant_mode", "PERTOKEN")])
def test_attributes_that_have_one_value(argument, value):
    with pytest.raises(ValueError, match=f"'{argument}' must be .* here, but got {value!r}"):
        ops.PagedAttention(2, 1.0, 2, **{argument: value})


@pytest.mark.parametrize("argument", ["antiquant_scale", "antiquant_offset", "attn_mask"])
def test_inputs_that_must_be_absent(argument):
    cache = ops.ones((2, 2, 1, 4))
    given = ops.ones((1, 4)), cache, cache, ops.zeros((1, 1), ms.int32), Tensor([1])
    for name in ("PagedAttention", "PagedAttentionMask"):
        with pytest.raises(ValueError, match=f"'{name}', '{argument}' must be None here, but got"):
            getattr(ops, name)(1, 1.0, 1)(*given, **{argument: 2})


def test_what_flash_attention_does_not_keep_has_one_element():
    x = ops.ones((2, 3, 4))
    *unused, out = ops.FlashAttentionScore(2)(x, x, x)
    assert [part.shape for part in unused] == [(1,)] * 3 and out.shape == (2, 3, 4)
    assert [part.tolist() for part in unused] == [[0.0]] * 3
