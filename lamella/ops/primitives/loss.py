"""Primitive classes of loss functions."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from ...core.errors import op
from ...core.require import of_type
from ...core.tape import TapeFunction
from ...tensors.tensor import Tensor, wrap
from .. import loss as fn
from .. import margin_loss
from ..arguments import indices_of, raw_of, require_values
from ..combine import log_of_sum
from ..primitive import primitive
from ..transducer import rnnt_loss, with_gradient
from .attributed import Attributed

__all__ = [
    "SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits",
    "SigmoidCrossEntropyWithLogits", "BinaryCrossEntropy", "BCEWithLogitsLoss", "SmoothL1Loss",
    "L2Loss", "KLDivLoss", "NLLLoss", "MultiMarginLoss", "MultilabelMarginLoss", "SoftMarginLoss",
    "TripletMarginLoss", "CTCLoss", "CTCLossV2", "CTCGreedyDecoder", "RNNTLoss",
]


class _Reduced(Attributed):
    """A loss with its reduction as an attribute."""

    def __init__(self, reduction: str, **attributes: Any):
        fn.check_reduction(type(self).__name__, reduction)
        super().__init__(reduction=reduction, **attributes)


@op
def softmax_cross_entropy(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """The cross entropy of each row with its probabilities, and its gradient for the scores."""
    x, y = logits._raw, labels._raw
    if x.shape != y.shape:
        raise ValueError(f"For 'SoftmaxCrossEntropyWithLogits', both inputs must have one shape, "
                         f"but got {logits.shape} and {labels.shape}.")
    loss = _DenseCrossEntropy.apply(x, y)
    return wrap(loss), wrap(torch.softmax(x.detach(), -1) - y.detach())


class _DenseCrossEntropy(TapeFunction):
    """Its derivative is softmax(x) - y as in MindSpore, also where y doesn't sum to one."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return -(torch.log_softmax(x, -1) * y).sum(-1)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        x, y = ctx.saved_tensors
        step = grads[0].unsqueeze(-1)
        to_labels = -step * torch.log_softmax(x, -1) if ctx.needs_input_grad[1] else None
        return step * (torch.softmax(x, -1) - y), to_labels

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        x, y = ctx.saved_tensors
        out = torch.zeros_like(x[..., 0])
        if tangents[0] is not None:
            out = out + (tangents[0] * (torch.softmax(x, -1) - y)).sum(-1)
        if tangents[1] is not None:
            out = out - (tangents[1] * torch.log_softmax(x, -1)).sum(-1)
        return out


SoftmaxCrossEntropyWithLogits = primitive("SoftmaxCrossEntropyWithLogits", softmax_cross_entropy)


class SparseSoftmaxCrossEntropyWithLogits(Attributed):
    """The mean cross entropy of scores (N, C) and classes (N,), or its gradient for the scores.

    Args:
        is_grad: give the gradient instead of the loss.

    Examples:
        >>> import lamella as ms
        >>> loss = ms.ops.SparseSoftmaxCrossEntropyWithLogits()
        >>> print(loss(ms.Tensor([[0.0, 0.0]]), ms.Tensor([1])))
        0.6931472
    """

    def __init__(self, is_grad: bool = False):
        super().__init__()
        self.add_prim_attr("is_grad", is_grad)

    def __call__(self, logits: Any, labels: Any) -> Any:
        if not self.is_grad:
            return fn.cross_entropy(logits, labels)
        raw, classes = logits._raw, labels._raw.to(torch.int64)
        hot = F.one_hot(classes, raw.shape[-1]).to(raw.dtype)
        return wrap((torch.softmax(raw, -1) - hot) / raw.shape[0])


def _sigmoid_cross_entropy(logits: Any, label: Any) -> Any:
    """The binary cross entropy of each score."""
    return fn.binary_cross_entropy_with_logits(logits, label, reduction="none")


