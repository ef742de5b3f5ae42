"""Elements and slices replaced or added, beside loops, with indices at and beyond the ends."""

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, ops

RNG = np.random.default_rng(8)
X = RNG.normal(size=(3, 4, 5)).astype(np.float32)


def placed(x, axis, index, src, how=lambda old, new: new):
    """By a loop; what lies out of range is left out."""
    out, length = x.copy(), x.shape[axis]
    for place in np.ndindex(index.shape):
        at = index[place]
        if -length <= at < length:
            where = (*place[:axis], at, *place[axis + 1:])
            out[where] = how(out[where], src[place])
    return out


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("extent", ["inside", "from the end", "beyond"])
def test_elements_at_indices(axis, extent):
    shape, length = (2, 3, 4), X.shape[axis]
    low, high = {"inside": (0, length), "from the end": (-length, length),
                 "beyond": (-length - 2, length + 2)}[extent]
    index = RNG.integers(low, high, shape)
    if extent != "inside":
        index[0, 0, 0], index[1, 2, 3] = low, high - 1
    # no element twice: which one stays then isn't said
    index = np.where(np.arange(shape[axis]).reshape([-1 if a == axis else 1 for a in range(3)])
                     == 0, index, low - length if extent == "beyond" else index)
    src = RNG.normal(size=shape).astype(np.float32)
    add, times = (lambda a, b: a + b), (lambda a, b: a * b)
    x, at, new = Tensor(X), Tensor(index), Tensor(src)
    for a in (axis, axis - 3):
        cases = [(ops.tensor_scatter_elements(x, at, new, a, "add"), add),
                 (x.scatter(a, at, new, "add"), add), (x.scatter(a, at, new, "multiply"), times),
                 (x.scatter_add(a, at, new), add)]
        for found, how in cases:
            np.testing.assert_allclose(found.asnumpy(), placed(X, axis, index, src, how),
                                       rtol=1e-5)
    if extent == "beyond":
        for found in (ops.tensor_scatter_elements(x, at, new, axis), ops.scatter(x, axis, at, new),
                      x.scatter(axis, at, new)):
            np.testing.assert_array_equal(found.asnumpy(), placed(X, axis, index, src))


@pytest.mark.parametrize("at, wanted", [(0, 7), (-1, 7), (1, 2), (-2, 2)])
def test_an_axis_of_one_element(at, wanted):
    x = Tensor([[2.0]])
    for axis in (0, 1):
        assert ops.scatter(x, axis, Tensor([[at]]), Tensor([[7.0]])).tolist() == [[wanted]]


def test_numbers_and_tensors_of_no_dimension_stand_for_all():
    x, at = ops.zeros((2, 3)), Tensor([[0, 2], [1, 1]])
    for src in (5, 5.0, Tensor(5.0), Tensor(5)):
        found = ops.scatter(x, 1, at, src)
        assert found.tolist() == [[5, 0, 5], [0, 5, 0]] and found.dtype is ms.float32
    assert x.scatter(dim=Tensor(0), index=Tensor([[1]]), src=Tensor([[3.0]])).tolist() == [
        [0, 0, 0], [3, 0, 0]]
    number = ops.scatter(Tensor(1.0), 0, Tensor(0), Tensor(4.0))
    assert number.shape == () and number == 4
    assert ops.scatter(Tensor(1.0), -1, Tensor(0), 4.0) == 4
    assert ops.scatter(Tensor(1.0), 0, Tensor(-1), 4.0) == 4


@pytest.mark.parametrize("call", [
    lambda: ops.scatter(ops.ones((2, 2)), 0, Tensor([[0, 1]]), ops.ones((1, 1))),
    lambda: ops.scatter(ops.ones((2, 2)), 2, Tensor([[0, 1]]), 1.0),
    lambda: ops.scatter(ops.ones((2, 2)), -3, Tensor([[0, 1]]), 1.0),
    lambda: ops.scatter(Tensor(1.0), 1, Tensor(0), 1.0),
    lambda: ops.tensor_scatter_elements(ops.ones(2), Tensor([0]), ops.ones(1), 0, "multiply"),
    lambda: ops.ones(2).scatter(0, Tensor([0]), ops.ones(1), "mean")])
