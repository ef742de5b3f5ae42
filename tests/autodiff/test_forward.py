"""`jvp`, `linearize`, `jet`, `derivative`: what comes back, rules, and what is refused."""

import threading

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Parameter, Tensor, nn, ops
from lamella.state import state

X, Y, V = Tensor([1.0, 2.0]), Tensor([3.0, 4.0]), Tensor([1.0, 10.0])


def arrays(tree):
    if isinstance(tree, (tuple, list)):
        return [arrays(t) for t in tree]
    if isinstance(tree, dict):
        return {key: arrays(t) for key, t in tree.items()}
    return tree.asnumpy().tolist()


def square(x):
    return x * x


def product_and_sum(x, y):
    return x * y, x + y


# as MindSpore 2.10 prints them
@pytest.mark.parametrize("call, expected", [
    (lambda: ms.jvp(square, X, V), [[1.0, 4.0], [2.0, 40.0]]),
    (lambda: ms.jvp(square, (X,), V), [[1.0, 4.0], [2.0, 40.0]]),
    (lambda: ms.jvp(square, (X,), (V,)), [[1.0, 4.0], [2.0, 40.0]]),
    (lambda: ms.jvp(lambda x, y: x * y, [X, Y], [V, V]), [[3.0, 8.0], [4.0, 60.0]]),
    (lambda: ms.jvp(product_and_sum, (X, Y), (V, V)),
     [[[3.0, 8.0], [4.0, 6.0]], [[4.0, 60.0], [2.0, 20.0]]]),
    (lambda: ms.jvp(product_and_sum, (X, Y), (V, V), has_aux=True),
     [[3.0, 8.0], [4.0, 60.0], [4.0, 6.0]]),
    (lambda: ms.jvp(lambda x, y: (x * y, x + y, x - y), (X, Y), (V, V), True),
     [[3.0, 8.0], [4.0, 60.0], [[4.0, 6.0], [-2.0, -2.0]]]),
    (lambda: ms.jvp(square, Tensor([1, 2], ms.int32), Tensor([1, 2], ms.int32)), [[1, 4], [2, 8]]),
    (lambda: ms.jvp(lambda x: [x * x, x], X, V), [[[1.0, 4.0], [1.0, 2.0]],
                                                   [[2.0, 40.0], [1.0, 10.0]]]),
    (lambda: nn.Jvp(square)(X, V), [[1.0, 4.0], [2.0, 40.0]]),
    (lambda: nn.Jvp(lambda x, y: x * y)(X, Y, (V, V)), [[3.0, 8.0], [4.0, 60.0]]),
    (lambda: nn.Vjp(square)(X, V), [[1.0, 4.0], [2.0, 40.0]]),
    (lambda: nn.Vjp(lambda x, y: x * y)(X, Y, V), [[3.0, 8.0], [[3.0, 40.0], [1.0, 20.0]]]),
    (lambda: nn.Vjp(product_and_sum)(X, Y, (V, V)),
     [[[3.0, 8.0], [4.0, 6.0]], [[4.0, 50.0], [2.0, 30.0]]]),
])
def test_what_comes_back(call, expected):
    assert arrays(call()) == expected


def test_whole_numbers_keep_their_type():
    value, tangent = ms.jvp(square, Tensor([1, 2], ms.int32), Tensor([1, 2], ms.int32))
    assert value.dtype is ms.int32 and tangent.dtype is ms.int32


def test_nested_arguments_and_directions_left_out():
    def f(tree, y):
        return {"a": tree["x"][0] * y, "b": (tree["x"][1] ** 2, tree["n"])}

    tree = {"x": [X, Y], "n": 7}
    value, tangent = ms.jvp(f, (tree, Y), ({"x": [V, None], "n": None}, None))
    assert value["b"][1] == 7
    assert arrays(tangent["a"]) == [3.0, 40.0] and arrays(tangent["b"][0]) == [0.0, 0.0]
    _, tangent = ms.jvp(f, (tree, Y), (None, V))
    assert arrays(tangent["a"]) == [1.0, 20.0]


def test_outputs_that_do_not_move():
    value, (a, b, c) = ms.jvp(lambda x: (x.argmax(), ops.stop_gradient(x), Y), X, V)
    assert int(a) == 0 and a.dtype is ms.int64
    assert arrays(b) == [0.0, 0.0] and arrays(c) == [0.0, 0.0]

    def unrecorded(x):
        with ms._no_grad():
            y = x * x
        return x + y

    assert arrays(ms.jvp(unrecorded, X, V)[1]) == [1.0, 10.0]
    assert float(ms.grad(lambda x: ms.jvp(unrecorded, x, V)[1].sum())(X).sum()) == 0.0
    with ms._no_grad():
        assert arrays(ms.jvp(square, X, V)[1]) == [2.0, 40.0]


