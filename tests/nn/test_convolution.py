"""Convolutions: parity with PyTorch's layers, channels last, weights given as Tensors."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import nn


def take(mine, theirs):
    mine.weight.set_data(ms.Tensor(theirs.weight.detach().numpy()).reshape(mine.weight.shape))
    if theirs.bias is not None:
        mine.bias.set_data(ms.Tensor(theirs.bias.detach().numpy()))
    return mine


@pytest.mark.parametrize(("mine", "theirs", "shape"), [
    (nn.Conv2d(2, 4, 3, pad_mode="valid", has_bias=True, group=2),
     torch.nn.Conv2d(2, 4, 3, groups=2), (2, 2, 6, 5)),
    (nn.Conv2d(2, 3, (3, 5)), torch.nn.Conv2d(2, 3, (3, 5), padding="same", bias=False),
     (2, 2, 6, 7)),
    (nn.Conv2d(2, 3, 4, dilation=2), torch.nn.Conv2d(2, 3, 4, padding="same", dilation=2,
                                                      bias=False), (1, 2, 7, 8)),
    (nn.Conv2d(2, 3, 3, 2, "pad", 1), torch.nn.Conv2d(2, 3, 3, 2, 1, bias=False), (1, 2, 7, 8)),
    (nn.Conv1d(2, 3, 3, 2, "pad", 2, has_bias=True), torch.nn.Conv1d(2, 3, 3, 2, 2), (2, 2, 9)),
    (nn.Conv3d(2, 4, 3, has_bias=True, group=2), torch.nn.Conv3d(2, 4, 3, padding=1, groups=2),
     (1, 2, 4, 4, 4)),
    (nn.Conv2dTranspose(2, 3, 3, 2, "pad", 1, has_bias=True),
     torch.nn.ConvTranspose2d(2, 3, 3, 2, 1), (1, 2, 4, 5)),
    (nn.Conv1dTranspose(2, 3, 4, pad_mode="valid"),
     torch.nn.ConvTranspose1d(2, 3, 4, bias=False), (1, 2, 5)),
    (nn.Conv3dTranspose(2, 3, 3, 2, "pad", 1, output_padding=1),
     torch.nn.ConvTranspose3d(2, 3, 3, 2, 1, 1, bias=False), (1, 2, 3, 3, 2)),
], ids=lambda value: type(value).__name__)
def test_pytorch_s(mine, theirs, shape):
    x = torch.randn(shape)
    got = take(mine, theirs)(ms.Tensor(x.numpy())).asnumpy()
    np.testing.assert_allclose(got, theirs(x).detach().numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", range(1, 9))
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("kernel", [1, 2, 3, 4])
def test_same_makes_the_size_over_the_stride(size, stride, kernel):
    x = ms.ops.ones((1, 1, size, size))
    want = (1, 1, -(-size // stride), -(-size // stride))
    assert nn.Conv2d(1, 1, kernel, stride)(x).shape == want
    assert nn.MaxPool2d(kernel, stride, pad_mode="same")(x).shape == want
    if stride == 1:
        assert nn.Conv2dTranspose(1, 1, kernel)(x).shape == want


def test_channels_last():
    first = nn.Conv2d(2, 3, 3, has_bias=True)
    last = nn.Conv2d(2, 3, 3, has_bias=True, data_format="NHWC")
    assert last.weight.shape == (3, 3, 3, 2)
    last.weight.set_data(first.weight.permute(0, 2, 3, 1))
    last.bias.set_data(first.bias)
    x = ms.ops.randn(1, 2, 5, 5)
    np.testing.assert_allclose(last(x.permute(0, 2, 3, 1)).asnumpy(),
                               first(x).permute(0, 2, 3, 1).asnumpy(), rtol=1e-4, atol=1e-6)


def test_weight_of_one_dimension_as_tensor():
    weight = ms.ops.randn(3, 2, 4)
    net = nn.Conv1d(2, 3, 4, weight_init=weight)
    assert net.weight.shape == (3, 2, 1, 4)
    assert (net.weight.squeeze(2) == weight).all()
    with pytest.raises(ValueError, match="weight_init"):
        nn.Conv1d(2, 3, 4, weight_init=net.weight)


@pytest.mark.parametrize("height, width", [(0, 1), (1, 0), (1, 1), (0, 0)])
def test_output_padding_of_images_is_of_zeros(height, width):
    first, last = (nn.Conv2dTranspose(2, 3, 3, 2, "pad", 1, output_padding=more)
                   for more in (0, (height, width)))
    last.weight.set_data(first.weight)
    x = ms.ops.randn(1, 2, 4, 5)
    want = np.pad(first(x).asnumpy(), ((0, 0), (0, 0), (0, height), (0, width)))
    np.testing.assert_array_equal(last(x).asnumpy(), want)


def test_pad_modes_in_any_letters():
    assert nn.Conv2d(1, 1, 3, pad_mode="VALID").pad_mode == "valid"


@pytest.mark.parametrize(("arguments", "message"), [
    ({"pad_mode": "valid", "output_padding": 1, "stride": 2}, "must be 0 unless"),
    ({"pad_mode": "pad", "output_padding": 2, "stride": 2}, "must be below"),
    ({"pad_mode": "pad", "output_padding": -1}, "0 or more"),
    ({"pad_mode": "pad", "padding": (1, 1)}, "4 ints")])
def test_output_padding_is_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        nn.Conv2dTranspose(1, 1, 3, **arguments)


@pytest.mark.parametrize("padding", [1, (0, 0, 1, 0)])
@pytest.mark.parametrize("pad_mode", ["same", "valid"])
def test_a_padding_goes_with_the_mode_pad_alone(padding, pad_mode):
    with pytest.raises(ValueError, match="the padding must be zero when 'pad_mode' is not 'pad'"):
        nn.Conv2d(1, 1, 3, pad_mode=pad_mode, padding=padding)
    assert nn.Conv2d(1, 1, 3, pad_mode=pad_mode, padding=(0, 0, 0, 0)).pad_mode == pad_mode
