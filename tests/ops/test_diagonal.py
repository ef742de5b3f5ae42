"""Diagonals as matrices: how many rows and columns there are, and which diagonals may be named."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops


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


@pytest.mark.parametrize("k", [-3, 4, (2, 1), (-3, 0), (0, 4)])
def test_diagonals_that_are_not_there(k):
    x = ops.ones((3, 4))
    with pytest.raises(ValueError, match="'k' must"):
        ops.matrix_diag_part(x, Tensor(k, ms.int32), Tensor(0.0))
    for ends in ((-2, 3), -2, 3):
        assert ops.matrix_diag_part(x, Tensor(ends, ms.int32), Tensor(0.0)).ndim
