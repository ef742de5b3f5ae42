"""Functions of one number of bfloat16 by tables (`activation.cpp`), and as PyTorch does them."""

from __future__ import annotations

import pathlib
from typing import Any

import torch

from .extension import Extension

extension = Extension("lamella_activation", pathlib.Path(__file__).with_name("activation.cpp"),
                      for_this_processor=True)
aten = torch.ops.aten

FORWARD: dict[str, Any] = {
    "gelu": aten.gelu.default, "silu": aten.silu.default, "mish": aten.mish.default,
    "sigmoid": aten.sigmoid.default, "tanh": aten.tanh.default}
BACKWARD: dict[str, Any] = {  # of the gradient and of x, or of the result of sigmoid and tanh
    "gelu": aten.gelu_backward.default, "silu": aten.silu_backward.default,
    "mish": aten.mish_backward.default, "sigmoid": aten.sigmoid_backward.default,
    "tanh": aten.tanh_backward.default}


def _settings(setting: str) -> dict[str, str]:
    """What GELU's kernels take: ``approximate``."""
    return {"approximate": setting} if setting else {}


def by_torch(x: torch.Tensor, name: str, setting: str) -> torch.Tensor:
    """A function of each number; `setting` is GELU's approximation, else empty."""
    return FORWARD[name](x, **_settings(setting))


def by_torch_backward(grad: torch.Tensor, x: torch.Tensor, name: str, setting: str, in_sums: bool
                      ) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradient, and the sums of its columns in float32, which have no elements if unwanted."""
    found = BACKWARD[name](grad, x, **_settings(setting))
    rows = found.view(-1, found.shape[-1]) if in_sums else found.view(-1)[:0]
    return found, aten.sum.dim_IntList(rows, [0], False, dtype=torch.float32) if in_sums else (
        torch.ops.aten._to_copy.default(rows, dtype=torch.float32))


def fused(x: torch.Tensor, name: str, setting: str) -> torch.Tensor:
    """As `by_torch`, of bfloat16. The extension must be there."""
    return torch.ops.lamella.activation.default(x, name, setting)


def fused_backward(grad: torch.Tensor, x: torch.Tensor, name: str, setting: str, in_sums: bool
                   ) -> tuple[torch.Tensor, torch.Tensor]:
    """As `by_torch_backward`, of bfloat16. The extension must be there."""
    return torch.ops.lamella.activation_backward.default(grad, x, name, setting, in_sums)
