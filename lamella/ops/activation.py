"""Smooth activation functions, and softmax."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F

from ..core import dtype as mstype
from ..core.docstrings import documented_like
from ..core.errors import op
from ..core.state import state
from ..tensors.inplace import in_place
from ..tensors.tensor import Tensor, tensor_methods, wrap
from .piecewise import above_zero, sloped
from .windows import number_is_open

__all__ = [
    "elu", "selu", "celu", "gelu", "fast_gelu", "silu", "swiglu", "sigmoid", "inplace_sigmoid",
    "tanh", "softmax", "softmin", "log_softmax", "softplus", "softsign", "tanhshrink", "mish",
    "logsigmoid", "glu", "gumbel_softmax",
]


@op
def elu(input_x: Tensor, alpha: float = 1.0) -> Tensor:
    """x where x > 0, `alpha` (e^x - 1) elsewhere.

    Args:
        input_x: any shape, floating.
        alpha: the negative limit. MindSpore takes 1.0 only.

    Returns:
        Tensor of the shape and type of `input_x`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.elu(ms.Tensor([-1.0, 4.0, -8.0])))
        [-0.63212055  4.         -0.99966455]
    """
    return wrap(F.elu(input_x._raw, alpha))


_SELU_SCALE, _SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


@op
def selu(input_x: Tensor) -> Tensor:
    """The self-normalizing activation of Klambauer et al., 2017, Self-Normalizing Neural Networks.

    The derivative at 0 is that of the right side.

    Args:
        input_x: any shape, floating or integers.

    Returns:
        Tensor of the shape and type of `input_x`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.selu(ms.Tensor([-1.0, 4.0, -8.0])))
        [-1.1113307  4.202804  -1.7575096]
    """
    raw = input_x._raw
    if not raw.is_floating_point():
        return wrap(raw.clamp_min(0))  # its two constants are cut to the type: to 1 and 1
    return wrap(sloped(raw, torch.selu, _selu_slope, _selu_back))


def _selu_slope(x: torch.Tensor) -> torch.Tensor:
    left = _SELU_SCALE * _SELU_ALPHA * torch.exp(x.clamp(max=0))
    return torch.where(x < 0, left, _SELU_SCALE)


def _selu_back(gradient: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return torch.ops.aten.elu_backward(
        gradient, _SELU_ALPHA, _SELU_SCALE, 1.0, False, above_zero(x))  # of 0 the right side's


@op
def celu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """max(0, x) + min(0, alpha (e^(x / alpha) - 1)).

    Args:
        x: any shape, floating.
        alpha: not 0.

    Returns:
        Tensor of the shape and type of `x`.

    Raises:
        ValueError: if `alpha` is 0.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.celu(ms.Tensor([-2.0, -1.0, 1.0, 2.0])))
        [-0.86466473 -0.63212055  1.          2.        ]
    """
    if alpha == 0:
        raise ValueError("For 'celu', 'alpha' must not be 0, but got 0. Give a positive number.")
    return wrap(F.celu(x._raw, alpha))


@op
def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x times the normal distribution function of x (Hendrycks and Gimpel, 2016).

    Args:
        input: any shape, floating.
        approximate: ``'none'``, by the error function, or ``'tanh'``.

    Returns:
        Tensor of the shape and type of `input`.

    Raises:
        ValueError: if `approximate` is another word.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.gelu(ms.Tensor([0.0, 0.5, 1.0])).asnumpy().round(4))
        [0.     0.3457 0.8413]
    """
    if not isinstance(approximate, str):
        raise TypeError(f"For 'gelu', 'approximate' must be a str, but got {approximate!r}.")
    if approximate not in ("none", "tanh"):
        raise ValueError(f"For 'gelu', 'approximate' must be 'none' or 'tanh', "
                         f"but got {approximate!r}.")
    if number_is_open():  # PyTorch's rule for the gradient in batches asks for the number
        x = input._raw
        if approximate == "none":
            return wrap(x * (0.5 * (1 + torch.erf(x * math.sqrt(0.5)))))
        return wrap(0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))
    return wrap(F.gelu(input._raw, approximate=approximate))


@op
def fast_gelu(x: Tensor) -> Tensor:
    """x sigmoid(1.702 x), an approximation of `gelu`.

    Args:
        x: any shape, floating.

    Returns:
        Tensor of the shape and type of `x`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.fast_gelu(ms.Tensor([-1.0, 4.0])))
        [-0.15420423  3.995585  ]
    """
    return wrap(x._raw * torch.sigmoid(1.702 * x._raw))


@documented_like(fast_gelu)
@op
def silu(input: Tensor) -> Tensor:
    """x sigmoid(x), also known as swish.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.silu(ms.Tensor([-1.0, 2.0, -3.0, 2.0, -1.0])))
        [-0.26894143  1.761594   -0.14227761  1.761594   -0.26894143]
    """
    return wrap(_silu(input._raw))


