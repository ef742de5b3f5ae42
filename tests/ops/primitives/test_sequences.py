"""Primitives of sequences and classes with numbers at the ends of their ranges and beyond."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

INT32 = ms.int32


def sparse(places, values, shape, kind=INT32):
    return (Tensor(np.array(places, np.int64).reshape(-1, len(shape))), Tensor(values, kind),
            Tensor(shape))


ONE = sparse([[0, 0], [0, 1]], [5, 6], [1, 2])


def test_edit_distance_of_the_larger_shape():
    """Sequences that one side lacks are empty there; each side may have the longer ones."""
    first = sparse([[0, 0], [0, 1], [2, 0]], [5, 6, 7], [3, 2])
    second = sparse([[0, 0], [1, 0], [1, 1], [1, 2]], [5, 1, 2, 3], [2, 3])
    assert ops.EditDistance(False)(*first, *second).tolist() == [1, 3, 1]
    assert ops.EditDistance(False)(*second, *first).tolist() == [1, 3, 1]
    assert ops.EditDistance()(*first, *second).tolist() == [1, 1, np.inf]


@pytest.mark.parametrize("first, second, kind, text", [
    (ONE, sparse([[0, 0]], [5.0], [1, 2], ms.float32), TypeError, "one type"),
    (ONE, sparse([[0, 0, 0]], [5], [1, 1, 2]), ValueError, "must have one length"),
    (sparse([[0]], [5], [2]), sparse([[0]], [5], [2]), RuntimeError, "two lengths or more"),
    (ONE, (*ONE[:2], Tensor([1, 2, 3])), ValueError, "'truth_shape' must be as long as"),
    ((ONE[0], ONE[1][:1], ONE[2]), ONE, ValueError, "'hypothesis_values' and"),
    (sparse([[1, 0]], [5], [1, 2]), ONE, ValueError, "positions in 'hypothesis_indices'"),
    (ONE, sparse([[-1, 0]], [5], [1, 2]), ValueError, "positions in 'truth_indices'")])
def test_sequences_that_do_not_fit(first, second, kind, text):
    with pytest.raises(kind, match=text):
        ops.EditDistance()(*first, *second)


def test_runs_as_long_as_the_sequences():
    words, chances = Tensor([[[1, 2, 1]]], INT32), ops.zeros((1, 1, 3))
    assert ops.NoRepeatNGram(3)(words, chances).tolist() == [[[0, 0, 0]]]
    least = np.finfo(np.float16).min
    assert ops.NoRepeatNGram(2)(words, chances.half()).tolist() == [[[0, 0, least]]]
    # words that aren't there are left out
    strange = Tensor([[[3, -1, 2]]], INT32)
    found = ops.NoRepeatNGram(1)(strange, chances).asnumpy()
    assert (found[0, 0] < 0).tolist() == [False, False, True]


@pytest.mark.parametrize("call, text", [
    (lambda: ops.NoRepeatNGram(0), "'ngram_size' must be positive"),
    (lambda: ops.NoRepeatNGram(4)(Tensor([[[1, 2, 1]]], INT32), ops.zeros((1, 1, 3))),
     "'ngram_size' must be at most 3"),
    (lambda: ops.NoRepeatNGram(1)(Tensor([[[1, 2, 1]]], INT32), ops.zeros((1, 2, 3))), "agree"),
    (lambda: ops.NoRepeatNGram(1)(Tensor([[[1, 2, 1]]], INT32), ops.zeros((2, 1, 3))), "agree"),
    (lambda: ops.ComputeAccidentalHits(0), "'num_true' must be positive"),
    (lambda: ops.ComputeAccidentalHits(2)(Tensor([[1]]), Tensor([1])), r"shape \(N, 2\)"),
    (lambda: ops.ConfusionMatrix(0), "'num_classes' must be positive"),
    (lambda: ops.ConfusionMatrix(2)(Tensor([1]), Tensor([0, 1])), "one shape"),
    (lambda: ops.ConfusionMatrix(2)(Tensor([1, 0]), Tensor([0, 1]), Tensor([1.0])), "one shape"),
    (lambda: ops.RaggedRange(INT32)(Tensor([1, 2]), Tensor([1, 2]), Tensor([1, 0])),
     "no element of 'deltas' may be 0")])
def test_what_is_refused(call, text):
    with pytest.raises(ValueError, match=text):
        call()


@pytest.mark.parametrize("labels, predictions", [
    ([0, 2], [0, 1]), ([0, -1], [0, 1]), ([0, 1], [0, 2]), ([0, 1], [-1, 1])])
def test_classes_out_of_range(labels, predictions):
    with pytest.raises(ValueError, match=r"must be in \[0, 2\)"):
        ops.ConfusionMatrix(2)(Tensor(labels), Tensor(predictions))


def test_one_class_and_one_true_class():
    assert ops.ConfusionMatrix(1)(Tensor([0, 0]), Tensor([0, 0])).tolist() == [[2]]
    assert ops.ComputeAccidentalHits()(Tensor([[1], [2]]), Tensor([2]))[0].tolist() == [1]


@pytest.mark.parametrize("kind", [INT32, ms.int64, ms.float32, ms.float64])
def test_ragged_ranges_of_each_type(kind):
    """A range that reaches its limit leaves it out, an empty one gives nothing."""
    three = [Tensor(values, kind) for values in ([0, 2, 5, 3, 3], [6, 2, 0, 4, 2],
                                                 [2, 1, -3, 5, 1])]
    splits, values = ops.RaggedRange(INT32)(*three)
    assert splits.dtype is INT32 and values.dtype is kind
    assert splits.tolist() == [0, 3, 3, 5, 6, 6] and values.tolist() == [0, 2, 4, 5, 2, 3]
    splits, values = ops.RaggedRange(ms.int64)(*(v[0] for v in three))
    assert splits.tolist() == [0, 3] and splits.dtype is ms.int64 and values.tolist() == [0, 2, 4]


def test_elements_within_a_range_after_an_offset():
    found, at = ops.SubAndFilter()(Tensor([3, 4, 5, 6, 7, 8], INT32), 4, 4)
    assert (found.tolist(), at.tolist()) == ([0, 1, 2, 3], [1, 2, 3, 4])
    assert found.dtype is at.dtype is INT32


def test_keys_dealt_out_in_turn():
    found = ops.MapUniform()(Tensor([0, 1, 2, 3, 7, -1, -4], INT32), 10, 3)
    assert found.tolist() == [0, 10, 20, 1, 12, -10, -11]
    assert ops.MapUniform()(Tensor([5]), 10, 1).tolist() == [5]
    with pytest.raises(RuntimeError, match="'group_num' must be positive"):
        ops.MapUniform()(Tensor([0]), 4, 0)
