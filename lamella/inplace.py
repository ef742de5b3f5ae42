"""Changing a tensor in place, also while a gradient is recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .tensor import Tensor


def in_place(tensor: Tensor, change: Callable[[torch.Tensor], Any]) -> Tensor:
    """Run `change` on the tensor's raw data, which it changes in place; returns the tensor.

    The alias that a gradient is taken for must keep its value, as the gradient's own record starts
    there: the change then goes to a copy, which the tensor holds from now on.
    """
    raw = tensor._raw
    if raw.requires_grad and raw.is_leaf:
        raw = raw.clone()
        change(raw)
        tensor._raw = raw
    else:
        change(raw)
    return tensor
