"""Rules and hooks before a compiled function run if what uses them is differentiated, below eager
gradients."""

import pytest

import lamella as ms
from lamella import Parameter, Tensor, jit, nn, ops

from .taped import array, assert_alike


class Constant(nn.Cell):
    def construct(self, x):
        return x * 1

    def bprop(self, x, out, dout):
        return (dout * 0 + 5,)


class Scaled(nn.Cell):
    def construct(self, x):
        return ops.relu(x + 5)


constant = Constant()


def registered(x):
    y = x * 1
    y.register_hook(lambda g: g * 2 + 1)
    return y, x * 2


def in_a_cell(x):
    cell = Scaled()
    cell.register_backward_hook(lambda cell, of_inputs, of_results: tuple(
        g * 2 + 1 for g in of_inputs))
    return cell(x), x * 2


@pytest.mark.parametrize("before", [
    lambda x: (constant(x), x * 2), registered, in_a_cell,
    lambda x: (ops.InsertGradientOf(lambda g: g * 2 + 1)(x), x * 2),
    lambda x: ops.InsertGradientOf(lambda g: (g[0] * 2 + 1, g[1] * 3 + 2))((x * 1, x * 2)),
    lambda x: (ops.igamma(ops.abs(constant(x)) + 1, Tensor(2.0)), x * 2),
    lambda x: (ops.matmul(constant(ops.stack([x, x])), ops.stack([x, x]).T).sum(0), x[:2]),
    lambda x: (ms.vmap(constant)(x), x * 2),
    lambda x: (ms.vmap(ms.vmap(constant))(ops.stack([x, x])), x * 2),
    lambda x: (ms.vmap(ops.InsertGradientOf(lambda g: g * 2 + 1))(x), x * 2),
    lambda x: ms.vmap(lambda v: ops.InsertGradientOf(lambda g: (g[0] * 2 + 1, g[1] * 3 + 2))(
        (v * 1, v * 2)))(x)])
def test_what_comes_before_a_result_that_is_not_differentiated(before):
    call = jit(lambda y, z: (y * 2, z * 3))
    for number in range(4):
        x = Tensor(array(3, seed=number))

        def loss(call, x, number=number):
            return call(*before(x))[number % 2].sum()

        assert_alike(ms.value_and_grad(lambda x: loss(call, x))(x),  # noqa: B023
                     ms.value_and_grad(lambda x: loss(call.fn, x))(x))  # noqa: B023
    assert call.report()["replays"] == 3


def test_hooks_of_weights_that_get_no_gradient():
    one, other = (Parameter(Tensor(array(3, seed=n)), name=f"w{n}") for n in range(2))
    one.register_hook(lambda g: g * 2 + 1)
    call = jit(lambda x: (x * one, x * other, ops.stop_gradient(one)))
    for number in range(6):
        x = Tensor(array(3, seed=number))
        found, wanted = (ms.grad(lambda x, f=f, i=number % 2: f(x)[i].sum(), 0, [one, other])(x)
                         for f in (call, call.fn))
        assert_alike(found, wanted)
