"""Columns of Arrow: arrays that share their memory where rows have one size; else row by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import in_pipeline


def stacks(kind: Any) -> bool:
    """Whether values of an Arrow type all have one shape, strings included."""
    kind = getattr(kind, "value_type", kind) if _is_dictionary(kind) else kind
    return is_text(kind) or is_plain(kind)


def is_plain(kind: Any) -> bool:
    """Whether values of an Arrow type are numbers, or arrays of numbers of one shape."""
    from pyarrow import types
    if types.is_fixed_size_list(kind):
        return is_plain(kind.value_type)
    return types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind) or (
        types.is_temporal(kind) and not types.is_interval(kind)) or hasattr(kind, "shape")


def _is_dictionary(kind: Any) -> bool:
    from pyarrow import types
    return types.is_dictionary(kind)


def is_text(kind: Any) -> bool:
    """Whether values of an Arrow type are strings."""
    from pyarrow import types
    return types.is_string(kind) or types.is_large_string(kind)


def column(name: str, values: Any) -> Any:
    """A column of one piece, with ``[place]`` and ``take(places)``.

    Args:
        name: the column's.
        values: a `pyarrow.Array`, or a `pyarrow.ChunkedArray`.

    Raises:
        RuntimeError: if a value is missing where numbers can't say so, or there is no NumPy type.
    """
    import pyarrow as pa
    if isinstance(values, pa.ChunkedArray):
        values = values.chunk(0) if values.num_chunks == 1 else _joined(values)
    if _is_dictionary(values.type):
        values = values.dictionary_decode()
    if is_plain(values.type):
        return _Numbers(numbers(name, values))
    if values.null_count:
        raise _missing(name)
    if is_text(values.type):
        return _Texts(values)
    return _Objects(name, values)


def _joined(values: Any) -> Any:
    import pyarrow as pa
    joined = values.combine_chunks()
    if isinstance(joined, pa.ChunkedArray):  # of no chunks, in older versions
        joined = pa.array([], values.type)
    return joined


def numbers(name: str, values: Any) -> np.ndarray:
    """The array of a plain column, which shares Arrow's memory wherever that is possible."""
    import pyarrow as pa
    kind = values.type
    if hasattr(values, "to_numpy_ndarray"):  # tensors of one shape
        return values.to_numpy_ndarray()
    if values.null_count and not pa.types.is_floating(kind):
        raise _missing(name)
    if pa.types.is_fixed_size_list(kind):
        if values.null_count:
            raise _missing(name)
        inner = numbers(name, values.flatten())
        return inner.reshape(len(values), kind.list_size, *inner.shape[1:])
    if pa.types.is_temporal(kind):
        values = values.view(pa.int64() if kind.bit_width == 64 else pa.int32())
    return values.to_numpy(zero_copy_only=False)


def _missing(name: str) -> RuntimeError:
    return in_pipeline(f"The column {name!r} has values that are missing (null), for which NumPy's "
                       f"integers and strings have none: fill them, for example with "
                       f"'pyarrow.compute.fill_null', or leave the column out by 'columns_list'.")


class _Numbers:
    """Numbers, in Arrow's memory."""

    def __init__(self, array: np.ndarray):
        self.array = array

    def __getitem__(self, place: int) -> np.ndarray:
        return np.asarray(self.array[place])

    def take(self, places: np.ndarray) -> np.ndarray:
        return self.array.take(places, 0)


class _Texts:
    """Strings."""

    def __init__(self, values: Any):
        self.values = values

    def __getitem__(self, place: int) -> np.ndarray:
        return np.array(self.values[place].as_py())

    def take(self, places: np.ndarray) -> np.ndarray:
        return np.array(self.values.take(places).to_pylist(), str)


class _Objects:
    """Bytes as uint8, lists of any length as arrays, structures as dicts."""

    def __init__(self, name: str, values: Any):
        self.name, self.values = name, values
        inner = getattr(values.type, "value_type", None)
        self.lists_numbers = inner is not None and is_plain(inner)

    def __getitem__(self, place: int) -> Any:
        value = self.values[place]
        if hasattr(value, "as_buffer"):
            return np.frombuffer(value.as_buffer() or b"", np.uint8)
        if self.lists_numbers:
            return numbers(self.name, value.values)
        found = value.as_py()
        if isinstance(found, dict):
            return found
        array = np.asarray(found)
        if array.dtype == object:
            raise in_pipeline(f"The column {self.name!r} of Arrow's type {self.values.type} has no "
                              f"NumPy type; leave it out by 'columns_list', or cast it.")
        return array
