"""Primitives on sparse tensors, given by places and values, against dense arrays."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor
from lamella.ops.primitives import sparse_coordinates as sparse

RNG = np.random.default_rng(1)


@pytest.mark.parametrize("axis, count", [(0, 1), (0, 3), (1, 2), (1, 4)])
def test_parts_of_a_sparse_tensor_are_those_of_the_array(axis, count):
    array = np.where(RNG.random((5, 7)) < 0.6, RNG.standard_normal((5, 7)), 0).astype(np.float32)
    places = np.argwhere(array)
    found = sparse.SparseSplit(count)(Tensor(axis), Tensor(places), Tensor(array[tuple(places.T)]),
                               Tensor(np.array(array.shape)))
    for at, values, shape, want in zip(*found, np.array_split(array, count, axis), strict=True):
        dense = np.zeros(tuple(shape.tolist()), np.float32)
        dense[tuple(at.asnumpy().T)] = values.asnumpy()
        np.testing.assert_array_equal(dense, want)


def drawn(*shape, kind=np.float32, share=0.5):
    """An array with zeros, and its elements as places, values and the shape."""
    whole = RNG.integers(1, 9, shape).astype(kind) * RNG.choice([-1, 1], shape).astype(kind)
    array = np.where(RNG.random(shape) < share, whole, 0).astype(kind)
    places = np.argwhere(array)
    return array, (Tensor(places), Tensor(array[tuple(places.T)]), Tensor(np.array(shape)))


def dense(indices, values, shape):
    out = np.zeros(tuple(shape.tolist()), values.asnumpy().dtype)
    np.add.at(out, tuple(indices.asnumpy().T), values.asnumpy())
    return out


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_concatenated(axis):
    shapes = [[2, 3, 4] for _ in range(3)]
    for shape, length in zip(shapes, (2, 5, 1), strict=True):
        shape[axis] = length
    arrays, parts = zip(*(drawn(*shape) for shape in shapes), strict=True)
    places, values, shape = sparse.SparseConcat(axis)(*zip(*parts, strict=True))
    np.testing.assert_array_equal(dense(places, values, shape), np.concatenate(arrays, axis))
    assert places.tolist() == sorted(places.tolist())
    for wrong in {0, 1, 2} - {axis % 3}:
        other = [list(shape) for shape in shapes]
        other[1][wrong] += 1
        with pytest.raises(ValueError, match="must be the same except along"):
            sparse.SparseConcat(axis)(*zip(*(drawn(*shape)[1] for shape in other), strict=True))


@pytest.mark.parametrize("shape", [(4, 7), (2, 3, 5), (11,)])
def test_pairs_of_sparse_tensors(shape):
    (x, first), (y, second) = drawn(*shape), drawn(*shape)
    for operator, function in ((sparse.SparseSparseMaximum(), np.maximum),
                               (sparse.SparseSparseMinimum(), np.minimum)):
        places, values = operator(*first, *second)
        np.testing.assert_array_equal(dense(places, values, first[2]), function(x, y))
    for least in (0, 3, 4, 20):
        found = sparse.SparseAdd()(*first, *second, Tensor(least, ms.float32))
        np.testing.assert_array_equal(dense(*found), np.where(abs(x + y) >= least, x + y, 0))
        assert not least or (abs(found[1].asnumpy()) >= least).all()
    for operator, function in ((sparse.SparseDenseCwiseAdd(), np.add),
                               (sparse.SparseDenseCwiseMul(), np.multiply),
                               (sparse.SparseDenseCwiseDiv(), np.divide)):
        other = RNG.uniform(1, 2, shape[-1:]).astype(np.float32)
        wanted = function(x, other)[tuple(first[0].asnumpy().T)]
        np.testing.assert_allclose(operator(*first, Tensor(other)).asnumpy(), wanted, rtol=1e-6)


def test_products_with_dense_matrices():
    x, parts = drawn(3, 5)
    y, z = (RNG.standard_normal(shape).astype(np.float32) for shape in ((5, 4), (3, 4)))
    found = sparse.SparseAddmm()(*parts, Tensor(y), Tensor(z), Tensor([0.5]), Tensor([2.0]))
    np.testing.assert_allclose(found.asnumpy(), 0.5 * x @ y + 2 * z, rtol=1e-5, atol=1e-5)
    start, own = drawn(3, 4)
    places, values, shape = sparse.Sspaddmm()(own[0].T, *own[1:], parts[0].T, *parts[1:], Tensor(y),
                                              Tensor(0.5), Tensor(2.0))
    np.testing.assert_allclose(dense(places.T, values, shape), 0.5 * x @ y + 2 * start, rtol=1e-5,
                               atol=1e-5)


@pytest.mark.parametrize("shape, new", [((4, 6), (3, 8)), ((4, 6), (2, -1, 3)), ((2, 3, 4), (-1,)),
                                        ((12,), (4, 3))])
def test_other_shapes_and_orders(shape, new):
    x, (places, values, lengths) = drawn(*shape)
    moved, out = sparse.SparseReshape()(places, lengths, Tensor(np.array(new)))
    np.testing.assert_array_equal(dense(moved, values, out), x.reshape(new))
    mixed = RNG.permutation(len(values))
    again = sparse.SparseReorder()(Tensor(places.asnumpy()[mixed]), Tensor(values.asnumpy()[mixed]),
                                   lengths)
    assert again[0].tolist() == places.tolist() and again[1].tolist() == values.tolist()
    for default in (0, 7):
        found = sparse.SparseToDenseV2()(places, lengths, values, Tensor(default, ms.float32))
        np.testing.assert_array_equal(found.asnumpy(), np.where(x == 0, default, x))
    assert (sparse.SparseToDenseV2()(places, lengths, Tensor(3.0), Tensor(1.0)).asnumpy()
            == np.where(x == 0, 1, 3)).all()


def test_rows_are_filled_and_softmax_is_of_each():
    x, (places, values, lengths) = drawn(6, 4, share=0.3)
    x[2] = 0
    kept = x[tuple(places.asnumpy().T)] != 0
    places, values = Tensor(places.asnumpy()[kept]), Tensor(values.asnumpy()[kept])
    at, filled, empty, back = sparse.SparseFillEmptyRows()(places, values, lengths, Tensor(9.0))
    wanted = x.copy()
    wanted[~x.any(1), 0] = 9
    np.testing.assert_array_equal(dense(at, filled, lengths), wanted)
    assert empty.tolist() == (~x.any(1)).tolist() and empty.tolist()[2]
    assert filled.asnumpy()[back.asnumpy()].tolist() == values.tolist()
    assert at.asnumpy()[:, 0].tolist() == sorted(at.asnumpy()[:, 0].tolist())
    grads = Tensor(RNG.standard_normal(len(filled)))
    by_values, by_default = sparse.SparseFillEmptyRowsGrad()(back, grads)
    np.testing.assert_allclose(by_values.asnumpy(), grads.asnumpy()[back.asnumpy()])
    np.testing.assert_allclose(by_default.asnumpy(), grads.asnumpy().sum()
                               - by_values.asnumpy().sum())
    powers = np.where(x == 0, 0, np.exp(x))
    shares = powers / np.maximum(powers.sum(1, keepdims=True), 1e-30)
    np.testing.assert_allclose(sparse.SparseSoftmax()(places, values, lengths).asnumpy(),
                               shares[tuple(places.asnumpy().T)], rtol=1e-5)


@pytest.mark.parametrize("options, width, weighed", [
    ({}, 6, False), ({"minlength": 9}, 9, True), ({"maxlength": 4}, 4, True),
    ({"binary_output": True}, 6, True)])
def test_counts_of_rows(options, width, weighed):
    places = np.argwhere(np.ones((3, 4)))
    values, weights = RNG.integers(0, 6, 12), RNG.uniform(1, 2, 12 if weighed else 0)
    values[0] = 5
    found = sparse.SparseCountSparseOutput(**options)(
        Tensor(places), Tensor(values), Tensor([3, 4]), Tensor(weights.astype(np.float32)))
    wanted = np.zeros((3, width), np.float32)
    for (row, _), value, weight in zip(places, values, weights if weighed else [1] * 12,
                                       strict=True):
        if value < width:
            wanted[row, value] += weight
    wanted = (wanted > 0) if options.get("binary_output") else wanted
    np.testing.assert_allclose(dense(*found), wanted, rtol=1e-6)
    assert found[2].tolist() == [3, width]


PLACES, VALUES = Tensor([[0, 1], [1, 2]]), Tensor([1.0, 2.0])


@pytest.mark.parametrize("call, text", [
    (lambda: sparse.SparseReorder()(PLACES, VALUES[:1], (2, 3)), "one row of 'indices'"),
    (lambda: sparse.SparseReorder()(PLACES, VALUES[:, None], (2, 3)), "one row of 'indices'"),
    (lambda: sparse.SparseReorder()(PLACES[0], VALUES, (2, 3)), "one row of 'indices'"),
    (lambda: sparse.SparseReorder()(PLACES, VALUES, (2, 3, 1)), r"shape \(n, 3\)"),
    (lambda: sparse.SparseReorder()(PLACES, VALUES, (2, 2)), "inside of the shape"),
    (lambda: sparse.SparseReorder()(PLACES, VALUES, (1, 3)), "inside of the shape"),
    (lambda: sparse.SparseReorder()(PLACES - 1, VALUES, (2, 3)), "inside of the shape"),
    (lambda: sparse.SparseReshape()(PLACES, (2, 3), (-1, -1)), "one of 'new_shape' may be -1"),
    (lambda: sparse.SparseReshape()(PLACES, (2, 3), (-2, -3)), "one of 'new_shape' may be -1"),
    (lambda: sparse.SparseReshape()(PLACES, (2, 3), (4, -1)), "same number of elements"),
    (lambda: sparse.SparseReshape()(PLACES, (2, 3), (7,)), "same number of elements"),
    (lambda: sparse.SparseSoftmax()(PLACES[:, :1], VALUES, (3,)), "2 lengths or more"),
    (lambda: sparse.SparseConcat(2)((PLACES,), (VALUES,), ((2, 3),)), r"in \[-2, 2\)"),
    (lambda: sparse.SparseConcat(-3)((PLACES,), (VALUES,), ((2, 3),)), r"in \[-2, 2\)"),
    (lambda: sparse.SparseToDenseV2()(PLACES[:, :1] * 0, (3,), VALUES, Tensor(0.0)), "row-major"),
    (lambda: sparse.SparseSparseMaximum()(PLACES, VALUES, (2, 3), PLACES, VALUES, (2, 4)),
     "must be the same"),
], ids=range(16))
def test_errors(call, text):
    with pytest.raises(ValueError, match=text):
        call()


@pytest.mark.parametrize("values, weights, options, counts, shape", [
    ([], [], {}, [], [0]), ([], [], {"minlength": 3}, [], [3]),
    ([2, 0, 2], [], {}, [1, 2], [3]), ([2, 0, 2], [], {"binary_output": True}, [1, 1], [3]),
    ([2, -1, 2], [], {}, [2], [3]), ([2, 0, 2], [0.5, 3.0, 1.0], {}, [3.0, 1.5], [3]),
    ([2, 0, 2], [], {"maxlength": 0}, [], [0]), ([2, 0, 2], [], {"maxlength": 1}, [1], [1]),
    ([2, 0, 2], [], {"minlength": 2}, [1, 2], [3]), ([2, 0], [], {"minlength": 4}, [1, 1], [4]),
    ([2, -1, 0], [0.5, 3.0, 1.0], {"maxlength": 2}, [1.0], [2])], ids=str)
def test_counts_of_one_row(values, weights, options, counts, shape):
    at = Tensor(np.arange(len(values), dtype=np.int64).reshape(-1, 1))
    places, found, lengths = sparse.SparseCountSparseOutput(**options)(
        at, Tensor(np.array(values, np.int64)), Tensor([5]), Tensor(np.array(weights, np.float32)))
    assert found.tolist() == counts and lengths.tolist() == shape
    assert places.shape == (len(counts), 1) and len({*map(tuple, places.tolist())}) == len(counts)


@pytest.mark.parametrize("at, weights", [([[5]], []), ([[-1]], []), ([[0]], [1.0, 2.0])])
def test_counts_that_do_not_fit(at, weights):
    with pytest.raises(RuntimeError, match="inside of the shape|as many 'weights'"):
        sparse.SparseCountSparseOutput()(Tensor(at), Tensor([1]), Tensor([5]),
                                         Tensor(np.array(weights, np.float32)))


@pytest.mark.parametrize("shape", [(5,), (5, 2), (5, 2, 3)])
def test_empty_rows_of_any_rank_are_filled_at_their_begin(shape):
    at = np.zeros((2, len(shape)), np.int64)
    at[:, 0], at[:, 1:] = (3, 1), 1
    found, filled, empty, back = sparse.SparseFillEmptyRows()(
        Tensor(at), Tensor([7.0, 8.0]), Tensor(np.array(shape)), Tensor([9.0]))
    ones = [1] * (len(shape) - 1)
    assert found.tolist() == [[0] * len(shape), [1, *ones], [2, *[0] * len(ones)], [3, *ones],
                              [4, *[0] * len(ones)]]
    assert filled.tolist() == [9, 8, 9, 7, 9] and back.tolist() == [3, 1]
    assert empty.tolist() == [True, False, True, False, True]


@pytest.mark.parametrize("old, new, wanted", [
    ((1, 1), (), []), ((), (1, 1), [1, 1]), ((2, 0), (0, 3), [0, 3]), ((2, 0), (-1, 4), [0, 4]),
    ((2, 3), (6, -1), [6, 1]), ((2, 3), (-1, 1, 1), [6, 1, 1])], ids=str)
def test_shapes_with_one_element_or_none(old, new, wanted):
    count = 0 if 0 in old else 1
    places = Tensor(np.zeros((count, len(old)), np.int64))
    moved, shape = sparse.SparseReshape()(places, old, new)
    assert shape.tolist() == wanted and moved.tolist() == [[0] * len(new)] * count
    assert moved.shape == (count, len(new))


@pytest.mark.parametrize("old, new", [((2, 0), (0, -1)), ((2, 3), (0, -1)), ((2, 3), (-1, 5)),
                                      ((2, 3), (3, 3)), ((0,), (1,))], ids=str)
def test_shapes_without_one_answer(old, new):
    with pytest.raises(ValueError, match="same number of elements"):
        sparse.SparseReshape()(Tensor(np.zeros((0, len(old)), np.int64)), old, new)


def test_the_least_sum_that_stays_may_be_a_number():
    given = PLACES, VALUES, (2, 3)
    for least, kept in ((0, [2, 4]), (2, [2, 4]), (2.1, [4]), (4.1, [])):
        assert sparse.SparseAdd()(*given, *given, least)[1].tolist() == kept
    other = (Tensor([[0, 0], [1, 2]]), Tensor([-3.0, -2.0]), (2, 3))
    at, values, _ = sparse.SparseAdd()(*given, *other, 1)
    assert at.tolist() == [[0, 0], [0, 1]] and values.tolist() == [-3, 1]


def test_repeats_are_only_refused_where_they_are_looked_for():
    given = Tensor([[1], [0]]), (3,), Tensor([5.0, 6.0]), Tensor(-1.0)
    assert sparse.SparseToDenseV2(False)(*given).tolist() == [6, 5, -1]
    for at in ([[1], [0]], [[1], [1]]):
        with pytest.raises(ValueError, match="row-major order without repeats"):
            sparse.SparseToDenseV2()(Tensor(at), *given[1:])


def test_the_gradient_of_a_slice_stands_where_its_elements_came_from():
    at, start = Tensor([[0, 0], [1, 2], [2, 1], [2, 3]]), Tensor([1, 1])
    new = Tensor([[0, 1], [1, 0], [1, 2]])  # of the elements within
    found = sparse.SparseSliceGrad()(Tensor([3.0, 4.0, 5.0]), at, start, new)
    assert found.tolist() == [0, 3, 4, 5]


@pytest.mark.parametrize("kind", [np.int32, np.float32, np.complex64])
def test_quotients_of_integers_are_cut_off(kind):
    values, other = np.array([7, -7]).astype(kind), np.array([[1, 2, 1], [1, 1, 2]]).astype(kind)
    found = sparse.SparseDenseCwiseDiv()(PLACES, Tensor(values), (2, 3), Tensor(other)).asnumpy()
    assert found.dtype == kind
    assert found.tolist() == ([3, -3] if kind is np.int32 else [3.5, -3.5])
    with pytest.raises(TypeError, match="must have one type"):
        sparse.SparseDenseCwiseDiv()(PLACES, VALUES.double(), (2, 3), ms.ops.ones((2, 3)))
