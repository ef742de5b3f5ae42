"""Muon: momentum whose matrices are made orthogonal."""

from __future__ import annotations

import math
from typing import Any

import torch

from ...core.require import one_of
from ...ops.primitives.update_rules import Raws
from .stepping import Stepping, check_range

__all__ = ["Muon"]


class Muon(Stepping):
    """Muon (Jordan et al., 2024): steps along the orthogonal matrix nearest to the momentum.

    For the matrices inside of a network. Embeddings, the last layer, biases and other vectors are
    trained better by `AdamW`.

    Args:
        params: Parameters with two dimensions, or dicts with ``params`` and own settings.
        lr: the learning rate.
        weight_decay: by ``lr * weight_decay`` the parameters shrink in each step.
        momentum: how much of the mean of gradients is kept.
        nesterov: whether the step looks ahead along the momentum.
        ns_coefficients: of the polynomial ``a x + b x³ + c x⁵`` that is iterated on the singular
            values (Newton-Schulz).
        eps: the least norm that is divided by.
        ns_steps: how often the polynomial is applied, 1 to 99.
        adjust_lr_fn: ``"original"``, as None: a matrix (A, B) moves by ``lr * sqrt(max(1, A/B))``;
            ``"match_rms_adamw"``: by ``0.2 * lr * sqrt(max(A, B))``, steps as large as AdamW's
            (Liu et al., 2025).

    Inputs:
        - **gradients** - a tuple of Tensors, one for each Parameter.

    Raises:
        ValueError: if a Parameter has no two dimensions, or a setting is out of range.

    Examples:
        >>> import lamella as ms
        >>> from lamella.experimental import optim
        >>> w = ms.Parameter(ms.Tensor([[1.0, 0.0], [0.0, 1.0]]), name="w")
        >>> optimizer = optim.Muon([w], lr=0.1, weight_decay=0.0)
        >>> _ = optimizer((ms.Tensor([[3.0, 0.0], [0.0, 3.0]]),))
        >>> print(w.value().round(decimals=1))
        [[0.9 0. ]
         [0.  0.9]]
    """

    _decays_apart = True

    def __init__(self, params: Any, lr: Any = 1e-3, weight_decay: float = 0.1,
                 momentum: float = 0.95, nesterov: bool = True,
                 ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
                 eps: float = 1e-7, ns_steps: int = 5, adjust_lr_fn: str | None = None):
        for name, value in (("lr", lr), ("weight_decay", weight_decay), ("momentum", momentum),
                            ("eps", eps)):
            check_range("Muon", name, value)
        check_range("Muon", "ns_steps", ns_steps, 1, 100)
        one_of(adjust_lr_fn, (None, "original", "match_rms_adamw"), "adjust_lr_fn", "Muon")
        super().__init__(params, {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn})
        for parameter in self.parameters:
            if len(parameter.shape) != 2:
                raise ValueError(f"For 'Muon', each Parameter must have two dimensions, but got "
                                 f"'{parameter.name}' of shape {parameter.shape}.")
        self.moment = self._states("moment")

    def _update(self, group: dict[str, Any], at: slice, params: Raws, grads: Raws, lr: Any,
                step: torch.Tensor) -> None:
        momentum = group["momentum"]
        for p, grad, moment in zip(params, grads, self._of("moment", at), strict=True):
            moment.lerp_(grad, 1 - momentum)
            ahead = grad.lerp(moment, momentum) if group["nesterov"] else moment
            along = orthogonal(ahead, group["ns_coefficients"], group["ns_steps"], group["eps"])
            p.mul_(1 - lr * group["weight_decay"])
            p.sub_(along * (lr * _scale(p.shape, group["adjust_lr_fn"])))


def orthogonal(matrix: torch.Tensor, coefficients: tuple[float, float, float], steps: int,
               eps: float) -> torch.Tensor:
    """Roughly U Vᵀ of ``matrix = U S Vᵀ``: `steps` of a polynomial on the singular values."""
    a, b, c = coefficients
    wide = matrix.T if matrix.shape[0] > matrix.shape[1] else matrix
    x = wide / wide.norm().clamp(min=eps)
    for _ in range(int(steps)):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return x.T if matrix.shape[0] > matrix.shape[1] else x


def _scale(shape: torch.Size, rule: str | None) -> float:
    rows, columns = shape
    if rule == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1.0, rows / columns))
