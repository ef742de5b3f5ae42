"""Arguments of `scipy` that no other test refuses: each call breaks one condition."""

import pytest

from lamella import Tensor, ops
from lamella.scipy import linalg, optimize
from tests.contracts import check_refused

X, M, V = ops.ones((2, 3, 4)), ops.ones((3, 4)), ops.ones(4)
CALLS = [
    lambda: linalg.block_diag(X), lambda: linalg.solve_triangular(V, V), lambda: linalg.inv(V),
    lambda: linalg.lu(V), lambda: optimize.linear_sum_assignment(M, False, Tensor(-1)),
    lambda: optimize.minimize(lambda x: x.sum(), V, method="LAGRANGE", constraints=[1]),
    lambda: optimize.minimize(lambda x: x.sum(), V, method="LAGRANGE",
        constraints=[lambda x: x.sum()], tol=[1, 2]),
]


@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_refused(call):
    check_refused(call)
