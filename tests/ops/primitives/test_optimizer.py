"""Primitives that update Parameters: their attributes' limits, rows named several times, norms."""

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, ops
from lamella.ops.primitives import optimizer_fused, optimizer_sparse

RNG = np.random.default_rng(9)
W, G = RNG.uniform(-2, 2, (4, 3)), RNG.uniform(-2, 2, (5, 3))
A, B, C = RNG.uniform(0.5, 2, (3, 4, 3))
# row 2 three times, row 0 once, and two that aren't there
PLACES = [2, 0, 2, 4, -1, 2]
ROWS = RNG.uniform(-2, 2, (6, 3))


def held(values, name="w"):
    return Parameter(Tensor(values, ms.float64), name=name)


def plain(name):
    """The dense Primitive that does the same to one row."""
    dense = {
        "SparseApplyAdadelta": lambda s, g: ops.ApplyAdadelta()(*s, 0.3, 0.7, 0.2, g),
        "SparseApplyRMSProp": lambda s, g: ops.ApplyRMSProp()(*s, 0.3, g, 0.7, 0.6, 0.2),
        "SparseApplyAdagrad": lambda s, g: ops.ApplyAdagrad()(*s, 0.3, g),
        "SparseApplyAdagradV2": lambda s, g: ops.ApplyAdagradV2(0.2)(*s, 0.3, g),
        "SparseApplyFtrl": lambda s, g: ops.ApplyFtrl()(*s, g, 0.3, 0.1, 0.2, -0.7),
        "FusedSparseFtrl": lambda s, g: ops.ApplyFtrl()(*s, g, 0.3, 0.1, 0.2, -0.7),
        "SparseApplyProximalAdagrad":
            lambda s, g: ops.ApplyProximalAdagrad()(*s, 0.3, 0.1, 0.2, g),
        "FusedSparseLazyAdam": lambda s, g: ops.Adam()(*s, 0.8, 0.7, 0.3, 0.6, 0.5, 0.2, g),
        "FusedSparseLazyAdam that looks ahead":
            lambda s, g: ops.Adam(False, True)(*s, 0.8, 0.7, 0.3, 0.6, 0.5, 0.2, g),
        "SparseApplyAdagradDA":
            lambda s, g: ops.ApplyAdagradDA()(*s, g, 0.3, 0.1, 0.2, 3),
        "SparseApplyCenteredRMSProp":
            lambda s, g: ops.ApplyCenteredRMSProp()(*s, g, 0.3, 0.7, 0.6, 9.0),
        "SparseApplyMomentum": lambda s, g: ops.ApplyMomentum()(*s, 0.3, g, 0.6),
        "SparseApplyMomentum that looks ahead":
            lambda s, g: ops.ApplyMomentum(True)(*s, 0.3, g, 0.6),
        "SparseApplyProximalGradientDescent":
            lambda s, g: ops.ApplyProximalGradientDescent()(*s, 0.3, 0.1, 0.2, g),
    }
    return dense[name]


SPARSE = {
    "SparseApplyAdadelta": (lambda s, g, i: ops.SparseApplyAdadelta(0.2)(*s, 0.3, 0.7, g, i), 3, 0),
    "SparseApplyRMSProp": (lambda s, g, i: ops.SparseApplyRMSProp(0.7, 0.6, 0.2)(*s, 0.3, g, i),
                           3, 1),
    "SparseApplyAdagrad": (lambda s, g, i: ops.SparseApplyAdagrad(0.3)(*s, g, i), 2, 0),
    "SparseApplyAdagradV2": (lambda s, g, i: ops.SparseApplyAdagradV2(0.3, 0.2)(*s, g, i), 2, 1),
    "SparseApplyFtrl": (lambda s, g, i: ops.SparseApplyFtrl(0.3, 0.1, 0.2, -0.7)(*s, g, i), 3, 1),
    "FusedSparseFtrl": (lambda s, g, i: ops.FusedSparseFtrl(0.3, 0.1, 0.2, -0.7)(*s, g, i), 3, 0),
    "SparseApplyProximalAdagrad": (
        lambda s, g, i: ops.SparseApplyProximalAdagrad()(*s, 0.3, 0.1, 0.2, g, i), 2, 0),
    "FusedSparseLazyAdam": (lambda s, g, i: ops.FusedSparseLazyAdam()(
        *s, 0.8, 0.7, 0.3, 0.6, 0.5, 0.2, g, i), 3, 0),
    "FusedSparseLazyAdam that looks ahead": (lambda s, g, i: ops.FusedSparseLazyAdam(False, True)(
        *s, 0.8, 0.7, 0.3, 0.6, 0.5, 0.2, g, i), 3, 0),
    "SparseApplyAdagradDA": (lambda s, g, i: optimizer_sparse.SparseApplyAdagradDA()(
        *s, g, i, 0.3, 0.1, 0.2, 3), 3, 1),
    "SparseApplyCenteredRMSProp": (lambda s, g, i: optimizer_sparse.SparseApplyCenteredRMSProp()(
        *s, 0.3, 0.7, 0.6, 9.0, g, i), 4, 1),
    "SparseApplyMomentum": (lambda s, g, i: optimizer_sparse.SparseApplyMomentum()(
        *s, 0.3, g, i, 0.6), 2, 1),
    "SparseApplyMomentum that looks ahead": (
        lambda s, g, i: optimizer_sparse.SparseApplyMomentum(False, True)(*s, 0.3, g, i, 0.6),
        2, 1),
    "SparseApplyProximalGradientDescent": (
        lambda s, g, i: optimizer_sparse.SparseApplyProximalGradientDescent()(
            *s, 0.3, 0.1, 0.2, g, i), 1, 1),
}


