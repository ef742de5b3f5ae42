"""Every derivative of every derivative: random programs, transformed at random to third order."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lamella as ms
from lamella import Parameter, Tensor, nn, ops

STEP = 1e-5
W = Tensor(np.array([0.7, -1.3, 0.4]))
D = Tensor(np.array([-0.2, 0.9, 0.5]))
MATRIX = Tensor(np.array([[0.5, -0.3, 0.2], [0.1, 0.8, -0.4], [-0.6, 0.2, 0.3]]))


class Square(nn.Cell):
    """A Cell whose rule is its derivative."""

    def construct(self, x):
        return x * x

    def bprop(self, x, out, dout):
        return 2 * x * dout


class Pushed(nn.Cell):
    """A Cell with rules for both directions."""

    def construct(self, x):
        return x * x * 0.5

    def bprop(self, x, out, dout):
        return x * dout

    def jvp(self, x, out, dx):
        return x * dx


class Scale(nn.Cell):
    """A rule that uses a Parameter and the output."""

    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(np.array([0.5, -1.5, 2.0])), name="w")

    def construct(self, x):
        return ops.exp(x * self.w * 0.3)

    def bprop(self, x, out, dout):
        return out * self.w * 0.3 * dout


class Cubic(ms._Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.square = x * x
        return x * x * x * 0.1

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 0.3 * x * x * grad


def hooked(x):
    y = ops.sin(x)
    y.register_hook(lambda g: None)
    return y * x


def assigned(x):
    y = ops.zeros_like(x)
    y[0] = x[1] * x[2]
    y[1:] = x[:2] ** 2
    return y


class Affine(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = Parameter(MATRIX * 0.9, name="weight")
        self.register_backward_hook(lambda cell, grad_in, grad_out: None)

    def construct(self, x):
        return ops.tanh(ops.matmul(self.weight, x))


class Recomputed(nn.Cell):
    def __init__(self):
        super().__init__()
        self.inner = Affine()
        self.recompute()

    def construct(self, x):
        return self.inner(x) * ops.cos(x)


square, pushed, scale, affine, recomputed = Square(), Pushed(), Scale(), Affine(), Recomputed()
identity = ops.InsertGradientOf(lambda g: g * 1.0)

LAYERS = [
    lambda x: ops.sin(x) + x, lambda x: ops.tanh(x), lambda x: ops.sigmoid(x) * x,
    lambda x: ops.exp(-x * x), lambda x: x * x.sum() * 0.3, lambda x: ops.matmul(MATRIX, x),
    lambda x: ops.softmax(x, -1), lambda x: ops.sqrt(1 + x * x), lambda x: x[::-1] * 0.5 + x,
    lambda x: ops.concat((x[1:], x[:1])) * x, lambda x: ops.where(x > 0, x * x, -x),
    lambda x: ops.log(1 + ops.exp(x)), lambda x: ops.cumsum(x, 0) * 0.5,
    square, pushed, scale, Cubic.apply, hooked, assigned, affine, recomputed, identity,
]

# each turns a function of three numbers into another one
TRANSFORMS = {
    "jvp": lambda f: lambda x: ms.jvp(f, x, D)[1],
    "linearize": lambda f: lambda x: ops.linearize(f, x)[1](D),
    "jacfwd": lambda f: lambda x: ops.matmul(ms.jacfwd(f)(x), D),
    "jacrev": lambda f: lambda x: ops.matmul(ms.jacrev(f)(x), D),
    "grad": lambda f: ms.grad(lambda x: (f(x) * W).sum()),
    "vjp": lambda f: lambda x: ms.vjp(f, x)[1](W)[0],
    "vmap": lambda f: lambda x: ms.vmap(f)(ops.stack((x, x * 0.5))).sum(0),
    "many": lambda f: lambda x: ms.vmap(f, 1, 1)(ops.stack((x, x), 1))[:, 0],
}
FORWARD = ("jvp", "linearize", "jacfwd", "jacrev")


def difference(f, name, x):
    """The transformation `name` of `f` at `x`, by differences of `f`."""
    def at(shift):
        return f(Tensor(x + shift)).asnumpy()

    if name in FORWARD:
        d = D.asnumpy()
        return (at(STEP * d) - at(-STEP * d)) / (2 * STEP)
    if name in ("grad", "vjp"):
        w = W.asnumpy()
        return np.array([w @ (at(STEP * e) - at(-STEP * e)) / (2 * STEP) for e in np.eye(3)])
    return at(0) if name == "many" else at(0) + f(Tensor(x * 0.5)).asnumpy()


def check(layers, names, x):
    def program(t):
        for layer in layers:
            t = layer(t)
        return t

    below = program
    for name in names[:-1]:
        below = TRANSFORMS[name](below)
    got = TRANSFORMS[names[-1]](below)(Tensor(x)).asnumpy()
    want = difference(below, names[-1], x)
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6 * max(1.0, np.abs(want).max()))


@settings(max_examples=100, derandomize=True, database=None)
@given(layers=st.lists(st.sampled_from(range(len(LAYERS))), min_size=1, max_size=4),
       names=st.lists(st.sampled_from(sorted(TRANSFORMS)), min_size=1, max_size=3),
       seed=st.integers(0, 1000))
def test_random_programs_transformed_at_random(layers, names, seed):
    x = np.random.default_rng(seed).uniform(0.2, 1.2, 3) * np.array([1.0, -1.0, 1.0])
    check([LAYERS[i] for i in layers], names, x)


# rules that are not the derivative: every transformation must agree with the rule


class Wrong(nn.Cell):
    def construct(self, x):
        return x**3

    def bprop(self, x, out, dout):
        return 5 * x**4 * dout


class WrongFunction(ms._Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 5 * x**4 * grad


triple = ops.InsertGradientOf(lambda g: g * 3)


def wrongly_hooked(x):
    y = x**3
    y.register_hook(lambda g: g * 2)
    return y + x


RULED = {  # each with its value at 2 and what its rule says the derivatives are there
    "bprop": (Wrong(), (8.0, 80.0, 160.0, 240.0)),
    "_Function": (WrongFunction.apply, (8.0, 80.0, 160.0, 240.0)),
    "InsertGradientOf": (lambda x: triple(x * x) + 1, (5.0, 12.0, 6.0, 0.0)),
    "hook": (wrongly_hooked, (10.0, 25.0, 24.0, 12.0)),
}
ONE = Tensor(1.0, ms.float64)
OF_A_NUMBER = {
    "jvp": lambda f: lambda x: ms.jvp(f, x, ONE)[1],
    "linearize": lambda f: lambda x: ops.linearize(f, x)[1](ONE),
    "grad": ms.grad, "jacfwd": ms.jacfwd, "jacrev": ms.jacrev,
    "vjp": lambda f: lambda x: ms.vjp(f, x)[1](ONE)[0],
    "vmap": lambda f: lambda x: ms.vmap(f)(ops.stack((x + 1, x)))[1],
}


@pytest.mark.parametrize("name", sorted(RULED))
def test_rules_hold_in_every_composition(name):
    function, expected = RULED[name]
    for order in (1, 2):
        for names in product(OF_A_NUMBER, repeat=order):
            _check_rule(function, expected, names)
    for names in product(("jvp", "grad", "jacfwd", "vmap"), repeat=3):
        _check_rule(function, expected, names)


def _check_rule(function, expected, names):
    for transform in names:
        function = OF_A_NUMBER[transform](function)
    order = sum(transform != "vmap" for transform in names)
    assert float(function(Tensor(2.0, ms.float64))) == pytest.approx(expected[order]), names


def test_hessians_in_every_way():
    def f(x):
        return (affine(x) * square(x)).sum() + x[0] * x[1] * x[2]

    x = Tensor(np.array([0.3, -0.8, 1.1]))
    first, v = ms.jacrev(ms.jacrev(f))(x).asnumpy(), D.asnumpy()
    np.testing.assert_allclose(first, first.T, atol=1e-12)
    for outer, inner in product((ms.jacfwd, ms.jacrev), repeat=2):
        np.testing.assert_allclose(outer(inner(f))(x).asnumpy(), first, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ms.autodiff.hessian(f)(x).asnumpy(), first, rtol=1e-10, atol=1e-12)
    products = [
        ms.jvp(ms.grad(f), x, D)[1], ms.grad(lambda x: ms.jvp(f, x, D)[1])(x),
        ms.grad(lambda x: (ms.grad(f)(x) * D).sum())(x), ms.vjp(ms.grad(f), x)[1](D)[0],
        ops.linearize(ms.grad(f), x)[1](D), ms.jacrev(lambda x: ms.jvp(f, x, D)[1])(x),
    ]
    for product_ in products:
        np.testing.assert_allclose(product_.asnumpy(), first @ v, rtol=1e-10, atol=1e-12)


def test_hessian_by_weights():
    net = nn.Dense(3, 1)
    x, weight = Tensor(np.ones((2, 3), np.float32)), net.weight

    def loss(w):
        return (nn.functional_call(net, {"weight": w}, x) ** 2).sum()

    def gradient(x):
        return ms.grad(lambda x: (net(x) ** 2).sum(), None, weight)(x)

    v = Tensor(np.array([[1.0, 2.0, 3.0]], np.float32))
    by_values = ms.jvp(ms.grad(loss), weight.value(), v)[1]
    by_weights = ms.grad(lambda x: (gradient(x) * v).sum(), None, weight)(x)
    np.testing.assert_allclose(by_values.asnumpy(), np.full((1, 3), 4.0 * 6.0), rtol=1e-6)
    np.testing.assert_allclose(by_weights.asnumpy(), by_values.asnumpy(), rtol=1e-6)


@pytest.mark.parametrize("names", [
    ("jvp",), ("vmap",), ("jacfwd",), ("jacrev",), ("linearize",), ("vjp",), ("grad", "jvp"),
    ("grad", "vmap"), ("jvp", "grad"), ("jvp", "vmap"), ("jacrev", "jacfwd"), ("jvp", "jvp")])
def test_compiled_as_eager(names):
    def program(x):
        return recomputed(square(affine(x))) * ops.sin(x)

    function = program
    for name in names:
        function = TRANSFORMS[name](function)
    x = Tensor(np.array([0.4, -0.9, 1.2]))
    compiled = ms.jit(function)
    for _ in range(2):
        np.testing.assert_allclose(compiled(x).asnumpy(), function(x).asnumpy(), rtol=1e-10)
        x = x * 1.1
