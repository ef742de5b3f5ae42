"""LossMonitor and TimeMonitor: when they print, and what, on a clock of their own."""

import numpy as np
import pytest

from lamella import Tensor, train
from lamella.train.callback import monitors
from lamella.train.callback.base import InternalCallbackParam


def context(**known):
    return train.RunContext(InternalCallbackParam(known))


def printed_steps(monitor, steps, capsys, of=4, outputs=0.5):
    for step in steps:
        monitor.step_end(context(cur_epoch_num=(step - 1) // of + 1, cur_step_num=step,
                                 batch_num=of, net_outputs=outputs))
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("each, want", [(0, []), (1, list(range(1, 10))), (2, [2, 4, 6, 8]),
                                        (3, [3, 6, 9]), (9, [9]), (10, [])])
def test_losses_are_printed_each_so_many_steps(each, want, capsys):
    lines = printed_steps(train.LossMonitor(each), range(1, 10), capsys)
    assert lines == [f"epoch: {(n - 1) // 4 + 1} step: {(n - 1) % 4 + 1}, loss is 0.5"
                     for n in want]


def test_several_steps_at_once_and_a_new_run(capsys):
    monitor = train.LossMonitor(4)
    assert len(printed_steps(monitor, [3, 6, 9, 10, 12], capsys)) == 2  # at 6 and 10
    # a run that begins again counts from the last multiple
    lines = printed_steps(monitor, [2, 3, 4, 5], capsys)
    assert lines == ["epoch: 1 step: 4, loss is 0.5"]
    # one that goes on from step 6 of an earlier one
    monitor = train.LossMonitor(4)
    monitor._last_print_time = 100
    assert printed_steps(monitor, [6, 7, 8, 9], capsys) == ["epoch: 2 step: 4, loss is 0.5"]


@pytest.mark.parametrize("outputs, shown", [
    (Tensor([1.0, 4.0]), "2.5"), ((Tensor(1.5), Tensor(9.0)), "1.5"), (3, "3"),
    ([], "[]"), (((2,),), "((2,),)")])
def test_the_loss_of_what_a_step_gave(outputs, shown, capsys):
    line, = printed_steps(train.LossMonitor(), [1], capsys, outputs=outputs)
    assert line == f"epoch: 1 step: 1, loss is {shown}"


@pytest.mark.parametrize("each", [0, 5])
@pytest.mark.parametrize("loss", [np.nan, np.inf, -np.inf])
def test_no_number_ends_the_run_though_nothing_is_printed(each, loss, capsys):
    with pytest.raises(ValueError, match="In epoch: 2 step: 3, loss is NAN or INF"):
        printed_steps(train.LossMonitor(each), [7], capsys, outputs=Tensor([loss, 1.0]))


@pytest.mark.parametrize("each, error", [(-1, ValueError), (1.0, TypeError), (True, TypeError)])
def test_how_often_is_a_count(each, error):
    with pytest.raises(error, match="per_print_times"):
        train.LossMonitor(each)


def test_metrics_of_an_evaluation(capsys):
    for metrics in (None, {}, {"acc": 0.5}):
        train.LossMonitor().on_train_epoch_end(context(cur_epoch_num=3, metrics=metrics))
    train.LossMonitor().on_train_epoch_end(context(cur_epoch_num=3))
    assert capsys.readouterr().out == "Eval result: epoch 3, metrics: {'acc': 0.5}\n"


class Clock:
    """Time that goes on only when it is told."""

    def __init__(self):
        self.now = 1000.0

    def time(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(monitors, "time", made)
    return made


def epoch(monitor, clock, waits, works, **known):
    """An epoch whose steps wait for their data, and then work, for so many seconds."""
    monitor.epoch_begin(context())
    for wait, work in zip(waits, works, strict=True):
        clock.now += wait
        monitor.on_train_step_begin(context())
        clock.now += work
        monitor.on_train_step_end(context())
    clock.now += 1
    monitor.epoch_end(context(**known))


@pytest.mark.parametrize("interrupted", [False, True])
def test_an_evaluation_is_not_in_the_time_of_training(interrupted, clock, capsys):
    """Whatever it takes to evaluate."""
    monitor = train.TimeMonitor(data_time=True)
    for before in range(interrupted, -1, -1):
        monitor.on_train_begin(context())
        monitor.on_train_epoch_begin(context())
        for wait in (2, 0.5):
            clock.now += wait
            monitor.on_train_step_begin(context())
            clock.now += 1
            monitor.on_train_step_end(context())
        if before:
            continue
        monitor.on_eval_epoch_begin(context())
        clock.now += 100
        monitor.on_eval_epoch_end(context(batch_num=4, mode="eval"))
        clock.now += 0.5
        monitor.on_train_epoch_end(context(batch_num=2, mode="train"))
    assert capsys.readouterr().out.splitlines() == [
        "Eval epoch time: 100000.000 ms, per step time: 25000.000 ms (data time: 0.000 ms)",
        "Train epoch time: 5000.000 ms, per step time: 2500.000 ms (data time: 1250.000 ms)"]
    assert monitor._outer == []


def test_times_of_epochs(clock, capsys):
    monitor = train.TimeMonitor(data_time=True)
    epoch(monitor, clock, [2, 0.5], [1, 3.5], batch_num=2, mode="train")
    epoch(monitor, clock, [0.25, 0.25], [1, 1.5], batch_num=2, mode="train")
    assert capsys.readouterr().out.splitlines() == [
        "Train epoch time: 8000.000 ms, per step time: 4000.000 ms (data time: 1250.000 ms)",
        "Train epoch time: 4000.000 ms, per step time: 2000.000 ms (data time: 250.000 ms)"]
    # of an evaluation, whose steps don't tell how long they wait
    monitor.epoch_begin(context())
    clock.now += 4
    monitor.epoch_end(context(batch_num=4, mode="eval"))
    assert capsys.readouterr().out == ("Eval epoch time: 4000.000 ms, per step time: 1000.000 ms "
                                       "(data time: 0.000 ms)\n")


def test_a_step_before_any_epoch_has_waited_since_time_began(clock, capsys):
    monitor = train.TimeMonitor(data_time=True)
    clock.now += 3
    monitor.on_train_step_begin(context())
    monitor.epoch_end(context(batch_num=1))
    assert capsys.readouterr().out == (" epoch time: 3000.000 ms, per step time: 3000.000 ms "
                                       "(data time: 1003000.000 ms)\n")


@pytest.mark.parametrize("size, known, steps", [
    (None, 4, 4), (2, 4, 4), (2, 1, 1), (2, 0, 2), (2, -1, 2), (2, None, 2), (2, 2.5, 2),
    (2, ..., 2), (None, 0, 0), (None, ..., 0), (0, -1, 0), (-3, ..., 0)])
def test_steps_of_the_run_or_those_given(size, known, steps, clock, capsys):
    monitor = train.TimeMonitor(size)
    given = {} if known is ... else {"batch_num": known}
    if steps:
        epoch(monitor, clock, [3], [4], **given)
        each = 8000 / steps
        assert f"per step time: {each:.3f} ms\n" in capsys.readouterr().out
    else:
        with pytest.raises((ValueError, TypeError), match="data_size"):
            epoch(monitor, clock, [3], [4], **given)


def test_whether_data_counts_is_a_bool():
    with pytest.raises(TypeError, match="data_time"):
        train.TimeMonitor(data_time=1)
