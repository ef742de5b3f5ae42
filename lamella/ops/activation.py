"""Activation functions.

Where two branches of an activation meet, MindSpore picks a derivative of its own. PyTorch's kernels
are used as they are where they agree with it; the others get its rule through `_sloped`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from .. import dtype as mstype
from ..errors import op
from ..inplace import in_place
from ..tensor import Tensor, tensor_methods, wrap

__all__ = [
    "relu", "relu6", "relu_", "leaky_relu", "elu", "selu", "celu", "gelu", "fast_gelu", "silu",
    "swiglu", "sigmoid", "inplace_sigmoid", "tanh", "softmax", "softmin", "log_softmax", "softplus",
    "softsign", "hardsigmoid", "hardswish", "hardtanh", "hardshrink", "softshrink", "soft_shrink",
    "tanhshrink", "mish", "prelu", "rrelu", "logsigmoid", "glu", "threshold",
    "gumbel_softmax",
]


class _Sloped(torch.autograd.Function):
    """An elementwise kernel whose derivative is written out as a function of the input."""

    generate_vmap_rule = True

    @staticmethod
    def forward(raw: torch.Tensor, kernel: Callable, slope: Callable) -> torch.Tensor:
        return kernel(raw)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        raw, _, ctx.slope = inputs
        ctx.save_for_backward(raw)
        ctx.save_for_forward(raw)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        return grads[0] * ctx.slope(ctx.saved_tensors[0]), None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        return tangents[0] * ctx.slope(ctx.saved_tensors[0])


def _sloped(raw: torch.Tensor, kernel: Callable, slope: Callable) -> torch.Tensor:
    return _Sloped.apply(raw, kernel, slope) if raw.requires_grad else kernel(raw)


@op
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0) of each element; the derivative at 0 is 0.

    Args:
        input: any shape, any number type.
        inplace: write the result into `input` and return that.

    Returns:
        Tensor of the shape and type of `input`.

    Raises:
        TypeError: if `input` is not a Tensor.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.relu(ms.Tensor([[-1.0, 4.0, -8.0], [2.0, -5.0, 9.0]])))
        [[0. 4. 0.]
         [2. 0. 9.]]
    """
    if inplace:
        return relu_(input)
    raw = input._raw
    return wrap(raw.clone() if raw.dtype is torch.bool else torch.relu(raw))


@op
def relu_(input: Tensor) -> Tensor:
    """`relu` in place.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([-1.0, 4.0])
        >>> y = ms.ops.relu_(x)
        >>> print(x)
        [0. 4.]
    """
    return in_place(input, torch.relu_)


@op
def relu6(x: Tensor) -> Tensor:
    """min(max(x, 0), 6) of each element; the derivative is 0 at 0 and 1 at 6.

    Args:
        x: any shape, floating.

    Returns:
        Tensor of the shape and type of `x`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.relu6(ms.Tensor([-1.0, 4.0, 8.0])))
        [0. 4. 6.]
    """
    return wrap(torch.relu(x._raw).clamp_max(6.0))


@op
def leaky_relu(input: Tensor, alpha: float = 0.2) -> Tensor:
    """x where x >= 0 (for `alpha` <= 1), `alpha` x elsewhere.

    It is max(x, alpha x), or the min for alpha > 1, so the derivative at 0 is (1 + alpha) / 2.

    Args:
        input: any shape, any number type.
        alpha: the slope below 0.

    Returns:
        Tensor of the shape and type of `input`.

    Raises:
        TypeError: if `alpha` is no number.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.leaky_relu(ms.Tensor([-1.0, 4.0, -8.0])))
        [-0.2  4.  -1.6]
    """
    if not isinstance(alpha, (int, float)):
        raise TypeError(f"For 'leaky_relu', the type of 'alpha' should be float or int, "
                        f"but got type '{type(alpha).__name__}'.")
    raw = input._raw
    if not raw.is_floating_point():
        pick = torch.maximum if alpha <= 1 else torch.minimum
        return wrap(pick(raw, (raw * alpha).to(raw.dtype)))

    def slope(x: torch.Tensor) -> torch.Tensor:
        tie = torch.where(x == 0, (1.0 + alpha) / 2, alpha)
        return torch.where(x > 0, 1.0, tie).to(x.dtype)

    return wrap(_sloped(raw, lambda x: F.leaky_relu(x, alpha), slope))


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


_SELU_SCALE = 1.0507009873554805


