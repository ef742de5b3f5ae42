"""Loops that are one operation of a graph: the same as eagerly, forward and backward."""

from typing import Any

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.ops.loops import alike

RNG = np.random.default_rng(7)
W = Tensor((RNG.standard_normal((3, 3)) * 0.5).astype("float32"))
XS = Tensor(RNG.standard_normal((12, 2, 3)).astype("float32"))
X = XS[0]
while_loop: Any = ms.while_loop
scan: Any = ms.scan


def root(a):
    """By Newton's method; the number of steps depends on `a`."""
    return ms.while_loop(lambda x: ops.abs(x * x - a).sum() > 1e-4,
                         lambda x: (x + a / x) / 2, a)


def flat(value):
    return [value.asnumpy()] if isinstance(value, Tensor) else [a for v in value for a in flat(v)]


def agrees(function, *calls, graphs=1):
    """Compile a function, and compare each call with the eager one."""
    compiled = ms.jit(function)
    for args in calls:
        for a, b in zip(flat(compiled(*args)), flat(function(*args)), strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-5)
    assert len(compiled.report().details) == graphs
    return compiled


def test_one_graph_for_any_number_of_steps():
    agrees(root, *[(Tensor([a]),) for a in (9.0, 1e4, 2.0, 1.0, 50.0)])


def test_gradients_pass_through_counted_steps():
    def loss(a, w):
        x, steps = ms.while_loop(lambda s: ops.abs(s[0] * s[0] - a).sum() > 1e-2,
                                 lambda s: ((s[0] + a / s[0]) / 2 * w, s[1] + 1), (a, Tensor(0)))
        return (x * x * w).sum(), steps

    calls = [(Tensor(a), Tensor([1.0, 1.0])) for a in ([9.0, 4.0], [100.0, 3.0], [1.0, 1.0])]
    agrees(ms.value_and_grad(loss, (0, 1), has_aux=True), *calls)


def test_a_scan_and_its_gradients():
    def loss(c, w, xs):
        c, ys = ms.scan(lambda c, x: (ops.tanh(c @ w + x), (c * x).sum()), c, xs)
        return (c * c).sum() + (ys * ys).sum()

    agrees(ms.value_and_grad(loss, (0, 1, 2)), (X, W, XS), (X * 2, W, XS))


def test_a_scan_compiled_inside_of_an_eager_gradient_call():
    def loss(c, w, xs):
        return ms.scan(lambda c, x: (ops.tanh(c @ w + x), None), c, xs, reverse=True)[0].sum()

    compiled, wanted = ms.jit(loss), ms.grad(loss, (0, 1))(X, W, XS)
    for _ in range(2):
        found = ms.grad(compiled, (0, 1))(X, W, XS)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=2e-5, atol=1e-5)


def test_gradients_are_those_of_differences():
    def loss(w):
        return ms.scan(lambda c, x: (ops.sin(c @ w + x), None), X.astype(ms.float64),
                       XS.astype(ms.float64))[0].sum()

    w, step = W.astype(ms.float64), Tensor(np.zeros((3, 3)))
    step[1, 2] = 1e-6
    found = ms.jit(ms.grad(loss))(w)
    wanted = (loss(w + step) - loss(w - step)) / 2e-6
    np.testing.assert_allclose(found[1, 2].asnumpy(), wanted.asnumpy(), rtol=1e-6)


def test_derivatives_of_higher_order_and_forward_ones():
    def f(x):
        return root(x).sum()

    x = Tensor([9.0, 2.0])
    def g(x):
        return ms.while_loop(lambda y: y.sum() < 50, lambda y: y * x, x).sum()

    agrees(ms.grad(lambda x: ms.grad(f)(x).sum()), (x,), graphs=1)
    agrees(lambda x: ms.jvp(g, x, x), (x,), (x,))
    np.testing.assert_allclose(ms.grad(f)(x).asnumpy(), 0.5 / np.sqrt([9.0, 2.0]), rtol=1e-4)


