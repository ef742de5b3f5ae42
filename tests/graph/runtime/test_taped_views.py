"""Results of compiled functions that are views stay views below eager gradients."""

import itertools

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


def all_of_the_first(call, z):
    parts = call(z)
    parts[0].add_(1)
    return parts


def all_of_the_second(call, z):
    parts = call(z)
    parts[1].mul_(3)
    return parts


def all_that_was_given(call, z):
    parts = call(z)
    z.mul_(2)
    return parts


@pytest.mark.parametrize("change", [
    first, second, part_of_the_first, second_beside_its_part, what_was_given,
    part_of_what_was_given, all_of_the_first, all_of_the_second, all_that_was_given],
    ids=lambda change: change.__name__)
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


LAYOUTS = {
    "repeated": lambda x: ops.broadcast_to(x[:1], (3,)), "with gaps": lambda x: x[::2],
    "in the middle": lambda x: x[1:4], "a column": lambda x: x.reshape(3, 2).T[1],
    "repeated rows": lambda x: ops.broadcast_to(x[:3], (2, 3)),
    "turned": lambda x: x.reshape(3, 2).T}


@pytest.mark.filterwarnings("ignore:.*whose elements share memory")
@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("function", [
    lambda x: (x[1:], x * 2), lambda x: (x.reshape(-1), x[:1] * 3), lambda x: (x.T, x[..., ::2]),
    lambda x: (ops.broadcast_to(x, (2, *x.shape)), x[0])], ids=range(4))
def test_views_of_arguments_in_any_layout(function, name):
    def gradients(call, number):
        x = LAYOUTS[name](ms.Tensor(array(6, seed=number)))
        return ms.value_and_grad(lambda x: sum([
            (part * ops.arange(part.size).reshape(part.shape)).sum() for part in call(x)]))(x)

    call = jit(function)
    for number in range(3):
        assert_alike(gradients(call, number), gradients(function, number))


def number_of(x):
    return x * 2 if x.is_complex() else ops.Complex()(x, x * 2)


@pytest.mark.parametrize("function", [
    lambda x: (c := number_of(x), ops.real(c)), lambda x: (c := number_of(x), ops.imag(c)[1:]),
    lambda x: (c := number_of(x), ops.view_as_real(c)), lambda x: (ops.real(x), ops.imag(x)),
    lambda x: (c := number_of(x), ops.conj(c)), lambda x: (ops.real(c := number_of(x)), ops.imag(c))
    ], ids=range(6))
@pytest.mark.parametrize("change, is_complex", [
    (first, False), *itertools.product([None, all_of_the_first, all_of_the_second], [False, True])])
@pytest.mark.filterwarnings("ignore:.*(share memory|another type)")
def test_parts_of_complex_numbers(function, change, is_complex):
    def gradients(call, number):
        def loss(x):
            z = x * 1
            parts = call(z) if change is None else change(call, z)
            return sum([(ops.abs(part) ** 2).sum() * (i + 2) for i, part in enumerate((z, *parts))])

        x = ms.Tensor(array(3, seed=number))
        return ms.value_and_grad(loss)(number_of(x) if is_complex else x)

    call = jit(function)
    for number in range(3):
        assert_alike(gradients(call, number), gradients(function, number))


def an_element(w, z):
    w[1] = z[2]


def all_elements(w, z):
    w.mul_(2)


def by_a_function(w, z):
    ops.assign(w, ops.stop_gradient(z * 3))


@pytest.mark.parametrize("change", [an_element, all_elements, by_a_function])
@pytest.mark.parametrize("view", [
    lambda w, x: (w[1:], x * w), lambda w, x: (w.reshape(3, 1), x + w),
    lambda w, x: (x * w, w[:2], w.T)], ids=range(3))
@pytest.mark.filterwarnings("ignore")
def test_views_of_a_parameter_that_is_written_to_afterwards(change, view):
    w = ms.Parameter(ms.Tensor(array(3)), name="w")

    def gradients(call, number):
        w.set_data(ms.Tensor(array(3, seed=number + 5)))

        def loss(x):
            parts = call(x)
            change(w, x)
            return sum([(part * part * (i + 2)).sum() for i, part in enumerate((w, *parts))])

        found = ms.value_and_grad(loss, 0, [w])(ms.Tensor(array(3, seed=number)))
        return found, w * 1

    call = jit(lambda x: view(w, x))
    for number in range(3):
        assert_alike(gradients(call, number), gradients(call.fn, number))
    assert call.report()["replays"] == 2


@pytest.mark.parametrize("function", [
    lambda x: (ops.exp(x), x * 2), lambda x: (ops.tanh(x), ops.tanh(x)),
    lambda x: (ops.softmax(x), x), lambda x: ((y := ops.sqrt(ops.abs(x))), y * y)], ids=range(4))
@pytest.mark.parametrize("change", [first, all_of_the_first, what_was_given, all_that_was_given])
def test_a_result_that_the_backward_pass_reads_is_changed(function, change):
    def gradients(call, number):
        def loss(x):
            z = x * 1
            return sum([(part * part).sum() for part in (*change(call, z), z)])

        return ms.value_and_grad(loss)(ms.Tensor(array(3, seed=number)))

    call = jit(function)
    for number in range(3):
        assert_alike(gradients(call, number), gradients(function, number))
