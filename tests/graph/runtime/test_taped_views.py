"""Results of compiled functions that are views stay views below eager gradients."""

import pytest

import lamella as ms
from lamella import jit, ops
from lamella import numpy as mnp

from .taped import array, assert_alike


def whole_and_part(x):
    y = x * 2
    return y, y[1:]


def two_parts(x):
    y = x * 2
    return y[:1], y[1:]


def overlapping(x):
    y = x * 2
    return y[:2], y[1:]


def twin(x):
    y = x * 2
    return y, y.view(3)


def two_shapes(x):
    y = x * 2
    return y.reshape(3, 1), y[1:]


def twins(x):
    y = x * 2
    return y.view(3), y.view(3), y[:2]


FUNCTIONS = [
    two_shapes, twins, whole_and_part, two_parts, overlapping, twin, lambda x: ((x * 2)[1:], x * 3),
    lambda x: (x[1:], x.reshape(3, 1)), lambda x: (x.reshape(3), x * 2),
    lambda x: (ops.stack([x, x * 2]).T, x[:1], x + 1)]


def first(call, z):
    parts = call(z)
    parts[0][0] = z[2]
    return parts


def second(call, z):
    parts = call(z)
    parts[1][0] = z[2] * 3
    return parts


def part_of_the_first(call, z):
    parts = call(z)
    part = parts[0][:1]
    part[0] = 5.0
    return *parts, part


def second_beside_its_part(call, z):
    parts = call(z)
    part = parts[1][:1]
    parts[1][0] = z[2]
    return *parts, part


def what_was_given(call, z):
    parts = call(z)
    z[1] = z[0] * 3
    return parts


def part_of_what_was_given(call, z):
    parts = call(z)
    z[1:][0] = z[0] * 3
    return parts


@pytest.mark.parametrize("change", [
    first, second, part_of_the_first, second_beside_its_part, what_was_given,
    part_of_what_was_given], ids=lambda change: change.__name__)
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.filterwarnings("ignore:.*share memory")
def test_what_is_changed_in_place_afterwards(function, change):
    def gradients(call, number):
        def loss(x):
            z = x * 1
            parts = change(call, z)
            return sum([(part * part * (i + 2)).sum() for i, part in enumerate((z, *parts))])

        return ms.value_and_grad(loss)(ms.Tensor(array(3, seed=number)))

    call = jit(function)
    for number in range(3):
        assert_alike(gradients(call, number), gradients(function, number))
    assert call.report()["replays"] == (0 if function is overlapping else 2)


def product(call):
    return lambda x: (lambda y, part: part * part * y[:2])(*call(x))


@pytest.mark.parametrize("derive", [
    ms.jacrev, ms.jacfwd, lambda f: lambda x: ms.vmap(ms.vjp(f, x)[1])(mnp.eye(2)),
    lambda f: ms.hessian(lambda x: f(x).sum())])
def test_derivatives_of_views(derive):
    call = jit(whole_and_part)
    for number in range(3):
        x = ms.Tensor(array(3, seed=number))
        assert_alike(derive(product(call))(x), derive(product(whole_and_part))(x))


def test_a_part_behind_a_hook_stays_eager():
    def function(x):
        return ops.InsertGradientOf(lambda g: g * 2 + 1)(x)[1:]

    call = jit(function)
    with pytest.warns(UserWarning, match="returns a part of a Tensor, and registers a hook"):
        for number in range(3):
            x = ms.Tensor(array(3, seed=number))
            assert_alike(ms.grad(lambda x: call(x * 2).sum())(x),
                         ms.grad(lambda x: function(x * 2).sum())(x))


def test_parts_that_share_memory_stay_eager():
    with pytest.warns(UserWarning, match="returns parts of a Tensor that share memory"):
        ms.grad(lambda x: jit(overlapping)(x)[0].sum())(ms.Tensor(array(3)))
