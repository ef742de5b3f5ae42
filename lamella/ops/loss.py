"""Loss functions of classification: cross entropies, likelihoods, connectionist temporal losses."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from ..core.cuts import depends
from ..core.docstrings import documented_like
from ..core.dtype import promote_types
from ..core.errors import op
from ..core.require import of_type
from ..core.state import is_plain_run, state
from ..core.tape import note_results, only_with_gradients
from ..tensors.promotion import promote
from ..tensors.tensor import Tensor, wrap
from .arguments import as_int, indices_of, require_values
from .windows import number_is_open

__all__ = [
    "cross_entropy", "nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits",
    "kl_div", "ctc_loss", "ctc_greedy_decoder",
]


def check_reduction(name: str, reduction: Any, *more: str) -> str:
    """`reduction`, checked to be one of none, mean and sum."""
    if reduction not in ("none", "mean", "sum", *more):
        raise ValueError(f"For '{name}', 'reduction' must be 'none', 'mean' or 'sum', "
                         f"but got {reduction!r}.")
    return reduction


def check_reduction_word(name: str, reduction: Any, *more: str) -> str:
    """As `check_reduction`, where something else than a str is a TypeError, as in MindSpore."""
    of_type(reduction, str, "reduction", name)
    return check_reduction(name, reduction, *more)


def reduced(raw: torch.Tensor, reduction: str) -> torch.Tensor:
    """The losses themselves, their mean or their sum."""
    if reduction == "mean":
        return raw.mean()
    return raw.sum() if reduction == "sum" else raw


def _indices(raw: torch.Tensor) -> torch.Tensor:
    return raw if raw.dtype is torch.int64 else raw.to(torch.int64)


def _in_one_type(raw: torch.Tensor, weight: Tensor | None
                 ) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Scores and weights in the floating type of their product; that of integers is float32."""
    weights = None if weight is None else weight._raw
    kind = raw.dtype
    if weights is not None and weights.dtype is not kind:
        kind = promote_types(kind, weights.dtype)
    if not kind.is_floating_point:
        kind = torch.float32
    return raw.to(kind), None if weights is None else weights.to(kind)


def _counted(raw: Any) -> Any:
    """A tensor in a type that holds sums over a batch: float16 ends at 65504 examples."""
    return raw.float() if raw is not None and raw.dtype is torch.float16 else raw


def _in_type_of(loss: torch.Tensor, scores: torch.Tensor, classes: torch.Tensor | None = None
                ) -> torch.Tensor:
    """A loss in the type that it has of these scores, and of classes that are probabilities."""
    if scores.dtype is not torch.float16 or torch.is_autocast_enabled(loss.device.type) or (
            classes is not None and classes.dtype in (torch.float32, torch.float64)):
        return loss
    return loss.to(torch.float16)


@op
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None,
                  ignore_index: int = -100, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Tensor:
    """The cross entropy of class scores and classes.

    Args:
        input: unnormalized scores, shape (C,), (N, C) or (N, C, ...).
        target: classes, integers of shape (), (N,) or (N, ...), or probabilities of the shape
            of `input`.
        weight: a weight a class, shape (C,).
        ignore_index: the class that doesn't count.
        reduction: ``'mean'`` (by weight), ``'sum'`` or ``'none'``.
        label_smoothing: the share of the even distribution in the target.

    Returns:
        Tensor: a scalar, or of the shape of the classes for ``'none'``.

    Raises:
        ValueError: if `reduction` is unknown, or shapes don't fit.
        RuntimeError: if a class is outside of [0, C).

    Examples:
        >>> import lamella as ms
        >>> scores = ms.Tensor([[0.0, 0.0], [1.0, 1.0]])
        >>> print(ms.ops.cross_entropy(scores, ms.Tensor([0, 1])))
        0.6931472
    """
    check_reduction("cross_entropy", reduction)
    raw, classes = input._raw, target._raw
    if classes.is_floating_point() or classes.shape == raw.shape:
        # probabilities, of integers too
        classes = classes if classes.is_floating_point() else classes.to(raw.dtype)
        if classes.shape != raw.shape:
            raise ValueError(f"For 'cross_entropy', 'target' of probabilities must have the shape "
                             f"of 'input' {input.shape}, but got {target.shape}.")
    else:
        classes = _indices(classes)
        if number_is_open() and label_smoothing == 0.0:
            return nll_loss(wrap(torch.log_softmax(raw, int(raw.dim() > 1))), target, weight,
                            ignore_index, reduction)
    weights = None if weight is None else weight._raw
    if weights is not None and weights.dtype is not raw.dtype and raw.is_floating_point():
        raw, weights = _in_one_type(raw, weight)
    loss = F.cross_entropy(_counted(raw), _counted(classes), _counted(weights),
                           ignore_index=-100 if classes.is_floating_point() else ignore_index,
                           reduction=reduction, label_smoothing=label_smoothing)
    return wrap(_in_type_of(loss, raw, classes))