SigmoidCrossEntropyWithLogits = primitive("SigmoidCrossEntropyWithLogits", _sigmoid_cross_entropy)


@op
def l2_loss(input_x: Tensor) -> Tensor:
    """Half the sum of squares."""
    return wrap(input_x._raw.square().sum() / 2)


L2Loss = primitive("L2Loss", l2_loss)


class BinaryCrossEntropy(_Reduced):
    """`ops.binary_cross_entropy` with the reduction as an attribute.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.BinaryCrossEntropy()(ms.Tensor([0.5]), ms.Tensor([1.0])))
        0.6931472
    """

    def __init__(self, reduction: str = "mean"):
        super().__init__(reduction)

    def __call__(self, logits: Any, labels: Any, weight: Any = None) -> Any:
        return fn.binary_cross_entropy(logits, labels, weight, self.reduction)


class BCEWithLogitsLoss(_Reduced):
    """`ops.binary_cross_entropy_with_logits` with the reduction as an attribute.

    Examples:
        >>> import lamella as ms
        >>> one = ms.Tensor([1.0])
        >>> print(ms.ops.BCEWithLogitsLoss()(ms.Tensor([0.0]), one, one, one))
        0.6931472
    """

    def __init__(self, reduction: str = "mean"):
        super().__init__(reduction)

    def __call__(self, predict: Any, target: Any, weight: Any = None,
                 pos_weight: Any = None) -> Any:
        return fn.binary_cross_entropy_with_logits(predict, target, weight, pos_weight,
                                                   self.reduction)


class SmoothL1Loss(_Reduced):
    """`ops.smooth_l1_loss` with its attributes.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.SmoothL1Loss()(ms.Tensor([1.0, 2.0]), ms.Tensor([1.5, 4.0])))
        [0.125 1.5  ]
    """

    def __init__(self, beta: float = 1.0, reduction: str = "none"):
        super().__init__(reduction, beta=beta)

    def __call__(self, prediction: Any, target: Any) -> Any:
        return margin_loss.smooth_l1_loss(prediction, target, self.beta, self.reduction)


class KLDivLoss(Attributed):
    """`ops.kl_div` with the reduction as an attribute.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.KLDivLoss('sum')(ms.Tensor([0.5]), ms.Tensor([1.0])))
        -0.5
    """

    def __init__(self, reduction: str = "mean"):
        super().__init__()
        fn.check_reduction("KLDivLoss", reduction, "batchmean")
        self.add_prim_attr("reduction", reduction)

    def __call__(self, logits: Any, labels: Any) -> Any:
        return fn.kl_div(logits, labels, self.reduction)


class NLLLoss(_Reduced):
    """`ops.nll_loss` of (N, C) log probabilities, together with the sum of the weights counted.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Tensor([1.0, 2.0])
        >>> print(*ms.ops.NLLLoss()(ms.Tensor([[-1.0, -2.0]]), ms.Tensor([1]), w))
        2.0 2.0
    """

    def __init__(self, reduction: str = "mean", ignore_index: int = -100):
        super().__init__(reduction, ignore_index=ignore_index)

    def __call__(self, logits: Any, labels: Any, weight: Any) -> Any:
        weight = weight.astype(logits.dtype)
        loss = fn.nll_loss(logits, labels, weight, self.ignore_index, self.reduction)
        classes = labels._raw.to(torch.int64)
        kept = classes != self.ignore_index
        total = torch.where(kept, weight._raw[torch.where(kept, classes, 0)], 0.0).sum()
        return loss, wrap(total)


class MultiMarginLoss(_Reduced):
    """`ops.multi_margin_loss` with its attributes.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.MultiMarginLoss()(ms.Tensor([[0.5, 1.0]]), ms.Tensor([1])))
        0.25
    """

    def __init__(self, p: int = 1, margin: float = 1.0, reduction: str = "mean"):
        super().__init__(reduction, p=p, margin=margin)

    def __call__(self, inputs: Any, target: Any, weight: Any = None) -> Any:
        return margin_loss.multi_margin_loss(inputs, target, self.p, self.margin, weight,
                                             self.reduction)


