"""Kernels for Python's operators, where PyTorch's own differ from MindSpore's."""

from __future__ import annotations

from typing import Any

import torch

from .state import is_nested

power_of_any_order: Any = None  # `a` ** `b` with right derivatives; `autodiff.power` puts it here


def minus(a: Any, b: Any) -> torch.Tensor:
    """`a` - `b`, of truth values too, which PyTorch refuses.

    Of two of them the difference is a truth value; with a number they count as 0 and 1.
    """
    try:
        return a - b
    except RuntimeError:
        if torch.bool not in (getattr(a, "dtype", None), getattr(b, "dtype", None)) and not (
                isinstance(a, bool) or isinstance(b, bool)):
            raise
    if _is_bool(a) and _is_bool(b):
        differs: Any = a ^ b
        return differs
    return _count(a) - _count(b)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool) or getattr(value, "dtype", None) is torch.bool


def _count(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.long() if value.dtype is torch.bool else value
    return int(value) if isinstance(value, bool) else value


def power(a: Any, b: Any) -> torch.Tensor:
    """`a` ** `b`; of two tensors with derivatives of any order.

    PyTorch's, beyond the first in reverse mode, have 0 times the logarithm of a base that is
    negative, and 0 times infinity where the base is 0.
    """
    if not (is_nested() and isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)
            and (a.is_floating_point() or a.is_complex())):
        return a ** b
    return power_of_any_order(a, b)


def floor_quotient(a: Any, b: Any) -> torch.Tensor:
    """`a` // `b`, with the gradient zero that PyTorch's own ``//`` lacks."""
    if not isinstance(a, torch.Tensor):
        a = torch.full((), a, dtype=torch.result_type(b, a), device=b.device)
    return torch.div(a, b, rounding_mode="floor")


def trunc_quotient(a: Any, b: Any) -> torch.Tensor:
    """`a` / `b` rounded towards 0.

    The least number of a whole type by -1 wraps around to itself; PyTorch's kernel ends the process
    there, with the processor's trap.
    """
    if not isinstance(a, torch.Tensor):
        a = torch.full((), a, dtype=torch.result_type(b, a), device=b.device)
    kind = torch.result_type(a, b)
    if kind.is_floating_point or kind.is_complex or not kind.is_signed or kind is torch.bool:
        return torch.div(a, b, rounding_mode="trunc")
    if not isinstance(b, torch.Tensor):
        return -a.to(kind) if b == -1 else torch.div(a, b, rounding_mode="trunc")
    by_minus_one = b == -1
    quotient = torch.div(a, b.masked_fill(by_minus_one, 1), rounding_mode="trunc")
    return torch.where(by_minus_one, -quotient, quotient)
