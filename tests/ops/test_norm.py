"""Norms and distances beside PyTorch's."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import ops

RNG = np.random.default_rng(3)
X, Y = (RNG.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 4), (3, 1)))


@pytest.mark.parametrize("p", [0, 0.5, 1, 2, 3.5, float("inf"), float("-inf")])
def test_distances_and_their_gradients(p):
    def distance(x, y):
        return ops.dist(x, y, p)

    x, y = torch.tensor(X, requires_grad=True), torch.tensor(Y, requires_grad=True)
    wanted = torch.dist(x, y, p)
    value, gradients = ms.value_and_grad(distance, (0, 1))(ms.Tensor(X), ms.Tensor(Y))
    np.testing.assert_allclose(value.asnumpy(), wanted.detach().numpy(), 1e-5)
    if p == 0:  # it counts, and PyTorch's derivative fails
        assert not any(gradient.asnumpy().any() for gradient in gradients)
        return
    wanted.backward()
    for gradient, its in zip(gradients, (x, y), strict=True):
        np.testing.assert_allclose(gradient.asnumpy(), its.grad.numpy(), 1e-4, 1e-6)


@pytest.mark.parametrize("call", [
    lambda x: ops.norm(x, 2, 0), lambda x: ops.norm(x, 2), ops.norm,
    lambda x: ops.norm(x.reshape(1, 2), "fro"), lambda x: ops.norm(x.reshape(1, 2), "fro", (0, 1)),
    lambda x: ops.norm(x.reshape(1, 2), None, (0, 1)), ops.vector_norm,
    lambda x: ops.matrix_norm(x.reshape(1, 2)), lambda x: ops.norm(x[0], 2)])
def test_where_a_norm_is_0_its_gradient_is_nan(call):
    assert np.isnan(ms.grad(lambda x: call(x).sum())(ops.zeros(2)).asnumpy()[0])


def test_the_root_of_squares_is_a_norm_of_any_rank():
    want = np.sqrt((X.astype(np.float64) ** 2).sum())
    for order in (None, "fro"):
        np.testing.assert_allclose(ops.norm(ms.Tensor(X), order).asnumpy(), want, rtol=1e-6)
    with pytest.raises(TypeError, match="'ord' of a vector must be a number, but got 'fro'"):
        ops.norm(ms.Tensor(X), "fro", 1)


@pytest.mark.parametrize("kind", [ms.float16, ms.bfloat16])
def test_narrow_types(kind):
    x = ms.Tensor(X, kind)
    wide = x.float().asnumpy()
    for found in (ops.norm(x), ops.vector_norm(x), ops.norm(x.flatten(), 2)):
        assert found.dtype is kind
        np.testing.assert_allclose(found.float().asnumpy(), np.linalg.norm(wide.ravel()),
                                   rtol=1e-2)
    found = ops.norm(x, "nuc", (1, 2)).float().asnumpy()
    np.testing.assert_allclose(found, np.linalg.norm(wide, "nuc", (1, 2)), rtol=1e-2)
    for order in (1, np.inf):
        assert ops.norm(x, order, (1, 2)).dtype is kind
