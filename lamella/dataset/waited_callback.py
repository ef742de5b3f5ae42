"""A callback of pipelines and of training in one, which knows what the network has done."""

from __future__ import annotations

from typing import Any

from ..train.callback.base import Callback, RunContext
from .callback import CallbackParam, DSCallback


class WaitedDSCallback(Callback, DSCallback):
    """A callback that is called after the network's step or epoch before this one.

    It is given to a `map` as well as to `Model.train`. A subclass defines `sync_epoch_begin` or
    `sync_step_begin`. Rows are made when they are asked for, so nothing has to wait.

    Args:
        step_size: how many steps lie between two calls.

    Examples:
        >>> import lamella as ms
        >>> class Told(ms.dataset.WaitedDSCallback):
        ...     def sync_step_begin(self, train_run_context, ds_run_context):
        ...         print("row", ds_run_context.cur_step_num,
        ...               "after a loss of", train_run_context.original_args().net_outputs)
        >>> told, rows = Told(), ms.Tensor([[1.0], [2.0]]).asnumpy()
        >>> data = ms.dataset.NumpySlicesDataset((rows, rows - 1), shuffle=False)
        >>> data = data.map(lambda row: row, callbacks=told).batch(1)
        >>> net = ms.nn.Dense(1, 1, weight_init="ones", has_bias=False)
        >>> model = ms.Model(net, ms.nn.MSELoss(), ms.nn.SGD(net.trainable_params(), 0.1))
        >>> model.train(1, data, told)
        row 2 after a loss of 1.0
    """

    def __init__(self, step_size: int = 1):
        super().__init__(step_size)
        self.train_run_context: Any = None

    def sync_epoch_begin(self, train_run_context: Any, ds_run_context: CallbackParam) -> None:
        """Called before each epoch but the first, after the network's epoch before."""

    def sync_step_begin(self, train_run_context: Any, ds_run_context: CallbackParam) -> None:
        """Called before each step but the first, after the network's step before."""

    def ds_epoch_begin(self, ds_run_context: CallbackParam) -> None:
        """Calls `sync_epoch_begin`."""
        if ds_run_context.cur_epoch_num > 1:
            self.sync_epoch_begin(self.train_run_context, ds_run_context)

    def ds_step_begin(self, ds_run_context: CallbackParam) -> None:
        """Calls `sync_step_begin`."""
        if ds_run_context.cur_step_num > self.step_size:
            self.sync_step_begin(self.train_run_context, ds_run_context)

    def step_end(self, run_context: RunContext) -> None:
        """The network's step is over."""
        self.train_run_context = run_context

    def epoch_end(self, run_context: RunContext) -> None:
        """The network's epoch is over."""
        self.train_run_context = run_context
