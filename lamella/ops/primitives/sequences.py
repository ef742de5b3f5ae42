"""Primitive classes of sequences, of labels and of the numbers that stand for classes."""

from __future__ import annotations

from typing import Any

import torch

from ...core import dtype as mstype
from ...core.dtype import to_raw
from ...tensors.tensor import Tensor, wrap
from ..arguments import FLOATS, as_int, raw_of, require, require_values, typed
from ..composite import prim_attr_register
from ..operands import flag
from ..primitive import Primitive
from ..sequences import edit_distance, no_repeat_ngram, ragged_range

__all__ = ["ComputeAccidentalHits", "ConfusionMatrix", "EditDistance", "MapUniform",
           "NoRepeatNGram", "RaggedRange", "SubAndFilter"]

_INDICES = (torch.int32, torch.int64)


class EditDistance(Primitive):
    """How many elements to insert, delete or replace to turn sequences into others (Levenshtein).

    The sequences are given as sparse tensors: indices, values and shape.

    Args:
        normalize: whether to divide by the lengths of the truth.

    Inputs:
        hypothesis_indices: int64, shape (n, rank), in order; the last column counts along a
            sequence.
        hypothesis_values: shape (n,).
        hypothesis_shape: int64, shape (rank,).
        truth_indices, truth_values, truth_shape: the sequences to reach.

    Outputs:
        Tensor of float32, of the larger one of the shapes without their last dimension.

    Examples:
        >>> import lamella as ms
        >>> def text(word):
        ...     at = [[0, i] for i in range(len(word))]
        ...     return ms.Tensor(at), ms.Tensor(list(map(ord, word))), ms.Tensor([1, len(word)])
        >>> print(ms.ops.EditDistance(False)(*text("kitten"), *text("sitting")))
        [3.]
    """

    @prim_attr_register
    def __init__(self, normalize: bool = True):
        flag(normalize, self.name, "normalize")

    def __call__(self, hypothesis_indices: Tensor, hypothesis_values: Tensor,
                 hypothesis_shape: Tensor, truth_indices: Tensor, truth_values: Tensor,
                 truth_shape: Tensor) -> Tensor:
        given, shapes = [], []
        for which, parts in (
                ("hypothesis", (hypothesis_indices, hypothesis_values, hypothesis_shape)),
                ("truth", (truth_indices, truth_values, truth_shape))):
            positions = typed(parts[0], self.name, f"{which}_indices", (torch.int64,), 2)
            values = raw_of(parts[1], self.name, f"{which}_values")
            shape = typed(parts[2], self.name, f"{which}_shape", (torch.int64,), 1)
            require(values.shape == positions.shape[:1] and shape.shape == positions.shape[1:],
                    ValueError,
                    f"For '{self.name}', '{which}_values' and '{which}_shape' must be as long as "
                    f"'{which}_indices' has rows and columns, but got {tuple(values.shape)}, "
                    f"{tuple(shape.shape)} and {tuple(positions.shape)}.")
            given.append((positions, values))
            shapes.append(shape.tolist())
        first, second = given
        require(first[1].dtype is second[1].dtype, TypeError,
                f"For '{self.name}', the values must be of one type, "
                f"but got {hypothesis_values.dtype} and {truth_values.dtype}.")
        require(len(shapes[0]) == len(shapes[1]), ValueError,
                f"For '{self.name}', the shapes must have one length, but got {shapes}.")
        require(len(shapes[0]) > 1, RuntimeError,
                f"For '{self.name}', the shapes must have two lengths or more, but got {shapes}.")
        outer = tuple(map(max, *(shape[:-1] for shape in shapes)))
        return edit_distance(first, second, outer, self.normalize)


