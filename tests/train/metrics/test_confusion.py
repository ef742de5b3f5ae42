"""Confusion matrices at the limits of thresholds and classes, and numbers by the formulas."""

import numpy as np
import pytest

from lamella import train


@pytest.mark.parametrize("threshold, want", [(0.5, [[1, 1], [0, 1]]), (0.25, [[0, 2], [0, 1]]),
                                             (0.75, [[2, 0], [0, 1]]), (0.76, [[2, 0], [1, 0]])])
def test_a_score_at_the_threshold_means_class_1(threshold, want):
    metric = train.ConfusionMatrix(2, threshold=threshold)
    assert metric(np.array([0.25, 0.5, 0.75]), np.array([0, 0, 1])).tolist() == want


@pytest.mark.parametrize("predicted, true", [([0], [3]), ([-1], [0]), ([3], [2]), ([2], [-1])])
def test_classes_are_below_their_number(predicted, true):
    metric = train.ConfusionMatrix(3)
    with pytest.raises(ValueError, match="below 'num_classes', 3"):
        metric.update(predicted, true)
    metric.update([0, 2], [0, 2])  # the first and the last
    metric.update(np.zeros(0, int), np.zeros(0, int))
    assert metric.eval().tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize("dimensions, fit", [((1, 1), True), ((2, 1), True), ((3, 2), True),
                                             ((3, 1), False), ((1, 2), False)])
def test_scores_have_one_dimension_more_at_most(dimensions, fit):
    predicted, true = (np.zeros((1,) * n, int) for n in dimensions)
    metric = train.ConfusionMatrix(2)
    if fit:
        assert metric(predicted, true).tolist() == [[1, 0], [0, 0]]
    else:
        with pytest.raises(ValueError, match="as many dimensions as the true value or one more"):
            metric.update(predicted, true)


def test_scores_of_places_are_chosen_along_axis_1():
    """(N, C, L) and (N, L), of different sizes; the matrix is not symmetric."""
    rng = np.random.default_rng(4)
    scores, true = rng.random((2, 3, 5)), rng.integers(0, 3, (2, 5))
    want = np.zeros((3, 3))
    for n, place in np.ndindex(2, 5):
        want[true[n, place], max(range(3), key=lambda c: scores[n, c, place])] += 1
    assert train.ConfusionMatrix(3)(scores, true).tolist() == want.tolist()


@pytest.mark.parametrize("normalize, want", [
    ("target", [[2 / 3, 1 / 3, 0], [0, 1, 0], [0, 0, 0]]),
    ("prediction", [[1, 0.5, 0], [0, 0.5, 0], [0, 0, 0]]),
    ("all", [[0.5, 0.25, 0], [0, 0.25, 0], [0, 0, 0]])])
def test_a_class_that_is_nowhere_has_zeros(normalize, want):
    metric = train.ConfusionMatrix(3, normalize)
    np.testing.assert_allclose(metric([0, 0, 1, 1], [0, 0, 0, 1]), want)
    assert train.ConfusionMatrix(3, normalize)(np.zeros(0, int), np.zeros(0, int)).max() == 0


def counted(predicted, true):
    """Positives and negatives of each sample and class: tp, fp, tn, fn."""
    shape = predicted.shape[:2]
    out = np.zeros((4, *shape))
    for place in np.ndindex(*predicted.shape):
        p, t = predicted[place], true[place]
        out[(0 if t else 1) if p else (3 if t else 2), place[0], place[1]] += 1
    return out


DECREASED = {  # of rates (N, C) with NaN where there is none
    "none": np.nanmean, "mean": lambda r: np.nanmean(np.nanmean(r, 1)),
    "mean_batch": lambda r: np.nanmean(np.nanmean(r, 0)),
    "mean_channel": lambda r: np.nanmean(np.nanmean(r, 1))}


