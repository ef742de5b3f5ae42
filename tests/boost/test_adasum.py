"""What `AdaSum` makes of steps in one process; several are in `adasum_worker.py`."""

import numpy as np
import pytest

import lamella as ms


@pytest.mark.parametrize("count", [0, -2, 3, 6])
def test_servers_are_a_power_of_2(count):
    with pytest.raises(ValueError, match=f"'group_number' must be a power of 2, but got {count}"):
        ms.boost.AdaSum(0, 1, count, ())


def test_one_server_s_steps_are_taken_as_they_are():
    weights = [ms.Parameter(ms.Tensor(values), name=f"w{i}")
               for i, values in enumerate(([1.0, 2.0], [[5.0]]))]
    before = [ms.Tensor([3.0, 3.0]), ms.Tensor([[4.0]])]
    adasum = ms.boost.AdaSum(0, 1, 1, tuple(weights))
    assert adasum.parameter_tuple == tuple(weights)
    given = adasum((ms.Tensor([0.5, -1.0]), ms.Tensor([[1.0]])), weights, before)
    assert given[0] is weights[0]
    np.testing.assert_array_equal(weights[0].asnumpy(), [2.5, 4.0])
    np.testing.assert_array_equal(weights[1].asnumpy(), [[3.0]])
