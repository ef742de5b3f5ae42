"""Arguments of `mint` that no other test refuses: each call breaks one condition."""

import pytest

from lamella import mint, ops
from tests.contracts import check_refused

CALLS = [
    lambda: mint.randperm(-1), lambda: mint.randperm(1.5),
    lambda: mint.nn.functional.conv2d(ops.ones((1, 1, 4, 4)), ops.ones((1, 1, 2, 2)), None, 2,
        "same"),
    lambda: mint.nn.functional.conv2d(ops.ones((1, 1, 4, 4)), ops.ones((1, 1, 2, 2)), None, 1,
        "full"),
]


@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_refused(call):
    check_refused(call)


def test_what_stands_at_a_boundary_is_taken():
    assert mint.randperm(0).shape == (0,) and mint.randperm(1).tolist() == [0]
