"""A run that a signal asks to stop."""

import os
import signal

import numpy as np
import pytest

import lamella as ms

from ...zygote import run as python

PROGRAM = """
import os, signal, sys
import numpy as np
import lamella as ms
from lamella import dataset, nn
from lamella.train import LambdaCallback, Model, OnRequestExit

x = np.ones((8, 2), np.float32)
data = dataset.NumpySlicesDataset((x, x[:, :1]), shuffle=False).batch(2)
net = nn.Dense(2, 1)

def ask(run):
    step = run.original_args().cur_step_num
    print("step", step, flush=True)
    if step == 3 and len(sys.argv) > 1:
        os.kill(os.getpid(), signal.SIGTERM)

start = LambdaCallback(on_train_begin=lambda run: print("weight", net.weight.asnumpy().tolist()))
Model(net, nn.MSELoss(), nn.Adam(net.trainable_params(), 0.1)).train(
    2, data, [OnRequestExit(directory="."), start, LambdaCallback(on_train_step_begin=ask)])
print("end", signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)
"""


def run(folder, *arguments):
    done = python("-c", PROGRAM, *arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_step_is_finished_and_the_next_run_goes_on(tmp_path):
    lines = run(tmp_path, "stop")
    assert lines[1:] == ["step 1", "step 2", "step 3", "end True"]
    assert sorted(os.listdir(tmp_path / "rank_0")) == ["Net_train.ckpt", "Net_train.mindir"]
    kept = ms.load_checkpoint(str(tmp_path / "rank_0" / "Net_train.ckpt"))
    assert int(kept["global_step"]) == 3
    predict = ms.nn.GraphCell(ms.load(str(tmp_path / "rank_0" / "Net_train.mindir")))
    assert predict(ms.ops.ones((2, 2))).shape == (2, 1)
    lines = run(tmp_path)
    assert lines[0] == f"weight {np.asarray(kept['weight']).tolist()}" and len(lines) == 10


def test_sigkill_can_not_be_handled():
    with pytest.raises(ValueError, match="can't be SIGKILL"):
        ms.train.OnRequestExit(sig=signal.SIGKILL)


def test_an_evaluation_that_a_file_stops_is_saved_and_loaded(tmp_path):
    x = np.arange(16, dtype=np.float32).reshape(8, 2)
    data = ms.dataset.NumpySlicesDataset((x, x[:, :1]), shuffle=False).batch(2)
    file = tmp_path / "asked.json"
    steps, weights = [], []

    def made(weight):
        net = ms.nn.Dense(2, 1, weight_init=weight)
        return net, ms.train.Model(net, ms.nn.MSELoss(), metrics={"mae"})

    def watched(model, net, ask=None):
        steps.clear()

        def begins(run):
            weights.append(net.weight.asnumpy().ravel().tolist())

        def ends(run):
            steps.append(run.original_args().cur_step_num)
            if len(steps) == 2 and ask is not None:
                file.write_text(ask)

        exits = ms.train.OnRequestExit(save_mindir=False, directory=str(tmp_path),
                                       config_file=str(file))
        model.eval(data, [exits, ms.train.LambdaCallback(
            on_eval_begin=begins, on_eval_step_begin=ends)])
        return exits

    key = ms.train.OnRequestExit.key
    net, model = made("ones")
    for text, count in (("no json", 4), ("[1]", 4), (f'{{"{key}": 0}}', 4), (f'{{"{key}": 1}}', 2)):
        file.unlink(missing_ok=True)
        exits = watched(model, net, text)
        assert (len(steps), exits.exit) == (count, count == 2), text
        assert os.path.exists(f"{exits.eval_name}.ckpt") is (count == 2)
    file.unlink()
    weights.clear()
    net, model = made("zeros")
    watched(model, net)
    assert weights == [[1.0, 1.0]]
    os.rename(f"{exits.eval_name}.ckpt", f"{exits.train_name}.ckpt")
    net, model = made("zeros")
    watched(model, net)
    assert weights == [[1.0, 1.0]] * 2
