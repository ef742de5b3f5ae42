"""Labels, lengths and blanks that the kernel of the CTC loss doesn't check: it writes at labels.

A label outside the classes once crashed the process, wrote out of bounds, or gave a number.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, nn, ops

T, N, C = 6, 2, 3
FINE = [[1, 2], [2, 1]]
BAD_LABELS = [-1, 3, 7, 2**31 - 1, -2**31]


def scores() -> Tensor:
    return ops.log_softmax(Tensor(np.random.rand(T, N, C).astype(np.float32)), -1)


def loss(x: Tensor, targets: Any, inputs: Any = (T, T), lengths: Any = (2, 2),
         blank: int = 0) -> Tensor:
    return ops.ctc_loss(x, Tensor(targets, ms.int32), Tensor(inputs), Tensor(lengths), blank)[0]


@pytest.mark.parametrize("label", BAD_LABELS)
@pytest.mark.parametrize("form", ["rows", "flat"])
def test_labels_outside_the_classes(label: int, form: str) -> None:
    targets: Any = [[1, label], [2, 1]] if form == "rows" else [1, label, 2, 1]
    for call in (loss, ms.grad(loss), ms.grad(ms.grad(lambda *a: loss(*a).sum()))):
        with pytest.raises(ValueError, match=r"For 'ctc_loss', the labels must be in \[0, 3\)"):
            call(scores(), targets)
    with pytest.raises(ValueError, match="the labels must be in"):
        ops.vmap(loss, (0, None))(ops.stack((scores(), scores())), targets)


@pytest.mark.parametrize("label", BAD_LABELS)
def test_labels_outside_the_classes_in_a_compiled_function(label: int) -> None:
    def function(x: Tensor, targets: Tensor) -> Tensor:
        return ops.ctc_loss(x, targets, Tensor([T, T]), Tensor([2, 2]))[0]

    for call in (function, ms.grad(function)):
        compiled, x = ms.jit(call, jit_level="O0"), scores()
        with pytest.raises(ValueError, match="For 'ctc_loss', the labels must be in"):
            compiled(scores(), Tensor([[1, label], [2, 1]]))
        for _ in range(3):  # recorded, then replayed
            np.testing.assert_allclose(compiled(x, Tensor(FINE)).asnumpy(),
                                       call(x, Tensor(FINE)).asnumpy(), rtol=1e-5)
        assert compiled.report()["replays"] > 0
        with pytest.raises(ValueError, match="For 'ctc_loss', the labels must be in"):
            compiled(scores(), Tensor([[1, label], [2, 1]]))


@pytest.mark.parametrize("label", BAD_LABELS)
def test_labels_behind_a_target_do_not_count(label: int) -> None:
    x = scores()
    for function in (loss, ms.grad(loss)):
        got = function(x, [[1, 2], [2, label]], (T, T), (2, 1))
        want = function(x, [[1, 2], [2, 1]], (T, T), (2, 1))
        np.testing.assert_array_equal(got.asnumpy(), want.asnumpy())


def test_the_values_are_those_of_pytorch() -> None:
    x = scores()
    want = torch.nn.functional.ctc_loss(x.to_torch(), torch.tensor([1, 2, 1]), (T, T - 1), (2, 1))
    got = [loss(x, [[1, 2], [1, 0]], (T, T - 1), (2, 1)), loss(x, [1, 2, 1], (T, T - 1), (2, 1))]
    for value in got:
        np.testing.assert_allclose(value.asnumpy(), want.numpy(), rtol=1e-6)


@pytest.mark.parametrize(("arguments", "named"), [
    ((FINE, (T + 1, T)), r"the input lengths must be in \[0, 6\]"),
    ((FINE, (-1, T)), r"the input lengths must be in \[0, 6\]"),
    ((FINE, (T,)), r"the input lengths must have shape \(2,\)"),
    ((FINE, (T, T), (3, 2)), r"the target lengths must be in \[0, 2\]"),
    ((FINE, (T, T), (-2**31, 2)), r"the target lengths must be in \[0, 2\]"),
    ((FINE, (T, T), (2, 2, 2)), r"the target lengths must have shape \(2,\)"),
    (([1, 2, 1], (T, T), (2, 2)), "must add up to 3"),
    (([[1, 2]],), r"the targets must have shape \(2, S\)"),
    ((FINE, (T, T), (2, 2), 3), "'blank' must be one of the 3 classes, but got 3"),
    ((FINE, (T, T), (2, 2), -1), "'blank' must be one of the 3 classes, but got -1"),
])
def test_what_does_not_fit_is_named(arguments: Any, named: str) -> None:
    for call in (loss, ms.grad(loss)):
        with pytest.raises(ValueError, match=f"For 'ctc_loss', .*{named}"):
            call(scores(), *arguments)


def test_wrong_types_and_ranks_are_named() -> None:
    for args in ((Tensor([1]), [[1]], [1], [1]), (scores(), [[1.5]], [1], [1])):
        with pytest.raises((TypeError, ValueError), match="For 'ctc_loss'"):
            ops.ctc_loss(*args)
    with pytest.raises(TypeError, match="For 'ctc_loss'.*'blank' must be an int"):
        loss(scores(), FINE, blank=None)  # type: ignore[arg-type]


def test_the_layer_and_the_primitives() -> None:
    x = scores()
    with pytest.raises(ValueError, match="the labels must be in"):
        nn.CTCLoss()(x, Tensor([[9, 1], [1, 1]]), Tensor([T, T]), Tensor([2, 2]))
    with pytest.raises(ValueError, match="the labels must be in"):
        ops.CTCLossV2()(x, Tensor([[9, 1], [1, 1]]), Tensor([T, T]), Tensor([2, 2]))
    places, sparse = Tensor([[0, 0], [1, 0]]), ops.CTCLoss()
    assert sparse(x, places, Tensor([1, 0], ms.int32), Tensor([T, T], ms.int32))[0].shape == (N,)
    for labels, lengths, named in (([1, 3], [T, T], "the labels must be in"),
                                   ([1, 0], [T, T + 1], "the input lengths must be in"),
                                   ([1, 0], [T], "the input lengths must have shape"),
                                   ([1], [T, T], "must have shapes")):
        with pytest.raises(ValueError, match=f"For 'CTCLoss', .*{named}"):
            sparse(x, places, Tensor(labels, ms.int32), Tensor(lengths, ms.int32))


def sparse_loss(rows: list[list[int]], steps: list[int], **options: bool) -> Any:
    """`ops.CTCLoss` of the scores that 2.10 was given for its numbers, as a function of them."""
    x = Tensor(np.random.RandomState(0).randn(6, 3, 4).astype(np.float32))
    places = Tensor([[i, j] for i, row in enumerate(rows) for j in range(len(row))], ms.int64)
    values = Tensor([label for row in rows for label in row], ms.int32)
    return x, lambda x: ops.CTCLoss(**options)(x, places, values, Tensor(steps, ms.int32))


@pytest.mark.parametrize(("rows", "losses", "sums"), [
    ([[0, 1], [1, 2], [2, 0]], [2.4886, 6.196, 3.501], [3.4153, 5.6769, 4.4642]),
    ([[0, 1, 3, 3], [1, 3, 3, 3], [2, 0, 1, 3]],
     [2.4886, 6.3529, 3.2748], [3.4153, 6.6533, 3.8287]),
    ([[0, 1, 3, 3, 3, 3, 3, 3], [1, 3, 3, 3, 3, 3, 3, 3], [2, 0, 1, 3, 3, 3, 3, 3]],
     [2.4886, 6.3529, 3.2748], [3.4153, 6.6533, 3.8287]),
    ([[0, -1], [1, 2], [2, 0]], [4.4478, 6.196, 3.501], [4.8099, 5.6769, 4.4642]),
    ([[0, 3, -1], [1, 2, 0], [2, 0, 1]], [4.4478, 6.0802, 3.2748], [4.8099, 4.3833, 3.8287]),
], ids=["none", "padded", "beyond the steps", "negative", "both"])
def test_labels_end_at_the_first_blank_as_in_mindspore(rows: Any, losses: Any, sums: Any) -> None:
    x, function = sparse_loss(rows, [6, 6, 6])
    loss, gradient = function(x)
    np.testing.assert_allclose(loss.asnumpy(), losses, atol=1e-4)
    np.testing.assert_allclose(abs(gradient).asnumpy().sum((0, 2)), sums, atol=3e-4)
    taken = ms.grad(lambda x: function(x)[0])(x)
    np.testing.assert_allclose(taken.asnumpy(), gradient.asnumpy(), rtol=1e-5)


@pytest.mark.parametrize(("rows", "steps", "options", "losses", "sums"), [
    ([[0, 0, 0], [1, 1], [1]], [4, 2, 2], {}, [np.inf, np.inf, 1.1669], [0, 0, 1.6104]),
    ([[0, 1, 2], [1, 2], [1]], [2, 2, 2], {"ignore_longer_outputs_than_inputs": True},
     [np.inf, 4.9507, 1.1669], [0, 3.5396, 1.6104]),
    ([[0, 1, 3, 3], [1, 3, 3, 3], [2, 0, 1, 3]], [3, 3, 2],
     {"ignore_longer_outputs_than_inputs": True}, [4.4554, 4.7007, np.inf], [3.368, 4.4081, 0]),
    ([[0, 0, 1], [1, 1, 2], [2, 2, 2]], [6, 6, 6], {"preprocess_collapse_repeated": True},
     [2.4886, 6.196, 4.4103], [3.4153, 5.6769, 4.9178]),
], ids=["repeated", "longer", "padded", "collapsed"])
def test_where_the_loss_is_infinite_the_gradient_is_0_as_in_mindspore(
        rows: Any, steps: Any, options: Any, losses: Any, sums: Any) -> None:
    x, function = sparse_loss(rows, steps, **options)
    loss, gradient = function(x)
    np.testing.assert_allclose(loss.asnumpy(), losses, atol=1e-4)
    np.testing.assert_allclose(abs(gradient).asnumpy().sum((0, 2)), sums, atol=3e-4)
    for call in (ms.grad(lambda x: function(x)[0]), ms.jit(ms.grad(lambda x: function(x)[0]))):
        np.testing.assert_allclose(call(x).asnumpy(), gradient.asnumpy(), atol=1e-6)


def test_no_labels_at_all_are_worth_the_blank_in_each_step() -> None:
    """2.10 gives 7.856 for the first, which is less than the only path that there is."""
    x, function = sparse_loss([[3, 3], [], [2, 0]], [6, 6, 6])
    want = -ops.log_softmax(x, -1).asnumpy()[:, :2, 3].sum(0)
    np.testing.assert_allclose(function(x)[0].asnumpy()[:2], want, rtol=1e-5)


@pytest.mark.parametrize(("rows", "steps", "named"), [
    ([[0, 3, 1], [1], [2]], [6, 6, 6], "behind a blank"),
    ([[0, 1, 2, 0, 1, 2, 0], [1], [2]], [6, 6, 6], "must be at least those of the labels"),
    ([[0, 1], [1], [2]], [6, 0, 6], "must be at least those of the labels"),
])
def test_labels_that_mindspore_refuses(rows: Any, steps: Any, named: str) -> None:
    x, function = sparse_loss(rows, steps)
    for call in (function, ms.grad(lambda x: function(x)[0])):
        with pytest.raises(ValueError, match=f"For 'CTCLoss'.*{named}"):
            call(x)


def test_rows_outside_of_the_sequences_are_refused() -> None:
    for row in (-1, 2):
        with pytest.raises(ValueError, match=r"'labels_indices' must be in \[0, 2\)"):
            ops.CTCLoss()(scores(), Tensor([[0, 0], [row, 0]]), Tensor([1, 0], ms.int32),
                          Tensor([T, T], ms.int32))


def test_labels_of_one_step_each_beside_all_ways_to_place_them() -> None:
    rng = np.random.RandomState(3)
    x, labels, lengths = rng.randn(5, 3, 4).astype(np.float32), ([0, 0], [1, 2, 2], [0]), (5, 4, 3)
    places = Tensor([[n, i] for n, row in enumerate(labels) for i in range(len(row))])
    values, steps = Tensor(sum(labels, []), ms.int32), Tensor(lengths, ms.int32)
    chances = ops.log_softmax(Tensor(x, ms.float64), -1).asnumpy()

    def by_hand(n: int) -> float:
        ways = []
        for chosen in itertools.combinations(range(lengths[n]), len(labels[n])):
            said = dict(zip(chosen, labels[n], strict=True))
            ways.append(sum(chances[t, n, said.get(t, 3)] for t in range(lengths[n])))
        return -np.logaddexp.reduce(ways)

    op = ops.CTCLoss(ctc_merge_repeated=False)
    found, slopes = op(Tensor(x), places, values, steps)
    np.testing.assert_allclose(found.asnumpy(), [by_hand(n) for n in range(3)], rtol=1e-5)
    # recorded from MindSpore 2.10
    np.testing.assert_allclose(found.asnumpy(), [5.5730925, 3.4877503, 3.6195407], rtol=1e-5)
    np.testing.assert_allclose(slopes.asnumpy()[0, :, 0], [-0.29921925, 0.26005167, 0.12223821],
                               rtol=1e-5)
    total = ms.grad(lambda x: op(x, places, values, steps)[0].sum())(Tensor(x))
    np.testing.assert_allclose(total.asnumpy(), slopes.asnumpy(), rtol=1e-5, atol=1e-6)
    compiled = ms.jit(lambda x: op(x, places, values, steps)[0])
    for _ in range(3):
        np.testing.assert_allclose(compiled(Tensor(x)).asnumpy(), found.asnumpy(), rtol=1e-5)
    longer = ops.CTCLoss(ctc_merge_repeated=False, ignore_longer_outputs_than_inputs=True)
    found, slopes = longer(Tensor(x), places, values, Tensor([1, 4, 3], ms.int32))
    assert found[0] == np.inf and not slopes[:, 0].any() and np.isfinite(found[1:].asnumpy()).all()
