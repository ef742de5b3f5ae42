"""Shapes that attention to parts of the keys takes in each layout, and those beside them."""

import numpy as np
import pytest

from lamella import Tensor, ops

RNG = np.random.default_rng(1)
# (S, B, H) with 3 heads, and (T, N, D)
SBH, SUMS = (4, 2, 6), (2, 3, 4, 8)
TND, ROWS = (5, 3, 2), (5, 3, 8)


def update(out, sums, layout, **changed):
    """With other shapes for some of the six."""
    names = "prev_attn_out prev_softmax_max prev_softmax_sum cur_attn_out cur_softmax_max " \
            "cur_softmax_sum"
    shapes = dict(zip(names.split(), (out, sums, sums) * 2, strict=True))
    given = {name: Tensor(RNG.uniform(0.5, 1, shape).astype(np.float32))
             for name, shape in {**shapes, **changed}.items()}
    return ops.ring_attention_update(**given, layout=layout), given


@pytest.mark.parametrize("out, sums, layout", [(SBH, SUMS, "SBH"), (TND, ROWS, "TND")])
def test_two_parts(out, sums, layout):
    found, given = update(out, sums, layout)
    (a, m, s), (b, n, r) = ([given[f"{which}_{name}"].asnumpy() for name in (
        "attn_out", "softmax_max", "softmax_sum")] for which in ("prev", "cur"))
    most = np.maximum(m, n)
    before, now = s * np.exp(m - most), r * np.exp(n - most)
    share = (before / (before + now))[..., :1]
    if layout == "SBH":  # (B, N, S, 1) to (S, B, N * 2)
        share = share.transpose(2, 0, 1, 3).repeat(2, -1).reshape(out)
    for one, wanted in zip(found, (a * share + b * (1 - share), most, before + now), strict=True):
        np.testing.assert_allclose(one.asnumpy(), wanted, rtol=1e-5)


@pytest.mark.parametrize("name", ["attn_out", "softmax_max", "softmax_sum"])
@pytest.mark.parametrize("which", ["prev", "cur"])
@pytest.mark.parametrize("layout", ["SBH", "TND"])
def test_each_of_the_shapes_counts(layout, which, name):
    out, sums = (SBH, SUMS) if layout == "SBH" else (TND, ROWS)
    shape = out if name == "attn_out" else sums
    for other in ((shape[0] + 1, *shape[1:]), (shape[0], shape[1] + 1, *shape[2:]),
                  (*shape[:-1], shape[-1] + 1), shape[1:]):
        with pytest.raises(ValueError, match="don't fit the layout"):
            update(out, sums, layout, **{f"{which}_{name}": other})


@pytest.mark.parametrize("out, sums, layout", [
    ((4, 2, 7), SUMS, "SBH"), ((2, 4, 6), SUMS, "SBH"), (SBH, (2, 3, 5, 8), "SBH"),
    (SBH, (3, 3, 4, 8), "SBH"), (SBH, (2, 0, 4, 8), "SBH"), ((4, 2, 6, 1), SUMS, "SBH"),
    (SBH, (2, 3, 8), "SBH"), ((5, 3), ROWS, "TND"), (TND, (5, 4, 8), "TND"),
    (TND, (6, 3, 8), "TND"), (TND, (5, 3, 8, 1), "TND"), ((5, 0, 2), (5, 0, 8), "TND"),
    (SBH, SUMS, "TND"), (TND, ROWS, "SBH"), ((5, 3, 2, 1), ROWS, "TND")])
def test_shapes_that_do_not_fit_together(out, sums, layout):
    with pytest.raises(ValueError, match="don't fit the layout"):
        update(out, sums, layout)


def inference(**options):
    q, k = (Tensor(RNG.normal(size=(2, n, 8)).astype(np.float32)) for n in (3, 5))
    return ops.fused_infer_attention_score(q, k, k, num_heads=2, **options)


