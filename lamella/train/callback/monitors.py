"""Callbacks that print what a run does."""

from __future__ import annotations

import math
import time
from typing import Any

from ...core import checks as check
from .base import Callback, RunContext, _handle_loss, parameters_of

__all__ = ["LossMonitor", "TimeMonitor"]


class LossMonitor(Callback):
    """Prints the loss, and stops with an error where it is infinite or no number.

    In `Model.fit` it also prints the metrics of an evaluation.

    Args:
        per_print_times: print after this many steps; 0 for never.

    Raises:
        ValueError: if `per_print_times` is no int of 0 or more.

    Examples:
        >>> import lamella as ms
        >>> params = {"cur_epoch_num": 2, "cur_step_num": 7, "batch_num": 4,
        ...           "net_outputs": ms.Tensor(0.5), "dataset_sink_mode": False}
        >>> from lamella.train.callback import _InternalCallbackParam
        >>> context = ms.train.RunContext(_InternalCallbackParam(params))
        >>> ms.train.LossMonitor().step_end(context)
        epoch: 2 step: 3, loss is 0.5
    """

    def __init__(self, per_print_times: int = 1):
        super().__init__()
        check.check_non_negative_int(per_print_times, "per_print_times", "LossMonitor")
        self._per_print_times = per_print_times
        self._last_print_time = 0

    def step_end(self, run_context: RunContext) -> None:
        """Print the loss if it is time for it."""
        params = parameters_of(run_context, self)
        loss = _handle_loss(params.net_outputs)
        epoch, number = params.get("cur_epoch_num", 1), params.cur_step_num
        step = (number - 1) % params.batch_num + 1
        if isinstance(loss, float) and not math.isfinite(loss):
            raise ValueError(f"In epoch: {epoch} step: {step}, loss is NAN or INF, training "
                             f"process cannot continue, terminating training.")
        if self._per_print_times == 0:
            return
        if number <= self._last_print_time:  # a new run
            self._last_print_time = (number - 1) // self._per_print_times * self._per_print_times
        if number - self._last_print_time >= self._per_print_times:
            self._last_print_time = number
            print(f"epoch: {epoch} step: {step}, loss is {loss}", flush=True)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Print the metrics that `Model.fit` has found."""
        params = parameters_of(run_context, self)
        metrics = params.get("metrics")
        if metrics:
            print(f"Eval result: epoch {params.cur_epoch_num}, metrics: {metrics}")


class TimeMonitor(Callback):
    """Prints how long an epoch took, and a step of it on average.

    The evaluations of `Model.fit` have times of their own, which are not in those of training.

    Args:
        data_size: steps to divide by where the run doesn't know how many an epoch has.
        data_time: whether to print how long the step waited for data on average.

    Raises:
        TypeError: if `data_time` is no bool.

    Examples:
        >>> import lamella as ms
        >>> monitor = ms.train.TimeMonitor()
        >>> monitor.data_size is None, monitor.data_time
        (True, False)
    """

    _evaluates = True

    def __init__(self, data_size: int | None = None, data_time: bool = False):
        super().__init__()
        check.check_bool(data_time, "data_time", "TimeMonitor")
        self.data_size = data_size
        self.data_time = data_time
        self.epoch_time = time.time()
        self.data_time_sum = 0.0
        self.data_time_start = 0.0
        self._outer: list[tuple[float, float]] = []  # what epochs around this one have measured

    def on_train_begin(self, run_context: RunContext) -> None:
        """Forget the epochs of a training that was interrupted."""
        self._outer.clear()

    def epoch_begin(self, run_context: RunContext) -> None:
        """Start the clock."""
        self._outer.append((self.epoch_time, self.data_time_sum))
        self.epoch_time = self.data_time_start = time.time()
        self.data_time_sum = 0.0

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """Add the time that this step has waited for its data."""
        self.data_time_sum += time.time() - self.data_time_start

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Start to measure the wait for the next step's data."""
        self.data_time_start = time.time()

    def epoch_end(self, run_context: RunContext) -> None:
        """Print the times."""
        seconds = time.time() - self.epoch_time
        milliseconds = seconds * 1000
        params = parameters_of(run_context, self)
        steps: Any = params.get("batch_num", self.data_size)
        if not (isinstance(steps, int) and steps > 0):
            steps = self.data_size
        check.check_positive_int(steps, "data_size", "TimeMonitor")
        line = (f"{params.get('mode', '').title()} epoch time: {milliseconds:5.3f} ms, "
                f"per step time: {milliseconds / steps:5.3f} ms")
        if self.data_time:
            line += f" (data time: {self.data_time_sum * 1000 / steps:5.3f} ms)"
        print(line, flush=True)
        if self._outer:
            begun, self.data_time_sum = self._outer.pop()
            self.epoch_time = begun + seconds
