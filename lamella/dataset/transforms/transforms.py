"""Operations on arrays of any kind: types, masks, padding, random choices among operations."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np

from ...core import dtype as types
from ...core.dtype import Type, dtype_to_nptype
from ...core.require import of_type
from ..checks import integer, numpy_type
from ..errors import in_pipeline
from .compound import (
    Compose,
    CompoundOperation,
    RandomApply,
    RandomChoice,
    RandomOrder,
)
from .operation import PyTensorOperation, Streams, TensorOperation, Values

_SCALARS = (str, float, bool, int, bytes)


class Relational(IntEnum):
    """How `Mask` compares."""

    EQ = 0
    NE = 1
    GT = 2
    GE = 3
    LT = 4
    LE = 5


def not_random(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function as deterministic."""
    function.random = False  # type: ignore[attr-defined]
    return function


def _cast(value: Any, kind: np.dtype[Any]) -> np.ndarray:
    """A number, or an array of them, in another type; what is outside of its range wraps around."""
    value = np.asarray(value)
    with np.errstate(invalid="ignore"):
        if value.dtype.kind == "f" and kind.kind == "u":
            value = value.astype(np.int64)  # else the processor says what negative numbers become
        return value.astype(kind)


class Fill(TensorOperation):
    """Replace all elements by one value.

    Args:
        fill_value: the value; its type is that of the input.
    """

    def __init__(self, fill_value: Any):
        self.fill_value = fill_value

    def transform(self, value: np.ndarray) -> np.ndarray:
        """The filled array."""
        text = isinstance(self.fill_value, (str, bytes))
        if (value.dtype.kind in "US") is not text:
            raise RuntimeError(f"Fill: types do not match: the value is {self.fill_value!r}, the "
                               f"input has type {value.dtype}.")
        if text:
            return np.full(value.shape, self.fill_value)
        return np.full(value.shape, _cast(self.fill_value, value.dtype))

    block = transform


class TypeCast(TensorOperation):
    """Convert the data type.

    Args:
        data_type: the type, Lamella's or NumPy's.

    Examples:
        >>> import numpy as np
        >>> import lamella as ms
        >>> import lamella.dataset.transforms as transforms
        >>> print(transforms.TypeCast(ms.float32)(np.array([1, 2])))
        [1. 2.]
    """

    def __init__(self, data_type: Any):
        if isinstance(data_type, Type):
            kind = np.dtype(dtype_to_nptype(data_type))
        else:
            kind = numpy_type(type(self).__name__, "data_type", data_type)
        self.data_type, self._kind = data_type, kind

    def transform(self, value: np.ndarray) -> np.ndarray:
        """The converted array."""
        if (value.dtype.kind in "US") is not (self._kind.kind in "US"):
            raise RuntimeError(f"TypeCast: {value.dtype} can't be cast to {self._kind}.")
        return _cast(value, self._kind)

    block = transform


class OneHot(TensorOperation):
    """One-hot vectors of class numbers.

    Args:
        num_classes: how many classes there are.
        smoothing_rate: label smoothing: the fraction of the 1 that is spread over all classes.

    Examples:
        >>> import numpy as np
        >>> from lamella.dataset import transforms
        >>> transforms.OneHot(3)(np.array([0, 2]))
        array([[1, 0, 0],
               [0, 0, 1]])
    """

    def __init__(self, num_classes: int, smoothing_rate: float = 0.0):
        self.num_classes = num_classes
        self.smoothing_rate = smoothing_rate

    def block(self, value: np.ndarray) -> np.ndarray:
        """The vectors of any number of classes; a last dimension of 1 becomes the vector's."""
        if value.ndim > 1 and value.shape[-1] == 1:
            value = value[..., 0]
        if value.dtype.kind not in "iu":
            raise RuntimeError(f"OneHot: Only support input of int type, but got: "
                               f"{value.dtype}")
        if value.size and (value.min() < 0 or value.max() >= self.num_classes):
            raise RuntimeError(f"OneHot: index_value must be in [0, num_classes), but got: "
                               f"[{value.min()}, {value.max()}] and {self.num_classes}")
        kind = np.float64 if self.smoothing_rate else value.dtype
        out = np.zeros((*value.shape, self.num_classes), kind)
        if self.smoothing_rate:
            out += self.smoothing_rate / self.num_classes
        high = 1 - self.smoothing_rate + self.smoothing_rate / self.num_classes
        np.put_along_axis(out, value[..., None].astype(np.int64),
                          high if self.smoothing_rate else 1, -1)
        return out

    def transform(self, value: np.ndarray) -> np.ndarray:
        """The vectors of one class, or of several."""
        if value.shape in ((1,), (1, 1)):
            return self.block(value.reshape(()))
        return self.block(value)


