"""Callbacks that change the learning rate: what it is after each epoch or step."""

import pytest

import lamella as ms
from lamella import nn, train
from lamella.train.callback import _InternalCallbackParam


def rates(callback, values, rate=1.0, name="eval_loss"):
    """The learning rate after each epoch, by the values that are watched."""
    optimizer = nn.SGD(nn.Dense(1, 1).trainable_params(), rate)
    found = []
    for epoch, value in enumerate(values, 1):
        params = _InternalCallbackParam(optimizer=optimizer, cur_epoch_num=epoch,
                                        eval_results={name: value})
        if epoch == 1:
            callback.on_train_begin(train.RunContext(params))
        callback.on_train_epoch_end(train.RunContext(params))
        found.append(round(float(optimizer.learning_rate.asnumpy()), 6))
    return found


def test_a_rate_falls_after_patience_rests_and_stays_at_its_least():
    callback = train.ReduceLROnPlateau(factor=0.5, patience=2, min_delta=0.1, cooldown=2,
                                       min_lr=0.15)
    # 4.95 and 4.92 are no improvement of 0.1; the second epoch of a rest counts for the next fall
    values = [5.0, 4.95, 4.92, 4.92, 4.92, 4.92, 4.5, 4.5, 4.5, 4.5, 4.5, 4.5, 4.5]
    wanted = [1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.15, 0.15, 0.15, 0.15, 0.15]
    assert rates(callback, values) == wanted
    assert rates(callback, values) == wanted  # a second run begins anew


@pytest.mark.parametrize("cooldown, wanted", [
    (0, [1.0, 0.2, 0.04, 0.008, 0.0016]), (1, [1.0, 0.2, 0.04, 0.008, 0.0016]),
    (2, [1.0, 0.2, 0.2, 0.04, 0.04]), (3, [1.0, 0.2, 0.2, 0.2, 0.04])])
def test_a_rest_of_some_epochs(cooldown, wanted):
    callback = train.ReduceLROnPlateau(factor=0.2, patience=1, cooldown=cooldown)
    assert rates(callback, [3.0] * 5) == wanted


@pytest.mark.parametrize("mode, values, wanted", [
    ("max", [1.0, 2.0, 3.0, 3.0, 2.0], [1.0, 1.0, 1.0, 0.1, 0.01]),
    ("min", [1.0, 2.0, 0.5, 0.5, 0.4], [1.0, 0.1, 0.1, 0.01, 0.01])])
def test_which_direction_is_better(mode, values, wanted):
    callback = train.ReduceLROnPlateau("mae", patience=1, mode=mode)
    assert rates(callback, values, name="mae") == wanted


@pytest.mark.parametrize("verbose", [False, True])
def test_only_a_rate_that_falls_is_told(verbose, capsys):
    callback = train.ReduceLROnPlateau(factor=0.5, patience=1, verbose=verbose, min_lr=0.25)
    assert rates(callback, [1.0] * 5, 0.5) == [0.5, 0.25, 0.25, 0.25, 0.25]
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["Epoch 00002: ReduceLROnPlateau reducing learning rate to 0.25."] * verbose


@pytest.mark.parametrize("patience", [1, 2, 3])
def test_each_fall_waits_anew(patience):
    """Without a rest: after the first epoch, one for each so many that are not better."""
    found = rates(train.ReduceLROnPlateau(factor=0.5, patience=patience), [1.0] * 8)
    assert found == [round(0.5 ** (epoch // patience), 6) for epoch in range(8)]


def test_a_rate_below_the_least_is_left():
    assert rates(train.ReduceLROnPlateau(patience=1, min_lr=0.5), [1.0] * 3, 0.125) == [0.125] * 3


@pytest.mark.parametrize("factor", [0.0, 1.0])
def test_a_factor_lies_between_0_and_1(factor):
    with pytest.raises(ValueError, match="factor"):
        train.ReduceLROnPlateau(factor=factor)


def test_a_schedule_is_called_with_the_rate_as_it_was_written():
    seen = []

    def fall(rate, step):
        seen.append((rate, step))
        return rate if step == 2 else rate / 4

    optimizer = nn.SGD(nn.Dense(1, 1).trainable_params(), 0.1)
    for step in (1, 2, 3):
        train.LearningRateScheduler(fall).step_end(train.RunContext(
            _InternalCallbackParam(optimizer=optimizer, cur_step_num=step)))
    assert seen == [(0.1, 1), (0.025, 2), (0.025, 3)]
    assert float(optimizer.learning_rate.asnumpy()) == pytest.approx(0.00625)
    schedule = nn.SGD(nn.Dense(1, 1).trainable_params(), nn.ExponentialDecayLR(0.1, 0.9, 4))
    for callback in (train.LearningRateScheduler(fall), train.ReduceLROnPlateau()):
        with pytest.raises(ValueError, match=f"For '{type(callback).__name__}', the optimizer's"):
            for turn in (callback.step_end, callback.on_train_epoch_end):
                turn(train.RunContext(_InternalCallbackParam(
                    optimizer=schedule, cur_step_num=1, cur_epoch_num=1,
                    eval_results={"eval_loss": ms.Tensor(1.0)})))
