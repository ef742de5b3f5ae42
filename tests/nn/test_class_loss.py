"""Losses for few, rare or many classes, by their formulas and at the limits of their arguments."""

import numpy as np
import pytest
import scipy.special

import lamella as ms
from lamella import Tensor, nn

from ..limits import check_limits

RNG = np.random.default_rng(27)


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def dice(x, y, smooth=1e-5):
    return 1 - 2 * (x * y).sum() / ((x * x).sum() + (y * y).sum() + smooth)


@pytest.mark.parametrize("smooth", [1e-5, 0.5, 3.0])
@pytest.mark.parametrize("shape", [(3,), (2, 3, 2)])
def test_dice(shape, smooth):
    x, y = floats(*shape), floats(*shape)
    got = nn.DiceLoss(smooth)(Tensor(x), Tensor(y)).asnumpy()
    np.testing.assert_allclose(got, dice(x, y, smooth), rtol=1e-5)


ACTIVATIONS = {
    None: lambda x: x, "softmax": lambda x: scipy.special.softmax(x, -1),
    "logsoftmax": lambda x: scipy.special.log_softmax(x, -1), "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6), "tanh": np.tanh, "sigmoid": scipy.special.expit}


@pytest.mark.parametrize("ignored", [None, 0, 2, 7])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_dice_of_classes(activation, ignored):
    """The mean over all classes, of which an ignored one has no loss."""
    x, y, weights = 3 * floats(4, 3, 2), floats(4, 3, 2), floats(3, 2)
    made = ACTIVATIONS[activation](x)
    of_each = np.array([dice(made[:, c], y[:, c]) * (c != ignored) for c in range(3)])
    loss = nn.MultiClassDiceLoss(ignore_indiex=ignored, activation=activation)
    np.testing.assert_allclose(loss(Tensor(x), Tensor(y)).asnumpy(), of_each.mean(), rtol=1e-4)
    loss = nn.MultiClassDiceLoss(Tensor(weights), ignored, activation)
    np.testing.assert_allclose(loss(Tensor(x), Tensor(y)).asnumpy(),
                               (of_each[:, None] * weights).mean(0), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("reduction, reduce", [("mean", np.mean), ("sum", np.sum),
                                               ("none", lambda a: a)])
@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("inner", [(), (4,), (2, 3)])
def test_focal(inner, weighed, reduction, reduce):
    """-(1 - p) ** gamma * log(p) of the true classes, or of all by their shares."""
    x, shares = floats(5, 3, *inner), RNG.random((5, 3, *inner), np.float32)
    true = RNG.integers(0, 3, (5, 1, *inner)).astype(np.int32)
    weight = np.float32([0.5, 1.5, 2.0])
    log_p = scipy.special.log_softmax(x, 1)
    each = -(1 - np.exp(log_p)) ** 1.5 * log_p
    if weighed:
        each *= weight.reshape(1, 3, *[1] * len(inner))
    loss = nn.FocalLoss(Tensor(weight) if weighed else None, 1.5, reduction)
    of_true = np.take_along_axis(each, true, 1).reshape(5, -1).mean(1)
    np.testing.assert_allclose(loss(Tensor(x), Tensor(true)).asnumpy(), reduce(of_true), rtol=1e-4)
    of_shares = (each * shares).reshape(5, 3, -1).mean(2)
    np.testing.assert_allclose(loss(Tensor(x), Tensor(shares)).asnumpy(), reduce(of_shares),
                               rtol=1e-4)


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("count", [1, 2])
def test_sampled_softmax_of_given_classes(count, flat):
    """Scores of the true and of the sampled classes, less the logarithms of expected counts."""
    weights, biases, x = floats(6, 4), floats(6), floats(3, 4)
    labels = RNG.integers(0, 6, (3, count))
    sampled = np.array([2, 0, 5])
    of_true, of_sampled = RNG.random((3, count), np.float32), RNG.random(3, np.float32)
    right = np.stack([(x * weights[labels[:, k]]).sum(1) + biases[labels[:, k]]
                      for k in range(count)], 1) - np.log(of_true)
    other = x @ weights[sampled].T + biases[sampled] - np.log(of_sampled)
    log_p = scipy.special.log_softmax(np.concatenate([right, other], 1), 1)
    loss = nn.SampledSoftmaxLoss(3, 6, count, (Tensor(sampled), Tensor(of_true),
                                               Tensor(of_sampled)))
    got = loss(Tensor(weights), Tensor(biases), Tensor(labels.ravel() if flat else labels),
               Tensor(x))
    np.testing.assert_allclose(got.asnumpy(), -log_p[:, :count].mean(1), rtol=1e-4)


@pytest.mark.parametrize("without_true", [True, False])
def test_what_is_sampled(without_true):
    """All classes, or all but those of the batch, in an order that the seeds decide."""
    def sampled(seed, count=6):
        ms.set_seed(1)
        loss = nn.SampledSoftmaxLoss(count, 6, seed=seed, remove_accidental_hits=without_true)
        return loss._sample(Tensor([[4], [1]]), ms.ops.ones((2, 2)))

    classes, of_true, of_sampled = sampled(3)
    assert sorted(classes.tolist()) == ([0, 2, 3, 5] if without_true else [0, 1, 2, 3, 4, 5])
    assert classes.tolist() == sampled(3)[0].tolist()
    assert len({tuple(sampled(seed)[0].tolist()) for seed in range(8)}) > 2
    assert of_true.shape == (2, 1) and set(of_true.asnumpy().ravel()) == {1.0}
    classes, of_true, of_sampled = sampled(3, 3)
    assert len(classes) == len(of_sampled) == 3
    assert {*of_true.asnumpy().ravel(), *of_sampled.asnumpy()} == {0.5}


W, B, X = Tensor(floats(6, 4)), Tensor(floats(6)), Tensor(floats(3, 4))
ONES = ms.ops.ones
LIMITS = {
    "smooth": (nn.DiceLoss, (5e-324, 1e300), (0.0, -1.0, float("inf"), 1)),
    "inputs of dice": (lambda kinds: nn.DiceLoss()(ONES(3, kinds[0]), ONES(3, kinds[1])),
                       ((ms.float32, ms.float32), (ms.float16, ms.float16)),
                       ((ms.uint8, ms.float32), (ms.float32, ms.uint8))),
    "shapes of dice": (lambda n: nn.DiceLoss()(ONES(2), ONES(n)), (2,), (1, 3)),
    "weights of classes": (lambda s: nn.MultiClassDiceLoss(ONES(s)), ((3, 1), (2, 2)),
                           ((3,), (3, 1, 1))),
    "rows of weights": (lambda n: nn.MultiClassDiceLoss(ONES((n, 1)))(ONES((2, 3)), ONES((2, 3))),
                        (3,), (2, 4)),
    "an ignored class": (lambda n: nn.MultiClassDiceLoss(ignore_indiex=n), (0, None, -1),
                         (1.0, "a")),
    "activations": (lambda a: nn.MultiClassDiceLoss(activation=a), (None, nn.ReLU(), "relu6"),
                    ("gelu", 3)),
    "shapes of classes": (
        lambda pair: nn.MultiClassDiceLoss()(ONES(pair[0]), ONES(pair[1])),
        (((2, 3), (2, 3)), ((2, 3, 1), (2, 3, 1))),
        (((3,), (3,)), ((2, 3), (2, 1)), ((2, 3), (2, 3, 1)))),
    "weight of focal": (lambda s: nn.FocalLoss(ONES(s)), (3,), ((), (3, 1))),
    "gamma": (lambda g: nn.FocalLoss(gamma=g), (2.0, 0.0), (2, "a")),
    "shapes of focal": (
        lambda pair: nn.FocalLoss()(ONES(pair[0]), ONES(pair[1], ms.int32)),
        (((2, 3), (2, 1)), ((2, 2, 2), (2, 1, 2)), ((2, 3, 1, 1), (2, 3, 1, 1))),
        (((3,), (3,)), ((2, 3, 1, 1, 1), (2, 1, 1, 1, 1)), ((2, 3), (2, 1, 1)), ((2, 1), (2, 1)),
         ((2, 3), (2, 2)), ((2, 3, 1), (2, 1)))),
    "sampled": (lambda n: nn.SampledSoftmaxLoss(n, 4), (1, 4), (0, 5)),
    "true classes": (lambda n: nn.SampledSoftmaxLoss(1, 4, n), (1, 4), (0, 5)),
    "seed": (lambda s: nn.SampledSoftmaxLoss(1, 4, seed=s), (0, 1), (-1, 1.0)),
    "sampled values": (lambda n: nn.SampledSoftmaxLoss(1, 4, sampled_values=n and [B] * n),
                       (3, None), (2, 4)),
    "labels": (lambda kind: nn.SampledSoftmaxLoss(1, 6)(W, B, ONES(3, kind), X),
               (ms.int32, ms.int64), (ms.float32, ms.int16)),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limits(name):
    check_limits(*LIMITS[name])
