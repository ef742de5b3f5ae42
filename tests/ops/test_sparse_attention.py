"""Attention to compressed, selected and partial keys, against loops over rows and heads."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, ops
from lamella.ops.native_sparse_attention import multiplicity
from tests.contracts import check_gradient

RNG = np.random.default_rng(0)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def attention(q, k, v, scale, often=None):
    """One row's attention, its maximum and sum; `often` says how often each key counts."""
    scores = scale * (k.astype(np.float64) @ q.astype(np.float64))
    often = np.ones(len(k)) if often is None else often
    seen = often > 0
    if not seen.any():
        return np.zeros(v.shape[1]), -np.inf, 0.0
    top = scores[seen].max()
    powers = np.where(seen, often * np.exp(np.where(seen, scores, top) - top), 0)
    return powers @ v / powers.sum(), top, powers.sum()


def segments(ends):
    return list(zip([0, *ends[:-1]], ends, strict=True))


def test_compressed_windows_of_each_sequence():
    x, w, ends = normal(11, 2, 3), normal(4, 2), (5, 8, 11)
    want = [(x[begin:begin + 4] * w[:, :, None]).sum(0)
            for first, last in segments(ends) for begin in range(first, last - 3, 2)]
    out = ops.nsa_compress(Tensor(x), Tensor(w), 4, 2, actual_seq_len=ends)
    np.testing.assert_allclose(out.asnumpy(), want, rtol=1e-5)
    check_gradient(lambda a, b: ops.nsa_compress(a, b, 4, 2, actual_seq_len=ends),
                   [x.astype(np.float64), w.astype(np.float64)], (0, 1), 1)
    short = ops.nsa_compress(Tensor(x), Tensor(normal(8, 2)), 8, 8, actual_seq_len=ends)
    assert short.shape == (0, 2, 3)


