"""Fused optimizer Primitives, against numbers recorded from MindSpore 2.10."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, ops

# two steps from linspace(0.1, 1) along sin(0, 1, 2, ...): the parameter, its first moment
RECORDED = [
    ((2, 3), (False, False, False),
     [0.1, 0.21721914, 0.40190056, 0.55493176, 0.87688595, 1.06172848], None),
    ((2, 3), (True, True, True),
     [0.0999622, 0.2741589, 0.45451853, 0.6319868, 0.8248868, 1.00526118],
     [0.0, 0.00375779, 0.00347759, 0.00509182, -0.00340495, -0.0036948]),
    ((2, 3), (False, False, True),
     [0.09994001, 0.2170606, 0.40163329, 0.5545606, 0.87638551, 1.0611192], None),
    ((2, 3), (False, True, False),
     [0.1, 0.27089676, 0.45157558, 0.6276651, 0.82824844, 1.00895059],
     [0.0, 0.00596418, 0.00551945, 0.00808148, -0.00540417, -0.0058642]),
    ((5,), (False, False, False),
     [0.1, 0.25791794, 0.48291796, 0.70791793, 1.06708193], None),
]


def _states(shape):
    rows = shape[:-1] if len(shape) > 1 else (1,)
    columns = shape[:-2] + shape[-1:] if len(shape) > 1 else (1,)
    count = int(np.prod(shape))
    weight = Parameter(Tensor(np.linspace(0.1, 1, count).reshape(shape), ms.float32), name="w")
    first, row, column, square = (
        Parameter(ops.zeros(size), name=name) for name, size in
        (("first", shape), ("row", rows), ("column", columns), ("square", shape)))
    grad = Tensor(np.sin(np.arange(count)).reshape(shape), ms.float32)
    return grad, (weight, first, row, column, square)


@pytest.mark.parametrize(("shape", "flags", "weight", "moment"), RECORDED)
def test_adafactor(shape, flags, weight, moment):
    numbers = ((1e-30, 1e-3), 1.0, 0.9, 0.8, 1e-2, 0.03)
    step, divided = ops.FusedAdaFactor(*flags), ops.FusedAdaFactorWithGlobalNorm(*flags)
    for update in (lambda grad, states: step(*numbers, grad, *states),
                   lambda grad, states: divided(*numbers, grad * 4, *states, 4.0),
                   ms.jit(lambda grad, states: step(*numbers, grad, *states))):
        grad, states = _states(shape)
        for _ in range(2):
            out = update(grad, states)
        np.testing.assert_allclose(states[0].asnumpy().ravel(), weight, rtol=1e-5)
        np.testing.assert_array_equal(out.asnumpy(), states[0].asnumpy())
        np.testing.assert_allclose(states[1].asnumpy().ravel(), moment or 0.0, atol=1e-7)


def test_adam_of_mixed_types():
    weight = Parameter(ops.ones((2, 2), ms.float16), name="w")
    m, v = (Parameter(ops.ones((2, 2)), name=n) for n in "mv")
    grad = Tensor([[0, 1], [2, 3]], ms.float16)
    out = ops.FusedCastAdamWeightDecay()(weight, m, v, 0.1, 0.9, 0.999, 1e-8, 0.1, grad, 2.0)
    assert [t.dtype for t in out] == [ms.float16, ms.float32, ms.float32]
    np.testing.assert_allclose(weight.asnumpy(), [[0.9, 0.895], [0.89, 0.8853]], atol=3e-4)
    np.testing.assert_allclose(m.asnumpy(), [[0.9, 0.95], [1.0, 1.05]], rtol=1e-6)
    np.testing.assert_allclose(v.asnumpy(), [[0.999, 0.99925], [1.0, 1.00125]], rtol=1e-6)


def test_states_that_do_not_fit():
    grad, (weight, first, row, column, square) = _states((2, 3))
    numbers = ((1e-30, 1e-3), 1.0, 0.9, 0.8, 1e-2, 0.03)
    with pytest.raises(ValueError, match="the state in Parameter 'column' must have shape"):
        ops.FusedAdaFactor()(*numbers, grad, weight, first, column, column, square)
    with pytest.raises(ValueError, match="the gradient must have the shape of 'param'"):
        ops.FusedAdaFactor()(*numbers, grad[0], weight, first, row, column, square)
    half = Parameter(ops.ones((2, 3), ms.float16), name="half")
    with pytest.raises(TypeError, match="'m' and 'v' must be of float32"):
        ops.FusedCastAdamWeightDecay()(half, half, first, 0.1, 0.9, 0.99, 1e-8, 0.0, grad, 1.0)


@pytest.mark.parametrize("rate", [Tensor([0.1, 0.2]), Tensor(np.array([0.1j]), ms.complex64)])
def test_a_rate_is_one_real_number(rate):
    weight = Parameter(ops.ones((2,)), name="w")
    with pytest.raises(ValueError, match="must be a Python number or a real Tensor of one element"):
        ops.ApplyGradientDescent()(weight, rate, ops.ones((2,)))
    assert weight.tolist() == [1.0, 1.0]
