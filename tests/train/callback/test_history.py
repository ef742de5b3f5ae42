"""History: what it keeps of each form of output, and the metrics."""

import pytest

import lamella as ms
from lamella import Tensor
from lamella.train import History, RunContext
from lamella.train.callback import _InternalCallbackParam


def context(**known):
    return RunContext(_InternalCallbackParam(known))


@pytest.mark.parametrize("output, kept", [
    (Tensor(2.5), 2.5), (Tensor([1.0, 2.0, 6.0]), 3.0), ((Tensor([1.0, 3.0]), Tensor(9.0)), 2.0),
    ([Tensor([[1.0, 3.0], [4.0, 8.0]])], 4.0), ((), ()), ((7, Tensor(1.0)), (7, Tensor(1.0))),
    (0.5, 0.5), (Tensor([1.0, 2.0], ms.bfloat16), 1.5), (Tensor([1, 2]), 1.5), (None, None)],
    ids=range(10))
def test_outputs(output, kept):
    history = History()
    history.begin(context())
    history.epoch_end(context(cur_epoch_num=3, net_outputs=output))
    assert history.history == {"net_output": [kept]} and history.epoch == {"epoch": [3]}
    assert isinstance(kept, float) is isinstance(history.history["net_output"][0], float)


def test_metrics_of_the_epochs_that_have_some():
    history = History()
    assert history.epoch is None and history.history == {}
    for epoch, metrics in ((1, None), (2, {"mae": 0.5, "acc": 1.0}), (4, {}), (5, {"mae": 0.25})):
        history.epoch_end(context(cur_epoch_num=epoch, net_outputs=float(epoch), metrics=metrics))
    assert history.epoch == {"epoch": [1, 2, 4, 5]}
    assert history.history == {"net_output": [1.0, 2.0, 4.0, 5.0], "mae": [0.5, 0.25],
                               "acc": [1.0]}
    history.begin(context())
    history.epoch_end(context(net_outputs=3.0))
    assert history.epoch == {"epoch": [1]} and history.history["net_output"][-1] == 3.0