@op
def selu(input_x: Tensor) -> Tensor:
    """The self-normalizing activation of Klambauer et al., 2017, Self-Normalizing Neural Networks.

    The derivative at 0 is that of the right side.

    Args:
        input_x: any shape, floating or whole numbers.

    Returns:
        Tensor of the shape and type of `input_x`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.selu(ms.Tensor([-1.0, 4.0, -8.0])))
        [-1.1113307  4.202804  -1.7575096]
    """
    raw = input_x._raw
    if not raw.is_floating_point():
        return wrap(torch.selu(raw.float()).to(raw.dtype))
    return wrap(torch.where(raw < 0, torch.selu(raw), raw * _SELU_SCALE))


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
        >>> print(ms.ops.gelu(ms.Tensor([1.0, 2.0, 3.0])))
        [0.8413447 1.9545    2.9959502]
    """
    if approximate not in ("none", "tanh"):
        raise ValueError(f"For 'gelu', 'approximate' must be 'none' or 'tanh', "
                         f"but got {approximate!r}.")
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


@op
def silu(input: Tensor) -> Tensor:
    """x sigmoid(x), also known as swish.

    Args:
        input: any shape, floating.

    Returns:
        Tensor of the shape and type of `input`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.silu(ms.Tensor([-1.0, 2.0, -3.0, 2.0, -1.0])))
        [-0.26894143  1.761594   -0.14227761  1.761594   -0.26894143]
    """
    return wrap(F.silu(input._raw))


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
    return wrap(F.silu(a) * b)


def _halves(name: str, raw: torch.Tensor, axis: int) -> tuple[torch.Tensor, torch.Tensor]:
    length = raw.shape[axis]
    if length % 2:
        raise ValueError(f"For '{name}', the length of the input along axis {axis} must be even, "
                         f"but got {length}.")
    a, b = raw.split(length // 2, axis)
    return a, b


@op
def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + e^-x) of each element.

    Args:
        input: any shape.

    Returns:
        Tensor of the shape of `input`; whole numbers give float32.

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
        input: any shape; whole numbers are computed in float32.

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
    return powers / powers.sum(axes, keepdim=True)


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
    return wrap(torch.log_softmax(logits._raw, _axis("log_softmax", axis)))


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


@op
def softsign(x: Tensor) -> Tensor:
    """x / (1 + |x|).

    Args:
        x: any shape, floating.

    Returns:
        Tensor of the shape and type of `x`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.softsign(ms.Tensor([0.0, -1.0, 3.0])))
        [ 0.   -0.5   0.75]
    """
    return wrap(F.softsign(x._raw))


@op
def hardsigmoid(input: Tensor) -> Tensor:
    """x / 6 + 1 / 2, kept within 0 and 1.

    Args:
        input: any shape, floating or whole numbers.

    Returns:
        Tensor of the shape and type of `input`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.hardsigmoid(ms.Tensor([-3.5, 0.0, 4.3])))
        [0.  0.5 1. ]
    """
    return wrap(_floating(lambda x: _sloped(x, F.hardsigmoid, _hardsigmoid_slope), input._raw))


def _hardsigmoid_slope(x: torch.Tensor) -> torch.Tensor:
    # PyTorch has no second derivative of its own kernel
    return (x.abs() < 3).to(x.dtype) / 6


def _floating(kernel: Callable, raw: torch.Tensor) -> torch.Tensor:
    """A floating kernel on whole numbers: the result is cut to their type, as MindSpore's is."""
    return kernel(raw) if raw.is_floating_point() else kernel(raw.float()).to(raw.dtype)


def _hardswish_slope(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x.abs() <= 3, x / 3 + 0.5, (x > 3).to(x.dtype))


@op
def hardswish(input: Tensor) -> Tensor:
    """x times `hardsigmoid` of x; the derivative at -3 and 3 is that of the middle piece.

    Args:
        input: any shape, floating or whole numbers.

    Returns:
        Tensor of the shape and type of `input`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.hardswish(ms.Tensor([-2.0, 0.0, 4.0])))
        [-0.33333334  0.          4.        ]
    """
    return wrap(_floating(lambda x: _sloped(x, F.hardswish, _hardswish_slope), input._raw))


@op
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """x kept within `min_val` and `max_val`; the derivative at either is 1/2.

    Args:
        input: any shape, any number type.
        min_val, max_val: the bounds.

    Returns:
        Tensor of the shape and type of `input`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.hardtanh(ms.Tensor([-3.0, 0.5, 2.0])))
        [-1.   0.5  1. ]
    """
    raw = input._raw
    # maximum and minimum share a tie's gradient between both sides
    low = torch.maximum(raw, raw.new_full((), min_val))
    return wrap(torch.minimum(low, raw.new_full((), max_val)))


@op
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x, or 0 where |x| <= `lambd`.

    Args:
        input: any shape, floating.
        lambd: the threshold.

    Returns:
        Tensor of the shape and type of `input`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.hardshrink(ms.Tensor([0.5, 1.0, -2.0])))
        [ 0.  1. -2.]
    """
    return wrap(F.hardshrink(input._raw, lambd))


@op
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x moved towards 0 by `lambd`, and 0 where |x| <= `lambd`.

    Args:
        input: any shape, floating.
        lambd: the threshold, 0 or more.

    Returns:
        Tensor of the shape and type of `input`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.softshrink(ms.Tensor([0.25, 1.0, -2.0])))
        [ 0.   0.5 -1.5]
    """
    return wrap(F.softshrink(input._raw, lambd))


