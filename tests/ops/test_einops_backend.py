"""einops on Tensors: as on NumPy arrays, with gradients, compiled, whichever comes first."""

import importlib.util
import sys

import einops
import numpy as np
import pytest

import lamella as ms
from lamella import Tensor
from lamella.ops import einops_backend

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


def test_the_backend_comes_with_the_module_however_late(monkeypatch):
    """A finder waits for einops' module alone, and is gone once it has been found."""
    def waiting():
        return [each for each in sys.meta_path if isinstance(each, einops_backend._BackendsFinder)]

    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.delitem(sys.modules, "einops._backends")
    einops_backend.install()
    einops_backend.install()
    finder, = waiting()
    assert finder is sys.meta_path[0]
    assert finder.find_spec("einops.parsing", einops.__path__) is None and waiting() == [finder]
    spec = finder.find_spec("einops._backends", einops.__path__)
    assert spec.name == "einops._backends" and not waiting()
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "einops._backends", module)
    spec.loader.exec_module(module)
    assert [each.framework_name for each in module.AbstractBackend.__subclasses__()].count(
        "lamella") == 1
    assert module.get_backend(Tensor(X)).framework_name == "lamella"
    assert module.get_backend(X).framework_name == "numpy"


def test_there_is_no_backend_without_einops(monkeypatch):
    monkeypatch.setattr(sys, "meta_path", [einops_backend._BackendsFinder(), *sys.meta_path])
    assert sys.meta_path[0].find_spec("einops._backends", []) is None
