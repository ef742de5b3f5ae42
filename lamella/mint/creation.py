"""Functions of `mint` that make tensors from nothing."""

from __future__ import annotations

from typing import Any

import torch

from .. import ops
from ..core.adapters import adapted
from ..core.context import current_device
from ..core.errors import op
from ..ops.arguments import kind_or
from ..tensors.construction import device_named
from ..tensors.tensor import Tensor, wrap

__all__ = ["empty", "empty_like", "full", "linspace", "ones", "zeros"]

zeros = adapted(ops.zeros, "size, *, dtype=None")
ones = adapted(ops.ones, "size:shape, *, dtype=None")
empty_like = adapted(ops.empty_like, "input, *, dtype=None, device=None")


@op
def empty(*size: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """As `ops.empty`, on a device of your choice.

    >>> import lamella as ms
    >>> ms.mint.empty(2, 3, dtype=ms.int32).shape
    (2, 3)
    """
    return on_device(ops.empty(*size, dtype=dtype), device, "empty")


def on_device(tensor: Tensor, device: Any, where: str) -> Tensor:
    """The tensor on the device that a function's `device` names; None leaves it."""
    return tensor if device is None else wrap(tensor._raw.to(device_named(device, where)))


@op
def full(size: Any, fill_value: Any, *, dtype: Any = None) -> Tensor:
    """As `ops.full`; without `dtype` the type is that of `fill_value`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.mint.full((2,), 0.5), ms.mint.full((2,), True))
        [0.5 0.5] [ True  True]
    """
    return ops.full(size, fill_value, dtype=Tensor(fill_value).dtype if dtype is None else dtype)


@op
def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None) -> Tensor:
    """As `ops.linspace`, in any type.

    >>> import lamella as ms
    >>> print(ms.mint.linspace(0, 10, 4, dtype=ms.int32))
    [ 0  3  6 10]
    """
    if dtype is None:
        return ops.linspace(start, end, steps)
    first, last = (getattr(e, "_raw", e) for e in (start, end))
    return wrap(torch.linspace(first, last, steps, dtype=kind_or(dtype, None, "linspace"),
                               device=current_device()))
