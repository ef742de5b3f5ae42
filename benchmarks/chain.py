"""The gradient of 200 small operations in a row: the tape's cost, for one operation."""

import torch

import lamella as ms

from .harness import Step, Workload, use_device

LENGTH = 200


def chain(x):
    for _ in range(LENGTH // 2):
        x = x * 1.01 + 0.01
    return x.sum()


def make(device: str) -> dict[str, Step]:
    use_device(device)
    a = torch.ones(4, device=device, requires_grad=True)
    x = ms.Tensor([1.0] * 4)
    gradient = ms.grad(chain)

    def with_torch():
        (slope,) = torch.autograd.grad(chain(a), a)
        return slope[0]

    def with_lamella():
        return gradient(x)[0]

    return {"PyTorch": with_torch, "Lamella": with_lamella}


WORKLOAD = Workload("chain", "gradient of a 200-operation chain, one operation", make, unit="µs",
                    repeat=10, parts=LENGTH)