@pytest.mark.parametrize("name, long", [("actual_seq_lengths", 3), ("actual_seq_lengths_kv", 5)])
def test_lengths_of_sequences(name, long):
    for lengths in ([1, long], [long], [long, long]):
        assert inference(**{name: lengths})[0].shape == (2, 3, 8)
    for lengths in ([1, long + 1], [-1, 1], [1, 1, 1], [long + 1]):
        with pytest.raises(ValueError, match=f"'{name}' must be 2 numbers from 0 to {long}"):
            inference(**{name: lengths})


@pytest.mark.parametrize("flag", [True, False])
def test_sums_are_given_if_asked_for(flag):
    sums = inference(softmax_lse_flag=flag)[1]
    assert sums.shape == ((2, 2, 3, 1) if flag else (1,))
    assert flag or sums.item() == 0


B, Q, K, D = 2, 4, 6, 3


def in_layout(raw, layout):
    """From (B, heads, S, D)."""
    rows = raw.swapaxes(1, 2)
    return {"BNSD": raw, "BSND": rows, "BSH": rows.reshape(*rows.shape[:2], -1)}[layout]


def hidden_by(mode, before, after):
    """Which pairs a sparse mode hides."""
    ahead = np.arange(K) - np.arange(Q)[:, None] - (K - Q if mode in (3, 4) else 0)
    if mode in (2, 3):
        return ahead > 0
    return (ahead > after) | (ahead < -before) if mode != 1 else np.zeros((Q, K), bool)


@pytest.mark.parametrize("layout", ["BNSD", "BSND", "BSH"])
@pytest.mark.parametrize("mode, before, after", [(0, 99, 99), (0, 2, 1), (1, 0, 0), (2, 0, 0),
                                                 (3, 0, 0), (4, 3, 1)])
@pytest.mark.parametrize("mask_rank", [0, 3, 4])
@pytest.mark.parametrize("lengths", [{}, {"actual_seq_lengths": [3, 4],
                                          "actual_seq_lengths_kv": [6, 5]}], ids=len)
def test_inference_beside_its_formula(layout, mode, before, after, mask_rank, lengths):
    q, k, v = (RNG.normal(size=(B, heads, long, D)) for heads, long in ((4, Q), (2, K), (2, K)))
    shift = RNG.normal(size=(B, 4, Q, K))
    mask = RNG.random((B, 1, Q, K)) < 0.3
    mask[..., np.arange(Q), np.arange(Q)] = False  # each position sees something
    hidden = np.broadcast_to(hidden_by(mode, before, after), (B, 4, Q, K)).copy()
    given = {"pse_shift": Tensor(shift), "sparse_mode": mode, "pre_tokens": before,
             "next_tokens": after, **lengths}
    if mask_rank:
        given["atten_mask"] = Tensor(mask if mask_rank == 4 else mask[:, 0])
        hidden |= mask if mode < 2 else False
    if lengths:
        hidden[1, :, :, 5:] = True
    scores = np.where(hidden, -np.inf, q @ k.repeat(2, 1).swapaxes(2, 3) * 0.7 + shift)
    sums = np.log(np.exp(scores).sum(-1, keepdims=True))
    want = np.exp(scores - sums) @ v.repeat(2, 1)
    if lengths:
        want[0, :, 3:] = 0
    tensors = [Tensor(in_layout(t, layout)) for t in (q, k, v)]
    out, logs = ops.fused_infer_attention_score(
        tensors[0], [tensors[1]], (tensors[2],), num_heads=4, num_key_value_heads=2, scale=0.7,
        input_layout=layout, softmax_lse_flag=True, **given)
    np.testing.assert_allclose(out.asnumpy(), in_layout(want, layout), rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(logs.asnumpy(), sums, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_parts_of_narrow_types_are_added_in_float32(kind):
    one, ones = ops.ones((1, 1, 2)).astype(kind), ops.ones((1, 1, 1, 8))
    out, most, total = ops.ring_attention_update(one * 256, ones, ones * 255, one, ones, ones)
    assert str(out.dtype).lower() == kind and most.dtype == total.dtype == ones.dtype
    want = Tensor([[[(256 * 255 + 1) / 256] * 2]]).astype(kind)
    assert (out == want).all() and (total == 256).all()
