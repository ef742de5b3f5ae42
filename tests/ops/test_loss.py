"""Losses of classification beside their definitions in NumPy, for all options and at the limits."""

import math

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops
from lamella.ops.loss import check_labels

RNG = np.random.default_rng(5)
SHAPES = [((5,), ()), ((4, 5), (4,)), ((2, 5, 3), (2, 3)), ((2, 5, 3, 2), (2, 3, 2))]


def log_softmax(scores, axis):
    powers = np.exp(scores - scores.max(axis, keepdims=True))
    return np.log(powers / powers.sum(axis, keepdims=True))


def likelihoods(logs, classes, weights, ignored, smoothing):
    """The losses of each place and their weights, class by class."""
    axis = int(logs.ndim > 1)
    losses, counted = np.zeros(classes.shape), np.zeros(classes.shape)
    for place in np.ndindex(classes.shape):
        if classes[place] == ignored:
            continue
        row = np.moveaxis(logs, axis, -1)[place]
        counted[place] = weights[classes[place]]
        losses[place] = -(1 - smoothing) * counted[place] * row[classes[place]] - (
            smoothing / len(row) * (weights * row).sum())
    return losses, counted


def reduce(losses, counted, reduction):
    return {"none": losses, "sum": losses.sum(), "mean": losses.sum() / counted.sum()}[reduction]


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("ignored", [-100, 1])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape, places", SHAPES)
def test_losses_of_classes(shape, places, weighted, ignored, smoothing, reduction):
    scores, classes = RNG.standard_normal(shape), RNG.integers(0, 5, places)
    if places:
        classes.flat[:3] = 1, 4, ignored
    else:
        classes[()] = 2
    weights = np.array([0.5, 2.0, 1.5, 3.0, 0.25]) if weighted else np.ones(5)
    logs = log_softmax(scores, int(len(shape) > 1))
    want = reduce(*likelihoods(logs, classes, weights, ignored, smoothing), reduction)
    options = Tensor(weights) if weighted else None, ignored, reduction, smoothing
    for loss, input in ((ops.cross_entropy, scores), (ops.nll_loss, logs)):
        for kind in (np.int64, np.int32):
            found = loss(Tensor(input), Tensor(classes.astype(kind)), *options).asnumpy()
            np.testing.assert_allclose(found, want, rtol=1e-12)


@pytest.mark.parametrize("shape, places", SHAPES[1:])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_weights_of_classes_have_gradients(shape, places, reduction):
    logs, classes = RNG.standard_normal(shape), RNG.integers(0, 5, places)
    classes.flat[0], classes.flat[1], classes.flat[2] = 3, 0, 3
    weights, factors = RNG.random(5) + 0.5, RNG.random(places if reduction == "none" else ())

    def loss(weights):
        return (reduce(*likelihoods(logs, classes, weights, 3, 0.0), reduction) * factors).sum()

    steps = np.eye(5) * 1e-6
    want = [(loss(weights + step) - loss(weights - step)) / 2e-6 for step in steps]
    value, found = ms.value_and_grad(lambda w: (ops.nll_loss(
        Tensor(logs), Tensor(classes), w, 3, reduction) * Tensor(factors)).sum())(Tensor(weights))
    np.testing.assert_allclose(value.asnumpy(), loss(weights), rtol=1e-12)
    np.testing.assert_allclose(found.asnumpy(), want, atol=1e-8)


@pytest.mark.parametrize("call", [
    lambda x, y, w: ops.cross_entropy(x, y), lambda x, y, w: ops.cross_entropy(x, y, w),
    lambda x, y, w: ops.cross_entropy(x, y, label_smoothing=0.1),
    lambda x, y, w: ops.nll_loss(x - math.log(2.0), y),
    lambda x, y, w: ops.nll_loss(x - math.log(2.0), y, w, label_smoothing=0.1)])
def test_the_mean_of_more_examples_than_float16_can_count(call):
    count = 70000  # which is infinite in float16
    x, y = ops.zeros((count, 2), ms.float16), ops.zeros(count, ms.int32)
    found, slope = ms.value_and_grad(call)(x, y, ops.ones(2, ms.float16))
    assert found.dtype is ms.float16 and math.isclose(found.item(), math.log(2.0), rel_tol=1e-3)
    assert slope.dtype is ms.float16 and slope[:, 0].max() < 0