def _silu(raw: torch.Tensor) -> torch.Tensor:
    if state.level is not None and state.level.forward:  # the gradient's kernel has no derivative
        return raw * torch.sigmoid(raw)
    return F.silu(raw)


@op
def swiglu(input: Tensor, dim: int = -1) -> Tensor:
    """silu of the first half of `input` along `dim`, times the second half.

    Args:
        input: floating, of even length along `dim`.
        dim: the dimension to halve.

    Returns:
        Tensor of half the length along `dim`.

    Raises:
        ValueError: if the length along `dim` is odd.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.swiglu(ms.Tensor([2.0, -1.0, 3.0, 4.0])))
        [ 5.2847824 -1.0757657]
    """
    a, b = _halves("swiglu", input._raw, dim)
    return wrap(_silu(a) * b)


def _halves(name: str, raw: torch.Tensor, axis: int) -> tuple[torch.Tensor, torch.Tensor]:
    length = raw.shape[axis]
    if length % 2:
        raise ValueError(f"For '{name}', the length of the input along axis {axis} must be even, "
                         f"but got {length}.")
    half = length // 2
    return raw.narrow(axis, 0, half), raw.narrow(axis, half, half)


@op
def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + e^-x) of each element.

    Args:
        input: any shape.

    Returns:
        Tensor of the shape of `input`; integers give float32.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.sigmoid(ms.Tensor([1.0, 2.0, 3.0, 4.0])))
        [0.7310586  0.880797   0.95257413 0.98201376]
    """
    return wrap(torch.sigmoid(input._raw))


@op
def inplace_sigmoid(input: Tensor) -> Tensor:
    """`sigmoid` in place.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.inplace_sigmoid(ms.Tensor([0.0])))
        [0.5]
    """
    return in_place(input, torch.sigmoid_)


@op
def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent of each element.

    Args:
        input: any shape; integers are computed in float32.

    Returns:
        Tensor of the shape of `input`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.tanh(ms.Tensor([1.0, 2.0, 3.0])))
        [0.7615942 0.9640276 0.9950548]
    """
    return wrap(torch.tanh(input._raw))


@op
def softmax(input: Tensor, axis: int = -1, *, dtype: Any = None) -> Tensor:
    """e^x along `axis`, divided by its sum.

    Args:
        input: any shape, floating.
        axis: the axis, or (for ops.Softmax) a tuple of axes, to normalize over.
        dtype: the type to convert `input` to first.

    Returns:
        Tensor of the shape of `input`.

    Raises:
        TypeError: if `axis` is no int.
        ValueError: if `axis` is out of range.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.softmax(ms.Tensor([1.0, 2.0, 3.0])))
        [0.09003057 0.24472848 0.66524094]
    """
    if isinstance(axis, tuple) and len(axis) > 1:
        return wrap(_softmax_over(input._raw, axis))
    return wrap(torch.softmax(input._raw, _axis("softmax", axis), _raw_type(dtype)))