class NoRepeatNGram(Primitive):
    """Keeps beam search from runs of words that it has had: their next words get no chance.

    Args:
        ngram_size: how many words a run has.

    Inputs:
        state_seq: the words so far, int32, shape (N, beams, m).
        log_probs: of the next word, of a floating type, shape (N, beams, words).

    Outputs:
        `log_probs` with the lowest number of its type for words that would end a run again.

    Examples:
        >>> import lamella as ms
        >>> words, chance = ms.Tensor([[[1, 2, 0, 1]]], ms.int32), ms.ops.zeros((1, 1, 3))
        >>> print(ms.ops.NoRepeatNGram(2)(words, chance))
        [[[ 0.0000000e+00  0.0000000e+00 -3.4028235e+38]]]
    """

    @prim_attr_register
    def __init__(self, ngram_size: int = 1):
        require(as_int(ngram_size, self.name, "ngram_size") >= 1, ValueError,
                f"For '{self.name}', 'ngram_size' must be positive, but got {ngram_size}.")

    def __call__(self, state_seq: Tensor, log_probs: Tensor) -> Tensor:
        words = typed(state_seq, self.name, "state_seq", (torch.int32,), 3)
        chances = typed(log_probs, self.name, "log_probs", FLOATS, 3)
        require(words.shape[:2] == chances.shape[:2], ValueError,
                f"For '{self.name}', 'state_seq' and 'log_probs' must agree in their first two "
                f"lengths, but got {state_seq.shape} and {log_probs.shape}.")
        require(self.ngram_size <= words.shape[2], ValueError,
                f"For '{self.name}', 'ngram_size' must be at most {words.shape[2]}, the length of "
                f"the sequences, but got {self.ngram_size}.")
        return no_repeat_ngram(state_seq, log_probs, self.ngram_size)


class RaggedRange(Primitive):
    """Several ranges one behind the other.

    Args:
        Tsplits: int32 or int64, the type of the splits.

    Inputs:
        starts, limits, deltas: of one type, int32, int64, float32 or float64, and one shape, of
            rank 0 or 1.

    Outputs:
        Where each range begins and the last one ends, and the ranges themselves.

    Examples:
        >>> import lamella as ms
        >>> start, limit, step = ms.Tensor([2, 5, 8]), ms.Tensor([3, 5, 12]), ms.Tensor([1, 1, 1])
        >>> print(*ms.ops.RaggedRange(ms.int64)(start, limit, step))
        [0 1 1 5] [ 2  8  9 10 11]
    """

    @prim_attr_register
    def __init__(self, Tsplits: Any):  # noqa: N803
        require(Tsplits in (mstype.int32, mstype.int64), TypeError,
                f"For '{self.name}', 'Tsplits' must be int32 or int64, but got {Tsplits}.")

    def __call__(self, starts: Tensor, limits: Tensor, deltas: Tensor) -> tuple[Tensor, Tensor]:
        kinds = (torch.int32, torch.int64, torch.float32, torch.float64)
        given = {"starts": starts, "limits": limits, "deltas": deltas}
        raws = [raw_of(value, self.name, argument) for argument, value in given.items()]
        require(raws[0].dim() < 2, ValueError,
                f"For '{self.name}', 'starts' must have rank 0 or 1, but got {starts.shape}.")
        for argument, value in given.items():
            typed(value, self.name, argument, kinds)
            require(value._raw.dtype is raws[0].dtype, TypeError,
                    f"For '{self.name}', '{argument}' must be of the type of 'starts', "
                    f"{starts.dtype}, but got {value.dtype}.")
            require(value.shape == starts.shape, ValueError,
                    f"For '{self.name}', '{argument}' must have the shape of 'starts', "
                    f"{starts.shape}, but got {value.shape}.")
        return ragged_range(starts, limits, deltas, to_raw(self.Tsplits))


