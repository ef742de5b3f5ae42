"""Shapes, ends of sequences and block sizes of native sparse attention, right and beside right."""

import pytest
import torch

import lamella as ms
from lamella import Tensor, ops
from lamella.ops import native_sparse_attention as native

Q, K = ops.ones((6, 4, 8)), ops.ones((5, 2, 8))


@pytest.mark.parametrize("ends, wanted", [((5,), [5]), ((2, 5), [2, 3]), ((2, 2, 5), [2, 0, 3]),
                                          ((0, 5), [0, 5]), (Tensor([1, 5]), [1, 4])])
def test_lengths(ends, wanted):
    assert native.lengths(ends, 5, "f", "ends") == wanted


@pytest.mark.parametrize("ends, kind", [((4,), RuntimeError), ((6,), RuntimeError),
                                        ((3, 2, 5), RuntimeError), ((-1, 5), RuntimeError),
                                        ((), RuntimeError), (None, ValueError)])
def test_ends_that_do_not_fit(ends, kind):
    with pytest.raises(kind, match="For 'f', 'ends' must be"):
        native.lengths(ends, 5, "f", "ends")


@pytest.mark.parametrize("scores, count, values, places", [
    ([1.0, 3.0, 2.0], 2, [3, 2], [1, 2]), ([2.0, 2.0, 1.0], 1, [2], [0]),
    ([1.0, -torch.inf], 2, [1, -torch.inf], [0, -1]), ([1.0], 3, [1, -torch.inf, -torch.inf],
                                                       [0, -1, -1])])
def test_the_best_and_their_places(scores, count, values, places):
    found = native.best(torch.tensor(scores), count)
    assert [part.tolist() for part in found] == [values, places]
    assert found[1].dtype is torch.int32


def compress(rows=(6, 2, 3), weight=(3, 2), size=3, stride=2, ends=(6,)):
    return ops.nsa_compress(ops.ones(rows), ops.ones(weight), size, stride, actual_seq_len=ends)


def test_windows_of_sequences():
    assert compress().tolist() == [[[3.0] * 3] * 2] * 2
    assert compress(ends=(3, 6)).shape == (2, 2, 3)  # one of each, as long as it
    assert compress(ends=(2, 4, 6)).shape == (0, 2, 3)
    assert compress(ends=(2, 6)).shape == (1, 2, 3)
    kept = ops.nsa_compress(ops.ones((3, 1, 1), ms.float16), ops.ones((3, 1), ms.float16), 3, 1,
                            actual_seq_len=(3,))
    assert kept.dtype is ms.float16


@pytest.mark.parametrize("change", [
    {"rows": (6, 2)}, {"weight": (2, 2)}, {"weight": (3, 1)}, {"weight": (3, 2, 1)}, {"size": 2},
    {"ends": (5,)}])
def test_windows_that_do_not_fit(change):
    with pytest.raises(RuntimeError, match="For 'nsa_compress'"):
        compress(**change)


@pytest.mark.parametrize("change", [{"size": 0}, {"stride": 0}])
def test_numbers_of_windows_are_positive(change):
    with pytest.raises((ValueError, TypeError), match="For 'nsa_compress'"):
        compress(**change)


def attention(query=Q, key=K, value=K, heads=4, block=4, stride=2, select=4, count=2, q_ends=(6,),
              k_ends=(5,), blocks=(3,)):
    return ops.nsa_compress_attention(
        query, key, value, 0.5, heads, block, stride, select, count, actual_seq_qlen=q_ends,
        actual_cmp_seq_kvlen=k_ends, actual_sel_seq_kvlen=blocks)


def test_attention_that_fits():
    for change in ({}, {"value": ops.ones((5, 2, 3))}, {"block": 2, "select": 2}, {"stride": 1},
                   {"count": 5}, {"q_ends": (3, 6), "k_ends": (2, 5), "blocks": (1, 3)}):
        out, chosen, highest, sums = attention(**change)
        assert out.shape == (6, 4, change.get("value", K).shape[2])
        assert chosen.shape == (6, 2, change.get("count", 2))
        assert highest.shape == sums.shape == (6, 4, 8)


@pytest.mark.parametrize("change, kind", [
    ({"query": Q[0]}, RuntimeError), ({"query": Q[..., :7]}, RuntimeError),
    ({"key": K[..., :7]}, RuntimeError), ({"value": K[:4]}, RuntimeError),
    ({"value": K[:, :1]}, RuntimeError), ({"heads": 2}, RuntimeError),
    ({"query": Q[:, :3], "heads": 3}, RuntimeError), ({"key": K[0]}, RuntimeError),
    ({"value": K[0]}, RuntimeError), ({"key": K[:, :0], "value": K[:, :0]}, RuntimeError),
    ({"block": 3}, ValueError), ({"select": 3}, ValueError), ({"block": 0}, ValueError),
    ({"select": 0}, ValueError), ({"q_ends": (5,)}, RuntimeError), ({"k_ends": (6,)}, RuntimeError),
    ({"q_ends": (3, 6)}, RuntimeError), ({"k_ends": (3, 5)}, RuntimeError),
    ({"blocks": (1, 3)}, RuntimeError)], ids=range(19))
def test_attention_that_does_not_fit(change, kind):
    with pytest.raises(kind, match="For 'nsa_compress_attention'"):
        attention(**change)


def select(chosen=(6, 2, 2), size=2, count=2, q_ends=(6,), k_ends=(5,)):
    return ops.nsa_select_attention(
        Q, K, K, ops.zeros(chosen, ms.int32), 0.5, 4, size, count, actual_seq_qlen=q_ends,
        actual_seq_kvlen=k_ends)


def test_selected_blocks_that_fit():
    for change in ({}, {"size": 9}, {"q_ends": (2, 6), "k_ends": (1, 5)},
                   {"chosen": (6, 2, 1), "count": 1}):
        out, highest, sums = select(**change)
        assert (out.shape, highest.shape, sums.shape) == ((6, 4, 8),) * 3


@pytest.mark.parametrize("change", [
    {"chosen": (5, 2, 2)}, {"chosen": (6, 1, 2)}, {"chosen": (6, 2, 1)}, {"count": 3},
    {"q_ends": (2, 6)}, {"k_ends": (2, 5)}, {"q_ends": (5,)}, {"k_ends": (6,)}])
def test_selected_blocks_that_do_not_fit(change):
    with pytest.raises(RuntimeError, match="For 'nsa_select_attention'"):
        select(**change)
