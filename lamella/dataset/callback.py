"""Callbacks of a pipeline: called when an operation begins, and around its epochs and steps."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from . import config
from .checks import integer
from .order import Row
from .state import Run


class CallbackParam:
    """Where the pipeline is: `cur_epoch_num`, `cur_step_num_in_epoch`, `cur_step_num`."""

    def __init__(self, cur_epoch_num: int, cur_step_num_in_epoch: int, cur_step_num: int):
        self.cur_epoch_num = cur_epoch_num
        self.cur_step_num_in_epoch = cur_step_num_in_epoch
        self.cur_step_num = cur_step_num


class DSCallback:
    """The base of callbacks of a `map`. A subclass defines those methods that it needs.

    Args:
        step_size: how many steps lie between two calls of `ds_step_begin` and `ds_step_end`.

    Examples:
        >>> import lamella.dataset as ds
        >>> class Told(ds.DSCallback):
        ...     def ds_epoch_begin(self, ds_run_context):
        ...         print("epoch", ds_run_context.cur_epoch_num)
        >>> data = ds.NumpySlicesDataset([1, 2], shuffle=False)
        >>> for _ in data.map(lambda x: x, callbacks=Told()):
        ...     pass
        epoch 1
    """

    def __init__(self, step_size: int = 1):
        integer("DSCallback", "step_size", step_size)
        if step_size < 1:
            raise ValueError(f"For 'DSCallback', 'step_size' must be positive, but got "
                             f"{step_size}.")
        self.step_size = step_size

    def ds_begin(self, ds_run_context: CallbackParam) -> None:
        """Called before anything is read."""

    def ds_epoch_begin(self, ds_run_context: CallbackParam) -> None:
        """Called before each epoch."""

    def ds_epoch_end(self, ds_run_context: CallbackParam) -> None:
        """Called after each epoch."""

    def ds_step_begin(self, ds_run_context: CallbackParam) -> None:
        """Called before a step."""

    def ds_step_end(self, ds_run_context: CallbackParam) -> None:
        """Called after a step."""


class WaitedDSCallback(DSCallback):
    """A callback that waits for the network: for its step or epoch before this one to be over.

    It is given to a `map` as well as to `Model.train`. A subclass defines `sync_epoch_begin` or
    `sync_step_begin`. Rows are made when they are asked for, so what the network has done is known.

    Args:
        step_size: how many steps lie between two calls.
    """

    def __init__(self, step_size: int = 1):
        super().__init__(step_size)
        self.train_run_context: Any = None
        self._step_over, self._epoch_over = threading.Event(), threading.Event()
        self._step_over.set()
        self._epoch_over.set()

    def sync_epoch_begin(self, train_run_context: Any, ds_run_context: CallbackParam) -> None:
        """Called before each epoch but the first, after the network's epoch before."""

    def sync_step_begin(self, train_run_context: Any, ds_run_context: CallbackParam) -> None:
        """Called before each step but the first, after the network's step before."""

    def ds_epoch_begin(self, ds_run_context: CallbackParam) -> None:
        """Calls `sync_epoch_begin`."""
        if ds_run_context.cur_epoch_num > 1:
            self._await(self._epoch_over, "epoch")
            self.sync_epoch_begin(self.train_run_context, ds_run_context)

    def ds_step_begin(self, ds_run_context: CallbackParam) -> None:
        """Calls `sync_step_begin`."""
        if ds_run_context.cur_step_num > self.step_size:
            self._await(self._step_over, "step")
            self.sync_step_begin(self.train_run_context, ds_run_context)

    def _await(self, event: threading.Event, what: str) -> None:
        if not event.wait(config.get_callback_timeout()):
            raise RuntimeError(f"For '{type(self).__name__}', the network's {what} was not over "
                               f"after {config.get_callback_timeout()} seconds. Was the callback "
                               f"given to Model.train too?")

    # what Model.train calls
    def begin(self, run_context: Any) -> None:
        """Training begins."""

    def end(self, run_context: Any) -> None:
        """Training is over: nothing waits any more."""
        self._step_over.set()
        self._epoch_over.set()

    def on_train_begin(self, run_context: Any) -> None:
        """Training begins."""

    def on_train_end(self, run_context: Any) -> None:
        """Training is over: nothing waits any more."""
        self.end(run_context)

    def on_train_step_end(self, run_context: Any) -> None:
        """The network's step is over."""
        self.step_end(run_context)

    def on_train_epoch_end(self, run_context: Any) -> None:
        """The network's epoch is over."""
        self.epoch_end(run_context)

    def step_end(self, run_context: Any) -> None:
        """The network's step is over."""
        self.train_run_context = run_context
        self._step_over.set()

    def epoch_end(self, run_context: Any) -> None:
        """The network's epoch is over."""
        self.train_run_context = run_context
        self._epoch_over.set()


def notified(callbacks: list[Any], rows: Iterator[Row], run: Run, size: int,
             skip: int) -> Iterator[Row]:
    """The rows of an epoch of `size` without the first `skip`, the callbacks called around them."""
    epoch, before = run.epoch + 1, run.epoch * size

    def call(method: str, step: int) -> None:
        param = CallbackParam(epoch, step, before + step)
        for callback in callbacks:
            if "step" in method and (step - 1) % callback.step_size:
                continue
            getattr(callback, method)(param)

    if epoch == 1:
        call("ds_begin", 0)
    call("ds_epoch_begin", 0)
    for step in range(skip + 1, size + 1):
        call("ds_step_begin", step)
        row = next(rows, None)
        if row is None:
            break
        call("ds_step_end", step)
        yield row
    call("ds_epoch_end", size)