def test_loops_inside_of_loops():
    def outer(c, x):
        c, n = ms.while_loop(lambda s: ops.logical_and(s[1] < 5, s[0].sum() < x.sum() + 2),
                             lambda s: (s[0] + ops.abs(x), s[1] + 1), (c, Tensor(0)))
        return c * 0.5, n

    def loss(c, xs):
        c, counts = ms.scan(outer, c, xs)
        return c.sum(), counts

    agrees(ms.value_and_grad(loss, (0, 1), has_aux=True), (X, XS), (X, -XS))


def test_operators_are_the_same_loops():
    def f(c, xs):
        last, results = ops.Scan()(lambda c, x: (ops.tanh(c @ W + x), c.sum()), c, xs)
        return last, ops.stack(results), ops.WhileLoop()(lambda v: v.sum() < 10, lambda v: v * 2, c)

    c = ops.abs(X)
    compiled = agrees(f, (c, XS), (c * 0.1, XS))
    assert compiled.report().details[0].kernels < 60  # each body's once


def test_weights_of_a_cell():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.cell = nn.Dense(3, 3)

        def construct(self, x):
            return ms.scan(lambda c, _: (ops.tanh(self.cell(c)), None), x, length=10)[0].sum()

    net = Net()
    step = ms.value_and_grad(net, None, net.trainable_params())
    agrees(step, (X,), (X * 2,))


@pytest.mark.parametrize("body", [
    lambda log: lambda v: (log.append(1), v * 2)[1],          # a side effect
    lambda log: lambda v: v * 2 if v.sum() < 4 else v * 3,    # decides by a value
    lambda log: lambda v: ops.concat([v, v]),                 # other shapes
    lambda log: lambda v: v.add_(v),                          # in place
    lambda log: lambda v: v + ops.rand(1),                    # random numbers
], ids="effect value shape inplace random".split())
def test_what_is_no_operation_runs_as_a_loop_of_python(body):
    def f(x):
        log = []
        found = ms.while_loop(lambda v: v.sum() < 9, body(log), x * 1)
        return found, Tensor(len(log)), x

    compiled = ms.jit(f)
    for start in (1.0, 3.0):
        ms.set_seed(3)
        wanted = flat(f(Tensor([start])))
        ms.set_seed(3)
        for a, b in zip(flat(compiled(Tensor([start]))), wanted, strict=True):
            np.testing.assert_allclose(a, b)


def test_no_steps():
    def f(x, xs):
        return root(x), ms.scan(lambda c, x: (c + x, c * x), x, xs)

    agrees(f, (Tensor([1.0]), Tensor(np.zeros((0, 1), "float32"))))


def test_results_are_new_memory():
    def f(x):
        a, b, c = ms.while_loop(lambda s: s[2] < 2, lambda s: (s[1], s[0], s[2] + 1),
                                (x, x * 2, Tensor(0)))
        a += 1
        return a, b, c, x * 1

    agrees(f, (X,), (X,))


def test_structures_and_their_other_leaves():
    def f(x):
        found = ms.while_loop(lambda s: s["x"].sum() < 50,
                              lambda s: {"x": s["x"] * 2, "name": s["name"], "n": s["n"]},
                              {"x": x, "name": "a", "n": 3})
        return found["x"] * found["n"]

    agrees(f, (ops.abs(X),), (ops.abs(X) * 3,))


WRONG: Any = [
    (lambda: while_loop(3, abs, X), TypeError, "'cond_fun' must be a function"),
    (lambda: while_loop(abs, X, X), TypeError, "'body_fun' must be a function"),
    (lambda: scan(3, X, XS), TypeError, "'f' must be a function"),
    (lambda: scan(max, X), ValueError, "'length' must be given"),
    (lambda: scan(max, X, XS, 3), ValueError, "must have one length, but got 3 and 12"),
    (lambda: scan(max, X, XS, 1.5), TypeError, "'length' must be an int"),
    (lambda: scan(max, X, Tensor(1)), ValueError, "must have an axis"),
    (lambda: scan(max, X, [1, 2]), TypeError, "'xs' must be of Tensors or None"),
    (lambda: scan(lambda c, x: (c, 1), X, XS), TypeError, "must be Tensors or None"),
]


