"""Arrays as text."""

from __future__ import annotations

from typing import Any

from ..core.require import of_type
from ..tensors.tensor import Tensor

__all__ = ["array_str"]


def array_str(a: Any) -> str:
    """The text that `print` shows.

    Raises:
        TypeError: if `a` is no Tensor.
    """
    of_type(a, Tensor, "a", "array_str")
    return str(a)
