"""Losses: reductions, precision, own losses, and numbers MindSpore's CPU build can't give."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import lamella as ms
from lamella import Tensor, mint, nn, ops

RNG = np.random.default_rng(0)
X, Y = (RNG.standard_normal((4, 3)).astype(np.float32) for _ in range(2))


class Absolute(nn.LossBase):
    def construct(self, logits, labels):
        return self.get_loss(ms.ops.abs(logits - labels), self.weights)


@pytest.mark.parametrize(("reduction", "reduce"), [
    ("mean", np.mean), ("sum", np.sum), ("none", lambda a: a)])
@pytest.mark.parametrize("weights", [1.0, 2.5, np.float32([1, 2, 3])])
def test_a_loss_of_one_s_own(reduction, reduce, weights):
    net = Absolute(reduction)
    net.weights = ms.Tensor(weights) if isinstance(weights, np.ndarray) else weights
    np.testing.assert_allclose(net(ms.Tensor(X), ms.Tensor(Y)).asnumpy(),
                               reduce(np.abs(X - Y) * weights), rtol=1e-5)
    assert net.get_axis(ms.Tensor(X)) == (0, 1)


def test_a_loss_that_defines_nothing():
    with pytest.raises(NotImplementedError, match="construct"):
        nn.LossBase()(ms.Tensor(X), ms.Tensor(Y))


def test_half_precision_is_summed_in_float32():
    x = ms.ops.full((70000,), 1.0, dtype=ms.float16)
    out = nn.MSELoss()(x, x * 0)
    assert out.dtype == ms.float16 and out.item() == 1.0


@pytest.mark.parametrize(("loss", "reference", "labels"), [
    (nn.TripletMarginLoss(p=1, reduction="sum"),
     lambda a, b: F.triplet_margin_loss(a, b, -b, p=1, reduction="sum"), "triple"),
    (nn.SoftMarginLoss("none"), lambda a, b: F.soft_margin_loss(a, b, reduction="none"), None),
    (nn.KLDivLoss("none"), lambda a, b: F.kl_div(a, b.abs(), reduction="none"), "positive"),
    (nn.BCEWithLogitsLoss("none"),
     lambda a, b: F.binary_cross_entropy_with_logits(a, b, reduction="none"), None),
    (nn.PoissonNLLLoss(full=True), lambda a, b: F.poisson_nll_loss(a, b.abs(), full=True),
     "positive"),
    (nn.HuberLoss("sum", 0.5), lambda a, b: F.huber_loss(a, b, reduction="sum", delta=0.5), None),
    (nn.MultilabelMarginLoss("none"),
     lambda a, b: F.multilabel_margin_loss(a, torch.tensor([[2, 0, -1]] * 4), reduction="none"),
     np.int32([[2, 0, -1]] * 4)),
], ids=lambda value: type(value).__name__)
def test_pytorch_s(loss, reference, labels):
    x, y = torch.from_numpy(X), torch.from_numpy(Y)
    want = reference(x, y).numpy()
    if isinstance(labels, np.ndarray):
        got = loss(ms.Tensor(X), ms.Tensor(labels))
    elif labels == "triple":
        got = loss(ms.Tensor(X), ms.Tensor(Y), ms.Tensor(-Y))
    else:
        got = loss(ms.Tensor(X), ms.Tensor(np.abs(Y) if labels == "positive" else Y))
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-4, atol=1e-5)


def test_the_construct_s_margin_counts_unless_one_was_given():
    a, b = ms.Tensor(X), ms.Tensor(Y)
    assert nn.TripletMarginLoss()(a, b, b, 0.25).item() == pytest.approx(0.25)
    assert nn.TripletMarginLoss(margin=3.0)(a, b, b, 0.25).item() == pytest.approx(3)


def test_impossible_targets_count_nothing():
    scores = nn.LogSoftmax()(ms.ops.zeros((2, 1, 3)))
    target, two, three = (ms.Tensor(v, ms.int32) for v in ([[1, 2, 1]], [2], [3]))
    assert nn.CTCLoss(zero_infinity=True)(scores, target, two, three).item() == 0
    assert np.isinf(nn.CTCLoss()(scores, target, two, three).item())


def test_sampled_softmax_of_all_classes_is_softmax():
    weights, biases = ms.Tensor(RNG.standard_normal((7, 3)).astype(np.float32)), ms.ops.zeros(7)
    labels = ms.Tensor([1, 1, 1, 1])
    net = nn.SampledSoftmaxLoss(num_sampled=6, num_classes=7)
    want = nn.CrossEntropyLoss(reduction="none")(
        ms.ops.matmul(ms.Tensor(X), weights.swapaxes(0, 1)), labels.astype(ms.int32))
    np.testing.assert_allclose(net(weights, biases, labels, ms.Tensor(X)).asnumpy(),
                               want.asnumpy(), rtol=1e-4)


def test_sampled_softmax_never_samples_a_true_class():
    net = nn.SampledSoftmaxLoss(num_sampled=3, num_classes=5)
    labels = ms.Tensor([[0], [3]])
    for _ in range(10):
        sampled = net._sample(labels, ms.ops.ones((2, 3)))[0].asnumpy()
        assert len(set(sampled)) == 3 and not {0, 3} & set(sampled)


def test_classes_of_any_whole_type():
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    values = [loss(ms.Tensor(X), ms.Tensor([0, 1, 2, 1], kind)).item()
              for kind in (ms.int32, ms.int64)]
    assert values[0] == values[1]


@pytest.mark.parametrize(("call", "kind", "message"), [
    (lambda x: nn.CrossEntropyLoss()(x, ms.ops.ones((4, 3, 1), ms.int32)), ValueError, "labels"),
    (lambda x: nn.CrossEntropyLoss()(x, ms.ops.ones((4, 3), ms.int32)), TypeError, "floating"),
    (lambda x: nn.BCEWithLogitsLoss(weight=ms.Parameter(1.0)), TypeError, "Parameter"),
    (lambda x: nn.DiceLoss()(x, x[:2]), ValueError, "one shape"),
    (lambda x: nn.FocalLoss()(x[:, :1], x[:, :1]), ValueError, "several classes"),
    (lambda x: nn.CosineEmbeddingLoss()(x, x[:2], ms.ops.ones(4)), ValueError, "one shape"),
    (lambda x: nn.MSELoss()(x, 3), TypeError, "labels"),
    (lambda x: nn.MultiClassDiceLoss(ms.ops.ones((2, 1)))(x, x), ValueError, "3 classes")])
def test_wrong_inputs(call, kind, message):
    with pytest.raises(kind, match=message):
        call(ms.Tensor(X))


class _Doubled(nn.MSELoss):
    def get_loss(self, x, weights=1.0):
        return super().get_loss(x, 2.0)


@pytest.mark.parametrize(("reduction", "reduce"), [
    ("mean", np.mean), ("sum", np.sum), ("none", lambda a: a)])
def test_squares_by_one_kernel(reduction, reduce):
    x, y = ms.Tensor(X), ms.Tensor(Y)
    loss, doubled = nn.MSELoss(reduction), _Doubled(reduction)
    wanted = reduce(np.square(X - Y))
    np.testing.assert_allclose(loss(x, y).asnumpy(), wanted, rtol=1e-6)
    np.testing.assert_allclose(loss(x, y[:, :1]).asnumpy(), reduce(np.square(X - Y[:, :1])),
                               rtol=1e-6)
    np.testing.assert_allclose(doubled(x, y).asnumpy(), 2 * wanted, rtol=1e-6)
    curvature = ms.grad(lambda x: ms.grad(lambda x: loss(x, y).sum())(x).sum())(x)
    np.testing.assert_allclose(curvature.asnumpy(), 2 / X.size if reduction == "mean" else 2.0,
                               rtol=1e-6)


@pytest.mark.parametrize("ignored", [-100, 0, 5])
def test_no_probability_is_ignored(ignored):
    # as MindSpore 2.10 computes it: 1.3295248, whatever the ignored class is
    scores = Tensor([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]])
    wanted = Tensor([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
    losses = (ops.cross_entropy(scores, wanted, ignore_index=ignored),
              nn.CrossEntropyLoss(ignore_index=ignored)(scores, wanted),
              mint.nn.functional.cross_entropy(scores, wanted, ignore_index=ignored))
    np.testing.assert_allclose([float(loss) for loss in losses], 1.3295248, rtol=1e-6)


@pytest.mark.parametrize("pair", [(3, Tensor(X)), (Tensor(X), 3), (Tensor(X), None)])
def test_what_is_no_tensor(pair):
    for loss in (nn.L1Loss(), nn.SmoothL1Loss(), nn.MSELoss()):
        with pytest.raises(TypeError):
            loss(*pair)
