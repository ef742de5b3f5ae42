"""Floating numbers of 16 bits, which PyTorch's kernels for matrices don't take.

An operator that PyTorch refuses for them is called again on float32, and what comes out is brought
back, as `unsigned` does for numbers without a sign: nothing is asked before PyTorch has refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

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
    from .tensor import Tensor, wrap

    kinds: list[torch.dtype] = []
    twins: list[tuple[Any, Any, torch.Tensor, int]] = []

    def forth(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return type(value)(forth(part) for part in value)
        raw = getattr(value, "_raw", None)
        if not isinstance(raw, torch.Tensor) or raw.dtype not in NARROW:
            return value
        kinds.append(raw.dtype)
        twin = wrap(raw.float())
        twins.append((value, twin, twin._raw, twin._raw._version))
        return twin

    def back(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return type(value)(back(part) for part in value)
        if isinstance(value, Tensor) and value._raw.dtype is torch.float32:
            return wrap(value._raw.to(kinds[0]))
        return value

    given = forth(args), {name: forth(value) for name, value in kwargs.items()}
    out = function(*given[0], **given[1])
    if any(twin._raw is not raw or raw._version != version for _, twin, raw, version in twins):
        raise TypeError("in-place operators take floating numbers of 32 bits or more here.")
    return back(out) if kinds else out


on_refusal(refused, retried)