@pytest.mark.parametrize("name", SPARSE)
def test_rows_take_the_steps_of_the_dense_primitive(name):
    """One step of the sum of equal rows, or a step for each; rows that aren't there are left out.
    """
    step, count, each = SPARSE[name]
    values = (W, A, B, C)[:count]
    states = [held(x, f"s{n}") for n, x in enumerate(values)]
    out = step(states, Tensor(ROWS, ms.float64), Tensor(PLACES, ms.int32))
    wanted = [x.copy() for x in values]
    for row in (0, 2):
        grads = [g for g, at in zip(ROWS, PLACES, strict=True) if at == row]
        for grad in grads if each else [sum(grads)]:
            one = [held(x[row:row + 1], f"s{n}") for n, x in enumerate(wanted)]
            plain(name)(one, Tensor(grad[None], ms.float64))
            for x, new in zip(wanted, one, strict=True):
                x[row] = new.asnumpy()[0]
    for state, want in zip(states, wanted, strict=True):
        np.testing.assert_allclose(state.asnumpy(), want, rtol=1e-6)
    first = out[0] if isinstance(out, tuple) else out
    np.testing.assert_array_equal(first.asnumpy(), states[0].asnumpy())


@pytest.mark.parametrize("nesterov", [False, True])
def test_fused_sparse_adam_decays_all_rows(nesterov):
    numbers = (0.8, 0.7, 0.3, 0.6, 0.5, 0.2)
    found, dense = ([held(x, f"s{n}") for n, x in enumerate((W, A, B))] for _ in range(2))
    ops.FusedSparseAdam(False, nesterov)(*found, *numbers, Tensor(ROWS, ms.float64),
                                         Tensor(PLACES, ms.int32))
    whole = np.zeros((4, 3))
    whole[0], whole[2] = ROWS[1], ROWS[[0, 2, 5]].sum(0)
    ops.Adam(False, nesterov)(*dense, *numbers, Tensor(whole, ms.float64))
    for one, other in zip(found, dense, strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-6)


def test_sums_that_stay_and_shrinkage():
    row, at = Tensor(ROWS[:1], ms.float64), Tensor([1], ms.int32)
    for made, eps in ((ops.SparseApplyAdagrad(0.3, False), 0.0),
                      (ops.SparseApplyAdagradV2(0.3, 0.2, False, False), 0.2)):
        w, a = held(W), held(A, "a")
        made(w, a, row, at)
        np.testing.assert_array_equal(a.asnumpy(), A)
        np.testing.assert_allclose(w.asnumpy()[1], W[1] - 0.3 * ROWS[0] / (np.sqrt(A[1]) + eps),
                                   rtol=1e-6)
    w, a, linear = held(W), held(A, "a"), held(B, "l")
    ops.SparseApplyFtrlV2(0.3, 0.1, 0.2, 0.35, -0.5)(w, a, linear, row, at)
    grown = A[1] + ROWS[0] ** 2
    total = B[1] + ROWS[0] + 0.7 * W[1] - (np.sqrt(grown) - np.sqrt(A[1])) / 0.3 * W[1]
    np.testing.assert_allclose(linear.asnumpy()[1], total, rtol=1e-6)
    np.testing.assert_allclose(
        w.asnumpy()[1], np.where(abs(total) > 0.1, (0.1 * np.sign(total) - total) / (
            np.sqrt(grown) / 0.3 + 0.4), 0), rtol=1e-6)


