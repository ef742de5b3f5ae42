"""Primitive classes of sparse tensors as three Tensors: places of values, the values, the shape.

`indices` has a row of coordinates for each value, in any order unless a class says otherwise.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...core.errors import op
from ...core.primitive import Primitive
from ...tensors.tensor import Tensor, wrap
from ..primitive import primitive
from .attributes import with_attributes
from .sparse_matrices import softmax_of_groups

__all__ = [
    "SparseAdd", "SparseAddmm", "SparseConcat", "SparseCountSparseOutput", "SparseDenseCwiseAdd",
    "SparseDenseCwiseDiv", "SparseDenseCwiseMul", "SparseFillEmptyRows", "SparseFillEmptyRowsGrad",
    "SparseReorder", "SparseReshape", "SparseSliceGrad", "SparseSoftmax", "SparseSparseMaximum",
    "SparseSparseMinimum", "SparseSplit", "SparseToDenseV2", "Sspaddmm", "flat_places",
]


def flat_places(name: str, indices: torch.Tensor, shape: Sequence[int],
                outside: type[Exception] = ValueError) -> torch.Tensor:
    """Where the elements are in row-major order.

    Args:
        name: of the class, for errors.
        indices: (elements, dimensions), the coordinates.
        shape: the lengths of the dimensions.
        outside: the error of coordinates that lie outside.
    """
    if indices.dim() != 2 or indices.shape[1] != len(shape):
        raise ValueError(f"For '{name}', 'indices' must have the shape (n, {len(shape)}), but got "
                         f"{tuple(indices.shape)}.")
    lengths = torch.tensor(shape, dtype=torch.int64, device=indices.device)
    if bool(((indices < 0) | (indices >= lengths)).any()):
        raise outside(f"For '{name}', 'indices' must lie inside of the shape {tuple(shape)}, "
                      f"but got {indices.tolist()}.")
    strides = [math.prod(shape[i + 1:]) for i in range(len(shape))]
    return (indices * torch.tensor(strides, dtype=torch.int64, device=indices.device)).sum(1)


def _coordinates(places: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    if not shape:
        return places.new_zeros((len(places), 0))
    return torch.stack(torch.unravel_index(places, tuple(shape)), 1)


def _lengths(shape: Any) -> list[int]:
    return [int(n) for n in (shape._raw if isinstance(shape, Tensor) else shape)]


def _counted(name: str, indices: Tensor, values: Tensor) -> None:
    if values.ndim != 1 or indices.ndim != 2 or indices.shape[0] != values.shape[0]:
        raise ValueError(f"For '{name}', there must be one row of 'indices' for each of 'values', "
                         f"but got shapes {indices.shape} and {values.shape}.")


def _joined(name: str, first: tuple[Tensor, Tensor, Any], second: tuple[Tensor, Tensor, Any]
            ) -> tuple[list[int], torch.Tensor, torch.Tensor, torch.Tensor]:
    """The shape of two sparse tensors, the places that either holds, and the values of both."""
    shape = _lengths(first[2])
    if shape != _lengths(second[2]):
        raise ValueError(f"For '{name}', both shapes must be the same, but got {shape} and "
                         f"{_lengths(second[2])}.")
    for indices, values, _ in (first, second):
        _counted(name, indices, values)
    held = [flat_places(name, indices._raw.long(), shape) for indices, *_ in (first, second)]
    places, inverse = torch.cat(held).unique(return_inverse=True)
    both = [values._raw.new_zeros(len(places)).index_add(0, where, values._raw)
            for where, (_, values, _) in zip(inverse.split([len(h) for h in held]),
                                             (first, second), strict=True)]
    return shape, places, both[0], both[1]


@op
def _sum(x1_indices: Tensor, x1_values: Tensor, x1_shape: Any, x2_indices: Tensor,
         x2_values: Tensor, x2_shape: Any, thresh: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The sum of two sparse tensors, without elements whose size is below `thresh`."""
    shape, places, one, other = _joined("SparseAdd", (x1_indices, x1_values, x1_shape),
                                        (x2_indices, x2_values, x2_shape))
    total = one + other
    least = thresh._raw if isinstance(thresh, Tensor) else thresh
    kept = total.abs() >= least
    return (wrap(_coordinates(places[kept], shape)), wrap(total[kept]), _shape(shape, x1_indices))


def _shape(shape: Sequence[int], like: Tensor) -> Tensor:
    return wrap(torch.tensor(shape, dtype=torch.int64, device=like._raw.device))


