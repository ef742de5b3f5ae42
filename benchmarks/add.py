"""One addition of two tensors of four numbers: what an operation costs besides its arithmetic."""

import torch

import lamella as ms

from .harness import Step, Workload, use_device


def make(device: str) -> dict[str, Step]:
    use_device(device)
    a, b = torch.ones(4, device=device), torch.ones(4, device=device)
    x, y = ms.Tensor([1.0] * 4), ms.Tensor([1.0] * 4)

    def with_torch():
        return a + b

    def with_lamella():
        return x + y

    return {"PyTorch": with_torch, "Lamella": with_lamella}


WORKLOAD = Workload("add", "one small addition", make, unit="µs", repeat=10_000, agree=None)
