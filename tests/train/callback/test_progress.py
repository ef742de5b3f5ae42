"""ProgressBar: what it draws, also of an evaluation and of a training that is stopped."""

import io

import numpy as np
import pytest

import lamella as ms
from lamella import dataset, nn
from lamella.train import LambdaCallback, Model, ProgressBar
from lamella.train.callback import progress as showing

X = np.ones((6, 2), np.float32)


def drawn(run):
    net, screen = nn.Dense(2, 2, "ones", "zeros"), io.StringIO()
    model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.0), metrics={"mse"})
    run(model, dataset.NumpySlicesDataset((X, X), shuffle=False).batch(2), ProgressBar(screen))
    return screen.getvalue()


def test_bars_of_two_epochs_with_loss_and_metrics():
    text = drawn(lambda model, data, bar: model.fit(2, data, data, callbacks=bar))
    assert "epoch 1 of 2: 100%" in text and "epoch 2 of 2: 100%" in text
    assert "3/3" in text and "loss=1" in text and "mse=2" in text  # of two columns


def test_a_training_that_is_stopped_ends_its_bar():
    stop = LambdaCallback(on_train_step_end=lambda context: context.request_stop())
    text = drawn(lambda model, data, bar: model.train(2, data, [bar, stop]))
    assert "1/3" in text and "epoch 2" not in text


def test_vision_is_reached_by_transforms_too():
    assert ms.dataset.transforms.vision is ms.dataset.vision


@pytest.mark.parametrize(("arguments", "message"), [
    ({"file": "bad"}, "'file' must have a method 'write', but got 'bad'"),
    ({"leave": None}, "'leave' must be bool"),
])
def test_wrong_arguments(arguments, message):
    with pytest.raises(TypeError, match=message):
        ProgressBar(**arguments)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("terminal", "callbacks", "progress", "shows"), [
    (True, None, None, True), (False, None, None, False), (True, None, False, False),
    (False, None, True, True), (True, [ms.train.LossMonitor(9)], None, False),
    (True, ms.train.History(), None, True)])
@pytest.mark.parametrize("method", ["train", "fit"])
def test_a_bar_by_default_on_a_terminal(terminal, callbacks, progress, shows, method, monkeypatch):
    screen = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr("sys.stderr", screen)
    drawn(lambda model, data, _: getattr(model, method)(1, data, callbacks=callbacks,
                                                        progress=progress))
    assert ("epoch 1 of 1" in screen.getvalue()) is shows


def test_only_the_first_process_shows_one(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("RANK_ID", "1")
    drawn(lambda model, data, _: model.train(1, data))
    assert not screen.getvalue()


def test_progress_must_be_a_bool():
    with pytest.raises(TypeError, match="'progress' must be bool"):
        drawn(lambda model, data, _: model.train(1, data, progress="yes"))


@pytest.mark.parametrize("file, wanted", [
    (Terminal(), True), (io.StringIO(), False), (None, False), (object(), False)])
def test_what_is_a_terminal(file, wanted):
    assert showing._is_terminal(file) is wanted


def test_a_closed_file_is_no_terminal():
    file = io.StringIO()
    file.close()
    assert showing._is_terminal(file) is False
