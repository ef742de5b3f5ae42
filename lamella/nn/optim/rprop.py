"""Resilient backpropagation."""

from __future__ import annotations

from typing import Any

import torch

from ...ops.primitives.update_rules import put, take
from ..checks import float_within, of_type
from .optimizer import Optimizer, opt_init_args_register


class Rprop(Optimizer):
    """Resilient backpropagation (Riedmiller & Braun 1993): only the signs of gradients count.

    Each element has a step size, which grows while the sign of its gradient stays and shrinks when
    it turns.

    Args:
        params, learning_rate, weight_decay: as `Optimizer`.
        etas: the factors of shrinking, between 0 and 1, and of growth, above 1.
        step_sizes: the smallest and the largest step size.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = ms.nn.Rprop([w], learning_rate=0.1)((ms.Tensor([2.0]),))
        >>> print(w.value())
        [0.9]
    """

    @opt_init_args_register
    def __init__(self, params: Any, learning_rate: Any = 0.1,
                 etas: tuple[float, float] = (0.5, 1.2),
                 step_sizes: tuple[float, float] = (1e-6, 50.0), weight_decay: Any = 0.0):
        super().__init__(learning_rate, params, weight_decay)
        for name, pair in (("etas", etas), ("step_sizes", step_sizes)):
            of_type(pair, tuple, name, "Rprop")
            if len(pair) != 2:
                raise ValueError(f"For 'Rprop', '{name}' must hold 2 numbers, but got {pair}.")
        float_within(etas[0], 0.0, 1.0, "()", "etas[0]", "Rprop")
        of_type(etas[1], float, "etas[1]", "Rprop")
        if etas[1] <= 1.0:
            raise ValueError(f"For 'Rprop', 'etas[1]' must be above 1, but got {etas[1]}.")
        for size in step_sizes:
            of_type(size, float, "step_sizes", "Rprop")
        if step_sizes[0] > step_sizes[1]:
            raise ValueError(f"For 'Rprop', 'step_sizes' must grow, but got {step_sizes}.")
        self.etaminus, self.etaplus = etas
        self.step_size_min, self.step_size_max = step_sizes
        self.prev = self.parameters.clone(prefix="prev", init="zeros")
        self.step_size = self.parameters.clone(prefix="step_size", init="zeros")

    def construct(self, gradients: Any) -> bool:
        """Update the parameters."""
        first = (self.global_step._data == 0).reshape(())
        self.update_by(self._rule, gradients, self.prev, self.step_size, first=first)
        return True

    def _rule(self, params: list, grads: list, befores: list, sizes: list, lr: Any, decay: float,
              first: torch.Tensor) -> None:
        for i, (p, g, before, size) in enumerate(zip(params, grads, befores, sizes, strict=True)):
            if decay:
                g = g + decay * p
            agreement = (g * before).sign()
            factor = torch.where(agreement > 0, self.etaplus,
                                 torch.where(agreement < 0, self.etaminus, 1.0)).to(g.dtype)
            start = torch.where(first, lr.to(size.dtype), size)
            put(sizes, i, (start * factor).clamp(self.step_size_min, self.step_size_max))
            g = torch.where(agreement < 0, torch.zeros_like(g), g)
            take(params, i, g.sign() * sizes[i])
            put(befores, i, g)
