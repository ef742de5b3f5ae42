"""Whether the parts of a Model fit together: columns, optimizers, losses."""

import warnings

import pytest

import lamella as ms
from lamella import nn, ops
from lamella.train.fitting import check_columns, check_parts, warn_of_no_optimizer


class Takes(nn.Cell):
    def construct(self, x, y, z=None):
        return x


@pytest.mark.parametrize("network, count, fits", [
    (Takes(), 1, False), (Takes(), 2, True), (Takes(), 3, True), (Takes(), 4, False),
    (nn.ReLU(), 1, True), (nn.ReLU(), 2, False), (nn.ReLU(), 0, False)])
def test_a_network_takes_each_column(network, count, fits):
    if fits:
        check_columns(network, count)
    else:
        name = type(network).__name__
        with pytest.raises(ValueError, match=f"has {count} columns, but {name} takes .*loss_fn"):
            check_columns(network, count)


def test_losses_and_optimizers():
    net = nn.Dense(1, 1)
    for loss in (None, nn.MSELoss(), ops.mse_loss):
        for optimizer in (None, nn.SGD(net.trainable_params(), 0.1)):
            check_parts(loss, optimizer)
    with pytest.raises(TypeError, match="'loss_fn' must be a Cell or a function"):
        check_parts("mse", None)
    for optimizer in ("sgd", ops.mse_loss, 3):
        with pytest.raises(TypeError, match="'optimizer' must be an optimizer"):
            check_parts(None, optimizer)


class Holds(nn.Cell):
    def __init__(self, value):
        super().__init__()
        self.inner = nn.SequentialCell(nn.Dense(1, 1))
        self.value = value

    def construct(self, x):
        return self.inner(x)


@pytest.mark.parametrize("make, warns", [
    (lambda net: None, True), (lambda net: 3, True), (lambda net: nn.Adam, True),
    (lambda net: nn.ReLU(), True), (lambda net: nn.SGD(net.trainable_params(), 0.1), False),
    (lambda net: lambda gradients: gradients, False),  # it may hold one
    (lambda net: ms.mint.optim.AdamW(net.trainable_params(), 0.1), False)])
def test_a_network_without_an_optimizer_is_warned_of_once(make, warns):
    network = Holds(make(nn.Dense(1, 1)))
    for turn in range(2):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            warn_of_no_optimizer(network, "Model.train")
        told = [str(w.message) for w in seen]
        assert len(told) == (warns and turn == 0)
        if told:
            assert "For 'Model.train', the Model has no 'optimizer', and Holds has none" in told[0]
