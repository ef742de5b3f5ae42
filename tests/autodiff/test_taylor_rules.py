"""Taylor series by rules, in compiled functions, beside nested derivatives and JAX's."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.autodiff import taylor
from lamella.autodiff.tree import tensors

RANDOM = np.random.default_rng(0)
X = Tensor(RANDOM.standard_normal(5))
PATH = Tensor(RANDOM.standard_normal((5, 5)) / 3)
W = Tensor(RANDOM.standard_normal((5, 5)))


@pytest.fixture
def ways(monkeypatch):
    """Whether each jet of a recording was computed by rules."""
    seen, by_rules = [], taylor._by_rules

    def watched(*args):
        found = by_rules(*args)
        seen.append(found is not None)
        return found

    monkeypatch.setattr(taylor, "_by_rules", watched)
    return seen


def check(fn, *args):
    """A compiled function gives what the eager one gives, by nested derivatives."""
    compiled = ms.jit(fn)
    for _ in range(2):
        found = list(tensors(compiled(*args)))
    for a, b in zip(found, tensors(fn(*args)), strict=True):
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
])
def test_rules(fn, ways):
    check(lambda x, path: ms.jet(fn, x, path), X, PATH)
    assert all(ways) and ways


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
    wanted, slopes_wanted = gradient(x)
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