def _extremum(name: str, largest: bool) -> type[Primitive]:
    choose = torch.maximum if largest else torch.minimum

    @functools.partial(op, name=name)
    def compute(x1_indices: Tensor, x1_values: Tensor, x1_shape: Any, x2_indices: Tensor,
                x2_values: Tensor, x2_shape: Any) -> tuple[Tensor, Tensor]:
        shape, places, one, other = _joined(name, (x1_indices, x1_values, x1_shape),
                                            (x2_indices, x2_values, x2_shape))
        return wrap(_coordinates(places, shape)), wrap(choose(one, other))

    return primitive(name, compute)


def _product_of(places: torch.Tensor, values: torch.Tensor, shape: list[int],
                dense: torch.Tensor) -> torch.Tensor:
    """The product of a sparse matrix, whose elements have `places`, with a dense one."""
    row, column = places.unbind(1)
    terms = dense[column] * values.unsqueeze(1)
    return terms.new_zeros((shape[0], dense.shape[1])).index_add(0, row, terms)


@op
def _product_and_sum(indices: Tensor, values: Tensor, sparse_shape: Any, x2_dense: Tensor,
                     x3_dense: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
    """``alpha * (x1 @ x2) + beta * x3`` for a sparse matrix x1 and dense x2 and x3."""
    shape = _lengths(sparse_shape)
    flat_places("SparseAddmm", indices._raw.long(), shape)
    product = _product_of(indices._raw.long(), values._raw, shape, x2_dense._raw)
    return wrap(alpha._raw * product + beta._raw * x3_dense._raw)


@op
def _sparse_product_and_sum(
        x1_indices: Tensor, x1_values: Tensor, x1_shape: Any, x2_indices: Tensor,
        x2_values: Tensor, x2_shape: Any, x3_dense: Tensor, alpha: Tensor, beta: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """``beta * x1 + alpha * (x2 @ x3)``: the elements of x1, then rows where x2 holds any."""
    shape = _lengths(x1_shape)
    flat_places("Sspaddmm", x1_indices._raw.long().T, shape)
    places = x2_indices._raw.long().T
    flat_places("Sspaddmm", places, _lengths(x2_shape))
    product = _product_of(places, x2_values._raw, _lengths(x2_shape), x3_dense._raw)
    rows = places[:, 0].unique()
    columns = torch.arange(shape[1], device=rows.device)
    added = torch.stack([rows.repeat_interleave(len(columns)), columns.repeat(len(rows))])
    kind = x1_values._raw.dtype
    new = (product[rows].reshape(-1) * alpha._raw.reshape(())).to(kind)
    old = (x1_values._raw * beta._raw.reshape(())).to(kind)
    return (wrap(torch.cat([x1_indices._raw.long(), added], 1)), wrap(torch.cat([old, new])),
            _shape(shape, x1_indices))


@op
def _concatenated(sp_input_indices: Any, sp_input_values: Any, sp_input_shapes: Any, *,
                  concat_dim: int) -> tuple[Tensor, Tensor, Tensor]:
    """Sparse tensors one after the other along a dimension, in row-major order."""
    shapes = [_lengths(shape) for shape in sp_input_shapes]
    rank = len(shapes[0])
    if not -rank <= concat_dim < rank:
        raise ValueError(f"For 'SparseConcat', 'concat_dim' must be in [-{rank}, {rank}), but got "
                         f"{concat_dim}.")
    along = concat_dim % rank
    if len({(*s[:along], *s[along + 1:]) for s in shapes}) > 1:
        raise ValueError("For 'SparseConcat', the shapes must be the same except along the "
                         f"dimension {along}, but got {shapes}.")
    moved, begin = [], 0
    for indices, shape in zip(sp_input_indices, shapes, strict=True):
        step = torch.zeros(rank, dtype=torch.int64, device=indices._raw.device)
        step[along] = begin
        moved.append(indices._raw.long() + step)
        begin += shape[along]
    shape = [*shapes[0][:along], begin, *shapes[0][along + 1:]]
    places = torch.cat(moved)
    order = torch.argsort(flat_places("SparseConcat", places, shape), stable=True)
    values = torch.cat([value._raw for value in sp_input_values])
    return wrap(places[order]), wrap(values[order]), _shape(shape, sp_input_indices[0])


@op
def _parts(split_dim: Tensor, indices: Tensor, values: Tensor, shape: Tensor, *, num_split: int
           ) -> tuple[Any, ...]:
    """The parts of a sparse tensor along a dimension; the first ones are longer by one."""
    along, lengths = int(split_dim), _lengths(shape)
    each, longer = divmod(lengths[along], num_split)
    parts, begin = [], 0
    for number in range(num_split):
        end = begin + each + (number < longer)
        at = indices._raw[:, along]
        kept = (at >= begin) & (at < end)
        moved = indices._raw[kept].clone()
        moved[:, along] -= begin
        part = [*lengths[:along], end - begin, *lengths[along + 1:]]
        parts.append((wrap(moved), wrap(values._raw[kept]), _shape(part, indices)))
        begin = end
    return tuple(zip(*parts, strict=True))


@op
def _counts(indices: Tensor, values: Tensor, dense_shape: Any, weights: Tensor, *,
            binary_output: bool, minlength: int, maxlength: int) -> tuple[Tensor, Tensor, Tensor]:
    """How often each value occurs in each row, as a sparse matrix."""
    _counted("SparseCountSparseOutput", indices, values)
    shape = _lengths(dense_shape)
    flat_places("SparseCountSparseOutput", indices._raw, shape, RuntimeError)
    found, weighed = values._raw.long(), weights._raw
    rows = shape[0] if len(shape) > 1 else 1
    row = indices._raw[:, 0] if len(shape) > 1 else torch.zeros_like(found)
    width = max(int(found.max()) + 1 if len(found) else 0, minlength)
    width = min(width, maxlength) if maxlength >= 0 else width
    kept = (found >= 0) & (found < width)
    row, found = row[kept], found[kept]
    places, inverse = (row * max(width, 1) + found).unique(return_inverse=True)
    if weighed.numel() not in (0, len(kept)):
        raise RuntimeError(f"For 'SparseCountSparseOutput', there must be as many 'weights' as "
                           f"'values', {len(kept)}, but got {weighed.numel()}.")
    each = weighed[kept] if weighed.numel() else torch.ones_like(found, dtype=weighed.dtype)
    total = each.new_zeros(len(places)).index_add(0, inverse, each)
    if binary_output:
        total = torch.ones_like(total)
    lengths = [rows, width] if len(shape) > 1 else [width]
    return wrap(_coordinates(places, lengths)), wrap(total), _shape(lengths, indices)


def _with_dense(name: str, compute: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
                ) -> type[Primitive]:
    @functools.partial(op, name=name)
    def combined(x1_indices: Tensor, x1_values: Tensor, x1_shape: Any, x2: Tensor) -> Tensor:
        shape = _lengths(x1_shape)
        if x1_values._raw.dtype != x2._raw.dtype:
            raise TypeError(f"For '{name}', 'x1_values' and 'x2' must have one type, but got "
                            f"{x1_values.dtype} and {x2.dtype}.")
        _counted(name, x1_indices, x1_values)
        flat_places(name, x1_indices._raw, shape)
        met = x2._raw.expand(shape)[x1_indices._raw.long().unbind(1)]
        return wrap(compute(x1_values._raw, met).to(x2._raw.dtype))

    return primitive(name, combined)


def _quotient(values: torch.Tensor, met: torch.Tensor) -> torch.Tensor:
    if values.is_floating_point() or values.is_complex():
        return values / met
    return torch.div(values, met, rounding_mode="trunc")


@op
def _without_empty_rows(indices: Tensor, values: Tensor, dense_shape: Any, default_value: Tensor
                        ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """A sparse matrix in which each empty row has `default_value` first.

    Also which rows were empty, and where each of `values` is now.
    """
    _counted("SparseFillEmptyRows", indices, values)
    shape = _lengths(dense_shape)
    flat_places("SparseFillEmptyRows", indices._raw, shape)
    row = indices._raw[:, 0]
    empty = torch.bincount(row, minlength=shape[0]) == 0
    added = empty.nonzero()[:, :1]
    added = torch.cat([added, added.new_zeros((len(added), len(shape) - 1))], 1)
    places = torch.cat([indices._raw, added])
    order = torch.argsort(places[:, 0], stable=True)
    filled = torch.cat([values._raw, default_value._raw.reshape(1).expand(len(added))])
    return (wrap(places[order]), wrap(filled[order]), wrap(empty),
            wrap(torch.argsort(order)[:len(row)]))


@op
def _without_empty_rows_gradient(reverse_index_map: Tensor, grad_values: Tensor
                                 ) -> tuple[Tensor, Tensor]:
    """The gradients by the values and by the default value."""
    gradient = grad_values._raw[reverse_index_map._raw.long()]
    return wrap(gradient), wrap(grad_values._raw.sum(dtype=gradient.dtype) - gradient.sum(
        dtype=gradient.dtype))


@op
def _reordered(indices: Tensor, values: Tensor, shape: Any) -> tuple[Tensor, Tensor]:
    """The elements in row-major order."""
    _counted("SparseReorder", indices, values)
    order = torch.argsort(flat_places("SparseReorder", indices._raw, _lengths(shape)), stable=True)
    return wrap(indices._raw[order]), wrap(values._raw[order])


@op
def _reshaped(indices: Tensor, shape: Any, new_shape: Any) -> tuple[Tensor, Tensor]:
    """The places of the elements in another shape, of which one length may be -1."""
    old, new = _lengths(shape), _lengths(new_shape)
    total, known = math.prod(old), math.prod(n for n in new if n != -1)
    if new.count(-1) > 1 or any(n < -1 for n in new):
        raise ValueError(f"For 'SparseReshape', one of 'new_shape' may be -1 and none less, but "
                         f"got {new}.")
    if -1 in new and known and total % known == 0:
        new[new.index(-1)] = total // known
    if -1 in new or math.prod(new) != total:
        raise ValueError(f"For 'SparseReshape', the shapes {old} and {new} must have the same "
                         f"number of elements.")
    places = flat_places("SparseReshape", indices._raw, old)
    return wrap(_coordinates(places, new)), _shape(new, indices)


@op
def _slice_gradient(backprop_val_grad: Tensor, indices: Tensor, start: Tensor,
                    new_indices: Tensor) -> Tensor:
    """The gradients of what `SparseSlice` took, at the elements it took them from; else 0."""
    places = new_indices._raw + start._raw
    same = (indices._raw.unsqueeze(1) == places.unsqueeze(0)).all(2)
    out = torch.zeros(len(same), dtype=backprop_val_grad._raw.dtype, device=same.device)
    taken, part = same.nonzero().unbind(1)
    return wrap(out.index_put((taken,), backprop_val_grad._raw[part]))


@op
def _softmax(indices: Tensor, values: Tensor, shape: Any) -> Tensor:
    """Softmax over the elements of each row; what the tensor doesn't hold takes no part."""
    _counted("SparseSoftmax", indices, values)
    lengths = _lengths(shape)
    if len(lengths) < 2:
        raise ValueError(f"For 'SparseSoftmax', 'shape' must have 2 lengths or more, but got "
                         f"{lengths}.")
    row = flat_places("SparseSoftmax", indices._raw, lengths) // max(lengths[-1], 1)
    rows, group = row.unique(return_inverse=True)
    return wrap(softmax_of_groups(values._raw, group, len(rows)))


@op
def _dense(indices: Tensor, output_shape: Any, values: Tensor, default_value: Tensor, *,
           validate_indices: bool) -> Tensor:
    """A dense tensor with `default_value` where nothing is held."""
    shape = _lengths(output_shape)
    places = indices._raw.long().reshape(-1, len(shape))
    flat = flat_places("SparseToDenseV2", places, shape)
    if validate_indices and bool((flat.diff() <= 0).any()):
        raise ValueError("For 'SparseToDenseV2', 'indices' must be in row-major order without "
                         f"repeats, but got {indices}.")
    out = default_value._raw.to(values._raw.dtype).reshape(()).expand(math.prod(shape)).clone()
    return wrap(out.index_put((flat,), values._raw.reshape(-1).expand(len(flat))).reshape(shape))


SparseAdd = primitive("SparseAdd", _sum)
SparseAddmm = primitive("SparseAddmm", _product_and_sum)
SparseConcat = with_attributes("SparseConcat", _concatenated, concat_dim=0)
SparseCountSparseOutput = with_attributes("SparseCountSparseOutput", _counts, binary_output=False,
                                          minlength=-1, maxlength=-1)
SparseDenseCwiseAdd = _with_dense("SparseDenseCwiseAdd", torch.add)
SparseDenseCwiseDiv = _with_dense("SparseDenseCwiseDiv", _quotient)
SparseDenseCwiseMul = _with_dense("SparseDenseCwiseMul", torch.mul)
SparseFillEmptyRows = primitive("SparseFillEmptyRows", _without_empty_rows)
SparseFillEmptyRowsGrad = primitive("SparseFillEmptyRowsGrad", _without_empty_rows_gradient)
SparseReorder = primitive("SparseReorder", _reordered)
SparseReshape = primitive("SparseReshape", _reshaped)
SparseSliceGrad = primitive("SparseSliceGrad", _slice_gradient)
SparseSoftmax = primitive("SparseSoftmax", _softmax)
SparseSparseMaximum = _extremum("SparseSparseMaximum", True)
SparseSparseMinimum = _extremum("SparseSparseMinimum", False)
SparseSplit = with_attributes("SparseSplit", _parts, num_split=1)
SparseToDenseV2 = with_attributes("SparseToDenseV2", _dense, validate_indices=True)
Sspaddmm = primitive("Sspaddmm", _sparse_product_and_sum)
