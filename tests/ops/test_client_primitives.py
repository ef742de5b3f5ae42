"""Primitives from which programs build networks; numbers are as recorded from MindSpore 2.10,
or those of the layer that computes the same."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.autodiff.forward import recurrent_kernels
from lamella.ops.primitives.gradients import SwigluGrad
from lamella.ops.primitives.gradients_layers import FlashAttentionScoreGrad

from ..contracts import check_op

rng = np.random.default_rng(0)


def close(got, want, **tolerance):
    np.testing.assert_allclose(got.asnumpy(), want, **{"rtol": 2e-5, "atol": 2e-6, **tolerance})


def test_dynamic_rnn_is_a_layer_of_lstm():
    layer = nn.LSTM(3, 4)
    x, h, c = (Tensor(rng.normal(size=s).astype(np.float32))
               for s in ((5, 2, 3), (1, 2, 4), (1, 2, 4)))
    out, (h_n, c_n) = layer(x, (h, c))
    w_ih, w_hh, b_ih, b_hh = (p.value() for p in layer.get_parameters())

    def reordered(w):
        i, f, g, o = ops.split(w, 4)
        return ops.concat((i, g, f, o))

    weights = reordered(ops.concat((w_ih, w_hh), 1)).T
    found = ops.DynamicRNN()(x, weights, reordered(b_ih + b_hh), None, h, c)
    assert len(found) == 8
    close(found[0], out.asnumpy())
    close(found[1][-1], h_n[0].asnumpy())
    close(found[2][-1], c_n[0].asnumpy())
    close(found[6] * found[7], out.asnumpy())  # the output gate times tanh of the memory


@pytest.mark.parametrize("order", ["rzh", "zrh"])
def test_dynamic_gru_is_a_layer_of_gru(order):
    layer = nn.GRU(3, 4)
    x, h = (Tensor(rng.normal(size=s).astype(np.float32)) for s in ((5, 2, 3), (1, 2, 4)))
    out, _ = layer(x, h)

    def reordered(w):
        r, z, n = ops.split(w, 4)
        return w if order == "rzh" else ops.concat((z, r, n))

    w_ih, w_hh, b_ih, b_hh = (reordered(p.value()) for p in layer.get_parameters())
    found = ops.DynamicGRUV2(gate_order=order)(x, w_ih.T, w_hh.T, b_ih, b_hh, None, h[0])
    close(found[0], out.asnumpy())
    without = ops.DynamicGRUV2(reset_after=False)(x, w_ih.T, w_hh.T, None, None, None, h[0])
    assert without[0].shape == (5, 2, 4)


def test_lstm_of_one_tensor_of_weights():
    zero = ops.zeros((1, 1, 2))
    lstm = ops.LSTM(2, 2, 1, False, False, 0.0)
    out, h, c, *_ = lstm(ops.ones((2, 1, 2)), zero, zero,
                         Tensor(np.arange(32, dtype=np.float32).reshape(-1, 1, 1) / 32))
    close(out, [[[0.166044831, 0.214227289]], [[0.367198139, 0.446371198]]])
    close(h, [[[0.367198139, 0.446371198]]])
    close(c, [[[0.532022655, 0.6501863]]])


def test_an_lstm_that_projects_what_it_hands_on():
    import torch
    own = torch.nn.LSTM(4, 3, 2, bias=False, bidirectional=True, proj_size=2)
    x, h, c = (rng.normal(size=s).astype(np.float32) for s in ((5, 2, 4), (4, 2, 2), (4, 2, 3)))
    with recurrent_kernels(True):  # oneDNN has no projections
        want, (h_n, c_n) = own(torch.tensor(x), (torch.tensor(h), torch.tensor(c)))
    weights = torch.cat([p.detach().reshape(-1) for p in own.parameters()]).numpy()
    lstm = ops.LSTM(4, 3, 2, False, True, 0.0, 2)
    out, h_found, c_found, *_ = lstm(Tensor(x), Tensor(h), Tensor(c), Tensor(weights))
    for found, wanted in ((out, want), (h_found, h_n), (c_found, c_n)):
        close(found, wanted.detach().numpy())
    with pytest.raises(ValueError, match=r"in range of \[0, 3\), but got 3"):
        ops.LSTM(4, 3, 1, False, False, 0.0, 3)


@pytest.mark.parametrize("kind, gates", [("LSTM", 4), ("GRU", 3)])
def test_layers_and_directions_of_one_tensor_of_weights(kind, gates):
    layer = getattr(nn, kind)(3, 4, num_layers=2, bidirectional=True)
    x = Tensor(rng.normal(size=(5, 2, 3)).astype(np.float32))
    zero = ops.zeros((4, 2, 4))
    state = (zero, zero) if kind == "LSTM" else (zero,)
    want, _ = layer(x, state if kind == "LSTM" else zero)
    own = {p.name: p.value().reshape(-1) for p in layer.get_parameters()}
    places = [f"l{n}{d}" for n in (0, 1) for d in ("", "_reverse")]

    def of(what, place):
        return next(v for name, v in own.items() if name.endswith(f"{what}_{place}"))

    w = ops.concat([of(what, place) for place in places for what in ("weight_ih", "weight_hh")]
                   + [of(what, place) for place in places for what in ("bias_ih", "bias_hh")])
    operator = ops.LSTM if kind == "LSTM" else ops.CudnnGRU
    close(operator(3, 4, 2, True, True, 0.0)(x, *state, w)[0], want.asnumpy())
    with pytest.raises(ValueError, match="'w' must have"):
        operator(3, 4, 2, True, True, 0.0)(x, *state, w[1:])


def test_windows():
    close(ops.hann_window(5), [0, 0.3454915, 0.9045085, 0.9045085, 0.3454915])
    assert ops.hann_window(5).dtype is ms.float64 and ops.hann_window(0).shape == (0,)
    close(ops.hamming_window(5), [0.08, 0.3978522, 0.9121478, 0.9121478, 0.3978522])
    assert ops.hamming_window(5).dtype is ms.float32
    close(ops.kaiser_window(5), [5.27734413e-05, 0.101719688, 0.792939834, 0.792939834,
                                 0.101719688])
    close(ops.bartlett_window(Tensor(5)), [0, 0.4, 0.8, 0.8, 0.4])
    close(ops.BlackmanWindow()(Tensor(5)), [0, 0.20077014, 0.8492299, 0.8492299, 0.20077014])
    close(ops.HammingWindow()(Tensor([5])), [0.08, 0.3978522, 0.9121478, 0.9121478, 0.3978522])
    assert ops.BartlettWindow(dtype=ms.float16)(Tensor(5)).dtype is ms.float16


def test_stft():
    x = Tensor(np.arange(10, dtype=np.float32) ** 1.5)
    whole = ops.stft(x, 4)
    assert whole.shape == (3, 11, 2)
    close(whole[0, :, 0], [4.8284273, 4.8284273, 9.02458, 17.02458, 27.20492, 39.073433, 52.397537,
                           67.024956, 82.844612, 90.775093, 90.775093])
    close(ops.stft(x, 4, 2, 3, Tensor([1.0, 2.0, 3.0]))[0, :, 0],
          [4.82842731, 10.485281, 37.2207336, 74.4514923, 119.619705, 144.509674])
    close(ops.stft(x, 4, 2, center=False)[1, :, 1], [4.1961527, 5.9841871, 7.3399181, 8.4797421])
    close(ops.stft(x, 10, center=False, return_complex=True)[:, 0],
          np.fft.rfft(x.asnumpy()))  # a signal of one window
    close(ops.stft(x, 4, normalized=True)[0, :3, 0], [2.4142137, 2.4142137, 4.51229])
    assert ops.stft(x.reshape(2, 5), 4).shape == (2, 3, 6, 2)
    assert ops.stft(x, 4, return_complex=True).dtype is ms.complex64
    assert ops.stft(x.astype(ms.complex64), 4).shape == (4, 11)
    close(ops.STFT(4, 2, 4, False, True, False)(x, ops.ones(4))[1, :, 1],
          [4.1961527, 5.9841871, 7.3399181, 8.4797421])


def test_fft_with_size():
    x = rng.normal(size=(2, 4, 5))
    c = x + 1j * rng.normal(size=(2, 4, 5))
    for norm in ("backward", "ortho", "forward"):
        for n in (1, 2, 3):
            axes = tuple(range(-n, 0))
            fft = ops.FFTWithSize
            close(fft(n, False, False, norm)(Tensor(c)), np.fft.fftn(c, axes=axes, norm=norm))
            close(fft(n, True, False, norm)(Tensor(c)), np.fft.ifftn(c, axes=axes, norm=norm))
            close(fft(n, False, True, norm)(Tensor(x)), np.fft.rfftn(x, axes=axes, norm=norm))
            half = np.fft.rfftn(x, axes=axes, norm=norm)
            close(fft(n, True, True, norm, signal_sizes=x.shape[-n:])(Tensor(half)), x)
            close(fft(n, False, True, norm, False)(Tensor(x)), np.fft.fftn(x, axes=axes, norm=norm))
            close(fft(n, True, True, norm, False)(Tensor(np.fft.fftn(x, axes=axes, norm=norm))), x)


def test_fft_with_size_of_a_single_element():
    one = np.array([[2.0], [3.0]]) + 0j
    for inverse, real, onesided, sizes in (
            (False, False, True, ()), (True, False, True, ()), (True, True, False, ()),
            (True, True, True, (1,))):
        close(ops.FFTWithSize(1, inverse, real, "backward", onesided, sizes)(Tensor(one)), one.real)
    close(ops.FFTWithSize(1, False, True)(Tensor(one.real)), one)
    with pytest.raises(ValueError, match="cannot be 1"):
        ops.FFTWithSize(1, True, True)(Tensor(one))


X, Y = rng.normal(size=(3, 4)), rng.normal(size=(3, 4))


@pytest.mark.parametrize("operator, reference, args", [
    (lambda x, y: ops.AddExt()(x, y, 2), lambda x, y: x + 2 * y, [X, Y]),
    (lambda x, y: ops.SubExt()(x, y, 2), lambda x, y: x - 2 * y, [X, Y]),
    (lambda x: ops.SumExt()(x, 1, True), lambda x: x.sum(1, keepdims=True), [X]),
    (lambda x: ops.MeanExt()(x, 1), lambda x: x.mean(1), [X]),
    (lambda x: ops.SplitWithSize()(x, (1, 3), 1)[1], lambda x: x[:, 1:], [X]),
    (lambda x: ops.Chunk()(x, 2, 1)[1], lambda x: x[:, 2:], [X]),
    (lambda x: ops.CumsumExt()(x, 1), lambda x: x.cumsum(1), [X]),
    (lambda x: ops.ClampScalar()(x, -0.5, 0.5), lambda x: x.clip(-0.5, 0.5), [X]),
    (lambda x, y: ops.StackExt(1)((x, y)), lambda x, y: np.stack((x, y), 1), [X, Y]),
    (lambda x: ops.SliceExt()(x, 1, 1, 4, 2), lambda x: x[:, 1:4:2], [X]),
    (lambda x: ops.SortExt()(x, 1, True)[0], lambda x: -np.sort(-x, 1), [X]),
    (lambda x: ops.TopkExt()(x, 2)[0], lambda x: -np.sort(-x, 1)[:, :2], [X]),
    (lambda x: ops.RepeatInterleaveInt()(x, 2, 0), lambda x: x.repeat(2, 0), [X]),
    (lambda x, y: ops.Outer()(x[0], y[0]), lambda x, y: np.outer(x[0], y[0]), [X, Y]),
    (lambda x: ops.StridedSliceGrad()(x, (5, 5), (1, 0), (4, 4), (1, 1)),
     lambda x: np.pad(x, ((1, 1), (0, 1))), [X]),
], ids=range(15))
def test_extended_primitives(operator, reference, args):
    check_op(operator, reference, args)


def test_the_gradient_of_a_slice_may_lack_lengths_of_one():
    found = ops.StridedSliceGrad()(Tensor(X[:, :2]), (3, 3, 2), (0, 0, 0), (1, 3, 2), (1, 1, 1))
    np.testing.assert_array_equal(found.asnumpy(), np.stack([X[:, :2], 0 * X[:, :2], 0 * X[:, :2]]))


def test_places_of_extended_primitives_are_int64():
    assert ops.SortExt()(Tensor(X))[1].dtype is ms.int64
    assert ops.TopkExt()(Tensor(X), 1)[1].dtype is ms.int64
    out, kept = ops.DropoutExt()(ops.ones(1000), 0.25, 1, 2)
    again, _ = ops.DropoutExt()(ops.ones(1000), 0.25, 1, 2)
    assert 0.6 < kept.float().mean() < 0.9 and (out == again).all()
    target = ops.zeros((2, 2))
    ops.InplaceCopy()(target, Tensor([1.0, 2.0]))
    assert target.asnumpy().tolist() == [[1.0, 2.0], [1.0, 2.0]]


def test_flash_attention_score():
    q, k, v = (Tensor(rng.normal(size=(2, 3, 8)).astype(np.float32)) for _ in range(3))
    out = ops.FlashAttentionScore(2, scale_value=0.5, sparse_mode=2)(q, k, v)
    assert len(out) == 4
    close(out[3], ops.flash_attention_score(q, k, v, 2, scalar_value=0.5, sparse_mode=2).asnumpy())


def test_gradients_of_attention_and_swiglu():
    q, k, v, dy = (Tensor(rng.normal(size=(2, 3, 8)).astype(np.float32)) for _ in range(4))
    shift = Tensor(rng.normal(size=(2, 2, 3, 3)).astype(np.float32))

    def attention(q, k, v, shift):
        return (ops.flash_attention_score(q, k, v, 2, shift, scalar_value=0.5, sparse_mode=2)
                * dy).sum()

    want = ms.grad(attention, (0, 1, 2, 3))(q, k, v, shift)
    grad = FlashAttentionScoreGrad(2, scale_value=0.5, sparse_mode=2)
    for found, expected in zip(grad(q, k, v, dy, shift), want, strict=True):
        close(found, expected.asnumpy())
    assert len(grad(q, k, v, dy)) == 4
    x, dout = (Tensor(rng.normal(size=(4, n)).astype(np.float32)) for n in (6, 3))
    close(SwigluGrad()(dout, x),
          ms.grad(lambda t: (ops.swiglu(t) * dout).sum())(x).asnumpy())
    across = Tensor(rng.normal(size=(2, 6)).astype(np.float32))
    close(SwigluGrad()(across, x, 0),
          ms.grad(lambda t: (ops.swiglu(t, 0) * across).sum())(x).asnumpy())


def test_attention_over_blocks_is_attention():
    heads, kv_heads, size, lengths = 4, 2, 8, [5, 3]
    keys, values = (rng.normal(size=(2, 5, kv_heads * size)).astype(np.float32) for _ in "kv")
    key_cache, value_cache = (ms.Parameter(ops.zeros((6, 2, kv_heads, size)), name=n) for n in "kv")
    tables = np.array([[4, 0, 2], [5, 1, 3]], np.int32)
    for n, length in enumerate(lengths):
        slots = [tables[n][t // 2] * 2 + t % 2 for t in range(length)] + [-1] * (5 - length)
        ops.ReshapeAndCache()(Tensor(keys[n]), Tensor(values[n]), key_cache, value_cache,
                              Tensor(slots, ms.int32))
    query = Tensor(rng.normal(size=(2, 1, heads * size)).astype(np.float32))
    found = ops.PagedAttention(heads, 0.25, kv_heads)(
        query, key_cache, value_cache, Tensor(tables), Tensor(lengths, ms.int32))
    for n, length in enumerate(lengths):
        k, v = (np.repeat(kv[n, :length].reshape(length, kv_heads, size), heads // kv_heads, 1)
                for kv in (keys, values))
        scores = np.einsum("hd,thd->ht", query[n, 0].asnumpy().reshape(heads, size), k) * 0.25
        shares = np.exp(scores - scores.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        close(found[n, 0], np.einsum("ht,thd->hd", shares, v).reshape(-1))
    bias = ops.zeros((2, heads, 1, 6))
    masked = ops.PagedAttentionMask(heads, 0.25, kv_heads)(
        query, key_cache, value_cache, Tensor(tables), Tensor(lengths, ms.int32), None, None, bias)
    close(masked, found.asnumpy())


def test_rotary_positions():
    cos, sin = (Tensor(f(np.outer(np.arange(7), [1.0, 0.5, 1.0, 0.5])).astype(np.float32))
                for f in (np.cos, np.sin))
    q, k = (Tensor(rng.normal(size=s).astype(np.float32)) for s in ((2, 1, 8), (2, 1, 4)))
    found, turned = ops.ApplyRotaryPosEmb()(q, k, cos, sin, Tensor([3, 5]))
    for n, at in enumerate((3, 5)):
        want = ops.rotary_position_embedding(q[n].reshape(2, 4), cos[at], sin[at])
        close(found[n, 0], want.reshape(-1).asnumpy())
    assert turned.shape == (2, 1, 4)
    gathered, _ = ops.ApplyRotaryPosEmb(2)(q, k, cos[Tensor([3, 5])], sin[Tensor([3, 5])],
                                           Tensor([3, 5]))
    close(gathered, found.asnumpy())


@pytest.mark.parametrize("call, kind, text", [
    (lambda: ops.DynamicRNN(cell_type="GRU"), ValueError, "'cell_type' must be 'LSTM'"),
    (lambda: ops.DynamicRNN()(ops.ones((1, 1, 2)), ops.ones((1, 8)), ops.ones(8), None,
                              ops.ones((1, 1, 2)), ops.ones((1, 1, 2))), ValueError, "'w' and 'b'"),
    (lambda: ops.DynamicGRUV2(gate_order="hzr"), ValueError, "'gate_order' must be"),
    (lambda: ops.LSTM(0, 2, 1, True, False, 0.0), ValueError, "'input_size' must be int"),
    (lambda: ops.LSTM(2, 2, 1, True, False, 0), TypeError, "'dropout' must be a float"),
    (lambda: ops.LSTM(2, 2, 1, True, False, 0.0, 2), ValueError, "'proj_size' must be in range"),
    (lambda: ops.hann_window(-1), ValueError, "non-negative integer, but got -1"),
    (lambda: ops.hann_window(5.0), TypeError, "non-negative integer"),
    (lambda: ops.hann_window(5, dtype=ms.int32), TypeError, "floating point"),
    (lambda: ops.stft(ops.ones(8), 4, pad_mode="wrap"), ValueError, "'pad_mode' must be"),
    (lambda: ops.stft(ops.ones(2), 9), ValueError, "at least 5 elements"),
    (lambda: ops.stft(ops.ones(8), 4, window=ops.ones(3)), ValueError, "'window' must have shape"),
    (lambda: ops.FFTWithSize(4, False, True), ValueError, "'signal_ndim' must be 1, 2 or 3"),
    (lambda: ops.FFTWithSize(1, False, False)(ops.ones(4)), TypeError, "must be complex"),
    (lambda: ops.FFTWithSize(2, False, True)(ops.ones(4)), ValueError, "at least 2 dimensions"),
    (lambda: ops.PagedAttention(2, 1.0, 2, "PERTOKEN"), ValueError, "must be 'DEFAULT'"),
    (lambda: ops.ReshapeAndCache()(ops.ones((1, 2))), TypeError, "'slot_mapping'"),
    (lambda: ops.ApplyRotaryPosEmb(5)(*[ops.ones((1, 1, 2))] * 4, Tensor([0])), ValueError,
     "'cos_format' must be 0 to 3"),
    (lambda: ops.StridedSliceGrad()(ops.ones(3), (4,), (0,), (2,), (1,)), ValueError, "'dy' must"),
    (lambda: ops.SliceExt()(ops.ones(3), 1, 0, 1, 1), ValueError, "'dim' must be in"),
], ids=range(20))
def test_wrong_arguments(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
