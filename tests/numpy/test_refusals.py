"""Arguments of `numpy` that no other test refuses: each call breaks one condition."""

import numpy as np
import pytest

import lamella.numpy as mnp
from lamella import Tensor, ops
from tests.contracts import check_refused

X, M, V, INTS = ops.ones((2, 3, 4)), ops.ones((3, 4)), ops.ones(4), Tensor([1, 2, 3])
CALLS = [
    lambda: mnp.unwrap(X, axis=3), lambda: mnp.gradient(mnp.ones(1)),
    lambda: mnp.histogramdd([1.0], (2, "a")), lambda: mnp.histogramdd(M, (2, 2)),
    lambda: mnp.histogramdd(M, 2, [(0, 1)]), lambda: mnp.histogram_bin_edges(V, 2, None, M),
    lambda: mnp.searchsorted(V, V, sorter=INTS), lambda: mnp.column_stack(3),
    lambda: mnp.concatenate(3), lambda: mnp.sometrue(M > 0, 0, "a"), lambda: mnp.pad(M, "a"),
    lambda: mnp.polyint(V, 3, [1, 2]), lambda: mnp.matrix_power( ops.eye(3), 1.5),
    lambda: mnp.norm(X, 7, (0, 1)), lambda: mnp.rollaxis(X, 0, 1.5), lambda: mnp.rot90(X, 1, (0,)),
    lambda: mnp.rot90(X, 1, (0, 1, 2)), lambda: mnp.roll(X, (1, 2), (0, 1, 2)), lambda: mnp.cov(X),
    lambda: mnp.meshgrid(V, V, sparse=1), lambda: mnp.meshgrid(V, V, indexing="yx"),
    lambda: mnp.pad(M, ((1,), (2,))), lambda: mnp.pad(M, ((1, 2, 3), (1, 2, 3))),
    lambda: mnp.gradient(M, V, V), lambda: mnp.diff(M, -1),
    lambda: mnp.cov( M, fweights=INTS), lambda: mnp.take(M, V), lambda: mnp.diag(X),
]


@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_refused(call):
    check_refused(call)


def test_what_stands_at_a_boundary_is_taken():
    assert mnp.rot90(X, 4).shape == X.shape and mnp.roll(X, (1,), (0, 1)).shape == X.shape
    assert np.isfinite(mnp.cov(M, fweights=mnp.array([1, 1, 2, 1])).asnumpy()).all()
