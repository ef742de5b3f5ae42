"""Sets in rows, beside Python's sets, and rows of unequal lengths, beside nested lists."""

import itertools

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor
from lamella.ops.primitives import sets

OPERATIONS = {"a-b": set.difference, "b-a": lambda a, b: b - a,
              "intersection": set.intersection, "union": set.union}


def sparse(rows):
    """(2, 3) rows of numbers as places, values and the shape."""
    places = [(i, j, k) for i, j in np.ndindex(2, 3) for k in range(len(rows[i][j]))]
    return (Tensor(np.array(places, np.int64).reshape(-1, 3)),
            Tensor([rows[i][j][k] for i, j, k in places], ms.int64), Tensor([2, 3, 5], ms.int64))


def check(found, wanted):
    """A sparse tensor beside (2, 3) sets."""
    places = [(*group, k) for group in np.ndindex(2, 3) for k in range(len(wanted[group]))]
    values = [v for group in np.ndindex(2, 3) for v in sorted(wanted[group])]
    assert found[0].tolist() == [list(place) for place in places]
    assert found[1].tolist() == values
    assert found[2].tolist() == [2, 3, max(map(len, wanted.values()))]


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_are_those_of_sets(name):
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 6, (2, 3, 4)), rng.integers(2, 9, (2, 3, 5))
    wanted = {at: OPERATIONS[name](set(x[at].tolist()), set(y[at].tolist()))
              for at in np.ndindex(2, 3)}
    check(sets.DenseToDenseSetOperation(name)(Tensor(x), Tensor(y)), wanted)
    check(sets.DenseToDenseSetOperation(name.upper())(Tensor(x), Tensor(y)), wanted)
    rows = [[y[i, j, :i + 2 * j].tolist() for j in range(3)] for i in range(2)]
    wanted = {at: OPERATIONS[name](set(x[at].tolist()), set(rows[at[0]][at[1]]))
              for at in np.ndindex(2, 3)}
    check(sets.DenseToSparseSetOperation(name)(Tensor(x), *sparse(rows)), wanted)


def test_operations_without_results_have_no_width():
    x = Tensor([[1, 2], [3, 4]])
    indices, values, shape = sets.DenseToDenseSetOperation("a-b")(x, x)
    assert indices.shape == (0, 2) and values.shape == (0,) and shape.tolist() == [2, 0]
    none = ms.ops.zeros((0, 3), ms.int64)
    indices, values, shape = sets.DenseToDenseSetOperation("union")(none, none)
    assert indices.shape == (0, 2) and values.shape == (0,) and shape.tolist() == [0, 0]


@pytest.mark.parametrize("shapes", [((4,), (4,)), ((2, 3), (3, 3)), ((2, 3, 4), (2, 4))])
def test_groups_must_be_the_same(shapes):
    with pytest.raises(ValueError, match=r"DenseToDenseSetOperation.* 2 dimensions .*but got "
                       rf"shapes \[{shapes[0][0]}.*\[{shapes[1][0]}"):
        sets.DenseToDenseSetOperation("union")(*(ms.ops.ones(s, ms.int32) for s in shapes))


def test_unknown_operations_are_refused():
    with pytest.raises(ValueError, match=r"'set_operation' must be one of \['a-b', .* 'a\+b'"):
        sets.DenseToDenseSetOperation("a+b")(Tensor([[1]]), Tensor([[2]]))


def test_sizes_count_each_element_once():
    rows = [[[7, 7, 7], [], [1, 2, 1]], [[5], [4, 3, 2, 1, 0], [9, 8]]]
    found = sets.SetSize()(*sparse(rows))
    assert found.dtype == ms.int32
    assert found.tolist() == [[1, 0, 2], [1, 5, 2]]


def test_ragged_rows_as_a_sparse_tensor():
    """Three groups of 2, 0 and 1 rows with 1, 3 and 2 pairs."""
    splits = Tensor([0, 2, 2, 3], ms.int64), Tensor([0, 1, 4, 6], ms.int64)
    values = np.arange(10, 22).reshape(6, 2)
    indices, found, shape = sets.RaggedTensorToSparse()(list(splits), Tensor(values))
    rows = [((0, 0), 1), ((0, 1), 3), ((2, 0), 2)]
    wanted = [[*at, k, pair] for at, count in rows for k in range(count) for pair in range(2)]
    assert indices.tolist() == wanted
    assert found.tolist() == values.reshape(-1).tolist()
    assert shape.tolist() == [3, 2, 3, 2]
    one = sets.RaggedTensorToSparse()([Tensor([0, 3], ms.int64)], Tensor([7, 8, 9]))
    assert one[0].tolist() == [[0, 0], [0, 1], [0, 2]] and one[2].tolist() == [1, 3]
    empty = sets.RaggedTensorToSparse()([Tensor([0], ms.int64)], Tensor(np.zeros(0)))
    assert empty[2].tolist() == [0, 0] and empty[0].shape == (0, 2)


