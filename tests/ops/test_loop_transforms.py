"""Loops of compiled functions in derivatives of derivatives, forward mode and `vmap`.

They stay loops: a graph has the kernels of a few steps, for any number of these.
"""

import dataclasses
from typing import Any

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.autodiff.stop import no_grad

RNG = np.random.default_rng(7)
W = Tensor((RNG.standard_normal((3, 3)) * 0.5).astype("float32"))
XS = Tensor(RNG.standard_normal((40, 2, 3)).astype("float32"))
X, ROW = XS[0], XS[:, 0]
SHORT = XS[:12]  # where the number of operations isn't counted
CALLS = [(X,), (X * 2,), (X * 0.1,)]
ROOTS = [(Tensor([9.0, 4.0]),), (Tensor([1e4, 4.0]),), (Tensor([1.0, 1.0]),)]


def flat(value):
    if isinstance(value, Tensor):
        return [value.asnumpy()]
    return [a for v in (value.values() if isinstance(value, dict) else value) for a in flat(v)]


def agrees(function, calls, most=None, graphs=1):
    """Compare the compiled function with the eager one, and count the graph's operations."""
    compiled, eager = ms.jit(function), []
    for args in calls:
        ms.set_seed(1)
        eager.append(flat(function(*args)))
    for args, wanted in zip(calls * 2, eager * 2, strict=True):
        ms.set_seed(1)
        for a, b in zip(flat(compiled(*args)), wanted, strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5 * (1 + np.abs(b).max()))
    details = compiled.report().details
    assert len(details) <= graphs
    if most is not None:
        assert max(one.kernels for one in details) < most


def scanned(c, w=W, xs=XS):
    c, ys = ms.scan(lambda c, x: (ops.tanh(c @ w + x), (c * x).sum()), c, xs)
    return (c * c).sum() + (ys * ys).sum()


def grown(c, w=W):
    """The number of steps depends on `c`."""
    return ms.while_loop(lambda s: ops.logical_and((s[0] * s[0]).sum() < 50, s[1] < 60),
                         lambda s: (s[0] * 1.2 + ops.sin(s[0] @ w) * 0.1, s[1] + 1),
                         (c, Tensor(0)))[0].sum()


def root(a):
    return ms.while_loop(lambda x: ops.abs(x * x - a).sum() > 1e-4 * a.sum(),
                         lambda x: (x + a / x) / 2, a)


def squared(gradient: Any):
    return lambda *args: sum((g * g).sum() for g in _listed(gradient(*args)))


def _listed(value):
    return value if isinstance(value, (tuple, list)) else [value]


def twice(f, *by):
    return ms.grad(squared(ms.grad(f, *by)), *by)


def pushed(f):
    return lambda x: ms.jvp(f, x, x)


def rows(c, xs=ROW):
    """A loop whose step takes the example from outside, too."""
    last, sums = ms.scan(lambda s, x: (ops.tanh(s @ W + c + x), s.sum()), c, xs)
    return last.sum() + (sums * sums).sum()


@pytest.mark.parametrize("function, calls, most", [
    (twice(scanned, (0, 1)), [(X, W), (X * 2, W)], 120),
    pytest.param(twice(lambda c: squared(ms.grad(scanned))(c)), CALLS, 200,
                 marks=pytest.mark.long("'hessian', and once more")),
    (twice(grown, (0, 1)), [(X, W), (X * 2, W), (X * 0.1, W), (X * 100, W)], 100),
    (pushed(scanned), CALLS, 60), (pushed(grown), CALLS, 60),
    (pushed(ms.grad(scanned)), CALLS, 100), (pushed(ms.grad(grown)), CALLS, 100),
    (ms.grad(lambda c: ms.jvp(scanned, c, c)[1]), CALLS, 100),
    (ms.grad(lambda c: ms.jvp(grown, c, c)[1]), CALLS, 100),
    (ms.hessian(scanned), CALLS, 200), (ms.hessian(grown), CALLS, 200),
    (ms.jacrev(lambda c: ms.scan(lambda c, x: (ops.sin(c @ W + x), None), c, XS)[0]), CALLS, 40),
    pytest.param(lambda c: ms.jet(scanned, c, XS[:2]), CALLS, 400, marks=pytest.mark.long(
        "'push' of 'push_grad'; values of `jet` are in tests/autodiff/test_taylor.py")),
], ids="scan3 third while push push_while push_grad push_grad_while grad_push grad_push_while "
       "hessian hessian_while jacrev jet".replace("scan3", "scan").split())
def test_derivatives_stay_loops(function, calls, most):
    agrees(function, calls, most, graphs=2)  # the first call of forward mode may differ


