"""Deformable convolutions beside the convolutions that they are without offsets."""

import numpy as np
import pytest
import torch

from lamella import Tensor, ops

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
