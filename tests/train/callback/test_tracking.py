"""MLflowLogger and WandbLogger write to the real packages, without a network."""

from __future__ import annotations

import os
import sys

import pytest

from lamella import train

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