class ComputeAccidentalHits(Primitive):
    """Which sampled classes are among the true ones.

    Args:
        num_true: how many true classes an example has.

    Inputs:
        true_classes: shape (N, num_true).
        sampled_candidates: shape (samples,).

    Outputs:
        For each hit the example, int32, the sample's position, int64, and the lowest number of
        float32, to be added to a logit.

    Examples:
        >>> import lamella as ms
        >>> hits = ms.ops.ComputeAccidentalHits(2)
        >>> found = hits(ms.Tensor([[1, 2], [0, 4], [3, 3]]), ms.Tensor([0, 1, 2, 3, 4]))
        >>> print(found[0], found[1])
        [0 0 1 1 2 2] [1 2 0 4 3 3]
    """

    @prim_attr_register
    def __init__(self, num_true: int = 1):
        require(as_int(num_true, self.name, "num_true") >= 1, ValueError,
                f"For '{self.name}', 'num_true' must be positive, but got {num_true}.")

    def __call__(self, true_classes: Tensor,
                 sampled_candidates: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        classes = typed(true_classes, self.name, "true_classes", _INDICES, 2)
        samples = typed(sampled_candidates, self.name, "sampled_candidates", _INDICES, 1)
        require(classes.shape[1] == self.num_true, ValueError,
                f"For '{self.name}', 'true_classes' must have the shape (N, {self.num_true}), "
                f"but got {true_classes.shape}.")
        example, _, position = (classes.unsqueeze(2) == samples).nonzero().unbind(1)
        lowest = torch.full(position.shape, torch.finfo(torch.float32).min, device=position.device)
        return wrap(example.int()), wrap(position), wrap(lowest)


class ConfusionMatrix(Primitive):
    """How often each class (row) was taken for each class (column).

    Args:
        num_classes: how many classes there are.
        dtype: the result's type, by name.

    Inputs:
        labels, predictions: classes, integers, shape (n,).
        weights: how much each counts, shape (n,); None for 1.

    Outputs:
        Tensor of shape (num_classes, num_classes).

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ConfusionMatrix(3)(ms.Tensor([0, 1, 1]), ms.Tensor([1, 2, 1])))
        [[0 1 0]
         [0 1 1]
         [0 0 0]]
    """

    @prim_attr_register
    def __init__(self, num_classes: int, dtype: str = "int32"):
        require(as_int(num_classes, self.name, "num_classes") > 0, ValueError,
                f"For '{self.name}', 'num_classes' must be positive, but got {num_classes}.")
        require(isinstance(dtype, str), TypeError,
                f"For '{self.name}', 'dtype' must be a str, but got {dtype!r}.")

    def __call__(self, labels: Tensor, predictions: Tensor,
                 weights: Tensor | None = None) -> Tensor:
        count, kinds = self.num_classes, (torch.uint8, torch.int8, torch.int16, *_INDICES)
        rows, columns = (typed(value, self.name, argument, kinds, 1).long() for argument, value in
                         (("labels", labels), ("predictions", predictions)))
        ones = torch.ones_like(rows) if weights is None else raw_of(weights, self.name, "weights")
        require(rows.shape == columns.shape == ones.shape, ValueError,
                f"For '{self.name}', 'labels', 'predictions' and 'weights' must have one shape, "
                f"but got {labels.shape}, {predictions.shape} and {tuple(ones.shape)}.")
        inside = (rows >= 0) & (rows < count) & (columns >= 0) & (columns < count)
        require_values(inside.all(), f"For '{self.name}', 'labels' and 'predictions' must be in "
                                     f"[0, {count}), the number of classes.")
        flat = ones.new_zeros(count * count).scatter_add(0, rows * count + columns, ones)
        return wrap(flat.reshape(count, count).to(to_raw(getattr(mstype, self.dtype, self.dtype),
                                                         self.name)))


class SubAndFilter(Primitive):
    """The elements in [0, `max_num`) after `offset` is taken from all, and their positions.

    Examples:
        >>> import lamella as ms
        >>> print(*ms.ops.SubAndFilter()(ms.Tensor([1, 3, 5, 8, 9, 16]), 10, 5))
        [0 3 4] [2 3 4]
    """

    @prim_attr_register
    def __init__(self):
        pass

    def __call__(self, input_x: Tensor, max_num: Any, offset: Any) -> tuple[Tensor, Tensor]:
        raw = typed(input_x, self.name, "input_x", _INDICES).reshape(-1)
        moved = raw - as_int(offset, self.name, "offset")
        kept = (moved >= 0) & (moved < as_int(max_num, self.name, "max_num"))
        return wrap(moved[kept]), wrap(kept.nonzero().reshape(-1).to(raw.dtype))


class MapUniform(Primitive):
    """Keys dealt out to groups in turn: ``key % group_num * per_group_size + key // group_num``.

    Quotients of negative keys are rounded towards 0.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.MapUniform()(ms.Tensor([0, 1, 2, 3, 4, 5, 6, 7]), 4, 2))
        [0 4 1 5 2 6 3 7]
    """

    @prim_attr_register
    def __init__(self):
        pass

    def __call__(self, input: Tensor, per_group_size: int, group_num: int) -> Tensor:
        raw = typed(input, self.name, "input", (torch.int8, torch.int16, *_INDICES))
        size, groups = (as_int(n, self.name, argument) for argument, n in
                        (("per_group_size", per_group_size), ("group_num", group_num)))
        require(groups > 0, RuntimeError,
                f"For '{self.name}', 'group_num' must be positive, but got {groups}.")
        return wrap(raw.fmod(groups) * size + raw.div(groups, rounding_mode="trunc"))