def test_elements_that_do_not_fit(call):
    with pytest.raises(ValueError, match="^For '"):
        call()


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_slices_added(axis):
    at = np.array([1, 0, 1, 2])
    y = RNG.normal(size=[4 if a == axis % 3 else n for a, n in enumerate(X.shape)]).astype("f4")
    wanted = [X.copy(), X.copy()]
    for times, out in zip((1, 3), wanted, strict=True):
        np.add.at(np.moveaxis(out, axis, 0), at, times * np.moveaxis(y, axis, 0))
    x, at, y = Tensor(X), Tensor(at), Tensor(y)
    for found in (ops.index_add(x, at, y, axis), x.index_add(at, y, axis), x.index_add(axis, at, y),
                  x.index_add(axis, at, source=y), x.index_add(dim=axis, index=at, source=y),
                  x.index_add(at, y, axis=axis), ops.inplace_index_add(x, at, y, axis)):
        np.testing.assert_allclose(found.asnumpy(), wanted[0], rtol=1e-5)
    for found in (x.index_add(axis, at, y, alpha=3), x.index_add(dim=axis, index=at, source=y,
                                                                 alpha=3)):
        np.testing.assert_allclose(found.asnumpy(), wanted[1], rtol=1e-5)
    np.testing.assert_array_equal(x.asnumpy(), X)
    for function in (ops.index_add, ops.inplace_index_add):
        kept = Parameter(Tensor(X), name="x")
        function(kept, at, y, axis)
        np.testing.assert_allclose(kept.asnumpy(), wanted[0], rtol=1e-5)


@pytest.mark.parametrize("start, end, step, axis", [
    (None, None, 1, 0), (1, 3, 1, 1), (0, 5, 2, 2), (-3, -1, 1, -1), (2, None, 3, 2),
    (None, 9, 2, 1), (3, 1, 1, 1)])
def test_a_part_replaced(start, end, step, axis):
    wanted = X.copy()
    part = np.moveaxis(wanted, axis, 0)[start:end:step]
    src = RNG.normal(size=part.shape).astype(np.float32)
    part[...] = src
    found = ops.slice_scatter(Tensor(X), Tensor(np.moveaxis(src, 0, axis)), axis, start, end, step)
    np.testing.assert_array_equal(found.asnumpy(), wanted)
    part[...] = 7
    one = ops.slice_scatter(Tensor(X), Tensor(7), axis, start, end, step)  # repeated, as a float
    np.testing.assert_array_equal(one.asnumpy(), wanted)


@pytest.mark.parametrize("axis, index", [(0, 2), (1, -1), (-1, 3)])
def test_one_slice_replaced(axis, index):
    wanted = X.copy()
    np.moveaxis(wanted, axis, 0)[index] = 3
    src = ops.full([n for a, n in enumerate(X.shape) if a != axis % 3], 3)
    np.testing.assert_array_equal(ops.select_scatter(Tensor(X), src, axis, index).asnumpy(), wanted)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("at", [1, [0, 2]])
def test_slices_filled(axis, at):
    wanted = X.copy()
    np.moveaxis(wanted, axis, 0)[at] = 9
    for value in (9.0, 9, Tensor(9.0)):
        found = ops.index_fill(Tensor(X), axis, Tensor(at, ms.int32), value)
        np.testing.assert_array_equal(found.asnumpy(), wanted)


def test_elements_by_several_indices_or_a_mask():
    rows, columns, new = np.array([0, 2, 0]), np.array([1, -1, 1]), np.float32([1, 2, 3])
    x = Tensor(X[0, :3])
    for accumulate in (False, True, 0, 1):
        wanted = X[0, :3].copy()
        if accumulate:
            np.add.at(wanted, (rows, columns), new)
        else:
            wanted[rows, columns] = new[[2, 1, 2]]
        found = x.index_put((Tensor(rows, ms.int32), Tensor(columns)),
                            Tensor(new if accumulate else new[[2, 1, 2]]), accumulate)
        np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-6)
    mask = X[0, :3] > 0
    found = x.index_put((Tensor(mask),), Tensor(5))  # in the type of the tensor
    np.testing.assert_array_equal(found.asnumpy(), np.where(mask, 5, X[0, :3]))


