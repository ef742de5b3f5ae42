"""Losses: how far a network's output is from what it should be."""

from __future__ import annotations

import warnings
from typing import Any

import torch

from .. import ops
from ..core import dtype as mstype
from ..core.require import one_of
from ..core.tracebacks import user_stacklevel
from ..tensors.tensor import Tensor
from . import checks
from .cell import Cell
from .cell_tree import operator

__all__ = [
    "LossBase", "L1Loss", "MSELoss", "SmoothL1Loss", "RMSELoss", "MAELoss", "HuberLoss",
    "L1LossExt",
]


_warned: set[tuple[Any, ...]] = set()


def warn_of_outer_shape(name: str, logits: tuple[int, ...], labels: tuple[int, ...]) -> None:
    """Warn, once for a pair of shapes, if each of them is repeated to fit the other.

    Such as (4, 1) and (4,), which give 16 differences: most often a dimension is missing.
    """
    try:
        outer = torch.broadcast_shapes(logits, labels)
    except RuntimeError:
        return  # the operator says so
    if tuple(outer) not in (logits, labels) and (name, logits, labels) not in _warned:
        _warned.add((name, logits, labels))
        warnings.warn(f"For '{name}', the shapes of logits {logits} and labels {labels} differ "
                      f"and broadcast to {tuple(outer)}: each of the one is compared with each of "
                      f"the other. Give both the same shape, as by labels.reshape{logits}.",
                      stacklevel=user_stacklevel())


class LossBase(Cell):
    """The base of losses; a subclass computes in `construct` and reduces with `get_loss`.

    Args:
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: for another reduction.

    Examples:
        >>> import lamella as ms
        >>> class Net(ms.nn.LossBase):
        ...     def construct(self, logits, labels):
        ...         return self.get_loss(ms.ops.abs(logits - labels))
        >>> print(Net("sum")(ms.Tensor([1.0, 2.0]), ms.Tensor([0.0, 4.0])))
        3.0
    """

    _operators = {"cast": operator("Cast"), "mul": operator("Mul"),
                  "reduce_mean": operator("ReduceMean"), "reduce_sum": operator("ReduceSum")}

    def __init__(self, reduction: str = "mean"):
        super().__init__()
        one_of(reduction, ("mean", "sum", "none"), "reduction", type(self).__name__)
        self.average = reduction != "sum"
        self.reduce = reduction != "none"

    def get_axis(self, x: Tensor) -> tuple[int, ...]:
        """All axes of `x`."""
        return tuple(range(x.ndim))

    def get_loss(self, x: Tensor, weights: Any = 1.0) -> Tensor:
        """`x` times `weights`, reduced; half precision and integers are computed in float32.

        Args:
            x: the loss of each element.
            weights: a number or a Tensor that broadcasts.

        Returns:
            Tensor of the type of `x`.
        """
        kind = x.dtype
        wide = x if kind in (mstype.float32, mstype.float64) else x.astype(mstype.float32)
        if isinstance(weights, Tensor):
            wide = wide * weights.astype(wide.dtype)
        elif weights != 1.0:
            wide = wide * weights
        if self.reduce:
            wide = ops.mean(wide) if self.average else ops.sum(wide)
        return wide if wide.dtype == kind else wide.astype(kind)

    def construct(self, logits: Any, labels: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no 'construct'.")

    def _check(self, **inputs: Any) -> None:
        for name, value in inputs.items():
            checks.tensor(value, name, type(self).__name__)


_Loss = LossBase  # its name before version 1.3, which programs still derive from


class L1Loss(LossBase):
    """The magnitudes of the differences.

    Args:
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Inputs:
        - **logits**, **labels** - Tensors whose shapes broadcast.

    Outputs:
        Tensor: a number, or with ``"none"`` one an element.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.L1Loss()(ms.Tensor([1.0, 2.0]), ms.Tensor([0.0, 4.0])))
        1.5
    """

    def __init__(self, reduction: str = "mean"):
        super().__init__(reduction)
        self.reduction = reduction

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        if isinstance(logits, Tensor) and isinstance(labels, Tensor) \
                and logits.shape != labels.shape:
            warn_of_outer_shape(type(self).__name__, logits.shape, labels.shape)
        return ops.l1_loss(logits, labels, self.reduction)


class L1LossExt(L1Loss):
    """`L1Loss` as `mint.nn` has it.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.L1LossExt()(ms.Tensor([1.0, 2.0]), ms.Tensor([0.0, 4.0])))
        1.5
    """


class MSELoss(LossBase):
    """The squares of the differences.

    Args:
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Inputs:
        - **logits**, **labels** - Tensors whose shapes broadcast.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.MSELoss()(ms.Tensor([1.0, 2.0]), ms.Tensor([0.0, 4.0])))
        2.5
    """

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        self._check(logits=logits, labels=labels)
        if logits.shape != labels.shape:
            warn_of_outer_shape(type(self).__name__, logits.shape, labels.shape)
        if (logits.dtype == labels.dtype == mstype.float32 and logits.shape == labels.shape
                and type(self).get_loss is LossBase.get_loss):  # all of it is one kernel
            return ops.mse_loss(logits, labels, "none" if not self.reduce else
                                "mean" if self.average else "sum")
        return self.get_loss(ops.square(logits - labels))


class RMSELoss(LossBase):
    """The square root of the mean of the squares of the differences.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.RMSELoss()(ms.Tensor([1.0, 2.0]), ms.Tensor([4.0, 5.0])))
        3.0
    """

    def __init__(self):
        super().__init__()
        self.MSELoss = MSELoss()

    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        for value in (logits, label):
            if value.dtype in (mstype.uint8, mstype.uint16, mstype.uint32, mstype.uint64):
                raise TypeError(f"For 'RMSELoss', the inputs must not be unsigned, "
                                f"but got {value.dtype}.")
        return ops.sqrt(self.MSELoss(logits, label))


class MAELoss(LossBase):
    """The magnitudes of the differences.

    Args:
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.MAELoss()(ms.Tensor([1.0, 2.0]), ms.Tensor([0.0, 4.0])))
        1.5
    """

    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        self._check(logits=logits, label=label)
        return self.get_loss(ops.abs(logits - label))


class SmoothL1Loss(LossBase):
    """Squares of small differences, over 2 beta, and magnitudes of larger ones, less beta / 2.

    Args:
        beta: where the one passes into the other.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.SmoothL1Loss()(ms.Tensor([1.0, 2.0]), ms.Tensor([0.0, 4.0])))
        [0.5 1.5]
    """

    def __init__(self, beta: float = 1.0, reduction: str = "none"):
        super().__init__(reduction)
        self.beta = checks.of_type(beta, (int, float), "beta", "SmoothL1Loss")
        self.reduction = reduction

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.smooth_l1_loss(logits, labels, self.beta, self.reduction)


class HuberLoss(LossBase):
    """Halved squares of small differences, and delta times (magnitude - delta / 2) of larger ones.

    Args:
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        delta: where the one passes into the other.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.HuberLoss()(ms.Tensor([1.0, 2.0]), ms.Tensor([0.0, 4.0])))
        1.0
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0):
        super().__init__(reduction)
        self.reduction = reduction
        self.delta = delta

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.huber_loss(logits, labels, self.reduction, self.delta)
