"""Gradients of each example of batches of any size, with layers and losses: one graph."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.graph.tracing.symbolic import preparation

SIZES = (5, 6, 7, 12, 9, 30, 4)


@pytest.fixture(scope="module", autouse=True)
def _prepared():
    preparation.begin()
    assert preparation.finished.wait(120)


def batches(shape=(6,), classes=3, of_classes=()):
    draw = np.random.default_rng(3)
    return [(Tensor(draw.standard_normal((n, *shape)).astype("float32")),
             Tensor(draw.integers(0, classes, (n, *of_classes)).astype("int32"))) for n in SIZES]


def check(function, calls):
    """Compare with eager calls; the third size makes the last graph."""
    compiled = ms.jit(function)
    for args in calls:
        for a, b in zip(ms.tree.leaves(compiled(*args)), ms.tree.leaves(function(*args)),
                        strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-5)
    report = compiled.report()
    assert report["traces"] == 3 and report["replays"] == len(calls) - 3


def test_private_training():
    """Gradients of examples, each clipped, of batches that are as large as chance has it."""
    net = nn.SequentialCell(nn.Dense(6, 8), nn.GELU(), nn.Dense(8, 3))
    weights = net.trainable_params()
    each = ms.vmap(ms.grad(lambda x, y: ops.cross_entropy(net(x[None]), y[None]), None, weights))

    def step(x, y):
        gradients = each(x, y)
        norm = ops.sqrt(sum((g.reshape(g.shape[0], -1) ** 2).sum(1) for g in gradients))
        factor = ops.minimum(1 / norm, Tensor(1.0))
        return [(g * factor.reshape(-1, *[1] * (g.ndim - 1))).sum(0) for g in gradients]

    check(step, batches())


@pytest.mark.parametrize("function", [
    lambda x, y: ops.gelu(x), lambda x, y: ops.gelu(x, "tanh"),
    lambda x, y: ops.cross_entropy(x, y),
    lambda x, y: ops.cross_entropy(x[None], y[None], Tensor([1.0, 2.0, 3.0]), 1),
    lambda x, y: ops.nll_loss(x[None], y[None], reduction="none") * ops.nll_loss(x, y),
    lambda x, y: ops.cross_entropy(ops.stack([x, x], 1)[None], ops.stack([y, y])[None],
                                   reduction="sum"),
    lambda x, y: nn.LayerNorm((3,))(x) ** 2,
], ids="gelu tanh class weighted likelihood places norm".split())
def test_functions(function):
    check(ms.vmap(ms.grad(lambda x, y: function(x, y).sum())), batches((3,)))


@pytest.mark.parametrize("by", ["weights", "both"])
def test_weights_of_a_convolution(by):
    """An ensemble of as many networks as there happen to be."""
    draw = np.random.default_rng(5)
    images = Tensor(draw.standard_normal((2, 3, 5, 5)).astype("float32"))
    gradient = ms.grad(lambda w, x: (ops.conv2d(x, w) ** 2).sum(), (0, 1))

    def each(w, x):
        return ms.vmap(gradient, (0, 0 if by == "both" else None))(w, x)

    calls = [[Tensor(draw.standard_normal((n, 4, 3, 3, 3)).astype("float32")),
              ops.stack([images * i for i in range(n)]) if by == "both" else images] for n in SIZES]
    compiled = ms.jit(each)
    for args in calls:
        for a, b in zip(compiled(*args), each(*args), strict=True):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-3, atol=1e-3)
    report = compiled.report()
    assert report["traces"] == 3 and report["replays"] == len(calls) - 3


def test_a_class_that_there_is_not():
    step = ms.jit(ms.vmap(ms.grad(lambda x, y: ops.cross_entropy(x[None], y[None]))))
    for x, y in batches((3,)):
        step(x, y)
    with pytest.raises(RuntimeError):
        step(x, y + 3)


def _assigned(x):
    y = x * 1
    y[1:3] = x[3:5] * 2
    return y


def _assigned_at_places(x):
    y = ops.zeros((2, 3), ms.float32)
    y[:, 1], y[..., 2] = x[:2], 3.0
    y[0] += x[3:]
    y[[1], 0] = x[5]
    return y * x.reshape(2, 3)


def _square(x):
    return 0.1 * x[2:].reshape(2, 2) + Tensor([[3.0, 0.0], [1.0, 2.0]])


_TRANSPOSED = nn.Conv2dTranspose(1, 2, (1, 2), (1, 2), "same", has_bias=True, bias_init="ones")

PARTS = {
    "slices": lambda x: [x[1:3], x[-3:], x[1::2], x[1] * x[4], x.reshape(2, 3)[..., 1:],
                         ops.narrow(x, 0, 1, 3)],
    "splits": lambda x: [ops.split(x, 2)[1], ops.split(x, [1, 3, 2])[1], ops.chunk(x, 3)[1]],
    "pads": lambda x: [ops.pad(x, (1, 2)), ops.pad(x, (-1, 2), value=3.0), ops.roll(x, 1)],
    "places": lambda x: [ops.index_select(x, 0, Tensor([0, 2, 2])),
                         ops.gather_elements(x, 0, Tensor([1, 1, 0])),
                         ops.diagonal(x.reshape(2, 3).T @ x.reshape(2, 3))],
    "orders": lambda x: [ops.sort(x)[0][:2], ops.topk(x, 2)[0], ops.cumsum(x, 0)[1:]],
    "changes": lambda x: [_assigned(x), _assigned_at_places(x), ops.cat([x[1:], x[:2]]),
                          ops.prod(x[2:])],
    "resized": lambda x: [
        ops.interpolate(x.reshape(1, 1, 2, 3), size=(3, 5), mode="bilinear"),
        ops.interpolate(x.reshape(1, 2, 3), size=7, mode="nearest"),
        ops.interpolate(x.reshape(1, 1, 1, 2, 3), size=(2, 3, 4), mode="trilinear")],
    "windows": lambda x: [ops.unfold(x.reshape(1, 1, 2, 3), 2),
                          ops.pad(x.reshape(1, 1, 2, 3), (1, 1, 1, 1), "reflect"),
                          ops.pad(x.reshape(1, 2, 3), (1, 1), "replicate")],
    "transposed windows": lambda x: [
        _TRANSPOSED(x.reshape(1, 1, 2, 3)),
        ops.conv_transpose2d(Tensor([[[[1.0, 2.0]]]]), x[:2].reshape(1, 1, 1, 2))],
    "rows": lambda x: [ops.embedding(Tensor([[0, 2], [1, 1]]), x.reshape(3, 2), 1)],
    "folds": lambda x: ms.mint.nn.functional.fold(x.reshape(1, 2, 3), (1, 4), (1, 2)),
    "spectra": lambda x: [ops.rfft(x).abs(), ops.irfft(ops.rfft(x))],
    "solvers": lambda x: [ms.scipy.linalg.solve_triangular(_square(x), x[:2], lower=True),
                          ops.cholesky_solve(x[:2].reshape(2, 1), ops.tril(_square(x)))],
    "decompositions": lambda x: [ops.cholesky(_square(x) @ _square(x).T), ops.qr(_square(x))[1]],
    "grids": lambda x: [ops.grid_sample(x.reshape(1, 1, 2, 3),
                                        ops.tanh(x[:4]).reshape(1, 1, 2, 2))],
    "fixed grids": lambda x: ops.grid_sample(x.reshape(1, 1, 2, 3), Tensor([[[[0.1, 0.3]]]])),
    "fixed images": lambda x: ops.grid_sample(Tensor([[[[1.0, 2.0], [4.0, 3.0]]]]), ops.tanh(
        x.reshape(1, 1, 3, 2)), "nearest", "border") + ops.affine_grid(
            x.reshape(1, 2, 3), (1, 1, 1, 3)).sum(),
    "moving averages": lambda x: ops.batch_norm(
        x.reshape(1, 2, 3), Tensor([0.5, 1.0]), Tensor([2.0, 3.0]), Tensor([1.5, 0.5]), x[:2]),
    "running": lambda x: [ops.cumprod(x, 0), ops.cummax(x, 0)[0], ops.cummin(x, 0)[0]],
    "levels": lambda x: [ms.grad(lambda y: (y[1:] ** 3).sum())(x)[2:],
                         ms.vmap(lambda y: y[1:])(x.reshape(2, 3))],
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_what_is_differentiated(name):
    """The rules for their gradients ask for the number of examples; 6 is a length, too."""
    each = ms.vmap(ms.grad(lambda x: sum((part ** 2).sum() for part in PARTS[name](x))))
    check(each, [(x,) for x, _ in batches()[:4]])


def test_rows_of_a_table():
    draw = np.random.default_rng(7)
    table = Tensor(draw.standard_normal((9, 2)).astype("float32"))
    each = ms.vmap(ms.grad(lambda t, i: (ops.embedding(i, t, 4) ** 3).sum()), (None, 0))
    calls = [(table, Tensor(draw.integers(0, 9, (n, 5)).astype("int32"))) for n in SIZES]
    check(each, calls)
    compiled = ms.jit(each)
    for args in calls:
        compiled(*args)
    for wrong in (-1, 9):
        with pytest.raises(RuntimeError, match="rows in 'input' must be in"):
            compiled(table, calls[3][1] * 0 + wrong)


def test_parts_of_examples_along_another_axis():
    each = ms.vmap(ms.grad(lambda x: (x[1:] * ops.pad(x, (0, -1))).sum()), 1, 1)
    check(each, [(x.T.contiguous(),) for x, _ in batches()[:5]])


def test_two_numbers_that_vary():
    """Of examples and of the elements in each."""
    each = ms.vmap(ms.grad(lambda x: (x[1:] * x[:-1]).sum()))
    draw = np.random.default_rng(5)
    check(each, [(Tensor(draw.standard_normal(shape).astype("float32")),)
                 for shape in ((5, 4), (6, 7), (7, 9), (12, 3), (3, 12), (9, 9))])


def test_forward_derivatives_of_gradients():
    gradient = ms.grad(lambda x: (ops.sin(x) ** 2).sum())
    check(lambda x: ms.jvp(gradient, x, x * 0.3)[1], [(x,) for x, _ in batches()[:5]])
