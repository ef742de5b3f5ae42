"""How samples become a batch."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from ...core.dtype import float64
from ...tensors.tensor import Tensor


def _mapping_like(given: Mapping, values: dict[Any, Any]) -> Any:
    """A mapping of the given one's type, with other values."""
    try:
        if isinstance(given, MutableMapping):
            made = copy.copy(given)
            made.update(values)
            return made
        return type(given)(values)  # type: ignore[call-arg]
    except TypeError:  # it can't be made from a dict
        return values


def _sequence_like(given: Sequence, values: list[Any]) -> Any:
    """A sequence of the given one's type, with other values."""
    try:
        if isinstance(given, MutableSequence):
            made = copy.copy(given)
            for i, value in enumerate(values):
                made[i] = value
            return made
        return type(given)(values)  # type: ignore[call-arg]
    except TypeError:  # it can't be made from a list
        return values


def default_convert(data: Any) -> Any:
    """A sample with Tensors for NumPy's arrays and numbers; what `DataLoader` does without batches.

    Args:
        data: arrays and numbers, in mappings and sequences or alone. A tuple becomes a list, other
            things, texts' arrays too, stay.

    Examples:
        >>> import numpy as np
        >>> default_convert({"x": np.array([1, 2]), "name": "a"})
        {'x': Tensor(shape=[2], dtype=Int64, value= [1, 2]), 'name': 'a'}
    """
    if isinstance(data, (np.number, np.bool_)):
        return Tensor(data)
    if isinstance(data, np.ndarray):
        return data if data.dtype.kind in "SUO" else Tensor.from_numpy(data)
    if isinstance(data, (Tensor, str, bytes)):
        return data
    if isinstance(data, Mapping):
        return _mapping_like(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(value) for value in data))
    if isinstance(data, Sequence):
        values = [default_convert(value) for value in data]
        return values if isinstance(data, tuple) else _sequence_like(data, values)
    return data


def collate(batch: Sequence[Any], *, collate_fn_map: Mapping[Any, Callable] | None = None) -> Any:
    """A batch of samples, by a function for each type.

    Args:
        batch: the samples. Mappings, named tuples and sequences of equal lengths become one such
            with a batch for each place (a list for tuples).
        collate_fn_map: the function for a type, or a tuple of types; it is called with the values
            and `collate_fn_map`.

    Raises:
        TypeError: if there is no function for a type.
        RuntimeError: if sequences' lengths differ.

    Examples:
        >>> collate([(1, 2), (3, 4)], collate_fn_map={int: lambda b, collate_fn_map: max(b)})
        [3, 4]
    """
    functions = collate_fn_map or {}
    first = batch[0]
    if type(first) in functions:
        return functions[type(first)](batch, collate_fn_map=functions)
    for kind, function in functions.items():
        if isinstance(first, kind):
            return function(batch, collate_fn_map=functions)
    if isinstance(first, Mapping):
        return _mapping_like(first, {key: collate([sample[key] for sample in batch],
                                                  collate_fn_map=functions) for key in first})
    if not isinstance(first, Sequence):
        raise TypeError(f"Cannot find the appropriate collate function for type {type(first)} in "
                        f"collate_fn_map.")
    if len({len(sample) for sample in batch}) > 1:
        raise RuntimeError("Each element in list of batch must be of equal size.")
    values = [collate(column, collate_fn_map=functions) for column in zip(*batch, strict=True)]
    if hasattr(first, "_fields"):
        return type(first)(*values)  # type: ignore[call-arg]
    return values if isinstance(first, tuple) else _sequence_like(first, values)


def _of_tensors(batch: Sequence[Tensor], *, collate_fn_map: Any = None) -> Tensor:
    same = {tensor.dtype for tensor in batch}
    stacked = np.stack([tensor.asnumpy() for tensor in batch])
    return Tensor(stacked, dtype=same.pop()) if len(same) == 1 else Tensor(stacked)


def _of_arrays(batch: Sequence[np.ndarray], *, collate_fn_map: Any = None) -> Tensor:
    if batch[0].dtype.kind in "SUO":
        raise TypeError(f"NumPy arrays with dtype {batch[0].dtype} are not supported for "
                        f"collation.")
    return Tensor(np.stack(batch))


def _of_numbers(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Tensor:
    return Tensor(list(batch))


def _of_floats(batch: Sequence[float], *, collate_fn_map: Any = None) -> Tensor:
    return Tensor(list(batch), dtype=float64)


def _of_texts(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Sequence[Any]:
    return batch


default_collate_fn_map: dict[Any, Callable] = {
    Tensor: _of_tensors, np.ndarray: _of_arrays, (np.bool_, np.number, np.object_): _of_numbers,
    float: _of_floats, int: _of_numbers, str: _of_texts, bytes: _of_texts,
}


def default_collate(batch: Sequence[Any]) -> Any:
    """A batch of samples: Tensors with one dimension more in front; what `DataLoader` does.

    Args:
        batch: the samples: Tensors, arrays, numbers or texts, alone or in mappings and sequences.
            Floats give float64; texts stay a list.

    Raises:
        TypeError: for other types.
        RuntimeError: if sequences' lengths differ.

    Examples:
        >>> default_collate([(1, "a"), (2, "b")])
        [Tensor(shape=[2], dtype=Int64, value= [1, 2]), ('a', 'b')]
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]
