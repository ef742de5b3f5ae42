"""Taylor series by rules, compiled and eagerly, beside nested derivatives and JAX's."""

import warnings

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.autodiff import taylor
from lamella.autodiff.tree import tensors
from lamella.core.state import state
from lamella.graph.tracing import body_apart

from ..zygote import run as python

RANDOM = np.random.default_rng(0)
X = Tensor(RANDOM.standard_normal(5))
PATH = Tensor(RANDOM.standard_normal((5, 5)) / 3)
W = Tensor(RANDOM.standard_normal((5, 5)))


@pytest.fixture
def ways(monkeypatch):
    """Whether each jet that tried rules was computed by them."""
    seen, by_rules = [], taylor._by_rules

    def watched(*args):
        found = by_rules(*args)
        seen.append(found is not None)
        return found

    monkeypatch.setattr(taylor, "_by_rules", watched)
    return seen


def nested(fn, *args):
    """What a function gives by nested derivatives."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(taylor, "_by_rules", lambda *args: None)
        return fn(*args)


def check(fn, *args):
    """A function gives compiled and eagerly what it gives by nested derivatives."""
    compiled, wanted = ms.jit(fn), list(tensors(nested(fn, *args)))
    for way in (compiled, compiled, fn):
        for a, b in zip(tensors(way(*args)), wanted, strict=True):
            assert a.shape == b.shape and a.dtype == b.dtype
            limits = (1e-5, 1e-6) if a.dtype is ms.float32 else (1e-8, 1e-10)
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), *limits)


@pytest.mark.parametrize("fn", [
    lambda x: x**3 + 2 * x * x / (1 + x * x) - x,
    lambda x: 1 - (3 - x) / (x * x + 1),
    lambda x: ops.tanh(x) * ops.sigmoid(x) + ops.silu(x),
    lambda x: ops.exp(ops.sin(x)) - ops.cos(x) / ops.exp(x),
    lambda x: ops.log(1 + x * x) + ops.sqrt(2 + x * x) + ops.rsqrt(1 + x * x),
    lambda x: (x * x + 1) ** -2 + (x * x + 1) ** 1.5 + (x * x + 2) ** 0.5 + 1 / (x * x + 1),
    lambda x: (x * 0) ** 3 + x**0 + x**1,
    lambda x: ops.relu(x) * ops.abs(x) + ops.where(x > 0, x * x, 1.0),
    lambda x: ops.matmul(ops.tanh(x.reshape(5, 1)), x.reshape(1, 5)).sum(0) + x @ W,
    lambda x: ops.addmm(x, W, ops.exp(x[:, None]) * W) + ops.bmm(
        (W * x).reshape(1, 5, 5), (x + W).reshape(1, 5, 5))[0].T.reshape(5, 5),
    lambda x: ops.cat([x, x * x, Tensor(np.ones(5))]) - ops.stack([x[::2], x[2:]]).mean(),
    lambda x: (x - x.mean()) / x.std(),
    lambda x: [ops.softmax(x), ops.gelu(x), ops.erf(x), ops.logsumexp(x, 0), ops.cumprod(x, 0)],
    lambda x: (x.astype(ms.float32) * 2, {"a": x.sum()}, ops.sign(x), x.argmax(), x[1:3].max()),
    lambda x: ops.split(x * x, 2)[1] * ops.unstack(x)[0],
    lambda x: ops.abs(x + 1j * (x * x + 1)) * ops.real((x + 1j * x) ** 3),
])
def test_rules(fn, ways):
    check(lambda x, path: ms.jet(fn, x, path), X, PATH)
    count = len(ways)
    ms.jet(fn, X, PATH)
    assert all(ways) and len(ways) == count + 1 > 1


def last(w, x, path):
    return (ms.jet(lambda x: ops.tanh(x @ w) * ops.sin(x), x, path)[1][-1] ** 2).sum()


@pytest.mark.parametrize("fn", [
    ms.value_and_grad(last, (0, 1, 2)),
    lambda w, x, path: ms.grad(lambda x: ms.grad(last, 1)(w, x, path).sum())(x),
    lambda w, x, path: ms.vmap(last, (None, 0, None))(w, ops.stack([x, x * 2]), path),
    lambda w, x, path: ms.vmap(ms.grad(last, 1), (None, 0, 0))(
        w, ops.stack([x, x * 2]), ops.stack([path, path * 2])),
    lambda w, x, path: ms.jvp(lambda x: last(w, x, path), x, x),
    lambda w, x, path: ms.jet(ms.grad(lambda x: ops.sin(x).sum()), x, path),
])
def test_further_transformations(fn, ways):
    check(fn, W, X, PATH[:3])
    assert any(ways)


def test_weights_of_a_network(ways):
    net = nn.SequentialCell(nn.Dense(5, 8), nn.Tanh(), nn.Dense(8, 3)).to_float(ms.float32)
    x, path = ops.ones((2, 5)) / 3, ops.ones((4, 2, 5)) / 5
    gradient = ms.value_and_grad(lambda x: (ms.jet(net, x, path)[1][-1] ** 2).sum(), None,
                                 net.trainable_params())
    compiled = ms.jit(gradient)
    for _ in range(2):
        value, slopes = compiled(x)
    wanted, slopes_wanted = nested(gradient, x)
    np.testing.assert_allclose(float(value), float(wanted), 1e-4)
    for a, b in zip(slopes, slopes_wanted, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), 1e-3, 1e-5 * float(abs(b).max()))
    assert all(ways)


class Tripled(nn.Cell):
    def construct(self, x):
        return x * x

    def bprop(self, x, out, dout):
        return (3 * dout * x,)


@pytest.mark.parametrize("fn", [Tripled(), lambda x: ops.stop_gradient(x) * x])
def test_what_kernels_do_not_say_is_nested(fn, ways):
    check(lambda x, path: ms.jet(fn, x, path), X, PATH[:2])
    assert not any(ways)


def test_side_effects_happen_once():
    calls = []

    def fn(x):
        calls.append(0)
        return ops.sin(x)

    ms.jit(lambda x: ms.jet(fn, x, PATH))(X)
    assert len(calls) == 1
    ms.jet(fn, X, PATH)
    assert len(calls) == 2


def warned(x):
    warnings.warn("beware", stacklevel=1)
    return ops.sin(x)


class Counted(nn.Cell):
    def __init__(self):
        super().__init__()
        self.calls, self.total = 0, ms.Parameter(ops.zeros(5, ms.float64), name="total")

    def construct(self, x):
        self.calls += 1
        ops.assign_add(self.total, ops.ones_like(self.total))
        return ops.sin(x) * self.total


def test_what_does_more_than_computing_does_it_once_eagerly(capsys, monkeypatch):
    assert nested(ms.jet, lambda x: ops.sin(x) * x, X, PATH)[1].shape == (5, 5)
    net, wanted = Counted(), Counted()
    for _ in range(2):
        found, want = ms.jet(net, X, PATH), nested(ms.jet, wanted, X, PATH)
        np.testing.assert_allclose(found[1].asnumpy(), want[1].asnumpy())
        assert net.calls == wanted.calls and float(net.total[0]) == float(wanted.total[0])
    ms.jet(lambda x: (print("once"), x * x)[1], X, PATH)
    assert capsys.readouterr().out == "once\n"
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        ms.jet(warned, X, PATH)
    assert len(seen) == 1

    def dropped(x):
        return ops.dropout(x * x, 0.5, training=True)

    ms.set_seed(3)
    found = ms.jet(dropped, X, PATH)[0].asnumpy(), ops.rand(3).asnumpy()
    ms.set_seed(3)
    wanted = nested(ms.jet, dropped, X, PATH)[0].asnumpy(), ops.rand(3).asnumpy()
    np.testing.assert_array_equal(np.concatenate(found), np.concatenate(wanted))
    with pytest.raises(ValueError, match="no such"):
        ms.jet(lambda x: (_ for _ in ()).throw(ValueError("no such")), X, PATH)
    assert state.trace is None


def test_prints_of_a_process_come_once():
    found = python("-c", """if True:
        import lamella as ms
        from lamella import Tensor, ops

        calls = []

        def fn(x):
            calls.append(0)
            print("once")
            return ops.sin(x)

        ms.jet(fn, Tensor([1.0]), Tensor([[1.0], [0.0], [0.0], [0.0]]))
    """)
    assert found.stdout == "once\n", found.stderr  # print writes in C there


def test_a_function_that_does_more_than_computing_is_recorded_once(monkeypatch):
    tried, record = [], body_apart._recorded
    monkeypatch.setattr(body_apart, "_recorded", lambda *args: tried.append(0) or record(*args))

    def fn(x):
        return x * float(x.sum())

    for _ in range(3):
        ms.jet(fn, X, PATH)
    assert len(tried) == 1
    for _ in range(3):
        ms.jet(ops.sin, X, PATH)
    assert len(tried) == 4


def test_zeros_at_the_end_of_a_path_are_not_computed_with(monkeypatch):
    path, seen = ops.zeros((4, 5), ms.float64), []
    path[0] = 1.0
    moving = taylor._moving
    monkeypatch.setattr(taylor, "_moving", lambda paths: seen.append(moving(paths)) or seen[-1])
    ms.grad(lambda x: ms.jet(ops.sin, x, path)[1][-1].sum())(X)
    ms.grad(lambda x: nested(ms.jet, ops.sin, x, path)[1][-1].sum())(X)
    assert seen == [1, 1]
    ms.grad(lambda path: ms.jet(ops.sin, X, path)[1][-1].sum())(path)
    ms.jvp(lambda path: ms.jet(ops.sin, X, path)[1][-1].sum(), path, path)
    assert seen == [1, 1, 4, 4]


def test_as_jax_says():
    jax = pytest.importorskip("jax")
    jet, jnp = pytest.importorskip("jax.experimental.jet").jet, jax.numpy
    with jax.enable_x64(True):
        x, w = jnp.asarray(X.asnumpy()), jnp.asarray(W.asnumpy())
        value, series = jet(lambda x: jnp.exp(jnp.tanh(x @ w)) / (1 + x * x), (x,), (
            list(jnp.asarray(PATH.asnumpy())),))
        wanted = [np.asarray(value), *map(np.asarray, series)]
    fn = ms.jit(lambda x, path: ms.jet(lambda x: ops.exp(ops.tanh(x @ W)) / (1 + x * x), x, path))
    found, rows = fn(X, PATH)
    np.testing.assert_allclose(np.stack([found.asnumpy(), *rows.asnumpy()]), wanted, 1e-9)