def test_if_no_class_counts_the_mean_is_nan_without_gradient():
    logs, classes = Tensor(RNG.standard_normal((2, 3))), Tensor([1, 1])
    value, found = ms.value_and_grad(lambda w: ops.nll_loss(logs, classes, w, 1))(ops.ones(3))
    assert np.isnan(value.asnumpy()) and found.tolist() == [0, 0, 0]


def test_one_example_whose_class_has_a_dimension():
    found = ops.nll_loss(Tensor([-1.0, -2.0, -4.0]), Tensor([2]), None, -100, "none")
    assert found.tolist() == [4.0]


@pytest.mark.parametrize("scores, weights, kind", [
    (ms.float16, ms.float32, ms.float32), (ms.float32, ms.float64, ms.float64),
    (ms.float64, ms.float32, ms.float64), (ms.int32, None, ms.float32),
    (ms.int32, ms.int64, ms.float32), (ms.int8, ms.float16, ms.float16)])
def test_types_of_scores_and_weights(scores, weights, kind):
    logs, weight = Tensor([[-1, -3], [-2, -1]], scores), weights and Tensor([1, 3], weights)
    found = ops.nll_loss(logs, Tensor([1, 0]), weight, reduction="none")
    assert found.dtype is kind and found.tolist() == ([9, 2] if weights else [3, 2])
    if scores is not ms.int32 and scores is not ms.int8:
        assert ops.cross_entropy(logs, Tensor([1, 0]), weight).dtype is kind


@pytest.mark.parametrize("shape", [(5,), (4, 5), (2, 5, 3)])
@pytest.mark.parametrize("kind", [np.float64, np.int64])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_cross_entropy_of_probabilities(shape, kind, smoothing, reduction):
    scores, weights = RNG.standard_normal(shape), RNG.random(5)
    target = RNG.integers(0, 2, shape).astype(kind)
    axis = int(len(shape) > 1)
    even = (1 - smoothing) * target + smoothing / 5
    factors = weights.reshape(-1, *[1] * (len(shape) - axis - 1))
    losses = -(log_softmax(scores, axis) * even * factors).sum(axis)
    want = reduce(losses, np.ones_like(losses), reduction)  # a mean over all places
    found = ops.cross_entropy(Tensor(scores), Tensor(target), Tensor(weights), 1, reduction,
                              smoothing)
    np.testing.assert_allclose(found.asnumpy(), want, rtol=1e-12)


def test_probabilities_of_another_shape():
    with pytest.raises(ValueError, match="of probabilities must have the shape"):
        ops.cross_entropy(ops.ones((2, 3)), ops.ones((2, 4)))


@pytest.mark.parametrize("loss, words", [
    (ops.cross_entropy, "none mean sum"), (ops.nll_loss, "none mean sum"),
    (ops.binary_cross_entropy, "none mean sum"),
    (ops.binary_cross_entropy_with_logits, "none mean sum"),
    (ops.kl_div, "none mean sum batchmean")])
def test_words_of_the_reduction(loss, words):
    x = Tensor([[0.25, 0.5], [0.75, 0.5]])
    y = Tensor([1, 0]) if loss is ops.nll_loss else x
    for word in words.split():
        loss(x, y, reduction=word)
    for word in {"batchmean", "avg", "Mean"} - set(words.split()):
        with pytest.raises(ValueError, match="'reduction' must be"):
            loss(x, y, reduction=word)


@pytest.mark.parametrize("loss", [ops.binary_cross_entropy, ops.binary_cross_entropy_with_logits])
def test_a_reduction_that_is_no_word(loss):
    with pytest.raises(TypeError, match="'reduction'"):
        loss(ops.ones(2), ops.ones(2), reduction=None)


def two_classes(p, y, positive=1.0):
    return -(positive * y * np.log(p) + (1 - y) * np.log(1 - p))


REDUCED = {"none": lambda x: x, "mean": np.mean, "sum": np.sum}


