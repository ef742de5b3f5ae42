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
