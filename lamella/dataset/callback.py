"""Callbacks of a pipeline: called when an operation begins, and around its epochs and steps."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from ..compat.missing import name_of as _name_of
from .checks import integer, of_type
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


def check_callbacks(callbacks: Any) -> None:
    """Refuse what `map` can't call between its rows.

    Raises:
        TypeError: if one isn't a `DSCallback`.
    """
    listed = isinstance(callbacks, (list, tuple))
    for place, callback in enumerate(callbacks if listed else [callbacks]):
        if not isinstance(callback, DSCallback):
            label = f"callbacks[{place}]" if listed else "callbacks"
            raise TypeError(f"{of_type(label, callback, DSCallback)} For 'map', 'callbacks' must "
                            "be a DSCallback or a list of them.")


def notified(callbacks: list[Any], rows: Iterator[Row], run: Run, size: int,
             skip: int) -> Iterator[Row]:
    """The rows of an epoch of `size` without the first `skip`, the callbacks called around them."""
    epoch, before = run.epoch + 1, run.epoch * size

    def call(method: str, step: int, epoch: int = epoch) -> None:
        param = CallbackParam(epoch, step, before + step)
        for callback in callbacks:
            if "step" in method and (step - 1) % callback.step_size:
                continue
            getattr(callback, method)(param)

    if epoch == 1:
        call("ds_begin", 0, 0)
    call("ds_epoch_begin", 0)
    for step in range(skip + 1, size + 1):
        call("ds_step_begin", step)
        row = next(rows, None)
        if row is None:
            break
        call("ds_step_end", step)
        yield row
    call("ds_epoch_end", size)


def __getattr__(name: str) -> Any:
    if name == "WaitedDSCallback":  # which needs the callbacks of training
        return importlib.import_module(".waited_callback", __package__).WaitedDSCallback
    raise _name_of(__name__, name)