@pytest.mark.parametrize("reduction", REDUCED)
def test_weighted_cross_entropies_of_two_classes(reduction):
    scores, y, weight, positive = (RNG.random(s) * 2 for s in ((3, 4), (3, 4), (4,), (3, 1)))
    y, p = y / 2, 1 / (1 + np.exp(-scores))
    reduced = REDUCED[reduction]
    found = ops.binary_cross_entropy(Tensor(p), Tensor(y), Tensor(weight), reduction)
    np.testing.assert_allclose(found.asnumpy(), reduced(two_classes(p, y) * weight), rtol=1e-9)
    for w, q in ((None, None), (weight, None), (None, positive), (weight, positive)):
        want = reduced(two_classes(p, y, 1.0 if q is None else q) * (1.0 if w is None else w))
        tensors = [None if t is None else Tensor(t) for t in (w, q)]

        def loss(*tensors):
            return ops.binary_cross_entropy_with_logits(Tensor(scores), Tensor(y), *tensors,
                                                        reduction)

        np.testing.assert_allclose(loss(*tensors).asnumpy(), want, rtol=1e-12)
        for place in [i for i, t in enumerate(tensors) if t is not None]:
            value, found = ms.value_and_grad(loss, place)(*tensors) if reduction != "none" else \
                ms.value_and_grad(lambda *t: loss(*t).sum(), place)(*tensors)
            np.testing.assert_allclose(value.asnumpy(), np.sum(want), rtol=1e-12)
            ones = -y * np.log(p) * (1.0 if w is None else w)
            all_ = two_classes(p, y, 1.0 if q is None else q)
            want_ = all_.sum(0) if place == 0 else ones.sum(1, keepdims=True)
            np.testing.assert_allclose(found.asnumpy(),
                                       want_ / (12 if reduction == "mean" else 1), rtol=1e-9)


def test_the_loss_has_the_type_of_the_labels():
    found = ops.binary_cross_entropy_with_logits(Tensor([0.5]), Tensor([1.0], ms.float16))
    assert found.dtype is ms.float16


@pytest.mark.parametrize("kind", [ms.float16, ms.float32, ms.float64])
def test_probabilities_at_and_outside_of_their_limits(kind):
    y = Tensor([1, 0, 1, 0], kind)
    found = ops.binary_cross_entropy(Tensor([0, 1, 1, 0], kind), y, reduction="none").tolist()
    np.testing.assert_allclose(found, [-np.log(1e-12)] * 2 + [0, 0],
                               rtol=1e-3 if kind is ms.float16 else 1e-4, atol=1e-6)
    for wrong in (-0.01, 1.01):
        with pytest.raises(RuntimeError):
            ops.binary_cross_entropy(Tensor([wrong, 0.5, 0.5, 0.5], kind), y)


def test_weighted_probabilities_at_their_limits():
    p, y = Tensor([0.0, 1.0, 1.0], ms.float64), Tensor([1.0, 0.0, 1.0], ms.float64)
    found = ops.binary_cross_entropy(p, y, Tensor([2.0, 3.0, 4.0]), "none").asnumpy()
    np.testing.assert_allclose(found, -np.log(1e-12) * np.array([2, 3, 0]), rtol=1e-4, atol=1e-9)


def test_two_classes_of_no_elements_and_other_shapes():
    none = Tensor(np.zeros(0, np.float32))
    assert np.isnan(ops.binary_cross_entropy(none, none).asnumpy())
    assert ops.binary_cross_entropy(none, none, reduction="sum") == 0
    with pytest.raises(ValueError, match="must have one shape"):
        ops.binary_cross_entropy(ops.ones((2, 1)), ops.ones((2, 2)))


@pytest.mark.parametrize("reduction", [*REDUCED, "batchmean"])
def test_divergence(reduction):
    x, y = RNG.standard_normal((3, 4)), RNG.random((3, 4))
    y[0], y[1, 0] = [0.0, -1.0, 1.0, 0.5], 2.0
    losses = np.where(y > 0, y * (np.log(np.where(y > 0, y, 1)) - x), 0)
    want = losses.sum() / 3 if reduction == "batchmean" else REDUCED[reduction](losses)
    value, found = ms.value_and_grad(lambda x, y: ops.kl_div(x, y, reduction).sum(), (0, 1))(
        Tensor(x), Tensor(y))
    np.testing.assert_allclose(value.asnumpy(), np.sum(want), rtol=1e-12)
    count = {"mean": 12, "batchmean": 3}.get(reduction, 1)
    np.testing.assert_allclose(found[0].asnumpy(), np.where(y > 0, -y, 0) / count, rtol=1e-12)
    want = np.where(y > 0, np.log(np.where(y > 0, y, 1)) + 1 - x, 0) / count
    np.testing.assert_allclose(found[1].asnumpy(), want, rtol=1e-12)


def test_divergence_of_other_shapes_and_types():
    with pytest.raises(ValueError, match="must have one shape"):
        ops.kl_div(ops.ones((2, 1)), ops.ones((2, 2)))
    with pytest.raises(TypeError, match="must be floating"):
        ops.kl_div(Tensor([1]), Tensor([1]))
    assert ops.kl_div(Tensor([1], ms.int32), Tensor([1.0])).tolist() == -1.0


