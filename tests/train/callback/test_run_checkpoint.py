"""Where RunCheckpoint goes on, with data that has no state of its own, and when it saves."""

import numpy as np
import pytest

import lamella as ms
from lamella.train import Callback, RunCheckpoint
from lamella.train.callback.base import InternalCallbackParam
from lamella.train.resume import save_run


class Rows:
    """Epochs of four rows; counts those that are read."""

    def __init__(self):
        self.epochs = []

    def __iter__(self):
        self.epochs.append(0)
        for row in range(4):
            self.epochs[-1] += 1
            yield row


class Remembers(Callback):
    state = None

    def load_state_dict(self, state):
        self.state = state


class Manager:
    scale = 1.0


@pytest.mark.parametrize("begun, epoch, step, epochs", [
    (1, 3, 9, [4, 4, 1]), (1, 1, 3, [3]), (1, 2, 8, [4, 4]), (2, 4, 14, [4, 4, 2]),
    (3, 3, 12, [4])])
def test_rows_before_the_step_are_passed_over(begun, epoch, step, epochs, tmp_path):
    saved, net = ms.nn.Dense(2, 1, "ones"), ms.nn.Dense(2, 1, "zeros")
    save_run(str(tmp_path / f"run-{step}.ckpt"), saved, epoch=epoch, cur_step_num=step,
             loss_scale={"scale": 8.0}, callbacks=[None, {"best": 3}])
    rows, first, second, manager = Rows(), Remembers(), Remembers(), Manager()
    params = InternalCallbackParam(train_network=net, cur_epoch_num=begun, cur_step_num=0,
                                   batch_num=4, loss_scale_mananger=manager,
                                   list_callback=[first, second])
    assert RunCheckpoint(str(tmp_path)).restore(params, rows) is True
    assert rows.epochs == epochs and (params.cur_epoch_num, params.cur_step_num) == (epoch, step)
    assert net.weight.asnumpy().tolist() == [[1.0, 1.0]] and manager.scale == 8.0
    assert (first.state, second.state) == (None, {"best": 3})


def test_a_folder_without_files_changes_nothing(tmp_path):
    params = InternalCallbackParam(train_network=ms.nn.Dense(2, 1), cur_epoch_num=1,
                                   cur_step_num=0)
    rows = Rows()
    assert RunCheckpoint(str(tmp_path / "new")).restore(params, rows) is False
    assert rows.epochs == [] and (params.cur_epoch_num, params.cur_step_num) == (1, 0)


@pytest.mark.parametrize("removes", [True, False])
def test_files_are_removed_at_the_end_where_that_is_asked_for(removes, tmp_path):
    for step in (2, 4):
        save_run(str(tmp_path / f"run-{step}.ckpt"), ms.nn.Dense(2, 1))
    np.save(tmp_path / "own.npy", np.ones(1))
    RunCheckpoint(str(tmp_path), delete_at_end=removes).on_train_end(None)
    left = [] if removes else ["run-2.ckpt", "run-4.ckpt"]
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(["own.npy", *left])