@pytest.mark.parametrize("function, calls, most", [
    (ms.vmap(rows), CALLS, 30), (ms.vmap(rows, (0, 1)), [(X, XS), (X * 2, XS)], 30),
    (ms.vmap(ms.grad(rows)), CALLS, 60), (ms.grad(lambda x: ms.vmap(rows)(x).sum()), CALLS, 60),
    (ms.vmap(pushed(rows)), CALLS, 60), (ms.vmap(ms.hessian(rows)), CALLS, 200),
    (ms.vmap(root), ROOTS, 20), (ms.vmap(ms.vmap(root)), [(x[0][None],) for x in ROOTS], 20),
    (ms.vmap(ms.grad(root)), ROOTS, 40),
    (ms.grad(lambda a: ms.vmap(root)(a).sum()), ROOTS, 40),
    (ms.vmap(ms.grad(ms.grad(root))), ROOTS, 120),
    (twice(lambda a: ms.vmap(root)(a).sum()), ROOTS, 120),
    (ms.vmap(lambda x: ms.while_loop(lambda s: s[1] < 30, lambda s: (ops.sin(s[0] @ W + x),
                                                                     s[1] + 1), (x, Tensor(0)))),
     CALLS, 30),
], ids="scan scan_stacks gradients gradient tangents hessians while nested while_gradients "
       "while_gradient while_second second_of_while same_steps".split())
def test_vmap_stays_a_loop(function, calls, most):
    agrees(function, calls, most)


def test_an_example_that_has_ended_waits():
    found = ms.vmap(lambda x: ms.while_loop(lambda s: s[0] < 10, lambda s: (s[0] * 2, s[1] + 1),
                                            (x, Tensor(0))))(Tensor([1.0, 6.0, 20.0]))
    assert found[0].tolist() == [16.0, 12.0, 20.0] and found[1].tolist() == [4, 1, 0]


def test_weights_in_loops():
    net = nn.SequentialCell(nn.Dense(3, 3), nn.LayerNorm((3,)), nn.GELU())
    weights = net.trainable_params()

    def loss(c):
        return ms.scan(lambda c, x: (net(c) + x, None), c, ROW[:12])[0].sum()

    agrees(ms.vmap(ms.grad(loss, None, weights)), CALLS, 90)
    agrees(pushed(ms.grad(loss)), CALLS, 90, graphs=2)
    agrees(ms.grad(lambda c: squared(ms.grad(loss, None, weights))(c), 0, weights), CALLS, 130)


def test_cells_side_by_side():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(3, 3)

        def construct(self, x):
            return ms.scan(lambda c, e: (ops.tanh(self.dense(c) + e), None), x, XS)[0]

    agrees(ms.vmap(nn.CellList([Net() for _ in range(4)]), in_axes=None), CALLS, 40)


@dataclasses.dataclass
class State:
    a: Tensor
    n: Tensor


def with_objects(c):
    last = ms.scan(lambda s, e: (State(ops.tanh(s.a * e.sum() + c), s.n + 1), s.n * 2),
                   State(c, Tensor(0)), SHORT)[0]
    return (last.a * last.n).sum()


def with_other_leaves(c):
    begin = {"a": c, "b": ops.sin(c), "k": 3}
    return ms.scan(lambda s, x: ({"a": ops.tanh(s["a"] + x * s["b"]), "b": s["b"] * 0.9, "k": 3},
                                 x * s["k"]), begin, SHORT)[0]["a"].sum()


def with_integers(c):
    def body(c, x):
        whole = (c * 10).astype(ms.int32)
        return ops.sin(c) + whole.astype(ms.float32) * 0.01 + x, whole

    return ms.scan(body, c, SHORT)[0].sum()


def with_shared_results(a):
    def body(s, x):
        a, b, c = s
        return (b, a, W * 1.0 + c.sum() * 0.01), (a, b, a, x)

    (p, q, r), (u, v, w, _) = ms.scan(body, (a, a * 2, W), SHORT)
    return (p * p).sum() + (r * r).sum() + (u * v * w).sum() + (q**3).sum()


def with_other_loops(c):
    def step(c, x):
        c, n = ms.while_loop(lambda s: ops.logical_and(s[1] < 5, s[0].sum() < x.sum() + 2),
                             lambda s: (s[0] + ops.abs(x) * ops.sin(s[0]), s[1] + 1),
                             (c, Tensor(0)))
        return c * 0.5, n

    return (ms.scan(step, c, XS[:8])[0]**2).sum()


def with_gradients(c):
    """As training inside of training: a step has a gradient."""
    return ms.scan(lambda c, x: (c - 0.1 * ms.grad(lambda y: (ops.tanh(y @ W + x)**2).sum())(c),
                                 None), c, SHORT)[0].sum()


