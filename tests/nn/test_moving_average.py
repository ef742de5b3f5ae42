"""ExponentialMovingAverage against its formula, compiled, and in checkpoints."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn


def network():
    return nn.SequentialCell(nn.Dense(3, 4), nn.BatchNorm1d(4), nn.Dense(4, 2))


def values(params):
    return [p.asnumpy().copy() for p in params]


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("warmup", [False, True])
def test_follows_its_formula(compiled, warmup):
    net = network().set_train()
    params = net.trainable_params()
    average = nn.ExponentialMovingAverage(params, 0.8, warmup)
    optimizer = nn.Adam(params, 0.1)
    gradient = ms.grad(lambda x: (net(x) ** 2).sum(), None, params)

    def step(x):
        optimizer(gradient(x))
        average()

    step = ms.jit(step) if compiled else step
    expected = values(params)
    for t in range(1, 6):
        step(ms.ops.randn(5, 3))
        decay = min(0.8, (1 + t) / (10 + t)) if warmup else 0.8
        expected = [decay * a + (1 - decay) * p
                    for a, p in zip(expected, values(params), strict=True)]
        for mine, want in zip(average.average, expected, strict=True):
            np.testing.assert_allclose(mine.asnumpy(), want, rtol=1e-5, atol=1e-6)


def test_applied_gives_the_weights_back_also_after_an_error():
    net = network()
    params = net.trainable_params()
    average = nn.ExponentialMovingAverage(params, 0.5)
    averages = values(average.average)
    for p in params:
        p.set_data(p + 1)
    own = values(params)
    with pytest.raises(KeyError), average.applied():
        for got, want in zip(values(params), averages, strict=True):
            np.testing.assert_array_equal(got, want)
        raise KeyError
    for got, want in zip(values(params), own, strict=True):
        np.testing.assert_array_equal(got, want)


def test_is_saved_and_loaded(tmp_path):
    net = network()
    average = nn.ExponentialMovingAverage(net.trainable_params())
    net[0].weight.set_data(net[0].weight + 1)
    average()
    ms.save_checkpoint(average, str(tmp_path / "a.ckpt"))
    again = nn.ExponentialMovingAverage(net.trainable_params())
    assert ms.load_param_into_net(again, ms.load_checkpoint(str(tmp_path / "a.ckpt"))) == ([], [])
    for a, b in zip(values(average.average), values(again.average), strict=True):
        np.testing.assert_array_equal(a, b)
    assert int(again.steps) == 1


@pytest.mark.parametrize(("params", "decay", "error", "message"), [
    ([], 0.9, ValueError, "'params' must hold a Parameter at least"),
    ([Tensor([1.0])], 0.9, TypeError, "must hold Parameters of floating-point types"),
    ([ms.Parameter(Tensor([1]))], 0.9, TypeError, "must hold Parameters of floating-point types"),
    ([ms.Parameter(Tensor([1.0]))], 1.5, ValueError, "'decay' must be"),
    ([ms.Parameter(Tensor([1.0]))], 1, TypeError, "'decay' must be"),
])
def test_errors(params, decay, error, message):
    with pytest.raises(error, match=message):
        nn.ExponentialMovingAverage(params, decay)