@pytest.mark.parametrize("named", [{}, {"src"}, {"index", "src"}, {"dim", "index", "src"}])
def test_adding_by_position_and_by_name(named):
    given = {"dim": 1, "index": Tensor([[2, 2]]), "src": Tensor([[3.0, 4.0]])}
    args = [value for name, value in given.items() if name not in named]
    found = ops.ones((1, 3)).scatter_add(*args, **{name: given[name] for name in named})
    assert found.tolist() == [[1, 1, 8]]


@pytest.mark.parametrize("named", [{}, {"updates"}, {"indices", "updates"}])
def test_adding_rows(named):
    given = {"indices": Tensor([[1], [1]]), "updates": Tensor([[3.0], [4.0]])}
    args = [value for name, value in given.items() if name not in named]
    found = ops.ones((3, 1)).scatter_add(*args, **{name: given[name] for name in named})
    assert found.tolist() == [[1], [8], [1]]


SEGMENTS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int32, np.int8, np.uint64])
@pytest.mark.parametrize("name", SEGMENTS)
def test_segments(name, kind):
    """Two dimensions of ids; some negative, which are left out, and a segment without slices."""
    x = RNG.integers(0 if kind is np.uint64 else -5, 6, (2, 3, 4)).astype(kind)
    if kind is np.uint64:
        x[0, 0, 0] = 2**64 - 1
    ids = np.array([[0, 3, -1], [3, 0, 3]])
    limits = np.iinfo(kind) if np.issubdtype(kind, np.integer) else np.finfo(kind)
    start = {"sum": 0, "prod": 1, "max": limits.min, "min": limits.max}[name]
    wanted = np.full((5, 4), start, kind)
    with np.errstate(over="ignore"):
        for place in np.ndindex(2, 3):
            if ids[place] >= 0:
                wanted[ids[place]] = SEGMENTS[name](wanted[ids[place]], x[place])
    operator = getattr(ops, f"unsorted_segment_{name}")
    found = operator(Tensor(x), Tensor(ids), 5)
    assert found.asnumpy().dtype == kind
    np.testing.assert_array_equal(found.asnumpy(), wanted)


@pytest.mark.parametrize("name", SEGMENTS)
def test_how_many_segments(name):
    operator, x = getattr(ops, f"unsorted_segment_{name}"), Tensor([5.0, 5.0])
    assert operator(x, Tensor([0, -1]), 1).tolist() == [5]
    assert operator(x, Tensor([0, -1]), Tensor(1)).tolist() == [5]
    for count in (0, -1):
        with pytest.raises(ValueError, match="'num_segments' must be more than 0"):
            operator(x, Tensor([0, 0]), count)
    with pytest.raises(RuntimeError, match=r"less than 'num_segments' 2, but got \[2\]"):
        operator(x, Tensor([1, 2]), 2)
    number = operator(Tensor(3.0), Tensor(1), 2)
    assert number.shape == (2,) and number[1] == 3


@pytest.mark.parametrize("shape, axis", [((0,), 0), ((2, 0), 1), ((0, 2), 0)])
def test_nothing_to_replace_in_compiled_functions_and_under_vmap(shape, axis):
    x, none = ops.zeros(shape), ops.zeros(shape, ms.int64)
    found = ms.jit(ops.tensor_scatter_elements, fullgraph=True)(x, none, x, axis)
    assert found.shape == ops.tensor_scatter_elements(x, none, x, axis).shape == shape
    several = ops.vmap(lambda x: ops.tensor_scatter_elements(x, none, x, axis))(
        ops.zeros((3, *shape)))
    assert several.shape == (3, *shape)
