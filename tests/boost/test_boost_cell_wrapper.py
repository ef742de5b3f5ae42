"""Training steps of `lamella.boost`: what their settings turn on, and their parts called alone."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, boost, nn

from .group_scales import scaled_by_groups


@pytest.fixture(autouse=True)
def no_boost():
    boost.AutoBoost("O0")
    yield
    boost.AutoBoost("O0")


def layer():
    return nn.Dense(2, 1, weight_init="ones", has_bias=False)


def accumulating(steps, used=True):
    boost.AutoBoost("O0", {"boost": {"mode": "manual", "grad_accumulation": used},
                           "grad_accumulation": {"grad_accumulation_step": steps}})
    net = layer()
    return net, boost.BoostTrainOneStepCell(net, nn.SGD(net.trainable_params(), 1.0))


@pytest.mark.parametrize("steps, used, adds", [(2, True, True), (1, True, False),
                                               (2, False, False)])
def test_gradients_are_added_up_where_that_is_asked_for(steps, used, adds):
    net, step = accumulating(steps, used)
    assert step.use_grad_accumulation is adds
    grads = (Tensor([[0.5, 0.25]]),)
    loss = step.gradient_accumulation_process(Tensor(3.0), grads, 1.0)
    assert float(loss) == 3.0
    assert net.weight.tolist() == ([[1.0, 1.0]] if adds else [[0.5, 0.75]])
    step.gradient_accumulation_process(Tensor(3.0), grads, 1.0)
    assert net.weight.tolist() == ([[0.5, 0.75]] if adds else [[0.0, 0.5]])


def test_the_adaptive_sum_of_one_server_is_its_step():
    ms.set_seed(1)
    rng = np.random.default_rng(0)
    grads = [Tensor(rng.standard_normal((1, 2)).astype(np.float32)) for _ in range(3)]
    nets = layer(), layer()
    alone, summed = (nn.Momentum(net.trainable_params(), 0.1, 0.9) for net in nets)
    summed.adasum = True
    step = boost.BoostTrainOneStepCell(nets[1], summed)
    assert not step.enable_adasum and not step.check_dim_reduce_enable()  # of one process
    step.adasum = boost.AdaSum(0, 1, 1, step.weights)
    for grad in grads:
        alone((grad,))
        assert float(step.adasum_process(Tensor(2.0), (grad,))) == 2.0
        np.testing.assert_allclose(nets[1].weight.asnumpy(), nets[0].weight.asnumpy(), rtol=1e-5)


def test_few_dimensions_need_components():
    net = layer()
    optimizer = nn.SGD(net.trainable_params(), 1.0)
    optimizer.dim_reduce = True
    with pytest.raises(ValueError, match="must have made the optimizer"):
        boost.BoostTrainOneStepCell(net, optimizer)


@pytest.mark.parametrize("shape", [(), (1,), (2,), (1, 1), (0,)])
def test_scales_are_of_one_number(shape):
    net = layer()
    optimizer, scale = nn.SGD(net.trainable_params(), 0.5), Tensor(np.full(shape, 4.0, np.float32))
    if shape in ((), (1,)):
        step = boost.BoostTrainOneStepWithLossScaleCell(net, optimizer, scale)
        _, overflow, found = step(Tensor([[1.0, 0.5]]))
        assert not overflow and found.shape == shape and net.weight.tolist() == [[0.5, 0.75]]
    else:
        with pytest.raises(ValueError, match=r"must be \(\) or \(1,\)"):
            boost.BoostTrainOneStepWithLossScaleCell(net, optimizer, scale)


def test_each_group_has_its_own_scale():
    net, manager, step = scaled_by_groups()
    x = np.float32([[1, 2], [0.5, -1], [3, 0.25]])
    inner = x @ net.one.weight.asnumpy().T + net.one.bias.asnumpy()
    wanted = [net.one.weight.asnumpy() - 0.1 * np.outer(net.two.weight.asnumpy(), x.sum(0)),
              net.two.weight.asnumpy() - 0.1 * inner.sum(0)]
    _, overflow, scale = step(Tensor(x))
    assert not overflow and float(scale) == 16.0
    np.testing.assert_allclose(net.one.weight.asnumpy(), wanted[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(net.two.weight.asnumpy(), wanted[1], rtol=1e-4, atol=1e-5)
    assert [float(s) > before for s, before in zip(
        manager.dynamic_loss_scale[1:-1], (16.0, 64.0), strict=True)] == [True, True]


def test_an_overflow_of_one_group_stops_all():
    net, manager, step = scaled_by_groups()
    net.two.weight.set_data(Tensor(np.full((1, 3), np.float32(1e38))))
    before = [p.asnumpy().copy() for p in net.trainable_params()]
    _, overflow, _ = step(Tensor([[1.0, 2.0]]))  # the gradients of the first layer are too large
    assert overflow
    for parameter, value in zip(net.trainable_params(), before, strict=True):
        np.testing.assert_array_equal(parameter.asnumpy(), value)
    first, second = map(float, manager.dynamic_loss_scale[1:-1])
    assert first < 16.0 and second > 64.0


def test_a_manager_of_groups_has_all_parameters():
    net, manager, _ = scaled_by_groups()
    manager.loss_scale_groups = [net.one.trainable_params(), [net.two.weight]]
    with pytest.raises(ValueError, match=r"two\.bias isn't"):
        boost.BoostTrainOneStepWithLossScaleCell(net, nn.SGD(net.trainable_params(), 0.1), manager)
