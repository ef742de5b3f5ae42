"""Floating numbers of 16 bits, which PyTorch's kernels for matrices don't take.

An operator that PyTorch refuses for them is called again on float32, and what comes out is brought
back, as `unsigned` does for numbers without a sign: nothing is asked before PyTorch has refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from .errors import on_refusal

NARROW = (torch.float16, torch.bfloat16)
_REFUSALS = re.compile(r"not implemented for '(Half|BFloat16)'|Low precision dtypes not supported|"
                       r"handle types other than float and double|linalg\.pinv\((Half|BFloat16)")


def refused(error: BaseException) -> bool:
    """Whether PyTorch said that it has no kernel for floating numbers of 16 bits."""
    return isinstance(error, RuntimeError) and _REFUSALS.search(str(error)) is not None


def retried(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What `function` gives of float32, in the type of the first argument of 16 bits."""
    twins: list[_Twin] = []
    given = _widened(args, twins), {name: _widened(value, twins) for name, value in kwargs.items()}
    out = function(*given[0], **given[1])
    if any(twin.tensor._raw is not twin.raw or twin.raw._version != twin.version
           for twin in twins):
        raise TypeError("in-place operators take floating numbers of 32 bits or more here.")
    return _narrowed(out, twins[0].narrow) if twins else out


class _Twin(NamedTuple):
    """An argument in float32: its type before, and its data with their version."""

    narrow: torch.dtype
    tensor: Any
    raw: torch.Tensor
    version: int


def _widened(value: Any, twins: list[_Twin]) -> Any:
    """The arguments with those of 16 bits in float32, which are added to `twins`."""
    from .tensor import wrap

    if isinstance(value, (tuple, list)):
        return type(value)(_widened(part, twins) for part in value)
    raw = getattr(value, "_raw", None)
    if not isinstance(raw, torch.Tensor) or raw.dtype not in NARROW:
        return value
    twin = wrap(raw.float())
    twins.append(_Twin(raw.dtype, twin, twin._raw, twin._raw._version))
    return twin


def _narrowed(value: Any, narrow: torch.dtype) -> Any:
    """A result with its float32 tensors converted to a type of 16 bits."""
    from .tensor import Tensor, wrap

    if isinstance(value, (tuple, list)):
        return type(value)(_narrowed(part, narrow) for part in value)
    if isinstance(value, Tensor) and value._raw.dtype is torch.float32:
        return wrap(value._raw.to(narrow))
    return value


on_refusal(refused, retried)
