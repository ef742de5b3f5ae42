"""MLflowLogger and WandbLogger write to the real packages, without a network."""

from __future__ import annotations

import os
import sys

import pytest

from lamella import Tensor, train
from lamella.train.callback.base import InternalCallbackParam
from lamella.train.callback.tracking import _Tracker

from ...zygote import run as python

PROGRAM = """
import numpy as np
import lamella as ms
from lamella.train import MLflowLogger, Model, WandbLogger

x = np.ones((4, 2), np.float32)
data = ms.dataset.NumpySlicesDataset((x, x), shuffle=False).batch(1)
net = ms.nn.Dense(2, 2, "zeros", "zeros")
model = Model(net, ms.nn.MSELoss(), ms.nn.SGD(net.trainable_params(), 0.1), metrics={"mae"})
"""

MLFLOW = PROGRAM + """
import mlflow
mlflow.set_tracking_uri("file:runs")
model.fit(2, data, data, callbacks=MLflowLogger(2, {"rate": 0.1}, run_name="first"))
assert mlflow.active_run() is None
client = mlflow.MlflowClient()
(run,) = client.search_runs(["0"])
print(run.info.run_name, run.info.status, run.data.params)
print([m.step for m in client.get_metric_history(run.info.run_id, "loss")])
print(sorted(run.data.metrics))
with mlflow.start_run() as own:
    try:
        model.train(1, data, [MLflowLogger(), ms.train.LambdaCallback(
            on_train_step_end=lambda context: 1 / 0)])
    except ZeroDivisionError:
        pass
    assert mlflow.active_run() is not None
"""

WANDB = PROGRAM + """
import wandb
from wandb.sdk.wandb_run import Run
logger = WandbLogger(2, {"rate": 0.1}, project="tests", mode="offline", dir=".")
seen, real = [], Run.log
Run.log = lambda run, numbers, step: (seen.append((step, sorted(numbers))),
                                      real(run, numbers, step=step))
model.fit(1, data, data, callbacks=logger)
print(seen, wandb.run)
"""


def ran(program, tmp_path):
    done = python("-W", "ignore", "-c", program, cwd=tmp_path,
                  env={**os.environ, "MLFLOW_ALLOW_FILE_STORE": "true"})
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_mlflow_gets_parameters_losses_and_metrics(tmp_path):
    pytest.importorskip("mlflow", reason="mlflow-skinny isn't installed")
    lines = ran(MLFLOW, tmp_path)
    assert lines[0] == "first FINISHED {'rate': '0.1'}"
    assert lines[1:3] == ["[2, 4, 6, 8]", "['epoch', 'eval/mae', 'loss']"]


def test_wandb_gets_losses_and_metrics_offline(tmp_path):
    pytest.importorskip("wandb", reason="wandb isn't installed")
    lines = ran(WANDB, tmp_path)
    assert lines[-1] == "[(2, ['loss']), (4, ['loss']), (4, ['epoch', 'eval/mae'])] None"
    assert list(tmp_path.glob("wandb/offline-run-*/run-*.wandb"))


@pytest.mark.parametrize(("name", "package"), [("MLflowLogger", "mlflow"),
                                               ("WandbLogger", "wandb")])
def test_without_the_package_the_extra_is_named(name, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r"pip install lamella\[tracking\]"):
        getattr(train, name)()


class Kept(_Tracker):
    """Keeps what is logged; a run of the program may be there already."""

    def __init__(self, every=1, config=None, begins=True):
        super().__init__(every, config)
        self.begins, self.logged, self.ends = begins, [], []

    def _begin(self):
        return self.begins

    def _log(self, numbers, step):
        self.logged.append((step, numbers))

    def _end(self, failed):
        self.ends.append(failed)


def context(**known):
    return train.RunContext(InternalCallbackParam(known))


@pytest.mark.parametrize("every, wanted", [(1, [1, 2, 3, 4, 5, 6, 7]), (3, [3, 6]), (8, [])])
def test_losses_are_logged_after_every_so_many_steps(every, wanted):
    tracker = Kept(every)
    for step in range(1, 8):
        tracker.on_train_step_end(context(cur_step_num=step, net_outputs=step + 0.5))
    assert tracker.logged == [(step, {"loss": step + 0.5}) for step in wanted]


@pytest.mark.parametrize("outputs, wanted", [
    (2, 2.0), (0.25, 0.25), (Tensor([1.0, 2.0, 6.0]), 3.0),
    ((Tensor([[1.0, 2.0], [3.0, 8.0]]), Tensor([9.0])), 3.5), ((), None), (None, None),
    ("text", None)])
def test_the_loss_in_what_a_step_gave(outputs, wanted):
    tracker = Kept()
    tracker.on_train_step_end(context(cur_step_num=4, net_outputs=outputs))
    assert tracker.logged == ([] if wanted is None else [(4, {"loss": wanted})])
    assert all(type(numbers["loss"]) is float for _, numbers in tracker.logged)


@pytest.mark.parametrize("metrics, wanted", [
    (None, {}), ({}, {}), ({"mae": 0.5, "top": 3, "table": [1.0]}, {"eval/mae": 0.5,
                                                                   "eval/top": 3.0})])
def test_an_epoch_and_what_was_evaluated_are_logged(metrics, wanted):
    tracker = Kept()
    tracker.on_train_epoch_end(context(cur_epoch_num=2, cur_step_num=8, metrics=metrics))
    assert tracker.logged == [(8, {"epoch": 2.0, **wanted})]


@pytest.mark.parametrize("begins", [True, False])
def test_a_run_ends_once_and_only_where_it_begins_here(begins):
    tracker = Kept(begins=begins)
    tracker.on_train_end(context())
    assert tracker.ends == []  # it hasn't begun
    for error, failed in ((ValueError, True), (None, False)):
        tracker.on_train_begin(context())
        tracker.__exit__(error, None, None)
        tracker.on_train_end(context())
        assert tracker.ends == ([failed] if begins else [])
        tracker.ends.clear()
    tracker.on_train_begin(context())
    tracker.__exit__()
    assert tracker.ends == ([False] if begins else [])


@pytest.mark.parametrize("every, config, error", [
    (0, None, ValueError), (1.5, None, TypeError), (1, [], TypeError), (1, "x", TypeError)])
def test_arguments_of_trackers(every, config, error):
    with pytest.raises(error, match="'?every'?|'config'"):
        Kept(every, config)
    config = {"rate": 0.1}
    assert Kept(1, config)._config == config and Kept(1, config)._config is not config
    assert Kept(1, None)._config == Kept(1, {})._config == {}
