"""ModelCheckpoint: which files there are after which step, and what is in them."""

import os

import numpy as np
import pytest

import lamella as ms
from lamella import dataset, nn
from lamella.train import (
    BackupAndRestore,
    CheckpointConfig,
    LambdaCallback,
    Model,
    ModelCheckpoint,
    RunContext,
    background,
)
from lamella.train.callback import _InternalCallbackParam, checkpoint
from lamella.train.callback.checkpoint_files import CheckpointManager

from ...zygote import Started

X = np.arange(12, dtype=np.float32).reshape(6, 2)


def data(size=2):
    return dataset.NumpySlicesDataset((X, X[:, :1]), shuffle=False).batch(size)


def model():
    net = nn.Dense(2, 1)
    return Model(net, nn.MSELoss(), nn.Adam(net.trainable_params(), 0.01))


def test_steps_names_and_how_many_are_kept(tmp_path):
    made = model()
    config = CheckpointConfig(save_checkpoint_steps=2, keep_checkpoint_max=2,
                              append_info=["epoch_num", "step_num", {"lr": 0.5, "note": "a"}])
    callback = ModelCheckpoint("net", str(tmp_path), config)
    made.train(3, data(), callback)  # 9 steps
    assert sorted(os.listdir(tmp_path)) == ["net-3_2.ckpt", "net-3_3.ckpt"]
    assert callback.latest_ckpt_file_name == str(tmp_path / "net-3_3.ckpt")
    found = ms.load_checkpoint(callback.latest_ckpt_file_name)
    assert int(found["epoch_num"]) == 3 and int(found["step_num"]) == 9
    assert float(found["lr"]) == 0.5 and found["note"] == "a"
    assert {"weight", "bias", "moment1.weight", "global_step"} <= set(found)
    np.testing.assert_array_equal(found["weight"].asnumpy(), made._network.weight.asnumpy())
    # a second run doesn't touch the files of the first
    model().train(1, data(), ModelCheckpoint("net", str(tmp_path), CheckpointConfig(3)))
    assert sorted(os.listdir(tmp_path)) == ["net-3_2.ckpt", "net-3_3.ckpt", "net_1-1_3.ckpt"]
    assert ModelCheckpoint("net", str(tmp_path))._prefix == "net_2"


SAVING = """
import os, sys, time
import lamella as ms
from lamella.train import CheckpointConfig, ModelCheckpoint, RunContext
from lamella.train.callback import _InternalCallbackParam

net = ms.nn.Dense(2, 2)
callback = ModelCheckpoint("net", sys.argv[1], CheckpointConfig(keep_checkpoint_max=2))
print("ready", flush=True)
while not os.path.exists(sys.argv[2]):  # all begin at once
    time.sleep(0.001)
for step in range(1, 201):
    callback.step_end(RunContext(_InternalCallbackParam(
        train_network=net, cur_epoch_num=1, cur_step_num=step, batch_num=200)))
"""


