"""How closely compiled training follows eager training, and how closely any rounding lets it.

Each step trains twice, eagerly and compiled in its fastest form, from the same weights on the same
data. A second eager run whose first weights are off by one unit in the last place shows what
becomes of rounding in this model: no two orders of adding can be expected to agree better.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .table import Table
from .workload import Workload

LOSSES = 50


def agreement(workload: Workload, settling: float) -> tuple[float, float]:
    """The largest relative difference of a loss: of compiled training, and of the other weights.

    Args:
        workload: one that trains.
        settling: the seconds that a step gets to find its fastest form.
    """
    import lamella

    step, data = made(workload)
    settle(lamella.jit(step, jit_level="O1"), data, settling)  # found: kept for the next ones
    eager = _losses(workload, lambda step: step)
    ours = _losses(workload, lambda step: lamella.jit(step, jit_level="O1"))
    other = _losses(workload, lambda step: step, factor=1 + 2.0**-23)
    return _difference(eager, ours), _difference(eager, other)


def settle(compiled: Any, data: list[Any], seconds: float) -> None:
    """Run a compiled step until it has found its fastest form, or for so long."""
    end = time.monotonic() + seconds
    while True:
        start = time.monotonic()
        compiled(*data)
        if compiled.settled and compiled.statistics.replays > 3 or time.monotonic() > end:
            break
        time.sleep(min(time.monotonic() - start, 0.1))  # leave the machine to the compiler


def made(workload: Workload, factor: float = 1.0) -> tuple[Callable[..., Any], list[Any]]:
    """A workload's training step and its data; `factor` is what multiplies the first weights."""
    import lamella.alias

    lamella.alias.install()
    import mindspore as ms

    from .runners import mindspore, pytorch

    weights = pytorch.initial_weights(workload)
    weights[0] = (weights[0] * factor).astype(weights[0].dtype)
    program = workload.written_in("mindspore")
    net = mindspore._net(program, weights, ours=True)
    return (mindspore._training(program, net, workload.precision),
            [ms.Tensor(x) for x in workload.data()])


def _losses(workload: Workload, wrap: Callable[[Any], Any], factor: float = 1.0) -> np.ndarray:
    step, data = made(workload, factor)
    step = wrap(step)
    return np.array([step(*data).asnumpy() for _ in range(LOSSES)], np.float64)


def _difference(wanted: np.ndarray, found: np.ndarray) -> float:
    return float(np.max(np.abs(found - wanted) / np.abs(wanted)))


def agreement_table(found: dict[str, tuple[float, float]]) -> Table:
    """What `agreement` found, by the names of the steps."""
    return Table(
        f"Losses of {LOSSES} steps against eager training: the largest relative difference",
        ["step", "compiled", "eager, first weights off by one unit in the last place"],
        [[name, *(f"{value:.1e}" for value in values)] for name, values in found.items()])