class MultilabelMarginLoss(_Reduced):
    """`ops.multilabel_margin_loss`, together with which classes are right ones.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[0.1, 0.2, 0.4, 0.8]])
        >>> print(*ms.ops.MultilabelMarginLoss()(x, ms.Tensor([[3, 0, -1, 1]], ms.int32)))
        0.85 [[1 0 0 1]]
    """

    def __init__(self, reduction: str = "mean"):
        super().__init__(reduction)

    def __call__(self, x: Any, target: Any) -> Any:
        raw = target._raw
        right = raw.to(torch.int64)
        counted = (right < 0).cumsum(-1) == 0
        marks = torch.zeros((*raw.shape[:-1], raw.shape[-1] + 1), dtype=raw.dtype,
                            device=raw.device)
        positions = torch.where(counted, right, raw.shape[-1])
        marks = marks.scatter(-1, positions, torch.ones_like(raw))[..., :-1]
        return margin_loss.multilabel_margin_loss(x, target, self.reduction), wrap(marks)


class SoftMarginLoss(_Reduced):
    """`ops.soft_margin_loss` with the reduction as an attribute.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.SoftMarginLoss()(ms.Tensor([0.0]), ms.Tensor([1.0])))
        0.6931472
    """

    def __init__(self, reduction: str = "mean"):
        super().__init__(reduction)

    def __call__(self, logits: Any, labels: Any) -> Any:
        return margin_loss.soft_margin_loss(logits, labels, self.reduction)


class TripletMarginLoss(_Reduced):
    """`ops.triplet_margin_loss` with its attributes; the margin is an input.

    Examples:
        >>> import lamella as ms
        >>> a, p, n = ms.Tensor([[0.0]]), ms.Tensor([[3.0]]), ms.Tensor([[2.0]])
        >>> print(ms.ops.TripletMarginLoss()(a, p, n, 1.0))
        2.0
    """

    def __init__(self, p: int = 2, swap: bool = False, eps: float = 1e-6,
                 reduction: str = "mean"):
        super().__init__(reduction, p=p, swap=swap, eps=eps)

    def __call__(self, x: Any, positive: Any, negative: Any, margin: Any) -> Any:
        return margin_loss.triplet_margin_loss(x, positive, negative, margin, self.p, self.eps,
                                               self.swap, self.reduction)


class CTCLossV2(_Reduced):
    """`ops.ctc_loss` with its attributes.

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.log_softmax(ms.ops.ones((2, 1, 2)))
        >>> print(ms.ops.CTCLossV2()(x, ms.Tensor([[1]]), ms.Tensor([2]), ms.Tensor([1]))[0])
        [0.2876821]
    """

    def __init__(self, blank: int = 0, reduction: str = "none", zero_infinity: bool = False):
        super().__init__(reduction, blank=blank, zero_infinity=zero_infinity)

    def __call__(self, log_probs: Any, targets: Any, input_lengths: Any,
                 target_lengths: Any) -> Any:
        return fn.ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank,
                           self.reduction, self.zero_infinity)