@pytest.mark.parametrize("split", [[1, 2, 4], [0, 2, 3], [0, 2, 5], [0, 3, 2, 4]])
def test_ragged_splits_must_ascend_from_nothing_to_all(split):
    with pytest.raises(ValueError, match=rf"from 0 to 4, but got \[{split[0]}, {split[1]}, "):
        sets.RaggedTensorToSparse()([Tensor(split, ms.int64)], Tensor([1., 2, 3, 4]))


NESTED = [[[1, 2], [3]], [], [[4, 5, 6], [], [7]]]  # 3 x up to 3 x up to 3
SPLITS = [[0, 2, 2, 5], [0, 2, 3, 6, 6, 7]]
ROWS = [3, [0, 0, 2, 2, 2], [0, 0, 1, 2, 2, 2, 4]]


def filled(shape, inner=()):
    out = np.full((*shape, *inner), -9)
    for at in np.ndindex(*shape):
        here = NESTED
        for i in at:
            here = here[i] if isinstance(here, list) and i < len(here) else None
        if here is not None:
            out[at] = here
    return out


@pytest.mark.parametrize("kinds, parts", [
    (["ROW_SPLITS"] * 2, SPLITS), (["FIRST_DIM_SIZE", *["VALUE_ROWIDS"] * 2], ROWS)])
@pytest.mark.parametrize("shape", [(-1, -1, -1), (3, 2, 4), (4, 3, 1), (2, -1, 2), (0, 1, -1)])
def test_ragged_rows_are_filled_up_and_cut(kinds, parts, shape):
    tensors = [Tensor(part, ms.int64) for part in parts]
    full = tuple(n if n >= 0 else 3 for n in shape)
    found = sets.RaggedTensorToTensor(kinds)(
        Tensor(list(shape), ms.int64), Tensor(np.arange(1, 8)), Tensor(-9, ms.int64), tensors)
    np.testing.assert_array_equal(found.asnumpy(), filled(full))


@pytest.mark.parametrize("width", [-1, 1, 2, 3])
def test_elements_of_ragged_rows_may_be_rows(width):
    values = np.stack([np.arange(1, 8), np.arange(101, 108)], 1)
    found = sets.RaggedTensorToTensor(["ROW_SPLITS"] * 2)(
        Tensor([3, 2, 3, width], ms.int64), Tensor(values), Tensor(-9, ms.int64),
        [Tensor(split, ms.int64) for split in SPLITS]).asnumpy()
    first = filled((3, 2, 3))
    wanted = [first, np.where(first > 0, first + 100, -9), np.full_like(first, -9)]
    np.testing.assert_array_equal(found, np.stack(wanted[:2 if width < 0 else width], -1))


def test_partitions_must_fit():
    allowed = [["ROW_SPLITS"], ["ROW_SPLITS"] * 2, ["FIRST_DIM_SIZE", "VALUE_ROWIDS"]]
    names = ("ROW_SPLITS", "FIRST_DIM_SIZE", "VALUE_ROWIDS")
    for kinds in ([], *map(list, itertools.chain.from_iterable(
            itertools.product(names, repeat=n) for n in (1, 2)))):
        if kinds in allowed:
            assert sets.RaggedTensorToTensor(kinds).num_row_partition_tensors == len(kinds)
        else:
            with pytest.raises(ValueError, match="'row_partition_types' must be 'ROW_SPLITS' for"):
                sets.RaggedTensorToTensor(kinds)
    shape, values, none = Tensor([2, 2], ms.int64), Tensor([1, 2, 3]), Tensor(0)
    with pytest.raises(RuntimeError, match=r"must ascend, but got \[0, 3, 2\]"):
        sets.RaggedTensorToTensor(["ROW_SPLITS"])(shape, values, none, [Tensor([0, 3, 2])])
    ids = sets.RaggedTensorToTensor(["FIRST_DIM_SIZE", "VALUE_ROWIDS"])
    with pytest.raises(RuntimeError, match=r"must be below 2, but got \[0, 1, 2\]"):
        ids(shape, values, none, [Tensor(2), Tensor([0, 1, 2])])
    assert ids(shape, values, none, [Tensor(2), Tensor([0, 1, 1])]).tolist() == [[1, 0], [2, 3]]


def test_no_rows_at_all():
    rows = sets.RaggedTensorToTensor(["ROW_SPLITS"])
    found = rows(Tensor([-1, -1]), Tensor(np.zeros(0, np.int64)), Tensor(5), [Tensor([0])])
    assert found.shape == (0, 0) and torch.is_tensor(found._raw)