@documented_like(cross_entropy)
@op
def nll_loss(inputs: Tensor, target: Tensor, weight: Tensor | None = None,
             ignore_index: int = -100, reduction: str = "mean",
             label_smoothing: float = 0.0) -> Tensor:
    """The negative log likelihood: minus the entry of each class.

    Args:
        inputs: log probabilities, shape (C,), (N, C) or (N, C, ...); integers count as float32.
        target: classes, integers of shape (), (N,) or (N, ...).
        weight, ignore_index, reduction, label_smoothing: as `cross_entropy`.

    Returns:
        Tensor: a scalar, or of the shape of `target` for ``'none'``.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.nll_loss(ms.Tensor([[-1.0, -2.0]]), ms.Tensor([1])))
        2.0
    """
    check_reduction("nll_loss", reduction)
    raw, weights = _in_one_type(inputs._raw, weight)
    given, raw, weights = raw, _counted(raw), _counted(weights)
    classes = _indices(target._raw)
    if raw.dim() == 1 and classes.dim() == 1:
        raw = raw.unsqueeze(0)  # an example by itself, whose class has a dimension
    if weights is not None and depends(weights, state.level):
        loss = _weighted_nll(raw, classes, weights, ignore_index, reduction)
    elif number_is_open():  # PyTorch's rule for the gradient in batches asks for the number
        many = raw if raw.dim() > 1 else raw.unsqueeze(0)
        loss = _weighted_nll(
            many, classes if raw.dim() > 1 else classes.unsqueeze(0),
            raw.new_ones(many.shape[1]) if weights is None else weights, ignore_index, reduction)
        loss = loss if raw.dim() > 1 else loss.reshape(())
    else:
        loss = F.nll_loss(raw, classes, weights, ignore_index=ignore_index, reduction=reduction)
    if label_smoothing == 0.0:
        return wrap(_in_type_of(loss, given))
    axis = 1 if raw.dim() > 1 else 0
    scale = raw.new_ones(raw.shape[axis]) if weights is None else weights
    kept = classes != ignore_index
    smooth = -(raw * scale.view(-1, *(1,) * (raw.dim() - axis - 1))).sum(axis)
    smooth = torch.where(kept, smooth, 0.0)
    if reduction == "mean":
        counted = torch.where(kept, scale[torch.where(kept, classes, 0)], 0.0)
        smooth = smooth.sum() / counted.sum()
    elif reduction == "sum":
        smooth = smooth.sum()
    share = label_smoothing / raw.shape[axis]
    return wrap(_in_type_of((1.0 - label_smoothing) * loss + share * smooth, given))


def _weighted_nll(raw: torch.Tensor, classes: torch.Tensor, weights: torch.Tensor,
                  ignore_index: int, reduction: str) -> torch.Tensor:
    """`nll_loss` with a derivative by the weights, which PyTorch's kernel hasn't."""
    kept = classes != ignore_index
    picked = torch.where(kept, classes, 0)
    share = torch.where(kept, weights[picked], 0.0)
    if number_is_open():  # and that of `gather` does, too
        rows = raw.movedim(1, -1).reshape(-1, raw.shape[1])
        chosen = rows[torch.arange(len(rows), device=raw.device), picked.reshape(-1)]
        losses = -share * chosen.reshape(picked.shape)
    else:
        losses = -share * raw.gather(1, picked.unsqueeze(1)).squeeze(1)
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    total = share.sum()
    counts = total != 0  # if nothing does, the mean is NaN, and its gradient zero
    return torch.where(counts, losses.sum() / torch.where(counts, total, 1.0), torch.nan)


_TINY = 1e-12  # MindSpore adds it inside both logarithms of binary_cross_entropy
_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}  # as PyTorch's kernels number them


def _two_classes(p: torch.Tensor, y: torch.Tensor, reduction: int) -> torch.Tensor:
    found = torch.rsub(p, 1).add_(_TINY).log_().lerp_(torch.add(p, _TINY).log_(), y)
    return (found if not reduction else found.mean() if reduction == 1 else found.sum()).neg_()


