"""Layers without parameters: layouts, edges, and the numbers MindSpore's CPU build can't give."""

import numpy as np
import pytest
import torch
from scipy import special

import lamella as ms
from lamella import nn
from lamella.nn.wrap import loss_scale

RNG = np.random.default_rng(0)


def numbers(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def test_unfold_lays_each_place_s_channels_out():
    x = numbers(2, 3, 5, 6)
    got = nn.Unfold([1, 2, 3, 1], [1, 2, 1, 1], [1, 1, 2, 1])(ms.Tensor(x)).asnumpy()
    assert got.shape == (2, 18, 2, 2)
    for place, (dy, dx) in enumerate((a, b) for a in range(2) for b in range(3)):
        for row in range(2):
            for column in range(2):
                np.testing.assert_array_equal(got[:, 3 * place:3 * place + 3, row, column],
                                              x[:, :, 2 * row + dy, column + 2 * dx])


def test_unfold_of_the_same_size():
    out = nn.Unfold([1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], "same")(ms.ops.ones((1, 1, 5, 5)))
    assert out.shape == (1, 9, 3, 3)
    assert out[0, :, 0, 0].sum() == 4 and out[0, :, 1, 1].sum() == 9


@pytest.mark.parametrize(("shift", "axis"), [(1, 0), ([1, -2], [0, 1]), ((3,), (-1,))])
def test_roll(shift, axis):
    x = numbers(3, 4)
    np.testing.assert_array_equal(nn.Roll(shift, axis)(ms.Tensor(x)).asnumpy(),
                                  np.roll(x, shift, axis))


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (2, 2)])
def test_diagonals(shape):
    x, d = numbers(4, *shape), numbers(4, min(shape))
    got = nn.MatrixSetDiag()(ms.Tensor(x), ms.Tensor(d)).asnumpy()
    want = x.copy()
    for i in range(min(shape)):
        want[:, i, i] = d[:, i]
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(nn.MatrixDiagPart()(ms.Tensor(got)).asnumpy(), d)
    np.testing.assert_array_equal(nn.MatrixDiag()(ms.Tensor(d)).asnumpy(),
                                  d[..., None] * np.eye(min(shape), dtype=np.float32))
    with pytest.raises(ValueError, match="diagonal"):
        nn.MatrixSetDiag()(ms.Tensor(x), ms.Tensor(d[:3]))


