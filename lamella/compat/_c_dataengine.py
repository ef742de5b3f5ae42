"""Names of MindSpore's C++ module of data pipelines, as far as they mean something here."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.dtype import dtype_to_nptype
from ..dataset.profiling import MANAGER, ProfilingManager

_NAMES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float16", "float32", "float64", "string", "bytes")


class DataType:
    """The type of a pipeline's values, by name.

    Examples:
        >>> from lamella._c_dataengine import DataType
        >>> DataType("int32") == DataType("int32"), str(DataType("string"))
        (True, 'string')
    """

    def __init__(self, name: str):
        if name not in _NAMES:
            raise ValueError(f"For 'DataType', the name must be one of {', '.join(_NAMES)}, but "
                             f"got {name!r}.")
        self._name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DataType) and self._name == other._name

    def __hash__(self) -> int:
        return hash(self._name)

    def __str__(self) -> str:
        return self._name

    __repr__ = __str__


class GlobalContext:
    """What pipelines share: their profiler."""

    @staticmethod
    def profiling_manager() -> ProfilingManager:
        """The profiler of pipelines."""
        return MANAGER


class TensorShape:
    """A shape: a list of sizes, of which -1 is unknown."""

    def __init__(self, sizes: Any):
        self._sizes = [int(size) for size in sizes]

    def as_list(self) -> list[int]:
        """The sizes."""
        return list(self._sizes)

    def is_known(self) -> bool:
        """Whether all sizes are known."""
        return all(size >= 0 for size in self._sizes)

    def __str__(self) -> str:
        return f"<{','.join('*' if size < 0 else str(size) for size in self._sizes)}>"


class Tensor:
    """One value of a pipeline; arrays made of it share its memory.

    Examples:
        >>> import numpy as np
        >>> from lamella._c_dataengine import Tensor
        >>> Tensor(np.arange(3)).as_array().tolist()
        [0, 1, 2]
    """

    def __init__(self, array: np.ndarray):
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "biufSU":
            raise RuntimeError(f"For 'Tensor', an array of numbers or strings is expected, but got "
                               f"{array!r}.")
        self._array = np.array(array, order="C")

    def as_array(self) -> np.ndarray:
        """The value as an array."""
        return self._array

    def as_decoded_array(self) -> np.ndarray:
        """The value as an array, bytes decoded as UTF-8."""
        return np.char.decode(self._array) if self._array.dtype.kind == "S" else self._array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        kind = self._array.dtype if dtype is None else np.dtype(dtype)
        return self._array.astype(kind, copy=bool(copy))

    def shape(self) -> list[int]:
        """The sizes."""
        return list(self._array.shape)

    def type(self) -> DataType:
        """The type of the elements."""
        return nptype_to_detype(self._array.dtype)


def nptype_to_detype(kind: Any) -> DataType:
    """The type of a pipeline's values for one of NumPy's or Python's.

    Raises:
        ValueError: if there is none.
    """
    found = np.dtype(kind)
    named: Any = {"U": "string", "S": "bytes"}.get(found.kind, found.name)
    return DataType(named)


def mstype_to_detype(kind: Any) -> DataType | None:
    """The type of a pipeline's values for one of Lamella's; None for None."""
    return None if kind is None else nptype_to_detype(dtype_to_nptype(kind))


def mstypelist_to_detypelist(kinds: Any) -> list[DataType | None]:
    """`mstype_to_detype` of each."""
    return [mstype_to_detype(kind) for kind in kinds]
