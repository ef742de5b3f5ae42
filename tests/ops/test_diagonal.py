"""Diagonals as matrices: how many rows and columns there are, and which diagonals may be named."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

RNG = np.random.default_rng(12)


@pytest.mark.parametrize("k, length", [(1, 2), (-1, 2), (2, 3), (-2, 3), (0, 3)])
@pytest.mark.parametrize("given", [
    {}, {"num_rows": 6}, {"num_cols": 6}, {"num_rows": 6, "num_cols": 7}])
def test_one_diagonal(k, length, given):
    values = np.arange(1.0, 1 + length, dtype=np.float32)
    side = length + abs(k)
    rows, columns = given.get("num_rows", -1), given.get("num_cols", -1)
    if rows == columns == -1:
        rows = columns = side
    rows = length + max(-k, 0) if rows == -1 else rows
    columns = length + max(k, 0) if columns == -1 else columns
    fits = min(rows - max(-k, 0), columns - max(k, 0)) == length
    call = ops.matrix_diag
    named = {name: Tensor(value, ms.int32) for name, value in given.items()}
    if not fits:
        with pytest.raises(ValueError, match="have diagonals of shape"):
            call(Tensor(values), Tensor(k, ms.int32), **named)
        return
    wanted = np.zeros((rows, columns), np.float32)
    for i, value in enumerate(values):
        wanted[i + max(-k, 0), i + max(k, 0)] = value
    found = call(Tensor(values), Tensor(k, ms.int32), **named)
    np.testing.assert_array_equal(found.asnumpy(), wanted)


@pytest.mark.parametrize("lead", [(), (1,), (2,), (1, 1), (3, 1)])
@pytest.mark.parametrize("k", [0, 1, (-1, -1), (2, 2)])
def test_one_diagonal_of_each_of_several_matrices(lead, k):
    """A row is a diagonal, also if it is the only one: as in MindSpore 2.10."""
    values = RNG.normal(size=(*lead, 3)).astype(np.float32)
    found = ops.matrix_diag(Tensor(values), Tensor(k, ms.int32)).asnumpy()
    offset = k if isinstance(k, int) else k[0]
    wanted = [np.diag(row, offset) for row in values.reshape(-1, 3)]
    np.testing.assert_array_equal(found, np.reshape(wanted, (*lead, 3 + abs(offset),
                                                             3 + abs(offset))))


@pytest.mark.parametrize("k", [-3, 4, (2, 1), (-3, 0), (0, 4)])
def test_diagonals_that_are_not_there(k):
    x = ops.ones((3, 4))
    with pytest.raises(ValueError, match="'k' must"):
        ops.matrix_diag_part(x, Tensor(k, ms.int32), Tensor(0.0))
    for ends in ((-2, 3), -2, 3):
        assert ops.matrix_diag_part(x, Tensor(ends, ms.int32), Tensor(0.0)).ndim




def banded(matrix, k, align, padding):
    """The diagonals of a matrix from the highest on, each filled up at its end or its start."""
    first, last = (k, k) if isinstance(k, int) else k
    rows = [np.diagonal(matrix, d) for d in range(last, first - 1, -1)]
    longest = max(map(len, rows))
    out = np.full((len(rows), longest), padding, matrix.dtype)
    above, below = align.split("_")
    for row, d, values in zip(out, range(last, first - 1, -1), rows, strict=True):
        start = longest - len(values) if (above if d > 0 else below) == "RIGHT" else 0
        row[start:start + len(values)] = values
    return out[0] if first == last else out


BANDS = [0, 2, -1, (-2, -1), (1, 3), (-1, 2), (-2, 3), (0, 0), (-2, 0), (0, 2)]


@pytest.mark.parametrize("align", ["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"])
@pytest.mark.parametrize("k", BANDS)
@pytest.mark.parametrize("lead", [(), (2,), (2, 3)])
def test_bands_are_taken_and_put_back(k, align, lead):
    x = RNG.integers(1, 100, (*lead, 3, 4))
    want = np.array([banded(m, k, align, -7) for m in x.reshape(-1, 3, 4)])
    want = want.reshape(*lead, *want.shape[1:])
    found = ops.matrix_diag_part(Tensor(x), k, -7, align)
    np.testing.assert_array_equal(found.asnumpy(), want)
    first, last = (k, k) if isinstance(k, int) else k
    kept = np.triu(np.tril(np.ones((3, 4), bool), last), first)
    back = ops.matrix_set_diag(Tensor(0 * x + 5), found, k, align)
    np.testing.assert_array_equal(back.asnumpy(), np.where(kept, x, 5))
    made = ops.matrix_diag(found, k, 3, 4, 9, align)
    np.testing.assert_array_equal(made.asnumpy(), np.where(kept, x, 9))


@pytest.mark.parametrize("align", ["LEFT", "CENTER_LEFT", "RIGHT-LEFT", "right_left"])
def test_words_of_the_alignment(align):
    for call in (lambda: ops.matrix_diag(ops.ones(2), 0, align=align),
                 lambda: ops.matrix_diag_part(ops.ones((2, 2)), 0, 0, align),
                 lambda: ops.matrix_set_diag(ops.ones((2, 2)), ops.ones(2), 0, align)):
        with pytest.raises(ValueError, match="'align' must be"):
            call()


@pytest.mark.parametrize("lower", [-1, 0, 1, 2])
@pytest.mark.parametrize("upper", [-1, 0, 1, 3])
def test_bands_about_the_diagonal(lower, upper):
    x = RNG.integers(1, 9, (2, 3, 4))
    want = x if lower < 0 else np.triu(x, -lower)
    want = want if upper < 0 else np.tril(want, upper)
    for form in (int, lambda n: Tensor(n), lambda n: Tensor([n])):
        found = ops.matrix_band_part(Tensor(x), form(lower), form(upper))
        np.testing.assert_array_equal(found.asnumpy(), want)
    each = ops.vmap(ops.matrix_band_part, (None, 0, None))(
        Tensor(x), Tensor([lower, 1]), Tensor(upper))
    np.testing.assert_array_equal(each[0].asnumpy(), want)
    each = ops.vmap(ops.matrix_band_part, (None, None, 0))(Tensor(x), lower, Tensor([2, upper]))
    np.testing.assert_array_equal(each[1].asnumpy(), want)


@pytest.mark.parametrize("offset", [-2, -1, 0, 1, 3])
@pytest.mark.parametrize("dims", [(0, 1), (1, 2), (-1, 0), (2, -2)])
def test_diagonals_of_planes(offset, dims):
    x = RNG.integers(1, 99, (3, 4, 5))
    want = np.diagonal(x, offset, *dims)
    np.testing.assert_array_equal(ops.diagonal(Tensor(x), offset, *dims).asnumpy(), want)
    np.testing.assert_array_equal(Tensor(x).diagonal(offset, *dims).asnumpy(), want)
    changed = x.copy()
    plane = np.moveaxis(changed, dims, (-2, -1))
    for i in range(want.shape[-1]):
        plane[..., i + max(-offset, 0), i + max(offset, 0)] = 100 + i
    src = Tensor(np.broadcast_to(100 + np.arange(want.shape[-1]), want.shape).astype(np.float32))
    found = ops.diagonal_scatter(Tensor(x), src, offset, *dims)
    assert found.dtype is ms.int64
    np.testing.assert_array_equal(found.asnumpy(), changed)


@pytest.mark.parametrize("offset, dims", [(0, (-2, -1)), (2, (-2, -1)), (-1, (0, 2)),
                                          (1, (2, 0)), (0, (-3, 1))])
def test_matrices_of_vectors(offset, dims):
    x = RNG.integers(1, 99, (2, 3))
    found = ops.diag_embed(Tensor(x), offset, *dims).asnumpy()
    matrices = np.moveaxis(found, dims, (-2, -1))
    np.testing.assert_array_equal(matrices, [np.diag(row, offset) for row in x])


def test_tensors_on_diagonals():
    x = np.arange(1, 7).reshape(2, 3)
    found = ops.diag(Tensor(x)).asnumpy()
    assert found.shape == (2, 3, 2, 3) and found.sum() == 21
    np.testing.assert_array_equal(np.einsum("ijij->ij", found), x)
    for offset in (-2, 0, 1):
        np.testing.assert_array_equal(ops.diagflat(Tensor(x), offset).asnumpy(),
                                      np.diagflat(x, offset))
        np.testing.assert_array_equal(Tensor(x).diag(offset).asnumpy(), np.diag(x, offset))
        np.testing.assert_array_equal(ops.tril(Tensor(x), offset).asnumpy(), np.tril(x, offset))
        np.testing.assert_array_equal(ops.triu(Tensor(x), offset).asnumpy(), np.triu(x, offset))
    blocks = ops.block_diag(Tensor(x), Tensor(7), Tensor([8, 9]))
    assert blocks.tolist() == [[1, 2, 3, 0, 0, 0], [4, 5, 6, 0, 0, 0], [0, 0, 0, 7, 0, 0],
                               [0, 0, 0, 0, 8, 9]]


@pytest.mark.parametrize("shape, again", [((3, 3), False), ((7, 2), False), ((7, 2), True),
                                          ((2, 5), True), ((3, 3, 3), False)])
def test_diagonals_are_filled(shape, again):
    x = RNG.integers(1, 9, shape)
    want = x.copy()
    np.fill_diagonal(want, 50, again)
    np.testing.assert_array_equal(Tensor(x).fill_diagonal(50, again).asnumpy(), want)


@pytest.mark.parametrize("call, match", [
    (lambda: ops.diag(Tensor(1)), "1 dimension or more"),
    (lambda: ops.diagonal(ops.ones(3)), "2 dimensions or more"),
    (lambda: ops.diagonal(ops.ones((2, 3)), 0, 0, 0), "must differ"),
    (lambda: ops.diagonal(ops.ones((2, 3)), 0, 0, 2), "'dim2' must be in"),
    (lambda: ops.diagonal(ops.ones((2, 3)), 0, -3, 1), "'dim1' must be in"),
    (lambda: ops.diagonal_scatter(ops.ones((2, 3)), ops.ones(2), 0, 1, -1), "must differ"),
    (lambda: ops.diag_embed(ops.ones((2, 3)), 0, 3, 1), "'dim1' must be in"),
    (lambda: ops.diag_embed(ops.ones((2, 3)), 0, 2, -4), "'dim2' must be in"),
    (lambda: ops.diag_embed(ops.ones((2, 3)), 0, 2, -1), "must differ"),
    (lambda: ops.tril(ops.ones(3)), "2 dimensions or more"),
    (lambda: ops.triu(ops.ones(3)), "2 dimensions or more"),
    (lambda: ops.matrix_band_part(ops.ones(3), 0, 0), "2 dimensions or more"),
    (lambda: ops.matrix_diag_part(ops.ones(3), 0, 0), "2 dimensions or more"),
    (lambda: ops.matrix_set_diag(ops.ones(3), ops.ones(3)), "2 dimensions or more"),
    (lambda: ops.block_diag(ops.ones((1, 2)), ops.ones((1, 1, 1))), "at most 2 dimensions"),
    (lambda: ops.matrix_diag(ops.ones((2, 3)), (0, 2)), "have diagonals of shape"),
])
def test_ranks_and_dimensions(call, match):
    with pytest.raises(ValueError, match=match):
        call()
