"""The ends of what optimizers take, and what belongs to each parameter of their groups."""

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, nn, ops
from lamella.nn import optim

from ...limits import ERRORS, check_limits


def weights(*names):
    return [Parameter(Tensor([1.0, -2.0]), name=name) for name in names or ("w",)]


def decay():
    class Half(nn.Cell):
        def construct(self, step):
            return Tensor(0.5) * (step + 1)

    return Half()


LIMITS = {
    "rate": (lambda r: optim.SGD(weights(), r), (0, 0.0, 1, Tensor(0.1), [0.1], Tensor([0.1, 0.2])),
             (-0.1, True, "0.1", None, Tensor([[0.1]]))),
    "decay": (lambda d: optim.Adam(weights(), weight_decay=d), (0, 0.0, 1.5), (-0.1, True, "0.1")),
    "scale": (lambda s: optim.Adam(weights(), loss_scale=s), (1e-9, 1, 1024.0), (0.0, 0, -1.0)),
    "momentum": (lambda m: optim.Momentum(weights(), 0.1, m), (0.0, 1.5), (-0.1,)),
    "momentum of SGD": (lambda m: optim.SGD(weights(), 0.1, m), (0, 0.9), (-0.1,)),
    "dampening": (lambda d: optim.SGD(weights(), 0.1, 0.9, d), (0, 0.5), (-0.1,)),
    "nesterov": (lambda p: optim.SGD(weights(), 0.1, *p, nesterov=True),
                 ((0.9, 0.0), (1e-9, 0)), ((0.0, 0.0), (0.9, 0.1), (0.0, 0.1))),
    "no nesterov": (lambda p: optim.SGD(weights(), 0.1, *p), ((0.0, 0.0), (0.9, 0.1), (0.0, 0.1)),
                    ()),
    "parameters": (lambda p: optim.SGD(p, 0.1),
                   (weights(), tuple(weights("a", "b")), [{"params": weights()}]),
                   ([], None, 3, [3], [*weights(), {"params": weights("b")}],
                    weights("a", "a"), [{"params": []}], [{"params": [3]}], [{"params": None}])),
    "keys": (lambda keys: optim.SGD([{"params": weights(), **keys}], 0.1),
             ({}, {"lr": 0.2}, {"weight_decay": 0.1}, {"grad_centralization": True}),
             ({"rate": 1}, {"grad_centralization": 1}, {"order_params": weights()})),
    "rates of groups": (lambda r: optim.SGD([{"params": weights("a"), "lr": r},
                                             {"params": weights("b"), "lr": [0.1, 0.2]}], 0.1),
                        (0.1, [0.3, 0.4], Tensor([0.3, 0.4])), ([0.1], [0.1, 0.2, 0.3])),
    "eps of AdaFactor": (lambda e: optim.AdaFactor(weights(), eps=e), ((0.0, 0.0), [1e-30, 1e-3]),
                         ((1e-3,), (0.1, 0.1, 0.1), (-0.1, 0.1), (0.1, -0.1))),
    "decay of AdaFactor": (lambda d: optim.AdaFactor(weights(), weight_decay=d), (0.0, 0.99),
                           (-0.01, 1.0)),
    "decay rate of AdaFactor": (lambda d: optim.AdaFactor(weights(), decay_rate=d), (0.01, 0.99),
                                (0.0, 1.0)),
    "clipping of AdaFactor": (lambda c: optim.AdaFactor(weights(), clip_threshold=c), (0.0, 1.0),
                              (-0.1,)),
    "rate of AdaFactor": (lambda p: optim.AdaFactor(weights(), p[0], relative_step=p[1]),
                          ((None, True), (0.1, False)), ((None, False), (0.1, True))),
    "epsilon of LARS": (lambda e: optim.LARS(optim.SGD(weights(), 0.1), e), (0.0, 1e-5), (1, "a")),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limits(name):
    check_limits(*LIMITS[name], errors=(*ERRORS, KeyError))


def test_rates_and_decays_of_groups():
    a, b, c = weights("a", "b", "c")
    net = optim.SGD([{"params": [a], "lr": 0.5}, {"params": [b], "weight_decay": 0.25},
                     {"params": [c], "lr": 0.125, "weight_decay": 0.0}], 1.0, weight_decay=0.5)
    net(tuple(ops.zeros(2) for _ in range(3)))
    for parameter, rate, share in ((a, 0.5, 0.5), (b, 1.0, 0.25), (c, 0.125, 0.0)):
        np.testing.assert_allclose(parameter.asnumpy(), np.float32([1, -2]) * (1 - rate * share))
    assert net.decay_flags == (True, True, False)


def test_rates_of_steps_in_groups():
    a, b = weights("a", "b")
    net = optim.SGD([{"params": [a], "lr": [0.5, 0.25]}, {"params": [b]}], 1.0)
    for rate in (0.5, 0.25):
        before = a.asnumpy().copy(), b.asnumpy().copy()
        net((ops.ones(2), ops.ones(2)))
        np.testing.assert_allclose(before[0] - a.asnumpy(), rate)
        np.testing.assert_allclose(before[1] - b.asnumpy(), 1)
    with pytest.raises(RuntimeError, match="ends before step 2"):
        net((ops.ones(2), ops.ones(2)))


@pytest.mark.parametrize("scale", [1.0, 8.0])
def test_a_decay_that_depends_on_the_step(scale):
    w, other = weights("w", "o")
    alone = optim.SGD([w], 0.1, weight_decay=0.0, loss_scale=scale)
    assert not alone.exec_weight_decay
    net = optim.Adam([{"params": [other], "weight_decay": decay()}, {"params": [w]}], 0.1,
                     loss_scale=scale)
    found = net.decay_weight((ops.zeros(2), ops.zeros(2)))
    assert net.exec_weight_decay and net.dynamic_weight_decay
    np.testing.assert_allclose(found[0].asnumpy(), np.float32([1, -2]) * 0.5 * scale)
    np.testing.assert_allclose(found[1].asnumpy(), 0)
    with pytest.raises(TypeError, match="weight_decay"):
        optim.SGD(weights(), weight_decay=decay())


def test_the_order_of_parameters():
    a, b, c = weights("a", "b", "c")
    groups = [{"params": [a, b], "lr": 0.5}, {"params": [c]}]
    net = optim.SGD([*groups, {"order_params": [c, a, b]}], 1.0)
    assert [p.name for p in net.parameters] == ["c", "a", "b"]
    assert [float(rate) for rate in net.get_lr()] == [1.0, 0.5, 0.5]
    for order in ([c, a], [c, a, b, b], [c, a, *weights("d")], 3):
        with pytest.raises((ValueError, TypeError), match="order_params"):
            optim.SGD([*groups, {"order_params": order}], 1.0)
    with pytest.raises(ValueError, match="no other key"):
        optim.SGD([*groups, {"order_params": [c, a, b], "lr": 0.1}], 1.0)
    with pytest.raises(RuntimeError, match="twice"):
        optim.SGD([*groups, {"params": [a]}], 1.0)


@pytest.mark.parametrize("clipped", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.25])
def test_lars_scales_by_the_lengths(clipped, share):
    w, bias = weights("w", "bias")
    start, slope = w.asnumpy().copy(), np.float32([0.5, 3.0])
    net = optim.LARS(optim.SGD([w, bias], 0.5, weight_decay=share), 1e-3, 0.02, clipped)
    net((Tensor(slope), Tensor(slope)))
    long, steep = np.linalg.norm(start), np.linalg.norm(slope)
    factor = 0.02 * long / (steep + share * long + 1e-3)
    factor = min(factor / 0.5, 1) if clipped else factor
    np.testing.assert_allclose(w.asnumpy(), start - 0.5 * factor * (slope + share * start),
                               rtol=1e-5)
    np.testing.assert_allclose(bias.asnumpy(), start - 0.5 * slope, rtol=1e-6)


@pytest.mark.parametrize("gradients", [
    (ops.ones(2),), (ops.ones(2),) * 3, (ops.ones(2), ops.ones(3)), (ops.ones((2, 1)), ops.ones(2)),
    3, (1.0, 2.0), None])
def test_gradients_that_do_not_fit(gradients):
    net = optim.SGD(weights("a", "b"), 0.1)
    net((ops.ones(2), ops.ones(2)))
    with pytest.raises((ValueError, TypeError), match="gradient"):
        net(gradients)


def test_the_parts_of_a_target():
    net = optim.AdaFactor(weights())
    net.target = "CPU"
    assert net.target == "CPU"
    for wrong in (3, "TPU", "GPU" if ms.get_context("device_target") == "CPU" else "Ascend"):
        with pytest.raises((ValueError, TypeError), match="target"):
            net.target = wrong