@pytest.mark.parametrize("call, kind, text", WRONG, ids=range(9))
def test_wrong_arguments(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_counts_from_one_number_to_another():
    def power(x, n):
        return ms.fori_loop(0, n, lambda i, v: v * x + i, ops.ones_like(x))

    agrees(power, *[(Tensor(np.float32([0.5, 2.0])), Tensor(n)) for n in (9, 20, 0, 3)])
    agrees(lambda x: ms.grad(power)(x, 12), (X,))
    for _ in range(2):  # steps that are too few for a loop of their own
        assert ms.jit(lambda v: ms.fori_loop(2, 4, lambda i, v: v * i, v))(Tensor(1.0)) == 6.0
    assert ms.fori_loop(3, 3, lambda i, v: v + 1, 5) == 5
    with pytest.raises(TypeError, match="For 'fori_loop', 'upper' must be an int or a Tensor"):
        ms.fori_loop(0, 2.0, lambda i, v: v, 1)
    with pytest.raises(TypeError, match="For 'fori_loop', 'body_fun' must be a function"):
        ms.fori_loop(0, 2, 3, 1)


@pytest.mark.parametrize("loop", [
    lambda x: ms.while_loop(lambda v: v.sum() > 100, lambda v: v * 2, x),
    lambda x: ms.fori_loop(0, ms.Tensor(0), lambda i, v: v * 2, x),
    lambda x: ms.fori_loop(0, 0, lambda i, v: v * 2, x)], ids=["while", "count", "no count"])
def test_a_loop_without_steps_gives_another_value(loop):
    """So what hangs on the first value, and writes into the last, mean the same with steps."""
    def f(x):
        first = x * 1.0
        first.register_hook(lambda g: g * 100)
        last = loop(first)
        inner = ms.grad(lambda v: (v * v).sum())(last)
        last[0] = 7.0
        return inner, first + 0, last

    x = ms.Tensor([1.0, 2.0])
    for fn in (f, compiled := ms.jit(f), compiled):
        inner, first, last = fn(x)
        assert inner.tolist() == [2, 4] and first.tolist() == [1, 2] and last.tolist() == [7, 2]
    assert ms.fori_loop(0, 0, lambda i, v: v, (1, x))[0] == 1


SAME, ONE = object(), Tensor([1.0])


@pytest.mark.parametrize("value, first, want", [
    (float("1.5"), float("1.5"), True), (1.5, 2.5, False), (0.0, -0.0, False), (1, True, False),
    (1, 1.0, False), (float("nan"), float("nan"), True), (10**30, int("1" + "0" * 30), True),
    ("".join(["a", "b"]), "ab", True), (None, None, True), (SAME, SAME, True),
    (frozenset([1, 2]), frozenset([2, 1]), False), (ONE, Tensor([2.0]), True), (ONE, 1.0, False),
    (1.0, ONE, False), (ms.Parameter(ONE, name="p"), ONE, False), ((ONE, 1.5), (ONE, 1.5), True),
    ((ONE, 1.5), (ONE, 2.5), False), ([ONE], (ONE,), False), ((ONE,), (ONE, ONE), False),
    ({"a": ONE, "b": 1}, {"a": ONE, "b": 1}, True), ({"b": 1, "a": ONE}, {"a": ONE, "b": 1}, False),
    ({"a": ONE}, {"b": ONE}, False)], ids=range(22))
def test_what_steps_may_leave_as_it_is(value, first, want):
    """Numbers and texts of one type and spelling, other values only themselves, any Tensors."""
    assert bool(alike(value, first)) is want


def test_results_of_steps_may_have_their_keys_in_another_order():
    def step(total, x):
        return total + x, {"p": x, "q": x * 10} if float(total) < 2 else {"q": x * 10, "p": x}

    _, found = ms.scan(step, Tensor(0.0), Tensor([1.0, 2.0, 3.0]))
    assert found["p"].tolist() == [1.0, 2.0, 3.0] and found["q"].tolist() == [10.0, 20.0, 30.0]
