"""How workloads are described and timed.

A workload is a file here with one `Workload`; its `make(device)` gives the contestants: a name and
a function that does one step and returns the loss (or anything that stands for the result).
Contestants take turns, so that whatever else the machine does hits all of them; the figure is the
median. In the steps that warm up, the results of all contestants have to agree. Another framework,
or another mode, is one more entry in the dict.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import lamella as ms

Step = Callable[[], Any]
BASELINE = "PyTorch"


@dataclass(frozen=True)
class Workload:
    """What to measure."""

    name: str
    title: str
    make: Callable[[str], Mapping[str, Step]]
    unit: str = "ms"  # "ms" or "µs"
    repeat: int = 1  # steps in one measurement, for what is too short for the clock
    parts: int = 1  # operations in one step; the figure is for one of them
    warmup: int = 3
    agree: float | None = 2e-3  # how far apart results may be, relatively; None: not compared
    self_timed: bool = False  # the step returns its own seconds
    most_steps: int | None = None  # fewer steps than are asked for, for what is slow


def measure(workload: Workload, device: str, steps: int) -> dict[str, float]:
    """The median time of each contestant, in the workload's unit.

    Raises:
        AssertionError: if the contestants' results differ.
    """
    contestants = workload.make(device)
    for _ in range(workload.warmup):
        _compare(workload, {name: step() for name, step in contestants.items()})
    times: dict[str, list[float]] = {name: [] for name in contestants}
    names = list(contestants)
    for i in range(min(steps, workload.most_steps or steps)):
        names.append(names.pop(0))  # nobody always goes first
        for name in names if i % 2 else reversed(names):
            times[name].append(_once(workload, contestants[name], device))
    scale = {"ms": 1e3, "µs": 1e6}[workload.unit] / workload.repeat / workload.parts
    return {name: statistics.median(times[name]) * scale for name in contestants}


def _once(workload: Workload, step: Step, device: str) -> float:
    if workload.self_timed:
        return step()
    start = time.perf_counter()
    for _ in range(workload.repeat):
        step()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def _compare(workload: Workload, results: Mapping[str, Any]) -> None:
    if workload.agree is None:
        return
    wanted = float(results[BASELINE])
    for name, result in results.items():
        assert math.isclose(float(result), wanted, rel_tol=workload.agree), (
            f"{workload.name}: {name} got {float(result)}, {BASELINE} {wanted}")


def use_device(device: str) -> None:
    """Make Lamella's tensors on `device` ("cpu" or "cuda") from now on."""
    ms.set_device("GPU" if device == "cuda" else "CPU")


def copy_weights(source: torch.nn.Module, target: ms.nn.Cell) -> None:
    """Give a Cell the weights of a Module that has the same layers in the same order."""
    for weight, parameter in zip(source.parameters(), target.trainable_params(), strict=True):
        assert tuple(weight.shape) == parameter.shape, (parameter.name, weight.shape)
        parameter.set_data(ms.Tensor(weight.detach().cpu().numpy()))


def torch_step(model: torch.nn.Module, loss: Callable[[], torch.Tensor],
               optimizer: torch.optim.Optimizer) -> Step:
    """A training step as PyTorch programs write it."""
    model.train()

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        value = loss()
        value.backward()
        optimizer.step()
        return value.detach()

    return step


def lamella_step(net: ms.nn.Cell, forward: Callable[..., ms.Tensor], optimizer: Any,
                 *inputs: ms.Tensor) -> Step:
    """A training step as MindSpore programs write it."""
    net.set_train()
    gradient = ms.value_and_grad(forward, None, optimizer.parameters)

    def step() -> ms.Tensor:
        value, gradients = gradient(*inputs)
        optimizer(gradients)
        return value

    return step


def classes(count: int, of: int, seed: int = 0) -> np.ndarray:
    """Labels."""
    return np.random.default_rng(seed).integers(0, of, count).astype(np.int64)


def noise(*shape: int, seed: int = 0) -> np.ndarray:
    """Inputs."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
