"""Normalizations beside NumPy, in each order of derivatives, and the shapes that they refuse."""

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, ops

RNG = np.random.default_rng(12)
X = RNG.normal(size=(2, 4, 3, 5))
C, D, E, V = RNG.uniform(0.5, 2, (4, 4))
ROW, SHIFT = RNG.uniform(0.5, 2, (2, 3, 5))


def wide(values):
    return Tensor(np.asarray(values, np.float64))


def normalized(x, axes, eps, weight=1.0, bias=0.0):
    mean = x.mean(axes, keepdims=True)
    spread = ((x - mean) ** 2).mean(axes, keepdims=True)
    return (x - mean) / np.sqrt(spread + eps) * weight + bias


def across(values):
    return np.reshape(values, (-1, 1, 1))


def of_groups(x):
    groups = normalized(x.reshape(2, 2, 2, 3, 5), (2, 3, 4), 0.1).reshape(x.shape)
    return groups * across(C) + across(D)


CASES = {
    "batch in training": (
        lambda x: ops.batch_norm(x, wide(E), wide(V), wide(C), wide(D), True, 0.3, 0.1),
        lambda x: normalized(x, (0, 2, 3), 0.1, across(C), across(D))),
    "batch": (lambda x: ops.batch_norm(x, wide(E), wide(V), wide(C), wide(D), False, 0.3, 0.1),
              lambda x: (x - across(E)) / np.sqrt(across(V) + 0.1) * across(C) + across(D)),
    "batch without weights": (
        lambda x: ops.batch_norm(x, wide(E), wide(V), None, None, True, 0.3, 0.1),
        lambda x: normalized(x, (0, 2, 3), 0.1)),
    "layer": (lambda x: ops.layer_norm(x, (3, 5), wide(ROW), wide(SHIFT), 0.1),
              lambda x: normalized(x, (2, 3), 0.1, ROW, SHIFT)),
    "last dimension": (lambda x: ops.layer_norm(x, 5, eps=0.1), lambda x: normalized(x, 3, 0.1)),
    "group": (lambda x: ops.group_norm(x, 2, wide(C), wide(D), 0.1), of_groups),
    "group without weights": (
        lambda x: ops.group_norm(x, 4, eps=0.1), lambda x: normalized(x, (2, 3), 0.1)),
    "root mean square": (
        lambda x: ops.rms_norm(x, wide(ROW), 0.1)[0],
        lambda x: x / np.sqrt((x * x).mean((2, 3), keepdims=True) + 0.1) * ROW),
    "layer from an axis": (
        lambda x: ops.LayerNorm(2, 2, 0.1)(x, wide(ROW), wide(SHIFT))[0],
        lambda x: normalized(x, (2, 3), 0.1, ROW, SHIFT)),
    "layer with weights from another": (
        lambda x: ops.LayerNorm(1, -2, 0.1)(x, wide(ROW), wide(SHIFT))[0],
        lambda x: normalized(x, (1, 2, 3), 0.1, ROW, SHIFT)),
    "sum": (lambda x: ops.add_layer_norm(x, x * 2, wide(ROW[0]), wide(SHIFT[0]), 0.1)[0],
            lambda x: normalized(3 * x, 3, 0.1, ROW[0], SHIFT[0])),
    "neighbouring channels": (
        lambda x: ops.lrn(x, 1, 0.5, 0.3, 0.7),
        lambda x: x / (0.5 + 0.3 * np.stack([(x[:, max(c - 1, 0):c + 2] ** 2).sum(1)
                                             for c in range(4)], 1)) ** 0.7),
}


def along(function, x, direction, step=1e-3):
    """The first two derivatives along a direction, by differences of fourth order."""
    a, b, c, d, e = (function(x + k * step * direction) for k in (-2, -1, 0, 1, 2))
    return (a - e + 8 * (d - b)) / (12 * step), (16 * (b + d) - a - e - 30 * c) / (12 * step**2)


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name):
    """Forward, backward, and forward of forward; kernels are left for formulas in some of them."""
    found, wanted = CASES[name]
    direction, weight = RNG.normal(size=(2, *X.shape))
    np.testing.assert_allclose(found(wide(X)).asnumpy(), wanted(X), rtol=1e-6)
    first, second = along(wanted, X, direction)
    value, tangent = ms.jvp(found, wide(X), wide(direction))
    np.testing.assert_allclose(value.asnumpy(), wanted(X), rtol=1e-6)
    np.testing.assert_allclose(tangent.asnumpy(), first, rtol=1e-5, atol=1e-6)
    twice = ms.jvp(lambda x: ms.jvp(found, x, wide(direction))[1], wide(X), wide(direction))[1]
    np.testing.assert_allclose(twice.asnumpy(), second, rtol=1e-4, atol=1e-4)
    gradient = ms.grad(lambda x: (found(x) * wide(weight)).sum())(wide(X))
    np.testing.assert_allclose((gradient.asnumpy() * direction).sum(), (weight * first).sum(),
                               rtol=1e-5)


