"""Losses with margins and those for rare classes: definitions, options, ends of arguments."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import lamella as ms
from lamella import nn, ops

RNG = np.random.default_rng(13)
X, Y, Z = (RNG.standard_normal((4, 3)).astype(np.float32) for _ in range(3))
SIGNS = np.float32([1, -1, -1, 1])
CLASSES = np.int32([2, 0, 1, 0])
WEIGHT = np.float32([0.5, 2.0, 1.5])
REDUCTIONS = pytest.mark.parametrize("reduction", ["mean", "sum", "none"])


def agree(got, want):
    np.testing.assert_allclose(got.asnumpy(), np.asarray(want), rtol=1e-5, atol=1e-6)


def mine(*arrays):
    return [ms.Tensor(a) for a in arrays]


def theirs(*arrays):
    return [torch.from_numpy(a) for a in arrays]


@REDUCTIONS
def test_pytorch_s(reduction):
    signs = np.sign(X)
    options = {"reduction": reduction}
    for loss, want in (
            (nn.CosineEmbeddingLoss(-0.25, reduction)(*mine(X, Y, SIGNS)),
             F.cosine_embedding_loss(*theirs(X, Y, SIGNS), margin=-0.25, **options)),
            (nn.MarginRankingLoss(0.5, reduction)(*mine(X[:, 0], Y[:, 0], SIGNS)),
             F.margin_ranking_loss(*theirs(X[:, 0], Y[:, 0], SIGNS), margin=0.5, **options)),
            (nn.HingeEmbeddingLoss(0.75, reduction)(*mine(X, signs)),
             F.hinge_embedding_loss(*theirs(X, signs), margin=0.75, **options)),
            (nn.MultiLabelSoftMarginLoss(ms.Tensor(WEIGHT), reduction)(*mine(X, (signs + 1) / 2)),
             F.multilabel_soft_margin_loss(*theirs(X, (signs + 1) / 2),
                                           weight=torch.from_numpy(WEIGHT), **options)),
            (nn.TripletMarginLoss(1, True, 1e-6, reduction, 0.5)(*mine(X, Y, Z)),
             F.triplet_margin_loss(*theirs(X, Y, Z), 0.5, 1, swap=True, **options)),
            (nn.TripletMarginWithDistanceLoss(None, True, reduction, 2.0)(*mine(X, Y, Z)),
             F.triplet_margin_with_distance_loss(
                 *theirs(X, Y, Z), distance_function=lambda a, b: (a - b).norm(dim=1), margin=2.0,
                 swap=True, **options)),
            (nn.TripletMarginWithDistanceLoss(
                lambda a, b: ops.abs(a - b).sum(1), False, reduction)(*mine(X, Y, Z)),
             F.triplet_margin_with_distance_loss(
                 *theirs(X, Y, Z), distance_function=lambda a, b: (a - b).abs().sum(1),
                 **options))):
        agree(loss, want)


@REDUCTIONS
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("margin", [1, 0.25])
def test_several_classes(reduction, p, margin):
    want = F.multi_margin_loss(torch.from_numpy(X), torch.from_numpy(CLASSES).long(), p, margin,
                               torch.from_numpy(WEIGHT), reduction=reduction)
    x, classes, weight = mine(X, CLASSES, WEIGHT)
    agree(nn.MultiMarginLoss(p, margin, reduction, weight)(x, classes), want)
    agree(nn.MultiMarginLoss(p, margin, reduction)(x, classes, weight), want)


@pytest.mark.parametrize(("make", "inside", "outside"), [
    (lambda p: nn.MultiMarginLoss(p), (1, 2), (0, 3)),
    (lambda margin: nn.CosineEmbeddingLoss(margin), (-1.0, 1.0), (-1.01, 1.01)),
    (lambda smooth: nn.DiceLoss(smooth), (1e-9,), (0.0, -1e-9, float("inf"))),
    (lambda count: nn.SampledSoftmaxLoss(count, 7), (1, 7), (0, 8)),
    (lambda count: nn.SampledSoftmaxLoss(1, 7, count), (1, 7), (0, 8)),
    (lambda seed: nn.SampledSoftmaxLoss(1, 7, seed=seed), (0, 1), (-1,)),
    (lambda many: nn.SampledSoftmaxLoss(1, 7, sampled_values=(1,) * many), (3,), (2, 4)),
    (lambda rank: nn.MultiClassDiceLoss(ops.ones((3,) * rank)), (2,), (1, 3)),
    (lambda rank: nn.FocalLoss(ops.ones((3,) * rank)), (1,), (0, 2)),
    (lambda rank: nn.FocalLoss()(ops.ones((3,) * rank), ops.ones((3,) * rank)), (2, 3, 4), (1, 5)),
    (lambda many: nn.FocalLoss()(ops.ones((2, 3)), ops.ones((2, many), ms.int32)), (1, 3), (2, 4)),
    (lambda many: nn.FocalLoss()(ops.ones((2, many)), ops.ones((2, many))), (2,), (1,)),
    (lambda rank: nn.MultiClassDiceLoss()(ops.ones((3,) * rank), ops.ones((3,) * rank)), (2, 3),
     (1,)),
], ids=range(13))
def test_what_is_just_inside_and_outside(make, inside, outside):
    for value in inside:
        make(value)
    for value in outside:
        with pytest.raises(ValueError, match="must"):
            make(value)


def test_ranks_of_focal_loss_must_agree():
    with pytest.raises(ValueError, match="dimensions"):
        nn.FocalLoss()(ops.ones((2, 3, 1)), ops.ones((2, 3)))


@pytest.mark.parametrize("swapped", [False, True])
def test_dice(swapped):
    x, y = np.abs(X), np.abs(Y[:, ::-1])
    x, y = (y, x) if swapped else (x, y)
    want = 1 - 2 * (x * y).sum() / ((x * x).sum() + (y * y).sum() + 0.5)
    agree(nn.DiceLoss(0.5)(*mine(x, y)), want)


@pytest.mark.parametrize("ignored", [None, 0, 2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("activation", [None, "sigmoid", "softmax", "relu6"])
def test_dice_of_several_classes(ignored, weighted, activation):
    y = np.abs(Y)
    weights = np.float32([[0.5], [2.0], [1.5]]) if weighted else np.ones((3, 1), np.float32)
    p = torch.from_numpy(X)
    p = {None: p, "sigmoid": p.sigmoid(), "softmax": p.softmax(-1), "relu6": F.relu6(p)}[
        activation].numpy()
    parts = [weights[i] * (1 - 2 * (p[:, i] * y[:, i]).sum() / (
        (p[:, i]**2).sum() + (y[:, i]**2).sum() + 1e-5)) for i in range(3) if i != ignored]
    loss = nn.MultiClassDiceLoss(ms.Tensor(weights) if weighted else None, ignored, activation)
    np.testing.assert_allclose(loss(*mine(X, y)).asnumpy().reshape(-1), sum(parts) / 3, rtol=1e-5)


@REDUCTIONS
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("places", [(), (2,), (2, 5)])
def test_focal(reduction, weighted, places):
    shape = (4, 3, *places)
    scores = RNG.standard_normal(shape).astype(np.float32)
    classes = RNG.integers(0, 3, (4, 1, *places)).astype(np.int32)
    p = F.softmax(torch.from_numpy(scores).double(), 1).numpy().reshape(4, 3, -1)
    hot = np.moveaxis(np.eye(3)[classes.reshape(4, -1)], 2, 1)
    weight = WEIGHT if weighted else np.ones(3)
    each = -(1 - p)**1.5 * np.log(p) * hot * weight[:, None]
    reduce = {"mean": np.mean, "sum": np.sum, "none": np.asarray}[reduction]
    loss = nn.FocalLoss(ms.Tensor(WEIGHT) if weighted else None, 1.5, reduction)
    agree(loss(*mine(scores, classes)), reduce(each.sum(1).mean(1)))
    agree(loss(*mine(scores, hot.reshape(shape).astype(np.float32))), reduce(each.mean(2)))


@pytest.mark.parametrize("true", [1, 2])
def test_sampled_softmax_of_given_samples(true):
    weights, biases = (RNG.standard_normal(s).astype(np.float32) for s in ((7, 3), (7,)))
    labels, sampled = RNG.integers(0, 4, (4, true)).astype(np.int32), np.array([5, 6])
    counts, others = np.full((4, true), 0.5, np.float32), np.float32([0.25, 0.75])
    net = nn.SampledSoftmaxLoss(2, 7, true, tuple(mine(sampled, counts, others)))
    scores = np.concatenate([
        np.einsum("nd,ntd->nt", X, weights[labels]) + biases[labels] - np.log(0.5),
        X @ weights[sampled].T + biases[sampled] - np.log(others)], 1)
    log_p = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    agree(net(*mine(weights, biases, labels, X)), -log_p[:, :true].mean(1))
    for kind in (ms.int16, ms.float32):
        with pytest.raises(TypeError, match="int32 or int64"):
            net(ms.Tensor(weights), ms.Tensor(biases), ms.Tensor(labels, kind), ms.Tensor(X))


def test_samples_with_true_classes_and_their_counts():
    net = nn.SampledSoftmaxLoss(7, 7, remove_accidental_hits=False, seed=3)
    labels = ms.Tensor([[0], [3]])
    sampled, counts, others = net._sample(labels, ops.ones((2, 3)))
    assert sorted(sampled.asnumpy()) == list(range(7))
    assert counts.asnumpy().tolist() == [[1], [1]] and others.asnumpy().tolist() == [1] * 7
    some = nn.SampledSoftmaxLoss(2, 5, seed=3)
    assert some._sample(labels, ops.ones((2, 3)))[1].asnumpy() == pytest.approx(0.4)
