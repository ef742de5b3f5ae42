"""Arrays as text."""

from __future__ import annotations

from typing import Any

from ..tensors.tensor import Tensor

__all__ = ["array_str"]


def array_str(a: Any) -> str:
    """The text that `print` shows.

    Raises:
        TypeError: if `a` is no Tensor.
    """
    if not isinstance(a, Tensor):
        raise TypeError(f"For 'array_str', 'a' must be a Tensor, but got {a!r}.")
    return str(a)
