"""Losses by likelihood: PyTorch's with every option, and the shapes and types they take."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import lamella as ms
from lamella import nn, ops

RNG = np.random.default_rng(12)
X = RNG.standard_normal((4, 3)).astype(np.float32)
CLASSES = np.int32([2, 0, 1, 0])
WEIGHT = np.float32([0.5, 2.0, 1.5])
COUNTS = np.float32([[0, 1, 2], [3, 1, 0], [7, 2, 1], [0.5, 1.5, 4]])


def agree(got, want, rtol=1e-5):
    np.testing.assert_allclose(got.asnumpy(), want.numpy(), rtol=rtol, atol=1e-6)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("ignored", [-100, 0, 1])
def test_cross_entropy_of_classes(reduction, smoothing, ignored):
    loss = nn.CrossEntropyLoss(ms.Tensor(WEIGHT), ignored, reduction, smoothing)
    agree(loss(ms.Tensor(X), ms.Tensor(CLASSES)), F.cross_entropy(
        torch.from_numpy(X), torch.from_numpy(CLASSES).long(), torch.from_numpy(WEIGHT),
        ignore_index=ignored, reduction=reduction, label_smoothing=smoothing))


@pytest.mark.parametrize(("shape", "labels"), [
    ((3,), ()), ((4, 3), (4,)), ((4, 3, 2), (4, 2)), ((4, 3, 2, 5), (4, 2, 5))])
def test_cross_entropy_of_more_dimensions(shape, labels):
    x = RNG.standard_normal(shape).astype(np.float32)
    classes = RNG.integers(0, 3, labels).astype(np.int32)
    agree(nn.CrossEntropyLoss()(ms.Tensor(x), ms.Tensor(classes)),
          F.cross_entropy(torch.from_numpy(x), torch.as_tensor(classes).long()))
    wanted = np.abs(x)
    agree(nn.CrossEntropyLoss(reduction="none")(ms.Tensor(x), ms.Tensor(wanted)),
          F.cross_entropy(torch.from_numpy(x), torch.from_numpy(wanted), reduction="none"))


@pytest.mark.parametrize(("shape", "labels", "kind"), [
    ((3,), (3,), ms.int32), ((3,), (1, 3), ms.float32), ((4, 3), (3,), ms.int32),
    ((4, 3, 2), (4,), ms.int32), ((4, 3, 2), (4, 3), ms.int32), ((4, 3), (4,), ms.float32),
    ((4, 3), (4, 2), ms.float32), ((4, 3), (), ms.int32), ((4, 3), (4, 3), ms.int32)])
def test_labels_that_do_not_belong_to_the_scores(shape, labels, kind):
    with pytest.raises((ValueError, TypeError), match="labels"):
        nn.CrossEntropyLoss()(ops.ones(shape), ops.zeros(labels, kind))


@pytest.mark.parametrize("smoothing", [0.0, 1.0])
def test_smoothing_from_0_to_1(smoothing):
    assert nn.CrossEntropyLoss(label_smoothing=smoothing).label_smoothing == smoothing
    outside = np.nextafter(smoothing, 2 * smoothing - 0.5).item()
    with pytest.raises(ValueError, match="label_smoothing"):
        nn.CrossEntropyLoss(label_smoothing=outside)


def test_no_class_is_ignored_by_sparse_softmax():
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True)
    agree(loss(ms.Tensor(X), ms.Tensor(CLASSES)), F.cross_entropy(
        torch.from_numpy(X), torch.from_numpy(CLASSES).long(), reduction="none"))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("log_input", [False, True])
def test_counts(reduction, full, log_input):
    x = X if log_input else np.abs(X)
    loss = nn.PoissonNLLLoss(log_input, full, 0.25, reduction)
    agree(loss(ms.Tensor(x), ms.Tensor(COUNTS)), F.poisson_nll_loss(
        torch.from_numpy(x), torch.from_numpy(COUNTS), log_input, full, eps=0.25,
        reduction=reduction), rtol=1e-4)


def test_whole_counts():
    got = nn.PoissonNLLLoss(reduction="none")(ms.Tensor([0.0, math.log(2)]), ms.Tensor([3, 2]))
    np.testing.assert_allclose(got.asnumpy(), [1, 2 - 2 * math.log(2)], rtol=1e-6)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("full", [False, True])
def test_normal_likelihood(reduction, full):
    variance = np.abs(COUNTS) * 0.1  # some below the least
    loss = nn.GaussianNLLLoss(full=full, eps=0.05, reduction=reduction)
    agree(loss(*map(ms.Tensor, (X, COUNTS, variance))), F.gaussian_nll_loss(
        *map(torch.from_numpy, (X, COUNTS, variance)), full, 0.05, reduction))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_two_classes(reduction):
    p, y, weight = np.abs(np.sin(X)), np.abs(np.cos(X)), np.abs(X)
    agree(nn.BCELoss(ms.Tensor(weight), reduction)(ms.Tensor(p), ms.Tensor(y)),
          F.binary_cross_entropy(*map(torch.from_numpy, (p, y, weight)), reduction=reduction))
    loss = nn.BCEWithLogitsLoss(reduction, ms.Tensor(weight), ms.Tensor(WEIGHT))
    agree(loss(ms.Tensor(X), ms.Tensor(y)), F.binary_cross_entropy_with_logits(
        *map(torch.from_numpy, (X, y, weight)), pos_weight=torch.from_numpy(WEIGHT),
        reduction=reduction))
    agree(nn.NLLLoss(ms.Tensor(WEIGHT), 0, reduction)(ms.Tensor(X), ms.Tensor(CLASSES)),
          F.nll_loss(torch.from_numpy(X), torch.from_numpy(CLASSES).long(),
                     torch.from_numpy(WEIGHT), ignore_index=0, reduction=reduction))


def test_a_second_weight_that_is_a_parameter():
    with pytest.raises(TypeError, match="pos_weight"):
        nn.BCEWithLogitsLoss(pos_weight=ms.Parameter(1.0))


SCORES = F.log_softmax(torch.from_numpy(RNG.standard_normal((5, 3)).astype(np.float32)), 1)


@pytest.mark.parametrize("shape", [(2,), (1, 2)])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_one_sequence(shape, reduction):
    targets = np.int32([1, 2])
    got = nn.CTCLoss(0, reduction)(ms.Tensor(SCORES.numpy()), ms.Tensor(targets.reshape(shape)),
                                   ms.Tensor([5], ms.int32), ms.Tensor([2], ms.int32))
    agree(got, F.ctc_loss(SCORES, torch.from_numpy(targets).long(), torch.tensor(5),
                          torch.tensor(2), reduction=reduction), rtol=1e-4)


@pytest.mark.parametrize("shape", [(2, 2), (1, 1, 2), (2, 1)])
def test_targets_of_more_than_one_sequence(shape):
    with pytest.raises(ValueError, match="one sequence"):
        nn.CTCLoss()(ms.Tensor(SCORES.numpy()), ops.ones(shape, ms.int32),
                     ms.Tensor([5], ms.int32), ms.Tensor([2], ms.int32))
