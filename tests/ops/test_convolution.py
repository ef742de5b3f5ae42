"""Deformable convolutions without offsets, and transposed ones by products, beside the kernels."""

import numpy as np
import pytest
import torch

from lamella import Tensor, ops
from lamella.ops.convolution import _transposed_by_products

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
