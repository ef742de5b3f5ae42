"""Kernels for Python's operators, where PyTorch's own differ from MindSpore's."""

from __future__ import annotations

from typing import Any

import torch

from .state import is_nested


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
    from .autodiff.hooks import varies

    return _power(a, b, varies(b) and (b.is_floating_point() or b.is_complex()))


def _power(a: torch.Tensor, b: torch.Tensor, moving: bool) -> torch.Tensor:
    """`a` ** `b`, where `moving` says whether there are derivatives by `b`, too."""
    from .autodiff.node import Rule, attach
    from .autodiff.stop import no_grad

    def slopes(a: torch.Tensor, b: torch.Tensor) -> list[Any]:
        """The derivatives by the base, and by the exponent if that may vary."""
        by_base = b * _power(a, torch.where(b == 0, 1, b - 1), moving)
        if not moving:
            return [by_base, None]
        known = (a == 0) & (b == 0 if b.is_complex() else b >= 0)
        return [by_base, torch.where(known, 0, _power(a, b, True) * torch.where(known, 1, a).log())]

    def pull(inputs: Any, outs: Any, gradients: Any) -> list[Any]:
        return [None if slope is None
                else (gradients[0] * slope.conj()).sum_to_size(raw.shape).to(raw.dtype)
                for raw, slope in zip(inputs, slopes(*inputs), strict=True)]

    def push(inputs: Any, outs: Any, tangents: Any) -> list[torch.Tensor]:
        moved = torch.zeros_like(outs[0])
        for tangent, slope in zip(tangents, slopes(*inputs), strict=True):
            moved = moved if tangent is None or slope is None else moved + tangent * slope
        return [moved.to(outs[0].dtype)]

    with no_grad():
        out = a ** b
    return attach(Rule("pow", pull, push), [out], [a, b])[0]


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
