"""PyTorch, eager and compiled, as its own guides say: fused optimizers, no gradient in inference.

Compiled means that the loss (or the answer) goes through `torch.compile` with its defaults, or with
CUDA graphs ("reduce-overhead"); the
fused optimizer step is one kernel already, and is faster as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ..workload import LeftOut, Step, Workload

COMPILED = {"torch.compile": "default", "torch.compile, graphs": "reduce-overhead"}  # the modes

def prepare(threads: int, device: str) -> None:
    """Before anything is measured, in a process of its own."""
    torch.set_num_threads(threads)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    if device == "cuda":
        if not torch.cuda.is_available():
            raise LeftOut("no GPU")
        torch.cuda.init()


def initial_weights(workload: Workload) -> list[np.ndarray]:
    """The weights that every contestant starts from."""
    program = workload.written_in("pytorch")
    if not hasattr(program, "model"):
        return []
    torch.manual_seed(0)
    return [p.detach().numpy() for p in program.model().parameters()]


def build(workload: Workload, contestant: str, device: str, weights: list[np.ndarray],
          data: list[np.ndarray]) -> Step:
    program = workload.written_in("pytorch")
    model = _model(program, weights, device) if weights else None
    inputs = [torch.from_numpy(x).to(device) for x in data]
    inputs = [x.long() if x.dtype == torch.int32 else x for x in inputs]
    if getattr(program, "CHANNELS_LAST", False) and model is not None:
        model = model.to(memory_format=torch.channels_last)
        inputs = [x.contiguous(memory_format=torch.channels_last) if x.ndim == 4 else x
                  for x in inputs]
    compiled = COMPILED.get(contestant)
    if workload.does == "train":
        assert model is not None
        run = _training(program, model, inputs, compiled, workload.precision, device)
    else:
        run = _function(getattr(program, workload.does), workload.does, model, inputs, compiled)
    return step_of(run, device)


def step_of(run: Callable[[], Any], device: str) -> Step:
    """A step whose result is a torch tensor."""
    def array(result: Any) -> np.ndarray:
        return result.detach().float().cpu().numpy()

    if device == "cpu":
        return Step(run, lambda _: None, array)
    return Step(run, lambda _: torch.cuda.synchronize(), array,
                device_memory=torch.cuda.max_memory_allocated)


def _model(program: Any, weights: list[np.ndarray], device: str) -> torch.nn.Module:
    model = program.model()
    with torch.no_grad():
        for parameter, weight in zip(model.parameters(), weights, strict=True):
            parameter.copy_(torch.from_numpy(weight))
    return model.to(device)


def _training(program: Any, model: torch.nn.Module, inputs: list[torch.Tensor],
              compiled: str | None, precision: str, device: str) -> Callable[[], torch.Tensor]:
    model.train()
    optimizer = program.optimizer(model.parameters())

    def loss(*inputs: torch.Tensor) -> torch.Tensor:
        with torch.autocast(device, torch.bfloat16, enabled=precision == "bfloat16"):
            return program.loss(model, *inputs)

    forward = torch.compile(loss, mode=compiled) if compiled else loss

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        value = forward(*inputs)
        value.backward()
        optimizer.step()
        return value.detach()

    return step


def _function(function: Callable[..., Any], name: str, model: Any, inputs: list[torch.Tensor],
              compiled: str | None) -> Callable[[], Any]:
    if name != "forward":
        function = torch.compile(function, mode=compiled) if compiled else function
        return lambda: function(model, *inputs)
    model.eval()
    function = torch.compile(function, mode=compiled) if compiled else function

    def answer() -> torch.Tensor:
        with torch.inference_mode():
            return function(model, *inputs)

    return answer
