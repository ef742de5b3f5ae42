"""Primitive classes of sets along the last dimension, and of rows of unequal lengths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ...core import dtype as mstype
from ...core.errors import op
from ...core.require import of_type
from ...tensors.tensor import Tensor, wrap
from .attributed import Attributed
from .attributes import with_attributes
from .sparse_coordinates import flat_places

__all__ = [
    "DenseToDenseSetOperation", "DenseToSparseSetOperation", "RaggedTensorToSparse",
    "RaggedTensorToTensor", "SetSize",
]

_Set = set[Any]
_OPERATIONS: dict[str, Callable[[_Set, _Set], _Set]] = {
    "a-b": lambda a, b: a - b, "b-a": lambda a, b: b - a,
    "intersection": lambda a, b: a & b, "union": lambda a, b: a | b}


def _operation(name: str, set_operation: str) -> Callable[[_Set, _Set], _Set]:
    found = _OPERATIONS.get(str(set_operation).lower())
    if found is None:
        raise ValueError(f"For '{name}', 'set_operation' must be one of {sorted(_OPERATIONS)}, "
                         f"but got {set_operation!r}.")
    return found


def _dense_sets(x: Tensor) -> list[_Set]:
    """The set in each row of the last dimension."""
    return [set(row) for row in x._raw.reshape(-1, x.shape[-1]).tolist()]


def _sparse_sets(name: str, indices: Tensor, values: Tensor, shape: list[int]) -> list[_Set]:
    rows = flat_places(name, indices._raw, shape) // max(shape[-1], 1)
    count = 1
    for length in shape[:-1]:
        count *= length
    sets: list[_Set] = [set() for _ in range(count)]
    for row, value in zip(rows.tolist(), values._raw.tolist(), strict=True):
        sets[row].add(value)
    return sets


def _as_sparse(sets: list[_Set], groups: list[int], like: Tensor
               ) -> tuple[Tensor, Tensor, Tensor]:
    """Sets as a sparse tensor, each in ascending order."""
    device = like._raw.device
    rows = [row for row, held in enumerate(sets) for _ in held]
    columns = [column for held in sets for column in range(len(held))]
    values = [value for held in sets for value in sorted(held)]
    before = torch.unravel_index(torch.tensor(rows, dtype=torch.int64), tuple(groups))
    indices = torch.stack([*before, torch.tensor(columns, dtype=torch.int64)], 1).to(device)
    widest = max(map(len, sets), default=0)
    return (wrap(indices), wrap(torch.tensor(values, dtype=like._raw.dtype, device=device)),
            wrap(torch.tensor([*groups, widest], dtype=torch.int64, device=device)))


def _check_groups(name: str, first: list[int], second: list[int]) -> None:
    if len(first) < 2 or first[:-1] != second[:-1]:
        raise ValueError(f"For '{name}', both inputs must have 2 dimensions or more, all but the "
                         f"last ones equal, but got shapes {first} and {second}.")


@op
def _of_dense(x1: Tensor, x2: Tensor, *, set_operation: str, validate_indices: bool
              ) -> tuple[Tensor, Tensor, Tensor]:
    """A set operation on each row of two dense tensors."""
    name = "DenseToDenseSetOperation"
    combine = _operation(name, set_operation)
    _check_groups(name, list(x1.shape), list(x2.shape))
    sets = [combine(a, b) for a, b in zip(_dense_sets(x1), _dense_sets(x2), strict=True)]
    return _as_sparse(sets, list(x1.shape[:-1]), x1)


@op
def _of_dense_and_sparse(x1: Tensor, x2_indices: Tensor, x2_values: Tensor, x2_shape: Tensor, *,
                         set_operation: str, validate_indices: bool
                         ) -> tuple[Tensor, Tensor, Tensor]:
    """A set operation on each row of a dense and of a sparse tensor."""
    name = "DenseToSparseSetOperation"
    combine = _operation(name, set_operation)
    shape = x2_shape._raw.tolist()
    _check_groups(name, list(x1.shape), shape)
    others = _sparse_sets(name, x2_indices, x2_values, shape)
    sets = [combine(a, b) for a, b in zip(_dense_sets(x1), others, strict=True)]
    return _as_sparse(sets, list(x1.shape[:-1]), x1)


@op
def _sizes(set_indices: Tensor, set_values: Tensor, set_shape: Tensor, *, validate_indices: bool
           ) -> Tensor:
    """How many different elements there are in each row, as int32."""
    shape = set_shape._raw.tolist()
    sets = _sparse_sets("SetSize", set_indices, set_values, shape)
    counts = torch.tensor([len(held) for held in sets], dtype=torch.int32)
    return wrap(counts.reshape(shape[:-1]).to(set_values._raw.device))


@op
def _ragged_to_sparse(rt_nested_splits: Any, rt_dense_values: Tensor, **_: Any
                      ) -> tuple[Tensor, Tensor, Tensor]:
    """Rows of unequal lengths as a sparse tensor."""
    values = rt_dense_values._raw
    splits = [split._raw.long() for split in rt_nested_splits]
    for split, length in zip(splits, [*(len(s) - 1 for s in splits[1:]), len(values)],
                             strict=True):
        if int(split[0]) != 0 or int(split[-1]) != length or bool((split.diff() < 0).any()):
            raise ValueError(f"For 'RaggedTensorToSparse', the splits must ascend from 0 to "
                             f"{length}, but got {split.tolist()}.")
    shape = [len(splits[0]) - 1, *(int(split.diff().max()) if len(split) > 1 else 0
                                   for split in splits), *values.shape[1:]]
    places = torch.arange(shape[0], device=values.device).unsqueeze(1)
    for split in splits:
        places = _extended(places, split.diff())
    for length in values.shape[1:]:
        places = _extended(places, torch.full((len(places),), length, device=values.device))
    return (wrap(places), wrap(values.reshape(-1)),
            wrap(torch.tensor(shape, dtype=torch.int64, device=values.device)))


def _extended(places: torch.Tensor, each: torch.Tensor) -> torch.Tensor:
    """Coordinates with one more: 0, 1, ... up to a row's number of elements."""
    begin = each.cumsum(0) - each
    inner = torch.arange(int(each.sum()), device=each.device) - begin.repeat_interleave(each)
    return torch.cat([places.repeat_interleave(each, 0), inner.unsqueeze(1)], 1)


