"""ExponentialMovingAverage: a smoother copy of a network's weights, to evaluate with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch

from ..core import dtype as mstype
from ..ops.primitives.update_rules import held, kernels
from ..tensors.parameter import Parameter, ParameterTuple
from ..tensors.tensor import Tensor
from . import checks
from .cell import Cell

__all__ = ["ExponentialMovingAverage"]


class ExponentialMovingAverage(Cell):
    """Keeps ``average = decay * average + (1 - decay) * weight`` of Parameters.

    Called after each step of the optimizer, also inside of a compiled step. Averaged weights often
    generalize better than the last ones (Polyak and Juditsky, 1992). The averages are Parameters
    themselves, so that a checkpoint can keep them.

    Args:
        params: Parameters of floating-point types, as ``net.trainable_params()`` gives them.
        decay: how much of the average is kept in each step, 0 to 1.
        warmup: whether the first steps keep less, ``(1 + t) / (10 + t)`` in step t.

    Raises:
        TypeError: if `params` holds something else, or `decay` is no float.
        ValueError: if `decay` is out of range, or there are no `params`.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.Dense(1, 1, weight_init="zeros", has_bias=False)
        >>> average = ms.nn.ExponentialMovingAverage(net.trainable_params(), decay=0.75)
        >>> _ = net.weight.set_data(ms.Tensor([[4.0]]))
        >>> average()
        >>> with average.applied():
        ...     print(net(ms.Tensor([[1.0]])))
        [[1.]]
        >>> print(net(ms.Tensor([[1.0]])))
        [[4.]]
    """

    def __init__(self, params: Iterable[Parameter], decay: float = 0.999, warmup: bool = False):
        super().__init__()
        name = type(self).__name__
        checks.within(checks.of_type(decay, float, "decay", name), 0, 1, "[]", "decay", name)
        self.decay, self.warmup = decay, checks.boolean(warmup, "warmup", name)
        self._weights = _checked(params, name)
        self.average = ParameterTuple(self._weights).clone(prefix="average", init="same")
        for parameter in self.average:
            parameter.requires_grad = False
        self.steps = Parameter(Tensor(0, mstype.float32), name="average_steps",
                               requires_grad=False)

    def construct(self) -> None:
        """Take the weights as they are now into the averages."""
        with torch.no_grad():
            step, share = held(self.steps).add_(1), 1 - self.decay
            if self.warmup:
                share = torch.clamp(9 / (10 + step), min=share)
            averages = [held(p) for p in self.average]
            differences = kernels._foreach_sub([held(p) for p in self._weights], averages)
            kernels._foreach_add_(averages, kernels._foreach_mul(differences, share))

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Within the block the network has the averages as its weights; then its own again."""
        self.exchange()
        try:
            yield
        finally:
            self.exchange()

    def exchange(self) -> None:
        """Give the network the averages, and keep its weights in their place."""
        with torch.no_grad():
            for parameter, average in zip(self._weights, self.average, strict=True):
                own, other = held(parameter), held(average)
                kept = own.clone()
                own.copy_(other)
                other.copy_(kept)

    def extend_repr(self) -> str:
        return f"decay={self.decay}, warmup={self.warmup}, parameters={len(self._weights)}"


def _checked(params: Iterable[Parameter], name: str) -> list[Parameter]:
    found = list(params)
    if not found:
        raise ValueError(f"For '{name}', 'params' must hold a Parameter at least, but is empty.")
    for parameter in found:
        if not isinstance(parameter, Parameter) or not parameter.is_floating_point():
            raise TypeError(f"For '{name}', 'params' must hold Parameters of floating-point types, "
                            f"but got {parameter!r}.")
    return found