class Mask(TensorOperation):
    """A mask: the comparison of each element with a constant.

    Args:
        operator: a Relational.
        constant: the constant; a number is cast to the type of the input.
        dtype: the type of the output.
    """

    _COMPARE = {Relational.EQ: np.equal, Relational.NE: np.not_equal, Relational.GT: np.greater,
                Relational.GE: np.greater_equal, Relational.LT: np.less,
                Relational.LE: np.less_equal}

    def __init__(self, operator: Relational, constant: Any, dtype: Any = None):
        dtype = types.bool_ if dtype is None else dtype
        of_type(operator, Relational, "operator", "Mask")
        if not isinstance(dtype, Type):
            raise TypeError(f"For 'Mask', 'dtype' must be a data type, but got {dtype!r}.")
        self.operator, self.constant, self.dtype = operator, constant, dtype

    def transform(self, value: np.ndarray) -> np.ndarray:
        """The mask."""
        text = value.dtype.kind in "US"
        if text is not isinstance(self.constant, (str, bytes)):
            raise RuntimeError(f"Mask: the type of the constant {self.constant!r} and of the "
                               f"input, {value.dtype}, do not match.")
        constant = self.constant if text else _cast(self.constant, value.dtype)
        return np.asarray(self._COMPARE[self.operator](value, constant)).astype(
            dtype_to_nptype(self.dtype))


class Slice(TensorOperation):
    """A part of each input.

    Args:
        *slices: for each dimension an int, a list of ints, a slice, or None or ... for all of this
            one dimension.

    Raises:
        TypeError: if one of `slices` is something else.
        RuntimeError: if an input has fewer dimensions, or no element at an index.

    Examples:
        >>> import numpy as np
        >>> from lamella.dataset import transforms
        >>> transforms.Slice([0, 2])(np.array([1, 2, 3]))
        array([1, 3])
    """

    def __init__(self, *slices: Any):
        for part in slices:
            ints = isinstance(part, list) and all(isinstance(i, int) for i in part)
            if not (part is None or part is Ellipsis or ints or isinstance(part, (int, slice))):
                raise TypeError(f"For 'Slice', each of 'slices' must be an int, a list of ints, a "
                                f"slice, None or ..., but got {part!r}.")
        self.slices = slices

    def transform(self, value: np.ndarray) -> np.ndarray:
        """The part."""
        if len(self.slices) > max(1, value.ndim):
            raise RuntimeError(f"Slice: there are {len(self.slices)} slices, but the input has "
                               f"{value.ndim} dimensions.")
        for axis, part in enumerate(self.slices):
            if part is Ellipsis:
                continue
            if isinstance(part, slice) and value.ndim:
                value = value[(slice(None),) * axis + (part,)]
            elif isinstance(part, slice):
                raise RuntimeError(f"Slice: the input has rank 0, of which there is no {part}.")
            elif part is not None and not isinstance(part, bool):
                value = self._picked(value, [part] if isinstance(part, int) else part, axis)
        return value

    @staticmethod
    def _picked(value: np.ndarray, indices: list[int], axis: int) -> np.ndarray:
        length = value.shape[axis] if value.ndim else 1  # of a scalar, which counts as a list of it
        outside = [i for i in indices if not -length <= i < length]
        if outside:
            raise RuntimeError(f"Slice: each index must be in [{-length}, {length}) in dimension "
                               f"{axis}, but got {outside[0]}.")
        return np.take(value, indices, axis)


