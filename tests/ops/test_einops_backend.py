"""einops on Tensors: as on NumPy arrays, with gradients, compiled, whichever comes first."""

import einops
import numpy as np
import pytest

import lamella as ms
from lamella import Tensor

from ..zygote import run as python

X = np.random.default_rng(0).standard_normal((2, 4, 6)).astype(np.float32)


@pytest.mark.parametrize("pattern", ["a b c -> b (a c)", "a (b d) c -> a b d c", "a b c -> c b a"])
def test_rearrange(pattern):
    named = {"b": 2} if "d" in pattern else {}
    np.testing.assert_array_equal(einops.rearrange(Tensor(X), pattern, **named).asnumpy(),
                                  einops.rearrange(X, pattern, **named))


@pytest.mark.parametrize("operation", ["min", "max", "sum", "mean", "prod"])
def test_reduce(operation):
    np.testing.assert_allclose(
        einops.reduce(Tensor(X), "a (b d) c -> b d", operation, b=2).asnumpy(),
        einops.reduce(X, "a (b d) c -> b d", operation, b=2), rtol=1e-4)


def test_the_other_functions():
    t = Tensor(X)
    np.testing.assert_array_equal(einops.repeat(t, "a b c -> a k b (c l)", k=3, l=2).asnumpy(),
                                  einops.repeat(X, "a b c -> a k b (c l)", k=3, l=2))
    np.testing.assert_allclose(einops.einsum(t, t, "a b c, a d c -> b d").asnumpy(),
                               einops.einsum(X, X, "a b c, a d c -> b d"), rtol=1e-4)
    np.testing.assert_array_equal(einops.rearrange([t, t], "k a b c -> a k b c").asnumpy(),
                                  einops.rearrange([X, X], "k a b c -> a k b c"))
    packed, shapes = einops.pack([t, t], "a * c")
    assert packed.shape == (2, 8, 6)
    first, second = einops.unpack(packed, shapes, "a * c")
    np.testing.assert_array_equal(second.asnumpy(), X)
    assert einops.parse_shape(t, "a _ c") == {"a": 2, "c": 6}
    np.testing.assert_array_equal(einops.asnumpy(first), X)


def test_gradients_compiled():
    def loss(x):
        return (einops.reduce(x, "a b c -> b", "mean") ** 2).sum()

    expected = np.broadcast_to((2 * X.mean((0, 2)) / 12)[None, :, None], X.shape)
    for gradient in (ms.grad(loss), ms.jit(ms.grad(loss))):
        for _ in range(2):
            np.testing.assert_allclose(gradient(Tensor(X)).asnumpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("order", ["import einops, lamella as ms", "import lamella as ms, einops"])
def test_whichever_is_imported_first(order):
    program = f"{order}\nprint(einops.rearrange(ms.Tensor([[1, 2]]), 'a b -> b a').shape)"
    done = python("-c", program, bare=True)
    assert done.stdout == "(2, 1)\n", done.stderr
