"""What a step of all optimizers here has in common."""

from __future__ import annotations

from typing import Any

import torch

from ...core import dtype as mstype
from ...ops.primitives.update_rules import Raws, add_decay, held, kernels, like_parameters, off_tape
from ...ops.primitives.update_states import FittingStates
from ...tensors.parameter import Parameter, ParameterTuple
from ...tensors.tensor import Tensor
from .optimizer import Optimizer

__all__ = ["Stepping", "check_above_0", "check_betas", "check_range"]


class Stepping(Optimizer):
    """The base: hands each group's raw tensors to `_update`, which a subclass defines."""

    _step_name = "step_t"
    _decays_apart = False  # whether weight decay is none of the gradient's

    def __init__(self, params: Any, defaults: dict[str, Any]):
        super().__init__(params, defaults)
        self._kept: list[Any] = []  # of each state, the Parameters
        self._fitting = FittingStates()
        setattr(self, self._step_name, Parameter(Tensor(0, mstype.int32), name=self._step_name))

    def _states(self, prefix: str, init: Any = "zeros") -> ParameterTuple:
        """A state for each parameter."""
        made = self.parameters.clone(prefix=prefix, init=init)
        self._kept.append(made)
        return made

    def construct(self, gradients: Any) -> bool:
        """Update the parameters."""
        count = len(self.parameters)
        if len(gradients) != count:
            raise ValueError(f"For '{type(self).__name__}', there must be a gradient for each of "
                             f"{count} parameters, but got {len(gradients)}.")
        self._fitting.check(type(self).__name__, self.parameters, self._kept, lambda _: None)
        starts = self.group_start_id
        with torch.no_grad(), off_tape(self.parameters):
            raws = like_parameters(self.parameters, [g._raw for g in gradients])
            step = getattr(self, self._step_name)._data.add_(1).float()
            for i, group in enumerate(self.param_groups):
                at = slice(starts[i], starts[i + 1])
                params, grads = [p._data for p in self.parameters[at]], raws[at]
                if group.get("maximize"):
                    grads = kernels._foreach_neg(grads)
                if group.get("weight_decay") and not self._decays_apart:
                    grads = add_decay(params, grads, group["weight_decay"])
                lr = held(group["lr"]) if isinstance(group["lr"], Tensor) else group["lr"]
                self._update(group, at, params, grads, lr, step)
        return True

    def _update(self, group: dict[str, Any], at: slice, params: Raws, grads: Raws, lr: Any,
                step: torch.Tensor) -> None:
        """Update the parameters of one group, which are those at `at` of all."""
        raise NotImplementedError

    def _of(self, name: str, at: slice) -> Raws:
        """The raw tensors of a state."""
        return [p._data for p in getattr(self, name)[at]]


def check_range(owner: str, name: str, value: Any, low: float = 0.0, high: float = float("inf")
                ) -> None:
    """Raise unless `value` is a number of at least `low` and below `high`.

    Raises:
        TypeError: if it is no number.
        ValueError: if it is out of range.
    """
    if isinstance(value, Tensor):
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"For '{owner}', '{name}' must be a number, but got {value!r} of type "
                        f"{type(value).__name__}.")
    if not low <= value < high:
        upper = "" if high == float("inf") else f" and below {high}"
        raise ValueError(f"For '{owner}', '{name}' must be at least {low}{upper}, "
                         f"but got {value}.")


def check_above_0(owner: str, **values: Any) -> None:
    """Raise unless all values are numbers above 0, or Tensors.

    Raises:
        TypeError: if one is no number.
        ValueError: if one is 0 or less.
    """
    for name, value in values.items():
        check_range(owner, name, value)
        if not isinstance(value, Tensor) and not value:
            raise ValueError(f"For '{owner}', '{name}' must be above 0, but got {value}.")


def check_betas(owner: str, betas: Any) -> None:
    """Raise unless `betas` are two numbers of at least 0 and below 1."""
    if not isinstance(betas, (tuple, list)) or len(betas) != 2:
        raise ValueError(f"For '{owner}', 'betas' must be two numbers, but got {betas!r}.")
    for i, beta in enumerate(betas):
        check_range(owner, f"betas[{i}]", beta, 0.0, 1.0)