def test_nothing_is_left_behind():
    w = Parameter(Tensor([1.0, 1.0]), name="w")
    x = Tensor([1.0, 2.0])

    def f(x):
        x.add_(1.0)
        w.set_data(x * 2)
        return w * x

    value, tangent = ms.jvp(f, x, V)
    assert arrays(value) == [8.0, 18.0] and arrays(tangent) == [4.0, 60.0]
    assert arrays(w.value()) == [4.0, 6.0] and not w._data.requires_grad
    assert arrays(x) == [1.0, 2.0] and state.level is None
    assert not value._raw.requires_grad and not tangent._raw.requires_grad
    with pytest.raises(KeyError, match="mine"):
        ms.jvp(lambda x: {}["mine"], X, V)
    assert state.level is None and state.overlay is None
    assert arrays(ms.jvp(square, X, V)[1]) == [2.0, 40.0]


@pytest.mark.parametrize("call, error, message", [
    (lambda: ms.jvp(3, X, V), TypeError, "'fn' must be a function or a Cell, but got int"),
    (lambda: ms.jvp(square, 3.0, V), TypeError, "'inputs' must be a Tensor.*but got float"),
    (lambda: ms.jvp(square, X, 3.0), TypeError, "'v' must be a Tensor.*but got float"),
    (lambda: ms.jvp(square, X, (3.0,)), TypeError, "a tangent in 'v' must be a Tensor or None"),
    (lambda: ms.jvp(product_and_sum, (X, Y), (V,)), ValueError, "as there are inputs, 2, .* 1"),
    (lambda: ms.jvp(square, X, Tensor([1.0])), ValueError, r"shape \(2,\), but got \(1,\)"),
    (lambda: ms.jvp(square, X, V, has_aux=1), TypeError, "'has_aux' must be a bool, but got 1"),
    (lambda: ms.jvp(square, X, V, has_aux=True), ValueError, "must return two or more outputs"),
    (lambda: ms.jvp(lambda t: t[0], ((X, Y),), ((V,),)), ValueError, "structure of the inputs"),
    (lambda: ops.linearize(square, 3.0), TypeError, "For 'linearize', 'inputs' must be a Tensor"),
    (lambda: ops.linearize(square, X)[1](Tensor([1.0])), ValueError, "For 'linearize', a tangent"),
])
def test_errors_say_what_was_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_linearize():
    calls = []

    def f(x, y):
        calls.append(0)
        return x * x * y, x + y

    value, push = ops.linearize(f, (X, Y))
    assert arrays(value) == [[3.0, 16.0], [4.0, 6.0]]
    assert arrays(push((V, V))) == [[7.0, 200.0], [2.0, 20.0]]
    assert arrays(push((V, None))) == [[6.0, 160.0], [1.0, 10.0]]
    assert len(calls) == 1
    rows = ms.vmap(lambda v: push((v, None))[0])(ops.eye(2))
    assert arrays(rows) == [[6.0, 0.0], [0.0, 16.0]]
    by_v = ms.grad(lambda v: push((v, v))[0].sum())(V)
    assert arrays(by_v) == [7.0, 20.0]


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
    with pytest.raises(RuntimeError, match=r"test_forward.py:\d+.*is not linear in the gradient"):
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


def test_kernels_without_a_forward_derivative():
    a = Tensor([1.5, 2.5])
    draws = []

    def f(x):
        draws.append(ops.rand(2).asnumpy())
        return ops.igamma(a, x)

    ms.set_seed(1)
    value, tangent = ms.jvp(f, X, V)
    after = ops.rand(2).asnumpy()
    ms.set_seed(1)
    first, second = ops.rand(2).asnumpy(), ops.rand(2).asnumpy()
    for draw in draws:
        np.testing.assert_array_equal(draw, first)
    np.testing.assert_array_equal(after, second)
    exact = np.exp(-X.asnumpy()) * X.asnumpy() ** (a.asnumpy() - 1) / [0.886226925, 1.32934039]
    np.testing.assert_allclose(tangent.asnumpy(), exact * V.asnumpy(), rtol=1e-5)
    np.testing.assert_allclose(np.diag(ms.jacfwd(f)(X).asnumpy()), exact, rtol=1e-5)
    attention = lambda q: ops.flash_attention_score(q, q, q, 2, input_layout="BNSD")  # noqa: E731
    q = Tensor(np.random.default_rng(0).standard_normal((1, 2, 3, 2)).astype(np.float32))
    by_reverse = ms.jacrev(attention)(q).asnumpy().reshape(12, 12)
    np.testing.assert_allclose(ms.jvp(attention, q, q)[1].asnumpy().reshape(-1),
                               by_reverse @ q.asnumpy().reshape(-1), rtol=1e-4, atol=1e-6)


