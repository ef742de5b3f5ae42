"""Gradients where PyTorch's kernel has none, or ends the process."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

X, Y = np.array([[-0.8, 1.2], [0.1, 3.0]]), np.array([[0.3, 0.8], [1.0, 0.0]])
FACTORS = np.array([2.0, 3.0])
CASES = [
    (lambda w: ops.binary_cross_entropy_with_logits(Tensor(X), Tensor(Y), w), FACTORS),
    (lambda w: ops.binary_cross_entropy_with_logits(Tensor(X), Tensor(Y), None, w, "sum"), FACTORS),
    (lambda x: ops.binary_cross_entropy_with_logits(x, Tensor(Y), Tensor(FACTORS),
                                                    Tensor(FACTORS)), X),
    (lambda q: ops.zeta(Tensor([2.0, 3.5], ms.float64), q).sum(), FACTORS),
    (lambda x: ops.zeta(x, Tensor(FACTORS)).sum(), np.array([2.0, 3.5])),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_beside_differences(case: int) -> None:
    function, at = CASES[case]
    found = ms.grad(function)(Tensor(at)).asnumpy()
    step, want = 1e-6, np.zeros_like(at)
    for place in np.ndindex(*at.shape):
        more, less = at.copy(), at.copy()
        more[place] += step
        less[place] -= step
        want[place] = (function(Tensor(more)).item() - function(Tensor(less)).item()) / (2 * step)
    np.testing.assert_allclose(found, want, rtol=2e-5, atol=1e-7)


def test_values_with_weights_are_the_same_inside_of_grad() -> None:
    weights = Tensor(FACTORS)

    def loss(w: Tensor) -> Tensor:
        return ops.binary_cross_entropy_with_logits(Tensor(X), Tensor(Y), w, w)

    np.testing.assert_allclose(ms.value_and_grad(loss)(weights)[0].item(), loss(weights).item())


def test_weights_of_a_count() -> None:
    def total(w: Tensor) -> Tensor:
        return (ops.bincount(Tensor([1, 2, 2, 0]), w) * Tensor([1.0, 2.0, 3.0])).sum()

    assert ms.grad(total)(Tensor([1.0, 2.0, 3.0, 4.0])).tolist() == [2.0, 3.0, 3.0, 1.0]


@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16])
@pytest.mark.parametrize("function", [ops.bessel_i0, ops.bessel_i0e, ops.bessel_i1, ops.bessel_i1e])
def test_narrow_types(function: object, dtype: object) -> None:
    found = ms.grad(function)(Tensor([1.0, 2.0], dtype))
    want = ms.grad(function)(Tensor([1.0, 2.0]))
    assert found.dtype == dtype
    np.testing.assert_allclose(found.float().asnumpy(), want.asnumpy(), rtol=1e-2)


@pytest.mark.parametrize(("function", "shape"), [
    (lambda x: ops.pdist(x, p=2.0), (0, 2)), (lambda x: ops.pdist(x, p=1.0), (1, 3)),
    (lambda x: ops.pixel_shuffle(x, 2), (0, 4, 3, 3))])
def test_of_no_elements(function: object, shape: tuple[int, ...]) -> None:
    empty = Tensor(np.zeros(shape, np.float32))
    assert ms.grad(function)(empty).shape == shape


def test_running_statistics_have_the_gradient_0() -> None:
    x, one = Tensor(X), Tensor(np.array([1.0, 2.0]))

    def total(x: Tensor, mean: Tensor, var: Tensor) -> Tensor:
        return (ops.batch_norm(x, mean, var, one, one) * x).sum()

    by_x, by_mean, by_var = ms.grad(total, (0, 1, 2))(x, one, one)
    np.testing.assert_allclose(by_x.asnumpy(), ms.grad(total)(x, one, one).asnumpy())
    assert by_mean.tolist() == by_var.tolist() == [0.0, 0.0]


def test_checks_of_numbers_see_all_examples() -> None:
    check = ops.CheckNumerics()
    assert ms.vmap(check)(Tensor(X)).tolist() == X.tolist()
    with pytest.raises(RuntimeError, match="infinite or nan"):
        ms.vmap(check)(Tensor(np.where(X > 2, np.inf, X)))