class _TwoClasses(torch.autograd.Function):
    """`binary_cross_entropy` by kernels that take whole vectors; its gradient is PyTorch's."""

    @staticmethod
    def forward(ctx: Any, p: torch.Tensor, y: torch.Tensor, reduction: int) -> torch.Tensor:
        ctx.save_for_backward(p, y)
        ctx.reduction = reduction
        found = _two_classes(p, y, reduction)
        note_results(ctx, (found,))
        return found

    @staticmethod
    @only_with_gradients
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:  # type: ignore[override]
        p, y = ctx.saved_tensors
        return torch.ops.aten.binary_cross_entropy_backward.default(
            gradient, p, y, None, ctx.reduction), None, None


def _is_fast(p: torch.Tensor, y: torch.Tensor) -> bool:
    """Whether the loss may be computed without PyTorch's kernel, which refuses other numbers."""
    if not (p.dtype is y.dtype and p.dtype in (torch.float32, torch.float64) and p.is_cpu
            and y.is_cpu and not y.requires_grad and is_plain_run() and type(p) is torch.Tensor
            and p.numel() and not torch.is_autocast_enabled("cpu")):
        return False
    least, most = torch.aminmax(p.detach())
    return least.item() >= 0 and most.item() <= 1


@op
def binary_cross_entropy(logits: Tensor, labels: Tensor, weight: Tensor | None = None,
                         reduction: str = "mean") -> Tensor:
    """The cross entropy of probabilities and two classes: at most 27.63 an element.

    Args:
        logits: probabilities (in spite of the name), any shape.
        labels: 0 or 1 or between, of that shape.
        weight: factors that broadcast to that shape.
        reduction: ``'mean'``, ``'sum'`` or ``'none'``.

    Returns:
        Tensor: a scalar, or of the shape of `logits` for ``'none'``.

    Raises:
        ValueError: if `reduction` is unknown or shapes differ.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.binary_cross_entropy(ms.Tensor([0.5, 0.5]), ms.Tensor([1.0, 0.0])))
        0.6931472
    """
    check_reduction_word("binary_cross_entropy", reduction)
    p, y = logits._raw, labels._raw
    if p.shape != y.shape:
        raise ValueError(f"For 'binary_cross_entropy', 'logits' and 'labels' must have one shape, "
                         f"but got {logits.shape} and {labels.shape}.")
    if p.dtype is torch.float16 is y.dtype:  # whose least numbers are far above `_TINY`
        wide = None if weight is None else wrap(weight._raw.float())
        return wrap(binary_cross_entropy(wrap(p.float()), wrap(y.float()), wide,
                                         reduction)._raw.half())
    if weight is None and _is_fast(p, y):
        kernel = _TwoClasses.apply if p.requires_grad else _two_classes
        return wrap(kernel(p, y, _REDUCTIONS[reduction]))
    loss = F.binary_cross_entropy(p, y, reduction="none")
    # PyTorch cuts each logarithm at -100; its derivative is MindSpore's
    exact = -(y * torch.log(p + _TINY) + (1 - y) * torch.log(1 - p + _TINY))
    loss = loss + (exact - loss).detach()
    return wrap(reduced(loss if weight is None else loss * weight._raw, reduction))


@op
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None,
                                     pos_weight: Tensor | None = None,
                                     reduction: str = "mean") -> Tensor:
    """`binary_cross_entropy` of the sigmoid of `input`, computed without overflow.

    Args:
        input: scores, any shape.
        target: 0 or 1 or between, of that shape.
        weight: factors that broadcast to that shape.
        pos_weight: factors of the part of the ones, which broadcast to that shape.
        reduction: ``'mean'``, ``'sum'`` or ``'none'``.

    Returns:
        Tensor: a scalar, or of the shape of `input` for ``'none'``.

    Raises:
        ValueError: if `reduction` is unknown or shapes differ.

    Examples:
        >>> import lamella as ms
        >>> x, y = ms.Tensor([0.0, 0.0]), ms.Tensor([1.0, 0.0])
        >>> print(ms.ops.binary_cross_entropy_with_logits(x, y))
        0.6931472
    """
    check_reduction_word("binary_cross_entropy_with_logits", reduction)
    raw, labels = promote(input._raw, target._raw)
    factor = None if weight is None else weight._raw
    positive = None if pos_weight is None else pos_weight._raw
    if any(w is not None and w.requires_grad for w in (factor, positive)):
        ones = labels if positive is None else labels * positive
        loss = -(ones * F.logsigmoid(raw) + (1 - labels) * F.logsigmoid(-raw))
        loss = reduced(loss if factor is None else loss * factor, reduction)
    else:  # PyTorch's kernel has no gradient by these
        loss = F.binary_cross_entropy_with_logits(raw, labels, factor, reduction=reduction,
                                                  pos_weight=positive)
    return wrap(loss.to(target._raw.dtype))


