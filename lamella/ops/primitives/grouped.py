"""Products of several matrices at once, and an optimizer's step, as Ascend's kernels have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ...machine import products
from ...tensors.tensor import Tensor, wrap
from ..primitive import Primitive
from .attributed import Attributed
from .update_rules import held

__all__ = ["AdamW", "GroupedMatmul", "GroupedMatmulV4"]


def _listed(value: Any) -> list[Tensor | None]:
    if value is None:
        return []
    return [value] if isinstance(value, Tensor) else list(value)


def _refuse(name: str, **given: Any) -> None:
    for argument, value in given.items():
        if value is not None:
            raise ValueError(f"For '{name}', '{argument}' is for quantized matrices on Ascend and "
                             f"must be None here.")


def _ends(name: str, group_list: Any, are_counts: bool, count: int) -> list[int]:
    """Where each group ends."""
    found = group_list.tolist() if isinstance(group_list, Tensor) else list(group_list)
    if are_counts:
        found = [sum(found[:i + 1]) for i in range(len(found))]
    if found != sorted(found) or (found and (found[0] < 0 or found[-1] > count)):
        raise ValueError(f"For '{name}', 'group_list' must cut the {count} rows into groups, in "
                         f"order, but got {group_list}.")
    return found


def _grouped(name: str, x: Any, weight: Any, bias: Any, group_list: Any, split_item: int,
             group_type: int, are_counts: bool, transpose_a: bool = False,
             transpose_b: bool = False) -> tuple[Tensor, ...]:
    rows = [t._raw.transpose(-1, -2) if transpose_a else t._raw
            for t in _listed(x) if t is not None]
    matrices = [t._raw.transpose(-1, -2) if transpose_b else t._raw
                for t in _listed(weight) if t is not None]
    added = [None if t is None else t._raw for t in _listed(bias)]
    if group_type not in (-1, 0):
        raise ValueError(f"For '{name}', 'group_type' must be -1 or 0, but got {group_type}.")
    if split_item not in (0, 1, 2, 3):
        raise ValueError(f"For '{name}', 'split_item' must be 0 to 3, but got {split_item}.")
    if len(matrices) == 1 and matrices[0].dim() == 3:
        matrices = list(matrices[0].unbind())
        added = list(added[0].unbind()) if added and added[0] is not None else []
    left_over = 0
    if len(rows) == 1 and (len(matrices) > 1 or group_list is not None):
        if group_list is None:
            raise ValueError(f"For '{name}', 'group_list' must say which rows go with which of the "
                             f"{len(matrices)} matrices.")
        ends = _ends(name, group_list, are_counts, rows[0].shape[0])
        left_over = rows[0].shape[0] - (ends[-1] if ends else 0)
        starts = [0, *ends[:-1]]
        rows = [rows[0][a:b] for a, b in zip(starts, ends, strict=True)]
    if len(rows) != len(matrices) or added and len(added) != len(matrices):
        raise ValueError(f"For '{name}', there must be as many parts of 'x', and biases if any, as "
                         f"matrices, {len(matrices)}, but got {len(rows)} and {len(added)}.")
    found = [products.any_matmul(a, b) for a, b in zip(rows, matrices, strict=True)]
    if added:
        found = [part if extra is None else part + extra
                 for part, extra in zip(found, added, strict=True)]
    if split_item in (0, 1):
        return tuple([wrap(part) for part in found])
    whole = torch.cat(found)
    if left_over:
        whole = torch.cat((whole, whole.new_zeros(left_over, whole.shape[1])))
    return (wrap(whole),)


class GroupedMatmul(Attributed):
    """Several products of matrices: of pairs, or of groups of rows with a matrix each.

    Args:
        split_item: 0 or 1: a result for each; 2 or 3: one, in which they stand below each other.
        group_type: -1 for pairs; 0 where `group_list` cuts the rows into groups.
        transpose_a, transpose_b: whether the matrices are transposed first.

    Inputs:
        - **x** - a list of Tensors (M, K).
        - **weight** - a list of Tensors (K, N), or of one (E, K, N).
        - **bias** - a list of Tensors (N,), of one (E, N), or None.
        - **scale**, **offset**, **antiquant_scale**, **antiquant_offset** - None.
        - **group_list** - where each group of rows ends.

    Outputs:
        A tuple of Tensors. Rows after the last group are 0.

    Raises:
        ValueError: if numbers don't fit, or an attribute is out of range.

    Examples:
        >>> import lamella as ms
        >>> x, w = ms.ops.ones((3, 2)), ms.Tensor([[[1.0], [2.0]], [[3.0], [4.0]]])
        >>> print(ms.ops.GroupedMatmul(3, 0)([x], [w], group_list=ms.Tensor([1, 3]))[0])
        [[3.]
         [7.]
         [7.]]
    """

    def __init__(self, split_item: int = 0, group_type: int = -1, transpose_a: bool = False,
                 transpose_b: bool = False):
        super().__init__(split_item=split_item, group_type=group_type, transpose_a=transpose_a,
                         transpose_b=transpose_b)

    def __call__(self, x: Sequence[Tensor], weight: Sequence[Tensor], bias: Any = None,
                 scale: Any = None, offset: Any = None, antiquant_scale: Any = None,
                 antiquant_offset: Any = None, group_list: Any = None) -> tuple[Tensor, ...]:
        _refuse(self.name, scale=scale, offset=offset, antiquant_scale=antiquant_scale,
                antiquant_offset=antiquant_offset)
        return _grouped(self.name, x, weight, bias, group_list, self.split_item, self.group_type,
                        False, self.transpose_a, self.transpose_b)


class GroupedMatmulV4(Primitive):
    """As `GroupedMatmul`, with the attributes as inputs.

    Inputs:
        - **x**, **weight**, **bias**, **group_list**, **split_item**, **group_type** - as there.
        - **group_list_type** - 0: `group_list` says where groups end; 1: how many rows they have.
        - **act_type** - 0. All other inputs: None.
    """

    def __init__(self):
        super().__init__("GroupedMatmulV4")

    def __call__(self, x: Any, weight: Any, bias: Any = None, scale: Any = None, offset: Any = None,
                 antiquant_scale: Any = None, antiquant_offset: Any = None,
                 pre_token_scale: Any = None, group_list: Any = None, activation_input: Any = None,
                 activation_quant_scale: Any = None, activation_quant_offset: Any = None,
                 split_item: int = 0, group_type: int = -1, group_list_type: int = 0,
                 act_type: int = 0, output_dtype: Any = None) -> tuple[Tensor, ...]:
        _refuse(self.name, scale=scale, offset=offset, antiquant_scale=antiquant_scale,
                antiquant_offset=antiquant_offset, pre_token_scale=pre_token_scale,
                activation_input=activation_input, activation_quant_scale=activation_quant_scale,
                activation_quant_offset=activation_quant_offset, output_dtype=output_dtype)
        if act_type != 0 or group_list_type not in (0, 1):
            raise ValueError(f"For '{self.name}', 'act_type' must be 0 and 'group_list_type' 0 or "
                             f"1, but got {act_type} and {group_list_type}.")
        return _grouped(self.name, x, weight, bias, group_list, split_item, group_type,
                        group_list_type == 1)


class AdamW(Primitive):
    """A step of Adam with weight decay beside the gradient (Loshchilov and Hutter, 2019).

    Inputs:
        - **var**, **m**, **v**, **max_v** - Parameters or Tensors, which are changed.
        - **gradient** - Tensor of the same shape.
        - **step** - how many steps there have been, this one too: Tensor of one element.
        - **lr**, **beta1**, **beta2**, **decay**, **eps** - numbers.
        - **amsgrad** - whether the largest `v` so far counts, which `max_v` keeps.
        - **maximize** - whether to climb.

    Outputs:
        The new `var`, `m` and `v`.

    Examples:
        >>> import lamella as ms
        >>> w, m, v, most = (ms.Parameter(ms.Tensor([n]), name=str(n)) for n in (1.0, 0.0, 0.0, 0.))
        >>> _ = AdamW()(w, m, v, most, ms.Tensor([2.0]), ms.Tensor(1.0), 0.1, 0.9, 0.999, 0., 0.)
        >>> print(w.value().round(decimals=3))
        [0.9]
    """

    def __init__(self):
        super().__init__("AdamW")

    def __call__(self, var: Any, m: Any, v: Any, max_v: Any, gradient: Tensor, step: Any, lr: Any,
                 beta1: Any, beta2: Any, decay: Any, eps: Any, amsgrad: bool = False,
                 maximize: bool = False) -> tuple[Any, Any, Any]:
        _adamw(var, m, v, max_v, gradient, step, [lr, beta1, beta2, decay, eps], amsgrad, maximize)
        return var, m, v


def _number(value: Any) -> Any:
    return value._raw if isinstance(value, Tensor) else value


def _adamw(var: Any, m: Any, v: Any, max_v: Any, gradient: Tensor, step: Any, numbers: list[Any],
           amsgrad: bool, maximize: bool) -> None:
    lr, beta1, beta2, decay, eps = map(_number, numbers)
    slope = -gradient._raw if maximize else gradient._raw
    old, count = held(var), torch.as_tensor(_number(step), dtype=torch.float32)
    slope = slope.to(old.dtype)
    first = held(m) * beta1 + slope * (1 - beta1)
    second = held(v) * beta2 + slope * slope * (1 - beta2)
    size = second / (1 - beta2 ** count)
    if amsgrad:
        size = torch.maximum(held(max_v), size)
        max_v._raw = size.to(held(max_v).dtype)
    moved = first / (1 - beta1 ** count) / (size.sqrt() + eps)
    var._raw = (old * (1 - lr * decay) - lr * moved).to(old.dtype)
    m._raw, v._raw = first.to(held(m).dtype), second.to(held(v).dtype)
