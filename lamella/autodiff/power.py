"""The derivatives of a power, of any order."""

from __future__ import annotations

from typing import Any

import torch

from ..tensors import kernels
from .hooks import varies
from .node import Rule, attach
from .stop import no_grad
from .tree import differentiable


def power(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """`a` ** `b` of two tensors, with derivatives of any order."""
    return _power(a, b, varies(b) and differentiable(b))


def _power(a: torch.Tensor, b: torch.Tensor, by_exponent: bool) -> torch.Tensor:
    """`a` ** `b`, with derivatives by `b` if `by_exponent`."""
    def slopes(a: torch.Tensor, b: torch.Tensor) -> list[Any]:
        """The derivatives by the base, and by the exponent if that may vary."""
        by_base = b * _power(a, torch.where(b == 0, 1, b - 1), by_exponent)
        if not by_exponent:
            return [by_base, None]
        known = (a == 0) & (b == 0 if b.is_complex() else b >= 0)
        return [by_base, torch.where(known, 0, _power(a, b, True) * torch.where(known, 1, a).log())]

    def pull(inputs: Any, outs: Any, gradients: Any) -> list[Any]:
        return [None if slope is None
                else (gradients[0] * slope.conj()).sum_to_size(raw.shape).to(raw.dtype)
                for raw, slope in zip(inputs, slopes(*inputs), strict=True)]

    def push(inputs: Any, outs: Any, tangents: Any) -> list[torch.Tensor]:
        total = torch.zeros_like(outs[0])
        for tangent, slope in zip(tangents, slopes(*inputs), strict=True):
            total = total if tangent is None or slope is None else total + tangent * slope
        return [total.to(outs[0].dtype)]

    with no_grad():
        out = a ** b
    return attach(Rule("pow", pull, push), [out], [a, b])[0]


kernels.register_power(power)
