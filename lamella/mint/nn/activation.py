"""Activations of `mint.nn`, many of which can work in place."""

from __future__ import annotations

from . import functional as F
from .function_layer import FunctionLayer

__all__ = ["ELU", "GELU", "GLU", "Hardtanh", "ReLU6", "SELU", "SiLU", "Threshold"]


class ELU(FunctionLayer):
    """As `functional.elu`."""

    function = staticmethod(F.elu)

    def __init__(self, alpha: float = 1.0, inplace: bool = False):
        super().__init__(alpha=alpha, inplace=inplace)


class GELU(FunctionLayer):
    """As `functional.gelu`: exact, or with ``"tanh"`` approximate.

    >>> import lamella as ms
    >>> print(ms.mint.nn.GELU()(ms.Tensor([1.0])))
    [0.8413447]
    """

    function = staticmethod(F.gelu)

    def __init__(self, approximate: str = "none"):
        super().__init__(approximate=approximate)


class GLU(FunctionLayer):
    """As `functional.glu`."""

    function = staticmethod(F.glu)

    def __init__(self, dim: int = -1):
        super().__init__(dim=dim)


class Hardtanh(FunctionLayer):
    """As `functional.hardtanh`."""

    function = staticmethod(F.hardtanh)

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False):
        super().__init__(min_val=min_val, max_val=max_val, inplace=inplace)


class ReLU6(FunctionLayer):
    """As `functional.relu6`.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([-1.0, 8.0])
        >>> print(ms.mint.nn.ReLU6(inplace=True)(x), x)
        [0. 6.] [0. 6.]
    """

    function = staticmethod(F.relu6)

    def __init__(self, inplace: bool = False):
        super().__init__(inplace=inplace)


class SELU(FunctionLayer):
    """As `functional.selu`."""

    function = staticmethod(F.selu)

    def __init__(self):
        super().__init__()


class SiLU(FunctionLayer):
    """As `functional.silu`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.mint.nn.SiLU()(ms.Tensor([0.0, 1.0])))
        [0.        0.7310586]
    """

    function = staticmethod(F.silu)

    def __init__(self, inplace: bool = False):
        super().__init__(inplace=inplace)


class Threshold(FunctionLayer):
    """As `functional.threshold`."""

    function = staticmethod(F.threshold)

    def __init__(self, threshold: float, value: float, inplace: bool = False):
        super().__init__(threshold=threshold, value=value, inplace=inplace)
