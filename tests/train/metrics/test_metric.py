"""What all metrics do with their inputs."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, train


def test_inputs_are_chosen_by_their_places():
    metric = train.MSE().set_indexes([2, 0])
    assert metric.indexes == [2, 0] and train.MSE().indexes is None
    metric.update(Tensor([5.0]), "not used", Tensor([2.0]))
    assert metric.eval() == 9.0
    metric.clear()
    metric.update(np.array([1.0]), None, [3.0])
    assert metric.eval() == 4.0


@pytest.mark.parametrize("given", ["ab", (0, 1), [0.5], [None]])
def test_places_are_a_list_of_ints(given):
    with pytest.raises(ValueError, match="'indexes' must be a list of ints, but got"):
        train.MSE().set_indexes(given)


@pytest.mark.parametrize("call, error, words", [
    (lambda: train.MAE().update([["a"]], [[1]]), TypeError, "must be made of numbers, but got"),
    (lambda: train.MAE().update((1,), (1,)), TypeError, "Tensors, lists or arrays, but got tuple"),
    (lambda: train.MAE().update([1]), ValueError, "needs 2 inputs .predicted value, true value"),
    (lambda: train.MSE().update([[1, 2]], [[1]]), ValueError, "same shape, but got .1, 2. and"),
    (lambda: train.Dice().update([[1, 2]], [[1]]), ValueError, "'Dice.update', both values must"),
    (lambda: train.Loss().update([[1.0]]), ValueError, "'Loss.update', the loss must have 0 or 1"),
    (lambda: train.Accuracy("x"), TypeError, "'eval_type' must be 'classification' or"),
    (lambda: train.Fbeta(0.0), ValueError, "'beta' must be above 0, but got 0.0"),
    (lambda: train.TopKCategoricalAccuracy(0), ValueError, "'k' must be 1 or more, but got 0"),
    (lambda: train.TopKCategoricalAccuracy(1).update([[1, 2]] * 2, [1]), ValueError, "each row of"),
    (lambda: train.TopKCategoricalAccuracy(1).update([[1, 2]], [1, 0]), ValueError, "each row of"),
    (lambda: train.TopKCategoricalAccuracy(1).update([[[1], [2]]], [1]), ValueError, "of shape"),
    (lambda: train.Perplexity().update([[0.5, 0.5]], [0, 1]), RuntimeError, "a label for each row"),
    (lambda: train.Perplexity().update([[0.5, 0.5]], [-1]), ValueError, "not below 0, but got -1"),
    (lambda: train.Perplexity(1).update([[0.5, 0.5]], [2]), ValueError, "in a row, 2, and not"),
    (lambda: train.Perplexity().update(np.array(0.5), np.array(0)), RuntimeError, r"got \(\) and"),
    (lambda: train.CosineSimilarity().update([1.0]), ValueError, "must have 2 dimensions, but got"),
    (lambda: train.ConfusionMatrix(2).update([[[1]]], [1]), ValueError, "or one more, but got 3"),
    (lambda: train.ConfusionMatrix(2).update([1], [-1]), ValueError, "below 'num_classes', 2"),
    (lambda: train.ConfusionMatrix(3).update([4], [0]), ValueError, "not below 0, but got 4 to 4"),
    (lambda: train.ConfusionMatrix(3).update([-1], [1]), ValueError, "not below 0, but got -1 to"),
    (lambda: train.ConfusionMatrix(3).update([1], [1, 1]), ValueError, r"got shapes \(1,\) and"),
    (lambda: train.ConfusionMatrixMetric().update([1], [1]), ValueError, "shape of 2 dimensions"),
    (lambda: train.ConfusionMatrixMetric().update([[1]], [[2]]), ValueError, "hold zeros and ones"),
    (lambda: train.BleuScore(5), ValueError, "'n_gram' must be 1 to 4, but got 5"),
    (lambda: train.BleuScore().update([["a"]], []), ValueError, "references for each candidate"),
    (lambda: train.HausdorffDistance(percentile=101.0), ValueError, "'percentile' must be 0 to"),
    (lambda: train.HausdorffDistance().update([[1]], [[1]], "a"), ValueError, "an int or a float"),
    (lambda: train.MeanSurfaceDistance().update([[1]], [[1, 1]], 1), ValueError, "the same shape"),
    (lambda: train.ROC(2).update([1.0], [1]), ValueError, "'class_num' must be 1, but got 2"),
    (lambda: train.ROC(2, 1).update([[1.0, 0.0]], [1]), ValueError, "'pos_label' must be None"),
    (lambda: train.ROC()([[1.0]], [[1]]), ValueError, "there are no negative samples"),
    (lambda: train.ROC().update([1.0], [[[1]]]), ValueError, "or one more, but got 1 and 3"),
    (lambda: train.auc([1.0], np.ones(1)), TypeError, "'x' and 'y' must be arrays, but got list"),
    (lambda: train.auc(np.ones((2, 2)), np.ones(2)), ValueError, r"'x' must have shape \(N,\) or"),
    (lambda: train.auc(np.ones(1), np.ones(1)), ValueError, "the same length of 2 or more"),
    (lambda: train.auc(np.ones(2), np.ones(3)), ValueError, "the same length of 2 or more"),
    (lambda: train.OcclusionSensitivity(b_box=[0, 1]).update(
        ms.nn.Dense(2, 2), np.ones((1, 2, 2), np.float32), 1), ValueError, "two numbers for each"),
    (lambda: train.OcclusionSensitivity().update(
        ms.nn.Dense(2, 2), np.ones((2, 2), np.float32), 1), RuntimeError, "one image and one"),
])
def test_what_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


# inputs made of two arrays of (40, 60), of metrics that add up, multiply or sort
INPUTS = {
    train.MAE: lambda a, b: (a, b), train.MSE: lambda a, b: (a, b), train.Dice: lambda a, b: (a, b),
    lambda: train.CosineSimilarity("dot"): lambda a, b: (a,),
    lambda: train.TopKCategoricalAccuracy(2): lambda a, b: (a, b[:, 0] % 60),
    train.Perplexity: lambda a, b: (a, b[:, 0] % 60), train.ROC: lambda a, b: (a[0], b[0] % 2),
    lambda: train.ConfusionMatrix(201): lambda a, b: (a % 201, b % 201)}


@pytest.mark.parametrize("kind", ["uint8", "int8", "uint16", "int16", "uint32", "bool", "float16"])
@pytest.mark.parametrize("metric", INPUTS)
def test_small_types_are_computed_with_as_large_ones(metric, kind):
    """Their sums, products and differences would wrap around, or be infinite."""
    most = {"bool": 2, "int8": 128, "uint8": 256}.get(kind, 20000)
    a, b = np.random.default_rng(2).integers(0, most, (2, 40, 60))
    large, wide = INPUTS[metric](a, b), np.float64 if kind == "float16" else np.int64
    found, wanted = (metric()(*inputs) for inputs in (
        [x.astype(kind) for x in large], [x.astype(kind).astype(wide) for x in large]))
    for one, other in zip(found, wanted, strict=True) if isinstance(found, tuple) else [
            (found, wanted)]:
        np.testing.assert_allclose(one, other, rtol=1e-5)


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.float16])
@pytest.mark.parametrize("x", [[100, 120, 127], [127, 120, 100], [0, 50, 120]])
def test_areas_of_small_types(x, kind):
    x, y = np.array(x), np.array([100, 120, 90])
    want = ((x[1:] - x[:-1]) * (y[1:] + y[:-1]) / 2).sum()
    assert train.auc(x.astype(kind), y.astype(kind)) == abs(want)
