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
