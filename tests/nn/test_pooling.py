"""Pools: PyTorch's with every option, and the ends of what arguments and inputs may be."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import lamella as ms
from lamella import nn, ops

RNG = np.random.default_rng(11)
SHAPES = {1: (2, 3, 9), 2: (2, 3, 7, 9), 3: (2, 3, 5, 6, 7)}
INPUTS = {dims: RNG.standard_normal(shape).astype(np.float32) for dims, shape in SHAPES.items()}

MAX = {1: (nn.MaxPool1d, F.max_pool1d), 2: (nn.MaxPool2d, F.max_pool2d),
       3: (nn.MaxPool3d, F.max_pool3d)}
MEAN = {1: (nn.AvgPool1d, F.avg_pool1d), 2: (nn.AvgPool2d, F.avg_pool2d),
        3: (nn.AvgPool3d, F.avg_pool3d)}


def check(layer, wanted, dims):
    for x in (INPUTS[dims], INPUTS[dims][0]):  # with a batch and without
        got, want = layer(ms.Tensor(x)), wanted(torch.from_numpy(x))
        pairs = zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]
        for one, other in pairs:
            np.testing.assert_allclose(one.asnumpy(), other.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("options", [
    {}, {"padding": 1}, {"dilation": 2}, {"ceil_mode": True}, {"return_indices": True},
    {"padding": 1, "dilation": 2, "ceil_mode": True, "return_indices": True}])
def test_maximum(dims, options):
    layer, function = MAX[dims]
    check(layer(3, 2, pad_mode="pad", **options), lambda x: function(x, 3, 2, **options), dims)


MEANS = [{}, {"padding": 1}, {"ceil_mode": True}, {"padding": 1, "count_include_pad": False}]
DIVIDED = [{"divisor_override": 1}, {"divisor_override": 2}]  # an option from two dimensions on


@pytest.mark.parametrize(("dims", "options"), [
    *((1, options) for options in MEANS),
    *((dims, options) for dims in (2, 3) for options in MEANS + DIVIDED)])
def test_mean(dims, options):
    layer, function = MEAN[dims]
    check(layer(3, 2, pad_mode="pad", **options), lambda x: function(x, 3, 2, **options), dims)


@pytest.mark.parametrize(("layer", "function", "dims"), [
    (nn.AvgPool1dExt, F.avg_pool1d, 1), (nn.AvgPool2dExt, F.avg_pool2d, 2),
    (nn.AvgPool3dExt, F.avg_pool3d, 3)])
def test_mean_without_pad_mode(layer, function, dims):
    check(layer(2), lambda x: function(x, 2), dims)
    check(layer(3, 2, 1, True, False), lambda x: function(x, 3, 2, 1, True, False), dims)


def test_maximum_without_pad_mode():
    check(nn.MaxPool2dExt(2), lambda x: F.max_pool2d(x, 2), 2)
    check(nn.MaxPool2dExt(3, 2, 1, 2, True), lambda x: F.max_pool2d(
        x, 3, 2, 1, 2, return_indices=True), 2)


@pytest.mark.parametrize("layer", [nn.MaxPool2d, nn.AvgPool2d])
@pytest.mark.parametrize("mode", ["valid", "same"])
def test_channels_last(layer, mode):
    x = INPUTS[2]
    want = layer((2, 3), (2, 1), mode)(ms.Tensor(x)).asnumpy()
    got = layer((2, 3), (2, 1), mode, data_format="NHWC")(ms.Tensor(x.transpose(0, 2, 3, 1)))
    np.testing.assert_array_equal(got.asnumpy(), want.transpose(0, 2, 3, 1))


def test_a_tuple_of_one_is_its_int():
    x = ms.Tensor(INPUTS[2])
    pool = nn.MaxPool2d((2,), (1,), "pad", (1,), (2,))
    assert (pool.kernel_size, pool.stride, pool.padding) == (2, 1, (1, 1))
    np.testing.assert_array_equal(pool(x).asnumpy(),
                                  nn.MaxPool2d(2, 1, "pad", 1, 2)(x).asnumpy())


@pytest.mark.parametrize("mode", ["valid", "same"])
def test_volumes_take_a_ceiling_in_every_mode(mode):
    x = ms.Tensor(INPUTS[3])
    assert nn.MaxPool3d(2, 2, mode, ceil_mode=True)(x).shape == (2, 3, 3, 3, 4)


@pytest.mark.parametrize(("dims", "layer"), [
    (dims, layer[dims][0]) for dims in (1, 2, 3) for layer in (MAX, MEAN)])
def test_ranks(dims, layer):
    pool = layer(2, 1)
    for rank in (dims + 1, dims + 2):
        assert pool(ops.ones((3,) * rank)).shape == (*(3,) * (rank - dims), *(2,) * dims)
    for rank in (dims, dims + 3):
        with pytest.raises(ValueError, match="dimensions"):
            pool(ops.ones((3,) * rank))


@pytest.mark.parametrize("option", [
    {"padding": 1}, {"dilation": 2}, {"return_indices": True}, {"ceil_mode": True}])
@pytest.mark.parametrize("layer", [nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d])
@pytest.mark.parametrize("mode", ["valid", "same"])
def test_options_of_explicit_padding_only(layer, option, mode):
    if layer is nn.MaxPool3d and "ceil_mode" in option:
        option = {"ceil_mode": True, "padding": 1}
    with pytest.raises(ValueError, match="must be left out unless"):
        layer(2, 1, mode, **option)


@pytest.mark.parametrize("call", [
    lambda: nn.AvgPool2d(2, divisor_override=0), lambda: nn.AvgPool3d(2, divisor_override=-1),
    lambda: nn.MaxPool2d(0), lambda: nn.MaxPool2d(2, 0), lambda: nn.MaxPool2d((2, 0)),
    lambda: nn.MaxPool2d((2, 2, 2)), lambda: nn.MaxPool2d(2, (1, 1, 1)),
    lambda: nn.MaxPool1d(0), lambda: nn.MaxPool1d(2, 0), lambda: nn.MaxPool2d(2, 1, "pad", -1),
    lambda: nn.MaxPool2d(2, 1, "pad", (1, 1, 1)), lambda: nn.MaxPool2d(2, 1, "pad", 0, 0),
    lambda: nn.AvgPool2d(2, pad_mode="pad", data_format="NHWC"),
    lambda: nn.AvgPool2d(2, data_format="NCDHW"), lambda: nn.AvgPool2d(2, pad_mode="full")])
def test_refused(call):
    with pytest.raises(ValueError, match="must|can't"):
        call()


def test_means_leave_padding_out_unless_an_option_is_given():
    x = ms.Tensor([[[1.0, 3.0, 5.0]]])
    for options, last in (({}, 5.0), ({"count_include_pad": False}, 5.0),
                          ({"ceil_mode": True}, 2.5)):
        got = nn.AvgPool1d(2, 2, "same", **options)(x).asnumpy()
        np.testing.assert_allclose(got, [[[2.0, last]]], err_msg=str(options))


@pytest.mark.parametrize("layer", [nn.AdaptiveAvgPool1d, nn.AdaptiveMaxPool1d])
def test_adaptive_lengths(layer):
    assert layer(3)(ops.ones((2, 4, 6))).shape == (2, 4, 3)
    assert layer(1)(ops.ones((2, 4, 5))).shape == (2, 4, 1)
    for call in (lambda: layer(0), lambda: layer(4)(ops.ones((2, 4, 6))),
                 lambda: layer(2)(ops.ones((4, 6))), lambda: layer(2)(ops.ones((1, 2, 4, 6)))):
        with pytest.raises(ValueError, match="must"):
            call()


@pytest.mark.parametrize("layer", [nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d])
def test_adaptive_sizes(layer):
    layer(0)
    layer((0, None, 1))
    for size in (-1, (1, -1, 2)):
        with pytest.raises(ValueError, match="output_size"):
            layer(size)


@pytest.mark.parametrize("size", [(), [1, 1, 4], 4])
def test_the_size_of_what_is_put_back(size):
    x, places = ms.Tensor([[[5.0, 7.0]]]), ms.Tensor([[[1, 2]]])
    assert nn.MaxUnpool1d(2)(x, places, (1, 1, 5)).asnumpy().tolist() == [[[0, 5, 7, 0, 0]]]
    with pytest.raises(ValueError, match="output_size"):
        nn.MaxUnpool1d(2)(x, places, size)


@pytest.mark.parametrize(("layer", "kernel", "dims"), [
    (nn.LPPool1d, 3, 1), (nn.LPPool2d, (3, 2), 2)])
@pytest.mark.parametrize("stride", [None, 2])
@pytest.mark.parametrize("ceil", [False, True])
def test_power_means(layer, kernel, dims, stride, ceil):
    function = {1: F.lp_pool1d, 2: F.lp_pool2d}[dims]
    x = np.abs(INPUTS[dims])
    got = layer(3.0, kernel, stride, ceil)(ms.Tensor(x)).asnumpy()
    np.testing.assert_allclose(got, function(torch.from_numpy(x), 3.0, kernel, stride, ceil),
                               rtol=1e-4)
