"""Activations of several pieces: values, and gradients by kernels and by slopes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, ops
from lamella.tensors.tensor import wrap

KINKS = {"relu6": (0.0, 6.0), "leaky_relu": (0.0,), "hardswish": (-3.0, 3.0),
         "hardsigmoid": (-3.0, 3.0), "selu": (0.0,)}


def _around(kinks: tuple[float, ...], dtype: torch.dtype) -> torch.Tensor:
    """Numbers of all sizes, the kinks and their neighbours."""
    wide = torch.linspace(-12, 12, 4001, dtype=torch.float64)
    limits = torch.finfo(dtype)
    small = torch.tensor([limits.tiny, limits.tiny * limits.eps, limits.eps], dtype=torch.float64)
    steps = torch.arange(-3, 4, dtype=torch.float64) * limits.eps
    near = [kink + max(abs(kink), 1.0) * 2 * steps for kink in kinks]
    ends = torch.tensor([-limits.max, limits.max], dtype=torch.float64)
    return torch.cat([wide, small, -small, -0.0 * small, *near, ends]).to(dtype)


@pytest.mark.parametrize("name", KINKS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_gradients_by_kernels_are_those_by_slopes(name, dtype):
    function, x = getattr(ops, name), _around(KINKS[name], dtype)
    gradient = torch.linspace(-2, 2, len(x)).to(dtype)
    fast = ms.grad(lambda x: (function(x) * wrap(gradient)).sum())(wrap(x))._raw
    with_derivatives = x.clone().requires_grad_()
    slow, = torch.autograd.grad(function(wrap(with_derivatives))._raw, with_derivatives,
                                gradient.clone().requires_grad_(), create_graph=True)
    unit = torch.finfo(dtype).eps
    torch.testing.assert_close(fast, slow.detach(), rtol=4 * unit, atol=4 * unit)


@pytest.mark.parametrize("name", KINKS)
def test_gradients_compiled_and_of_each_example(name):
    function = getattr(ops, name)
    x = wrap(_around(KINKS[name], torch.float32)[:4000].view(4, 1000))
    gradient = ms.grad(lambda x: function(x).sum())
    wanted = gradient(x)._raw
    compiled = ms.jit(gradient)
    for _ in range(3):
        torch.testing.assert_close(compiled(x)._raw, wanted, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(ms.vmap(gradient)(x)._raw, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0, 2.5, -0.5])
def test_leaky_relu_with_any_slope(alpha):
    x = ms.Tensor([-2.0, -0.0, 0.0, 1e-44, -1e-44, 3.0])
    slope = ms.grad(lambda x: ops.leaky_relu(x, alpha).sum())(x)
    middle = (1 + alpha) / 2
    wanted = torch.tensor([alpha, middle, middle, 1.0, alpha, 1.0])
    torch.testing.assert_close(slope._raw, wanted)


X = np.array([-9.0, -3.5, -3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 6.0, 6.5])
WHOLE = np.array([-9, -3, -2, -1, 0, 1, 2, 3, 6, 7])


def slopes(function):
    return ms.grad(lambda x: function(x).sum())(Tensor(X)).asnumpy()


CASES = {
    "relu": (ops.relu, lambda x: x * (x > 0), lambda x: x > 0),
    "relu6": (ops.relu6, lambda x: x.clip(0, 6), lambda x: (x > 0) & (x <= 6)),
    "leaky_relu": (ops.leaky_relu, lambda x: np.where(x < 0, 0.2 * x, x),
                   lambda x: np.where(x < 0, 0.2, np.where(x > 0, 1, 0.6))),
    "leaky_relu of a steep slope": (
        lambda x: ops.leaky_relu(x, 3), lambda x: np.where(x < 0, 3 * x, x),
        lambda x: np.where(x < 0, 3, np.where(x > 0, 1, 2))),
    "hardsigmoid": (ops.hardsigmoid, lambda x: (x / 6 + 0.5).clip(0, 1),
                    lambda x: (abs(x) < 3) / 6),
    "hardswish": (ops.hardswish, lambda x: x * (x / 6 + 0.5).clip(0, 1),
                  lambda x: np.where(x < -3, 0, np.where(x > 3, 1, x / 3 + 0.5))),
    "hardtanh": (ops.hardtanh, lambda x: x.clip(-1, 1),
                 lambda x: np.where(abs(x) < 1, 1, np.where(abs(x) > 1, 0, 0.5))),
    "hardtanh between others": (
        lambda x: ops.hardtanh(x, -2, 6), lambda x: x.clip(-2, 6),
        lambda x: ((x > -2) & (x < 6)) + 0.5 * ((x == -2) | (x == 6))),
    "hardtanh of one number": (lambda x: ops.hardtanh(x, 1, 1), lambda x: x.clip(1, 1), None),
    "hardshrink": (ops.hardshrink, lambda x: x * (abs(x) > 0.5), lambda x: abs(x) > 0.5),
    "hardshrink beyond another": (lambda x: ops.hardshrink(x, 2.0), lambda x: x * (abs(x) > 2),
                                  lambda x: abs(x) > 2),
    "softshrink": (ops.softshrink, lambda x: np.sign(x) * np.maximum(abs(x) - 0.5, 0),
                   lambda x: abs(x) > 0.5),
    "softshrink by another": (lambda x: ops.softshrink(x, 2.0),
                              lambda x: np.sign(x) * np.maximum(abs(x) - 2, 0),
                              lambda x: abs(x) > 2),
    "threshold": (lambda x: ops.threshold(x, 1, 20), lambda x: np.where(x > 1, x, 20),
                  lambda x: x > 1),
    "rrelu of one slope": (lambda x: ops.rrelu(x, 0.25, 0.25), lambda x: np.where(x < 0, x / 4, x),
                           lambda x: np.where(x < 0, 0.25, x > 0)),
}


@pytest.mark.parametrize("name", CASES)
def test_pieces_and_their_slopes(name):
    function, value, slope = CASES[name]
    np.testing.assert_allclose(function(Tensor(X)).asnumpy(), value(X), rtol=1e-6)
    if slope is not None:
        np.testing.assert_allclose(slopes(function), slope(X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("function, wanted", [
    (ops.relu, WHOLE.clip(0)), (ops.hardtanh, WHOLE.clip(-1, 1)),
    (lambda x: ops.hardtanh(x, -2.5, 3.5), WHOLE.clip(-2, 3)),
    (lambda x: ops.leaky_relu(x, 0.9), WHOLE.clip(0)),
    (lambda x: ops.leaky_relu(x, 2), np.where(WHOLE < 0, 2 * WHOLE, WHOLE)),
    (lambda x: ops.leaky_relu(x, -1), abs(WHOLE)),
    (ops.hardsigmoid, np.trunc((WHOLE / 6 + 0.5).clip(0, 1)).astype(int)),
    (ops.hardswish, np.trunc(WHOLE * (WHOLE / 6 + 0.5).clip(0, 1) + 1e-7 * np.sign(WHOLE)).astype(
        int))], ids=range(8))
@pytest.mark.parametrize("kind", [ms.int32, ms.int8, ms.int64])
def test_whole_numbers(function, wanted, kind):
    """Computed in floating numbers and cut, where need be."""
    found = function(Tensor(WHOLE, kind))
    assert found.dtype is kind
    np.testing.assert_array_equal(found.asnumpy(), wanted)


def test_numbers_without_a_sign():
    x = Tensor([0, 1, 5], ms.uint8)
    assert ops.hardtanh(x, -3, 4).tolist() == [0, 1, 4]
    assert ops.hardtanh(Tensor([True, False])).tolist() == [True, False]
    assert ops.relu(Tensor([True, False])).tolist() == [True, False]
    changed = Tensor([-1.0, 2.0])
    assert ops.relu(changed, True) is not None and changed.tolist() == [0, 2]


@pytest.mark.parametrize("shape, weight", [((2, 3, 4), (3,)), ((2, 3), (3,)), ((2, 3), (1,)),
                                           ((5,), (1,)), ((2, 3, 2, 2), (3,))])
def test_slopes_of_channels(shape, weight):
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=shape), rng.uniform(0.1, 0.9, weight)
    across = w.reshape(-1, *[1] * (len(shape) - 2)) if len(shape) > 1 else w
    np.testing.assert_allclose(ops.prelu(Tensor(x), Tensor(w)).asnumpy(), np.where(
        x > 0, x, across * x), rtol=1e-6)


@pytest.mark.parametrize("call, kind", [
    (lambda x: ops.prelu(x, ops.ones(2)), ValueError), (lambda x: ops.prelu(x, ops.ones(4)),
                                                        ValueError),
    (lambda x: ops.prelu(x, ops.ones((3, 1))), ValueError),
    (lambda x: ops.prelu(x[0], ops.ones(3)), ValueError),
    (lambda x: ops.prelu(x, Tensor(1.0)), ValueError), (lambda x: ops.rrelu(x, 0.5, 0.4),
                                                        ValueError),
    (lambda x: ops.leaky_relu(x, "1"), TypeError), (lambda x: ops.threshold(x, "1", 1), TypeError),
    (lambda x: ops.threshold(x, 1, None), TypeError)])
def test_arguments_that_do_not_fit(call, kind):
    with pytest.raises(kind, match="^For '"):
        call(ops.ones((2, 3)))


def test_random_slopes_lie_between_two_numbers():
    ms.set_seed(0)
    x = -ops.ones(2000)
    found = -ops.rrelu(x, 0.2, 0.6).asnumpy()
    assert 0.2 <= found.min() < 0.21 and 0.59 < found.max() <= 0.6
    assert abs(found.mean() - 0.4) < 0.02
