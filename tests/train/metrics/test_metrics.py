"""Metrics against numbers recorded from MindSpore 2.10, scikit-learn and SciPy."""

import json
import pathlib

import numpy as np
import pytest
import sklearn.metrics as reference

import lamella as ms
from lamella import Tensor, train
from tests.train.metrics.cases import cases

RECORDED = json.loads((pathlib.Path(__file__).parent / "recorded.json").read_text())


def flat(value):
    if isinstance(value, (tuple, list)):
        return np.concatenate([flat(part) for part in value])
    return np.asarray(value, dtype=np.float64).reshape(-1)


def evaluated(metric, *batches):
    metric.clear()
    for batch in batches:
        metric.update(*[Tensor(x) if isinstance(x, np.ndarray) else x for x in batch])
    return metric.eval()


@pytest.mark.parametrize("place", range(len(RECORDED)))
def test_recorded_values(place):
    name, keywords, batches = cases()[place]
    metric = getattr(train, name)(**keywords)
    for _ in range(2):  # `clear` forgets the first round
        np.testing.assert_allclose(flat(evaluated(metric, *batches)), flat(RECORDED[place]),
                                   rtol=1e-6)


def scores(seed, classes=5, count=40):
    rng = np.random.default_rng(seed)
    return rng.random((count, classes)).astype(np.float32), rng.integers(0, classes, count)


@pytest.mark.parametrize("seed", range(3))
def test_classification_as_in_scikit_learn(seed):
    s, y = scores(seed)
    best = s.argmax(1)
    close = np.testing.assert_allclose
    close(train.Accuracy()(Tensor(s), Tensor(y)), reference.accuracy_score(y, best))
    for metric, function in ((train.Precision(), reference.precision_score),
                             (train.Recall(), reference.recall_score),
                             (train.F1(), reference.f1_score)):
        close(metric(Tensor(s), Tensor(y)), function(y, best, average=None, zero_division=0))
        close(metric.eval(average=True), function(y, best, average="macro", zero_division=0))
    close(train.Fbeta(0.5)(Tensor(s), Tensor(y)),
          reference.fbeta_score(y, best, beta=0.5, average=None, zero_division=0))
    close(train.TopKCategoricalAccuracy(3)(Tensor(s), Tensor(y)),
          reference.top_k_accuracy_score(y, s, k=3))
    close(train.ConfusionMatrix(5)(Tensor(s), Tensor(y)), reference.confusion_matrix(y, best))
    close(train.ConfusionMatrix(5, "target")(Tensor(s), Tensor(y)),
          reference.confusion_matrix(y, best, normalize="true"))
    close(train.Perplexity()(Tensor(s / s.sum(1, keepdims=True)), Tensor(y)),
          np.exp(reference.log_loss(y, s / s.sum(1, keepdims=True))), rtol=1e-5)


def test_perplexity_of_a_single_row():
    metric = train.Perplexity()
    metric.update([0.2, 0.8], np.array(1))
    metric.update([[[0.5, 0.25, 0.25]]], [[2]])
    assert metric.eval() == pytest.approx((0.8 * 0.25) ** -0.5)


def test_curves_as_in_scikit_learn():
    rng = np.random.default_rng(5)
    s, y = rng.random(30).round(1), rng.integers(0, 2, 30)
    fpr, tpr, thresholds = train.ROC()(Tensor(s), Tensor(y))
    want = reference.roc_curve(y, s, drop_intermediate=False)
    np.testing.assert_allclose(fpr, want[0])
    np.testing.assert_allclose(tpr, want[1])
    np.testing.assert_allclose(thresholds[1:], want[2][1:])
    np.testing.assert_allclose(train.auc(fpr, tpr), reference.roc_auc_score(y, s))
    # of several classes, more samples than classes: each against the rest
    s, y = scores(1, 3, 30)
    curves = train.ROC(class_num=3)(Tensor(s), Tensor(y))
    for c in range(3):
        want = reference.roc_curve(y == c, s[:, c], drop_intermediate=False)
        np.testing.assert_allclose(curves[0][c], want[0])
        np.testing.assert_allclose(curves[1][c], want[1])