def test_several_processes_save_into_one_folder(tmp_path):
    folder = tmp_path / "saved"
    processes = [Started("-c", SAVING, folder, tmp_path / "go") for _ in range(3)]
    assert [process.stdout.readline() for process in processes] == ["ready\n"] * 3
    (tmp_path / "go").touch()
    answers = [process.communicate(timeout=300)[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * 3, answers
    assert "can't be removed" not in "".join(answers)
    left = os.listdir(folder)
    assert "net-1_200.ckpt" in left and len(left) == 2
    assert set(ms.load_checkpoint(str(folder / "net-1_200.ckpt"))) == {"weight", "bias"}


def test_programs_save_in_a_way_of_their_own(tmp_path):
    class Own(ModelCheckpoint):  # as packages of language models derive theirs
        def _save_ckpt(self, cb_params, force_to_save=False):
            if cb_params.cur_step_num == self._last_triggered_step:
                return
            if self._need_flush_from_cache:
                self._flush_from_cache(cb_params)
            if self._check_save_ckpt(cb_params, force_to_save):
                self._manager.update_ckpoint_filelist(self._directory, self._prefix)
                if self._config.keep_checkpoint_max <= self._manager.ckpoint_num:
                    self._manager.remove_oldest_ckpoint_file()
                self._last_triggered_step = cb_params.cur_step_num
                ms.save_checkpoint(cb_params.train_network, os.path.join(
                    self._directory, f"{self._prefix}-{cb_params.cur_step_num}.ckpt"))

    callback = Own("own", str(tmp_path), CheckpointConfig(2, keep_checkpoint_max=2))
    params = _InternalCallbackParam(train_network=nn.Dense(1, 1), cur_epoch_num=1, batch_num=9)
    for step in range(1, 8):
        params.cur_step_num = step
        callback.step_end(RunContext(params))
    callback.end(RunContext(params))
    assert sorted(os.listdir(tmp_path)) == ["own-6.ckpt", "own-7.ckpt"]


def test_other_formats_networks_and_names(tmp_path):
    made = model()
    made.train(1, data(), ModelCheckpoint("s", str(tmp_path), CheckpointConfig(
        3, format="safetensors", saved_network=made._network)))
    found = ms.load_checkpoint(str(tmp_path / "s-1_3.safetensors"), format="safetensors")
    assert set(found) == {"weight", "bias"}
    made = model()
    made.train(1, data(), ModelCheckpoint(
        lambda params: f"at{params.cur_step_num}", lambda params: str(tmp_path / "deep"),
        CheckpointConfig(1, async_save=True, keep_checkpoint_max=9)))
    assert sorted(os.listdir(tmp_path / "deep")) == ["at1.ckpt", "at2.ckpt", "at3.ckpt"]


def test_a_run_that_fails_is_saved(tmp_path):
    def fail(run):
        if run.original_args().cur_step_num == 4:
            raise KeyboardInterrupt

    callback = ModelCheckpoint("net", str(tmp_path), CheckpointConfig(
        100, exception_save=True, append_info=["epoch_num", "step_num"]))
    with pytest.raises(KeyboardInterrupt):
        model().train(3, data(), [callback, LambdaCallback(on_train_step_end=fail)])
    assert os.listdir(tmp_path) == ["net-2_1_breakpoint.ckpt"]
    found = ms.load_checkpoint(str(tmp_path / "net-2_1_breakpoint.ckpt"))
    assert int(found["epoch_num"]) == 2 and "moment1.weight" in found


def test_a_run_that_fails_is_saved_in_the_format_of_the_others(tmp_path):
    def fail(run):
        raise KeyboardInterrupt

    for _ in range(2):  # the second file doesn't take the place of the first
        callback = ModelCheckpoint("net", str(tmp_path), CheckpointConfig(
            100, exception_save=True, format="safetensors"))
        with pytest.raises(KeyboardInterrupt):
            model().train(1, data(), [callback, LambdaCallback(on_train_step_end=fail)])
    names = ["net-1_1_breakpoint.safetensors", "net_1-1_1_breakpoint.safetensors"]
    assert sorted(os.listdir(tmp_path)) == names
    assert "weight" in ms.load_checkpoint(str(tmp_path / names[0]), format="safetensors")


def test_the_error_of_a_training_is_raised_where_it_can_not_be_saved(tmp_path, caplog):
    def fail(run):
        raise KeyboardInterrupt

    def broken(name):
        callback = ModelCheckpoint(name, str(tmp_path / name), CheckpointConfig(
            100, exception_save=True))
        os.rmdir(tmp_path / name)
        return callback

    good = ModelCheckpoint("good", str(tmp_path), CheckpointConfig(100, exception_save=True))
    with pytest.raises(KeyboardInterrupt):
        model().train(1, data(), [broken("a"), good, LambdaCallback(on_train_step_end=fail)])
    assert os.listdir(tmp_path) == ["good-1_1_breakpoint.ckpt"]


def test_each_run_of_a_callback_is_saved(tmp_path):
    made, rows = model(), data()
    callback = ModelCheckpoint("net", str(tmp_path), CheckpointConfig(save_checkpoint_steps=2))
    for _ in range(2):
        made.train(1, rows, callback)  # 3 steps
        assert sorted(os.listdir(tmp_path)) == ["net-1_2.ckpt", "net-1_3.ckpt"]
        found = ms.load_checkpoint(callback.latest_ckpt_file_name)
        np.testing.assert_array_equal(found["weight"].asnumpy(), made._network.weight.asnumpy())
        os.remove(tmp_path / "net-1_2.ckpt")


@pytest.mark.parametrize("most", [1, 2])
def test_an_old_file_stays_until_the_new_one_is_written(most, tmp_path, monkeypatch):
    """The background's writing is held up until after the step; then it fails for the last."""
    there, held, write = [], [], background.start
    monkeypatch.setattr(background, "start", lambda path, work: held.append((path, work)))
    callback = ModelCheckpoint("net", str(tmp_path), CheckpointConfig(
        1, keep_checkpoint_max=most, async_save=True))
    about = _InternalCallbackParam(train_network=nn.Dense(1, 1), cur_epoch_num=1, batch_num=9)
    for step in (1, 2, 3):
        about.cur_step_num = step
        callback.step_end(RunContext(about))
        there.append(len(os.listdir(tmp_path)))
        write(*held.pop())
        background.wait()
    assert there == [0, 1, most]
    callback.end(RunContext(about))
    assert sorted(os.listdir(tmp_path)) == [f"net-1_{n}.ckpt" for n in (1, 2, 3)][-most:]


def test_backup_and_restore(tmp_path):
    def fail(run):
        if run.original_args().cur_epoch_num == 3:
            raise OSError("power cut")

    interrupted = model()
    with pytest.raises(OSError, match="power cut"):
        interrupted.train(9, data(), [BackupAndRestore(str(tmp_path)),
                                      LambdaCallback(on_train_epoch_begin=fail)])
    kept = interrupted._network.weight.asnumpy()
    seen = []
    model().train(1, data(), [BackupAndRestore(str(tmp_path)), LambdaCallback(
        on_train_epoch_begin=lambda run: seen.append(
            run.original_args().network.weight.asnumpy().copy()))])
    np.testing.assert_array_equal(seen[0], kept)
    assert os.listdir(tmp_path) == []


def test_wrong_configurations():
    with pytest.raises(ValueError, match="can't be all None or 0"):
        CheckpointConfig(0, 0, 0, 0)
    with pytest.raises(ValueError, match="must be one of 'ckpt', 'safetensors', but got 'zip'"):
        CheckpointConfig(format="zip")
    with pytest.raises(NotImplementedError, match="encryption is not supported"):
        CheckpointConfig(enc_key=b"a")
    with pytest.raises(ValueError, match="can be 'epoch_num' and 'step_num', but got 'x'"):
        CheckpointConfig(append_info=["x"])
    with pytest.raises(TypeError, match="can hold only one dict"):
        CheckpointConfig(append_info=[{"a": 1}, {"b": 1}])
    with pytest.raises(ValueError, match="'prefix' must be a text without '/'"):
        ModelCheckpoint("a/b")
    with pytest.raises(TypeError, match="'config' must be a CheckpointConfig"):
        ModelCheckpoint(config={"keep": 3})


class Clock:
    """Stands for the module `time`: ten seconds pass with each step."""

    def __init__(self):
        self.now = 1e6

    def time(self):
        return self.now

    def ticking(self):
        def tick(run):
            self.now += 10
        return LambdaCallback(on_train_step_begin=tick)


@pytest.mark.parametrize("seconds, saved", [
    (5, ["1_1", "1_2", "1_3", "2_1", "2_2", "2_3", "3_1", "3_2", "3_3"]),
    (10, ["1_2", "2_1", "2_3", "3_2", "3_3"]), (25, ["1_3", "2_3", "3_3"]), (60, ["3_1", "3_3"])])
def test_a_file_after_so_many_seconds(seconds, saved, tmp_path, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(checkpoint, "time", clock)
    config = CheckpointConfig(save_checkpoint_steps=0, save_checkpoint_seconds=seconds,
                              keep_checkpoint_max=20)
    model().train(3, data(), [clock.ticking(), ModelCheckpoint("net", str(tmp_path), config)])
    assert sorted(os.listdir(tmp_path)) == [f"net-{name}.ckpt" for name in saved]


def test_of_the_files_of_some_minutes_the_oldest_is_kept(tmp_path):
    manager = CheckpointManager("ckpt")
    ages = {"a": 400, "b": 170, "c": 119, "d": 60, "e": 5}
    for name, age in ages.items():
        path = tmp_path / f"{name}.ckpt"
        path.touch()
        os.utime(path, (1e6 - age, 1e6 - age))
    manager.update_ckpoint_filelist(str(tmp_path), "")
    manager._ckpoint_filelist[:] = [str(tmp_path / f"{name}.ckpt") for name in "edcba"]
    manager.keep_one_ckpoint_per_minutes(1, 1e6)  # one of d's age isn't among them
    assert sorted(os.listdir(tmp_path)) == [f"{name}.ckpt" for name in "abcde"]
    manager.keep_one_ckpoint_per_minutes(2, 1e6)
    assert sorted(os.listdir(tmp_path)) == ["a.ckpt", "b.ckpt", "c.ckpt"]
    manager.keep_one_ckpoint_per_minutes(3, 1e6)
    assert sorted(os.listdir(tmp_path)) == ["a.ckpt", "b.ckpt"] and manager.ckpoint_num == 2


def test_one_file_is_kept_of_some_minutes_of_training(tmp_path):
    config = CheckpointConfig(save_checkpoint_steps=1, keep_checkpoint_max=0,
                              keep_checkpoint_per_n_minutes=5)
    model().train(2, data(), ModelCheckpoint("net", str(tmp_path), config))
    assert sorted(os.listdir(tmp_path)) == ["net-1_1.ckpt"]


@pytest.mark.filterwarnings("ignore:.*nothing is saved before the end:UserWarning")
@pytest.mark.parametrize("given, wanted", [
    ((1, 0, 5, 0), (1, None, 5, None)), ((0, 9, 5, 0), (0, 9, 5, None)),
    ((None, 9, 5, 3), (None, 9, 5, None)), ((2, 9, 0, 3), (2, None, 0, 3)),
    ((2, None, None, 3), (2, None, None, 3)), ((2, 0, 0, 0), (2, None, 1, 0)),
    ((0, 2, None, None), (0, 2, 1, None)), ((0, 0, 5, 0), (0, 0, 5, None)),
    ((None, None, None, 1), (None, None, None, 1))])
def test_rules_that_hold_together(given, wanted):
    """Steps go before seconds, numbers of files before minutes; without either, one is kept."""
    assert tuple(CheckpointConfig(*given).get_checkpoint_policy().values()) == (*wanted, None)


@pytest.mark.parametrize("steps, seconds, warns", [
    (0, 0, True), (None, None, True), (1, 0, False), (0, 1, False), (None, 1, False)])
def test_a_run_that_saves_only_at_its_end_is_warned_of(steps, seconds, warns, recwarn):
    CheckpointConfig(steps, seconds)
    assert any("nothing is saved before" in str(w.message) for w in recwarn) is warns


@pytest.mark.parametrize("argument, value, error", [
    ("save_checkpoint_steps", -1, ValueError), ("save_checkpoint_seconds", -1, ValueError),
    ("keep_checkpoint_max", -1, ValueError), ("keep_checkpoint_per_n_minutes", -1, ValueError),
    ("save_checkpoint_steps", 1.0, TypeError), ("keep_checkpoint_max", True, TypeError),
    ("integrated_save", 1, TypeError), ("crc_check", 1, TypeError),
    ("exception_save", 1, TypeError), ("remove_redundancy", 1, TypeError),
    ("async_save", "later", ValueError), ("async_save", 1, ValueError),
    ("saved_network", 1, TypeError), ("append_info", ("epoch_num",), TypeError),
    ("append_info", [1], TypeError), ("append_info", [{1: 2}], TypeError),
    ("append_info", [{"a": [1]}], TypeError), ("append_info", ["epoch"], ValueError)])
def test_each_argument_is_checked(argument, value, error):
    with pytest.raises(error, match=argument):
        CheckpointConfig(**{argument: value})


@pytest.mark.parametrize("argument, value", [
    ("async_save", True), ("async_save", "thread"), ("async_save", "process"), ("append_info", []),
    ("append_info", [{"a": 1, "b": 2.5, "c": "x", "d": ms.Tensor(1)}, "step_num"]),
    ("saved_network", nn.Dense(1, 1)), ("format", "safetensors")])
def test_arguments_that_are_right(argument, value):
    config = CheckpointConfig(**{argument: value})
    if argument == "append_info":
        assert (config.append_dict or {}) == ({} if not value else {**value[0], "step_num": 0})
    else:
        assert getattr(config, argument) is value


@pytest.mark.parametrize("config, saved", [
    (CheckpointConfig(1, keep_checkpoint_max=99), [1, 2, 3, 4, 5, 6, 7, 8]),
    (CheckpointConfig(3, keep_checkpoint_max=99), [3, 6, 8]),
    (CheckpointConfig(8, keep_checkpoint_max=99), [8]), (CheckpointConfig(9), [8]),
    (CheckpointConfig(3, keep_checkpoint_max=2), [6, 8]), (CheckpointConfig(1), [4, 5, 6, 7, 8])])
def test_steps_that_are_saved(config, saved, tmp_path):
    """The last one in any case, once."""
    callback = ModelCheckpoint("n", str(tmp_path), config)
    params = _InternalCallbackParam(train_network=nn.Dense(1, 1), batch_num=3)
    for step in range(1, 9):
        params.update(cur_step_num=step, cur_epoch_num=(step - 1) // 3 + 1)
        callback.step_end(RunContext(params))
        for number, name in enumerate(sorted(os.listdir(tmp_path))):  # written in this order
            os.utime(tmp_path / name, (number, number))
    callback.end(RunContext(params))
    assert sorted(os.listdir(tmp_path)) == sorted(
        f"n-{(step - 1) // 3 + 1}_{(step - 1) % 3 + 1}.ckpt" for step in saved)
    assert callback.latest_ckpt_file_name == str(tmp_path / "n-3_2.ckpt")
