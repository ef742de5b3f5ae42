"""Reading and assigning parts of a tensor: NumPy's indexing language on raw tensors."""

from __future__ import annotations

from typing import Any

import torch


def _raw_index(index: Any) -> Any:
    if isinstance(index, tuple):
        return tuple(_raw_index(i) for i in index)
    return getattr(index, "_raw", index)


def get_item(raw: torch.Tensor, index: Any) -> torch.Tensor:
    """``raw[index]``."""
    return raw[_raw_index(index)]


def set_item(tensor: Any, index: Any, value: Any) -> None:
    """``tensor[index] = value``, in place."""
    tensor._raw[_raw_index(index)] = getattr(value, "_raw", value)
