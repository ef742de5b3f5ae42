"""Rules and hooks in forward mode: linear ones are transposed, others are refused."""


import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, nn, ops

from .arrays import V, X, Y, arrays, square


class Ruled(nn.Cell):
    """What it computes and what its rule says differ on purpose."""

    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([2.0, 3.0]), name="w")

    def construct(self, x, y, *, scale=1.0):
        return x * y, {"index": x.argmax(), "sum": x + y}

    def bprop(self, x, y, out, dout, *, scale=1.0):
        first, second = dout[0], dout[1]["sum"]
        return first * self.w * scale + second, None, {"w": first * x}


def test_a_rule_with_structure_parameters_and_keywords():
    net = Ruled()
    value, tangent = ms.jvp(lambda x, y: net(x, y, scale=10.0), (X, Y), (V, V))
    assert arrays(value[0]) == [3.0, 8.0] and int(value[1]["index"]) == 1
    assert arrays(tangent[0]) == [20.0, 300.0] and arrays(tangent[1]["sum"]) == [1.0, 10.0]
    jacobian = ms.jacrev(lambda x: net(x, Y)[0])(X)
    np.testing.assert_allclose(ms.jacfwd(lambda x: net(x, Y)[0])(X).asnumpy(), jacobian.asnumpy())
    by_weight = ms.jvp(lambda w: nn.functional_call(net, {"w": w}, (X, Y))[0], net.w.value(), V)[1]
    assert arrays(by_weight) == [1.0, 20.0]


def test_a_cell_with_its_own_jvp():
    class Both(nn.Cell):
        def construct(self, x, y):
            return x * y

        def bprop(self, x, y, out, dout):
            return dout * 7.0, dout * 9.0

        def jvp(self, x, y, out, tangents):
            dx, dy = tangents
            return dx * 100.0 + dy * out

    clipped = make_cell(lambda self, x: x * x, lambda self, x, out, dout: ops.clamp(dout, -1, 1),
                        jvp=lambda self, x, out, dx: 2 * x * dx)
    assert arrays(ms.jvp(Both(), (X, Y), (V, V))[1]) == [103.0, 1080.0]
    assert arrays(ms.jvp(Both(), (X, Y), (V, None))[1]) == [100.0, 1000.0]
    assert arrays(ms.grad(Both())(X, Y)) == [7.0, 7.0]
    assert arrays(ms.jvp(clipped, X, V)[1]) == [2.0, 40.0]
    for way in (ms.jacfwd(clipped)(X), ms.vmap(ops.linearize(clipped, X)[1])(ops.eye(2)),
                ms.vmap(lambda v: ms.jvp(clipped, X, v)[1])(ops.eye(2))):
        assert arrays(way) == [[2.0, 0.0], [0.0, 4.0]]
    assert arrays(ms.jacrev(clipped)(X)) == [[1.0, 0.0], [0.0, 1.0]]
    assert arrays(ms.jvp(ms.grad(lambda x: clipped(x).sum() * 0.5), X, V)[1]) == [0.0, 0.0]
    wrong = make_cell(lambda self, x: x, lambda self, x, out, dout: dout,
                      jvp=lambda self, x, out, dx: (dx, dx))
    with pytest.raises(ValueError, match="jvp .*must return tangents in the structure of the out"):
        ms.jvp(wrong, X, V)


def make_cell(construct, bprop, **more):
    return type("Made", (nn.Cell,), {"construct": construct, "bprop": bprop, **more})()


