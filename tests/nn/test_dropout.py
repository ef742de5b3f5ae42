"""Dropout in training: how much is zeroed, what is scaled, what the seed does."""

import numpy as np
import pytest

import lamella as ms
from lamella import nn


@pytest.mark.parametrize("make", [
    lambda: nn.Dropout(p=0.3), lambda: nn.Dropout(keep_prob=0.7), lambda: nn.DropoutExt(0.3)])
def test_share_and_scale(make):
    x = ms.ops.ones((100, 200))
    out = make().set_train()(x).asnumpy()
    assert set(np.unique(out)) == {np.float32(0), np.float32(1 / 0.7)}
    assert (out == 0).mean() == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize(("make", "shape"), [
    (lambda: nn.Dropout1d(0.4), (40, 50, 3)), (lambda: nn.Dropout2d(0.4), (40, 50, 2, 2)),
    (lambda: nn.Dropout3d(0.4), (40, 50, 2, 1, 2)), (lambda: nn.Dropout2dExt(0.4), (40, 50, 2, 2))])
def test_channels_go_together(make, shape):
    out = make().set_train()(ms.ops.ones(shape)).asnumpy().reshape(40 * 50, -1)
    assert (out == out[:, :1]).all()
    assert (out[:, 0] == 0).mean() == pytest.approx(0.4, abs=0.05)
    assert out.max() == pytest.approx(1 / 0.6)


def test_gradient_passes_where_the_element_stayed():
    net = nn.Dropout(p=0.5).set_train()
    x = ms.ops.ones(1000)
    out, gradient = ms.value_and_grad(lambda t: net(t).sum())(x)
    assert out.item() == gradient.sum().item()
    assert set(np.unique(gradient.asnumpy())) == {np.float32(0), np.float32(2)}


def test_the_seed_repeats():
    net, x = nn.Dropout(p=0.5).set_train(), ms.ops.ones(100)
    ms.set_seed(5)
    first, second = net(x), net(x)
    ms.set_seed(5)
    assert (net(x) == first).all() and not (first == second).all()


def test_nothing_happens_without_training_or_probability():
    x = ms.ops.ones(3)
    assert nn.Dropout(p=0.5)(x) is x
    assert nn.Dropout(p=0.0).set_train()(x) is x
    assert nn.Dropout(keep_prob=1.0).set_train()(x) is x
