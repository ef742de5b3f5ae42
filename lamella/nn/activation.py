"""Activation layers: Cells over the functions of `lamella.ops`."""

from __future__ import annotations

from .. import ops
from ..tensors.tensor import Tensor
from . import checks
from .cell import Cell
from .cell_tree import operator
from .rectifier import ELU, LeakyReLU, PReLU, PReLUExt, ReLU, ReLU6, RReLU, Threshold

__all__ = [
    "Softmin", "Softmax", "Softmax2d", "LogSoftmax", "LogSoftmaxExt", "SiLU", "Tanh", "Tanhshrink",
    "Hardtanh", "GELU", "FastGelu", "Sigmoid", "Softsign", "get_activation", "HSigmoid", "HSwish",
    "LogSigmoid", "LRN", "SoftShrink", "HShrink", "Mish", "GLU",
]


class SiLU(Cell):
    """x * sigmoid(x).

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.SiLU()(ms.Tensor([0.0, 2.0])))
        [0.       1.761594]
    """

    def __init__(self):
        super().__init__()

    def construct(self, x: Tensor) -> Tensor:
        return ops.silu(x)


class GELU(Cell):
    """x times the share of the normal distribution below x (Hendrycks and Gimpel, 2016).

    Args:
        approximate: whether the tanh formula is used instead of the exact one.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.GELU(approximate=False)(ms.Tensor([0.0, 2.0])).round(decimals=4))
        [0.     1.9545]
    """

    def __init__(self, approximate: bool = True):
        super().__init__()
        checks.boolean(approximate, "approximate", type(self).__name__)
        self.approximate = "tanh" if approximate else "none"

    def construct(self, x: Tensor) -> Tensor:
        return ops.gelu(x, self.approximate)


class FastGelu(Cell):
    """x / (1 + exp(-1.702 |x|)) * exp(0.851 (x - |x|)), an approximation of GELU.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.FastGelu()(ms.Tensor([0.0, 2.0])))
        [0.        1.9356586]
    """

    def __init__(self):
        super().__init__()

    def construct(self, x: Tensor) -> Tensor:
        return ops.fast_gelu(x)


class Sigmoid(Cell):
    """1 / (1 + exp(-x)).

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.Sigmoid()(ms.Tensor([0.0, 2.0])))
        [0.5       0.880797]
    """

    _operators = {"sigmoid": operator("Sigmoid")}

    def __init__(self):
        super().__init__()

    def construct(self, x: Tensor) -> Tensor:
        return ops.sigmoid(x)


class LogSigmoid(Cell):
    """log(sigmoid(x)), computed without overflow.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.LogSigmoid()(ms.Tensor([-100.0, -200.0])))
        [-100. -200.]
    """

    def __init__(self):
        super().__init__()

    def construct(self, input_x: Tensor) -> Tensor:
        return ops.logsigmoid(input_x)


class Tanh(Cell):
    """The hyperbolic tangent.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.Tanh()(ms.Tensor([0.0, 2.0])).round(decimals=4))
        [0.    0.964]
    """

    _operators = {"tanh": operator("Tanh")}

    def __init__(self):
        super().__init__()

    def construct(self, x: Tensor) -> Tensor:
        return ops.tanh(x)


class Tanhshrink(Cell):
    """x - tanh(x).

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.Tanhshrink()(ms.Tensor([0.0, 2.0])).round(decimals=4))
        [0.    1.036]
    """

    def __init__(self):
        super().__init__()

    def construct(self, x: Tensor) -> Tensor:
        return ops.tanhshrink(x)


class Hardtanh(Cell):
    """x cut off at `min_val` and `max_val`.

    Args:
        min_val, max_val: the range.

    Raises:
        ValueError: unless min_val < max_val.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.Hardtanh()(ms.Tensor([-3.0, 0.5, 2.0])))
        [-1.   0.5  1. ]
    """

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0):
        super().__init__()
        if min_val >= max_val:
            raise ValueError(f"For '{type(self).__name__}', 'min_val' must be below 'max_val', "
                             f"but got {min_val} and {max_val}.")
        self.min_val = min_val
        self.max_val = max_val

    def construct(self, x: Tensor) -> Tensor:
        return ops.hardtanh(x, self.min_val, self.max_val)


