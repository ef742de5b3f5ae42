"""Curves with labels of other kinds and shapes, and areas below them."""

import numpy as np
import pytest
import sklearn.metrics as reference

from lamella import train


@pytest.mark.parametrize("shape", [(12,), (3, 4), (2, 3, 2)])
@pytest.mark.parametrize("label", [None, 1, 2])
def test_a_label_is_the_positive_one(shape, label):
    rng = np.random.default_rng(3)
    scores, true = rng.random(shape).round(1), rng.integers(0, 3, shape)
    want = reference.roc_curve(true.ravel() == (label or 1), scores.ravel(),
                               drop_intermediate=False)
    got = train.ROC(pos_label=label)(scores, true)
    np.testing.assert_allclose(got[0], want[0])
    np.testing.assert_allclose(got[1], want[1])
    np.testing.assert_allclose(got[2], [want[2][1] + 1, *want[2][1:]])


def test_places_of_several_classes():
    """(N, C, L) and (N, L): a curve for each class."""
    rng = np.random.default_rng(7)
    scores, true = rng.random((4, 3, 5)), rng.integers(0, 3, (4, 5))
    got = train.ROC(3)(scores, true)
    assert [len(part) for part in got] == [3, 3, 3]
    for c in range(3):
        want = reference.roc_curve(true.ravel() == c, scores[:, c].ravel(),
                                   drop_intermediate=False)
        np.testing.assert_allclose(got[0][c], want[0])
        np.testing.assert_allclose(got[1][c], want[1])


@pytest.mark.parametrize("labels, words", [([0, 0], "no positive"), ([1, 1], "no negative")])
def test_both_kinds_of_samples_are_needed(labels, words):
    with pytest.raises(ValueError, match=words):
        train.ROC()([0.1, 0.2], labels)


@pytest.mark.parametrize("metric, given", [
    (train.ROC(3), ([0.1], [1])), (train.ROC(2), (np.ones((2, 3)), [0, 1])),
    (train.ROC(), (np.ones((2, 3)), [0, 1])), (train.ROC(3, 1), (np.ones((2, 3)), [0, 1])),
    (train.ROC(), ([0.1], [[1]])), (train.ROC(), ([[[0.1]]], [1]))])
def test_what_is_refused(metric, given):
    with pytest.raises(ValueError, match="For 'ROC'"):
        metric.update(*given)


def test_the_next_batch_may_be_of_another_kind():
    metric = train.ROC(1)
    metric([0.1, 0.2], [0, 1])
    assert metric.class_num == metric.pos_label == 1
    metric.clear()
    assert (metric.class_num, metric.pos_label, metric.y, metric.y_pred) == (1, None, None, None)


@pytest.mark.parametrize("x, y, reorder, want", [
    ([0, 1], [2, 4], False, 3), ([1, 0], [4, 2], False, 3), ([0, 0, 2], [5, 1, 3], False, 4),
    ([3, 1, 1, 0], [1, 2, 6, 2], False, 7), ([1, 0, 4], [1, 3, 5], True, 11),
    ([1, 0, 1], [4, 2, 0], True, 1), ([2, 2], [0, 9], False, 0)])
@pytest.mark.parametrize("column", [False, True])
def test_areas_by_trapezoids(x, y, reorder, want, column):
    points = [np.array(v, float).reshape(-1, 1) if column else np.array(v, float) for v in (x, y)]
    assert train.auc(*points, reorder) == want


@pytest.mark.parametrize("x, y, error, words", [
    (np.ones((2, 2)), np.ones(4), ValueError, r"'x' must have shape \(N,\)"),
    (np.ones(4), np.ones((2, 2)), ValueError, r"'y' must have shape \(N,\)"),
    (np.array(1.0), np.ones(1), ValueError, "'x' must have shape"),
    (np.ones((2, 1, 1)), np.ones(2), ValueError, "'x' must have shape"),
    (np.ones(1), np.ones(1), ValueError, "length of 2 or more"),
    (np.ones(2), np.ones(3), ValueError, "the same length"),
    (np.array([0.0, 2.0, 1.0]), np.ones(3), ValueError, "must rise or fall"),
    (np.array([0.0, 0.5, 0.25]), np.ones(3), ValueError, "must rise or fall"),
    ([0, 1], np.ones(2), TypeError, "must be arrays"), (np.ones(2), [0, 1], TypeError, "arrays")])
def test_what_is_no_curve(x, y, error, words):
    with pytest.raises(error, match=words):
        train.auc(x, y)


def test_arrays_may_be_filled_anew():
    metric, scores, true = train.ROC(), np.array([0.1, 0.9, 0.4]), np.array([0, 1, 1])
    metric.update(scores, true)
    want = metric.eval()
    scores[:], true[:] = scores[::-1].copy(), [1, 0, 0]
    for found, known in zip(metric.eval(), want, strict=True):
        np.testing.assert_array_equal(found, known)