def decoded(scores, lengths, merged):
    """Labels and places of the most likely path, step by step."""
    labels, places, sums = [], [], []
    for n, length in enumerate(lengths):
        last, kept = None, 0
        path = [int(scores[t, n].argmax()) for t in range(length)]
        for label in path:
            if label != scores.shape[2] - 1 and not (merged and label == last):
                labels.append(label)
                places.append([n, kept])
                kept += 1
            last = label
        sums.append([-sum(scores[t, n].max() for t in range(length))])
    widest = max((place[1] + 1 for place in places), default=0)
    return places, labels, [len(lengths), widest], sums


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("lengths", [[7, 5, 7, 1], [1, 0, 3, 6], [0, 0, 0, 0]])
def test_greedy_paths(merged, lengths):
    scores = RNG.random((7, 4, 3))
    scores[2:4, 0, 1] = scores[3:6, 2, 0] = 2  # equal neighbours
    scores[1, 2, 2] = 2  # a blank
    found = ops.ctc_greedy_decoder(Tensor(scores), Tensor(lengths, ms.int32), merged)
    places, labels, shape, sums = decoded(scores, lengths, merged)
    assert found[0].asnumpy().reshape(-1, 2).tolist() == places and found[1].tolist() == labels
    assert found[2].tolist() == shape and {t.dtype for t in found[:3]} == {ms.int64}
    np.testing.assert_allclose(found[3].asnumpy(), sums, rtol=1e-12)


@pytest.mark.parametrize("shape, lengths, error", [
    ((3, 2, 4), [3, 2], None), ((3, 2, 4), [4, 2], RuntimeError),
    ((3, 2, 4), [3], ValueError), ((3, 2, 4), [[3, 2]], ValueError), ((3, 2), [3, 2], ValueError),
    ((3, 2, 4, 1), [3, 2], ValueError)])
def test_lengths_that_a_decoder_takes(shape, lengths, error):
    if error is None:
        ops.ctc_greedy_decoder(ops.ones(shape), Tensor(lengths))
    else:
        with pytest.raises(error, match="'ctc_greedy_decoder'"):
            ops.ctc_greedy_decoder(ops.ones(shape), Tensor(lengths))


GOOD = {"scores": (5, 2, 4), "labels": [[1, 0, 3], [3, 2, 1]], "inputs": [5, 0], "counts": [3, 0],
        "blank": 0}


@pytest.mark.parametrize("change, error", [
    ({}, None), ({"blank": 3}, None), ({"blank": 4}, ValueError), ({"blank": -1}, ValueError),
    ({"inputs": [6, 1]}, ValueError), ({"inputs": [5, -1]}, ValueError),
    ({"inputs": [5]}, ValueError), ({"counts": [3]}, ValueError),
    ({"counts": [4, 0]}, ValueError), ({"counts": [3, -1]}, ValueError),
    ({"labels": [[1, 0, 4], [3, 2, 1]]}, ValueError),
    ({"labels": [[1, 0, -1], [3, 2, 1]]}, ValueError),
    ({"labels": [[1, 0, 3], [9, -2, 1]]}, None),  # behind the target
    ({"labels": [1, 0, 3]}, None), ({"labels": [1, 0]}, ValueError),
    ({"labels": [1, 0, 3, 9]}, None), ({"labels": [1, 0, 9, 1]}, ValueError),
    ({"labels": [1, 0, 3], "counts": [2, 2]}, ValueError),
    ({"labels": [[1, 0, 3]]}, ValueError), ({"labels": [[[1, 0, 3]] * 2]}, ValueError),
    ({"scores": (5, 2)}, ValueError), ({"scores": (5, 2, 4, 1)}, ValueError)])
def test_labels_and_lengths_that_fit(change, error):
    values = GOOD | change
    call = (ops.ones(values["scores"])._raw, *(Tensor(values[n])._raw for n in (
        "labels", "inputs", "counts")), values["blank"], "f")
    if error is None:
        check_labels(*call)
    else:
        with pytest.raises(error, match="For 'f'"):
            check_labels(*call)


def test_scores_of_integers_are_a_wrong_type():
    call = (Tensor(GOOD[n])._raw for n in ("labels", "inputs", "counts"))
    with pytest.raises(TypeError, match="must be floating"):
        check_labels(ops.ones((5, 2, 4), ms.int32)._raw, *call, 0, "f")