def test_a_function_with_its_own_jvp():
    class Half(ms._Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return grad * 0.5

        @staticmethod
        def jvp(ctx, dx):
            return dx * ctx.saved_tensors[0]

    assert arrays(ms.jvp(Half.apply, X, V)[1]) == [1.0, 20.0]
    assert arrays(ms.grad(Half.apply)(X)) == [0.5, 0.5]


clip = ops.InsertGradientOf(lambda g: ops.clamp(g, -1.0, 1.0))
NONLINEAR = {
    "clipped": lambda x: clip(x * x),
    "by norm": lambda x: ops.InsertGradientOf(lambda g: g / g.norm())(x * x),
    "its sign": lambda x: ops.InsertGradientOf(lambda g: ops.sign(g))(x * x),
    "its size": lambda x: ops.InsertGradientOf(lambda g: ops.abs(g))(x * x),
    "a constant": lambda x: ops.InsertGradientOf(lambda g: 1.0)(x * x),
    "a bprop": make_cell(lambda self, x: x * x, lambda self, x, out, dout: 2 * x),
    "several": lambda x: ops.InsertGradientOf(lambda g: (g[0] + 1.0, g[1]))((x, x))[0],
}


@pytest.mark.parametrize("name", sorted(NONLINEAR))
@pytest.mark.parametrize("transform", [
    lambda f: ms.jvp(f, X, V), lambda f: ms.jacfwd(f)(X), lambda f: ops.linearize(f, X),
    lambda f: ms.jvp(ms.grad(lambda x: f(x).sum()), X, V),
    lambda f: ms.vmap(lambda x: ms.jvp(f, x, V))(ops.stack((X, X))),
    lambda f: ms.jvp(lambda x: ms.jvp(f, x, V)[1], X, V),
    lambda f: ms.grad(lambda x: ms.jvp(f, x, V)[1].sum())(X),
])
def test_a_rule_that_is_not_linear_is_refused(name, transform):
    with pytest.raises(RuntimeError, match=r"_rules.py:\d+.*is not linear in the gradient"):
        transform(NONLINEAR[name])
    assert np.isfinite(ms.jacrev(NONLINEAR[name])(X).asnumpy()).all()


# backward rules, each not linear in the gradient, some only for large or small ones
calls = []
BENT = {
    "clipped": lambda g: ops.clamp(g, -1.0, 1.0), "clipped far": lambda g: ops.clamp(g, -50., 50.),
    "clipped near": lambda g: ops.clamp(g, -1e-3, 1e-3), "sign": ops.sign, "abs": ops.abs,
    "square": lambda g: g * g, "relu": ops.relu, "tanh": ops.tanh, "softmax": ops.softmax,
    "small ones gone": lambda g: ops.where(ops.abs(g) < 1e-3, 0.0, g),
    "large ones gone": lambda g: ops.where(ops.abs(g) > 100.0, 0.0, g),
    "by norm": lambda g: g / ops.sqrt((g * g).sum() + 1e-12),
    "clipped by norm": lambda g: g * ops.minimum(1.0, 10 / ops.sqrt((g * g).sum())),
    "a branch on its sum": lambda g: g if float(g.sum()) > 0 else 2 * g,
    "a branch on which is larger": lambda g: g if float(g[0]) > float(g[1]) else 2 * g,
    "a branch on which is wider": lambda g: g if abs(float(g[0])) > abs(float(g[1])) else 2 * g,
    "a branch on large": lambda g: g if float(ops.abs(g).max()) < 10 else g * 0,
    "a branch on small": lambda g: g if float(ops.abs(g).max()) > 1e-2 else g * 0,
    "shifted": lambda g: g + 0.01, "constant": lambda g: 1.0, "rounded": ops.round,
    "quantized": lambda g: ops.round(g / ops.abs(g).max() * 127) * ops.abs(g).max() / 127,
    "whole": lambda g: g.astype(ms.int32).astype(g.dtype),
    "random": lambda g: ops.dropout(g, 0.5, training=True),
    "the largest": lambda g: ops.where(ops.abs(g) >= ops.abs(g).max(), g, 0.0),
    "sorted": lambda g: ops.sort(g)[0], "inverse": lambda g: 1 / g, "log": ops.log,
    "leaky": lambda g: ops.where(g > 0, g, g * 0.1), "product": lambda g: ops.cumprod(g, 0),
    "masked and squared": lambda g: ops.where(ops.isnan(g), 0.0, g * g),
    "by turns": lambda g: calls.append(g) or (g if len(calls) % 2 else 2 * g),
}
# linear in the gradient, however they are written; a factor for each element, or a matrix
MIXER = np.array([[1.0, 2.0, -1.0], [0.5, 0.0, 3.0], [-2.0, 1.0, 1.0]])
STRAIGHT = {
    "itself": (lambda g: g, 1.0), "None": (lambda g: None, 1.0), "zero": (lambda g: g * 0, 0.0),
    "a zero": (lambda g: 0.0, 0.0), "scaled": (lambda g: -g * 3e5, -3e5),
    "no NaN": (lambda g: ops.where(ops.isnan(g), 0.0, g), 1.0),
    "numbers": (ops.nan_to_num, 1.0), "where not zero": (lambda g: ops.where(g != 0, g, 0.0), 1.0),
    "times not zero": (lambda g: g * (g != 0).astype(g.dtype), 1.0),
    "abs times sign": (lambda g: ops.abs(g) * ops.sign(g), 1.0),
    "two halves": (lambda g: ops.relu(g) - ops.relu(-g), 1.0),
    "narrower": (lambda g: g.astype(ms.float32).astype(g.dtype), 1.0),
    "masked": (lambda g: ops.where(Tensor([True, False, True]), g, 0.0), np.diag([1.0, 0.0, 1.0])),
    "mixed": (lambda g: ops.matmul(Tensor(MIXER, g.dtype), g), MIXER),
    "less its mean": (lambda g: g - g.mean(), np.eye(3) - 1 / 3),
}


class ByRule(nn.Cell):
    def __init__(self, rule):
        super().__init__()
        self.rule = rule

    def construct(self, x):
        return ops.sin(x)

    def bprop(self, x, out, dout):
        gradient = self.rule(dout)
        return ops.cos(x) * (dout if gradient is None else gradient)


def hooked(rule):
    def function(x):
        y = ops.sin(x)
        y.register_hook(rule)
        return y * 2

    return function


def inserted(rule):
    insert = ops.InsertGradientOf(rule)
    return lambda x: insert(ops.sin(x)) * 2


WAYS = {"hook": hooked, "InsertGradientOf": inserted, "bprop": lambda f: lambda x: ByRule(f)(x) * 2}
PUSHES = {
    "jvp": lambda f, x, v: ms.jvp(f, x, v)[1],
    "linearize": lambda f, x, v: ops.linearize(f, x)[1](v),
    "jacfwd": lambda f, x, v: ops.matmul(ms.jacfwd(f)(x), v),
    "compiled": lambda f, x, v: ms.jit(lambda x: ms.jvp(f, x, v)[1])(x),
    "by example": lambda f, x, v: ms.vmap(lambda v: ms.jvp(f, x, v)[1])(ops.stack((v, v)))[0],
    "twice": lambda f, x, v: ms.jvp(lambda t: ms.jvp(f, x * 1.0, t)[1], v, v)[1],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", sorted(BENT))
def test_no_way_to_a_wrong_number(name, way):
    for push in ("jvp", "jacfwd", "linearize") if name != "clipped far" else PUSHES:
        calls.clear()
        for dtype in (ms.float32, ms.float64):
            x, v = Tensor([0.3, -0.7, 1.1], dtype), Tensor([0.5, 0.2, -1.0], dtype)
            with pytest.raises(RuntimeError, match="is not linear in the gradient"):
                PUSHES[push](WAYS[way](BENT[name]), x, v)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", sorted(STRAIGHT))
def test_linear_however_it_is_written(name, way):
    rule, factor = STRAIGHT[name]
    x, v = np.array([0.3, -0.7, 1.1]), np.array([0.5, 0.2, -1.0])
    transposed = np.transpose(factor) if np.ndim(factor) else factor * np.eye(3)
    for push in PUSHES:
        got = PUSHES[push](WAYS[way](rule), Tensor(x), Tensor(v)).asnumpy()
        # forward, a hook on y comes before what is computed from y, a bprop's factor first
        np.testing.assert_allclose(got, 2 * transposed @ (np.cos(x) * v), rtol=1e-6, atol=1e-9)


def test_a_rule_that_is_linear_at_some_inputs_only():
    class Sometimes(nn.Cell):
        def construct(self, x):
            return x * 2

        def bprop(self, x, out, dout):
            return ops.where(x > 0, ops.clamp(dout, -1.0, 1.0), dout * 2)

    compiled = ms.jit(lambda x: ms.jvp(Sometimes(), x, V)[1])
    for function in (compiled, compiled, lambda x: ms.jvp(Sometimes(), x, V)[1]):
        assert arrays(function(-X)) == arrays(V * 2)
        with pytest.raises(RuntimeError, match="is not linear in the gradient"):
            function(X)


def test_linear_rules_of_every_precision_pass():
    rng = np.random.default_rng(0)
    for dtype in (ms.float16, ms.bfloat16, ms.float32, ms.float64):
        mixer = Tensor(rng.standard_normal((40, 40)), dtype)
        mix = ops.InsertGradientOf(lambda g, m=mixer: ops.matmul(m, g) * 3 - g.mean())
        x = Tensor(rng.standard_normal(40), dtype)
        assert ms.jvp(lambda x, mix=mix: mix(x * x), x, x)[1].dtype is dtype


def test_hooks_on_inputs_parameters_and_cells():
    x = Tensor([1.0, 2.0])
    x.register_hook(lambda g: g * 10)
    assert arrays(ms.jvp(square, x, V)[1]) == [20.0, 400.0]
    seen = []
    y = Tensor([1.0, 2.0])
    y.register_hook(lambda g: seen.append(g))
    assert arrays(ms.jvp(square, y, V)[1]) == [2.0, 40.0] and seen
    net = nn.Dense(2, 2)
    net.register_backward_hook(lambda cell, grad_in, grad_out: (grad_in[0] * 2,))
    net.register_backward_pre_hook(lambda cell, grad_out: (grad_out[0] * 3,))
    expected = 6 * net.weight.asnumpy()
    np.testing.assert_allclose(ms.jacrev(net)(X).asnumpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(ms.jacfwd(net)(X).asnumpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(ms.jvp(net, X, V)[1].asnumpy(), expected @ V.asnumpy(), rtol=1e-6)


def test_a_hook_taken_away():
    def f(x):
        y = x * x
        handle = y.register_hook(lambda g: g * 5)
        handle.remove()
        return y

    assert arrays(ms.jvp(f, X, V)[1]) == [2.0, 40.0]
