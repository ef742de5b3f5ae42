"""Numbers that vary as arguments of kernels: the same as the number itself gives."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, jit, mint, ops
from lamella.graph.tracing.scalar_kernels import MOST

FLOATS = (0.1, 1.7, -2.3, 0.7, 1e-3)
WHOLE = (2, 3, -5, 7, 1)
VALUES = [[0.5, 1.25, -3.0], [2.0, 0.1, 7.0]]


def arithmetic(x, n):
    return (x + n, n + x, x - n, n - x, x * n, n * x, x / n, x < n, x <= n, x > n, x >= n, x == n,
            x != n, n < x, n >= x, x % n, n % x)


def other_kernels(x, n):
    return (ops.maximum(x, n), ops.minimum(n, x), ops.where(x > 1, x, n), ops.where(x > 1, n, x),
            ops.masked_fill(x, x > 1, n), ops.clamp(x, -abs(n), abs(n)), ops.clamp(x, -1, abs(n)),
            ops.clamp(x, None, n), ops.clamp(x, 0.0, abs(n)), ops.full_like(x, n),
            ops.full((2,), n, dtype=x.dtype), mint.clamp(x, max=n), ops.cast(n, ms.float32),
            x.fill_(n) * 1)


def same(fn, x, given, rtol=0.0):
    """The report of a function that gives, compiled, what it gives eagerly."""
    compiled = jit(fn)
    for n in given:
        found, wanted = compiled(x.copy(), n), fn(x.copy(), n)
        for a, b in zip(*[f if isinstance(f, tuple) else (f,) for f in (found, wanted)],
                        strict=True):
            assert a.dtype is b.dtype and a.shape == b.shape
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=rtol)
    report = compiled.report()
    assert not report["eager"]
    return report


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("kind, given", [
    (ms.float32, FLOATS), (ms.float32, WHOLE), (ms.float64, FLOATS), (ms.float16, FLOATS),
    (ms.int32, WHOLE), (ms.int64, FLOATS), (ms.bool_, WHOLE)])
def test_arithmetic_with_a_number(kind, given, rank):
    x = Tensor(VALUES[0] if rank else VALUES[0][1]).astype(kind)
    # kernels compute otherwise with two tensors of one element and 16 bits
    assert same(arithmetic, x, given)["traces"] == (5 if kind is ms.float16 and not rank else 2)


@pytest.mark.parametrize("kind, given, traces", [
    (ms.float32, FLOATS, 2), (ms.float32, WHOLE, 2), (ms.float16, FLOATS, 2), (ms.int32, WHOLE, 5),
    (ms.int32, FLOATS, 5)])
def test_other_kernels_with_a_number(kind, given, traces):
    assert same(other_kernels, Tensor(VALUES).astype(kind), given)["traces"] == traces


@pytest.mark.parametrize("use, kind, given, traces", [
    (lambda x, n: x ** n, ms.float32, FLOATS, 2), (lambda x, n: n ** x, ms.int32, (2, 3, 5, 7), 2),
    (lambda x, n: x ** n, ms.int32, (2, 3, 4, 5), 2), (lambda x, n: x ** n, ms.int32, WHOLE, 3),
    (lambda x, n: ops.pow(x, n), ms.int32, WHOLE, 3), (lambda x, n: x ** n, ms.int32, FLOATS, 2),
    (lambda x, n: ops.pow(x, n), ms.float32, (2, 3, -1, -2), 2),
    (lambda x, n: ops.pow(n, x), ms.float32, (2, 3, 1.5, 4), 3),
    (lambda x, n: ops.lerp(x, x * 2, n), ms.float32, FLOATS, 2),
    (lambda x, n: ops.full((2,), n), ms.float32, FLOATS, 5),
    (lambda x, n: mint.full((2,), n), ms.float32, FLOATS, 2),
    (lambda x, n: ops.full((2,), n, dtype=ms.int32), ms.float32, FLOATS, 5),
    (lambda x, n: x * n, ms.complex64, FLOATS, 5),
    (lambda x, n: x.mul_(n) * 1, ms.float32, FLOATS, 5),
    (lambda x, n: ops.full_like(x, n), ms.complex64, WHOLE, 2),
    (lambda x, n: ops.full_like(x, n), ms.complex64, FLOATS, 5),
    (lambda x, n: ops.full((n, 2), n), ms.float32, (1, 2, 3, 4), 4)], ids=range(17))
def test_which_kernels_take_a_number_that_varies(use, kind, given, traces):
    assert same(use, Tensor([0.0, 1.25, -3.0]).astype(kind), given, 1e-6)["traces"] == traces


@pytest.mark.parametrize("use", [
    lambda x, n: x / n, lambda x, n: (x < n, n >= x, x == n), lambda x, n: x ** n,
    lambda x, n: (x + n, n - x, x * n, x % n), lambda x, n: ops.maximum(x, n)])
def test_negative_numbers_beside_a_type_without_a_sign(use):
    given = (2, 3, -5, 7, -1, 1, 250)
    assert same(use, Tensor([0, 1, 253], ms.uint8), given, 1e-6)["traces"] <= 4


@pytest.mark.parametrize("given, traces", [
    ((MOST - 2, MOST - 1, MOST, 5), 2), ((MOST + 1, MOST + 2, MOST + 3, MOST + 4), 4),
    ((-MOST - 1, -MOST - 3, -MOST - 2, -MOST - 5), 4)])
@pytest.mark.parametrize("kind", [ms.float32, ms.int64, ms.float64])
def test_large_whole_numbers_are_exact(kind, given, traces):
    report = same(lambda x, n: (x + n, x * n, n - x, x < n), Tensor([3, 5], kind), given)
    assert report["traces"] == traces


def test_the_type_of_a_result_is_that_of_the_number():
    compiled = jit(lambda x, n: mint.full((2,), n) + x)
    for n in (1, 2, 3, 0.5, 1.5, 2.5, True):
        found, wanted = compiled(Tensor([1, 2]), n), mint.full((2,), n) + Tensor([1, 2])
        assert found.dtype is wanted.dtype and found.tolist() == wanted.tolist()