def test_results_of_several_parts():
    total = X * 3
    out, mean, rstd, both = ops.add_layer_norm(wide(X), wide(X * 2), wide(ROW[0]), wide(SHIFT[0]),
                                               0.1)
    np.testing.assert_allclose(both.asnumpy(), total, rtol=1e-6)
    np.testing.assert_allclose(mean.asnumpy(), total.mean(3, keepdims=True), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(rstd.asnumpy(), 1 / np.sqrt(total.var(3, keepdims=True) + 0.1),
                               rtol=1e-6)
    out, mean, variance = ops.LayerNorm(1, 3, 0.1)(wide(X), wide(ROW[0]), wide(SHIFT[0]))
    np.testing.assert_allclose(out.asnumpy(), normalized(X, (1, 2, 3), 0.1, ROW[0], SHIFT[0]),
                               rtol=1e-6)
    np.testing.assert_allclose(mean.asnumpy(), X.mean((1, 2, 3), keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(variance.asnumpy(), X.var((1, 2, 3), keepdims=True), rtol=1e-5)
    assert mean.dtype is variance.dtype is ms.float32
    half = ops.rms_norm(Tensor(X, ms.float16), Tensor(ROW, ms.float16), 0.1)[1]
    assert half.dtype is ms.float32
    np.testing.assert_allclose(half.asnumpy(), 1 / np.sqrt((X * X).mean((2, 3), keepdims=True)
                                                           + 0.1), rtol=1e-3)


@pytest.mark.parametrize("momentum", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("shape", [(2, 4, 3, 5), (6, 4), (1, 4, 1, 3), (1, 4)])
def test_running_statistics(shape, momentum):
    """The variance with Bessel's correction, where there are two numbers or more."""
    x = RNG.normal(size=shape)
    axes = tuple(axis for axis in range(len(shape)) if axis != 1)
    count = x.size // 4
    mean, variance = Parameter(wide(E), name="mean"), Parameter(wide(V), name="variance")
    ops.batch_norm(wide(x), mean, variance, None, None, True, momentum, 0.1)
    np.testing.assert_allclose(mean.asnumpy(), (1 - momentum) * E + momentum * x.mean(axes),
                               rtol=1e-6)
    corrected = x.var(axes) * count / max(count - 1, 1)
    np.testing.assert_allclose(variance.asnumpy(), (1 - momentum) * V + momentum * corrected,
                               rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("place", range(4))
def test_a_number_for_each_channel(place, training):
    for size in (3, 5, 1):
        given = [ops.ones(size if at == place else 4, ms.float64) for at in range(4)]
        with pytest.raises(ValueError, match=r"must have shape \(4,\), a number"):
            ops.batch_norm(wide(X), *given, training)
    with pytest.raises(ValueError, match="rank 2 or more"):
        ops.batch_norm(wide(C), *[wide(C)] * 4, training)


@pytest.mark.parametrize("axes, fits", [
    ((-4, 2), True), ((3, -2), True), ((4, 2), False), ((-5, 2), False), ((1, 4), False),
    ((1, -5), False)])
def test_axes_from_which_layers_are_normalized(axes, fits):
    norm = ops.LayerNorm(*axes)
    if fits:
        assert norm(wide(X), wide(ROW), wide(SHIFT))[0].shape == X.shape
    else:
        with pytest.raises(ValueError, match=r"must be in \[-4, 4\)"):
            norm(wide(X), wide(ROW), wide(SHIFT))


@pytest.mark.parametrize("call", [
    lambda: ops.LayerNorm(1, 2)(wide(X), wide(ROW[0]), wide(SHIFT)),
    lambda: ops.LayerNorm(1, 2)(wide(X), wide(ROW), wide(SHIFT[0])),
    lambda: ops.layer_norm(wide(X), (4, 5)), lambda: ops.group_norm(wide(X), 3),
    lambda: ops.lrn(wide(X[0])), lambda: ops.lrn(wide(X), norm_region="WITHIN_CHANNEL")])
def test_shapes_that_do_not_fit(call):
    with pytest.raises(ValueError, match="^For '"):
        call()


@pytest.mark.parametrize("epsilon, fits", [(0.0, True), (1.0, True), (-0.1, False), (1.1, False)])
def test_limits_of_epsilon(epsilon, fits):
    if fits:
        assert ops.BatchNorm(epsilon=epsilon).epsilon == epsilon
    else:
        with pytest.raises(ValueError, match="'epsilon' must be in"):
            ops.BatchNorm(epsilon=epsilon)


def test_channels_last_and_the_statistics_of_a_batch():
    def narrow(values):
        return Tensor(values, ms.float32)

    norm = ops.BatchNorm(True, 0.1, 0.3, "NHWC")
    mean, variance = Parameter(narrow(E), name="mean"), Parameter(narrow(V), name="variance")
    out, zero, other, found, spread = norm(narrow(np.moveaxis(X, 1, -1)), narrow(C), narrow(D),
                                           mean, variance)
    wanted = normalized(X, (0, 2, 3), 0.1, across(C), across(D))
    np.testing.assert_allclose(out.asnumpy(), np.moveaxis(wanted, 1, -1), rtol=1e-4, atol=1e-5)
    assert not zero.asnumpy().any() and not other.asnumpy().any()
    np.testing.assert_allclose(found.asnumpy(), X.mean((0, 2, 3)), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(spread.asnumpy(), X.var((0, 2, 3)), rtol=1e-4)
    np.testing.assert_allclose(mean.asnumpy(), 0.7 * E + 0.3 * X.mean((0, 2, 3)), rtol=1e-4)
    out = ops.BatchNorm(False, 0.1)(narrow(X), narrow(C), narrow(D), mean, variance)
    assert [part.shape for part in out[1:]] == [(4,)] * 4
    assert not any(part.asnumpy().any() for part in out[1:])
