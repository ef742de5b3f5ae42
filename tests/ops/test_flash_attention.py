"""Fused attention of sequences that lie one after the other, beside PyTorch's of each."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, ops

LENGTHS = [3, 1, 5, 4]  # one as long as there are heads
HEADS, KV_HEADS, SIZE = 4, 2, 8


def drawn(heads: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(sum(LENGTHS), heads, SIZE, generator=generator)


def wanted(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, causal: bool
           ) -> torch.Tensor:
    found = []
    for parts in zip(query.split(LENGTHS), key.split(LENGTHS), value.split(LENGTHS), strict=True):
        q, k, v = (part.transpose(0, 1) for part in parts)
        k, v = (part.repeat_interleave(HEADS // KV_HEADS, 0) for part in (k, v))
        scores = q @ k.transpose(1, 2) / 3
        if causal:
            later = torch.ones(scores.shape[-2:]).triu(1).bool()
            scores = scores.masked_fill(later, -torch.inf)
        found.append((scores.softmax(-1) @ v).transpose(0, 1))
    return torch.cat(found)


Three = tuple[Tensor, Tensor, Tensor]
ThreeRaw = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def inputs(layout: str) -> tuple[ThreeRaw, Three]:
    q, k, v = drawn(HEADS, 1), drawn(KV_HEADS, 2), drawn(KV_HEADS, 3)

    def ours(t: torch.Tensor) -> Tensor:
        return Tensor((t.flatten(1) if layout == "TH" else t).numpy())

    given = ours(q), ours(k), ours(v)
    return (q.requires_grad_(), k.requires_grad_(), v.requires_grad_()), given


LATER = Tensor(np.triu(np.ones((5, 5), np.uint8), 1))
SMALL = Tensor(np.triu(np.ones((2, 2), np.float32), 1) * -10000)
TALL = Tensor(np.triu(np.ones((20, 2), bool), 1))  # has rows enough, but no columns


@pytest.mark.parametrize(("layout", "given", "causal"), [
    ("TND", {}, False), ("TH", {}, False), ("TND", {"sparse_mode": 2}, True),
    ("TND", {"sparse_mode": 3}, True), ("TND", {"attn_mask": LATER}, True),
    ("TH", {"attn_mask": LATER}, True), ("TH", {"attn_mask": SMALL}, True),
    ("TND", {"attn_mask": TALL}, True)])
def test_packed_sequences(layout, given, causal):
    theirs, ours = inputs(layout)
    ends = LENGTHS if layout == "TH" else np.cumsum(LENGTHS).tolist()

    def f(q, k, v):
        out = ops.flash_attention_score(q, k, v, HEADS, actual_seq_qlen=Tensor(ends),
                                        actual_seq_kvlen=tuple(ends), scalar_value=1 / 3,
                                        input_layout=layout, **given)
        return (out ** 2).sum(), out

    (_, out), gradients = ms.value_and_grad(f, (0, 1, 2), has_aux=True)(*ours)
    answer = wanted(*theirs, causal)
    (answer ** 2).sum().backward()
    assert out.shape == ours[0].shape
    np.testing.assert_allclose(out.asnumpy().reshape(answer.shape), answer.detach(), atol=1e-5)
    for own, its in zip(gradients, theirs, strict=True):
        assert its.grad is not None
        np.testing.assert_allclose(own.asnumpy().reshape(its.shape), its.grad, atol=1e-4)


def test_a_single_sequence_needs_no_lengths():
    theirs, ours = inputs("TND")
    out = ops.flash_attention_score(*ours, HEADS, scalar_value=0.5, input_layout="TND")
    q, k, v = (t.transpose(0, 1).unsqueeze(0) for t in theirs)
    k, v = (t.repeat_interleave(HEADS // KV_HEADS, 1) for t in (k, v))
    answer = torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=0.5)
    np.testing.assert_allclose(out.asnumpy(), answer[0].transpose(0, 1).detach(), atol=1e-5)


def test_ascends_operator_takes_packed_sequences():
    theirs, ours = inputs("TND")
    ends = np.cumsum(LENGTHS).tolist()
    out, = ops.speed_fusion_attention(*ours, HEADS, "TND", scale=1 / 3, actual_seq_qlen=ends,
                                      actual_seq_kvlen=ends, sparse_mode=2)
    np.testing.assert_allclose(out.asnumpy(), wanted(*theirs, True).detach(), atol=1e-5)


def test_lengths_are_checked():
    _, ours = inputs("TND")
    for ends in ([3, 4], [3, 2, 9], []):
        with pytest.raises(ValueError, match="must end at the 13 rows"):
            ops.flash_attention_score(*ours, HEADS, actual_seq_qlen=ends, input_layout="TND")
    with pytest.raises(ValueError, match="must be of as many sequences, but got 2 and 1"):
        ops.flash_attention_score(*ours, HEADS, actual_seq_qlen=[4, 13], input_layout="TND")
    with pytest.raises(ValueError, match="'actual_seq_qlen' is for Ascend devices only"):
        q, k, v = ours
        ops.flash_attention_score(q.expand_dims(0), k.expand_dims(0), v.expand_dims(0), HEADS,
                                  actual_seq_qlen=[9], input_layout="BSND")


def test_rotary_positions_of_packed_sequences():
    table = np.arange(12, dtype=np.float32)[:, None] * np.ones(4, np.float32)
    cos, sin = Tensor(np.cos(table)), Tensor(np.sin(table))
    x = Tensor(np.random.default_rng(0).normal(size=(1, 5, 8)).astype(np.float32))
    packed, _ = ops.apply_rotary_pos_emb_(x, x, cos, sin, Tensor([2, 3]), 2)
    for begin, end in ((0, 2), (2, 5)):
        alone, _ = ops.apply_rotary_pos_emb_(x[:, begin:end], x[:, begin:end], cos[:end - begin],
                                             sin[:end - begin], Tensor([end - begin]), 2)
        np.testing.assert_allclose(packed[:, begin:end].asnumpy(), alone.asnumpy(), atol=1e-6)
    single, _ = ops.apply_rotary_pos_emb_(x, x, cos, sin, Tensor([5]), 2)
    same, _ = ops.apply_rotary_pos_emb_(x, x, cos[:5], sin[:5], Tensor([5]), 2)
    np.testing.assert_allclose(single.asnumpy(), same.asnumpy())


def test_one_new_position_sees_all_keys_but_those_of_the_mask():
    draw = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, length, 8, generator=draw) for length in (1, 5, 5))
    hidden = torch.tensor([[0, 1, 0, 0, 1], [0, 0, 0, 1, 1]]).bool()
    for mask in (None, hidden):
        found = ops.incre_flash_attention(
            *(Tensor(t.numpy()) for t in (q, k, v)), None if mask is None else Tensor(
                mask[:, None].numpy()), num_heads=2, scale_value=0.5)
        heads = [t.unflatten(2, (2, 4)).transpose(1, 2) for t in (q, k, v)]
        scores = 0.5 * heads[0] @ heads[1].mT
        if mask is not None:
            scores = scores.masked_fill(mask[:, None, None], -torch.inf)
        wanted = (scores.softmax(-1) @ heads[2]).transpose(1, 2).flatten(2)
        np.testing.assert_allclose(found.asnumpy(), wanted.numpy(), atol=1e-6)


RNG = np.random.default_rng(18)
BATCH, Q_LEN, K_LEN = 2, 4, 6


def in_layout(raw: np.ndarray, layout: str) -> Tensor:
    """From (B, heads, T, d)."""
    rows = raw.swapaxes(1, 2)
    flat = rows.reshape(*rows.shape[:2], -1)
    return Tensor({"BNSD": raw, "BSND": rows, "BSH": flat, "SBH": flat.swapaxes(0, 1)}[layout])


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float, hidden: np.ndarray,
              shift: np.ndarray | float) -> np.ndarray:
    k, v = (np.repeat(t, q.shape[1] // t.shape[1], 1) for t in (k, v))
    scores = np.where(hidden, -np.inf, q @ k.swapaxes(2, 3) * scale + shift)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ v


def seen(mode: int, q_len: int, k_len: int, before: int, after: int) -> np.ndarray:
    """Which keys each position sees by a sparse mode alone."""
    out = np.ones((q_len, k_len), bool)
    for i, j in np.ndindex(q_len, k_len):
        ahead = j - i - (k_len - q_len if mode in (3, 4) else 0)
        if mode in (2, 3):
            out[i, j] = ahead <= 0
        elif mode in (0, 4):
            out[i, j] = -before <= ahead <= after
    return out


@pytest.mark.parametrize("layout", ["BNSD", "BSND", "BSH", "SBH"])
@pytest.mark.parametrize(("mode", "before", "after"), [
    (0, 99, 99), (0, 1, 99), (0, 99, 1), (0, 2, 0), (1, 0, 0), (2, 99, 99), (3, 99, 99),
    (4, 99, 0), (4, 1, 1), (4, 99, 99), (0, 5, 6), (4, 6, 5)])
@pytest.mark.parametrize("extras", ["", "mask", "shift", "mask and shift"])
def test_modes_and_layouts(layout, mode, before, after, extras):
    q, k, v = (RNG.standard_normal((BATCH, heads, length, 3)) for heads, length in (
        (4, Q_LEN), (2, K_LEN), (2, K_LEN)))
    mask = RNG.random((BATCH, 1, Q_LEN, K_LEN)) < 0.3
    mask[..., np.arange(4), np.arange(4)] = False  # each position sees something
    shift = RNG.standard_normal((BATCH, 4, Q_LEN, K_LEN))
    given = {"attn_mask": Tensor(mask)} if "mask" in extras else {}
    given |= {"real_shift": Tensor(shift)} if "shift" in extras else {}
    hidden = ~seen(mode, Q_LEN, K_LEN, before, after)
    if "mask" in extras and mode < 2:
        hidden = hidden | mask
    want = attention(q, k, v, 0.7, hidden, shift if "shift" in extras else 0.0)
    tensors = [in_layout(t, layout) for t in (q, k, v)]
    found = ops.flash_attention_score(*tensors, 4, scalar_value=0.7, pre_tokens=before,
                                      next_tokens=after, input_layout=layout, sparse_mode=mode,
                                      **given)
    np.testing.assert_allclose(found.asnumpy(), in_layout(want, layout).asnumpy(), atol=1e-10)
    names = {"attn_mask": "atten_mask", "real_shift": "pse"}
    found, = ops.speed_fusion_attention(
        *tensors, 4, layout, scale=0.7, pre_tokens=before, next_tokens=after, sparse_mode=mode,
        **{names[name]: value for name, value in given.items()})
    np.testing.assert_allclose(found.asnumpy(), in_layout(want, layout).asnumpy(), atol=1e-10)


@pytest.mark.parametrize(("mode", "before", "after"), [(0, 3, 99), (0, 4, 99), (4, 99, 4),
                                                       (4, 99, 5), (0, 5, 5), (4, 4, 4)])
def test_bands_of_more_queries_than_keys(mode, before, after):
    q, k, v = (RNG.standard_normal((1, 1, length, 3)) for length in (6, 4, 4))
    found = ops.flash_attention_score(*(in_layout(t, "BNSD") for t in (q, k, v)), 1,
                                      pre_tokens=before, next_tokens=after, sparse_mode=mode,
                                      input_layout="BNSD")
    visible = seen(mode, 6, 4, before, after)
    some = visible.any(1)
    want = attention(q[:, :, some], k, v, 1.0, ~visible[some], 0.0)
    np.testing.assert_allclose(found.asnumpy()[:, :, some], want, atol=1e-10)


@pytest.mark.parametrize("layout", ["BSH", "SBH", "BNSD"])
def test_prompts_see_nothing_later_by_default(layout):
    q, k, v = (RNG.standard_normal((BATCH, heads, 5, 3)) for heads in (4, 2, 2))
    tensors = [in_layout(t, layout) for t in (q, k, v)]
    shift = RNG.standard_normal((BATCH, 4, 5, 5))
    found = ops.prompt_flash_attention(*tensors, pse_shift=Tensor(shift), num_heads=4,
                                       num_key_value_heads=2, scale_value=0.6, input_layout=layout)
    want = attention(q, k, v, 0.6, ~np.tri(5, dtype=bool), shift)
    np.testing.assert_allclose(found.asnumpy(), in_layout(want, layout).asnumpy(), atol=1e-10)
    found = ops.prompt_flash_attention(*tensors, num_heads=4, num_key_value_heads=2,
                                       pre_tokens=1, next_tokens=2, input_layout=layout)
    want = attention(q, k, v, 1.0, ~seen(0, 5, 5, 1, 2), 0.0)
    np.testing.assert_allclose(found.asnumpy(), in_layout(want, layout).asnumpy(), atol=1e-10)


@pytest.mark.parametrize("form", [list, tuple, lambda one: one[0]])
def test_a_new_position_and_keys_in_a_list(form):
    q, k, v = (RNG.standard_normal((BATCH, heads, length, 3)) for heads, length in (
        (4, 1), (2, 5), (2, 5)))
    hidden = np.array([[0, 1, 0, 0, 1], [0, 0, 0, 1, 1]], bool)[:, None, None]
    query, keys, values = (in_layout(t, "BSH") for t in (q, k, v))
    for mask in (hidden, hidden[:, 0]):
        found = ops.incre_flash_attention(query, form([keys]), form([values]), Tensor(mask),
                                          num_heads=4, num_key_value_heads=2, scale_value=0.3)
        want = attention(q, k, v, 0.3, hidden, 0.0)
        np.testing.assert_allclose(found.asnumpy(), in_layout(want, "BSH").asnumpy(), atol=1e-10)


@pytest.mark.parametrize(("given", "named"), [
    ({"keep_prob": 0.0}, "'keep_prob'"), ({"keep_prob": 1.01}, "'keep_prob'"),
    ({"sparse_mode": -1}, "'sparse_mode'"), ({"sparse_mode": 5}, "'sparse_mode'"),
    ({"input_layout": "BHS"}, "'input_layout'"), ({"drop_mask": 1}, "'drop_mask'"),
    ({"padding_mask": 1}, "'padding_mask'"), ({"prefix": 1}, "'prefix'"),
    ({"actual_seq_kvlen": [3]}, "'actual_seq_kvlen'")])
def test_options_out_of_range(given, named):
    x = ops.ones((1, 3, 8))
    ops.flash_attention_score(x, x, x, 2, keep_prob=0.5, sparse_mode=4)
    with pytest.raises(ValueError, match=named):
        ops.flash_attention_score(x, x, x, 2, **given)


@pytest.mark.parametrize("given", [
    {"pse_type": 0}, {"pse_type": 2}, {"padding_mask": 1}, {"prefix": 1}, {"q_start_idx": 0},
    {"kv_start_idx": 0}, {"actual_seq_qlen": [3]}, {"actual_seq_kvlen": [3]}])
def test_options_of_ascends_operator(given):
    x = ops.ones((1, 3, 8))
    with pytest.raises(ValueError, match=next(iter(given))):
        ops.speed_fusion_attention(x, x, x, 2, "BSH", **given)


def test_dropout_leaves_weights_out_and_scales_the_others():
    ms.set_seed(4)
    x, eye = ops.ones((1, 1, 64, 64)), ops.eye(64)[None, None]
    found = ops.flash_attention_score(x, x, eye, 1, keep_prob=0.75, input_layout="BNSD").asnumpy()
    values = np.unique(found.round(6))
    np.testing.assert_allclose(values, [0, 1 / 64 / 0.75], atol=1e-5)
    assert abs((found > 0).mean() - 0.75) < 0.03
