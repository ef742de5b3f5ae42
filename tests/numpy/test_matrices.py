"""Positions in matrices and their like, at numbers where there are none or one."""

import numpy as np
import pytest

import lamella as ms
import lamella.numpy as mnp
from lamella import Tensor


def test_numbers_at_the_edge():
    assert mnp.take(Tensor([[1, 2], [3, 4]]), Tensor(1)).tolist() == 2
    assert mnp.take(Tensor([[1, 2], [3, 4]]), Tensor(1), 1).tolist() == [2, 4]
    assert mnp.take(Tensor(5), Tensor(0)).shape == ()
    for function in (mnp.tril_indices, mnp.triu_indices):
        assert [v.shape for v in function(-2)] == [(0,), (0,)]
    with pytest.raises(ValueError, match="For 'diag_indices', 'n' must be 0 or more, but got -1"):
        mnp.diag_indices(-1)
    edges = mnp.histogram_bin_edges(Tensor([], ms.float32), 2)
    assert edges.tolist() == np.histogram_bin_edges([], 2).tolist()


@pytest.mark.parametrize("given", [(2.0, 2), (2, 2.0)])
def test_positions_are_counted_in_ints(given):
    with pytest.raises(TypeError, match="For 'diag_indices', 'n' and 'ndim' must be ints"):
        mnp.diag_indices(*given)
