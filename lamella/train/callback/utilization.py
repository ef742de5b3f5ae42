"""How much of a device's peak a training uses."""

from __future__ import annotations

import time
from typing import Any

from ...core import checks as check
from ...insight.dry_run import dry_run
from .base import Callback, RunContext, parameters_of

__all__ = ["FlopsUtilizationCollector"]


class FlopsUtilizationCollector(Callback):
    """Prints the floating-point operations of a step, and which part of the peak a step reaches.

    Products, convolutions and attention count, forward and backward, as they are in one eager step
    on the first row, which is undone. Operations that are computed again in the backward pass are
    in both numbers; in one process those of the shard and of the whole are the same.

    Args:
        data_size: print the time and the utilization each so many steps.
        computility: the device's peak, in operations a second.
        full_flops: print the numbers of the whole model, not only of this process's part.
        enable_ma_collector: not supported: log files for Huawei's cloud.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import numpy as np
        >>> import lamella as ms
        >>> from lamella import dataset, nn, train
        >>> rows = {"x": np.ones((64, 10), np.float32), "y": np.zeros(64, np.int32)}
        >>> data = dataset.NumpySlicesDataset(rows).batch(32)
        >>> net = nn.Dense(10, 5)
        >>> model = train.Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params()))
        >>> counter = train.FlopsUtilizationCollector(3, computility=1e9)
        >>> model.train(1, data, [counter])
        Full model flops is 6400, Full hardware flops is 6400, Shard model flops is 6400, \
Shard hardware flops is 6400.
    """

    def __init__(self, data_size: int, computility: float = 1, full_flops: bool = True,
                 enable_ma_collector: bool = False):
        super().__init__()
        name = type(self).__name__
        self.data_size = check.check_positive_int(data_size, "data_size", name)
        self.computility = check.check_positive_float(float(computility), "computility", name)
        self.full_flops = check.check_bool(full_flops, "full_flops", name)
        if check.check_bool(enable_ma_collector, "enable_ma_collector", name):
            raise ValueError(f"For '{name}', 'enable_ma_collector' must be False: log files for "
                             f"Huawei's cloud are not written.")
        self.flops: int | None = None
        self.step_time = time.perf_counter()

    def step_begin(self, run_context: RunContext) -> None:
        """Start the clock."""
        self.step_time = time.perf_counter()

    def step_end(self, run_context: RunContext) -> None:
        """Print what is due."""
        seconds = time.perf_counter() - self.step_time
        params = parameters_of(run_context, self)
        mode = params.get("mode", "train")
        if self.flops is None:
            self.flops = _flops_of(params[f"{mode}_network"], params[f"{mode}_dataset_element"])
            shard = (f"Shard model flops is {self.flops}, Shard hardware flops is {self.flops}.")
            print(f"Full model flops is {self.flops}, Full hardware flops is {self.flops}, {shard}"
                  if self.full_flops else shard, flush=True)
        if params.cur_step_num % self.data_size == 0:
            part = 100 * self.flops / seconds / self.computility
            print(f"{mode.title()} per step time: {1000 * seconds:5.3f} ms, mfu:{part:.2f}% "
                  f"hfu:{part:.2f}%", flush=True)


def _flops_of(network: Any, row: tuple[Any, ...]) -> int:
    """The floating-point operations of one call, which leaves no trace."""
    with dry_run(network, row) as counter:
        network(*row)
    return counter.flops
