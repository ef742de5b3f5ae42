"""Gradients that a program registers for Primitive classes."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops
from lamella.ops.bprop_registry import bprop_getters, bprops, get_bprop_fn

X = np.array([1.5, -2.0, 0.5], np.float32)


def fresh(base=ops.Sign):
    return type("Own", (base,), {})


def test_a_rule_takes_the_place_of_the_gradient():
    own = fresh()
    sign = own()  # made before the rule

    def loss(x):
        return (sign(x) * Tensor([1.0, 2.0, 3.0])).sum()

    compiled = ms.jit(ms.grad(loss))
    for f in (ms.grad(loss), compiled, compiled):
        assert f(Tensor(X)).asnumpy().tolist() == [0, 0, 0]

    @bprop_getters.register(own)
    def straight_through(self):
        assert self is sign
        return lambda x, out, dout: (ops.clip_by_value(dout * x.abs(), -2.0, 2.0),)

    for f in (ms.grad(loss), compiled, compiled, ms.jit(ms.grad(loss))):
        np.testing.assert_allclose(f(Tensor(X)).asnumpy(), [1.5, 2.0, 1.5])
    assert loss(Tensor(X)).asnumpy() == 2.0
    rows = ms.vmap(ms.grad(loss))(Tensor(np.stack([X, 2 * X])))
    np.testing.assert_allclose(rows.asnumpy(), [[1.5, 2.0, 1.5], [2.0, 2.0, 2.0]])

    bprop_getters.register(own)(lambda self: lambda x, out, dout: (dout,))
    for f in (ms.grad(loss), compiled):
        assert f(Tensor(X)).asnumpy().tolist() == [1, 2, 3]


def test_rules_of_several_inputs_and_attributes():
    own = fresh(ops.ReduceSum)

    @bprops.register(own)
    def rule(x, axis, out, dout):
        return ops.broadcast_to(dout.expand_dims(axis), x.shape) * 2, None

    total = own(keep_dims=False)
    x = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    found = ms.grad(lambda x: (total(x, 1) * Tensor([1.0, 3.0])).sum())(x)
    assert found.asnumpy().tolist() == [[2, 2, 2], [6, 6, 6]]


def test_what_is_registered_is_found_again():
    own = fresh()
    getter = bprop_getters.register(own)(lambda self: (lambda x, out, dout: (self.name,)))
    assert get_bprop_fn(own, True) is get_bprop_fn("Own", True) is getter
    assert get_bprop_fn(own())(0, 0, 0) == ("Sign",)
    bprops.register("OnlyAName")(len)
    assert get_bprop_fn("OnlyAName") is len and get_bprop_fn("Absent") is None
    with pytest.raises(TypeError, match="'prim' must be a Primitive class or a name"):
        bprop_getters.register(3)
