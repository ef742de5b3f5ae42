"""Batches of a Python object's rows; PyTorch's tensors are stacked by PyTorch.

A row needn't become arrays of its own where a whole batch is asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ..errors import DataError, in_user_code
from ..order import Row, Table
from ..rows import as_value, stacked


def tensors_of(source: Any) -> Any:
    """The tensors of a `TensorDataset` of PyTorch's, where NumPy can hold them; else None."""
    data: Any = sys.modules.get("torch.utils.data")
    if data is None or type(source) is not data.TensorDataset:
        return None
    try:
        for tensor in source.tensors:
            tensor.numpy()
    except (RuntimeError, TypeError):
        return None
    return source.tensors


class TensorsTable(Table):
    """Rows along the first dimension of PyTorch's tensors."""

    stacks = True

    def __init__(self, tensors: Any, row: Callable[[int], Row]):
        super().__init__(row, len(tensors[0]))
        self.tensors = tensors

    def gather(self, places: np.ndarray) -> Row:
        """The rows of these numbers, stacked, in memory of their own."""
        chosen = torch.from_numpy(places)
        return tuple([tensor.index_select(0, chosen).numpy() for tensor in self.tensors])


class SourceTable(Table):
    """Rows that an object gives one by one or, by PyTorch's method ``__getitems__``, in lists.

    Args:
        source: the object.
        row: gives the row of a number.
        checked: makes a row of what the object gave for one.
        width: how many columns there are.
    """

    gathers = True

    def __init__(self, source: Any, row: Callable[[int], Row], checked: Callable[[Any], Row],
                 width: int):
        super().__init__(row, len(source))
        self.source, self.checked, self.width = source, checked, width

    def gather(self, places: np.ndarray) -> Row:
        """The rows of these numbers, stacked, in memory of their own."""
        try:
            given, width = self._given(places.tolist()), self.width
            if width == 1 and all(row.__class__ is torch.Tensor for row in given):
                return (_column(0, given),)
            if all(row.__class__ is tuple and len(row) == width for row in given):
                return tuple(map(_column, range(width), zip(*given, strict=True)))
            rows = [self.checked(row) for row in given]
            return tuple(map(stacked, range(width), zip(*rows, strict=True)))
        except DataError:
            raise
        except Exception as error:
            raise in_user_code("GeneratorDataset", error) from error

    def _given(self, places: list[int]) -> list[Any]:
        source = self.source
        several: Any = getattr(source, "__getitems__", None)
        if not callable(several):
            return [source[place] for place in places]
        given: Any = several(places)
        rows = list(given)
        if len(rows) != len(places):
            raise ValueError(f"'__getitems__' of {type(source).__name__} must give a row for each "
                             f"of {len(places)} numbers, but it gave {len(rows)}.")
        return rows


def _column(number: int, values: Any) -> Any:
    """The values of one column, stacked."""
    first = values[0]
    kind = first.__class__
    if kind is torch.Tensor:
        dtype = first.dtype
        if all(value.__class__ is kind and value.dtype is dtype for value in values):
            try:
                return torch.stack(values).numpy()
            except (RuntimeError, TypeError):
                pass  # which shapes or types they have is said below
    elif (kind is int or kind is float) and all(value.__class__ is kind for value in values):
        array = np.array(values)
        if array.dtype.char in "ld":
            return array
    return stacked(number, [as_value(value) for value in values])
