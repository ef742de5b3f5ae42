"""Losses with attributes: derivatives in both modes, masks and weights, and CTC by enumeration."""

import itertools

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812  (its usual name)

import lamella as ms
from lamella import Tensor, ops
from tests.contracts import check_gradient

RNG = np.random.default_rng(19)


def normal(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def log_softmax(x):
    return torch.log_softmax(torch.from_numpy(x).double(), -1).numpy()


@pytest.mark.parametrize("moved", ["scores", "labels", "both"])
def test_forward_derivatives_of_the_cross_entropy_with_probabilities(moved):
    """By the scores softmax(x) - y counts, also where y doesn't add up to one."""
    x, y, of_x, of_y = (normal(4, 3) for _ in range(4))
    loss = ops.SoftmaxCrossEntropyWithLogits()
    by_x = (of_x * (np.exp(log_softmax(x)) - y)).sum(-1)
    by_y = -(of_y * log_softmax(x)).sum(-1)
    if moved == "both":
        out, found = ms.jvp(lambda a, b: loss(a, b)[0], (Tensor(x), Tensor(y)),
                            (Tensor(of_x), Tensor(of_y)))
        wanted = by_x + by_y
    elif moved == "scores":
        out, found = ms.jvp(lambda a: loss(a, Tensor(y))[0], Tensor(x), Tensor(of_x))
        wanted = by_x
    else:
        out, found = ms.jvp(lambda b: loss(Tensor(x), b)[0], Tensor(y), Tensor(of_y))
        wanted = by_y
    np.testing.assert_allclose(out.asnumpy(), -(y * log_softmax(x)).sum(-1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-4, atol=1e-5)


def test_backward_derivatives_of_the_cross_entropy_with_probabilities():
    x, y, weight = normal(4, 3), normal(4, 3), normal(4)
    loss = ops.SoftmaxCrossEntropyWithLogits()
    by_x, by_y = ms.grad(lambda a, b: (loss(a, b)[0] * Tensor(weight)).sum(), (0, 1))(
        Tensor(x), Tensor(y))
    inner = np.exp(log_softmax(x)) - y
    np.testing.assert_allclose(by_x.asnumpy(), weight[:, None] * inner, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(by_y.asnumpy(), -weight[:, None] * log_softmax(x), rtol=1e-4,
                               atol=1e-5)
    np.testing.assert_allclose(loss(Tensor(x), Tensor(y))[1].asnumpy(), inner, rtol=1e-4,
                               atol=1e-5)
    with pytest.raises(ValueError, match=r"must have one shape, but got \(4, 3\) and \(4, 2\)"):
        loss(Tensor(x), Tensor(y[:, :2]))


def test_the_sparse_cross_entropy_or_its_gradient():
    x, classes = normal(5, 3), np.array([2, 0, 1, 2, 2], np.int32)
    scores = torch.from_numpy(x).requires_grad_()
    wanted = F.cross_entropy(scores, torch.from_numpy(classes).long())
    wanted.backward()
    found = [ops.SparseSoftmaxCrossEntropyWithLogits(*options)(Tensor(x), Tensor(classes)).asnumpy()
             for options in ((), (True,))]
    np.testing.assert_allclose(found[0], wanted.item(), rtol=1e-5)
    np.testing.assert_allclose(found[1], scores.grad.numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("ignored", [-100, 1, 2])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_the_negative_log_likelihood_and_the_weights_that_count(reduction, ignored):
    x, weight = normal(6, 3), np.array([0.5, 2, 4], np.float32)
    labels = np.array([2, 0, 1, 2, 1, 0], np.int32)
    labels[0] = ignored
    loss, total = ops.NLLLoss(reduction, ignored)(Tensor(x), Tensor(labels), Tensor(weight))
    wanted = F.nll_loss(torch.from_numpy(x), torch.from_numpy(labels).long(),
                        torch.from_numpy(weight), ignore_index=ignored, reduction=reduction)
    np.testing.assert_allclose(loss.asnumpy(), wanted.numpy(), rtol=1e-5)
    assert total.item() == sum(weight[c] for c in labels if c != ignored)


def test_marks_of_right_classes_end_at_the_first_negative_number():
    x = normal(3, 4)
    target = np.array([[3, 0, -1, 1], [-1, 2, 2, 2], [1, 3, 2, 0]], np.int32)
    loss, marks = ops.MultilabelMarginLoss("none")(Tensor(x), Tensor(target))
    assert marks.dtype == ms.int32
    assert marks.tolist() == [[1, 0, 0, 1], [0] * 4, [1] * 4]
    wanted = F.multilabel_margin_loss(torch.from_numpy(x), torch.from_numpy(target).long(),
                                      reduction="none")
    np.testing.assert_allclose(loss.asnumpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)


LABELS = [[1, 1, 0], [2], [], [0, 3]]  # of 4 sequences; the blank is class 4
LENGTHS = [4, 5, 3, 2]


def ctc(labels, lengths, scores, **options):
    places = [(row, k) for row, each in enumerate(labels) for k in range(len(each))]
    return ops.CTCLoss(**options)(
        Tensor(scores), Tensor(np.array(places, np.int64).reshape(-1, 2)),
        Tensor([one for each in labels for one in each], ms.int32), Tensor(lengths, ms.int32))


def single_steps(logs, labels, length):
    """The chance that each label takes one step in order, summed over all choices of steps."""
    total = 0.0
    for chosen in itertools.combinations(range(length), len(labels)):
        said = dict(zip(chosen, labels, strict=True))
        total = total + torch.exp(sum(logs[t, said.get(t, logs.shape[1] - 1)]
                                      for t in range(length)))
    return -torch.log(total)


def test_ctc_where_each_label_takes_one_step():
    scores = normal(5, 4, 5)
    alias = torch.from_numpy(scores).double().requires_grad_()
    logs = torch.log_softmax(alias, -1)
    wanted = torch.stack([single_steps(logs[:, i], each, length)
                          for i, (each, length) in enumerate(zip(LABELS, LENGTHS, strict=True))])
    wanted.sum().backward()
    loss, grad = ctc(LABELS, LENGTHS, scores, ctc_merge_repeated=False)
    np.testing.assert_allclose(loss.asnumpy(), wanted.detach().numpy(), rtol=1e-4)
    np.testing.assert_allclose(grad.asnumpy(), alias.grad.numpy(), rtol=1e-3, atol=1e-5)
    check_gradient(lambda x: ctc(LABELS, LENGTHS, x, ctc_merge_repeated=False)[0], (scores,), (0,))


def test_ctc_where_a_label_may_take_several_steps():
    scores = normal(5, 4, 5)
    alias = torch.from_numpy(scores).requires_grad_()
    wanted = F.ctc_loss(torch.log_softmax(alias, -1),
                        torch.tensor([one for each in LABELS for one in each]),
                        torch.tensor(LENGTHS), torch.tensor([len(each) for each in LABELS]),
                        blank=4, reduction="none")
    wanted.sum().backward()
    loss, grad = ctc(LABELS, LENGTHS, scores)
    np.testing.assert_allclose(loss.asnumpy(), wanted.detach().numpy(), rtol=1e-4)
    np.testing.assert_allclose(grad.asnumpy(), alias.grad.numpy(), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("merged", [True, False])
def test_ctc_of_sequences_that_are_too_short_is_infinite_without_gradient(merged):
    scores, lengths = normal(5, 4, 5), [2, 5, 3, 2]
    with pytest.raises(ValueError, match="'sequence_length' must be at least those of the labels"):
        ctc(LABELS, lengths, scores, ctc_merge_repeated=merged)
    loss, grad = ctc(LABELS, lengths, scores, ctc_merge_repeated=merged,
                     ignore_longer_outputs_than_inputs=True)
    assert np.isinf(loss.asnumpy()).tolist() == [True, False, False, False]
    assert not grad.asnumpy()[:, 0].any() and grad.asnumpy()[:, 1].any()


def test_ctc_labels_end_at_blanks_and_equal_neighbours_may_be_collapsed():
    scores = normal(6, 3, 5)
    padded = [[1, 1, 2, 4, -1], [4], [2, 2, 1, 2, -1]]
    plain = ctc([[1, 1, 2], [], [2, 2, 1, 2]], [6, 5, 6], scores)[0]
    np.testing.assert_array_equal(ctc(padded, [6, 5, 6], scores)[0].asnumpy(), plain.asnumpy())
    collapsed = ctc(padded, [6, 5, 6], scores, preprocess_collapse_repeated=True)[0]
    wanted = ctc([[1, 2], [], [2, 1, 2]], [6, 5, 6], scores)[0]
    np.testing.assert_array_equal(collapsed.asnumpy(), wanted.asnumpy())
    across = ctc([[1, 2], [2], [2, 1]], [6, 5, 6], scores, preprocess_collapse_repeated=True)[0]
    wanted = ctc([[1, 2], [2], [2, 1]], [6, 5, 6], scores)[0]
    np.testing.assert_array_equal(across.asnumpy(), wanted.asnumpy())


def test_ctc_of_labels_that_do_not_fit():
    scores, lengths = normal(5, 2, 4), Tensor([5, 5], ms.int32)
    ones = Tensor([1, 1], ms.int32)
    for row in (-1, 2):
        with pytest.raises(ValueError, match=r"rows in 'labels_indices' must be in \[0, 2\)"):
            ops.CTCLoss()(Tensor(scores), Tensor([[0, 0], [row, 0]]), ones, lengths)
    with pytest.raises(ValueError, match="behind a blank"):
        ctc([[3, 1], [0]], [5, 5], scores)
    with pytest.raises(ValueError, match=r"\(n,\), but got \(5, 2, 4\), \(1, 2\) and \(2,\)"):
        ops.CTCLoss()(Tensor(scores), Tensor([[0, 0]]), ones, lengths)
    with pytest.raises(ValueError, match=r"a sequence or more, but got shape \(5, 0, 4\)"):
        ops.CTCLoss()(Tensor(scores[:, :0]), Tensor([[0, 0], [1, 0]]), ones, lengths)


def test_ctc_rows_may_come_in_any_order():
    scores, lengths = normal(5, 2, 4), Tensor([5, 5], ms.int32)
    found = ops.CTCLoss()(Tensor(scores), Tensor([[1, 0], [0, 0], [1, 1]]),
                          Tensor([2, 0, 1], ms.int32), lengths)
    wanted = ctc([[0], [2, 1]], [5, 5], scores)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())


def test_forward_derivatives_of_a_single_class():
    """Its logarithm is always 0."""
    x, y, moved = (Tensor(normal(4, 1)) for _ in range(3))
    loss = ops.SoftmaxCrossEntropyWithLogits()
    out, found = ms.jvp(lambda a: loss(a, y)[0], x, moved)
    assert out.tolist() == [0] * 4
    np.testing.assert_allclose(found.asnumpy(), (moved * (1 - y)).asnumpy()[:, 0], rtol=1e-5)


def test_weights_of_a_single_class():
    x, labels, weight = normal(3, 1), Tensor([0, -5, 0]), Tensor([0.75])
    loss, total = ops.NLLLoss("sum", -5)(Tensor(x), labels, weight)
    assert total.item() == 1.5
    np.testing.assert_allclose(loss.item(), -0.75 * (x[0, 0] + x[2, 0]), rtol=1e-6)


def test_half_the_sum_of_squares():
    x = normal(3, 4)
    np.testing.assert_allclose(ops.L2Loss()(Tensor(x)).item(), (x**2).sum() / 2, rtol=1e-5)


@pytest.mark.parametrize("merged", [True, False])
def test_ctc_of_blanks_alone_costs_nothing(merged):
    loss, grad = ctc([[], []], [3, 2], normal(3, 2, 1), ctc_merge_repeated=merged)
    np.testing.assert_allclose(loss.asnumpy(), [0, 0], atol=1e-6)
    assert not grad.asnumpy().any()


@pytest.mark.parametrize("merged", [True, False])
def test_ctc_in_half_precision(merged):
    scores = normal(5, 4, 5).astype(np.float16)
    found = ctc(LABELS, LENGTHS, scores, ctc_merge_repeated=merged)
    wanted = ctc(LABELS, LENGTHS, scores.astype(np.float32), ctc_merge_repeated=merged)
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype is ms.float16
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=2e-3, atol=1e-3)


@pytest.mark.parametrize("x, places, values", [
    ((5, 4), (2, 2), (2,)), ((5, 2, 4, 1), (2, 2), (2,)), ((5, 2, 4), (2,), (2,)),
    ((5, 2, 4), (2, 2), (3,)), ((5, 2, 4), (2, 2), (2, 1))])
def test_ctc_of_shapes_that_do_not_fit(x, places, values):
    with pytest.raises(ValueError, match=r"must have shapes \(T, N, C\), \(n, 2\) and \(n,\), but"):
        ops.CTCLoss()(ops.ones(x), ops.zeros(places, ms.int64), ops.zeros(values, ms.int32),
                      Tensor([5, 5], ms.int32))