def _softmax_over(raw: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    """Softmax over several axes at once."""
    powers = torch.exp(raw - raw.amax(axes, keepdim=True).detach())
    wide = powers.float() if raw.dtype is torch.float16 else powers  # as `log_softmax`
    return (wide / wide.sum(axes, keepdim=True)).to(raw.dtype)


def _axis(name: str, axis: Any) -> int:
    if isinstance(axis, int) and not isinstance(axis, bool):
        return axis
    if isinstance(axis, tuple) and len(axis) == 1:
        return axis[0]
    raise TypeError(f"For '{name}', the type of 'axis' must be 'int', but got {axis!r} with type "
                    f"'{type(axis).__name__}'.")


def _raw_type(dtype: Any) -> torch.dtype | None:
    return None if dtype is None else mstype.to_raw(dtype)


@op
def softmin(x: Tensor, axis: int = -1, *, dtype: Any = None) -> Tensor:
    """`softmax` of -x.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.softmin(ms.Tensor([1.0, 2.0, 3.0])))
        [0.66524094 0.24472848 0.09003057]
    """
    return wrap(torch.softmax(-x._raw, _axis("softmin", axis), _raw_type(dtype)))


@op
def log_softmax(logits: Tensor, axis: int = -1) -> Tensor:
    """The logarithm of `softmax`.

    Args:
        logits: any shape, floating.
        axis: the axis to normalize over.

    Returns:
        Tensor of the shape of `logits`.

    Raises:
        ValueError: if `axis` is out of range.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.log_softmax(ms.Tensor([1.0, 2.0, 3.0])))
        [-2.407606   -1.4076059  -0.40760595]
    """
    raw, axis = logits._raw, _axis("log_softmax", axis)
    if raw.dtype is torch.float16 and not torch.is_autocast_enabled(raw.device.type):
        # PyTorch's sum of float16 ends at 65504
        return wrap(torch.log_softmax(raw, axis, dtype=torch.float32).to(raw.dtype))
    return wrap(torch.log_softmax(raw, axis))


@op
def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """log(1 + e^(beta x)) / beta; x itself where beta x > `threshold`.

    Args:
        input: any shape, floating.
        beta: scale.
        threshold: from where on the function counts as linear.

    Returns:
        Tensor of the shape and type of `input`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.softplus(ms.Tensor([0.1, 0.2, 30.0])))
        [ 0.7443967   0.79813886 30.        ]
    """
    return wrap(F.softplus(input._raw, beta, threshold))


@documented_like(fast_gelu)
@op
def softsign(x: Tensor) -> Tensor:
    """x / (1 + |x|).

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.softsign(ms.Tensor([0.0, -1.0, 3.0])))
        [ 0.   -0.5   0.75]
    """
    return wrap(F.softsign(x._raw))


@documented_like(fast_gelu)
@op
def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x).

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.tanhshrink(ms.Tensor([0.0, 1.0])))
        [0.         0.23840582]
    """
    return wrap(input._raw - torch.tanh(input._raw))


@documented_like(fast_gelu)
@op
def mish(x: Tensor) -> Tensor:
    """x tanh(softplus(x)) (Misra, 2019, Mish: A Self Regularized Neural Activation Function).

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.mish(ms.Tensor([-1.0, 0.0, 2.0])))
        [-0.30340144  0.          1.943959  ]
    """
    raw = x._raw
    if state.level is not None and state.level.forward:  # the gradient's kernel has no derivative
        return wrap(raw * F.softplus(raw).tanh())
    return wrap(F.mish(raw))


@documented_like(fast_gelu)
@op
def logsigmoid(x: Tensor) -> Tensor:
    """log(1 / (1 + e^-x)), computed without overflow.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.logsigmoid(ms.Tensor([1.0, 2.0, 3.0])))
        [-0.3132617  -0.12692802 -0.04858735]
    """
    raw = x._raw
    return wrap(-torch.log1p(torch.exp(-raw)) if raw.is_complex() else F.logsigmoid(raw))


@documented_like(swiglu)
@op
def glu(x: Tensor, axis: int = -1) -> Tensor:
    """The first half of `x` along `axis` times the sigmoid of the second (Dauphin et al., 2017).

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.glu(ms.Tensor([[0.1, 0.2, 0.3, 0.4]])))
        [[0.05744425 0.11973753]]
    """
    a, b = _halves("glu", x._raw, axis)
    if a.dtype in (torch.float32, torch.float64):
        return wrap(F.glu(x._raw, axis))
    return wrap(a * torch.sigmoid(b))


@op
def gumbel_softmax(logits: Tensor, tau: float = 1.0, hard: bool = False, dim: int = -1) -> Tensor:
    """A random draw from the Gumbel-softmax distribution (Jang et al., 2017).

    Args:
        logits: unnormalized log probabilities, floating.
        tau: the temperature, above 0.
        hard: give one-hot draws, with the gradient of the soft ones.
        dim: the dimension of the classes.

    Returns:
        Tensor of the shape and type of `logits`.

    Raises:
        TypeError: if `hard` is no bool or `logits` not floating.
        ValueError: if `tau` is not positive.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.gumbel_softmax(ms.Tensor([[-0.1, 0.3]]), hard=True).sum())
        1.0
    """
    if not logits._raw.is_floating_point():
        raise TypeError(f"For 'gumbel_softmax', 'logits' must be floating, but got {logits.dtype}.")
    if not isinstance(hard, bool):
        raise TypeError(f"For 'gumbel_softmax', 'hard' must be a bool, but got {hard!r}.")
    if tau <= 0:
        raise ValueError(f"For 'gumbel_softmax', 'tau' must be above 0, but got {tau}.")
    raw = logits._raw
    # a draw that is 0 in float16 has an infinite logarithm
    wide = raw.float() if raw.dtype is torch.float16 else raw
    return wrap(F.gumbel_softmax(wide, tau, hard, dim=dim).to(raw.dtype))


def _tensor_softmax(self: Tensor, axis: int, dtype: Any = None) -> Tensor:
    return softmax(self, axis, dtype=dtype)


def _tanh_(self: Tensor) -> Tensor:
    return in_place(self, torch.tanh_)


tensor_methods(softmax=_tensor_softmax, sigmoid=sigmoid, sigmoid_=inplace_sigmoid, tanh=tanh,
               tanh_=_tanh_)
