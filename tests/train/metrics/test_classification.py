"""Metrics of classification at the limits of classes, ranks and batches."""

import numpy as np
import pytest

from lamella import train

SCORES = np.array([[0.1, 0.7, 0.2], [0.6, 0.1, 0.3], [0.2, 0.3, 0.5], [0.1, 0.6, 0.3]])
TRUE = np.array([1, 2, 2, 0])


@pytest.mark.parametrize("metric", [train.Precision, train.Recall, train.F1])
@pytest.mark.parametrize("labels, fit", [([0, 1, 2, 2], True), ([0, 1, 2, 3], False),
                                         ([0, 1, 2, -1], False)])
def test_classes_are_below_those_predicted(metric, labels, fit):
    made = metric()
    if fit:
        made.update(SCORES, labels)
        assert made.eval().shape == (3,)
    else:
        with pytest.raises(ValueError, match="must be below the number of predicted classes, 3"):
            made.update(SCORES, labels)


def test_an_empty_batch_adds_nothing():
    precision, accuracy = train.Precision(), train.Accuracy()
    for metric in (precision, accuracy):
        metric.update(SCORES, TRUE)
        metric.update(SCORES[:0], TRUE[:0])
    assert precision.eval().tolist() == [0, 0.5, 1] and accuracy.eval() == 0.5


@pytest.mark.parametrize("metric", [train.Precision(), train.Recall(), train.F1()])
def test_a_class_that_is_nowhere_has_0(metric):
    found = metric(SCORES[:2, [1, 0, 2]], [0, 0])[2]
    assert found == 0 and not np.signbit(found)


@pytest.mark.parametrize("kind, predicted, true, fit", [
    ("classification", (4,), (4,), False), ("classification", (4, 3), (4,), True),
    ("classification", (4, 3), (3,), False), ("classification", (4, 3, 2), (4, 2), True),
    ("classification", (4, 3, 2), (4, 3), False), ("multilabel", (4, 3), (4, 3), True),
    ("multilabel", (4,), (4,), False), ("multilabel", (4, 3, 2), (4, 3, 2), True),
    ("multilabel", (4, 3, 2), (4, 2), False)])
def test_shapes_that_fit(kind, predicted, true, fit):
    metric = train.Accuracy(kind)
    if fit:
        assert metric(np.zeros(predicted, int), np.zeros(true, int)) == 1
    else:
        with pytest.raises(ValueError, match="must have the predicted value's shape"):
            metric.update(np.zeros(predicted, int), np.zeros(true, int))


@pytest.mark.parametrize("true", [[[0, 1, 1], [1, 0, 0], [0, 0, 1], [0, 0, 1]],  # two in a row
                                  [[0, 2, 0], [1, 0, 0], [0, 0, 1], [0, 0, 1]],
                                  [[0, 0, 0], [1, 0, 0], [0, 0, 1], [0, 0, 1]]])
def test_what_is_not_one_hot_is_no_classes(true):
    with pytest.raises(ValueError, match="shape without axis 1"):
        train.Accuracy().update(SCORES, true)
    assert train.Accuracy()(SCORES, np.eye(3)[TRUE]) == 0.5


@pytest.mark.parametrize("metric", [train.Accuracy(), train.Recall()])
def test_a_column_of_ones_is_not_one_hot(metric):
    with pytest.raises(ValueError, match=r"but got \(4, 3\) and \(4, 1\)"):
        metric.update(SCORES, np.ones((4, 1), int))