def test_cosine_similarity_and_errors_as_in_scikit_learn():
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((2, 6, 3)).astype(np.float32)
    got = train.CosineSimilarity(zero_diagonal=False)(Tensor(a))
    np.testing.assert_allclose(got, reference.pairwise.cosine_similarity(a), rtol=1e-5, atol=1e-6)
    vector, other = a.reshape(-1), b.reshape(-1)
    np.testing.assert_allclose(train.MAE()(Tensor(vector), Tensor(other)),
                               reference.mean_absolute_error(other, vector), rtol=1e-6)
    np.testing.assert_allclose(train.MSE()(Tensor(vector), Tensor(other)),
                               reference.mean_squared_error(other, vector), rtol=1e-6)


@pytest.mark.parametrize("kind", ["euclidean", "chessboard", "taxicab"])
def test_hausdorff_distance_as_in_scipy(kind):
    from scipy.spatial.distance import cdist

    names = {"euclidean": "euclidean", "chessboard": "chebyshev", "taxicab": "cityblock"}
    # thin enough for each pixel to be on the surface
    a, b = np.zeros((8, 8), int), np.zeros((8, 8), int)
    a[1, 1:6] = a[2, 3] = 1
    b[5, 2:7] = 1
    apart = cdist(np.argwhere(a), np.argwhere(b), names[kind])
    want = max(apart.min(0).max(), apart.min(1).max())
    assert train.HausdorffDistance(kind)(Tensor(a), Tensor(b), 1) == pytest.approx(want)
    empty = train.HausdorffDistance(kind)(Tensor(a), Tensor(b * 2), 1)
    assert empty == np.inf


def test_occlusion_sensitivity_covers_patches():
    class Mean(ms.nn.Cell):
        def construct(self, x):
            return ms.ops.stack([x.mean((1, 2)), -x.mean((1, 2))], 1)

    image = np.arange(9, dtype=np.float32).reshape(1, 3, 3)
    got = train.OcclusionSensitivity(margin=1, n_batch=4)(Mean(), Tensor(image), Tensor([1]))
    want = np.zeros((3, 3))
    for i, j in np.ndindex(3, 3):
        covered = image[0].copy()
        covered[max(0, i - 1):i + 1, max(0, j - 1):j + 1] = 0
        want[i, j] = -image.mean() + covered.mean()
    np.testing.assert_allclose(got, want, rtol=1e-5)
    part = train.OcclusionSensitivity(margin=1, b_box=[1, 2, 0, -1])(
        Mean(), Tensor(image), Tensor([1]))
    np.testing.assert_allclose(part, want[1:], rtol=1e-5)
    row = train.OcclusionSensitivity(margin=1, b_box=[0, 0, -5, -1])
    np.testing.assert_allclose(row(Mean(), Tensor(image), Tensor([1])), want[0], rtol=1e-5)
    whole = train.OcclusionSensitivity(margin=1, b_box=[0, 2, 0, 2])
    np.testing.assert_allclose(whole(Mean(), Tensor(image), Tensor([1])), want, rtol=1e-5)
    with pytest.raises(ValueError, match="'b_box' must lie in the image"):
        train.OcclusionSensitivity(b_box=[0, 3, 0, 2])(Mean(), Tensor(image), Tensor([1]))


@pytest.mark.parametrize("box", [None, [1, 2, 0, 3], [-4, 0, 2, -1], [1, 1, 2, 2]])
def test_occlusion_of_an_image_that_is_no_square(box):
    """Margins and paddings of their own; any batches give the same."""
    image = np.random.default_rng(5).random((1, 3, 5)).astype(np.float32)
    weights = np.random.default_rng(6).random((15, 4)).astype(np.float32)
    whole = image.reshape(1, -1) @ weights

    class Linear(ms.nn.Cell):
        def construct(self, x):
            return x.reshape((x.shape[0], -1)) @ Tensor(weights)

    low, high = (0, 0), (2, 4)
    if box:
        low = max(box[0], 0), max(box[2], 0)
        high = 2 if box[1] < 0 else box[1], 4 if box[3] < 0 else box[3]
    want = np.zeros((high[0] - low[0] + 1, high[1] - low[1] + 1))
    for i, j in np.ndindex(*want.shape):
        covered, row, column = image[0].copy(), i + low[0], j + low[1]
        covered[max(0, row - 1):row + 1, max(0, column - 2):column + 2] = 0.25
        want[i, j] = (whole - covered.reshape(1, -1) @ weights)[0, 3]
    for batch in (1, 2, 128):
        metric = train.OcclusionSensitivity(0.25, [1, 2], batch, box)
        np.testing.assert_allclose(metric(Linear(), Tensor(image), 3), np.squeeze(want), atol=1e-5)