@documented_like(binary_cross_entropy)
@op
def kl_div(logits: Tensor, labels: Tensor, reduction: str = "mean") -> Tensor:
    """The Kullback-Leibler divergence y (log y - x) of log probabilities x and probabilities y.

    Where y is 0 or less it is 0.

    Args:
        logits: log probabilities, any shape.
        labels: probabilities, of that shape.
        reduction: ``'mean'``, ``'sum'``, ``'none'`` or ``'batchmean'``: the sum over the length of
            the first dimension.

    Examples:
        >>> import lamella as ms
        >>> x, y = ms.Tensor([[0.2, 0.7, 0.1]]), ms.Tensor([[0.0, 1.0, 0.0]])
        >>> print(ms.ops.kl_div(x, y, 'sum'))
        -0.7
    """
    check_reduction("kl_div", reduction, "batchmean")
    if logits.shape != labels.shape:
        raise ValueError(f"For 'kl_div', 'logits' and 'labels' must have one shape, "
                         f"but got {logits.shape} and {labels.shape}.")
    raw, target = promote(logits._raw, labels._raw)
    if not raw.is_floating_point():
        raise TypeError(f"For 'kl_div', 'logits' and 'labels' must be floating, "
                        f"but got {logits.dtype} and {labels.dtype}.")
    shown = target > 0  # elsewhere the limit of the formula, and no gradient
    safe = torch.where(shown, target, 1)
    each = torch.where(shown, safe * (safe.log() - raw), 0)
    if reduction == "batchmean":
        return wrap(each.sum() / each.shape[0])
    return wrap(reduced(each, reduction))


@op
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor,
             blank: int = 0, reduction: str = "mean",
             zero_infinity: bool = False) -> tuple[Tensor, Tensor]:
    """Connectionist temporal classification (Graves et al., 2006).

    Args:
        log_probs: log probabilities, shape (T, N, C).
        targets: labels, shape (N, S).
        input_lengths, target_lengths: shape (N,) or tuples.
        blank: the label of no label.
        reduction: ``'mean'`` (each loss over its target's length first), ``'sum'`` or ``'none'``.
        zero_infinity: count infinite losses, of targets too long for their input, as zero.

    Returns:
        The loss, and the log forward probabilities of shape (N, T, 2 S + 1).

    Raises:
        TypeError: if `log_probs` is not floating, or labels or lengths are not integers.
        ValueError: if `reduction` is unknown, shapes don't fit, or a label, a length or `blank` is
            out of range.

    Examples:
        >>> import lamella as ms
        >>> log_probs = ms.ops.log_softmax(ms.ops.ones((2, 1, 2)))
        >>> loss, _ = ms.ops.ctc_loss(log_probs, ms.Tensor([[1]]), ms.Tensor([2]), ms.Tensor([1]))
        >>> print(loss)
        0.2876821
    """
    check_reduction("ctc_loss", reduction)
    raw = log_probs._raw
    labels = indices_of(targets, "ctc_loss", "targets").to(raw.device)
    inputs = indices_of(input_lengths, "ctc_loss", "input_lengths").to(raw.device)
    counts = indices_of(target_lengths, "ctc_loss", "target_lengths").to(raw.device)
    blank = as_int(blank, "ctc_loss", "blank")
    check_labels(raw, labels, inputs, counts, blank, "ctc_loss")
    loss, log_alpha = torch.ops.aten._ctc_loss(raw, labels, inputs, counts, blank,
                                               bool(zero_infinity))
    if zero_infinity:
        loss = torch.where(torch.isinf(loss), 0.0, loss)
    if reduction == "mean":
        loss = (loss / counts.clamp_min(1)).mean()
    step = torch.arange(log_alpha.shape[1], device=raw.device)[:, None]
    state = torch.arange(log_alpha.shape[2], device=raw.device)
    unset = (step >= inputs[:, None, None]) | (state > 2 * counts[:, None, None])
    log_alpha = log_alpha.masked_fill(unset, -torch.inf)  # which PyTorch leaves as memory was
    if labels.dim() == 2:  # as wide as the targets may be long
        log_alpha = F.pad(log_alpha, (0, 2 * labels.shape[1] + 1 - log_alpha.shape[2]),
                          value=-torch.inf)
    return wrap(loss.sum() if reduction == "sum" else loss), wrap(log_alpha)


