"""A compiled step takes no more memory at a time than PyTorch's eager step, counted exactly."""

import gc

import pytest
import torch
import torch.nn.functional as F

import lamella as ms
from lamella import nn, ops
from tests.graph.passes.checks import used

WIDTHS = (3, 16, 16, 16, 16, 16)  # channels of what each convolution reads
LAYER = 4 * 8 * 16 * 32 * 32  # bytes of what it computes, in float32


class Theirs(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = torch.nn.ModuleList(
            torch.nn.Conv2d(a, 16, 3, padding=1, bias=False) for a in WIDTHS)
        self.norms = torch.nn.ModuleList(torch.nn.BatchNorm2d(16) for _ in WIDTHS)
        self.head = torch.nn.Linear(16, 10)

    def forward(self, x):
        for number, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True)):
            y = norm(conv(x))
            x = F.relu(y + x if number else y, inplace=True)
        return self.head(x.mean((2, 3)))


class Ours(nn.Cell):
    def __init__(self):
        super().__init__()
        self.convs = nn.CellList([nn.Conv2d(a, 16, 3, pad_mode="pad", padding=1)
                                  for a in WIDTHS])
        self.norms = nn.CellList([nn.BatchNorm2d(16) for _ in WIDTHS])
        self.head = nn.Dense(16, 10)

    def construct(self, x):
        for number, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True)):
            y = norm(conv(x))
            x = ops.relu(y + x if number else y)
        return self.head(x.mean((2, 3)))


def theirs(half):
    """A training step in PyTorch, with the kernel of its fused optimizer."""
    net = Theirs()
    weights = list(net.parameters())
    moments = [torch.zeros_like(weight) for weight in weights]
    x, labels = torch.randn(8, 3, 32, 32), torch.arange(8)

    def step():
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            loss = F.cross_entropy(net(x), labels)
        gradients = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            torch._fused_sgd_(weights, gradients, moments, weight_decay=0.0, momentum=0.9, lr=1e-3,
                              dampening=0.0, nesterov=False, maximize=False, is_first_step=False)
        return loss.detach()

    return step


def ours(half):
    """The same as a compiled function."""
    net = Ours()
    net.set_train()
    optimizer = nn.Momentum(net.trainable_params(), 1e-3, 0.9)
    x, labels = ops.randn(8, 3, 32, 32), ops.arange(8).astype(ms.int32)

    def forward(x, labels):
        return ops.cross_entropy(net(x), labels)

    if half:
        forward = ms.amp.auto_mixed_precision(forward, "auto", ms.bfloat16)
    gradient = ms.value_and_grad(forward, None, optimizer.parameters)

    @ms.jit
    def step():
        loss, gradients = gradient(x, labels)
        optimizer(gradients)
        return loss

    return step


@pytest.mark.parametrize("half, more", [(False, 0), (True, 2 * LAYER)],
                         ids=["float32", "bfloat16"])
def test_a_replayed_step(half, more):
    """In mixed precision, normalization computes in float32, but nothing stays in it."""
    mine, others = ours(half), theirs(half)
    for _ in range(3):
        mine(), others()
    assert used(mine)[0] <= 1.01 * used(others)[0] + more  # learning rates lie in tensors


def test_recording_leaves_no_copies():
    """The copies by which a first call can be undone are freed without the garbage collector."""
    step = ours(False)
    gc.collect()
    gc.disable()
    try:
        _, left = used(step)
    finally:
        gc.enable()
    assert left < 2**12
