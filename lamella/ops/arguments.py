"""Reads shapes, axes and counts, in all forms that callers give them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ..core.dtype import is_integer, to_raw
from ..core.state import is_plain_run, numbers
from ..core.wrappers import of_all_examples
from ..tensors.tensor import as_raw

_INT = frozenset({int})


def as_int(value: Any, where: str, name: str = "axis") -> Any:
    """An int from an int, a NumPy int or a Tensor of one integer."""
    if isinstance(value, (int, torch.SymInt)) and not isinstance(value, bool):
        return value
    if isinstance(value, np.integer):
        return int(value)
    raw = getattr(value, "_raw", None)
    if raw is not None and raw.numel() == 1 and not raw.is_floating_point():
        return raw.item()
    raise TypeError(f"For '{where}', '{name}' must be an int, but got {value!r} "
                    f"of type {type(value).__name__}.")


def as_ints(value: Any, where: str, name: str = "shape") -> tuple[Any, ...]:
    """A tuple of ints from an int, a tuple, a list or a Tensor of integers."""
    if type(value) is tuple and _INT.issuperset(map(type, value)):  # most shapes
        return value
    raw = getattr(value, "_raw", None)
    if raw is not None and not raw.is_floating_point():
        value = numbers(raw)
    if isinstance(value, (tuple, list)):
        return tuple([v if type(v) is int else as_int(v, where, name) for v in value])
    if isinstance(value, (str, bytes)) or value is None:
        raise TypeError(f"For '{where}', '{name}' must be an int or a tuple or list of ints, "
                        f"but got {value!r} of type {type(value).__name__}.")
    return (as_int(value, where, name),)


def as_shape(value: Any, where: str, name: str = "shape") -> tuple[Any, ...]:
    """As `as_ints`, for a shape to create: no length may be negative."""
    shape = as_ints(value, where, name)
    for length in shape:
        if length < 0:
            raise ValueError(f"For '{where}', the lengths in '{name}' must be 0 or more, "
                             f"but got {shape}.")
    return shape


def kind_or(dtype: Any, default: Any, where: str) -> Any:
    """PyTorch's type for `dtype`; `default` where it is None."""
    return default if dtype is None else to_raw(dtype, where)


def varargs(values: tuple[Any, ...], where: str, name: str = "shape", named: Any = None
            ) -> tuple[Any, ...]:
    """The ints of a method's ``*shape``: one by one, as one tuple, list or Tensor, or by name.

    Raises:
        TypeError: if there is none, or both are given.
    """
    if named is not None:
        if values:
            raise TypeError(f"For '{where}', got multiple values for argument '{name}'.")
        return as_ints(named, where, name)
    if not values:
        raise TypeError(f"For '{where}', missing 1 required positional argument: '{name}'.")
    return as_ints(values[0] if len(values) == 1 else values, where, name)


def axis_in(axis: Any, rank: int, where: str, name: str = "axis") -> int:
    """`axis` as a count from the front.

    Raises:
        ValueError: if the tensor of `rank` dimensions has no such axis.
    """
    axis = as_int(axis, where, name)
    if not -rank <= axis < rank:
        raise ValueError(f"For '{where}', '{name}' must be in [{-rank}, {rank}), but got {axis}.")
    return axis % rank if rank else 0


def tensors(value: Any, where: str, name: str = "tensors") -> list[torch.Tensor]:
    """The raw tensors of a tuple or list of Tensors."""
    if not isinstance(value, (tuple, list)):
        raise TypeError(f"For '{where}', '{name}' must be a tuple or list of Tensors, "
                        f"but got {value!r} of type {type(value).__name__}.")
    if not value:
        raise ValueError(f"For '{where}', '{name}' must hold at least one Tensor, "
                         f"but got {value!r}.")
    return [raw_of(v, where, name) for v in value]


def raw_of(value: Any, where: str, name: str = "input") -> torch.Tensor:
    """The raw tensor of a Tensor.

    Raises:
        TypeError: if `value` is no Tensor.
    """
    raw = getattr(value, "_raw", None)
    if raw is None:
        raise TypeError(f"For '{where}', '{name}' must be a Tensor, but got {value!r} "
                        f"of type {type(value).__name__}.")
    return raw


FLOATS = (torch.float16, torch.float32, torch.float64)


def typed(value: Any, where: str, name: str, kinds: tuple[torch.dtype, ...],
          rank: int | None = None) -> torch.Tensor:
    """As `raw_of`, of a Tensor whose type is one of `kinds` and whose rank is `rank`, if given.

    Raises:
        TypeError: if `value` is no Tensor of such a type.
        ValueError: if it has another rank, which is looked at first.
    """
    raw = raw_of(value, where, name)
    if rank is not None and raw.dim() != rank:
        raise ValueError(f"For '{where}', '{name}' must have rank {rank}, "
                         f"but got shape {value.shape}.")
    if raw.dtype not in kinds:
        known = " or ".join(str(kind).removeprefix("torch.") for kind in kinds)
        raise TypeError(f"For '{where}', '{name}' must be a Tensor of {known}, "
                        f"but got {value.dtype}.")
    return raw


def raw_or_number(value: Any, like: torch.Tensor | None = None) -> torch.Tensor:
    """A raw tensor from a Tensor or from numbers, which are put on the device of `like`."""
    raw = getattr(value, "_raw", None)
    if raw is None:
        raw = as_raw(value)
        if like is not None:
            raw = raw.to(like.device)
    return raw


def indices_of(value: Any, where: str, name: str = "indices") -> torch.Tensor:
    """A raw tensor of integers, as int64: what PyTorch's kernels take for indices."""
    raw = raw_or_number(value)
    if raw.dtype is torch.int64:
        return raw
    if not is_integer(raw.dtype):
        raise TypeError(f"For '{where}', '{name}' must be integers, "
                        f"but got a Tensor of {raw.dtype}.")
    return raw.long()


def kernel_checks(*raws: torch.Tensor) -> bool:
    """Whether a kernel may be called first, and negative indices be changed only if it fails.

    The kernels of CPUs refuse an index that isn't in [0, n). A graph holds what is right for any.
    """
    if not is_plain_run():
        return False
    for raw in raws:  # no `all`, which takes as long as a small kernel
        if type(raw) is not torch.Tensor or not raw.is_cpu:
            return False
    return True


def require(holds: bool, error: Callable[[str], Exception], message: str) -> None:
    """Raise `error` unless a condition on the arguments holds."""
    if not holds:
        raise error(message)


def require_values(holds: torch.Tensor, message: str) -> None:
    """Raise ValueError unless a raw boolean of rank 0, a condition on a tensor's values, holds.

    In a graph the answer is a guard.
    """
    if torch._C._are_functorch_transforms_active():
        holds = of_all_examples(holds).all()
    if not holds:
        raise ValueError(message)