class RaggedTensorToTensor(Attributed):
    """Rows of unequal lengths, filled up to a dense tensor.

    Args:
        row_partition_types: a list: ``"ROW_SPLITS"`` for each dimension, or ``"FIRST_DIM_SIZE"``
            and then ``"VALUE_ROWIDS"`` for each.

    Inputs:
        - **shape** - the shape of the result, as a Tensor; -1 for the longest that there is.
        - **values** - the elements, row by row.
        - **default_value** - what stands where a row has ended.
        - **row_partition_tensors** - a list, a Tensor for each of `row_partition_types`.

    Outputs:
        Tensor of the type of `values`; longer rows are cut.

    Raises:
        ValueError: if `row_partition_types` are others, or the ranks don't fit.
        RuntimeError: if splits don't ascend, or a row number is too large.

    Examples:
        >>> import lamella as ms
        >>> rows = RaggedTensorToTensor(["ROW_SPLITS"])
        >>> print(rows(ms.Tensor([2, 3]), ms.Tensor([1, 2, 3]), ms.Tensor(0),
        ...            [ms.Tensor([0, 1, 3])]))
        [[1 0 0]
         [2 3 0]]
    """

    def __init__(self, row_partition_types: list[str]):
        kinds = ("ROW_SPLITS", "FIRST_DIM_SIZE", "VALUE_ROWIDS")
        of_type(row_partition_types, list, "row_partition_types", "RaggedTensorToTensor")
        first, *others = row_partition_types or [""]
        if first not in kinds[:2] or set(others) - {kinds[0] if first == kinds[0] else kinds[2]} \
                or first == kinds[1] and not others:
            raise ValueError("For 'RaggedTensorToTensor', 'row_partition_types' must be "
                             "'ROW_SPLITS' for each dimension, or 'FIRST_DIM_SIZE' and then "
                             f"'VALUE_ROWIDS' for each, but got {row_partition_types}.")
        super().__init__(row_partition_types=row_partition_types,
                         num_row_partition_tensors=len(row_partition_types))

    def __call__(self, shape: Tensor, values: Tensor, default_value: Tensor,
                 row_partition_tensors: Any) -> Tensor:
        given = [tensor._raw.long() for tensor in row_partition_tensors]
        splits = given if self.row_partition_types[0] == "ROW_SPLITS" else _splits(*given)
        places, longest = _ragged_places(splits)
        lengths = [*longest, *values.shape[1:]]
        wanted = [n if n >= 0 else there
                  for n, there in zip(shape._raw.tolist(), lengths, strict=True)]
        out = default_value._raw.expand(wanted).clone()
        limit = torch.tensor(wanted[:places.shape[1]], device=places.device)
        kept = (places < limit).all(1)
        inner = tuple(slice(0, min(n, m)) for n, m in
                      zip(wanted[places.shape[1]:], values.shape[1:], strict=True))
        if not inner:
            return wrap(out.index_put(tuple(places[kept].unbind(1)), values._raw[kept]))
        out[(*places[kept].unbind(1), *inner)] = values._raw[kept][(slice(None), *inner)]
        return wrap(out)


def _splits(first: torch.Tensor, *rows: torch.Tensor) -> list[torch.Tensor]:
    """Where each row ends, for each dimension, from the row of each element."""
    count, splits = int(first), []
    for ids in rows:
        if len(ids) and int(ids.max()) >= count:
            raise RuntimeError(f"For 'RaggedTensorToTensor', the row of each value must be below "
                               f"{count}, but got {ids.tolist()}.")
        ends = torch.bincount(ids, minlength=count).cumsum(0)
        splits.append(torch.nn.functional.pad(ends, (1, 0)))
        count = len(ids)
    return splits


def _ragged_places(splits: list[torch.Tensor]) -> tuple[torch.Tensor, list[int]]:
    """The coordinates of each element, and the longest that each dimension is."""
    places = torch.arange(len(splits[0]) - 1, device=splits[0].device).unsqueeze(1)
    longest = [len(places)]
    for split in splits:
        each = split.diff()
        if bool((each < 0).any()):
            raise RuntimeError("For 'RaggedTensorToTensor', the splits must ascend, but got "
                               f"{split.tolist()}.")
        places = _extended(places, each)
        longest.append(int(each.max()) if len(each) else 0)
    return places, longest


DenseToDenseSetOperation = with_attributes("DenseToDenseSetOperation", _of_dense,
                                           set_operation="a-b", validate_indices=True)
DenseToSparseSetOperation = with_attributes("DenseToSparseSetOperation", _of_dense_and_sparse,
                                            set_operation="", validate_indices=True)
RaggedTensorToSparse = with_attributes("RaggedTensorToSparse", _ragged_to_sparse,
                                       Tsplits=mstype.int64)
SetSize = with_attributes("SetSize", _sizes, validate_indices=True)
