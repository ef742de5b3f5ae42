"""Dropout: layers that zero a random part of their input while training."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..core import dtype as mstype
from ..tensors.tensor import Tensor
from . import checks
from .cell import Cell

__all__ = ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "DropoutExt", "Dropout2dExt"]


class Dropout(Cell):
    """Zeroes each element with probability `p` while training, and scales the rest by 1 / (1 - p).

    Args:
        keep_prob: the probability that an element stays, in (0, 1]; used when `p` is None.
        p: the probability that an element is zeroed, in [0, 1).
        dtype: accepted for MindSpore's sake; the output has the type of the input.

    Inputs:
        - **x** - Tensor of any shape.

    Outputs:
        Tensor of the same shape; `x` itself outside training.

    Raises:
        TypeError, ValueError: if the probability is not a number in its range.

    Examples:
        >>> import lamella as ms
        >>> drop = ms.nn.Dropout(p=0.5)
        >>> print(drop(ms.Tensor([1.0, 2.0])))  # not training
        [1. 2.]
        >>> sorted(set(drop.set_train()(ms.ops.ones(1000)).asnumpy().tolist()))
        [0.0, 2.0]
    """

    _operators = {"dropout": lambda cell: ops.Dropout(1 - cell._rate)}

    def __init__(self, keep_prob: float = 0.5, p: float | None = None, dtype: Any = mstype.float32):
        super().__init__()
        name = type(self).__name__
        if p is None:
            checks.of_type(keep_prob, float, "keep_prob", name)
            checks.within(keep_prob, 0, 1, "(]", "keep_prob", name)
            self._rate = 1.0 - keep_prob
        else:
            checks.within(checks.of_type(p, (float, int), "p", name), 0, 1, "[)", "p", name)
            self._rate = float(p)
        self.p = p
        self.keep_prob = keep_prob

    def construct(self, x: Tensor) -> Tensor:
        if not self.training or self._rate == 0:
            return x
        return ops.dropout(x, self._rate)

    def by_operators(self, x: Tensor) -> Tensor:
        """What `construct` gives, by the operator, which has a strategy."""
        if not self.training or self._rate == 0:
            return x
        return self.dropout(x)[0]

    def extend_repr(self) -> str:
        return f"keep_prob={self.keep_prob}" if self.p is None else f"p={self.p}"


class _ChannelDropout(Cell):
    """Zeroes whole channels with probability `p` while training."""

    _drop: Any = None

    def __init__(self, p: float = 0.5):
        super().__init__()
        name = type(self).__name__
        checks.within(checks.of_type(p, float, "p", name), 0, 1, "[]", "p", name)
        self.prob = p

    def construct(self, x: Tensor) -> Tensor:
        if not self.training or self.prob == 0:
            return x
        return getattr(ops, self._drop)(x, self.prob)


class Dropout1d(_ChannelDropout):
    """Zeroes whole channels of a (N, C, L) or (C, L) input with probability `p` while training.

    Args:
        p: the probability, in [0, 1].

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.ones((2, 3, 4))
        >>> (ms.nn.Dropout1d(0.5)(x) == x).all().item()
        True
    """

    _drop = "dropout1d"


class _KeepingDropout(_ChannelDropout):
    """A dropout of channels that also tells the probability to keep one."""

    def __init__(self, p: float = 0.5):
        super().__init__(p)
        self.keep_prob = 1.0 - p

    def extend_repr(self) -> str:
        return f"p={self.keep_prob}"  # MindSpore prints the probability to keep under this name


class Dropout2d(_KeepingDropout):
    """Zeroes whole channels of a (N, C, H, W) input with probability `p` while training.

    Args:
        p: the probability, in [0, 1].

    Examples:
        >>> import lamella as ms
        >>> y = ms.nn.Dropout2d(0.5).set_train()(ms.ops.ones((2, 3, 4, 4)))
        >>> set(y.mean((2, 3)).asnumpy().ravel().tolist()) <= {0.0, 2.0}
        True
    """

    _drop = "dropout2d"


class Dropout3d(_KeepingDropout):
    """Zeroes whole channels of a (N, C, D, H, W) input with probability `p` while training.

    Args:
        p: the probability, in [0, 1].

    Examples:
        >>> import lamella as ms
        >>> ms.nn.Dropout3d(0.25)
        Dropout3d(p=0.75)
    """

    _drop = "dropout3d"


class _DroppingDropout(Cell):
    """A dropout as `mint.nn` has it: the probability to drop comes first, and may act in place."""

    _drop: str

    def __init__(self, p: float = 0.5, inplace: bool = False):
        super().__init__()
        self.p = p
        self.inplace = inplace

    def construct(self, input: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return input
        out = getattr(ops, self._drop)(input, self.p)
        return ops.assign(input, out) if self.inplace else out


class DropoutExt(_DroppingDropout):
    """`Dropout` as `mint.nn` has it: the probability `p` to zero an element comes first.

    Args:
        p: the probability, in [0, 1].
        inplace: whether the input itself is changed.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.DropoutExt(0.5)(ms.Tensor([1.0, 2.0])))
        [1. 2.]
    """

    _drop = "dropout"


class Dropout2dExt(_DroppingDropout):
    """`Dropout2d` as `mint.nn` has it.

    Args:
        p: the probability to zero a channel, in [0, 1].
        inplace: whether the input itself is changed.

    Examples:
        >>> import lamella as ms
        >>> ms.nn.Dropout2dExt(0.5)(ms.ops.ones((2, 3, 4, 4))).shape
        (2, 3, 4, 4)
    """

    _drop = "dropout2d"
