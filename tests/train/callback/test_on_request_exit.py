"""A run that a signal asks to stop."""

import os
import signal

import numpy as np
import pytest

import lamella as ms
from lamella.train import OnRequestExit
from lamella.train.callback.base import InternalCallbackParam

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


def context(**known):
    return ms.train.RunContext(InternalCallbackParam(known))


@pytest.mark.parametrize("loss_fn, mode, count", [
    ("loss", "train", 1), (None, "train", 2), (None, "eval", 1), ("loss", "eval", 1)])
def test_a_network_without_loss_takes_no_label(loss_fn, mode, count):
    params = context(loss_fn=loss_fn, mode=mode).original_args()
    assert OnRequestExit._inputs(params, ("x", "y")) == ("x", "y")[:count]


def test_a_signal_stops_each_kind_of_run_and_is_given_back(tmp_path):
    before = signal.getsignal(signal.SIGUSR1)
    with OnRequestExit(directory=str(tmp_path), sig=signal.SIGUSR1) as exits:
        for step_end in (exits.on_train_step_end, exits.on_eval_step_end):
            exits.exit = False
            run = context()
            step_end(run)
            assert not run.get_stop_requested()
            signal.raise_signal(signal.SIGUSR1)
            step_end(run)
            assert run.get_stop_requested()
    assert signal.getsignal(signal.SIGUSR1) == before


@pytest.mark.parametrize("asked, row, ckpt, mindir, names", [
    (False, "row", True, True, []), (True, None, True, True, []), (True, "row", True, False,
                                                                   ["ckpt"]),
    (True, "row", False, True, ["mindir"]), (True, "row", False, False, [])])
def test_what_is_saved_at_the_end(asked, row, ckpt, mindir, names, tmp_path):
    net = ms.nn.Dense(3, 1)
    exits = OnRequestExit(ckpt, mindir, "Own", str(tmp_path))
    exits.exit = asked
    rows = (ms.ops.ones((2, 3)), ms.ops.ones((2, 1))) if row else None
    known = dict(train_network=net, eval_network=net, network=net, loss_fn="loss", mode="train",
                 train_dataset_element=rows, eval_dataset_element=rows)
    exits.on_train_end(context(**known))
    assert sorted(os.listdir(tmp_path / "rank_0")) == [f"Own_train.{name}" for name in names]
    exits.on_eval_end(context(**known))
    assert sorted(os.listdir(tmp_path / "rank_0")) == sorted(
        f"Own_{part}.{name}" for name in names for part in ("train", "eval"))


@pytest.mark.parametrize("loads", [True, False])
def test_what_is_loaded_when_a_run_begins(loads, tmp_path):
    exits = OnRequestExit(loads, directory=str(tmp_path))
    saved, net = ms.nn.Dense(2, 1, "ones"), ms.nn.Dense(2, 1, "zeros")
    assert exits._load(net, exits.train_name) is False
    ms.save_checkpoint(saved, exits.train_name)
    exits.on_train_begin(context(train_network=net))
    assert float(net.weight.sum()) == (2 if loads else 0)
    assert exits._load(net, exits.train_name) is loads


def test_the_current_folder_by_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert OnRequestExit(directory=None).eval_name == str(tmp_path / "rank_0" / "Net_eval")
    assert OnRequestExit().train_name.endswith("rank_0/Net_train")