def test_clip_by_norm_along_axes():
    x = ms.Tensor([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    out = nn.ClipByNorm(1)(x, ms.Tensor(1.0))
    np.testing.assert_allclose(out.asnumpy(), [[0.6, 0.8], [0.3, 0.4], [0, 0]], rtol=1e-6)
    gradient = ms.grad(lambda t: nn.ClipByNorm(1)(t, ms.Tensor(1.0)).sum())(x)
    assert np.isfinite(gradient.asnumpy()).all()
    np.testing.assert_allclose(gradient[2].asnumpy(), [1, 1])


@pytest.mark.parametrize(("time", "other"), [(0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0)])
def test_time_distributed_joins_axes_as_it_would_loop(time, other):
    x = ms.Tensor(numbers(2, 3, 4, 5))
    layer = nn.LayerNorm((5,))
    joined = nn.TimeDistributed(layer, time, other)(x)
    assert joined.size == x.size
    looped = nn.TimeDistributed(layer, time)(x)
    np.testing.assert_allclose(np.sort(joined.asnumpy().ravel()),
                               np.sort(looped.asnumpy().ravel()), rtol=1e-5, atol=1e-6)


def test_inverse_and_determinant():
    a = numbers(4, 3, 3)
    a = a @ a.transpose(0, 2, 1) + 3 * np.eye(3, dtype=np.float32)
    np.testing.assert_allclose(nn.MatInverse()(ms.Tensor(a)).asnumpy(), np.linalg.inv(a),
                               rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(nn.MatDet()(ms.Tensor(a)).asnumpy(), np.linalg.det(a), rtol=1e-4)


def test_gamma_functions():
    a, x = np.abs(numbers(20)) + 0.1, np.abs(numbers(20)) + 0.1
    ta, tx = ms.Tensor(a), ms.Tensor(x)
    np.testing.assert_allclose(nn.LGamma()(ta).asnumpy(), special.gammaln(a), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(nn.DiGamma()(ta).asnumpy(), special.digamma(a), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(nn.IGamma()(ta, tx).asnumpy(), special.gammainc(a, x), rtol=1e-4)
    np.testing.assert_allclose(nn.LBeta()(ta, tx).asnumpy(), special.betaln(a, x), rtol=1e-4,
                               atol=1e-5)


def test_log_sum_exp_does_not_overflow():
    assert nn.ReduceLogSumExp(0)(ms.Tensor([1000.0, 1000.0])).item() == pytest.approx(1000.693)


def test_moments_of_half_precision():
    mean, variance = nn.Moments(axis=0)(ms.Tensor(numbers(50, 2)).astype(ms.float16))
    assert mean.dtype == variance.dtype == ms.float16
    with pytest.raises(TypeError, match="floating"):
        nn.Moments()(ms.Tensor([1, 2]))


@pytest.mark.parametrize(("layer", "kernel", "shape"), [
    (nn.MaxPool2d(3, 2, "pad", 1), torch.nn.MaxPool2d(3, 2, 1), (1, 2, 7, 7)),
    (nn.MaxPool2d(3, 2, "pad", 1, 2, ceil_mode=True),
     torch.nn.MaxPool2d(3, 2, 1, 2, ceil_mode=True), (1, 2, 8, 8)),
    (nn.MaxPool1d(3, 2), torch.nn.MaxPool1d(3, 2), (1, 2, 8)),
    (nn.MaxPool3d((1, 2, 3), 2), torch.nn.MaxPool3d((1, 2, 3), 2), (2, 4, 5, 6)),
    (nn.AvgPool2d((3, 2), 2, "pad", (1, 0)), torch.nn.AvgPool2d((3, 2), 2, (1, 0)), (1, 2, 7, 7)),
    (nn.AvgPool2d(2, 2, data_format="NCHW"), torch.nn.AvgPool2d(2), (2, 5, 5)),
    (nn.AvgPool1dExt(3), torch.nn.AvgPool1d(3), (2, 9)),
    (nn.AvgPool2dExt(3, 2, 1, True, False), torch.nn.AvgPool2d(3, 2, 1, True, False), (1, 2, 6, 6)),
    (nn.AvgPool3dExt(2, divisor_override=3), torch.nn.AvgPool3d(2, divisor_override=3),
     (1, 1, 4, 4, 4)),
    (nn.MaxPool2dExt(3), torch.nn.MaxPool2d(3), (1, 2, 6, 6)),
    (nn.ReflectionPad2d((1, 2, 0, 1)), torch.nn.ReflectionPad2d((1, 2, 0, 1)), (1, 2, 4, 4)),
    (nn.ReplicationPad3d(1), torch.nn.ReplicationPad3d(1), (1, 2, 3, 3)),
    (nn.ConstantPad3d(1, 0.5), torch.nn.ConstantPad3d(1, 0.5), (1, 2, 3, 3)),
], ids=lambda value: type(value).__name__)
def test_pytorch_s(layer, kernel, shape):
    x = numbers(*shape)
    np.testing.assert_allclose(layer(ms.Tensor(x)).asnumpy(), kernel(torch.from_numpy(x)).numpy(),
                               rtol=1e-5, atol=1e-6)


def test_pools_with_channels_last():
    x = ms.Tensor(numbers(1, 2, 4, 6))
    for cls in (nn.MaxPool2d, nn.AvgPool2d):
        got = cls(2, 2, data_format="NHWC")(x.permute(0, 2, 3, 1))
        assert (got == cls(2, 2)(x).permute(0, 2, 3, 1)).all()


def test_unpooling_undoes_pooling():
    x = ms.Tensor(numbers(1, 2, 4, 4))
    out, places = nn.MaxPool2d(2, 2, "pad", return_indices=True)(x)
    back = nn.MaxPool2d(2, 2)(nn.MaxUnpool2d(2)(out, places))
    np.testing.assert_array_equal(back.asnumpy(), np.maximum(out.asnumpy(), 0))
    assert nn.MaxUnpool2d(2)(out, places, output_size=(1, 2, 5, 5)).shape == (1, 2, 5, 5)
    with pytest.raises(ValueError, match="output_size"):
        nn.MaxUnpool2d(2)(out, places, output_size=[5, 5])


def test_random_slopes_lie_in_their_range():
    x = -ms.ops.ones(1000)
    slopes = -nn.RReLU(0.2, 0.4)(x).asnumpy()
    assert slopes.min() >= 0.2 and slopes.max() <= 0.4 and slopes.std() > 0.05


def test_similarity_of_images():
    x, y = np.abs(numbers(2, 3, 20, 20)), np.abs(numbers(2, 3, 20, 20))
    np.testing.assert_allclose(nn.PSNR(2.0)(ms.Tensor(x), ms.Tensor(y)).asnumpy(),
                               10 * np.log10(4 / ((x - y) ** 2).mean((1, 2, 3))), rtol=1e-4)
    assert (nn.SSIM()(ms.Tensor(x), ms.Tensor(x)) == 1).all()
    near = nn.SSIM()(ms.Tensor(x), ms.Tensor(x + 0.01 * y)).asnumpy()
    far = nn.SSIM()(ms.Tensor(x), ms.Tensor(y)).asnumpy()
    assert (near > far).all() and (near < 1).all()
    whole = (x.clip(0, 1) * 255).astype(np.uint8)
    scaled = nn.SSIM(255)(ms.Tensor(whole), ms.Tensor(whole[::-1].copy())).asnumpy()
    unit = nn.SSIM(1.0)(ms.Tensor(whole / np.float32(255)),
                        ms.Tensor(whole[::-1].copy() / np.float32(255))).asnumpy()
    np.testing.assert_allclose(scaled, unit, rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="filter_size"):
        nn.SSIM()(ms.Tensor(x[..., :5]), ms.Tensor(x[..., :5]))
    with pytest.raises(TypeError, match="one type"):
        nn.PSNR()(ms.Tensor(x), ms.Tensor(whole))


def test_similarity_by_its_formula():
    """One window as large as the image: means and variances weighted by the Gaussian."""
    x, y = np.abs(numbers(1, 1, 3, 3)).astype(float), np.abs(numbers(1, 1, 3, 3)).astype(float)
    place = np.arange(-1, 2) ** 2
    w = np.exp(-(place[:, None] + place) / (2 * 1.5**2))
    w /= w.sum()
    mx, my = (w * x).sum(), (w * y).sum()
    vx, vy, c = (w * x * x).sum() - mx**2, (w * y * y).sum() - my**2, (w * x * y).sum() - mx * my
    want = (2 * mx * my + 1e-4) * (2 * c + 9e-4) / ((mx**2 + my**2 + 1e-4) * (vx + vy + 9e-4))
    got = nn.SSIM(filter_size=3).to(ms.float64)(ms.Tensor(x), ms.Tensor(y))
    np.testing.assert_allclose(got.asnumpy(), [want], rtol=1e-5)


def test_similarity_of_each_image_is_the_mean_of_its_channels():
    x, y = np.abs(numbers(2, 3, 5, 4)), np.abs(numbers(2, 3, 5, 4))
    layer = nn.SSIM(filter_size=3)
    of_each = [[layer(ms.Tensor(x[n:n + 1, c:c + 1]), ms.Tensor(y[n:n + 1, c:c + 1])).item()
                for c in range(3)] for n in range(2)]
    np.testing.assert_allclose(layer(ms.Tensor(x), ms.Tensor(y)).asnumpy(),
                               np.mean(of_each, 1), rtol=1e-4)


def test_similarity_at_several_sizes_by_its_formula():
    """Each size gives its part without the luminance to its power, the last one the whole."""
    x = np.abs(numbers(2, 3, 16, 24)).astype(float)
    y = x + 0.3 * numbers(*x.shape)
    window = np.exp(-np.arange(-1, 2) ** 2 / (2 * 1.5**2))
    window /= window.sum()
    powers, want, a, b = (0.3, 0.4, 0.2), 1.0, x, y

    def mean(image):
        wide = np.apply_along_axis(np.convolve, 2, image, window, "valid")
        return np.apply_along_axis(np.convolve, 3, wide, window, "valid")

    for level, power in enumerate(powers):
        ma, mb = mean(a), mean(b)
        part = (2 * (mean(a * b) - ma * mb) + 9e-4) / (
            mean(a * a) + mean(b * b) - ma**2 - mb**2 + 9e-4)
        if level == 2:
            part *= (2 * ma * mb + 1e-4) / (ma**2 + mb**2 + 1e-4)
        want *= part.mean((2, 3)) ** power
        a, b = (i.reshape(2, 3, i.shape[2] // 2, 2, i.shape[3] // 2, 2).mean((3, 5))
                for i in (a, b))
    layer = nn.MSSSIM(power_factors=powers, filter_size=3).to(ms.float64)
    np.testing.assert_allclose(layer(ms.Tensor(x), ms.Tensor(y)).asnumpy(), want.mean(1),
                               rtol=1e-4)


def test_cosine_similarity_is_a_layer_under_its_own_path():
    from lamella.nn.math import CosineSimilarity

    a, b = ms.Tensor([[[3.0], [4.0]]]), ms.Tensor([[[0.0], [2.0]]])
    np.testing.assert_allclose(CosineSimilarity(1)(a, b).asnumpy(), [[0.8]], rtol=1e-6)
    with pytest.raises(TypeError, match="'x2' must be a Tensor, but got 1.0 of type float"):
        CosineSimilarity()(a, 1.0)


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_flatten_joins_the_dimensions_that_it_names(rank):
    x = numbers(*range(2, 2 + rank))
    for first in range(-rank - 1, rank + 1):
        for last in range(-rank - 1, rank + 1):
            layer = nn.Flatten(first, last)
            if not (-rank <= first < rank and -rank <= last < rank):
                with pytest.raises(ValueError, match=f"must be in .-{rank}, {rank}\\)"):
                    layer(ms.Tensor(x))
            elif first % rank <= last % rank:
                a, b = first % rank, last % rank + 1
                np.testing.assert_array_equal(
                    layer(ms.Tensor(x)).asnumpy(), x.reshape(*x.shape[:a], -1, *x.shape[b:]))


@pytest.mark.parametrize("padding, kept", [
    ((-1, -1, 0, -4), True), ((-1, -2, 0, 0), True), ((-2, -2, 0, 0), False),
    ((0, 0, -2, -3), False), ((0, 0, -2, -2), True)])
def test_padding_that_cuts_off_leaves_something(padding, kept):
    x = ms.Tensor(np.arange(60.0).reshape(3, 5, 4))
    if padding == (-1, -1, 0, -4):
        assert nn.ConstantPad2d(padding, 0.5)(x).shape == (3, 1, 2)
    elif kept:
        left, right, up, down = (-n for n in padding)
        assert nn.ConstantPad2d(padding, 0.5)(x).tolist() == x.asnumpy()[
            :, up:5 - down, left:4 - right].tolist()
    else:
        with pytest.raises(ValueError, match="nothing would be left of dimension"):
            nn.ConstantPad2d(padding, 0.5)(x)


def test_parameters_without_elements_and_those_of_one_device():
    net = nn.SequentialCell(nn.Dense(2, 3), nn.Dense(3, 1))
    net[0].weight.layerwise_parallel = True
    assert list(net.parameters_broadcast_dict()) == ["0.bias", "1.weight", "1.bias"]
    net[1].bias = ms.Parameter(ms.ops.zeros(0), name="1.bias")
    net.remove_redundant_parameters()
    assert [p.name for p in net.get_parameters()] == ["0.weight", "0.bias", "1.weight"]
    for each in net.get_parameters():
        each.layerwise_parallel = True
    assert net.parameters_broadcast_dict() is None


def test_gradients_without_a_number_count_as_an_overflow():
    assert [loss_scale._grad_overflow(ms.Tensor(v)).tolist() for v in (
        [1.0, 2.0], [1.0, np.inf], [np.nan])] == [[0.0], [1.0], [1.0]]


def test_norms_below_one_are_clipped():
    x = ms.Tensor([[0.3, 0.4], [0.03, 0.04], [0.0, 0.0]])
    want = [[0.06, 0.08], [0.03, 0.04], [0, 0]]
    np.testing.assert_allclose(nn.ClipByNorm(1)(x, ms.Tensor(0.1)).asnumpy(), want, rtol=1e-6)


@pytest.mark.parametrize(("time", "other", "order"), [
    (3, 0, (0, 3, 1, 2)), (3, 1, (0, 1, 3, 2)), (0, 2, (1, 0, 2, 3)), (0, 3, (1, 2, 0, 3)),
    (1, 3, (0, 2, 1, 3)), (2, 1, (0, 1, 2, 3))])
def test_time_moves_beside_the_axis_that_it_joins(time, other, order):
    x = numbers(2, 3, 4, 5)
    got = nn.TimeDistributed(nn.ReLU(), time, other)(ms.Tensor(x)).asnumpy()
    np.testing.assert_array_equal(got, np.maximum(x, 0).transpose(order))


def test_constants_of_similarity_follow_the_range():
    """Of constant images only the luminances and the constants count."""
    a, b = np.full((1, 1, 6, 6), 2.0, np.float32), np.full((1, 1, 6, 6), 5.0, np.float32)
    c1 = (0.5 * 8) ** 2
    want = (2 * 2 * 5 + c1) / (4 + 25 + c1)
    for layer in (nn.SSIM(8.0, 3, k1=0.5, k2=0.25), nn.MSSSIM(8.0, (1.0,), 3, k1=0.5, k2=0.25),
                  nn.MSSSIM(8.0, (3.0, 1.0), 3, k1=0.5, k2=0.25)):
        np.testing.assert_allclose(layer(ms.Tensor(a), ms.Tensor(b)).asnumpy(), [want], rtol=1e-5)


def test_images_of_whole_numbers():
    a = np.random.default_rng(1).integers(0, 256, (2, 3, 6, 6)).astype(np.uint8)
    b = 255 - a
    scaled = [ms.Tensor((t / 255).astype(np.float32)) for t in (a, b)]
    for make in (nn.PSNR, lambda top: nn.SSIM(top, 3)):
        np.testing.assert_allclose(make(255)(ms.Tensor(a), ms.Tensor(b)).asnumpy(),
                                   make(1.0)(*scaled).asnumpy(), rtol=1e-4)
    error = ((a / 255 - b / 255) ** 2).mean((1, 2, 3))
    np.testing.assert_allclose(nn.PSNR(3.0)(*scaled).asnumpy(), 10 * np.log10(9 / error), rtol=1e-5)


@pytest.mark.parametrize(("make", "bound"), [
    (lambda: nn.Dense(25, 300).weight, 0.2), (lambda: nn.Dense(25, 3000).bias, 0.2),
    (lambda: nn.Linear(25, 300).weight, 0.2), (lambda: nn.BiDense(25, 4, 300).weight, 0.2),
    (lambda: nn.BiDense(25, 4, 3000).bias, 0.2), (lambda: nn.Conv2d(5, 300, (1, 5)).weight, 0.2),
    (lambda: nn.Conv2d(5, 3000, (1, 5), has_bias=True).bias, 0.2),
    (lambda: nn.Conv2d(10, 300, (1, 5), group=2).weight, 0.2),
    (lambda: nn.Conv2dTranspose(300, 5, (1, 5)).weight, 0.2),
    (lambda: nn.LSTM(100, 25).w_ih_list[0], 0.2), (lambda: nn.GRUCell(100, 25).weight_hh, 0.2)])
def test_first_values_are_even_up_to_their_bound(make, bound):
    """Up to the inverse root of the inputs, or of the state's size in recurrent layers."""
    ms.set_seed(5)
    values = np.abs(make().asnumpy())
    assert bound * 0.98 < values.max() <= bound * (1 + 1e-6)
    np.testing.assert_allclose(values.mean(), bound / 2, rtol=0.05)


@pytest.mark.parametrize("place", [0, 2, -1])
def test_the_row_of_padding_is_zero(place):
    table = nn.EmbeddingExt(5, 3, place).weight.asnumpy()
    assert (table[place] == 0).all() and (np.delete(table, place, 0) != 0).all()
    np.testing.assert_array_equal(nn.Embedding(5, 3, padding_idx=2).embedding_table[2].asnumpy(), 0)
