"""Activations as Primitives, against PyTorch."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor
from lamella.ops.primitives import activation

X = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)


@pytest.mark.parametrize("axis", [None, -1, 0, 1])
@pytest.mark.parametrize("kind", [None, ms.float32, ms.float64])
def test_log_softmax_along_an_axis_in_a_type(axis, kind):
    found = activation.LogSoftmaxExt()(Tensor(X), axis, kind)
    wanted = torch.log_softmax(torch.from_numpy(X).double(), -1 if axis is None else axis)
    assert found.dtype is (kind or ms.float32)
    np.testing.assert_allclose(found.asnumpy(), wanted.numpy(), rtol=1e-6, atol=1e-6)


def test_gelu_is_the_approximation():
    wanted = torch.nn.functional.gelu(torch.from_numpy(X), approximate="tanh")
    np.testing.assert_allclose(activation.GeLU()(Tensor(X)).asnumpy(), wanted.numpy(), atol=1e-6)