@pytest.mark.parametrize("name", [n for n in train.names() if n not in ("auc",)])
def test_nothing_to_evaluate_is_an_error(name):
    arguments = {"topk": (2,), "confusion_matrix": (3,)}.get(name, ())
    with pytest.raises(RuntimeError, match="Call 'update' before 'eval'"):
        train.get_metric_fn(name, *arguments).eval()


def test_inputs_that_do_not_fit_are_refused():
    s, y = scores(0)
    with pytest.raises(ValueError, match="needs 2 inputs"):
        train.Accuracy().update(Tensor(s))
    with pytest.raises(ValueError, match="must have the predicted value's shape without axis 1"):
        train.Accuracy().update(Tensor(s), Tensor(y[:3]))
    with pytest.raises(ValueError, match="below the number of predicted classes, 5, but got 9"):
        train.Precision().update(Tensor(s), Tensor(y * 0 + 9))
    with pytest.raises(ValueError, match="must be 0 or 1"):
        train.Recall("multilabel").update(Tensor(s), Tensor(s))
    metric = train.Accuracy()
    metric.update(Tensor(s), Tensor(y))
    with pytest.raises(ValueError, match="had 5 classes, but this one has 3"):
        metric.update(Tensor(s[:, :3]), Tensor(y))
    with pytest.raises(TypeError, match="must be Tensors, lists or arrays, but got int"):
        train.MAE().update(3, 4)
    with pytest.raises(ValueError, match="'class_num' must be the number of classes, 5"):
        train.ROC(class_num=4).update(Tensor(s), Tensor(y))
    with pytest.raises(ValueError, match="there are no negative samples"):
        train.ROC()(Tensor([0.1, 0.2]), Tensor([1, 1]))
    with pytest.raises(ValueError, match="classes must be below 'num_classes', 3"):
        train.ConfusionMatrix(3).update(Tensor([7]), Tensor([2]))
    with pytest.raises(NotImplementedError, match="'metric_name' must be one of"):
        train.ConfusionMatrixMetric(metric_name="luck")
    with pytest.raises(ValueError, match="label index 7 is in neither"):
        train.HausdorffDistance().update(Tensor([[1]]), Tensor([[1]]), 7)
    with pytest.raises(KeyError, match="'name' must be one of"):
        train.get_metric_fn("luck")
    with pytest.raises(ValueError, match="must be a list of ints"):
        train.MAE().set_indexes("ab")


def test_the_top_shows_them_too():
    assert train.Accuracy is ms.Accuracy


@pytest.mark.parametrize("given", [([[1, 2]], [[1, 0]]), ([[1, 0]], [[2, 0]])])
def test_labels_of_several_classes_are_0_or_1(given):
    with pytest.raises(ValueError, match="all values must be 0 or 1"):
        train.Precision("multilabel").update(*map(np.array, given))


@pytest.mark.parametrize("predicted, true", [([[2, 0]], [[1, 0]]), ([[1, 0]], [[2, 0]])])
def test_several_labels_are_zeros_and_ones(predicted, true):
    metric = ms.train.Accuracy("multilabel")
    with pytest.raises(ValueError, match="must be 0 or 1"):
        metric.update(np.array(predicted), np.array(true))
    metric.update(np.array([[1, 0]]), np.array([[1, 0]]))
    assert metric.eval() == 1


@pytest.mark.parametrize("shape", [(4,), (1, 4), (3, 4), (2, 3, 4)])
@pytest.mark.parametrize("ignored", [None, 2])
def test_perplexity_of_any_dimensions(shape, ignored):
    rng = np.random.default_rng(2)
    chances = rng.random(shape) + 0.01
    labels = rng.integers(0, 4, shape[:-1]) if len(shape) > 1 else np.array(1)
    metric, chosen = train.Perplexity(ignored), []
    for place in np.ndindex(*shape[:-1]):
        if labels[place] != ignored:
            chosen.append(np.log(chances[(*place, labels[place])]))
    metric.update(chances, labels)
    if chosen:
        assert metric.eval() == pytest.approx(np.exp(-np.mean(chosen)))
    with pytest.raises(RuntimeError, match="a label for each row"):
        metric.update(np.array(0.5), np.array([1]))