def test_threads_at_once():
    errors, got = [], {}
    start = threading.Barrier(6)

    def work(k):
        try:
            x = Tensor([float(k), 1.0])
            start.wait()
            for _ in range(50):
                got[k] = arrays(ms.jvp(lambda x: ops.sin(x) * 0 + x * x * x, x, V)[1])
        except Exception as error:  # noqa: BLE001  reported below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    assert got == {k: [3.0 * k * k, 30.0] for k in range(6)}


def test_state_of_layers_in_training():
    x = Tensor(np.random.default_rng(0).standard_normal((6, 3)).astype(np.float32))
    net, twin = nn.BatchNorm1d(3).set_train(), nn.BatchNorm1d(3).set_train()
    value, _ = ms.jvp(net, x, x)
    np.testing.assert_allclose(value.asnumpy(), twin(x).asnumpy(), rtol=1e-6)
    np.testing.assert_allclose(net.moving_mean.asnumpy(), twin.moving_mean.asnumpy(), rtol=1e-6)
    assert type(net.moving_mean._data) is torch.Tensor
    ms.jacfwd(lambda x: net(x).sum(0))(x)
    twin(x)
    np.testing.assert_allclose(net.moving_mean.asnumpy(), twin.moving_mean.asnumpy(), rtol=1e-6)


class ExpSin(nn.Cell):
    def construct(self, x):
        return ops.exp(ops.sin(x))


def test_jet():
    # numbers of MindSpore 2.10
    series = Tensor([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    value, found = ops.jet(ExpSin(), X, series)
    np.testing.assert_allclose(value.asnumpy(), [2.3197770, 2.4825778], rtol=1e-6)
    np.testing.assert_allclose(found.asnumpy(), [
        [1.2533807, -1.0331169], [-1.2748204, -1.8274731], [-4.0515365, 3.6724352]], rtol=1e-5)
    _, curved = ops.jet(ExpSin(), X, Tensor([[1.0, 1.0], [1.0, 2.0], [3.0, 0.0]]))
    np.testing.assert_allclose(curved.asnumpy(), [
        [1.2533807, -1.0331169], [-0.0214397, -3.8937073], [-4.1158552, -7.2924042]], rtol=2e-5)
    values, many = ops.jet(lambda x, y: (x * y, ops.sin(x)), (X, Y), (series, series))
    assert arrays(values[0]) == [3.0, 8.0]
    np.testing.assert_allclose(many[0].asnumpy(), [[4.0, 6.0], [2.0, 2.0], [0.0, 0.0]], atol=1e-6)
    ints = ops.jet(ExpSin(), Tensor([1, 2], ms.int32), Tensor([[1, 1], [0, 0]], ms.int32))
    np.testing.assert_allclose(ints[1].asnumpy()[1], [-1.2748204, -1.8274731], rtol=1e-5)


def test_derivative():
    value, third = ops.derivative(ExpSin(), X, 3)
    np.testing.assert_allclose(value.asnumpy(), [2.3197770, 2.4825778], rtol=1e-6)
    np.testing.assert_allclose(third.asnumpy(), [-4.0515365, 3.6724352], rtol=1e-5)
    values, seconds = ops.derivative(lambda x, y: (x * y, ops.sin(x)), (X, Y), 2)
    assert arrays(values[0]) == [3.0, 8.0] and arrays(seconds[0]) == [2.0, 2.0]
    assert arrays(ops.derivative(lambda x: x**5, Tensor(2.0, ms.float64), 4)[1]) == 240.0


@pytest.mark.parametrize("call, error, message", [
    (lambda: ops.jet(square, X, 3), TypeError, "'series' must be a Tensor"),
    (lambda: ops.jet(square, (X, Y), (X,)), ValueError, "hold as many Tensors, but got 2 and 1"),
    (lambda: ops.jet(square, X, Tensor([1.0, 1.0])), ValueError, "'series' must have shape"),
    (lambda: ops.derivative(square, X, 0), ValueError, "'order' must be 1 or more, but got 0"),
    (lambda: ops.derivative(square, X, 1.5), TypeError, "'order' must be an int, but got 1.5"),
    (lambda: ops.derivative(square, X.astype(ms.float16), 1), TypeError, "Float16"),
])
def test_errors_of_jet_and_derivative(call, error, message):
    with pytest.raises(error, match=message):
        call()