class Softmax(Cell):
    """exp(x) over its sum along `axis`.

    Args:
        axis: the axis along which the results add up to 1.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.Softmax()(ms.Tensor([0.0, 1.0])))
        [0.26894143 0.7310586 ]
    """

    _operators = {"softmax": lambda cell: ops.Softmax(cell.axis)}

    def __init__(self, axis: int = -1):
        super().__init__()
        self.axis = checks.of_type(axis, (int, tuple, type(None)), "axis", "Softmax")

    def construct(self, input: Tensor) -> Tensor:
        return ops.softmax(input, self.axis)


class SoftmaxExt(Cell):
    """`Softmax` as `mint.nn` has it.

    Args:
        dim: the axis; default: 0 for inputs of rank 0, 1 and 3, else 1.

    Examples:
        >>> import lamella as ms
        >>> print(SoftmaxExt(dim=0)(ms.Tensor([0.0, 0.0])))
        [0.5 0.5]
    """

    def __init__(self, dim: int | None = None):
        super().__init__()
        self.dim = dim

    def construct(self, input: Tensor) -> Tensor:
        return ops.softmax(input, _class_axis(self.dim, input))


def _class_axis(dim: int | None, x: Tensor) -> int:
    """The axis that counts as that of the classes where none is given."""
    if dim is None:
        return 0 if x.ndim in (0, 1, 3) else 1
    return dim


class LogSoftmax(Cell):
    """log(softmax(x)) along `axis`, computed without overflow.

    Args:
        axis: the axis.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.LogSoftmax()(ms.Tensor([0.0, 0.0])))
        [-0.6931472 -0.6931472]
    """

    _operators = {"log_softmax": lambda cell: ops.LogSoftmax(cell.axis)}

    def __init__(self, axis: int = -1):
        super().__init__()
        self.axis = axis

    def construct(self, x: Tensor) -> Tensor:
        return ops.log_softmax(x, self.axis)


class LogSoftmaxExt(Cell):
    """`LogSoftmax` as `mint.nn` has it.

    Args:
        dim: the axis; default: 0 for inputs of rank 0, 1 and 3, else 1.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.LogSoftmaxExt(dim=0)(ms.Tensor([0.0, 0.0])))
        [-0.6931472 -0.6931472]
    """

    def __init__(self, dim: int | None = None):
        super().__init__()
        self.dim = dim

    def construct(self, x: Tensor) -> Tensor:
        return ops.log_softmax(x, _class_axis(self.dim, x))


class Softmin(Cell):
    """softmax(-x) along `axis`.

    Args:
        axis: the axis along which the results add up to 1.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.Softmin()(ms.Tensor([0.0, 1.0])))
        [0.7310586  0.26894143]
    """

    def __init__(self, axis: int = -1):
        super().__init__()
        self.axis = axis

    def construct(self, x: Tensor) -> Tensor:
        return ops.softmin(x, self.axis)


class Softmax2d(Cell):
    """Softmax over the channels of a (N, C, H, W) or (C, H, W) input.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.Softmax2d()(ms.ops.zeros((1, 2, 1, 1))).reshape(-1))
        [0.5 0.5]
    """

    def __init__(self):
        super().__init__()

    def construct(self, x: Tensor) -> Tensor:
        checks.rank(x.shape, (3, 4), type(self).__name__)
        return ops.softmax(x, -3)


class Softsign(Cell):
    """x / (1 + |x|).

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.Softsign()(ms.Tensor([-1.0, 3.0])))
        [-0.5   0.75]
    """

    def __init__(self):
        super().__init__()

    def construct(self, x: Tensor) -> Tensor:
        return ops.softsign(x)


class HSigmoid(Cell):
    """min(max((x + 3) / 6, 0), 1).

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.HSigmoid()(ms.Tensor([-4.0, 0.0, 1.5])))
        [0.   0.5  0.75]
    """

    def __init__(self):
        super().__init__()

    def construct(self, input: Tensor) -> Tensor:
        return ops.hardsigmoid(input)


class HSwish(Cell):
    """x * min(max(x + 3, 0), 6) / 6.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.HSwish()(ms.Tensor([-4.0, 0.0, 3.0])))
        [-0.  0.  3.]
    """

    _operators = {"hswish": operator("HSwish")}

    def __init__(self):
        super().__init__()

    def construct(self, input: Tensor) -> Tensor:
        return ops.hardswish(input)