def test_compressed_attention_and_its_blocks():
    q, k, v = normal(7, 4, 5), normal(9, 2, 5), normal(9, 2, 3)
    q_ends, k_ends, block_ends, stride, block, select = (3, 7), (4, 9), (3, 6), 2, 4, 4
    out, chosen, top, total = ops.nsa_compress_attention(
        Tensor(q), Tensor(k), Tensor(v), 0.5, 4, block, stride, select, 2, actual_seq_qlen=q_ends,
        actual_cmp_seq_kvlen=k_ends, actual_sel_seq_kvlen=block_ends)
    for (qa, qb), (ka, kb), (ba, bb) in zip(segments(q_ends), segments(k_ends),
                                            segments(block_ends), strict=True):
        for row in range(qa, qb):
            importance = np.zeros((2, bb - ba))
            for head in range(4):
                keys, values = k[ka:kb, head // 2], v[ka:kb, head // 2]
                want, highest, sums = attention(q[row, head], keys, values, 0.5)
                np.testing.assert_allclose(out.asnumpy()[row, head], want, rtol=1e-4, atol=1e-6)
                np.testing.assert_allclose(top.asnumpy()[row, head], [highest] * 8, rtol=1e-5)
                np.testing.assert_allclose(total.asnumpy()[row, head], [sums] * 8, rtol=1e-3)
                weights = np.exp(0.5 * keys @ q[row, head] - highest) / sums
                for j, m, n in np.ndindex(bb - ba, select // stride, block // stride):
                    place = select // stride * j - m - n
                    if 0 <= place < len(weights):
                        importance[head // 2, j] += weights[place]
            best = np.argsort(-importance, 1, kind="stable")[:, :2]
            np.testing.assert_array_equal(chosen.asnumpy()[row], best)


def test_masks_of_compressed_attention():
    q, k = Tensor(normal(2, 1, 4)), Tensor(normal(3, 1, 4))
    hidden = Tensor([[True, True, True], [False, True, True]])
    blocks = Tensor([[True, False], [True, True]])
    out, chosen, _, _ = ops.nsa_compress_attention(
        q, k, k, 1.0, 1, 16, 16, 16, 3, topk_mask=blocks, atten_mask=hidden, actual_seq_qlen=(2,),
        actual_cmp_seq_kvlen=(3,), actual_sel_seq_kvlen=(2,))
    np.testing.assert_allclose(out.asnumpy()[:, 0], [np.zeros(4), k.asnumpy()[0, 0]], rtol=1e-6)
    assert chosen.tolist() == [[[1, -1, -1]], [[-1, -1, -1]]]


def test_selected_blocks():
    q, k, v = normal(5, 4, 3), normal(9, 2, 3), normal(9, 2, 2)
    q_ends, k_ends = (2, 5), (4, 9)
    chosen = np.array([[[0, 1], [1, 1]], [[1, -1], [0, 0]], [[2, 0], [1, 2]], [[0, 1], [2, -1]],
                       [[1, 1], [0, 2]]], np.int32)

    def run(q, k, v):
        return ops.nsa_select_attention(q, k, v, Tensor(chosen), 0.7, 4, 2, 2,
                                        actual_seq_qlen=q_ends, actual_seq_kvlen=k_ends)

    out, top, total = run(*map(Tensor, (q, k, v)))
    for (qa, qb), (ka, kb) in zip(segments(q_ends), segments(k_ends), strict=True):
        for row, head in np.ndindex(5, 4):
            if qa <= row < qb:
                often = np.zeros(kb - ka)
                for one in chosen[row, head // 2]:
                    if one >= 0:
                        often[2 * one:2 * one + 2] += 1
                want = attention(q[row, head], k[ka:kb, head // 2], v[ka:kb, head // 2], 0.7,
                                 often)
                np.testing.assert_allclose(out.asnumpy()[row, head], want[0], rtol=1e-4,
                                           atol=1e-6)
                np.testing.assert_allclose((total * top.exp()).asnumpy()[row, head],
                                           [want[2] * np.exp(want[1])] * 8, rtol=1e-4)
    check_gradient(lambda *given: run(*given)[0],
                   [a.astype(np.float64) for a in (q, k, v)], (0, 1, 2), 1)


def _indexed(q, k, w):
    return (np.maximum(q @ k.T, 0) * w[:, None]).sum(0)


@pytest.mark.parametrize("layout", ["BSND", "TND"])
def test_indexer(layout):
    q, k, w = normal(2, 3, 4, 5), normal(2, 6, 1, 5), normal(2, 3, 4)
    given = q, k, w
    ends = {}
    if layout == "TND":
        given = (q.reshape(6, 4, 5), k.reshape(12, 1, 5), w.reshape(6, 4))
        ends = {"actual_seq_lengths_query": Tensor([3, 6], ms.int32),
                "actual_seq_lengths_key": Tensor([6, 12], ms.int32)}
    found, values = ops.lightning_indexer(*map(Tensor, given), layout_query=layout,
                                          layout_key=layout, sparse_count=5, return_value=True,
                                          **ends)
    assert found.shape == values.shape == (*given[0].shape[:-2], 1, 5)
    found, values = (t.asnumpy().reshape(2, 3, 5) for t in (found, values))
    for b, s in np.ndindex(2, 3):
        seen = 6 - 3 + s + 1
        sums = _indexed(q[b, s], k[b, :seen, 0], w[b, s])
        order = np.argsort(-sums, kind="stable")[:5]
        missing = 5 - len(order)
        assert found[b, s].tolist() == [*order, *[-1] * missing]
        np.testing.assert_allclose(values[b, s], [*sums[order], *[-np.inf] * missing], rtol=1e-4)


def test_indexer_of_a_paged_cache():
    q, k, w = normal(2, 1, 2, 4), normal(2, 6, 1, 4), normal(2, 1, 2)
    cache = np.zeros((5, 3, 1, 4), np.float32)
    table = np.array([[4, 1], [0, 3]], np.int32)
    for b, block in np.ndindex(2, 2):
        cache[table[b, block]] = k[b, 3 * block:3 * block + 3]
    kept = {"actual_seq_lengths_key": Tensor([6, 4], ms.int32), "sparse_count": 3}
    paged = ops.lightning_indexer(Tensor(q), Tensor(cache), Tensor(w), block_table=Tensor(table),
                                  layout_key="PA_BSND", **kept)[0]
    plain = ops.lightning_indexer(Tensor(q), Tensor(k), Tensor(w), **kept)[0]
    assert paged.tolist() == plain.tolist()
    with pytest.raises(ValueError, match="block_table"):
        ops.lightning_indexer(Tensor(q), Tensor(cache), Tensor(w), layout_key="PA_BSND", **kept)


@pytest.mark.parametrize("mode", [0, 3])
def test_sparse_flash_attention(mode):
    q, k, v = normal(2, 3, 2, 4), normal(2, 5, 1, 4), normal(2, 5, 1, 4)
    q_rope, k_rope = normal(2, 3, 2, 2), normal(2, 5, 1, 2)
    chosen = np.array([[[0, 2], [1, -1], [2, 1]], [[0, 1], [2, 2], [1, 0]]], np.int32)
    out, top, total = ops.sparse_flash_attention(
        Tensor(q), Tensor(k), Tensor(v), Tensor(chosen[:, :, None]), 0.5, query_rope=Tensor(q_rope),
        key_rope=Tensor(k_rope), sparse_block_size=2, sparse_mode=mode, attention_mode=2,
        return_softmax_lse=True)
    assert top.shape == total.shape == (2, 1, 3, 2)
    for b, s, n in np.ndindex(2, 3, 2):
        often = np.zeros(5)
        for one in chosen[b, s]:
            if one >= 0:
                often[2 * one:2 * one + 2] = 1
        if mode == 3:
            often[5 - 3 + s + 1:] = 0
        want = attention(np.concatenate((q[b, s, n], q_rope[b, s, n])),
                         np.concatenate((k[b, :, 0], k_rope[b, :, 0]), 1), v[b, :, 0], 0.5, often)
        np.testing.assert_allclose(out.asnumpy()[b, s, n], want[0], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose((total * top.exp()).asnumpy()[b, 0, s, n],
                                   want[2] * np.exp(want[1]), rtol=1e-4)


@pytest.mark.parametrize("layout", ["SBH", "TND"])
def test_two_parts_of_the_keys(layout):
    heads, batch, rows, width = 2, 3, 4, 5
    q, k, v = normal(batch, heads, rows, width), normal(batch, heads, 6, width), normal(
        batch, heads, 6, width)

    def part(keys):
        scores = np.einsum("bnsd,bnkd->bnsk", q, k[:, :, keys])
        top = scores.max(-1, keepdims=True)
        powers = np.exp(scores - top)
        out = powers @ v[:, :, keys] / powers.sum(-1, keepdims=True)
        return out, top, powers.sum(-1, keepdims=True)

    def laid(out, top, total):
        if layout == "SBH":
            order, many = out.transpose(2, 0, 1, 3).reshape(rows, batch, -1), (top, total)
        else:
            order, *many = (a.transpose(0, 2, 1, 3).reshape(batch * rows, heads, -1)
                            for a in (out, top, total))
        return [order, *[np.repeat(a, 8, -1) for a in many]]

    first, second = laid(*part(slice(0, 2))), laid(*part(slice(2, 6)))
    found = ops.ring_attention_update(*map(Tensor, first), *map(Tensor, second), layout=layout)
    for got, want in zip(found, laid(*part(slice(0, 6))), strict=True):
        np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("layout", ["BSH", "BNSD", "BSND"])
def test_inference_of_padded_sequences(layout):
    q, k, v = normal(2, 4, 3, 5), normal(2, 2, 6, 5), normal(2, 2, 6, 5)
    order = {"BNSD": lambda a: a, "BSND": lambda a: a.transpose(0, 2, 1, 3),
             "BSH": lambda a: a.transpose(0, 2, 1, 3).reshape(2, a.shape[2], -1)}[layout]
    out, lse = ops.fused_infer_attention_score(
        *[Tensor(np.ascontiguousarray(order(a))) for a in (q, k, v)], num_heads=4,
        num_key_value_heads=2, scale=0.5, input_layout=layout, actual_seq_lengths=[3, 0],
        actual_seq_lengths_kv=Tensor([4, 6]), softmax_lse_flag=True)
    want, logs = np.zeros((2, 4, 3, 5)), np.zeros((2, 4, 3, 1))
    for b, n, s in np.ndindex(2, 4, 3):
        keys = (4, 6)[b]
        row = attention(q[b, n, s], k[b, n // 2, :keys], v[b, n // 2, :keys], 0.5)
        logs[b, n, s] = np.log(row[2]) + row[1]
        if s < (3, 0)[b]:
            want[b, n, s] = row[0]
    np.testing.assert_allclose(out.asnumpy(), order(want), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(lse.asnumpy(), logs, rtol=1e-5)


def test_a_mask_for_each_sequence():
    q, k, v = (Tensor(normal(2, 4, 3, 5)) for _ in "qkv")
    mask = np.random.default_rng(3).random((2, 3, 3)) < 0.4
    mask[..., 0] = False
    given = {"num_heads": 4, "scale": 0.5, "input_layout": "BNSD"}
    found, _ = ops.fused_infer_attention_score(q, k, v, atten_mask=Tensor(mask), **given)
    each, _ = ops.fused_infer_attention_score(q, k, v, atten_mask=Tensor(mask[:, None]), **given)
    np.testing.assert_array_equal(found.asnumpy(), each.asnumpy())
    scores = np.where(mask[:, None], -np.inf, q.asnumpy() @ k.asnumpy().swapaxes(2, 3) * 0.5)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    np.testing.assert_allclose(found.asnumpy(), shares @ v.asnumpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda x: ops.nsa_compress(x, x[:, :, 0], 2, 2, actual_seq_len=(1, 3)), RuntimeError,
     "'weight'"),
    (lambda x: ops.nsa_compress(x, x[:2, :, 0], 2, 2, actual_seq_len=(1, 2)), RuntimeError,
     "the last of them 3"),
    (lambda x: ops.nsa_compress(x, x[:2, :, 0].astype(ms.float16), 2, 2, actual_seq_len=(3,)),
     TypeError, "one type"),
    (lambda x: ops.nsa_select_attention(x, x, x, x[:, :1].astype(ms.int32), 1.0, 2, 2, 2,
                                        actual_seq_qlen=(3,), actual_seq_kvlen=(3,)),
     RuntimeError, "'topk_indices'"),
    (lambda x: ops.lightning_indexer(x, x, x, layout_query="SBH"), ValueError, "layout_query"),
    (lambda x: ops.sparse_flash_attention(x, x, x, x, 1.0, attention_mode=2), ValueError,
     "query_rope"),
    (lambda x: ops.ring_attention_update(x, x, x, x, x, x, layout="BSH"), ValueError, "layout"),
    (lambda x: ops.fused_infer_attention_score(x, x, x, block_table=x), ValueError, "block_table"),
])
def test_wrong_calls(call, error, text):
    with pytest.raises(error, match=text):
        call(ops.ones((3, 2, 4)))


def test_how_often_keys_are_selected():
    chosen = torch.tensor([[0, 2, 0], [1, -1, 9]])
    found = multiplicity(chosen, 3, 7)  # blocks of 3, the last one of a single key
    assert found.tolist() == [[2, 2, 2, 0, 0, 0, 1], [0, 0, 0, 1, 1, 1, 0]]
