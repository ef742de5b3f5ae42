"""MindSpore, in PyNative and in graph mode; and Lamella, by the same programs.

Which of the two ``import mindspore`` means has been decided by whoever imports this file.
Compiled is a `jit` around the whole step, as both recommend.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import mindspore as ms
import numpy as np

from ..workload import LeftOut, Step, Workload


def prepare(threads: int, device: str) -> None:
    """Before anything is measured, in a process of its own."""
    ms.set_context(mode=ms.PYNATIVE_MODE)
    ms.set_device("GPU" if device == "cuda" else "CPU")


def build(workload: Workload, contestant: str, device: str, weights: list[np.ndarray],
          data: list[np.ndarray]) -> Step:
    program = workload.written_in("mindspore")
    ours = contestant.startswith("Lamella")
    if workload.precision == "bfloat16" and not ours:
        raise LeftOut("mixed precision needs Ascend")
    net = _net(program, weights, ours) if weights else None
    inputs = [ms.Tensor(x) for x in data]
    compiled = contestant in ("Lamella graph", "MindSpore graph")
    if workload.does == "train":
        step = _training(program, net, workload.precision)
    else:
        if net is not None:
            net.set_train(False)
        step = getattr(program, workload.does)(net)
    if compiled:
        step = ms.jit(step, jit_level="O1")
    run = functools.partial(step, *inputs)
    if ours:
        from . import pytorch  # whose kernels Lamella runs on

        limit = (lambda: ms.explain(step, *inputs).limit) if compiled else None
        return replace(pytorch.step_of(run, device), array=_array, limit=limit,
                       settled=lambda: getattr(step, "settled", True))
    return Step(run, lambda _: ms.runtime.synchronize(), _array, device_memory=(
        ms.runtime.max_memory_allocated if device == "cuda" else None))


def _array(result: Any) -> np.ndarray:
    return result.asnumpy()


def _net(program: Any, weights: list[np.ndarray], ours: bool) -> Any:
    net = (getattr(program, "model_for_lamella", program.model) if ours else program.model)()
    for parameter, weight in zip(net.trainable_params(), weights, strict=True):
        if tuple(parameter.shape) != weight.shape:
            raise ValueError(f"{parameter.name}: {parameter.shape} and {weight.shape}")
        parameter.set_data(ms.Tensor(weight))
    return net


def _training(program: Any, net: Any, precision: str) -> Callable[..., Any]:
    net.set_train()
    optimizer = program.optimizer(net.trainable_params())

    def forward(*inputs):
        return program.loss(net, *inputs)

    if precision == "bfloat16":
        forward = ms.amp.auto_mixed_precision(forward, "auto", ms.bfloat16)
    gradient = ms.value_and_grad(forward, None, optimizer.parameters)

    def step(*inputs):
        value, gradients = gradient(*inputs)
        optimizer(gradients)
        return value

    return step

