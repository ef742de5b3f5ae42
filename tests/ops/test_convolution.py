"""Convolutions of all ranks, pad modes and options beside PyTorch's of padded inputs."""

import math

import numpy as np
import pytest
import torch

from lamella import Tensor, ops
from lamella.common import dtype as mstype
from lamella.ops.convolution import (
    _by_products,
    _transposed_by_products,
    conv_transpose,
    convolve_transposed,
    deformable_columns,
)

RNG = np.random.default_rng(2)


@pytest.mark.parametrize("channels, out, groups", [(2, 3, 1), (4, 6, 2), (6, 3, 3)])
def test_without_offsets_it_is_a_convolution(channels, out, groups):
    x = RNG.standard_normal((2, channels, 6, 5)).astype(np.float32)
    weight = RNG.standard_normal((out, channels // groups, 3, 2)).astype(np.float32)
    bias = RNG.standard_normal(out).astype(np.float32)
    found = ops.deformable_conv2d(Tensor(x), Tensor(weight), ops.zeros((2, 2 * 6, 4, 4)), (3, 2),
                                  (1, 1, 1, 1), (0, 0, 0, 0), Tensor(bias), groups=groups,
                                  modulated=False)
    want = torch.nn.functional.conv2d(*map(torch.from_numpy, (x, weight, bias)), groups=groups)
    np.testing.assert_allclose(found.asnumpy(), want.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("steps, pads, gaps", [
    ((2, 1), (1, 0, 2, 1), (1, 2)), ((1, 2), (0, 2, 0, 3), (2, 1)), ((2, 3), (2, 2, 1, 1), (1, 1))])
def test_offsets_of_whole_pixels_move_what_a_tap_reads(steps, pads, gaps):
    x = RNG.standard_normal((2, 4, 7, 8)).astype(np.float32)
    weight = RNG.standard_normal((3, 4, 3, 2)).astype(np.float32)
    top, bottom, left, right = pads
    padded = np.pad(x, ((0, 0), (0, 0), (top + 9, bottom + 9), (left + 9, right + 9)))
    # two groups of channels, each with a move and a factor of its own
    moved = np.concatenate([padded[:, :2, 9 + 1:-9 + 1, 9 - 2:-9 - 2] * 0.5,
                            padded[:, 2:, 9 - 1:-9 - 1, 9:-9] * 2], 1)
    want = torch.nn.functional.conv2d(torch.from_numpy(moved), torch.from_numpy(weight), None,
                                      steps, 0, gaps).numpy()
    offsets = np.zeros((2, 3, 2, 6, *want.shape[2:]), np.float32)  # x, y and factors
    offsets[:, 0, 0], offsets[:, 1, 0], offsets[:, 2, 0] = -2, 1, 0.5
    offsets[:, 1, 1], offsets[:, 2, 1] = -1, 2
    found = ops.deformable_conv2d(
        Tensor(x), Tensor(weight), Tensor(offsets.reshape(2, 36, *want.shape[2:])), (3, 2),
        (1, 1, *steps), pads, dilations=(1, 1, *gaps), deformable_groups=2)
    np.testing.assert_allclose(found.asnumpy(), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kernel, stride, padding, extra, dilation, groups", [
    ((3, 2), (2, 1), (1, 0), (1, 0), (1, 1), 1), ((2, 2), (3, 3), (0, 0), (0, 2), (1, 2), 2),
    ((1, 3), (1, 2), (0, 2), (0, 1), (1, 1), 1), ((3, 3), (1, 1), (2, 2), (0, 0), (2, 1), 2)])
def test_transposed_convolution_by_products_is_the_kernel(kernel, stride, padding, extra, dilation,
                                                          groups):
    x = torch.from_numpy(RNG.standard_normal((2, 4, 5, 4)).astype(np.float32))
    weight = torch.from_numpy(RNG.standard_normal((4, 3, *kernel)).astype(np.float32))
    bias = torch.from_numpy(RNG.standard_normal(3 * groups).astype(np.float32))
    found = _transposed_by_products(x, weight, Tensor(bias.numpy()), stride, padding, extra,
                                    dilation, groups)
    want = torch.nn.functional.conv_transpose2d(x, weight, bias, stride, padding, extra, groups,
                                                dilation)
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("pads", [(0, 2), (2, 0), (1, 0), (3, 1), (1, 2)])
def test_a_transposed_convolution_cuts_each_end_by_its_own_padding(stride, pads):
    x = RNG.standard_normal((1, 2, 4, 3, 2)).astype(np.float32)
    weight = RNG.standard_normal((2, 3, 3, 1, 1)).astype(np.float32)
    for dilation in (1, 2):
        found = ops.conv3d_transpose(Tensor(x), Tensor(weight), "pad", (*pads, 0, 0, 0, 0),
                                     (stride, 1, 1), (dilation, 1, 1))
        whole = torch.nn.functional.conv_transpose3d(
            torch.from_numpy(x), torch.from_numpy(weight), stride=(stride, 1, 1),
            dilation=(dilation, 1, 1))
        want = whole[:, :, pads[0]:whole.shape[2] - pads[1]]
        np.testing.assert_allclose(found.asnumpy(), want.numpy(), rtol=1e-4, atol=1e-5)


def _numbers(*shape):
    """The numbers of a standard normal distribution, in float64."""
    return torch.from_numpy(RNG.standard_normal(shape))


def _pads(mode, padding, lengths, kernel, stride, dilation):
    """(before, after) by the definition of each pad mode."""
    if mode == "pad":
        return padding
    pairs = []
    for n, k, s, d in zip(lengths, kernel, stride, dilation, strict=True):
        total = max((math.ceil(n / s) - 1) * s + d * (k - 1) + 1 - n, 0) if mode == "same" else 0
        pairs.append((total // 2, total - total // 2))
    return pairs


def _flat(pairs):
    return [n for pair in reversed(pairs) for n in pair]


CONVOLUTIONS = [  # lengths, kernel, stride, dilation
    ((9,), (4,), (2,), (1,)), ((8,), (2,), (3,), (3,)), ((7, 10), (3, 2), (2, 3), (1, 2)),
    ((9, 6), (1, 4), (3, 1), (1, 1)), ((5, 6, 7), (2, 3, 1), (1, 2, 3), (2, 1, 1))]
MODES = [("valid", 0), ("same", 0), ("pad", ((1, 1), (2, 2), (3, 3))),
         ("pad", ((0, 2), (3, 1), (1, 0)))]


@pytest.mark.parametrize("by_products", [False, True])
@pytest.mark.parametrize("mode, padding", MODES)
@pytest.mark.parametrize("lengths, kernel, stride, dilation", CONVOLUTIONS)
def test_convolution_is_pytorchs_of_the_padded_input(lengths, kernel, stride, dilation, mode,
                                                     padding, by_products):
    rank, groups = len(lengths), 2
    x, weight, bias = _numbers(3, 4, *lengths), _numbers(6, 2, *kernel), _numbers(6)
    padding = padding and padding[:rank]
    pairs = _pads(mode, padding, lengths, kernel, stride, dilation)
    kernels = getattr(torch.nn.functional, f"conv{rank}d")
    want = kernels(torch.nn.functional.pad(x, _flat(pairs)), weight, bias, stride, 0, dilation,
                   groups)
    if by_products:
        found = _by_products(x, weight, Tensor(bias.numpy()), stride, pairs, dilation, groups)
        alone = _by_products(x, weight, None, stride, pairs, dilation, groups)
        np.testing.assert_allclose(alone, want - bias.view(-1, *[1] * rank), atol=1e-12)
    else:
        flat = tuple(n for pair in padding for n in pair) if padding else 0
        found = getattr(ops, f"conv{rank}d")(
            *(Tensor(t.numpy()) for t in (x, weight, bias)), stride, mode, flat, dilation,
            groups)._raw
    np.testing.assert_allclose(found, want, atol=1e-12)


@pytest.mark.parametrize("channels, outs, groups, fits", [
    (4, 6, 2, True), (4, 6, 3, False), (6, 4, 3, False), (6, 3, 3, True)])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_groups_divide_both_numbers_of_channels(channels, outs, groups, fits, rank):
    x, w = ops.ones((1, channels, *(3,) * rank)), ops.ones((outs, channels // groups, *(2,) * rank))
    call = getattr(ops, f"conv{rank}d")
    if fits:
        assert call(x, w, groups=groups).shape == (1, outs, *(2,) * rank)
    else:
        with pytest.raises(ValueError, match="multiples of 'groups'"):
            call(x, w, groups=groups)


@pytest.mark.parametrize("call, rank", [(ops.conv1d, 1), (ops.conv2d, 2), (ops.conv3d, 3),
                                        (ops.conv3d_transpose, 3)])
@pytest.mark.parametrize("which", ["input", "weight"])
@pytest.mark.parametrize("more", [-1, 1])
def test_each_convolution_takes_its_ranks_alone(call, rank, which, more):
    ranks = {"input": rank, "weight": rank} | {which: rank + more}
    with pytest.raises(ValueError, match=f"'{which}' must be a {rank + 2}D"):
        call(*(ops.ones((2, 2, *(3,) * n)) for n in ranks.values()))


LENGTHS = {"same": lambda n, reach, s, p: n * s,
           "valid": lambda n, reach, s, p: n * s + max(reach - s, 0),
           "pad": lambda n, reach, s, p: (n - 1) * s + reach - sum(p)}


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("mode, padding", MODES)
@pytest.mark.parametrize("lengths, kernel, stride, dilation", CONVOLUTIONS)
def test_transposed_convolution_is_the_gradient_of_the_convolution(lengths, kernel, stride,
                                                                   dilation, mode, padding, groups):
    rank = len(lengths)
    x, weight, bias = _numbers(2, 4, *lengths), _numbers(4, 3, *kernel), _numbers(3 * groups)
    padding = padding and padding[:rank]
    outs = [LENGTHS[mode](n, d * (k - 1) + 1, s, p) for n, k, s, d, p in zip(
        lengths, kernel, stride, dilation, padding or [(0, 0)] * rank, strict=True)]
    pairs = _pads(mode, padding, outs, kernel, stride, dilation)
    image = torch.zeros(2, 3 * groups, *outs, dtype=torch.float64, requires_grad=True)
    convolved = getattr(torch.nn.functional, f"conv{rank}d")(
        torch.nn.functional.pad(image, _flat(pairs)), weight, None, stride, 0, dilation, groups)
    want, = torch.autograd.grad(convolved, image, x)
    x, weight, bias = (Tensor(t.numpy()) for t in (x, weight, bias))
    flat = tuple(n for pair in padding for n in pair) if padding else 0
    found = convolve_transposed("f", x, weight, None, stride, mode, flat, dilation, groups)
    np.testing.assert_allclose(found.asnumpy(), want, atol=1e-12)
    found = convolve_transposed("f", x, weight, bias, stride, mode, flat, dilation, groups)
    np.testing.assert_allclose(found.asnumpy(), want + bias._raw.view(-1, *[1] * rank), atol=1e-12)


@pytest.mark.parametrize("extra", [(1, 0), (0, 2), (2, 1)])
def test_output_padding_is_zeros_behind_an_image(extra):
    x, weight, bias = Tensor(_numbers(1, 2, 3, 4).numpy()), Tensor(_numbers(2, 3, 2, 3).numpy()), \
        Tensor([1.0, 2.0, 3.0], dtype=mstype.float64)
    arguments = (x, weight, bias, (2, 3), "PAD", (1, 0, 2, 1))
    found = conv_transpose(*arguments, extra, (1, 2), 1).asnumpy()
    want = conv_transpose(*arguments, 0, (1, 2), 1).asnumpy()
    np.testing.assert_array_equal(found, np.pad(want, ((0, 0), (0, 0), (0, extra[0]),
                                                       (0, extra[1]))))


@pytest.mark.parametrize("extra", [(1, 0, 2), (0, 1, 0)])
def test_output_padding_is_computed_behind_a_volume(extra):
    x, weight = _numbers(1, 2, 3, 4, 2), _numbers(2, 3, 2, 3, 3)
    found = ops.conv3d_transpose(Tensor(x.numpy()), Tensor(weight.numpy()), "pad",
                                 (1, 1, 0, 0, 2, 2), (2, 2, 3), (1, 2, 1), 1, extra)
    want = torch.nn.functional.conv_transpose3d(x, weight, None, (2, 2, 3), (1, 0, 2), extra, 1,
                                                (1, 2, 1))
    np.testing.assert_allclose(found.asnumpy(), want, atol=1e-12)


@pytest.mark.parametrize("mode", ["same", "valid"])
def test_output_padding_goes_with_the_pad_mode_alone(mode):
    x, weight = ops.ones((1, 1, 2, 3, 4)), ops.ones((1, 1, 2, 2, 2))
    ops.conv3d_transpose(x, weight, mode, output_padding=0)
    with pytest.raises(ValueError, match="must be 0"):
        ops.conv3d_transpose(x, weight, mode, stride=2, output_padding=1)
    with pytest.raises(ValueError, match="'output_padding'"):
        ops.conv3d_transpose(x, weight, "pad", stride=2, output_padding=-1)


@pytest.mark.parametrize("rank", [2, 3, 4])
def test_bias_add_goes_along_the_second_dimension(rank):
    x = _numbers(2, 3, 4, 5)[(...,) + (0,) * (4 - rank)].numpy()
    bias = np.array([1.0, 20.0, 300.0])
    found = ops.bias_add(Tensor(x), Tensor(bias)).asnumpy()
    np.testing.assert_array_equal(found, x + np.expand_dims(bias, tuple(range(1, rank - 1))))


def test_products_of_dense_layers():
    x, y, weight, bias = (_numbers(*s) for s in ((2, 3, 4), (2, 3, 5), (6, 4, 5), (6,)))
    want = torch.einsum("abi,oij,abj->abo", x, weight, y)
    tensors = [Tensor(t.numpy()) for t in (x, y, weight, bias)]
    np.testing.assert_allclose(ops.bidense(*tensors[:3]).asnumpy(), want, atol=1e-12)
    np.testing.assert_allclose(ops.bidense(*tensors).asnumpy(), want + bias, atol=1e-12)
    dense = ops.dense(tensors[0], Tensor(weight[..., 0].numpy()), tensors[3])
    np.testing.assert_allclose(dense.asnumpy(), x @ weight[..., 0].T + bias, atol=1e-12)
    np.testing.assert_allclose(ops.dense(tensors[0], Tensor(weight[1, :, 0].numpy())).asnumpy(),
                               x @ weight[1, :, 0], atol=1e-12)


@pytest.mark.parametrize("shape", [(1, 17, 2, 3), (1, 18, 3, 3), (1, 18, 2, 2), (2, 18, 2, 3),
                                   (1, 12, 2, 3)])
def test_offsets_of_another_shape(shape):
    x, weight = ops.ones((1, 2, 4, 4)), ops.ones((2, 2, 3, 2))
    arguments = (3, 2), (1, 1, 1, 1), (0, 0, 0, 0)
    ops.deformable_conv2d(x, weight, ops.zeros((1, 18, 2, 3)), *arguments)
    with pytest.raises(ValueError, match=r"shape \(1, 18, 2, 3\)"):
        ops.deformable_conv2d(x, weight, ops.zeros(shape), *arguments)


def test_columns_of_fewer_windows_than_fit():
    x, offsets = _numbers(1, 2, 5, 6), torch.zeros(1, 12, 2, 3)
    found = deformable_columns(x, offsets.double(), (2, 3), (1, 1, 1, 2), (1, 0, 0, 0),
                               (1, 1, 2, 1), 1, False, fits=False)
    padded = torch.nn.functional.pad(x, (0, 9, 1, 9))
    for tap in range(6):
        row, column = tap // 3 * 2, tap % 3
        np.testing.assert_allclose(found[:, :, tap],
                                   padded[:, :, row:row + 2, column:column + 5:2], atol=1e-12)
    half = deformable_columns(x.half(), offsets.half(), (2, 3), (1, 1, 1, 2), (1, 0, 0, 0),
                              (1, 1, 2, 1), 1, False, fits=False)
    assert half.dtype is torch.float16
    np.testing.assert_allclose(half, found, atol=2e-3)
