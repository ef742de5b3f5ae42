"""`custom_vjp` and `custom_jvp`: the user's rule, in every transformation."""

import functools

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


def scaled_power(count, x, factor):
    return factor * x ** count


@pytest.mark.parametrize("places", [(0, 2), (2, 0), [2, 0], (2, 0, 2)], ids=str)
def test_rules_take_fixed_arguments_in_the_order_in_which_they_are_named(places):
    def ordered(given):
        count, factor = (given[tuple(places).index(place)] for place in (0, 2))
        return count, factor

    def backward(*given):
        count, factor = ordered(given)
        x, gradient = given[len(places):]
        return (gradient * factor * count * x ** (count - 1),)

    def rule(*given):
        (count, factor), ((x,), (dx,)) = ordered(given), given[len(places):]
        return scaled_power(count, x, factor), dx * factor * count * x ** (count - 1)

    one, other = ms.custom_vjp(scaled_power, places), ms.custom_jvp(scaled_power, places)
    one.defvjp(lambda count, x, factor: (scaled_power(count, x, factor), x), backward)
    other.defjvp(rule)
    x = Tensor([1.0, 2.0])
    for f in (one, other):
        for way in (ms.value_and_grad, lambda f: lambda x: ms.jvp(f, x, ops.ones(2)),
                    lambda f: ms.vmap(ms.value_and_grad(f))):
            value, slope = way(lambda x, f=f: f(3, x, 10.0))(x)
            close(value, 10 * x ** 3)
            close(slope, 30 * x ** 2)
        assert f(3, x, 10.0).tolist() == [10.0, 80.0]


class Line:
    factor = 3.0

    @ms.custom_vjp
    def plain(self, x):
        return self.factor * x

    @functools.partial(ms.custom_vjp, nondiff_argnums=(0,))
    def method(self, x):
        return self.factor * x

    method.defvjp(lambda self, x: (self.factor * x, None), lambda self, kept, g: (g * 7,))


def test_rules_of_methods():
    assert Line.plain is vars(Line)["plain"] and Line.method.nondiff_argnums == (0,)
    assert float(Line().plain(Tensor(2.0))) == 6.0
    assert float(ms.grad(Line().method)(Tensor(2.0))) == 7.0
    assert float(ms.jvp(Line().method, Tensor(2.0), Tensor(10.0))[1]) == 70.0


@pytest.mark.parametrize("bend", [
    lambda f: ms.grad(lambda x: f(x)["value"]), lambda f: ms.vmap(ms.grad(lambda x: f(x)["value"])),
    lambda f: lambda x: ms.jvp(f, x, ops.ones_like(x))[1]["value"],
    lambda f: lambda x: ms.vmap(lambda x: ms.jvp(f, x, ops.ones_like(x))[1]["value"])(x),
    lambda f: ms.grad(lambda x: ms.grad(lambda x: f(x)["value"])(x) * x)])
def test_results_of_integers_beside_others(bend):
    def plain(x):
        return {"place": (x * 2).astype(ms.int32), "value": x ** 3}

    seen = []
    one, other = ms.custom_vjp(plain), ms.custom_jvp(plain)
    one.defvjp(lambda x: (plain(x), x), lambda x, g: (
        seen.append(g["place"]) or g["value"] * 3 * x ** 2,))
    other.defjvp(lambda primals, tangents: (plain(primals[0]), {
        "place": None, "value": tangents[0] * 3 * primals[0] ** 2}))
    x = Tensor([1.0, 2.0])
    for f in (one, other):
        close(bend(f)(x), bend(plain)(x))
    assert seen and all(place.dtype is ms.int32 for place in seen)


def test_a_tangent_of_none_is_zero():
    @ms.custom_jvp
    def both(x, i):
        return x * x, x * i

    both.defjvp(lambda primals, tangents: (both(*primals), (tangents[0] * 5, None)))
    x, i = Tensor([1.0, 2.0]), Tensor([2, 3])
    _, (first, second) = ms.jvp(lambda x: both(x, i), x, x)
    assert first.tolist() == [5.0, 10.0] and second.tolist() == [0.0, 0.0]
    assert ms.grad(both)(x, i).tolist() == [5.0, 5.0]


@pytest.mark.parametrize("numbers", [(-1,), (True,), (1.0,), ("0",), (0, None)], ids=str)
def test_positions_that_are_none(numbers):
    for kind in (ms.custom_vjp, ms.custom_jvp):
        with pytest.raises(ValueError, match=f"For '{kind.__name__}', 'nondiff_argnums' must hold"):
            kind(lambda x: x, nondiff_argnums=numbers)


@pytest.mark.parametrize("result, message", [
    (lambda g: [g], None), (lambda g: (g, g), "must return a tuple of 1 gradients"),
    (lambda g: (), "must return a tuple of 1 gradients"), (lambda g: g, "a tuple of 1 gradients"),
    (lambda g: ({"b": g},), "must return the structure of what it is for, a dict"),
    (lambda g: (g,), "must return the structure of what it is for, a dict")])
def test_what_a_rule_returns(result, message):
    f = ms.custom_vjp(lambda p: p["a"] if isinstance(p, dict) else p)
    f.defvjp(lambda p: (f(p), None), lambda kept, g: result(g))
    given = {"a": Tensor(1.0)} if message and "dict" in message else Tensor(1.0)
    if message is None:
        assert float(ms.grad(f)(given)) == 1.0
    else:
        with pytest.raises(ValueError, match=message):
            ms.grad(f)(given)


def test_numbers_for_parts_of_other_shapes_and_types():
    f = ms.custom_vjp(lambda p, y: (p["a"].sum() + p["b"].sum().astype(ms.float32)) * y)
    f.defvjp(lambda p, y: (f(p, y), None), lambda kept, g: ({"a": 2.0, "b": 3.0}, 5))
    p = {"a": Tensor([1.0, 2.0]), "b": Tensor(np.ones((1, 3)))}
    by_p, by_y = ms.grad(f, (0, 1))(p, Tensor(7.0))
    assert by_p["a"].tolist() == [2.0, 2.0] and by_p["a"].dtype is ms.float32
    assert by_p["b"].tolist() == [[3.0, 3.0, 3.0]]
    assert by_p["b"].dtype is ms.float64 and float(by_y) == 5.0


def test_what_the_rule_keeps_is_made_once_where_no_second_derivative_is_asked_for():
    calls = []
    f = ms.custom_vjp(lambda x: x ** 3)
    f.defvjp(lambda x: (calls.append(1) or x ** 3, x), lambda x, g: (g * 3 * x ** 2,))
    assert ms.grad(f)(Tensor([1.0, 2.0])).tolist() == [3.0, 12.0] and len(calls) == 1
    assert ms.grad(ms.grad(f))(Tensor([1.0, 2.0])).tolist() == [6.0, 12.0] and len(calls) > 2