soft_shrink = softshrink


@op
def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x).

    Args:
        input: any shape, floating.

    Returns:
        Tensor of the shape and type of `input`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.tanhshrink(ms.Tensor([0.0, 1.0])))
        [0.         0.23840582]
    """
    return wrap(input._raw - torch.tanh(input._raw))


@op
def mish(x: Tensor) -> Tensor:
    """x tanh(softplus(x)) (Misra, 2019, Mish: A Self Regularized Neural Activation Function).

    Args:
        x: any shape, floating.

    Returns:
        Tensor of the shape and type of `x`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.mish(ms.Tensor([-1.0, 0.0, 2.0])))
        [-0.30340144  0.          1.943959  ]
    """
    return wrap(F.mish(x._raw))


@op
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where x > 0, `weight` x elsewhere, with one weight in all or one a channel.

    Args:
        input: shape (N, C, ...), floating.
        weight: shape (1,) or (C,).

    Returns:
        Tensor of the shape and type of `input`.

    Raises:
        ValueError: if `weight` fits neither.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[-1.0, 2.0], [3.0, -4.0]])
        >>> print(ms.ops.prelu(x, ms.Tensor([0.25, 0.5])))
        [[-0.25  2.  ]
         [ 3.   -2.  ]]
    """
    raw, slopes = input._raw, weight._raw
    if slopes.dim() != 1 or slopes.numel() not in (1, raw.shape[1] if raw.dim() > 1 else 1):
        raise ValueError(f"For 'prelu', 'weight' must have the shape (1,) or (C,) for the C "
                         f"channels of 'input' {input.shape}, but got {weight.shape}.")
    return wrap(torch.prelu(raw, slopes))


@op
def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3) -> Tensor:
    """x where x >= 0, elsewhere a x with a random slope a between `lower` and `upper`.

    Args:
        input: any shape.
        lower, upper: the range of the slopes.

    Returns:
        Tensor of the shape and type of `input`.

    Raises:
        ValueError: if `lower` exceeds `upper`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.rrelu(ms.Tensor([-2.0, 3.0]), 0.5, 0.5))
        [-1.  3.]
    """
    if lower > upper:
        raise ValueError(f"For 'rrelu', 'upper' must be 'lower' or more, but got upper: {upper}, "
                         f"lower: {lower}.")
    raw = input._raw
    slopes = torch.empty_like(raw, dtype=torch.float32).uniform_(lower, upper)
    return wrap(torch.where(raw > 0, raw, (slopes * raw).to(raw.dtype)))


@op
def logsigmoid(x: Tensor) -> Tensor:
    """log(1 / (1 + e^-x)), computed without overflow.

    Args:
        x: any shape, floating.

    Returns:
        Tensor of the shape and type of `x`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.logsigmoid(ms.Tensor([1.0, 2.0, 3.0])))
        [-0.3132617  -0.12692802 -0.04858735]
    """
    return wrap(F.logsigmoid(x._raw))


@op
def glu(x: Tensor, axis: int = -1) -> Tensor:
    """The first half of `x` along `axis` times the sigmoid of the second (Dauphin et al., 2017).

    Args:
        x: floating, of even length along `axis`.
        axis: the dimension to halve.

    Returns:
        Tensor of half the length along `axis`.

    Raises:
        ValueError: if the length along `axis` is odd.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.glu(ms.Tensor([[0.1, 0.2, 0.3, 0.4]])))
        [[0.05744425 0.11973753]]
    """
    a, b = _halves("glu", x._raw, axis)
    return wrap(a * torch.sigmoid(b))


@op
def threshold(input: Tensor, thr: float, value: float) -> Tensor:
    """x where x > `thr`, `value` elsewhere.

    Args:
        input: any shape.
        thr: the threshold.
        value: what replaces the rest.

    Returns:
        Tensor of the shape and type of `input`.

    Raises:
        TypeError: if `thr` or `value` is no number.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.threshold(ms.Tensor([0.0, 2.0, 3.0]), 1, 20))
        [20.  2.  3.]
    """
    for name, given in (("thr", thr), ("value", value)):
        if not isinstance(given, (int, float)):
            raise TypeError(f"For 'threshold', the type of '{name}' should be float or int, "
                            f"but got type '{type(given).__name__}'.")
    raw = input._raw
    return wrap(torch.where(raw > thr, raw, raw.new_full((), value)))


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
    return wrap(F.gumbel_softmax(logits._raw, tau, hard, dim=dim))


def _tensor_softmax(self: Tensor, axis: int = -1, dtype: Any = None) -> Tensor:
    return softmax(self, axis, dtype=dtype)


def _tanh_(self: Tensor) -> Tensor:
    return in_place(self, torch.tanh_)


tensor_methods(softmax=_tensor_softmax, sigmoid=sigmoid, sigmoid_=inplace_sigmoid, tanh=tanh,
               tanh_=_tanh_, hardshrink=hardshrink, soft_shrink=soft_shrink)