def check_labels(scores: torch.Tensor, labels: torch.Tensor, input_lengths: torch.Tensor,
                 target_lengths: torch.Tensor, blank: int, where: str) -> None:
    """Refuse what doesn't fit: the kernel of `ctc_loss` reads and writes at labels without a look.
    """
    if scores.dim() != 3 or not scores.is_floating_point():
        raise (TypeError if scores.dim() == 3 else ValueError)(
            f"For '{where}', the scores must be floating, of shape (T, N, C), "
            f"but got shape {tuple(scores.shape)} and {scores.dtype}.")
    steps, count, classes = scores.shape
    if not 0 <= blank < classes:
        raise ValueError(f"For '{where}', 'blank' must be one of the {classes} classes, "
                         f"but got {blank}.")
    for name, lengths in (("input", input_lengths), ("target", target_lengths)):
        if lengths.shape != (count,):
            raise ValueError(f"For '{where}', the {name} lengths must have shape ({count},), one "
                             f"for each sequence, but got {tuple(lengths.shape)}.")
    if labels.dim() == 2 and labels.shape[0] == count:
        most = labels.shape[1]
        counts = torch.arange(most, device=labels.device) < target_lengths[:, None]
    elif labels.dim() == 1:  # one target after the other
        most = labels.shape[0]
        counts = torch.arange(most, device=labels.device) < target_lengths.sum()
        require_values(target_lengths.sum() <= most, f"For '{where}', the target lengths must add "
                       f"up to {most} labels or less.")
    else:
        raise ValueError(f"For '{where}', the targets must have shape ({count}, S), "
                         f"but got {tuple(labels.shape)}.")
    require_values(((input_lengths >= 0) & (input_lengths <= steps)).all(),
                   f"For '{where}', the input lengths must be in [0, {steps}].")
    require_values(((target_lengths >= 0) & (target_lengths <= most)).all(),
                   f"For '{where}', the target lengths must be in [0, {most}].")
    inside = (labels >= 0) & (labels < classes)
    require_values((inside | ~counts).all(),
                   f"For '{where}', the labels must be in [0, {classes}), the classes.")


@op
def ctc_greedy_decoder(inputs: Tensor, sequence_length: Tensor,
                       merge_repeated: bool = True) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The most likely path of each sequence, without blanks (the last class).

    Args:
        inputs: scores, shape (T, N, C).
        sequence_length: shape (N,).
        merge_repeated: count equal neighbours once.

    Returns:
        A sparse matrix of labels as its indices (n, 2), values (n,) and shape (2,), all int64, and
        minus the sum of the paths' scores, shape (N, 1).

    Examples:
        >>> import lamella as ms
        >>> scores = ms.Tensor([[[0.6, 0.4, 0.2]], [[0.0, 0.6, 0.0]], [[0.1, 0.1, 0.9]]])
        >>> out = ms.ops.ctc_greedy_decoder(scores, ms.Tensor([3]))
        >>> print(out[1], out[3])
        [0 1] [[-2.1]]
    """
    raw, lengths = inputs._raw, _indices(sequence_length._raw)
    if raw.dim() != 3 or lengths.shape != raw.shape[1:2]:
        raise ValueError(f"For 'ctc_greedy_decoder', 'inputs' must have shape (T, N, C) and "
                         f"'sequence_length' (N,), but got {inputs.shape} and "
                         f"{sequence_length.shape}.")
    if not bool(wrap((lengths <= raw.shape[0]).all())):
        raise RuntimeError(f"For 'ctc_greedy_decoder', the lengths in 'sequence_length' must be at "
                           f"most {raw.shape[0]}, the time steps.")
    best, labels = raw.max(-1)
    best, labels = best.T, labels.T
    inside = torch.arange(raw.shape[0], device=raw.device) < lengths.unsqueeze(1)
    keep = inside & (labels != raw.shape[2] - 1)
    if merge_repeated:
        keep[:, 1:] &= labels[:, 1:] != labels[:, :-1]
    order = keep.cumsum(1) - 1
    indices = torch.stack((keep.nonzero()[:, 0], order[keep]), 1)
    widest = keep.sum(1).max() if keep.numel() else keep.new_zeros((), dtype=torch.int64)
    shape = torch.stack((torch.tensor(raw.shape[1], device=raw.device), widest))
    score = -torch.where(inside, best, 0.0).sum(1, keepdim=True)
    return wrap(indices), wrap(labels[keep]), wrap(shape), wrap(score)