def test_places_of_several_dimensions():
    """(N, C, L): each place counts; with several labels all of a place's must agree."""
    rng = np.random.default_rng(8)
    scores, true = rng.random((2, 3, 5)), rng.integers(0, 3, (2, 5))
    places = [(scores[n, :, at].argmax(), true[n, at]) for n, at in np.ndindex(2, 5)]
    assert train.Accuracy()(scores, true) == np.mean([p == t for p, t in places])
    recall = [np.mean([p == c for p, t in places if t == c]) for c in range(3)]
    np.testing.assert_allclose(train.Recall()(scores, true), recall)
    labels, other = rng.integers(0, 2, (2, 2, 2, 5))
    same = [(labels[n, :, at] == other[n, :, at]).all() for n, at in np.ndindex(2, 5)]
    assert 0 < train.Accuracy("multilabel")(labels, other) == np.mean(same) < 1
    # of each place its own precision: right labels over predicted ones
    pairs = [(labels[n, :, at], other[n, :, at]) for n, at in np.ndindex(2, 5)]
    np.testing.assert_allclose(train.Precision("multilabel")(labels, other),
                               [(p * t).sum() / max(p.sum(), 1) for p, t in pairs])
    np.testing.assert_allclose(train.Recall("multilabel")(labels, other),
                               [(p * t).sum() / max(t.sum(), 1) for p, t in pairs])


def test_batches_with_several_labels_follow_each_other():
    metric = train.Recall("multilabel")
    metric.update([[1, 0, 0]], [[1, 1, 0]])
    metric.update([[0, 1, 1], [0, 0, 0]], [[0, 1, 1], [1, 0, 0]])
    assert metric.eval().tolist() == [0.5, 1, 0] and metric.eval(True) == 0.5
    with pytest.raises(TypeError, match="average"):
        metric.eval(1)


@pytest.mark.parametrize("metric", [train.Precision(), train.Fbeta(3.0)])
def test_a_mean_is_asked_for_by_a_bool(metric):
    with pytest.raises(RuntimeError, match="number of samples is 0"):
        metric.eval(True)
    metric.update(SCORES, TRUE)
    with pytest.raises(TypeError, match="average"):
        metric.eval("yes")


@pytest.mark.parametrize("beta", [1e-3, 0.5, 1, 3])
def test_the_harmonic_mean_by_its_definition(beta):
    """Class 1 has precision 1/2 and recall 1; class 2 the other way round."""
    got = train.Fbeta(beta)(SCORES, TRUE)
    want = [(1 + beta ** 2) * p * r / (beta ** 2 * p + r) for p, r in ((0.5, 1), (1, 0.5))]
    np.testing.assert_allclose(got, [0, *want])
    np.testing.assert_allclose(train.Fbeta(beta)([[0.2, 0.8]], [1]), [0, 1])  # class 0: nowhere


@pytest.mark.parametrize("beta", [0, -1e-9, float("nan")])
def test_beta_is_above_0(beta):
    with pytest.raises(ValueError, match="'beta' must be above 0"):
        train.Fbeta(beta)


@pytest.mark.parametrize("k, want", [(1, 0.5), (2, 0.75), (3, 1), (4, 1)])
def test_the_best_k(k, want):
    assert train.TopKCategoricalAccuracy(k)(SCORES, TRUE) == want
    assert train.TopKCategoricalAccuracy(k)(SCORES, np.eye(3)[TRUE]) == want
    metric = train.TopKCategoricalAccuracy(k)
    metric.update(SCORES[:3], TRUE[:3])
    metric.update(SCORES[3:], TRUE[3:])
    assert metric.eval() == want


@pytest.mark.parametrize("metric, k", [(train.Top1CategoricalAccuracy, 1),
                                       (train.Top5CategoricalAccuracy, 5)])
def test_tops_of_a_fixed_size(metric, k):
    scores = np.arange(7.0)[None]
    hits = [metric()(scores, [true]) for true in range(7)]
    assert hits == [0] * (7 - k) + [1] * k


@pytest.mark.parametrize("predicted, true", [([[1, 2]], [[1, 0]]), ([[1, 0]], [[1, 2]]),
                                             ([[0.5, 1]], [[1, 0]])])
def test_several_labels_are_zeros_and_ones(predicted, true):
    for kind in (train.Accuracy, train.Precision, train.Recall):
        with pytest.raises(ValueError, match="all values must be 0 or 1"):
            kind("multilabel").update(np.array(predicted), np.array(true))
