"""`FunctionalOptimizer`: an optimizer as pure functions, whose steps can be differentiated."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch

from ...autodiff.level import current
from ...autodiff.tree import map_tensors, paths, same_structure, tensors, tensors_as
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor, wrap
from .optimizer import Optimizer

__all__ = ["FunctionalOptimizer"]


class FunctionalOptimizer:
    """An optimizer that changes nothing: it takes values, and gives new ones.

    All derivatives pass through its steps, by the parameters, the gradients and the state (so also
    by the learning rate), and `vmap` goes over them: for learned optimizers, learning rates by
    gradient descent, and weights that are plain values. The formulas are those of the optimizers
    of `nn`.

    Args:
        make: an optimizer's class, or a function from Parameters to an optimizer.
        **options: further arguments of `make`.

    Raises:
        TypeError: if `make` gives no optimizer.

    Examples:
        >>> import lamella as ms
        >>> adam = ms.nn.FunctionalOptimizer(ms.nn.Adam, learning_rate=0.1)
        >>> weights = {"w": ms.Tensor([1.0, 2.0])}
        >>> state = adam.init(weights)
        >>> for _ in range(100):
        ...     gradient = ms.grad(lambda p: (p["w"] ** 2).sum())(weights)
        ...     weights, state = adam.update(gradient, state, weights)
        >>> print((abs(weights["w"]) < 0.1).all())
        True

        The derivative of a loss after a step by the learning rate:

        >>> sgd = ms.nn.FunctionalOptimizer(ms.nn.SGD)
        >>> start = sgd.init(ms.Tensor(3.0))
        >>> def after(rate):
        ...     state = {**start, "learning_rate": rate}
        ...     w, _ = sgd.update(ms.Tensor(2.0), state, ms.Tensor(3.0))
        ...     return w * w
        >>> print(ms.grad(after)(ms.Tensor(0.5)))
        -8.0
    """

    def __init__(self, make: Callable[..., Any], **options: Any):
        if not callable(make):
            raise TypeError(f"For 'FunctionalOptimizer', 'make' must be an optimizer's class or a "
                            f"function, but got {type(make).__name__}.")
        self._make, self._options = make, options
        self._made = threading.local()  # a thread's own: a step puts values into its Parameters

    def init(self, params: Any) -> dict[str, Tensor]:
        """The state before the first step.

        Args:
            params: the parameters: a Tensor, or a structure of them.

        Returns:
            A dict of Tensors, by the names that the optimizer's Parameters have: moments, counts,
            ``learning_rate``.
        """
        optimizer = self._optimizer("init", params)
        with torch.no_grad():
            return {p.name: wrap(p._data.clone()) for p in _state(optimizer)}

    def update(self, gradients: Any, state: dict[str, Tensor], params: Any
               ) -> tuple[Any, dict[str, Tensor]]:
        """One step.

        Args:
            gradients: in the structure of `params`.
            state: what `init` or the step before gave.
            params: the parameters.

        Returns:
            The new parameters, in their structure, and the new state.

        Raises:
            TypeError: if an argument is of the wrong type.
            ValueError: if gradients or state don't fit the parameters.
        """
        optimizer = self._optimizer("update", params)
        if not same_structure(gradients, params):
            raise ValueError("For 'FunctionalOptimizer.update', 'gradients' must have the "
                             "structure of 'params'.")
        own, others = list(optimizer.parameters), _state(optimizer)
        missing = [p.name for p in others if not isinstance(state, dict) or p.name not in state]
        if missing:
            raise ValueError(f"For 'FunctionalOptimizer.update', 'state' must be what 'init' or a "
                             f"step gave, but {missing[0]!r} is missing.")
        values = [*tensors(params), *(state[p.name] for p in others)]
        for p, value in zip(others, values[len(own):], strict=True):
            if not isinstance(value, Tensor) or value.shape != p.shape:
                shown = value.shape if isinstance(value, Tensor) else type(value).__name__
                raise ValueError(f"For 'FunctionalOptimizer.update', {p.name!r} in 'state' must "
                                 f"have shape {p.shape}, but got {shown}.")
        kept = [(p, p._data) for p in (*own, *others)]
        try:
            for (p, _), value in zip(kept, values, strict=True):
                p._data = _copied(value._raw)
            optimizer.construct(tuple(tensors_as(params, gradients)))
            new = iter([wrap(p._data) for p in own])
            return (map_tensors(lambda _: next(new), params),
                    {p.name: wrap(p._data) for p in others})
        finally:
            for p, data in kept:
                p._data = data

    def _optimizer(self, name: str, params: Any) -> Optimizer:
        """The optimizer of Parameters like these, of this thread."""
        found = list(paths("", params))
        if not found:
            raise TypeError(f"For 'FunctionalOptimizer.{name}', 'params' must hold Tensors, "
                            f"but got {type(params).__name__}.")
        made: dict[Any, Optimizer] = self._made.__dict__  # type: ignore[assignment]
        key = tuple([(path, tensor.shape, tensor.dtype) for path, tensor in found])
        if key not in made:
            own = [Parameter(wrap(torch.zeros_like(tensor._raw, requires_grad=False)),
                             name=path or "param") for path, tensor in found]
            optimizer = self._make(own, **self._options)
            if not isinstance(optimizer, Optimizer):
                raise TypeError(f"For 'FunctionalOptimizer', 'make' must give an optimizer of "
                                f"'nn', but it gave {type(optimizer).__name__}.")
            optimizer.__dict__["_is_function"] = True
            for inner in optimizer.cells():
                if isinstance(inner, Optimizer):
                    inner.__dict__["_is_function"] = True
            made[key] = optimizer
        return made[key]


def _state(optimizer: Optimizer) -> list[Parameter]:
    """What changes from step to step, and numbers that a step may be differentiated by."""
    own = {id(p) for p in optimizer.parameters}
    own |= {id(getattr(optimizer, name)) for name in optimizer._python_numbers}
    found = {id(p): p for p in optimizer.get_parameters() if id(p) not in own}
    return list(found.values())


def _copied(raw: torch.Tensor) -> torch.Tensor:
    """A copy that a step may change; inside of `vmap`, one of each example's own."""
    level = current()
    if level is None or not level.marks or not raw.is_floating_point():
        return raw.clone()
    for mark in level.marks:
        raw = torch.where(mark, raw, raw)
    return raw