class PadEnd(TensorOperation):
    """Pad at the end, or truncate, to a shape.

    Args:
        pad_shape: the shape; None: the size of the input.
        pad_value: what to pad with; default: 0, or the empty string.
    """

    def __init__(self, pad_shape: list[int | None], pad_value: Any = None):
        of_type(pad_shape, list, "pad_shape", "PadEnd")
        for size in pad_shape:
            if size is not None and (isinstance(size, bool) or not isinstance(size, int)):
                raise TypeError(f"a value in the list is not an integer. For 'PadEnd', "
                                f"'pad_shape' must have ints or None, but got "
                                f"{size!r}.")
            if size is not None and size <= 0:
                raise ValueError("Input is not within the required interval of [1, "
                                 f"9223372036854775807]. For 'PadEnd', sizes must be positive, "
                                 f"but got {size}.")
        self.pad_shape, self.pad_value = pad_shape, pad_value

    def transform(self, value: np.ndarray) -> np.ndarray:
        """The padded array."""
        if len(self.pad_shape) != value.ndim:
            raise RuntimeError(f"PadEnd: 'pad_shape' has {len(self.pad_shape)} dimensions, but the "
                               f"input has {value.ndim}.")
        text = value.dtype.kind in "US"
        if self.pad_value is not None and text is not isinstance(self.pad_value, (str, bytes)):
            raise RuntimeError(f"PadEnd: can not pad numeric and string tensors together, but got: "
                               f"{self.pad_value!r} and {value.dtype}.")
        shape = [old if new is None else new
                 for old, new in zip(value.shape, self.pad_shape, strict=True)]
        kind = value.dtype
        if text and self.pad_value is not None:
            kind = np.result_type(value, np.asarray(self.pad_value))
        if self.pad_value is None:
            out = np.zeros(shape, kind)
        else:
            out = np.full(shape, self.pad_value if text else _cast(self.pad_value, kind), kind)
        place = tuple(slice(min(a, b)) for a, b in zip(value.shape, shape, strict=True))
        out[place] = value[place]
        return out


class Concatenate(TensorOperation):
    """Concatenate the columns, with arrays before and after.

    Args:
        axis: 0 or -1.
        prepend, append: arrays of one dimension.
    """

    def __init__(self, axis: int = 0, prepend: np.ndarray | None = None,
                 append: np.ndarray | None = None):
        integer("Concatenate", "axis", axis)
        for name, value in (("prepend", prepend), ("append", append)):
            if value is not None and value.ndim != 1:
                raise ValueError(f"can only {name} 1D arrays. For 'Concatenate', '{name}' must "
                                 f"have one dimension, but has {value.ndim}.")
        self.axis, self.prepend, self.append = axis, prepend, append

    def run(self, values: Values, streams: Streams) -> Values:
        """One column."""
        parts = [part for part in (self.prepend, *values, self.append) if part is not None]
        if any(part.ndim != 1 for part in parts):
            raise RuntimeError("Concatenate: only 1D input supported.")
        if len({part.dtype.kind if part.dtype.kind in "US" else part.dtype
                for part in parts}) != 1:
            raise RuntimeError(f"Concatenate: the types differ: {[p.dtype for p in parts]}.")
        return (np.concatenate(parts),)


class Duplicate(TensorOperation):
    """Duplicate a column.

    Examples:
        >>> import numpy as np
        >>> import lamella.dataset.transforms as transforms
        >>> transforms.Duplicate()(np.array([1, 2]))
        (array([1, 2]), array([1, 2]))
    """

    def run(self, values: Values, streams: Streams) -> Values:
        """The column twice."""
        if len(values) != 1:
            raise RuntimeError(f"Duplicate: only one column is expected, but got {len(values)}.")
        return (values[0], values[0].copy())


class Unique(TensorOperation):
    """The unique elements in order of occurrence, the index of each input element, the counts."""

    def run(self, values: Values, streams: Streams) -> Values:
        """Three columns."""
        if len(values) != 1:
            raise RuntimeError(f"Unique: only one column is expected, but got {len(values)}.")
        flat = values[0].reshape(-1)
        if flat.dtype.kind not in "iuf":
            raise RuntimeError(f"Unique: the input must be numbers, but got {flat.dtype}.")
        found, first, places, counts = np.unique(flat, return_index=True, return_inverse=True,
                                                 return_counts=True)
        order = np.argsort(first, kind="stable")
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order))
        return found[order], rank[places].astype(np.int32), counts[order].astype(np.int32)


class Plugin(TensorOperation):
    """An operation of a shared library of MindSpore's plugin interface, which isn't supported.

    Raises:
        RuntimeError: always.
    """

    def __init__(self, lib_path: str, func_name: str, user_args: str | None = None):
        raise in_pipeline(f"Plugin: {lib_path!r} can't be loaded: libraries built for MindSpore's "
                          f"plugin interface are not supported. Use a function of Python's.")


__all__ = ["Compose", "CompoundOperation", "Concatenate", "Duplicate", "Fill", "Mask", "OneHot",
           "PadEnd", "Plugin", "PyTensorOperation", "RandomApply", "RandomChoice", "RandomOrder",
           "Relational", "Slice", "TensorOperation", "TypeCast", "Unique", "not_random"]
