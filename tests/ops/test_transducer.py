"""RNNTLoss against the sum over all alignments, and the cells and patches of older interfaces."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, ops
from tests.contracts import check_op

RNG = np.random.default_rng(0)


def _by_alignments(acts, labels, steps, many, blank):
    """-log of the sum over all orders of `steps` blanks (the last one last) and the labels."""
    logs = torch.log_softmax(acts, -1)
    total = []
    for chosen in itertools.combinations(range(steps + many - 1), many):
        t = u = 0
        path = logs.new_zeros(())
        for place in range(steps + many):
            if place in chosen:
                path, u = path + logs[t, u, labels[u]], u + 1
            else:
                path, t = path + logs[t, u, blank], t + 1
        total.append(path)
    return -torch.logsumexp(torch.stack(total), 0)


@pytest.mark.parametrize("blank", [0, 3])
def test_all_alignments(blank):
    acts = RNG.standard_normal((3, 4, 3, 5)).astype(np.float32)
    labels = np.array([[1, 2], [4, 1], [2, 2]], np.int32)
    steps, many = np.array([4, 2, 3], np.int32), np.array([2, 1, 0], np.int32)
    costs, gradients = ops.RNNTLoss(blank)(*map(Tensor, (acts, labels, steps, many)))
    given = torch.tensor(acts, requires_grad=True)
    want = torch.stack([_by_alignments(given[i], labels[i], steps[i], many[i], blank)
                        for i in range(3)])
    np.testing.assert_allclose(costs.asnumpy(), want.detach(), rtol=1e-5)
    gradient, = torch.autograd.grad(want.sum(), given)
    np.testing.assert_allclose(gradients.asnumpy(), gradient, atol=1e-5)
    by_tape = ms.grad(lambda x: ops.RNNTLoss(blank)(x, *map(Tensor, (labels, steps, many)))[0].sum()
                      )(Tensor(acts))
    np.testing.assert_allclose(by_tape.asnumpy(), gradient, atol=1e-5)


def test_derivatives_of_the_losses_in_forward_mode_of_second_order_and_of_examples():
    acts, along = RNG.standard_normal((2, 2, 3, 3, 5)).astype(np.float32)
    labels, steps, many = np.array([[1, 2], [4, 1]], np.int32), [3, 2], [2, 1]
    rest = [Tensor(np.array(given, np.int32)) for given in (labels, steps, many)]

    def loss(x):
        return ops.RNNTLoss(0)(x, *rest)[0].sum()

    given = torch.tensor(acts, dtype=torch.float64, requires_grad=True)
    want = sum(_by_alignments(given[i], labels[i], steps[i], many[i], 0) for i in range(2))
    slopes, = torch.autograd.grad(want, given, create_graph=True)
    slope = (slopes * torch.tensor(along)).sum()
    _, tangent = ms.jvp(loss, Tensor(acts), Tensor(along))
    np.testing.assert_allclose(tangent.asnumpy(), slope.detach(), rtol=1e-4)
    found = ms.grad(lambda x: (ms.grad(loss)(x) * Tensor(along)).sum())(Tensor(acts))
    np.testing.assert_allclose(found.asnumpy(), torch.autograd.grad(slope, given)[0], atol=1e-5)
    several = Tensor(np.stack([acts, along], 1))
    each = ops.vmap(lambda x: ops.RNNTLoss(0)(x, *rest), in_axes=1)(several)
    for i, x in enumerate((acts, along)):
        for one, alone in zip(each, ops.RNNTLoss(0)(Tensor(x), *rest), strict=True):
            np.testing.assert_allclose(one[i].asnumpy(), alone.asnumpy(), atol=1e-5)


def test_wrong_lengths_and_labels():
    acts, one = ops.zeros((1, 2, 2, 3)), Tensor([1], ms.int32)
    for labels, steps, many, text in (([[3]], [2], [1], "'labels'"), ([[1]], [3], [1], "lengths"),
                                      ([[1]], [2], [2], "lengths")):
        with pytest.raises(ValueError, match=text):
            ops.RNNTLoss()(acts, *[Tensor(a, ms.int32) for a in (labels, steps, many)])
    with pytest.raises(ValueError, match="shapes"):
        ops.RNNTLoss()(acts, one, one, one)


def test_one_step_of_lstm():
    x, h, c = (RNG.standard_normal(s).astype(np.float32) for s in ((2, 3), (2, 4), (2, 4)))
    w, b = RNG.standard_normal((7, 16)).astype(np.float32), RNG.standard_normal(16).astype(
        np.float32)
    found = ops.BasicLSTMCell(forget_bias=0.5)(*map(Tensor, (x, h, c, w, b)))
    layer = ops.DynamicRNN(forget_bias=0.5)
    _, state, memory, enter, new, keep, leave, seen = layer(
        Tensor(x[None]), Tensor(w), Tensor(b), None, Tensor(h[None]), Tensor(c[None]))
    for got, want in zip(found, (memory, state, enter, new, keep, leave, seen), strict=True):
        np.testing.assert_allclose(got.asnumpy(), want.asnumpy()[0], rtol=1e-5)
    with pytest.raises(ValueError, match="shapes"):
        ops.BasicLSTMCell()(*map(Tensor, (x, h, c, w.T.copy(), b)))


def test_depthwise_convolution():
    def reference(x, w):
        many, c, *_ = w.shape
        out = torch.conv2d(torch.tensor(x), torch.tensor(w).transpose(0, 1).reshape(
            many * c, 1, *w.shape[2:]), stride=2, padding=1, groups=c)
        return out.numpy()

    check_op(ops.DepthwiseConv2dNative(2, 3, pad_mode="pad", pad=1, stride=2), reference,
             [RNG.standard_normal((2, 3, 5, 6)), RNG.standard_normal((2, 3, 3, 3))], order=1)
    with pytest.raises(ValueError, match="'weight'"):
        ops.DepthwiseConv2dNative(1, 3)(ops.ones((1, 2, 4, 4)), ops.ones((2, 2, 3, 3)))


@pytest.mark.parametrize("mode", ["valid", "SAME"])
def test_patches_of_images(mode):
    x = RNG.standard_normal((2, 3, 7, 6))
    found = ops.ExtractImagePatches([2, 3], [2, 1], (1, 2), mode)(Tensor(x)).asnumpy()
    rows, columns = found.shape[2:]
    before = (0, 0) if mode == "valid" else (0, 2)
    padded = np.pad(x, ((0, 0), (0, 0), (before[0], 4), (before[1], 4)))
    for i, j, a, b in np.ndindex(rows, columns, 2, 3):
        np.testing.assert_array_equal(found[:, (a * 3 + b) * 3:(a * 3 + b) * 3 + 3, i, j],
                                      padded[:, :, 2 * i + a, j + 2 * b])
    assert (rows, columns) == ((3, 2) if mode == "valid" else (4, 6))
    with pytest.raises(ValueError, match="fit into the image"):
        ops.ExtractImagePatches(9, 1, 1)(Tensor(x))


_map_cache_idx: Any = ops.MapCacheIdx()  # type: ignore[call-arg]

# hash map, indices, limit, offset; what MindSpore 2.10 gave: rows of the cache, old, new and their
# rows; the map then
CACHED = [
    ([[0, 0, 0, 0], [0, 0, 0, 1], [10, 0, -5, 2], [2, 0, -5, 3], [1, 0, -5, 4], [15, 1, -5, 5],
      [0, 0, 0, 6], [0, 0, 0, 7], [0, 0, 0, 8], [0, 0, 0, 9]], [10, 2, 25, 5, 3], 25, 0,
     [[0, 0, -1, 0, 1], [1, 15], [5, 3], [0, 1]],
     [[5, 0, 0, 1], [0, 0, 0, 1], [10, 0, 0, 2], [2, 0, 0, 3], [0, 0, 0, 4], [0, 0, 0, 5],
      [0, 0, 0, 6], [0, 0, 0, 7], [3, 1, 0, 1], [3, 1, 0, 0]]),
    ([[0, 0, 0, 0], [0, 0, 0, 0], [39, 3, -3, 1], [31, 5, -3, 1], [0, 0, 0, 0], [0, 0, 0, 0],
      [0, 0, 0, 0], [0, 0, 0, 0], [12, 1, -6, 1], [38, 2, -6, 1], [0, 0, 0, 0], [0, 0, 0, 0],
      [0, 0, 0, 0], [27, 4, -4, 1], [6, 6, -6, 1], [32, 7, -2, 1], [0, 0, 0, 0], [0, 0, 0, 0],
      [8, 0, -6, 1], [0, 0, 0, 0]], [36, 5, 8, 21, 15, -1], 38, 1,
     [[4, 6, 1, 2, 7, -1], [27, 6, 12, 38, 32], [35, 4, 7, 20, 14], [4, 6, 1, 2, 7]],
     [[0, 0, 0, 0], [0, 0, 0, 0], [39, 3, -3, 1], [31, 5, -3, 1], [0, 0, 0, 0], [0, 0, 0, 0],
      [7, 1, 0, 1], [20, 2, 0, 1], [12, 1, -6, 0], [4, 6, 0, 1], [4, 6, 0, 0], [0, 0, 0, 0],
      [35, 4, 0, 1], [14, 7, 0, 1], [6, 6, -6, 0], [32, 7, -2, 0], [0, 0, 0, 0], [0, 0, 0, 0],
      [8, 0, -6, 1], [0, 0, 0, 0]]),
]


@pytest.mark.parametrize(("table", "indices", "limit", "offset", "want", "after"), CACHED)
def test_rows_of_a_cache(table, indices, limit, offset, want, after):
    kept = ms.Parameter(Tensor(table, ms.int32), name="map")
    found = _map_cache_idx(kept, Tensor(indices, ms.int32), Tensor(0, ms.int32),
                           Tensor(limit, ms.int32), Tensor(offset, ms.int32))
    assert [each.tolist() for each in found] == want and kept.tolist() == after
    assert all(each.dtype is ms.int32 for each in found)


def test_a_cache_that_is_too_small():
    kept = ms.Parameter(Tensor([[3, 0, 5, 1], [0, 0, 0, 0], [0, 0, 0, 0]], ms.int32), name="map")
    with pytest.raises(RuntimeError, match="too small"):
        _map_cache_idx(kept, Tensor([1], ms.int32), 5, 9, 0)
    assert kept.tolist()[0] == [3, 0, 5, 1]


def test_groups_of_experts():
    given = RNG.random((3, 8)).astype(np.float32)
    token = ms.Parameter(Tensor(given), name="token")
    assert ops.GroupTopk()(token, ops.arange(8), 4, 2, 1) is not None
    best = np.argsort(-given.reshape(3, 4, 2).max(-1), 1)[:, :2]
    want = np.zeros((3, 4, 2), np.float32)
    for row, group in np.ndindex(3, 2):
        want[row, best[row, group]] = given.reshape(3, 4, 2)[row, best[row, group]]
    np.testing.assert_array_equal(token.asnumpy(), want.reshape(3, 8))


@pytest.mark.parametrize("number, k, inner", [(4, 1, 2), (2, 1, 3), (2, 2, 4), (8, 3, 1)])
def test_groups_count_by_the_sum_of_their_best(number, k, inner):
    given = RNG.random((3, 8)).astype(np.float32)
    token = ms.Parameter(Tensor(given), name="token")
    ops.GroupTopk()(token, ops.arange(8), number, k, inner)
    groups = given.reshape(3, number, -1)
    best = np.argsort(-np.sort(groups)[..., -inner:].sum(-1), 1)[:, :k]
    want = np.zeros_like(groups)
    np.put_along_axis(want, best[..., None], np.take_along_axis(groups, best[..., None], 1), 1)
    np.testing.assert_array_equal(token.asnumpy(), want.reshape(3, 8))


@pytest.mark.parametrize("number, k, inner", [
    (0, 1, 1), (3, 1, 1), (4, 0, 1), (4, 5, 1), (4, 1, 0), (4, 1, 3), (2, 1, 5)])
def test_numbers_of_groups_that_there_are_not(number, k, inner):
    with pytest.raises(ValueError, match=f"'group_num' must divide the 8 .* {number}, {k} and "):
        ops.GroupTopk()(Tensor(np.ones((3, 8), np.float32)), ops.arange(8), number, k, inner)


def test_the_least_label_and_the_last_are_labels():
    acts = RNG.standard_normal((1, 3, 3, 4)).astype(np.float32)
    for blank, labels in ((3, [0, 2]), (0, [3, 1]), (1, [3, 0])):
        cost, _ = ops.RNNTLoss(blank)(Tensor(acts), *(Tensor(a, ms.int32) for a in (
            [labels], [3], [2])))
        want = _by_alignments(torch.tensor(acts[0]), labels, 3, 2, blank)
        np.testing.assert_allclose(cost.asnumpy(), [want], rtol=1e-5)
    for many in (0, 1, 2):
        cost, _ = ops.RNNTLoss(1)(Tensor(acts), *(Tensor(a, ms.int32) for a in (
            [[3, 0]], [1], [many])))
        want = _by_alignments(torch.tensor(acts[0]), [3, 0], 1, many, 1)
        np.testing.assert_allclose(cost.asnumpy(), [want], rtol=1e-5)
    for labels in ([[-1, 0]], [[0, 4]]):
        with pytest.raises(ValueError, match=r"'labels' must be in \[0, 4\)"):
            ops.RNNTLoss(1)(Tensor(acts), *(Tensor(a, ms.int32) for a in (labels, [3], [2])))