class CTCLoss(Attributed):
    """Connectionist temporal classification of unnormalized scores; the blank is the last class.

    Inputs are the scores (T, N, C), the labels as a sparse matrix (indices (n, 2) and values (n,))
    and the sequences' lengths (N,). Labels may be padded: the first blank or negative number ends
    those of a sequence. The result is the loss of each sequence, and its gradient for the scores;
    where the loss is infinite (labels that need more steps than there are), the gradient is 0.

    Args:
        preprocess_collapse_repeated: merge equal neighbours among the labels first.
        ctc_merge_repeated: whether a label may be said in several steps that follow one another.
            If not, each label takes one step, and blanks fill the others.
        ignore_longer_outputs_than_inputs: accept sequences shorter than their labels, whose loss
            is infinite.

    Raises:
        ValueError: if shapes don't fit, a label or a length is out of range, a label stands behind
            a blank, or a sequence is shorter than its labels.

    Examples:
        >>> import lamella as ms
        >>> labels = ms.Tensor([[0, 0]]), ms.Tensor([0], ms.int32)
        >>> x, steps = ms.ops.ones((2, 1, 2)), ms.Tensor([2], ms.int32)
        >>> loss, grad = ms.ops.CTCLoss()(x, *labels, steps)
        >>> print(loss)
        [0.2876821]
    """

    def __init__(self, preprocess_collapse_repeated: bool = False, ctc_merge_repeated: bool = True,
                 ignore_longer_outputs_than_inputs: bool = False):
        super().__init__()
        self.add_prim_attr("preprocess_collapse_repeated", preprocess_collapse_repeated)
        self.add_prim_attr("ctc_merge_repeated", ctc_merge_repeated)
        self.add_prim_attr("ignore_longer_outputs_than_inputs", ignore_longer_outputs_than_inputs)

    def __call__(self, x: Any, labels_indices: Any, labels_values: Any,
                 sequence_length: Any) -> Any:
        raw = raw_of(x, "CTCLoss", "x")
        lengths = indices_of(raw_of(sequence_length, "CTCLoss", "sequence_length"), "CTCLoss",
                             "sequence_length")
        where = indices_of(labels_indices, "CTCLoss", "labels_indices")
        values = indices_of(labels_values, "CTCLoss", "labels_values")
        if raw.dim() != 3 or where.dim() != 2 or values.shape != where.shape[:1]:
            raise ValueError(f"For 'CTCLoss', 'x', 'labels_indices' and 'labels_values' must have "
                             f"shapes (T, N, C), (n, 2) and (n,), but got {x.shape}, "
                             f"{labels_indices.shape} and {labels_values.shape}.")
        if not raw.shape[1]:
            raise ValueError("For 'CTCLoss', 'x' must hold a sequence or more, "
                             f"but got shape {x.shape}.")
        flat, counts = self._labels(where[:, 0], values, *raw.shape[1:])
        fn.check_labels(raw, flat, lengths, counts, raw.shape[2] - 1, "CTCLoss")
        if not self.ignore_longer_outputs_than_inputs:
            require_values((counts <= lengths).all(), "For 'CTCLoss', the lengths in "
                           "'sequence_length' must be at least those of the labels, unless "
                           "'ignore_longer_outputs_than_inputs' is True.")

        def losses(scores: torch.Tensor) -> torch.Tensor:
            # PyTorch has no kernel for float16
            wide = scores.float() if scores.dtype is torch.float16 else scores
            if not self.ctc_merge_repeated:
                return _loss_of_single_steps(torch.log_softmax(wide, -1), flat, lengths, counts)
            # of infinite losses, the operator beneath `F.ctc_loss` sets the gradient alone to 0
            return torch.ops.aten._ctc_loss(torch.log_softmax(wide, -1), flat, lengths, counts,
                                            raw.shape[2] - 1, True)[0]

        found, gradient = with_gradient(losses, raw)
        return wrap(found.to(raw.dtype)), wrap(gradient)

    def _labels(self, rows: torch.Tensor, values: torch.Tensor, count: int,
                classes: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The labels one row after the other, each up to its first blank, and how many each has."""
        require_values(((rows >= 0) & (rows < count)).all(), f"For 'CTCLoss', the rows in "
                       f"'labels_indices' must be in [0, {count}), the sequences.")
        order = torch.argsort(rows, stable=True)
        rows, values = rows[order], values[order]
        ends = (values < 0) | (values == classes - 1)
        seen = ends.cumsum(0)
        first = torch.searchsorted(rows, rows)  # where the row of each label begins
        over = seen > (seen - ends.long())[first]
        require_values((ends | ~over).all(), "For 'CTCLoss', behind a blank (the last class, or a "
                       "negative number), which ends a sequence's labels, there must be blanks "
                       "only in 'labels_values'.")
        rows, values = rows[~over], values[~over]
        if self.preprocess_collapse_repeated:
            new = torch.ones_like(rows, dtype=torch.bool)
            new[1:] = (values[1:] != values[:-1]) | (rows[1:] != rows[:-1])
            rows, values = rows[new], values[new]
        return values, torch.bincount(rows, minlength=count)


def _loss_of_single_steps(chances: torch.Tensor, labels: torch.Tensor, lengths: torch.Tensor,
                          counts: torch.Tensor) -> torch.Tensor:
    """The loss where each label takes one step: minus the log of the sum over the steps chosen.

    `chances` are logarithms, of shape (T, N, C); infinite losses have the gradient 0.
    """
    most = int(counts.max())
    begins = (counts.cumsum(0) - counts)[:, None] + torch.arange(most, device=labels.device)
    padded = torch.cat([labels, labels.new_zeros(1)])[begins.clamp(max=len(labels))]
    never = chances.new_full((len(counts), 1), -1e30)  # finite, so that no gradient is NaN
    said = torch.cat([torch.zeros_like(never), never.expand(-1, most)], 1)  # so many labels
    for step, scores in enumerate(chances):
        one_more = torch.cat([never, said[:, :-1] + scores.gather(1, padded)], 1)
        now = log_of_sum(said + scores[:, -1:], one_more)
        said = torch.where((step < lengths)[:, None], now, said)
    found = said.gather(1, counts[:, None])[:, 0]
    return torch.where(found < -1e29, torch.inf, -found)


class CTCGreedyDecoder(Attributed):
    """`ops.ctc_greedy_decoder` with its attribute.

    Examples:
        >>> import lamella as ms
        >>> scores = ms.Tensor([[[0.6, 0.4, 0.2]], [[0.0, 0.6, 0.0]]])
        >>> print(ms.ops.CTCGreedyDecoder()(scores, ms.Tensor([2], ms.int32))[1])
        [0 1]
    """

    def __init__(self, merge_repeated: bool = True):
        super().__init__()
        self.add_prim_attr("merge_repeated", merge_repeated)

    def __call__(self, inputs: Any, sequence_length: Any) -> Any:
        return fn.ctc_greedy_decoder(inputs, sequence_length, self.merge_repeated)


class RNNTLoss(Attributed):
    """The loss of a recurrent neural network transducer (Graves, 2012), and its gradient.

    Args:
        blank_label: the number of the blank.

    Inputs:
        - **acts** - logits, of float16 or float32, Tensor (B, T, U, V).
        - **labels** - int32, Tensor (B, U - 1).
        - **input_lengths** - how many of the T steps count, int32, Tensor (B,).
        - **label_lengths** - how many labels count, int32, Tensor (B,).

    Outputs:
        The losses, Tensor (B,), and their gradients by `acts`.

    Raises:
        ValueError: if shapes don't fit, or a number is out of range.

    Examples:
        >>> import lamella as ms
        >>> one = ms.Tensor([1], ms.int32)
        >>> cost, grad = ms.ops.RNNTLoss()(ms.ops.zeros((1, 1, 2, 4)), ms.Tensor([[2]], ms.int32),
        ...                                one, one)
        >>> print(cost, grad.sum())  # two steps of probability 1/4 each
        [2.7725887] 0.0
    """

    def __init__(self, blank_label: int = 0):
        super().__init__(blank_label=blank_label)
        of_type(blank_label, int, "blank_label", "RNNTLoss")

    def __call__(self, acts: Tensor, labels: Tensor, input_lengths: Tensor, label_lengths: Tensor
                 ) -> tuple[Tensor, Tensor]:
        return rnnt_loss(acts, labels, input_lengths, label_lengths, self.blank_label)
