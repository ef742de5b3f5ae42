"""Loss functions of distances and margins: regression, embeddings, rankings and multiple labels."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F

from ..core.docstrings import documented_like
from ..core.errors import op
from ..core.state import state
from ..tensors.promotion import promote
from ..tensors.tensor import Tensor, wrap
from .loss import check_reduction, check_reduction_word, reduced
from .operands import floating

__all__ = [
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "gaussian_nll_loss",
    "cosine_embedding_loss", "margin_ranking_loss", "triplet_margin_loss", "hinge_embedding_loss",
    "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss",
    "soft_margin_loss",
]


def _pair(name: str, input: Tensor, target: Tensor,
          broadcast: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """Both in one type, and of one shape."""
    a, b = input._raw, target._raw
    if a.dtype is not b.dtype:
        a, b = promote(a, b)
    if a.shape == b.shape:
        return a, b
    if not broadcast:
        raise ValueError(f"For '{name}', both inputs must have one shape, "
                         f"but got {input.shape} and {target.shape}.")
    a, b = torch.broadcast_tensors(a, b)
    return a, b


def _reduced(kernel: Callable[..., torch.Tensor], a: torch.Tensor, b: torch.Tensor,
             reduction: str, **options: float) -> torch.Tensor:
    """A loss by one of PyTorch's kernels.

    A mean of DTensors is a sum over the number of elements: in the gradients of a mean the kernels
    divide by the number that this process has.
    """
    if reduction == "mean" and (hasattr(a, "placements") or hasattr(b, "placements")):
        count = torch.broadcast_shapes(a.shape, b.shape).numel()
        return kernel(a, b, reduction="sum", **options) / count
    return kernel(a, b, reduction=reduction, **options)


@op
def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """The squares of the differences.

    Args:
        input, target: shapes that broadcast.
        reduction: ``'mean'``, ``'sum'`` or ``'none'``.

    Returns:
        Tensor: a scalar, or of the broadcast shape for ``'none'``.

    Raises:
        ValueError: if `reduction` is unknown or shapes don't fit.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.mse_loss(ms.Tensor([1.0, 2.0]), ms.Tensor([1.0, 4.0])))
        2.0
    """
    a, b = _pair("mse_loss", input, target, broadcast=True)
    check_reduction("mse_loss", reduction)
    if not a.is_floating_point():
        a, b = a.float(), b.float()
    return wrap(_reduced(F.mse_loss, a, b, reduction))


@documented_like(mse_loss)
@op
def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """The absolute differences.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.l1_loss(ms.Tensor([1.0, 2.0]), ms.Tensor([1.0, 4.0])))
        1.0
    """
    a, b = _pair("l1_loss", input, target, broadcast=True)
    check_reduction("l1_loss", reduction)
    if a.is_complex():
        return wrap(reduced((a - b).abs().to(a.dtype), reduction))
    if not a.is_floating_point():
        return wrap(F.l1_loss(a.float(), b.float(), reduction=reduction).to(a.dtype))
    return wrap(F.l1_loss(a, b, reduction=reduction))


@op
def smooth_l1_loss(input: Tensor, target: Tensor, beta: float = 1.0,
                   reduction: str = "none") -> Tensor:
    """d² / (2 beta) for absolute differences d below `beta`, d - beta / 2 above (Girshick, 2015).

    Args:
        input, target: of one shape.
        beta: 0 gives `l1_loss`.
        reduction: ``'none'``, ``'mean'`` or ``'sum'``.

    Returns:
        Tensor: a scalar, or of the shape of `input` for ``'none'``.

    Raises:
        ValueError: if `reduction` is unknown, shapes differ or `beta` is negative.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.smooth_l1_loss(ms.Tensor([1.0, 2.0]), ms.Tensor([1.5, 4.0])))
        [0.125 1.5  ]
    """
    check_reduction_word("smooth_l1_loss", reduction)
    if beta < 0:
        raise ValueError(f"For 'smooth_l1_loss', 'beta' must be 0 or more, but got {beta}.")
    a, b = _pair("smooth_l1_loss", input, target)
    return wrap(_reduced(F.smooth_l1_loss, a, b, reduction, beta=beta))


@op
def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean",
               delta: float = 1.0) -> Tensor:
    """d² / 2 for absolute differences d below `delta`, delta (d - delta / 2) above (Huber, 1964).

    Args:
        input, target: shapes that broadcast.
        reduction: ``'mean'``, ``'sum'`` or ``'none'``.
        delta: above 0.

    Returns:
        Tensor: a scalar, or of the broadcast shape for ``'none'``.

    Raises:
        ValueError: if `reduction` is unknown or `delta` not above 0.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.huber_loss(ms.Tensor([1.0, 2.0]), ms.Tensor([1.0, 12.0]), delta=2.0))
        9.0
    """
    check_reduction("huber_loss", reduction)
    if delta <= 0:
        raise ValueError(f"For 'huber_loss', 'delta' must be above 0, but got {delta}.")
    a, b = _pair("huber_loss", input, target, broadcast=True)
    kernel = F.huber_loss
    if state.level is not None and state.level.forward:  # the gradient's kernel has no derivative
        kernel = _composed_huber
    return wrap(_reduced(kernel, floating(a), floating(b), reduction, delta=delta))


def _composed_huber(a: torch.Tensor, b: torch.Tensor, reduction: str, delta: float
                    ) -> torch.Tensor:
    gap = a - b
    distance = gap.abs()  # which has no second derivative at 0
    each = torch.where(distance < delta, 0.5 * gap.square(), delta * (distance - 0.5 * delta))
    return {"none": each, "mean": each.mean(), "sum": each.sum()}[reduction]


@op
def gaussian_nll_loss(x: Tensor, target: Tensor, var: Tensor, full: bool = False,
                      eps: float = 1e-6, reduction: str = "mean") -> Tensor:
    """(log v + (x - y)² / v) / 2 with the variance v (Nix and Weigend, 1994).

    Args:
        x, target: means and observations, shapes that broadcast.
        var: variances of the shape of `x`, or with the last dimension 1 or missing.
        full: add the constant log(2 pi) / 2.
        eps: the least variance; nothing flows back through this bound.
        reduction: ``'mean'``, ``'sum'`` or ``'none'``.

    Returns:
        Tensor: a scalar, or of the broadcast shape for ``'none'``.

    Raises:
        ValueError: if `reduction` is unknown, a variance negative or `eps` not above 0.

    Examples:
        >>> import lamella as ms
        >>> one = ms.Tensor([1.0, 1.0])
        >>> print(ms.ops.gaussian_nll_loss(one, ms.Tensor([1.0, 3.0]), one))
        1.0
    """
    check_reduction("gaussian_nll_loss", reduction)
    if eps <= 0:
        raise ValueError(f"For 'gaussian_nll_loss', 'eps' must be above 0, but got {eps}.")
    mean, observed, variance = (raw if raw.is_floating_point() or raw.is_complex() else raw.float()
                                for raw in (x._raw, target._raw, var._raw))
    mean, observed = torch.broadcast_tensors(mean, observed)
    return wrap(F.gaussian_nll_loss(mean, observed, variance.expand(mean.shape), full=full,
                                    eps=eps, reduction=reduction))


@op
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0,
                          reduction: str = "mean") -> Tensor:
    """1 - cos for pairs of target 1, max(0, cos - margin) for pairs of target -1.

    Args:
        input1, input2: shape (N, D) (or (D,)).
        target: 1 or -1, shape (N,) (or ()).
        margin: within -1 and 1.
        reduction: ``'mean'``, ``'sum'`` or ``'none'``.

    Returns:
        Tensor: a scalar, or of the shape of `target` for ``'none'``.

    Raises:
        ValueError: if `reduction` is unknown or `margin` out of range.

    Examples:
        >>> import lamella as ms
        >>> x, y = ms.Tensor([[3.0, 4.0]]), ms.Tensor([[4.0, 3.0]])
        >>> print(ms.ops.cosine_embedding_loss(x, y, ms.Tensor([-1]), 0.5))
        0.45999998
    """
    check_reduction("cosine_embedding_loss", reduction)
    if not -1 <= margin <= 1:
        raise ValueError(f"For 'cosine_embedding_loss', 'margin' must be in [-1, 1], "
                         f"but got {margin}.")
    return wrap(F.cosine_embedding_loss(input1._raw, input2._raw, target._raw, margin,
                                        reduction=reduction))


@op
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0,
                        reduction: str = "mean") -> Tensor:
    """max(0, -y (x1 - x2) + margin).

    Args:
        input1, input2: any shape.
        target: 1 where x1 should be larger, -1 where x2 should.
        margin: by how much.
        reduction: ``'mean'``, ``'sum'`` or ``'none'``.

    Returns:
        Tensor: a scalar, or of the shape of `input1` for ``'none'``.

    Raises:
        ValueError: if `reduction` is unknown.

    Examples:
        >>> import lamella as ms
        >>> x, y = ms.Tensor([1.0, 2.0]), ms.Tensor([2.0, 1.0])
        >>> print(ms.ops.margin_ranking_loss(x, y, ms.Tensor([1.0, 1.0])))
        0.5
    """
    check_reduction("margin_ranking_loss", reduction)
    gap = -target._raw * (input1._raw - input2._raw) + margin
    return wrap(reduced(gap.clamp_min(0), reduction))  # at 0 the gradient passes, as in MindSpore


@op
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0,
                        p: int = 2, eps: float = 1e-6, swap: bool = False,
                        reduction: str = "mean") -> Tensor:
    """max(0, |a - p| - |a - n| + margin) (Schroff et al., 2015).

    Args:
        anchor, positive, negative: shape (N, D) (or (D,)).
        margin: by how much the negative should be farther; a number or a Tensor of one.
        p: the degree of the norm.
        eps: added to each difference.
        swap: use |p - n| instead of |a - n| where that is smaller (Balntas et al., 2016).
        reduction: ``'mean'``, ``'sum'`` or ``'none'``.

    Returns:
        Tensor: a scalar, or of shape (N,) for ``'none'``.

    Raises:
        ValueError: if `reduction` is unknown.

    Examples:
        >>> import lamella as ms
        >>> a, p, n = ms.Tensor([[0.0]]), ms.Tensor([[3.0]]), ms.Tensor([[2.0]])
        >>> print(ms.ops.triplet_margin_loss(a, p, n))
        2.0
    """
    check_reduction("triplet_margin_loss", reduction)
    bound = margin.item() if isinstance(margin, Tensor) else margin
    return wrap(F.triplet_margin_loss(anchor._raw, positive._raw, negative._raw, bound, p, eps,
                                      swap, reduction=reduction))


@documented_like(margin_ranking_loss)
@op
def hinge_embedding_loss(inputs: Tensor, targets: Tensor, margin: float = 1.0,
                         reduction: str = "mean") -> Tensor:
    """x where the target is 1, max(0, margin - x) where it is -1.

    Args:
        inputs: distances, any shape.
        targets: 1 or -1, of that shape.
        margin: how far dissimilar ones should be.
        reduction: ``'mean'``, ``'sum'`` or ``'none'``.

    Examples:
        >>> import lamella as ms
        >>> x, y = ms.Tensor([0.25, 0.25]), ms.Tensor([1.0, -1.0])
        >>> print(ms.ops.hinge_embedding_loss(x, y))
        0.5
    """
    check_reduction("hinge_embedding_loss", reduction)
    raw, target = inputs._raw, targets._raw
    gap = margin - raw
    gap = torch.maximum(gap, gap.new_zeros(()))  # half of the gradient at 0, as in MindSpore
    each = torch.where(target != -1, raw, 0) + torch.where(target != 1, gap, 0)
    return wrap(reduced(each, reduction))


@op
def multi_margin_loss(input: Tensor, target: Tensor, p: int = 1, margin: float = 1,
                      weight: Tensor | None = None, reduction: str = "mean") -> Tensor:
    """The mean over classes i other than y of max(0, margin - x[y] + x[i])^p.

    Args:
        input: scores, shape (N, C).
        target: classes, shape (N,).
        p: 1 or 2.
        margin: by how much the right class should lead.
        weight: a weight a class, shape (C,).
        reduction: ``'mean'``, ``'sum'`` or ``'none'``.

    Returns:
        Tensor: a scalar, or of shape (N,) for ``'none'``.

    Raises:
        ValueError: if `reduction` is unknown or `p` neither 1 nor 2.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.multi_margin_loss(ms.Tensor([[0.5, 1.0]]), ms.Tensor([1])))
        0.25
    """
    check_reduction("multi_margin_loss", reduction)
    if p not in (1, 2):
        raise ValueError(f"For 'multi_margin_loss', 'p' must be 1 or 2, but got {p}.")
    # the kernel takes no weights that a gradient is taken by: they are constants, as in MindSpore
    return wrap(F.multi_margin_loss(
        input._raw, target._raw.to(torch.int64), p, margin,
        None if weight is None else weight._raw.detach(), reduction=reduction))


@op
def multilabel_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """The mean of max(0, 1 - x[y] + x[i]) over right classes y and wrong classes i.

    Args:
        input: scores, shape (N, C) or (C,).
        target: the right classes, of that shape; those after the first -1 don't count.
        reduction: ``'mean'``, ``'sum'`` or ``'none'``.

    Returns:
        Tensor: a scalar, or of shape (N,) for ``'none'``.

    Raises:
        ValueError: if `reduction` is unknown or shapes differ.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[0.1, 0.2, 0.4, 0.8]])
        >>> y = ms.Tensor([[3, 0, -1, 1]], ms.int32)
        >>> print(ms.ops.multilabel_margin_loss(x, y))
        0.85
    """
    check_reduction("multilabel_margin_loss", reduction)
    return wrap(F.multilabel_margin_loss(input._raw, target._raw.to(torch.int64),
                                         reduction=reduction))


@documented_like(triplet_margin_loss)
@op
def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None,
                                reduction: str = "mean") -> Tensor:
    """The mean over classes of the binary cross entropy of scores.

    Args:
        input: scores, shape (N, C).
        target: 0 or 1, of that shape.
        weight: a weight a class.
        reduction: ``'mean'``, ``'sum'`` or ``'none'``.

    Examples:
        >>> import lamella as ms
        >>> x, y = ms.Tensor([[0.0, 0.0]]), ms.Tensor([[1.0, 0.0]])
        >>> print(ms.ops.multilabel_soft_margin_loss(x, y))
        0.6931472
    """
    check_reduction("multilabel_soft_margin_loss", reduction)
    return wrap(F.multilabel_soft_margin_loss(input._raw, target._raw,
                                              None if weight is None else weight._raw,
                                              reduction=reduction))


@op
def soft_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """log(1 + e^(-x y)) for targets y of 1 and -1.

    Args:
        input: scores, any shape.
        target: 1 or -1, of that shape.
        reduction: ``'mean'``, ``'sum'`` or ``'none'``.

    Returns:
        Tensor: a scalar, or of the shape of `input` for ``'none'``.

    Raises:
        ValueError: if `reduction` is unknown or shapes differ.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.soft_margin_loss(ms.Tensor([0.0]), ms.Tensor([1.0])))
        0.6931472
    """
    check_reduction_word("soft_margin_loss", reduction)
    a, b = _pair("soft_margin_loss", input, target)
    return wrap(_reduced(F.soft_margin_loss, a, b, reduction))
