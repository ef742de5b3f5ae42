"""Arrays as sets of values."""

from __future__ import annotations

from typing import Any

import torch

from .. import ops
from ..core.errors import op
from ..core.require import of_type
from ..tensors.tensor import Tensor, wrap
from .types import as_tensor, as_tensors, together

__all__ = ["in1d", "intersect1d", "isin", "setdiff1d", "unique"]


@op
def unique(x: Any, return_inverse: bool = False) -> Any:
    """The values of an array, each once, in the order of `ops.unique`.

    Args:
        x: any shape; flattened.
        return_inverse: whether the index of each element among the values is returned too.

    Returns:
        Tensor, or (values, indices).
    """
    values, indices = ops.unique(ops.ravel(as_tensor(x, "unique")))
    return (values, indices) if return_inverse else values


@op
def in1d(ar1: Any, ar2: Any, invert: bool = False) -> Tensor:
    """Whether each element of the flattened `ar1` comes in `ar2`; with `invert` whether it doesn't.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.in1d([0, 1, 2, 5], [0, 2]))
        [ True False  True False]
    """
    return isin(ops.ravel(as_tensor(ar1, "in1d", "ar1")), ar2, invert)


@op
def isin(element: Any, test_elements: Any, invert: bool = False) -> Tensor:
    """Whether each element comes in `test_elements`; with `invert` whether it doesn't.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.isin([[0, 2], [4, 6]], [1, 2, 4, 8]))
        [[False  True]
         [ True False]]
    """
    a, b = together(*as_tensors("isin", element=element, test_elements=test_elements))
    return wrap(_member(a._raw, b._raw, invert))


def _member(a: torch.Tensor, b: torch.Tensor, invert: bool = False) -> torch.Tensor:
    if a.dtype in (torch.bool, torch.uint16, torch.uint32):
        a, b = a.long(), b.long()
    return torch.isin(a, b.reshape(-1), invert=bool(invert))


def _check_flags(where: str, **flags: Any) -> None:
    for name, value in flags.items():
        of_type(value, bool, name, where)


@op
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    """The values of `ar1` that don't come in `ar2`, each once and sorted.

    Args:
        ar1: any shape; flattened.
        ar2: any shape.
        assume_unique: whether `ar1` is known to have each value once; then its order stays.

    Raises:
        TypeError: if `assume_unique` is no bool.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.setdiff1d([1, 2, 3, 2, 4, 1], [3, 4, 5, 6]))
        [1 2]
    """
    _check_flags("setdiff1d", assume_unique=assume_unique)
    a, b = as_tensors("setdiff1d", ar1=ar1, ar2=ar2)
    flat = a._raw.reshape(-1)
    flat = flat if assume_unique else torch.unique(flat)
    x, y = together(wrap(flat), b)
    return wrap(flat[_member(x._raw, y._raw, True)])


@op
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False,
                return_indices: bool = False) -> Any:
    """The values that come in both arrays, each once and sorted.

    Args:
        ar1: any shape; flattened.
        ar2: any shape; flattened.
        assume_unique: whether both are known to have each value once.
        return_indices: whether the first indices of the values in both arrays are returned too.

    Returns:
        Tensor, or (values, indices in `ar1`, indices in `ar2`), the indices in int32.

    Raises:
        TypeError: if `assume_unique` or `return_indices` is no bool.

    Examples:
        >>> import lamella.numpy as np
        >>> print(*np.intersect1d([1, 1, 2, 3, 4], [2, 1, 4, 6], return_indices=True))
        [1 2 4] [0 2 4] [1 0 2]
    """
    _check_flags("intersect1d", assume_unique=assume_unique, return_indices=return_indices)
    a, b = together(*as_tensors("intersect1d", ar1=ar1, ar2=ar2))
    x, y = a._raw.reshape(-1), b._raw.reshape(-1)
    values = torch.unique(x)
    values = values[_member(values, torch.unique(y))]
    if not return_indices:
        return wrap(values)
    return wrap(values), _first_positions(x, values), _first_positions(y, values)


def _first_positions(among: torch.Tensor, values: torch.Tensor) -> Tensor:
    found, order = torch.sort(among, stable=True)
    return wrap(order[torch.searchsorted(found, values)].int())
