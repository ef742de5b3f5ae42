"""Gradients of elementwise operators and losses as Primitive classes: `ReluGrad` and its kind.

Most follow from one rule, `pulled_back`: the gradient of the forward function by autodiff, at the
inputs that the class is given. Those that are given the forward result instead have a formula.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from ...autodiff.reverse import GradOperation
from ...core.errors import op
from ...core.require import one_of
from ...tensors.tensor import Tensor, wrap
from ..activation import fast_gelu, gelu, glu, silu, softplus, swiglu
from ..arithmetic import abs as absolute
from ..elementary import logit
from ..extrema import maximum, minimum
from ..loss import binary_cross_entropy, ctc_loss
from ..margin_loss import multi_margin_loss, smooth_l1_loss
from ..norm import cdist
from ..piecewise import hardshrink, hardsigmoid, hardswish, prelu, relu, relu6, softshrink
from ..primitive import Primitive, primitive
from ..special import mvlgamma
from ..trigonometry import acos, asin, atan
from .attributed import Attributed
from .attributes import with_attributes
from .linalg import pdist

__all__ = [
    "ACosGrad", "AbsGrad", "AcoshGrad", "AsinGrad", "AsinhGrad", "AtanGrad",
    "BinaryCrossEntropyGrad", "CTCLossV2Grad", "CdistGrad", "EluGrad", "FastGeLUGrad",
    "GeLUGrad", "GluGrad", "HShrinkGrad", "HSigmoidGrad", "HSwishGrad", "InvGrad",
    "KLDivLossGrad", "LogSoftmaxGrad", "LogitGrad", "MaximumGrad", "MaximumGradGrad",
    "MinimumGrad", "MinimumGradGrad", "MultiMarginLossGrad", "MvlgammaGrad", "NLLLossGrad",
    "PReLUGrad", "PdistGrad", "ReLU6Grad", "ReciprocalGrad", "ReluGrad", "RsqrtGrad",
    "SiLUGrad", "SigmoidCrossEntropyWithLogitsGrad", "SigmoidGrad", "SmoothL1LossGrad",
    "SoftShrinkGrad", "SoftplusGrad", "SqrtGrad", "SwigluGrad", "TanhGrad", "pulled_back",
]


def pulled_back(forward: Callable[..., Tensor], dout: Tensor, *inputs: Tensor
                ) -> tuple[Tensor, ...]:
    """The gradients of `forward` at `inputs`, for the gradient `dout` of its result.

    Args:
        forward: a function of Tensors with one Tensor as its result.
        dout: the gradient of the result.
        inputs: where; the gradients are by all of them.

    Returns:
        Tuple of Tensor, one for each of `inputs`.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([1.0, 3.0])
        >>> print(pulled_back(ms.ops.square, ms.Tensor([1.0, 2.0]), x)[0])
        [ 2. 12.]
    """
    if torch.compiler.is_exporting():  # a program holds what the tape ran, not transformations
        return GradOperation(get_all=True, sens_param=True)(forward)(*inputs, dout)

    def raw_forward(*raws: torch.Tensor) -> torch.Tensor:
        return forward(*map(wrap, raws))._raw

    result, pull = torch.func.vjp(raw_forward, *(x._raw for x in inputs))[:2]
    raw = dout._raw
    if raw.shape != result.shape:  # `dout` of a loss may have one element in one dimension
        if raw.numel() != result.numel():
            raise ValueError(f"the gradient's shape {tuple(raw.shape)} is not equal to that of the "
                             f"forward result, {tuple(result.shape)}.")
        raw = raw.reshape(result.shape)
    return tuple(wrap(gradient) for gradient in pull(raw.to(result.dtype)))


def _at_input(name: str, forward: Callable[..., Tensor], order: str, **attributes: Any
              ) -> type[Primitive]:
    """The gradient of `forward` by its one input `x`; `order` names the inputs of the class."""
    names = order.split()
    x, dout = names.index("x"), names.index("dout")

    def gradient(*inputs: Tensor, **values: Any) -> Tensor:
        _check_count(name, names, inputs)
        return pulled_back(functools.partial(forward, **values), inputs[dout], inputs[x])[0]

    gradient.__name__ = "_gradient"
    computed = op(gradient, name)
    return with_attributes(name, computed, **attributes) if attributes else primitive(
        name, computed)


def _check_count(name: str, names: list[str], inputs: tuple[Any, ...]) -> None:
    if len(inputs) != len(names):
        raise TypeError(f"For '{name}', there must be {len(names)} inputs, {', '.join(names)}, "
                        f"but got {len(inputs)}.")


def _at_result(name: str, formula: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
               order: str = "y dy") -> type[Primitive]:
    """A gradient from the forward result `y` and its gradient `dy`."""
    swapped = order == "dy y"

    def gradient(y: Tensor, dy: Tensor) -> Tensor:
        first, second = (dy, y) if swapped else (y, dy)
        return wrap(formula(first._raw, second._raw))

    gradient.__name__ = "_gradient"
    return primitive(name, op(gradient, name))


ACosGrad = _at_input("ACosGrad", acos, "x dout")
AbsGrad = _at_input("AbsGrad", absolute, "x dout")
AsinGrad = _at_input("AsinGrad", asin, "x dout")
AtanGrad = _at_input("AtanGrad", atan, "x dout")
FastGeLUGrad = _at_input("FastGeLUGrad", fast_gelu, "dout x")
GeLUGrad = _at_input("GeLUGrad", lambda x: gelu(x, "tanh"), "dout x y")
GluGrad = with_attributes("GluGrad", op(lambda grads, x, *, axis: pulled_back(
    lambda t: glu(t, axis), grads, x)[0], "GluGrad"), "axis")
HShrinkGrad = _at_input("HShrinkGrad", hardshrink, "dout x", lambd=0.5)
HSigmoidGrad = _at_input("HSigmoidGrad", hardsigmoid, "dout x")
HSwishGrad = _at_input("HSwishGrad", hardswish, "dout x")
LogitGrad = _at_input("LogitGrad", lambda x, eps: logit(x, eps if eps >= 0 else None), "dout x",
                      eps=-1.0)
MvlgammaGrad = with_attributes("MvlgammaGrad", op(lambda y_grad, x, *, p: pulled_back(
    lambda t: mvlgamma(t, p), y_grad, x)[0], "MvlgammaGrad"), "p")
ReLU6Grad = _at_input("ReLU6Grad", relu6, "dout x")
ReluGrad = _at_input("ReluGrad", relu, "dout x")
SiLUGrad = _at_input("SiLUGrad", silu, "dout x")
SoftShrinkGrad = _at_input("SoftShrinkGrad", softshrink, "dout x", lambd=0.5)
SoftplusGrad = _at_input("SoftplusGrad", softplus, "dout x")
PdistGrad = _at_input("PdistGrad", pdist, "dout x y", p=2.0)
SwigluGrad = primitive("SwigluGrad", op(lambda grad_output, input, dim=-1: pulled_back(
    lambda x: swiglu(x, dim), grad_output, input)[0], "SwigluGrad"))

AcoshGrad = _at_result("AcoshGrad", lambda y, dy: dy / y.sinh())
AsinhGrad = _at_result("AsinhGrad", lambda y, dy: dy / y.cosh())
EluGrad = _at_result("EluGrad", lambda y, dy: torch.where(y < 0, dy * (y + 1), dy), "dy y")
InvGrad = _at_result("InvGrad", lambda y, dy: -dy * y * y)
ReciprocalGrad = _at_result("ReciprocalGrad", lambda y, dy: -dy * y * y)
RsqrtGrad = _at_result("RsqrtGrad", lambda y, dy: -0.5 * dy * y * y * y)
SigmoidGrad = _at_result("SigmoidGrad", lambda y, dy: dy * y * (1 - y))
SqrtGrad = _at_result("SqrtGrad", lambda y, dy: 0.5 * dy / y)
TanhGrad = _at_result("TanhGrad", lambda y, dy: dy * (1 - y * y))


class LogSoftmaxGrad(Attributed):
    """The gradient of `ops.LogSoftmax` from its result.

    Args:
        axis: along which the exponentials add to 1.

    Inputs:
        - **logits** - the result of the forward operator.
        - **grad** - its gradient.
    """

    def __init__(self, axis: int = -1):
        super().__init__(axis=axis)

    def __call__(self, logits: Tensor, grad: Tensor) -> Tensor:
        y, dy = logits._raw, grad._raw
        return wrap(dy - y.exp() * dy.sum(self.axis, keepdim=True))


@op
def _prelu_grad(dy: Tensor, x: Tensor, weight: Tensor) -> tuple[Tensor, ...]:
    return pulled_back(prelu, dy, x, weight)


@op
def _kl_div_grad(grad: Tensor, x: Tensor, target: Tensor, *, reduction: str) -> Tensor:
    one_of(reduction, ("none", "mean", "batchmean", "sum"), "reduction", "KLDivLossGrad")
    # of negative targets, too, for which the loss is 0
    shares = {"mean": max(x.size, 1), "batchmean": max(x.shape[0] if x.ndim else 1, 1)}
    return wrap(-target._raw * grad._raw / shares.get(reduction, 1))


@op
def _binary_cross_entropy_grad(input: Tensor, target: Tensor, grad_output: Tensor,
                               weight: Tensor | None = None, *, reduction: str) -> Tensor:
    return pulled_back(lambda t: binary_cross_entropy(t, target, weight, reduction),
                       grad_output, input)[0]


@op
def _sigmoid_cross_entropy_grad(x: Tensor, y: Tensor, dout: Tensor) -> Tensor:
    return wrap((x._raw.sigmoid() - y._raw) * dout._raw)


@op
def _smooth_l1_grad(prediction: Tensor, target: Tensor, dout: Tensor, *, beta: float,
                    reduction: str) -> Tensor:
    return pulled_back(lambda t: smooth_l1_loss(t, target, beta, reduction), dout, prediction)[0]


@op
def _multi_margin_grad(y_grad: Tensor, x: Tensor, target: Tensor, weight: Tensor | None = None, *,
                       p: int, margin: float, reduction: str) -> Tensor:
    return pulled_back(lambda t: multi_margin_loss(t, target, p, margin, weight, reduction),
                       y_grad, x)[0]


@op
def _nll_grad(logits: Tensor, loss_grad: Tensor, labels: Tensor, weight: Tensor,
              total_weight: Tensor, *, reduction: str, ignore_index: int) -> Tensor:
    picked, classes = labels._raw.long(), logits._raw.shape[-1]
    kept = picked != ignore_index
    share = weight._raw[torch.where(kept, picked, 0)] * kept * loss_grad._raw
    if reduction == "mean":
        share = share / total_weight._raw
    return wrap(-share.unsqueeze(-1) * torch.nn.functional.one_hot(
        torch.where(kept, picked, 0), classes))


@op
def _cdist_grad(grad: Tensor, input_x: Tensor, input_y: Tensor, cdist_of: Tensor, *,
                p: float) -> Tensor:
    return pulled_back(lambda t: cdist(t, input_y, p), grad, input_x)[0]


@op
def _ctc_grad(grad_out: Tensor, log_probs: Tensor, targets: Tensor, input_lengths: Any,
              target_lengths: Any, neg_log_likelihood: Tensor, log_alpha: Tensor, *, blank: int,
              reduction: str, zero_infinity: bool) -> Tensor:
    if reduction != "none":
        raise ValueError(f"For 'CTCLossV2Grad', 'reduction' must be 'none', but got "
                         f"{reduction!r}.")
    return pulled_back(lambda t: ctc_loss(t, targets, input_lengths, target_lengths, blank,
                                          reduction, zero_infinity)[0], grad_out, log_probs)[0]


PReLUGrad = primitive("PReLUGrad", _prelu_grad)
CTCLossV2Grad = with_attributes("CTCLossV2Grad", _ctc_grad, "blank", reduction="none",
                                zero_infinity=False)
KLDivLossGrad = with_attributes("KLDivLossGrad", _kl_div_grad, reduction="mean")
BinaryCrossEntropyGrad = with_attributes("BinaryCrossEntropyGrad", _binary_cross_entropy_grad,
                                         reduction="mean")
SigmoidCrossEntropyWithLogitsGrad = primitive("SigmoidCrossEntropyWithLogitsGrad",
                                              _sigmoid_cross_entropy_grad)
SmoothL1LossGrad = with_attributes("SmoothL1LossGrad", _smooth_l1_grad, beta=1.0,
                                   reduction="none")
MultiMarginLossGrad = with_attributes("MultiMarginLossGrad", _multi_margin_grad, p=1, margin=1.0,
                                      reduction="mean")
NLLLossGrad = with_attributes("NLLLossGrad", _nll_grad, reduction="mean", ignore_index=-100)
CdistGrad = with_attributes("CdistGrad", _cdist_grad, p=2.0)


def _of_extremum(name: str, forward: Callable[..., Tensor]) -> type[Primitive]:
    """The gradients of `maximum` or `minimum`; the attributes are accepted as MindSpore does."""

    @functools.partial(op, name=name)
    def gradients(x: Tensor, y: Tensor, grads: Tensor, *, grad_x: bool, grad_y: bool
                  ) -> tuple[Tensor, ...]:
        return pulled_back(forward, grads, x, y)

    return with_attributes(name, gradients, grad_x=True, grad_y=True)


MaximumGrad = _of_extremum("MaximumGrad", maximum)
MinimumGrad = _of_extremum("MinimumGrad", minimum)


def _of_extremum_twice(name: str, largest: bool, **attributes: Any) -> type[Primitive]:
    @functools.partial(op, name=name)
    def gradients(x: Tensor, y: Tensor, dx: Tensor, dy: Tensor, **_: Any) -> tuple[Tensor, ...]:
        first = x._raw >= y._raw if largest else x._raw <= y._raw
        chosen = torch.where(first, dx._raw, dy._raw)
        return wrap(torch.zeros_like(x._raw)), wrap(torch.zeros_like(y._raw)), wrap(chosen)

    return with_attributes(name, gradients, **attributes)


MaximumGradGrad = _of_extremum_twice("MaximumGradGrad", True, grad_x=True, grad_y=True)
MinimumGradGrad = _of_extremum_twice("MinimumGradGrad", False)
