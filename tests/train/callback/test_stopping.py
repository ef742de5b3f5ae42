"""EarlyStopping: when training ends, and what it says."""

import numpy as np
import pytest

from lamella import Tensor, dataset, nn
from lamella.train import Callback, EarlyStopping, Model, RunCheckpoint, RunContext
from lamella.train.callback import _InternalCallbackParam


def test_a_baseline_that_is_never_reached_ends_the_first_epoch(capsys):
    net = nn.Dense(2, 1)
    rows = dataset.NumpySlicesDataset((np.ones((4, 2), np.float32), np.ones((4, 1), np.float32)),
                                      shuffle=False).batch(2)
    stop = EarlyStopping("mae", verbose=True, baseline=-1.0)
    model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1), metrics={"mae"})
    model.fit(3, rows, rows, callbacks=stop)
    assert stop.stopped_epoch == 1 and EarlyStopping().stopped_epoch == 0
    assert capsys.readouterr().out.endswith("Epoch 00001: early stopping\n")


@pytest.mark.parametrize("verbose, value, said", [
    (True, 1.0, ["Epoch 00002: early stopping"]), (True, 2.0, []), (False, 1.0, [])])
def test_what_a_run_says_at_its_end(verbose, value, said, capsys):
    about = _InternalCallbackParam(train_network=nn.Dense(1, 1))
    run, stop = RunContext(about), EarlyStopping("acc", verbose=verbose)
    stop.on_train_begin(run)
    for about.cur_epoch_num, about.eval_results in ((1, {"acc": 1.0}), (2, {"acc": value})):
        stop.on_train_epoch_end(run)
    stop.on_train_end(run)
    assert run.get_stop_requested() is (value == 1.0)
    assert capsys.readouterr().out.splitlines() == said


@pytest.mark.parametrize("mode, baseline, patience, values, last, restored", [
    ("max", 1.6, 3, [1.0, 1.4, 1.6, 1.9], 3, 3), ("max", 1.6, 3, [1.0, 1.8, 1.6, 1.7, 1.5], 5, 2),
    ("min", 0.5, 2, [0.9, 0.4, 0.45, 0.6], 4, 2), ("min", 0.5, 2, [0.9, 0.7, 0.4], 2, 2),
    ("max", None, 0, [1.0, 1.1, 1.2, 1.2, 1.3], 4, 3), ("min", None, 1, [1.0, 1.1], 2, 1),
])
def test_when_it_ends_and_which_weights_are_restored(mode, baseline, patience, values, last,
                                                     restored, capsys):
    net, about = nn.Dense(1, 1), _InternalCallbackParam()
    about.train_network = net
    run = RunContext(about)
    stop = EarlyStopping("acc", 0, patience, True, mode, baseline, True)
    stop.on_train_begin(run)
    for epoch, value in enumerate(values, 1):
        about.cur_epoch_num, about.eval_results = epoch, {"acc": value}
        net.weight.set_data(Tensor(np.full((1, 1), epoch, np.float32)))
        stop.on_train_epoch_end(run)
        if run.get_stop_requested():
            break
    stop.on_train_end(run)
    assert (epoch, stop.stopped_epoch, float(net.weight[0, 0])) == (last, last, restored)
    assert capsys.readouterr().out.splitlines() == [
        "Restoring model weights from the end of the best epoch.",
        f"Epoch {last:05d}: early stopping"]
    stop.on_train_begin(run)
    assert (stop.wait, stop.stopped_epoch, stop.best_weights_param_dict) == (0, 0, None)


def test_the_best_weights_of_an_interrupted_run_are_known(tmp_path):
    """The best epoch was before the interruption."""
    def run(values, folder):
        net, at = nn.Dense(1, 1), iter(values)
        rows = dataset.NumpySlicesDataset((np.ones((2, 1), np.float32),) * 2).batch(1)
        stop = EarlyStopping("mae", patience=9, restore_best_weights=True)

        class Scores(Callback):
            def on_train_epoch_end(self, run_context):
                params = run_context.original_args()
                params.eval_results = {"mae": next(at)}
                net.weight.set_data(Tensor(np.full((1, 1), params.cur_epoch_num, np.float32)))
                if params.eval_results["mae"] is None:
                    raise KeyboardInterrupt
                if params.cur_epoch_num == 4:
                    stop.patience = 0

        model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.0))
        try:
            model.train(9, rows, [RunCheckpoint(str(folder), 1), Scores(), stop])
        except KeyboardInterrupt:
            return None
        return float(net.weight[0, 0])

    assert run([3.0, 1.0, None], tmp_path) is None  # in the third epoch, whose steps are saved
    assert run([2.0, 2.0], tmp_path) == 2
    assert run([3.0, 1.0, 2.0, 2.0], tmp_path / "whole") == 2
