"""Backward passes of an accelerator's tensors, which PyTorch would run in a thread of its own."""

import threading
import warnings

import numpy as np
import pytest

import lamella as ms
from lamella import nn, ops
from lamella.autodiff.level import current
from tests.device.simulated import target
from tests.graph import random_programs

X = np.array([1.0, 2.0, 3.0], np.float32)


class Cubed(nn.Cell):
    """x³ with a rule of its own, whose derivative is taken as well."""

    seen: list = []

    def construct(self, x):
        return x * x * x

    def bprop(self, x, out, dout):
        Cubed.seen.append((threading.get_ident(), current()))
        return (3 * x * x * dout,)


def test_rules_and_hooks_run_in_the_thread_that_asks():
    Cubed.seen.clear()
    hooked = []
    x = ms.Tensor(X)

    def f(x):
        inner = x * 2
        inner.register_hook(lambda grad: hooked.append(threading.get_ident()))
        return Cubed()(inner).sum()

    second = ms.grad(lambda x: ms.grad(f)(x).sum())(x)
    assert second.device == target.PLACE
    np.testing.assert_allclose(second.asnumpy(), 48 * X)
    assert {ident for ident, _ in Cubed.seen} == {threading.get_ident()} == set(hooked)
    assert any(level is not None for _, level in Cubed.seen)


@pytest.mark.parametrize("number", [30, 50])
def test_random_programs_inside_of_a_gradient(number):
    warnings.simplefilter("ignore")  # some run eagerly, and say so
    random_programs.check(number, inside=True)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_every_derivative_of_recurrent_layers(kind):
    net = getattr(nn, kind)(3, 4)
    weights = [p.asnumpy() for p in net.get_parameters()]
    numbers = np.random.default_rng(0).standard_normal((5, 2, 3)).astype(np.float32)
    found = {}
    for device in (target.NAME, "CPU"):
        ms.set_device(device)
        net = getattr(nn, kind)(3, 4)
        for parameter, value in zip(net.get_parameters(), weights, strict=True):
            parameter.set_data(ms.Tensor(value))
        x = ms.Tensor(numbers)

        def f(x, net=net):
            return (net(x)[0] ** 2).sum()

        found[device] = [t.asnumpy() for t in (
            f(x), ms.grad(f)(x), ms.grad(lambda x: (ms.grad(f)(x) ** 2).sum())(x),
            ms.jvp(f, x, ops.ones_like(x))[1], ms.jit(ms.grad(f))(x))]
    for here, there in zip(*found.values(), strict=True):
        np.testing.assert_allclose(here, there, rtol=2e-3, atol=2e-4)  # cuDNN may round to tf32


def test_integers():
    x, zero = ms.Tensor([7, -7, 0], ms.int32), ms.Tensor(0, ms.int32)
    assert (x // zero).tolist() == (x // 0).tolist() == [2**31 - 1, -2**31, 0]
    assert ops.remainder(x, 0).tolist() == ops.fmod(x, zero).tolist() == [7, -7, 0]
    assert (x // 2).tolist() == [3, -4, 0] and (x % ms.Tensor([2, 2, 0])).tolist()[:2] == [1, 1]
    a = np.arange(-6, 6, dtype=np.int32).reshape(3, 4)
    assert (ms.Tensor(a) @ ms.Tensor(a.T)).tolist() == (a @ a.T).tolist()
    assert ms.ops.mv(ms.Tensor(a), ms.Tensor(a[0])).tolist() == (a @ a[0]).tolist()
    assert ms.numpy.convolve([1, 2, 3], [0, 1, 5]).tolist() == [0, 1, 7, 13, 15]