@pytest.mark.filterwarnings("ignore:Mean of empty slice:RuntimeWarning")
@pytest.mark.parametrize("skip", [True, False])
@pytest.mark.parametrize("decrease", DECREASED)
def test_recall_of_each_sample_put_together(decrease, skip):
    """Samples and classes without positives don't count."""
    rng = np.random.default_rng(9)
    predicted, true = rng.integers(0, 2, (2, 3, 4, 5))
    true[0], true[1, 2] = 0, 0
    metric = train.ConfusionMatrixMetric(skip, "recall", True, decrease)
    tp, _, _, fn = counted(predicted, true)[..., 0 if skip else 1:]
    rates = np.divide(tp, tp + fn, out=np.full(tp.shape, np.nan), where=tp + fn > 0)
    assert metric(predicted, true) == pytest.approx(DECREASED[decrease](rates))
    assert metric.calculation_method


@pytest.mark.parametrize("shape, by_sample", [((4, 3), False), ((4, 3, 1), False),
                                              ((4, 3, 2), True), ((4, 3, 1, 1), True),
                                              ((4, 1, 2), True)])
def test_one_element_each_is_counted_together(shape, by_sample):
    rng = np.random.default_rng(3)
    predicted, true = rng.integers(0, 2, (2, *shape))
    metric = train.ConfusionMatrixMetric(True, "accuracy", True)
    assert metric(predicted, true) == pytest.approx((predicted == true).mean())
    assert metric._by_sample is by_sample and metric.calculation_method is True


@pytest.mark.parametrize("last", [1, 2])
def test_the_first_batch_decides_whether_samples_count(last):
    """Until `clear`; all batches are in the result."""
    rng = np.random.default_rng(5)
    batches = [rng.integers(0, 2, (2, 4, 3, n)) for n in (last, 3 - last)]
    metric = train.ConfusionMatrixMetric(True, "recall", True, "none")
    for _ in range(2):
        metric.clear()
        for predicted, true in batches:
            metric.update(predicted, true)
        tp, _, _, fn = np.concatenate([counted(*b).reshape(4, -1) for b in batches], 1)
        want = tp.sum() / (tp + fn).sum() if last == 1 else (
            tp / np.maximum(tp + fn, 1))[tp + fn > 0].mean()
        assert metric.eval() == pytest.approx(want)


@pytest.mark.parametrize("classes, want", [(1, 0.0), (2, 1.0), (3, 2 / 3)])
def test_class_0_is_left_out_where_there_are_others(classes, want):
    predicted = np.array([[1, 1, 0], [0, 1, 1]])[:, :classes]
    true = np.array([[0, 1, 0], [0, 1, 0]])[:, :classes]
    assert train.ConfusionMatrixMetric(False, "ppv")(predicted, true) == pytest.approx(want)


@pytest.mark.parametrize("predicted, true", [([1], [1]), ([[1, 0]], [[1]]), ([[1]], [[2]]),
                                             ([[1]], [[-1]])])
def test_what_is_no_zeros_and_ones_of_one_shape(predicted, true):
    with pytest.raises(ValueError, match="same shape of 2 dimensions|zeros and ones"):
        train.ConfusionMatrixMetric().update(predicted, true)


@pytest.mark.parametrize("true, want", [([1, 1], 0.5), ([0, 0], None)])
def test_one_value_suffices(true, want):
    """Without positives there is no recall."""
    metric = train.ConfusionMatrixMetric(True, "recall", True)
    metric.update(np.array([[[1, 0]]]), np.array([[true]]))
    if want is None:
        with pytest.raises(RuntimeError, match="'ConfusionMatrixMetric'"):
            metric.eval()
    else:
        assert metric.eval() == want


@pytest.mark.parametrize("count", [1, 2, 5])
def test_sums_of_any_size_divide(count):
    metric = train.ConfusionMatrix(2, "target")
    assert metric([1] * count + [0], [1] * (count + 1)).tolist() == [
        [0, 0], [1 / (count + 1), count / (count + 1)]]
    assert metric([1] * count, [1] * count).tolist() == [[0, 0], [0, 1]]