@pytest.mark.parametrize("made", [
    lambda: ops.SparseApplyAdadelta(0.0), lambda: ops.SparseApplyRMSProp(0.0, 0.0, 1e-9),
    lambda: ops.SparseApplyRMSProp(1.0, 0.0, 1e-9), lambda: ops.SGD(0.0, nesterov=True),
    lambda: ops.SGD(0.5), lambda: ops.ApplyMomentum(gradient_scale=2)])
def test_attributes_at_their_limits(made):
    made()


@pytest.mark.parametrize("made, kind, text", [
    (lambda: ops.SparseApplyAdadelta(-1e-9), ValueError, "'epsilon' must be 0 or more"),
    (lambda: ops.SparseApplyRMSProp(-0.1, 0.5, 0.1), ValueError, "'rho' must be of"),
    (lambda: ops.SparseApplyRMSProp(1.1, 0.5, 0.1), ValueError, "'rho' must be of"),
    (lambda: ops.SparseApplyRMSProp(0.5, -0.1, 0.1), ValueError, "'momentum' 0 or"),
    (lambda: ops.SparseApplyRMSProp(0.5, 0.5, 0.0), ValueError, "'epsilon' above 0"),
    (lambda: ops.ApplyMomentum(gradient_scale="1"), TypeError, "'gradient_scale' must be a number"),
    (lambda: ops.ApplyAdagradV2(None), TypeError, "'epsilon' must be a number"),
    (lambda: ops.SparseApplyAdagrad(0.1)(held(1.0), held(1.0), ops.ones(1, ms.float64),
                                         Tensor([0])), ValueError, "must have rows"),
    (lambda: ops.SparseApplyAdagrad(0.1)(held(W), held(A), Tensor(ROWS[:2]), Tensor([[0, 1]])),
     ValueError, "'indices' must have rank 1"),
    (lambda: ops.SparseApplyAdagrad(0.1)(held(W), held(A), Tensor(ROWS[:2]), Tensor([0])),
     ValueError, "a row of shape"),
    (lambda: ops.SparseApplyAdagrad(0.1)(held(W), held(A), Tensor(ROWS[:2, :2]), Tensor([0, 1])),
     ValueError, "a row of shape"),
    (lambda: ops.SparseApplyAdagrad(0.1)(held(W), held(A), Tensor(ROWS[:2]), Tensor([0.0, 1.0])),
     TypeError, "indices"),
    (lambda: ops.ApplyGradientDescent()(held(W), "a", Tensor(W)), TypeError, "must be a Python"),
    (lambda: ops.LARSUpdate()(Tensor(W), Tensor(W[:2]), Tensor(1.0), Tensor(1.0), 0.0, 1.0),
     ValueError, "must have one shape")])
def test_attributes_and_inputs_that_do_not_fit(made, kind, text):
    with pytest.raises(kind, match=text):
        made()


def test_no_rows_change_nothing():
    for made in (ops.SparseApplyAdagrad(0.3), ops.SparseApplyAdagradV2(0.3, 0.2)):
        w, a = held(W), held(A, "a")
        made(w, a, Tensor(ROWS[:0], ms.float64), Tensor(np.zeros(0, np.int32)))
        np.testing.assert_array_equal(w.asnumpy(), W)
        np.testing.assert_array_equal(a.asnumpy(), A)