class HShrink(Cell):
    """x where |x| > lambd, else 0.

    Args:
        lambd: the threshold.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.HShrink()(ms.Tensor([-1.0, 0.3, 3.0])))
        [-1.  0.  3.]
    """

    def __init__(self, lambd: float = 0.5):
        super().__init__()
        self.lambd = checks.of_type(lambd, (int, float), "lambd", "HShrink")

    def construct(self, input: Tensor) -> Tensor:
        return ops.hardshrink(input, self.lambd)


class SoftShrink(Cell):
    """x moved towards 0 by lambd, and no further than 0.

    Args:
        lambd: the threshold, 0 or more.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.SoftShrink()(ms.Tensor([-1.0, 0.3, 3.0])))
        [-0.5  0.   2.5]
    """

    def __init__(self, lambd: float = 0.5):
        super().__init__()
        self.lambd = checks.of_type(lambd, (int, float), "lambd", "SoftShrink")

    def construct(self, input: Tensor) -> Tensor:
        return ops.softshrink(input, self.lambd)


class Mish(Cell):
    """x * tanh(softplus(x)).

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.Mish()(ms.Tensor([0.0, 2.0])))
        [0.       1.943959]
    """

    def __init__(self):
        super().__init__()

    def construct(self, input_x: Tensor) -> Tensor:
        return ops.mish(input_x)


class GLU(Cell):
    """One half of the input along `axis` times the sigmoid of the other.

    Args:
        axis: the axis, of even length.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.GLU()(ms.Tensor([2.0, 0.0])))
        [1.]
    """

    def __init__(self, axis: int = -1):
        super().__init__()
        self.dim = axis

    def construct(self, x: Tensor) -> Tensor:
        return ops.glu(x, self.dim)


class LRN(Cell):
    """Local response normalization: x / (bias + alpha * s)^beta.

    s is the sum of squares of the channels at most `depth_radius` away.

    Args:
        depth_radius: how many channels on either side count.
        bias, alpha, beta: the constants of the formula.
        norm_region: ``"ACROSS_CHANNELS"``.

    Inputs:
        - **input_x** - Tensor (N, C, H, W).

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.LRN()(ms.ops.ones((1, 1, 1, 2))).reshape(-1))
        [0.70710677 0.70710677]
    """

    def __init__(self, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0,
                 beta: float = 0.5, norm_region: str = "ACROSS_CHANNELS"):
        super().__init__()
        checks.int_at_least_0(depth_radius, "depth_radius", "LRN")
        for name, value in (("bias", bias), ("alpha", alpha), ("beta", beta)):
            checks.of_type(value, (int, float), name, "LRN")
        self.options = (depth_radius, bias, alpha, beta, norm_region)

    def construct(self, input_x: Tensor) -> Tensor:
        return ops.lrn(input_x, *self.options)


_activation: dict[str, type[Cell]] = {  # programs add to it
    "softmin": Softmin, "softmax": Softmax, "softmax2d": Softmax2d, "logsoftmax": LogSoftmax,
    "logsoftmaxExt": LogSoftmaxExt, "relu": ReLU, "relu6": ReLU6, "rrelu": RReLU, "silu": SiLU,
    "tanh": Tanh, "tanhshrink": Tanhshrink, "hardtanh": Hardtanh, "gelu": GELU,
    "fast_gelu": FastGelu, "elu": ELU, "sigmoid": Sigmoid, "softsign": Softsign, "prelu": PReLU,
    "preluExt": PReLUExt, "leakyrelu": LeakyReLU, "hswish": HSwish, "hsigmoid": HSigmoid,
    "logsigmoid": LogSigmoid, "softshrink": SoftShrink, "hshrink": HShrink, "threshold": Threshold,
    "mish": Mish,
}


def get_activation(name: str | None, prim_name: str | None = None) -> Cell | None:
    """A new activation layer of a name such as ``"relu"`` or ``"hswish"``; None for None.

    Args:
        name: the name, in small letters.
        prim_name: who asks, for the error message.

    Raises:
        KeyError: if there is no activation of that name.

    Examples:
        >>> import lamella as ms
        >>> ms.nn.get_activation("sigmoid")
        Sigmoid()
    """
    if name is None:
        return None
    if not isinstance(name, str) or name not in _activation:
        raise KeyError(f"For '{prim_name or 'get_activation'}', 'name' must be one of "
                       f"{list(_activation)}, but got {name!r}.")
    return _activation[name]()
