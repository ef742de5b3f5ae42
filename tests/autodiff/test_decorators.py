"""`custom_vjp` and `custom_jvp`: the user's rule, in every transformation."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops


def close(found, wanted):
    np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-5, atol=1e-6)


def by_vjp(factor=1.0):
    @ms.custom_vjp
    def cubed(x):
        return x**3

    cubed.defvjp(lambda x: (x**3, {"x": x}), lambda kept, g: (factor * g * 3 * kept["x"] ** 2,))
    return cubed


def by_jvp(factor=1.0):
    @ms.custom_jvp
    def cubed(x):
        return x**3

    @cubed.defjvp
    def rule(primals, tangents):
        (x,), (dx,) = primals, tangents
        return x**3, factor * 3 * x**2 * dx

    assert callable(rule)
    return cubed


TRANSFORMATIONS = [
    ms.grad, ms.jacrev, ms.jacfwd, lambda f: ms.hessian(lambda x: f(x).sum()),
    lambda f: ms.grad(ms.grad(lambda x: f(x).sum())), lambda f: ms.vmap(ms.grad(f)),
    lambda f: ms.vmap(ms.grad(ms.grad(f))), lambda f: ms.jit(ms.grad(f)),
    lambda f: lambda x: ms.jvp(f, x, x)[1], lambda f: lambda x: ms.vjp(f, x)[1](x)[0],
    lambda f: lambda x: ms.grad(lambda x: ms.jvp(f, x, x)[1].sum())(x)]


@pytest.mark.parametrize("make", [by_vjp, by_jvp])
@pytest.mark.parametrize("bend", TRANSFORMATIONS)
def test_a_right_rule_changes_nothing(make, bend):
    x = Tensor([1.0, -2.0, 3.0])
    close(bend(make())(x), bend(lambda x: x**3)(x))


@pytest.mark.parametrize("make", [by_vjp, by_jvp])
@pytest.mark.parametrize("bend", [ms.grad, ms.jacfwd, lambda f: ms.vmap(ms.grad(f))])
def test_the_rule_is_what_counts(make, bend):
    x = Tensor([1.0, -2.0, 3.0])
    close(bend(make(10.0))(x), 10 * bend(lambda x: x**3)(x))


def test_arguments_that_are_not_differentiated():
    def apply(fn, x, count):
        for _ in range(count):
            x = fn(x)
        return x

    one = ms.custom_vjp(apply, nondiff_argnums=(0, 2))
    one.defvjp(lambda fn, x, count: (apply(fn, x, count), x),
               lambda fn, count, x, g: (g * count,))
    other = ms.custom_jvp(apply, nondiff_argnums=(0, 2))
    other.defjvp(lambda fn, count, primals, tangents: (apply(fn, primals[0], count),
                                                       tangents[0] * count))
    for f in (one, other):
        value, gradient = ms.value_and_grad(lambda x, f=f: f(ops.sin, x, 3))(Tensor([1.0, 2.0]))
        close(value, apply(ops.sin, Tensor([1.0, 2.0]), 3))
        close(gradient, Tensor([3.0, 3.0]))


def test_structures_and_several_results():
    @ms.custom_vjp
    def both(p, y):
        return {"sum": p["a"] + p["b"], "product": p["a"] * y}

    both.defvjp(lambda p, y: (both(p, y), (p, y)),
                lambda kept, g: ({"a": g["sum"] + g["product"] * kept[1], "b": g["sum"]}, None))
    p = {"a": Tensor(2.0), "b": Tensor(3.0)}
    by_p, by_y = ms.grad(lambda p, y: both(p, y)["sum"] * 2 + both(p, y)["product"], (0, 1))(
        p, Tensor(5.0))
    assert (float(by_p["a"]), float(by_p["b"]), float(by_y)) == (7.0, 2.0, 0.0)


def test_errors_name_the_rule():
    plain = ms.custom_vjp(lambda x: x)
    assert float(plain(Tensor(1.0))) == 1.0
    with pytest.raises(RuntimeError, match="defvjp"):
        ms.grad(plain)(Tensor(1.0))
    plain.defvjp(lambda x: (x, None), lambda kept, g: g)
    with pytest.raises(ValueError, match="a tuple of 1 gradients"):
        ms.grad(plain)(Tensor(1.0))
    with pytest.raises(RuntimeError, match="defjvp"):
        ms.grad(ms.custom_jvp(lambda x: x))(Tensor(1.0))
    with pytest.raises(TypeError, match="'fn' must be a function"):
        ms.custom_jvp(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="nondiff_argnums"):
        ms.custom_vjp(lambda x: x, nondiff_argnums=(-1,))
