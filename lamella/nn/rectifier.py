"""Rectifiers: activations that keep what is positive, and bend or cut off what is negative."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from ..core import dtype as mstype
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor
from . import checks
from .cell import Cell
from .cell_tree import operator

__all__ = [
    "ReLU", "ReLU6", "LeakyReLU", "RReLU", "ELU", "CELU", "SeLU", "PReLU", "PReLUExt", "Threshold",
]


class ReLU(Cell):
    """max(x, 0) of each element.

    Inputs:
        - **input** - Tensor of any shape.

    Outputs:
        Tensor of the same shape and type.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.ReLU()(ms.Tensor([-1.0, 0.0, 2.0])))
        [0. 0. 2.]
    """

    _operators = {"relu": operator("ReLU")}

    def __init__(self):
        super().__init__()

    def construct(self, input: Tensor) -> Tensor:
        return ops.relu(input)


class ReLU6(Cell):
    """min(max(x, 0), 6) of each element.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.ReLU6()(ms.Tensor([-1.0, 2.0, 8.0])))
        [0. 2. 6.]
    """

    def __init__(self):
        super().__init__()

    def construct(self, x: Tensor) -> Tensor:
        return ops.relu6(x)


class LeakyReLU(Cell):
    """x where x >= 0, else alpha * x.

    Args:
        alpha: the slope of the negative part.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.LeakyReLU()(ms.Tensor([-1.0, 2.0])))
        [-0.2  2. ]
    """

    def __init__(self, alpha: float = 0.2):
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Tensor) -> Tensor:
        return ops.leaky_relu(x, self.alpha)


class RReLU(Cell):
    """x where x >= 0, else a * x with a drawn evenly from [lower, upper] for each element.

    Args:
        lower, upper: the range of the slope.

    Raises:
        ValueError: if lower > upper.

    Examples:
        >>> import lamella as ms
        >>> y = ms.nn.RReLU(0.1, 0.2)(ms.Tensor([-10.0, 2.0]))
        >>> -2 <= y[0].item() <= -1, y[1].item()
        (True, 2.0)
    """

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3):
        super().__init__()
        name = type(self).__name__
        checks.of_type(lower, (float, int), "lower", name)
        checks.of_type(upper, (float, int), "upper", name)
        if lower > upper:
            raise ValueError(f"For '{name}', 'lower' must not be above 'upper', "
                             f"but got lower={lower} and upper={upper}.")
        self.lower = lower
        self.upper = upper

    def construct(self, x: Tensor) -> Tensor:
        return ops.rrelu(x, self.lower, self.upper)


class ELU(Cell):
    """x where x >= 0, else alpha * (exp(x) - 1).

    Args:
        alpha: the scale of the negative part.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.ELU()(ms.Tensor([-1.0, 2.0])))
        [-0.63212055  2.        ]
    """

    _operators = {"elu": lambda cell: ops.Elu(cell.alpha)}

    def __init__(self, alpha: float = 1.0):
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Tensor) -> Tensor:
        return ops.elu(x, self.alpha)


class CELU(Cell):
    """max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0).

    Args:
        alpha: the scale of the negative part, not 0.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.CELU()(ms.Tensor([-1.0, 2.0])))
        [-0.63212055  2.        ]
    """

    def __init__(self, alpha: float = 1.0):
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Tensor) -> Tensor:
        return ops.celu(x, self.alpha)


class SeLU(Cell):
    """The self-normalizing ELU of Klambauer et al. (2017).

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.SeLU()(ms.Tensor([-1.0, 2.0])))
        [-1.1113307  2.101402 ]
    """

    def __init__(self):
        super().__init__()

    def construct(self, input_x: Tensor) -> Tensor:
        return ops.selu(input_x)


class PReLU(Cell):
    """x where x >= 0, else w * x with a learned w for each channel or one for all.

    Args:
        channel: how many w there are.
        w: their first value: a float, a list of `channel` floats or a Tensor (channel,).

    Inputs:
        - **x** - Tensor (N, C, ...).

    Outputs:
        Tensor of the same shape and type.

    Raises:
        TypeError, ValueError: if `channel` is not a positive int, or `w` of another kind or length.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.PReLU()(ms.Tensor([[-1.0, 2.0]])))
        [[-0.25  2.  ]]
    """

    _operators = {"prelu": operator("PReLU")}

    def __init__(self, channel: int = 1, w: Any = 0.25):
        super().__init__()
        name = type(self).__name__
        checks.positive_int(channel, "channel", name)
        if isinstance(w, (float, np.floating)):
            w = Tensor(np.full(channel, w, np.float32))
        elif isinstance(w, list):
            if len(w) != channel or not all(isinstance(v, (float, np.floating)) for v in w):
                raise ValueError(f"For '{name}', a list 'w' must have {channel} floats, one a "
                                 f"'channel', but got {w}.")
            w = Tensor(w, mstype.float32)
        elif isinstance(w, Tensor):
            if w.dtype not in (mstype.float16, mstype.float32) or w.shape != (channel,):
                raise ValueError(f"For '{name}', a Tensor 'w' must have shape ({channel},) and "
                                 f"type Float16 or Float32, but got {w.shape} and {w.dtype}.")
        else:
            raise TypeError(f"For '{name}', 'w' must be a float, a list or a Tensor, but got {w!r} "
                            f"of type {type(w).__name__}.")
        self.w = Parameter(w, name="a")

    def construct(self, x: Tensor) -> Tensor:
        return ops.prelu(x, self.w.astype(x.dtype))


class PReLUExt(Cell):
    """`PReLU` as `mint.nn` has it.

    Args:
        num_parameters: how many learned slopes there are.
        init: their first value.
        dtype: their type; default float32.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.PReLUExt()(ms.Tensor([[-1.0, 2.0]])))
        [[-0.25  2.  ]]
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, dtype: Any = None):
        super().__init__()
        self.weight = Parameter(
            Tensor(np.full(num_parameters, init, np.float32), dtype), name="weight")

    def construct(self, input: Tensor) -> Tensor:
        return ops.prelu(input, self.weight)


class Threshold(Cell):
    """x where x > threshold, else `value`.

    Args:
        threshold: the threshold.
        value: what smaller elements are replaced by.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.Threshold(0.1, 20)(ms.Tensor([0.0, 0.5])))
        [20.   0.5]
    """

    def __init__(self, threshold: float, value: float):
        super().__init__()
        self.threshold = threshold
        self.value = value

    def construct(self, input_x: Tensor) -> Tensor:
        return ops.threshold(input_x, self.threshold, self.value)
