"""The base of initializers, and those without random numbers: constants, identity."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ..core import dtype as mstype
from ..core.errors import KERNEL_ERRORS, explain_construction, op_error

__all__ = ["Constant", "Dirac", "Identity", "Initializer", "One", "Zero"]

_INITIALIZER_ALIAS: dict[str, type[Initializer]] = {}
_WIDE = (torch.float32, torch.float64)  # the types that are drawn in; others are converted to


@explain_construction
class Initializer:
    """Fills new data; the base of every initializer.

    A subclass overrides `_initialize(arr)`, which changes a NumPy array of the right shape and type
    in place. (bfloat16, which NumPy lacks, is filled as float32.)

    Args:
        **kwargs: kept for subclasses that want to show their options.

    Examples:
        >>> import numpy as np
        >>> import lamella as ms
        >>> from lamella.common.initializer import Initializer, initializer
        >>> class Ramp(Initializer):
        ...     def _initialize(self, arr):
        ...         arr[:] = np.linspace(0, 1, arr.size).reshape(arr.shape)
        >>> print(initializer(Ramp(), (3,), ms.float32).init_data())
        [0.  0.5 1. ]
    """

    def __init_subclass__(cls, **given: Any) -> None:
        """Let errors about the arguments of Lamella's own initializers name them."""
        super().__init_subclass__(**given)
        explain_construction(cls)

    def __init__(self, **kwargs: Any):
        self._kwargs = kwargs

    def _initialize(self, arr: np.ndarray) -> Any:
        raise NotImplementedError(f"For 'Initializer', {type(self).__name__} must override "
                                  "'_initialize(self, arr)', which fills the array 'arr' in place.")

    def __call__(self, arr: np.ndarray) -> Any:
        return self._initialize(arr)

    def make(self, shape: Sequence[int], raw_dtype: torch.dtype) -> torch.Tensor:
        """New data of a shape and a type, on the CPU."""
        known = mstype.from_raw[raw_dtype]
        arr = np.zeros(tuple(shape), mstype.dtype_to_nptype(known))
        self(arr)
        return torch.from_numpy(arr).to(raw_dtype, copy=True)  # a subclass may have kept `arr`


class _Kernel(Initializer):
    """An initializer whose `_fill` works on a torch tensor of float32 or float64."""

    def _explained_fill(self, raw: torch.Tensor) -> None:
        """Run `_fill`, whose errors about the options name them."""
        try:
            self._fill(raw)
        except KERNEL_ERRORS as error:
            explained = op_error(type(self).__name__, error, **self._kwargs)
            if explained is error:
                raise
            raise explained from error

    def _fill(self, raw: torch.Tensor) -> None:
        raise NotImplementedError

    def _initialize(self, arr: np.ndarray) -> None:
        kind = torch.float64 if arr.dtype == np.float64 else torch.float32
        raw = torch.empty(arr.shape, dtype=kind)
        self._explained_fill(raw)
        _assignment(arr, raw.numpy())

    def make(self, shape: Sequence[int], raw_dtype: torch.dtype) -> torch.Tensor:
        kind = type(self)
        if kind._initialize is not _Kernel._initialize or kind.__call__ is not Initializer.__call__:
            return super().make(shape, raw_dtype)  # a subclass has rules of its own
        raw = torch.empty(tuple(shape), dtype=raw_dtype if raw_dtype in _WIDE else torch.float32)
        self._explained_fill(raw)
        return raw.to(raw_dtype)


def _register(*aliases: str) -> Callable[[type], type]:
    """Let `initializer` find a class by its name in small letters, and by `aliases`."""

    def register(cls: type) -> type:
        for name in (cls.__name__.lower(), *aliases):
            _INITIALIZER_ALIAS.setdefault(name, cls)
        return cls

    return register


def _assignment(arr: np.ndarray, num: Any) -> np.ndarray:
    """Copy numbers into an array, in place, converting them to its type."""
    arr[...] = num
    return arr


@_register("zeros")
class Zero(_Kernel):
    """All zeros.

    Examples:
        >>> from lamella.common.initializer import initializer
        >>> print(initializer("zeros", (2,)).init_data())
        [0. 0.]
    """

    def _fill(self, raw: torch.Tensor) -> None:
        raw.zero_()


@_register("ones")
class One(_Kernel):
    """All ones.

    Examples:
        >>> from lamella.common.initializer import initializer
        >>> print(initializer("ones", (2,)).init_data())
        [1. 1.]
    """

    def _fill(self, raw: torch.Tensor) -> None:
        raw.fill_(1)


class Constant(Initializer):
    """A given value.

    Args:
        value: a number, or an array that is stretched to the shape.

    Examples:
        >>> from lamella.common.initializer import Constant, initializer
        >>> print(initializer(Constant(3), (2,)).init_data())
        [3. 3.]
    """

    def __init__(self, value: Any):
        super().__init__(value=value)
        self.value = value

    def _initialize(self, arr: np.ndarray) -> None:
        if not isinstance(self.value, (numbers.Number, np.ndarray, list, tuple, np.generic)):
            raise TypeError(f"For 'Constant', 'value' must be a number or an array, but got "
                            f"{self.value!r} of type {type(self.value).__name__}.")
        _assignment(arr, self.value)


@_register()
class Identity(_Kernel):
    """The identity matrix; ones on the main diagonal of any matrix.

    Raises:
        ValueError: if the shape is not that of a matrix.

    Examples:
        >>> from lamella.common.initializer import initializer
        >>> print(initializer("identity", (2, 3)).init_data())
        [[1. 0. 0.]
         [0. 1. 0.]]
    """

    def _fill(self, raw: torch.Tensor) -> None:
        check_matrix("Identity", raw)
        raw.zero_().fill_diagonal_(1)


@_register()
class Dirac(_Kernel):
    """The kernel of a convolution that passes its input on, as far as the channels go.

    Args:
        groups: into how many groups the output channels fall, each of which passes the input on.

    Raises:
        ValueError: if the shape has not 3, 4 or 5 dimensions, or `groups` doesn't divide the first.

    Examples:
        >>> from lamella.common.initializer import Dirac, initializer
        >>> print(initializer(Dirac(), (1, 1, 3)).init_data())
        [[[0. 1. 0.]]]
    """

    def __init__(self, groups: int = 1):
        super().__init__(groups=groups)
        self.groups = groups

    def _fill(self, raw: torch.Tensor) -> None:
        if raw.dim() not in (3, 4, 5):
            raise ValueError("For 'Dirac', the shape must have 3, 4 or 5 dimensions, "
                             f"but got {tuple(raw.shape)}.")
        if raw.shape[0] % self.groups:
            raise ValueError(f"For 'Dirac', 'groups' must divide the first dimension, "
                             f"but got groups={self.groups} and shape {tuple(raw.shape)}.")
        raw.zero_()
        middle = tuple(n // 2 for n in raw.shape[2:])
        each = raw.shape[0] // self.groups
        for group in range(self.groups):
            for channel in range(min(each, raw.shape[1])):
                raw[(group * each + channel, channel, *middle)] = 1


def check_matrix(name: str, raw: torch.Tensor) -> None:
    """Refuse data that has not 2 dimensions."""
    if raw.dim() != 2:
        raise ValueError(f"For '{name}', the shape must have 2 dimensions, "
                         f"but got {tuple(raw.shape)}.")
