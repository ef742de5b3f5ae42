"""Derivatives at points where PyTorch's formulas are 0 times infinity, or 0 by 0."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

X = Tensor([0.0, 1e-9, 0.01, -0.05, 1.5], ms.float64)
EXPONENTS = Tensor([0.0, 1.0, 2.0, 3.0], ms.float64)
PI = np.pi


def sinc(order):
    """The derivatives of sin(pi x) / (pi x), as the integral of cos(pi x t) from 0 to 1."""
    places, weights = np.polynomial.legendre.leggauss(60)
    places, weights = (places + 1) / 2, weights / 2
    waves = np.cos(PI * X.asnumpy()[:, None] * places + order * PI / 2)
    return (waves * (PI * places) ** order * weights).sum(1)


def monomials(order):
    k = EXPONENTS.asnumpy()
    factor = np.prod([k - i for i in range(order)], 0) if order else np.ones(4)
    return (factor * X.asnumpy()[:, None] ** np.maximum(k - order, 0)).sum(1)


MODES = {
    "grad": lambda f: ms.grad(lambda x: f(x).sum()),
    "jvp": lambda f: lambda x: ms.jvp(f, x, ops.ones_like(x))[1],
    "linearize": lambda f: lambda x: ops.linearize(f, x)[1](ops.ones_like(x)),
    "jacfwd": lambda f: lambda x: ms.jacfwd(f)(x).sum(0),
    "jacrev": lambda f: lambda x: ms.jacrev(f)(x).sum(0),
    "vmap": lambda f: ms.vmap(ms.grad(f)),
    "jit": lambda f: ms.jit(ms.grad(lambda x: f(x).sum())),
}
FUNCTIONS = {
    "sinc": (ops.sinc, sinc),
    "pow": (lambda x: ops.pow(x.expand_dims(-1), EXPONENTS).sum(-1), monomials),
    "**": (lambda x: (x.expand_dims(-1) ** EXPONENTS).sum(-1), monomials),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("second", MODES)
@pytest.mark.parametrize("first", MODES)
def test_derivatives_are_those_of_the_function(name, first, second):
    function, derivative = FUNCTIONS[name]
    slope = MODES[first](function)
    np.testing.assert_allclose(slope(X).asnumpy(), derivative(1), rtol=1e-8, atol=1e-8)
    if (first, second) != ("vmap", "vmap") and first != "jit":
        curve = MODES[second](slope)(X)
        np.testing.assert_allclose(curve.asnumpy(), derivative(2), rtol=1e-8, atol=1e-7)


@pytest.mark.parametrize("kind", [np.float64, np.int32, np.complex128])
def test_exponents_of_many_kinds(kind):
    k = np.array([0, 1, 2, 3]).astype(kind)
    for a in (X, Tensor(-X.asnumpy()[None].T)):
        if kind is np.complex128:
            a = a.astype(ms.complex128) + Tensor(0.5)
        base, exponent = a.expand_dims(-1) if a.ndim == 1 else a, Tensor(k)
        moved = ms.jvp(lambda a, e=exponent: ms.jvp(lambda a: a ** e, a, ops.ones_like(a))[1],
                       base, ops.ones_like(base))[1]
        want = k * (k - 1) * base.asnumpy() ** np.maximum(k.real - 2, 0)
        np.testing.assert_allclose(moved.asnumpy(), want, rtol=1e-12, atol=1e-12)
        if kind is not np.complex128:
            by_example = ms.vmap(ms.jacfwd(ms.grad(lambda a, e: (a ** e).sum())), (None, 0))(
                base, exponent)
            by_base = by_example.asnumpy().reshape(4, base.size, base.size)
            np.testing.assert_allclose(np.einsum("kii->ik", by_base), want, rtol=1e-12, atol=1e-12)


def test_powers_checked():
    a, b = Tensor([0.5, 1.0, 2.0]), Tensor([[0.5], [2.0]])
    ms.check_grads(lambda a, b: a ** b, a, b, order=3)
    ms.check_grads(lambda a: a ** Tensor([[3.0], [2.0]]), -a, order=3)


def test_by_the_exponent():
    base, exponent = Tensor([2.0, 3.0, 0.0, 1.5], ms.float64), Tensor([0.0, 1.0, 1.0, 2.5])
    _, by_exponent = ms.grad(lambda a, b: a ** b, (0, 1))(base, exponent.astype(ms.float64))
    np.testing.assert_allclose(by_exponent.asnumpy(), [np.log(2), 3 * np.log(3), 0, 1.5 ** 2.5
                                                       * np.log(1.5)], rtol=1e-12)


def test_values_do_not_depend_on_being_differentiated():
    x = Tensor(np.linspace(-3, 3, 601))
    for function in (ops.sinc, lambda x: x ** Tensor([0.0], ms.float64)):
        inside = ms.jvp(function, x, x)[0]
        np.testing.assert_allclose(inside.asnumpy(), function(x).asnumpy(), rtol=1e-13, atol=1e-16)