STEPS = {
    "momentum of a scaled gradient": (
        lambda w, a, g: ops.ApplyMomentum(gradient_scale=0.5)(w, a, 0.3, g, 0.6),
        lambda w, a, g: (w - 0.3 * (0.6 * a + 0.5 * g), 0.6 * a + 0.5 * g)),
    "momentum that looks ahead": (
        lambda w, a, g: ops.ApplyMomentum(True)(w, a, 0.3, g, 0.6),
        lambda w, a, g: (w - 0.3 * (g + 0.6 * (0.6 * a + g)), 0.6 * a + g)),
    "keras": (lambda w, a, g: ops.ApplyKerasMomentum()(w, a, 0.3, g, 0.6),
              lambda w, a, g: (w + 0.6 * a - 0.3 * g, 0.6 * a - 0.3 * g)),
    "keras that looks ahead": (
        lambda w, a, g: ops.ApplyKerasMomentum(False, True)(w, a, 0.3, g, 0.6),
        lambda w, a, g: (w + 0.6 * (0.6 * a - 0.3 * g) - 0.3 * g, 0.6 * a - 0.3 * g)),
    "signs added": (
        lambda w, a, g: ops.ApplyAddSign()(w, a, 0.3, 1.5, 0.4, 0.6, g),
        lambda w, a, g: (w - 0.3 * (1.5 + 0.4 * np.sign(g) * np.sign(0.6 * a + 0.4 * g)) * g,
                         0.6 * a + 0.4 * g)),
    "signs as powers": (
        lambda w, a, g: ops.ApplyPowerSign()(w, a, 0.3, 1.5, 0.4, 0.6, g),
        lambda w, a, g: (w - 0.3 * np.exp(0.6 * np.sign(g) * np.sign(0.6 * a + 0.4 * g)) * g,
                         0.6 * a + 0.4 * g)),
    "scaled weights": (
        lambda w, a, g: optimizer_fused.FusedWeightScaleApplyMomentum()(
            0.2, 4.0, w, a, 0.3, g, 0.6),
        lambda w, a, g: (w - 0.3 * (0.6 * a + g / 4 + 0.2 * w), 0.6 * a + g / 4 + 0.2 * w)),
    "sgd": (lambda w, a, g: ops.SGD(0.2, 0.5)(w, g, 0.3, a, 0.6, held(W * 0)),
            lambda w, a, g: (w - 0.3 * (0.6 * a + 0.8 * (g + 0.5 * w)),
                             0.6 * a + 0.8 * (g + 0.5 * w))),
    "sgd without momentum": (lambda w, a, g: ops.SGD(0.2, 0.5)(w, g, 0.3, a, 0.0, held(W * 0)),
                             lambda w, a, g: (w - 0.3 * (g + 0.5 * w), a)),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_beside_its_formula(name):
    """Also where a gradient of 0 has no sign."""
    step, formula = STEPS[name]
    moments, gradient = A * np.sign(W), np.where(abs(W) < 0.5, 0, W[::-1])
    w, a = held(W), held(moments, "a")
    step(w, a, Tensor(gradient, ms.float64))
    for found, wanted in zip((w, a), formula(W, moments, gradient), strict=True):
        np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-6, atol=1e-9)


def test_adafactor_of_a_batch_of_matrices_keeps_rows_and_columns():
    p, g = RNG.uniform(0.5, 2, (2, 2, 3, 4))
    weight, first, square = (held(x, "x") for x in (p, p * 0, p))
    row, col = held(np.ones((2, 3)), "r"), held(np.ones((2, 4)), "c")
    numbers = (0.125, 0.5), 9.0, 0.75, 0.5, 0.25, 0.5
    out = ops.FusedAdaFactor()(*numbers, Tensor(g, ms.float64), weight, first, row, col, square)
    np.testing.assert_allclose(row.asnumpy(), 0.5 + 0.5 * (g * g + 0.125).mean(2), rtol=1e-6)
    np.testing.assert_allclose(col.asnumpy(), 0.5 + 0.5 * (g * g + 0.125).mean(1), rtol=1e-6)
    np.testing.assert_array_equal(square.asnumpy(), p)  # that of a vector
    np.testing.assert_array_equal(first.asnumpy(), p * 0)
    r, c = row.asnumpy(), col.asnumpy()
    update = g / np.sqrt((r / r.mean(-1, keepdims=True))[..., None] * c[:, None])
    np.testing.assert_allclose(out.asnumpy(), p - 0.5 * update, rtol=1e-5)
    with pytest.raises(ValueError, match="the state in Parameter 'c' must have shape"):
        ops.FusedAdaFactor()(*numbers, Tensor(g, ms.float64), weight, first, col, col, square)


def test_powers_of_betas_correct_the_rate():
    """By the root of what is left of one, over what is left of the other."""
    w, m, v = held([1.0]), held([0.0], "m"), held([0.0], "v")
    ops.Adam()(w, m, v, 0.4, 0.64, 0.3, 0.5, 0.75, 0.25, Tensor([2.0], ms.float64))
    rate = 0.3 * 0.6 / 0.6
    np.testing.assert_allclose(w.asnumpy(), 1 - rate * 1.0 / (1.0 + 0.25), rtol=1e-6)
    w, m, v = held([1.0]), held([0.0], "m"), held([0.0], "v")
    ops.Adam()(w, m, v, 0.5, 1.0, 0.3, 0.5, 0.75, 0.25, Tensor([2.0], ms.float64))
    assert w.asnumpy() == 1.0  # a rate of 0
