"""Training steps as the recorder sees them, for tests of passes that move updates."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.fx import GraphModule

from lamella.graph.passes import early_updates

WIDTH, LAYERS = 16, 4


def let_every_size_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also small steps are rewritten, each gradient by itself."""
    monkeypatch.setattr(early_updates, "LEAST", 1)
    monkeypatch.setattr(early_updates, "TOGETHER", 1)
    monkeypatch.setattr(early_updates, "SMALL", 64)


def adam(weights, gradients, moments, lr):
    """Adam's kernel; there are two moments for each weight."""
    half = len(moments) // 2
    torch.ops.aten._fused_adamw_(
        weights, gradients, moments[:half], moments[half:], [], [torch.ones(())] * len(weights),
        lr=lr, beta1=0.9, beta2=0.99, weight_decay=0.1, eps=1e-8, amsgrad=False, maximize=False)


def momentum(weights, gradients, moments, lr):
    """The kernel of gradient descent with momentum, which takes the first half of the moments."""
    torch.ops.aten._fused_sgd_(
        weights, gradients, moments[:len(weights)], weight_decay=0.1, momentum=0.9, lr=lr,
        dampening=0.0, nesterov=False, maximize=False, is_first_step=False)


def decayed_before(weights, gradients, moments, lr):
    """Two kernels that change lists."""
    torch.ops.aten._foreach_mul_(weights, 1.0 - 0.1 * lr)
    adam(weights, gradients, moments, lr)


def chain(x, weights):
    """The loss of some layers."""
    for weight in weights:
        x = torch.tanh(x @ weight)
    return (x * x).sum()


def step_of(loss: Callable, update: Callable, change: Callable = lambda gradients: gradients,
            after: Callable = lambda *_: ()) -> Callable:
    """A training step: of an input, weights, and two moments for each of them."""
    def step(x, *given):
        count = len(given) // 3
        weights, moments = given[:count], given[count:]
        aliases = [w.detach().requires_grad_() for w in weights]
        with torch.enable_grad():
            found = loss(x, aliases)
        gradients = change(list(torch.autograd.grad(found, aliases)))
        with torch.no_grad():
            update([*weights], gradients, [*moments], 0.01)
            return found.detach(), *after(weights, gradients)
    return step


def inputs_of(count: int = LAYERS, rows: int = WIDTH) -> list[torch.Tensor]:
    """The input, the weights and the moments of a step."""
    torch.manual_seed(1)
    return [torch.randn(3, WIDTH), *(torch.randn(rows, WIDTH) for _ in range(count)),
            *(torch.rand(rows, WIDTH) for _ in range(2 * count))]


def places(graph: GraphModule, *names: str) -> list[int]:
    """The positions of operations with these names."""
    return [i for i, node in enumerate(graph.graph.nodes)
            if any(f".{name}." in f".{node.target}." for name in names)]
