"""A recorded run: the gradient of the output that it starts from."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops


def arrays(tree):
    return [arrays(t) for t in tree] if isinstance(tree, tuple) else tree.asnumpy().tolist()


@pytest.mark.parametrize("shape, starts", [((), [(1,), (1, 1)]), ((1,), [(), (1, 1)]),
                                           ((3,), [(1, 3), (3, 1)]), ((1, 3), [(3,), (3, 1)])])
def test_a_gradient_to_start_from_may_differ_in_lengths_of_1(shape, starts):
    """As a loss scale of one element beside a loss without dimensions."""
    x = Tensor([1.0, 2.0, 3.0])

    def f(x):
        return (x * x if 3 in shape else (x * x).sum()).reshape(shape)

    for start in starts:
        sens = ops.full(start, 5.0)
        call = ops.GradOperation(sens_param=True)(f)
        assert arrays(call(x, sens)) == arrays(ms.jit(call)(x, sens)) == [10.0, 20.0, 30.0]
        assert arrays(ms.vjp(f, x)[1](sens)) == [[10.0, 20.0, 30.0]]
        # the derivative by the start itself has its shape
        assert ms.grad(lambda s: call(x, s).sum())(sens).shape == start  # noqa: B023
    assert arrays(ops.GradOperation(sens_param=True)(f)(x, np.float32(5))) == [10.0, 20.0, 30.0]


@pytest.mark.parametrize("start", [(), (1,), (2,), (3, 3)])
def test_a_gradient_to_start_from_is_not_broadcast(start):
    with pytest.raises(ValueError, match="must have the output's shape"):
        ops.GradOperation(sens_param=True)(lambda x: x * x)(Tensor([1.0, 2.0, 3.0]),
                                                            ops.ones(start))
