"""Products that are added to a tensor: factors, types, shapes that broadcast."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

RNG = np.random.default_rng(21)
CASES = {  # the added tensor and the factors; the product
    "addmm": (((2, 4), (2, 3), (3, 4)), lambda a, b: a @ b),
    "addbmm": (((2, 4), (5, 2, 3), (5, 3, 4)), lambda a, b: (a @ b).sum(0)),
    "baddbmm": (((5, 2, 4), (5, 2, 3), (5, 3, 4)), lambda a, b: a @ b),
    "addmv": (((2,), (2, 3), (3,)), lambda a, b: a @ b),
    "addr": (((2, 3), (2,), (3,)), lambda a, b: np.outer(a, b)),
}
FACTORS = [{}, {"beta": 3}, {"alpha": -2}, {"beta": 0, "alpha": 5}, {"beta": 4, "alpha": 0}]


@pytest.mark.parametrize("factors", [*FACTORS, {"beta": 0.5, "alpha": 1.5}])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", [np.float64, np.complex128])
def test_values(case, factors, kind):
    shapes, product = CASES[case]
    x, a, b = (RNG.standard_normal(s).astype(kind) for s in shapes)
    if kind is np.complex128:
        a, b = a * 1j + 1, b - 2j
    beta, alpha = factors.get("beta", 1), factors.get("alpha", 1)
    want = beta * x + alpha * product(a, b)
    call = getattr(ops, case)
    np.testing.assert_allclose(call(*map(Tensor, (x, a, b)), **factors).asnumpy(), want, atol=1e-12)
    method = getattr(Tensor(x), case)(Tensor(a), Tensor(b), **factors)
    np.testing.assert_allclose(method.asnumpy(), want, atol=1e-12)
    row = x[(0,) * (x.ndim - 1)] if x.ndim > 1 else x[0]
    found = call(*map(Tensor, (np.asarray(row), a, b)), **factors)
    np.testing.assert_allclose(found.asnumpy(), beta * row + alpha * product(a, b), atol=1e-12)


@pytest.mark.parametrize("factors", FACTORS)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", [ms.int8, ms.int32, ms.int64, ms.uint8])
def test_integers(case, factors, kind):
    shapes, product = CASES[case]
    least = 0 if kind is ms.uint8 and min(factors.values(), default=0) >= 0 else -3
    x, a, b = (RNG.integers(least, 3, s) for s in shapes)
    want = factors.get("beta", 1) * x + factors.get("alpha", 1) * product(a, b)
    if kind is ms.uint8 and least < 0:
        return
    found = getattr(ops, case)(*(Tensor(t, kind) for t in (x, a, b)), **factors)
    np.testing.assert_array_equal(found.asnumpy(), want)
    assert found.dtype is (ms.int64 if case == "addbmm" else kind)


def test_a_sum_of_products_beyond_float16_on_the_way():
    a, b = Tensor([[[250]], [[250]], [[-250]]], ms.float16), Tensor([[[250]]] * 3, ms.float16)
    assert ops.addbmm(Tensor([[0]], ms.float16), a, b).item() == np.float16(62500)


def test_factors_that_are_no_integers():
    x, a, b = ops.ones((2, 2), ms.int32), ops.ones((2, 3), ms.int32), ops.ones((3, 2), ms.int32)
    for factors, want in (({"beta": 0.5}, 3.5), ({"alpha": 0.5}, 2.5), ({"beta": 1.0}, 4.0)):
        found = ops.addmm(x, a, b, **factors)
        assert found.is_floating_point() and found.tolist() == [[want] * 2] * 2
        with pytest.raises(TypeError, match="'beta' and 'alpha' must be integers"):
            ops.baddbmm(x[None], a[None], b[None], **factors)
    assert ops.baddbmm(x[None] * 1.0, a[None] * 1.0, b[None] * 1.0, beta=0.5).tolist() == [
        [[3.5] * 2] * 2]


def test_batches_of_other_ranks():
    a, b = RNG.standard_normal((3, 5, 2, 4)), RNG.standard_normal((3, 5, 4, 6))
    x = RNG.standard_normal((5, 2, 6))
    found = ops.baddbmm(*map(Tensor, (x, a, b)), beta=2, alpha=3)
    np.testing.assert_allclose(found.asnumpy(), 2 * x + 3 * (a @ b))
    found = ops.addbmm(*map(Tensor, (x, a, b)), beta=2, alpha=3)
    np.testing.assert_allclose(found.asnumpy(), 2 * x + 3 * (a @ b).sum(0))


@pytest.mark.parametrize("kind", [ms.float16, ms.float32])
def test_in_place(kind):
    x, a, b = ops.ones((2, 2), kind), ops.ones((2, 3), kind), ops.ones((3, 2), kind)
    assert x.addmm_(a, b, beta=2, alpha=3) is x and x.dtype is kind
    assert x.tolist() == [[11, 11], [11, 11]]


def test_vectors_of_one_type():
    with pytest.raises(TypeError, match="'vec1' and 'vec2' must be of one type"):
        ops.addr(ops.ones((2, 2)), ops.ones(2), ops.ones(2, ms.float64))