def backwards(c):
    c, ys = ms.scan(lambda c, x: (ops.sin(c * x + W[0]), c * x), c, SHORT, reverse=True)
    return (c * c).sum() + (ys**3).sum()


def in_place(c):
    def body(c, x):
        y = c * 1
        y += x
        y[0] = y[1] * 2
        return ops.sin(y), None

    return ms.scan(body, c, SHORT)[0].sum()


BODIES = [with_objects, with_other_leaves, with_integers, with_shared_results, with_other_loops,
          with_gradients, backwards, in_place]


TRANSFORMS = {"second": twice, "forward": lambda f: pushed(ms.grad(f)),
              "batched": lambda f: ms.vmap(ms.grad(f))}
# loops and gradients inside of a step take seconds: each is transformed in one way
DEAR = {(with_other_loops, "second"), (with_other_loops, "batched"), (with_gradients, "second"),
        (with_gradients, "forward")}


@pytest.mark.parametrize("transform, function", [
    pytest.param(transform, function, id=f"{name}-{function.__name__}", marks=pytest.mark.long(
        "this body in another way, and this way with the other bodies")
        if (function, name) in DEAR else ())
    for name, transform in TRANSFORMS.items() for function in BODIES])
def test_bodies(function, transform):
    args = [(XS[:2],), (-XS[:2],)] if transform is not twice else [(X,), (-X,)]
    agrees(transform(function), args, graphs=2)


class Rule(nn.Cell):
    def construct(self, x):
        return x * x * 0.3

    def bprop(self, x, out, dout):
        return (3 * x * dout,)


RULE, HALVE = Rule(), ops.InsertGradientOf(lambda g: g * 0.5)


@pytest.mark.parametrize("function", [
    lambda c: ops.stop_gradient(c) * c * 0.5, RULE, lambda c: HALVE(c) * 0.9,
    lambda c: ops.dropout(c, 0.5),
], ids="stop rule hook random".split())
@pytest.mark.parametrize("transform", [
    twice, pushed, lambda f: pushed(ms.grad(f)), ms.jacrev, lambda f: ms.vmap(ms.grad(f)), ms.vmap,
], ids="second push push_grad jacrev batched examples".split())
def test_what_kernels_alone_do_not_say_holds(function, transform):
    """A rule, a hook or a cut of the program's inside of a step: not a loop, but right."""
    def loss(c):
        return ms.scan(lambda c, x: (function(c) + x[0], None), c, XS[:10] * 0.1)[0].sum()

    agrees(transform(loss), [(X,), (X * 2,)], graphs=2)


@pytest.mark.parametrize("around", [
    twice, pushed, lambda f: ms.vmap(ms.grad(f)),
], ids="second push batched".split())
def test_compiled_inside_of_eager_transformations(around):
    for args in CALLS:
        for a, b in zip(flat(around(ms.jit(rows))(*args)), flat(around(rows)(*args)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


def test_second_derivatives_are_those_of_differences():
    def f(x):
        return ms.while_loop(lambda s: s.sum() < 90,
                             lambda s: s * 1.3 + ops.sin(s) * x * 0.1, x).sum()

    x, step = Tensor(np.array([3.0, 2.0])), Tensor(np.array([1e-5, 0.0]))
    found = ms.jit(ms.hessian(f))(x)[0]
    wanted = (ms.grad(f)(x + step) - ms.grad(f)(x - step)) / 2e-5
    np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-5)


DERIVATIVES = [lambda f: lambda x: ms.jvp(f, x, x), ms.hessian, ms.grad, lambda f: ms.grad(
    lambda x: ms.vmap(lambda row: f(row[None]))(x).sum())]


def limit(x):
    """A step with a loop in it, which isn't one operation if the outer loop is differentiated."""
    with no_grad():
        return ms.while_loop(lambda s: (s * s).sum() > 0.1, lambda s: s * ms.fori_loop(
            0, 20, lambda i, v: v * 0.9 + 0.01, ops.ones_like(s)), x)


@pytest.mark.parametrize("derivative", DERIVATIVES)
def test_a_loop_through_which_nothing_flows_stays_one(derivative):
    agrees(derivative(lambda x: (ops.sin(x) * limit(ops.stop_gradient(x))).sum()), CALLS, 150)


@pytest.mark.parametrize("derivative", DERIVATIVES)
def test_what_no_step_has_changed_keeps_its_derivative(derivative):
    """Also in a block where nothing is recorded; the last call takes no step."""
    agrees(derivative(lambda x: (ops.sin(x) * limit(x)).sum()), [(X,), (X * 0.1,)], graphs=2)
