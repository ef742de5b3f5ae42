import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, boost, nn, ops


class Step(nn.TrainOneStepCell):
    """A step that programs write by hand: gradients of several batches, then one update."""

    def __init__(self, network, optimizer, count):
        super().__init__(network, optimizer)
        self.accumulate = boost.GradientAccumulation(count, optimizer)

    def construct(self, *inputs):
        loss = self.network(*inputs)
        grads = self.grad_no_sens(self.network, self.weights)(*inputs)
        return self.accumulate(loss, grads)


def trained(batches, count, mode):
    net = nn.Dense(3, 2, weight_init="ones", bias_init="zeros")
    optimizer = nn.Momentum(net.trainable_params(), learning_rate=0.1, momentum=0.9)
    step = Step(nn.WithLossCell(net, nn.MSELoss()), optimizer, count)
    ms.set_context(mode=mode)
    try:
        for x, y in batches:
            step(Tensor(x), Tensor(y))
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    return net.weight.asnumpy(), step.accumulate._grad_accumulation[0].asnumpy()


# the counter of the condition is changed before it is read: no graph can contain that
@pytest.mark.filterwarnings("ignore:.*'Step' runs eagerly.*that it depends on has been changed")
@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_two_halves_of_a_batch_are_the_batch(mode):
    rng = np.random.default_rng(0)
    whole = [(rng.normal(size=(4, 3)).astype("f4"), rng.normal(size=(4, 2)).astype("f4"))
             for _ in range(3)]
    halves = [(x[part], y[part]) for x, y in whole for part in (slice(2), slice(2, 4))]
    want, _ = trained(whole, 1, ms.PYNATIVE_MODE)
    got, left = trained(halves, 2, mode)
    np.testing.assert_allclose(got, want, rtol=1e-5)
    assert not left.any()
    before, left = trained(halves[:5], 2, mode)
    np.testing.assert_allclose(before, trained(whole[:2], 1, ms.PYNATIVE_MODE)[0], rtol=1e-5)
    assert left.any()


def test_the_functions_beneath():
    total = ms.Parameter(ops.ones(2), name="total")
    boost.gradient_accumulation_op(4, total, Tensor([4.0, 8.0]))
    assert total.asnumpy().tolist() == [2.0, 3.0]
    boost.gradient_clear_op(total)
    assert total.asnumpy().tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="above 0, but got 0"):
        boost.GradientAccumulation(0, None)
