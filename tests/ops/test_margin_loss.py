"""Losses of distances and margins beside their formulas, for all options and at their limits."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops
from lamella.ops.margin_loss import _composed_huber

RNG = np.random.default_rng(6)
REDUCED = {"none": lambda x: x, "mean": np.mean, "sum": np.sum}
A, B, ROW = RNG.standard_normal((3, 4)), RNG.standard_normal((3, 4)), RNG.standard_normal(4)
SIGNS = np.where(RNG.random((3, 4)) < 0.5, 1.0, -1.0)


def norm(x, p):
    return (np.abs(x) ** p).sum(-1) ** (1 / p)


def huber(a, b, delta):
    d = np.abs(a - b)
    return np.where(d < delta, d * d / 2, delta * (d - delta / 2))


def smooth(a, b, beta):
    d = np.abs(a - b)
    return np.where(d < beta, d * d / 2 / max(beta, 1e-9), d - beta / 2)


def gaussian(x, y, v, full=False, eps=1e-6):
    v = np.maximum(v, eps)
    return (np.log(v) + (x - y) ** 2 / v + (np.log(2 * np.pi) if full else 0)) / 2


def cosine(a, b, y, margin=0.0):
    cos = (a * b).sum(-1) / norm(a, 2) / norm(b, 2)
    return np.where(y == 1, 1 - cos, np.maximum(0, cos - margin))


def triplet(a, p, n, margin=1.0, degree=2, eps=1e-6, swap=False):
    near, far = norm(a - p + eps, degree), norm(a - n + eps, degree)
    if swap:
        far = np.minimum(far, norm(p - n + eps, degree))
    return np.maximum(0, near - far + margin)


def multi_margin(x, y, p=1, margin=1, weight=None):
    out = []
    for row, right in zip(x, y, strict=True):
        terms = np.maximum(0, margin - row[right] + row) ** p
        terms = np.delete(terms, right) * (1 if weight is None else weight[right])
        out.append(terms.sum() / len(row))
    return np.array(out)


def multilabel_margin(x, y):
    out = []
    for row, labels in zip(x, y, strict=True):
        right = labels[:list(labels).index(-1)] if -1 in labels else labels
        wrong = [i for i in range(len(row)) if i not in right]
        out.append(sum(max(0, 1 - row[j] + row[i]) for j in right for i in wrong) / len(row))
    return np.array(out)


def soft(x, y):
    return np.log1p(np.exp(-x * y))


FAR = A + np.array([0.1, -0.9, 1.1, 3.0])  # within and beyond each bound
LABELS = np.array([[2, 0, -1, 1], [1, -1, 3, 2], [3, 2, 1, 0]])
WEIGHTS = np.array([0.5, 2.0, 1.5, 3.0])
CASES = {
    "mse": (ops.mse_loss, lambda a, b: (a - b) ** 2, (A, ROW), {}),
    "l1": (ops.l1_loss, lambda a, b: abs(a - b), (A, ROW), {}),
    "huber": (ops.huber_loss, lambda a, b: huber(a, b, 1.0), (A, FAR), {}),
    "huber 0.5": (ops.huber_loss, huber, (ROW, FAR), {"delta": 0.5}),
    "smooth": (ops.smooth_l1_loss, lambda a, b: smooth(a, b, 1.0), (A, FAR), {}),
    "smooth 2": (ops.smooth_l1_loss, smooth, (A, FAR), {"beta": 2.0}),
    "smooth 0": (ops.smooth_l1_loss, smooth, (A, FAR), {"beta": 0.0}),
    "gaussian": (ops.gaussian_nll_loss, gaussian, (A, ROW, B ** 2), {}),
    "gaussian full": (ops.gaussian_nll_loss, gaussian, (ROW, A, B[0] ** 2), {"full": True}),
    "gaussian bound": (ops.gaussian_nll_loss, gaussian, (A, B, A[:, :1] ** 2), {"eps": 0.5}),
    "cosine": (ops.cosine_embedding_loss, cosine, (A, FAR, SIGNS[:, 0]), {}),
    "cosine margin": (ops.cosine_embedding_loss, cosine, (A, FAR, SIGNS[:, 1]), {"margin": 0.3}),
    "ranking": (ops.margin_ranking_loss, lambda a, b, y, margin=0: np.maximum(
        0, -y * (a - b) + margin), (A, B, SIGNS), {}),
    "ranking margin": (ops.margin_ranking_loss, lambda a, b, y, margin: np.maximum(
        0, -y * (a - b) + margin), (A, B, SIGNS), {"margin": 0.7}),
    "triplet": (ops.triplet_margin_loss, triplet, (A, B, FAR), {}),
    "triplet swap": (ops.triplet_margin_loss, triplet, (A, B, 2 * B),
                     {"margin": 2.5, "swap": True, "eps": 0.1}),
    "hinge": (ops.hinge_embedding_loss, lambda x, y, margin=1.0: np.where(
        y == 1, x, np.maximum(0, margin - x)), (A, SIGNS), {}),
    "hinge margin": (ops.hinge_embedding_loss, lambda x, y, margin: np.where(
        y == 1, x, np.maximum(0, margin - x)), (A, SIGNS), {"margin": 0.25}),
    "multi margin": (ops.multi_margin_loss, multi_margin, (A, np.array([2, 0, 3])), {}),
    "multi margin 2": (ops.multi_margin_loss, multi_margin, (A, np.array([2, 0, 3])),
                       {"p": 2, "margin": 0.5, "weight": WEIGHTS}),
    "labels": (ops.multilabel_margin_loss, multilabel_margin, (A, LABELS), {}),
    "soft labels": (ops.multilabel_soft_margin_loss, lambda x, y, weight=1.0: (
        weight * (soft(x, 1) * y + soft(-x, 1) * (1 - y))).mean(-1), (A, (SIGNS + 1) / 2), {}),
    "soft labels weight": (
        ops.multilabel_soft_margin_loss, lambda x, y, weight=1.0: (
            weight * (soft(x, 1) * y + soft(-x, 1) * (1 - y))).mean(-1),
        (A, (SIGNS + 1) / 2), {"weight": WEIGHTS}),
    "soft": (ops.soft_margin_loss, soft, (A, SIGNS), {}),
}


@pytest.mark.parametrize("reduction", REDUCED)
@pytest.mark.parametrize("case", CASES)
def test_values(case, reduction):
    loss, formula, inputs, options = CASES[case]
    want = REDUCED[reduction](formula(*inputs, **options))
    tensors = [Tensor(x) for x in inputs]
    options = {k: Tensor(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    found = loss(*tensors, **options, reduction=reduction)
    np.testing.assert_allclose(found.asnumpy(), want, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("degree", [1, 3])
def test_triplets_by_other_norms(degree):
    found = ops.triplet_margin_loss(Tensor(A), Tensor(B), Tensor(FAR), Tensor(0.5), degree)
    np.testing.assert_allclose(found.asnumpy(), triplet(A, B, FAR, 0.5, degree).mean(), rtol=1e-6)


@pytest.mark.parametrize("loss, arguments, good, bad, named", [
    (ops.smooth_l1_loss, (A, B), {"beta": 0.0}, {"beta": -1e-9}, "'beta'"),
    (ops.huber_loss, (A, B), {"delta": 1e-9}, {"delta": 0.0}, "'delta'"),
    (ops.huber_loss, (A, B), {"delta": 1}, {"delta": -1.0}, "'delta'"),
    (ops.gaussian_nll_loss, (A, B, abs(B)), {"eps": 1e-9}, {"eps": 0.0}, "'eps'"),
    (ops.gaussian_nll_loss, (A, B, abs(B)), {"eps": 1}, {"eps": -1.0}, "'eps'"),
    (ops.cosine_embedding_loss, (A, B, SIGNS[:, 0]), {"margin": 1}, {"margin": 1.001}, "'margin'"),
    (ops.cosine_embedding_loss, (A, B, SIGNS[:, 0]), {"margin": -1}, {"margin": -1.001},
     "'margin'"),
    (ops.multi_margin_loss, (A, np.array([0, 1, 2])), {"p": 1}, {"p": 0}, "'p'"),
    (ops.multi_margin_loss, (A, np.array([0, 1, 2])), {"p": 2}, {"p": 3}, "'p'")])
def test_limits_of_options(loss, arguments, good, bad, named):
    tensors = [Tensor(a) for a in arguments]
    loss(*tensors, **good)
    with pytest.raises(ValueError, match=named):
        loss(*tensors, **bad)


@pytest.mark.parametrize("case", CASES)
def test_an_unknown_reduction(case):
    loss, _, inputs, _ = CASES[case]
    with pytest.raises(ValueError, match="'reduction'"):
        loss(*map(Tensor, inputs), reduction="batchmean")


@pytest.mark.parametrize("loss", [ops.smooth_l1_loss, ops.soft_margin_loss])
def test_losses_whose_inputs_have_one_shape_and_whose_reduction_is_a_word(loss):
    with pytest.raises(ValueError, match="must have one shape"):
        loss(ops.ones((2, 1)), ops.ones((2, 2)))
    with pytest.raises(TypeError, match="'reduction'"):
        loss(ops.ones(2), ops.ones(2), reduction=1)


@pytest.mark.parametrize("reduction", REDUCED)
def test_integers_and_complex_numbers(reduction):
    x, y = np.array([[1, -3, 5], [2, 0, -1]]), np.array([4, 2, 5])
    reduced = REDUCED[reduction]
    for loss, power, kind in ((ops.mse_loss, 2, ms.float32), (ops.l1_loss, 1, ms.int32)):
        found = loss(Tensor(x, ms.int32), Tensor(y, ms.int32), reduction)
        want = reduced(abs(x - y) ** power)
        assert found.dtype is kind
        np.testing.assert_allclose(found.asnumpy(), want if power == 2 else np.trunc(want),
                                   rtol=1e-6)
    z = x + 1j * y
    found = ops.l1_loss(Tensor(z), Tensor(z * 2j - 1), reduction)
    assert found.dtype is ms.complex128
    np.testing.assert_allclose(found.asnumpy(), reduced(abs(z - z * 2j + 1)))
    found = ops.gaussian_nll_loss(Tensor(x, ms.int32), Tensor(y, ms.int32), Tensor(x ** 2 + 1))
    assert found.dtype is ms.float32
    np.testing.assert_allclose(found.asnumpy(), gaussian(x, y, x ** 2 + 1).mean(), rtol=1e-6)


def test_two_types_are_promoted():
    for loss in (ops.mse_loss, ops.l1_loss, ops.smooth_l1_loss, ops.soft_margin_loss):
        assert loss(Tensor(A), Tensor(SIGNS, ms.float32)).dtype is ms.float64
        assert loss(Tensor(SIGNS, ms.float16), Tensor(SIGNS, ms.float32)).dtype is ms.float32


@pytest.mark.parametrize("reduction", REDUCED)
def test_second_derivatives_of_huber(reduction):
    distances = np.array([[0.0, 0.4, -0.7, 0.75], [0.8, -2.0, -0.75, 0.1]])
    x, y = Tensor(distances + 1), ops.ones((2, 4), ms.float64)
    found = _composed_huber(x._raw, y._raw, reduction, 0.75)
    np.testing.assert_allclose(found, REDUCED[reduction](huber(distances, 0, 0.75)), atol=1e-15)
    value, pushed = ms.jvp(lambda x: ms.grad(lambda x: ops.huber_loss(
        x, y, reduction, 0.75).sum())(x), x, ops.ones_like(x))
    count = 8 if reduction == "mean" else 1
    np.testing.assert_allclose(value.asnumpy() * count, distances.clip(-0.75, 0.75), atol=1e-12)
    inside = abs(distances) < 0.7499
    limits = abs(abs(distances) - 0.75) < 1e-3
    np.testing.assert_allclose(pushed.asnumpy()[~limits] * count, inside[~limits])


def test_gradients_at_the_hinges():
    one, zero = ops.ones(1, ms.float64), ops.zeros(1, ms.float64)
    by_first = ms.grad(lambda a: ops.margin_ranking_loss(a, zero, one, 0.0))(zero)
    assert by_first.tolist() == [-1]  # all of it
    by_distance = ms.grad(lambda x: ops.hinge_embedding_loss(x, -one, 1.0))(one)
    assert by_distance.tolist() == [-0.5]  # half of it
