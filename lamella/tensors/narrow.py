"""Computes 16-bit floating-point matrices in float32, where PyTorch has no kernel.

An operator that PyTorch refuses for them is called again on float32, and its results are converted
back, as `unsigned` does for unsigned integers. Calls that PyTorch accepts cost nothing more.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from ..core.errors import add_fallback

NARROW = (torch.float16, torch.bfloat16)
_REFUSALS = re.compile(r"not implemented for '(Half|BFloat16)'|Low precision dtypes not supported|"
                       r"handle types other than float and double|linalg\.pinv\((Half|BFloat16)")


def refused(error: BaseException) -> bool:
    """Whether PyTorch said that it has no kernel for 16-bit floating-point numbers."""
    return isinstance(error, RuntimeError) and _REFUSALS.search(str(error)) is not None


def retried(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What `function` gives of float32, in the type of the first 16-bit argument."""
    copies: list[_Copy] = []
    wide = _widened(args, copies)
    named = {name: _widened(value, copies) for name, value in kwargs.items()}
    out = function(*wide, **named)
    if any(copy.tensor._raw is not copy.raw or copy.raw._version != copy.version
           for copy in copies):
        raise TypeError("in-place operators take floating-point numbers of 32 bits or more here.")
    return _narrowed(out, copies[0].narrow) if copies else out


class _Copy(NamedTuple):
    """A float32 copy of an argument: the argument's type, and the version of the copy's data."""

    narrow: torch.dtype
    tensor: Any
    raw: torch.Tensor
    version: int


def _widened(value: Any, copies: list[_Copy]) -> Any:
    """The arguments, 16-bit ones copied to float32; the copies are added to `copies`."""
    from .tensor import wrap  # which needs this file

    if isinstance(value, (tuple, list)):
        return type(value)(_widened(part, copies) for part in value)
    raw = getattr(value, "_raw", None)
    if not isinstance(raw, torch.Tensor) or raw.dtype not in NARROW:
        return value
    copy = wrap(raw.float())
    copies.append(_Copy(raw.dtype, copy, copy._raw, copy._raw._version))
    return copy


def _narrowed(value: Any, narrow: torch.dtype) -> Any:
    """A result with its float32 tensors converted to a 16-bit type."""
    from .tensor import Tensor, wrap  # which needs this file

    if isinstance(value, (tuple, list)):
        return type(value)(_narrowed(part, narrow) for part in value)
    if isinstance(value, Tensor) and value._raw.dtype is torch.float32:
        return wrap(value._raw.to(narrow))
    return value


add_fallback(refused, retried)
