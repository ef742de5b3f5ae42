"""A helper of MindSpore's `scipy.utils` that programs import."""

from __future__ import annotations

from ..tensors.tensor import Tensor, wrap

__all__ = ["_nd_transpose"]


def _nd_transpose(a: Tensor) -> Tensor:
    """The matrices in the last two dimensions, transposed.

    Raises:
        ValueError: if there are less than 2 dimensions.

    Examples:
        >>> import lamella as ms
        >>> _nd_transpose(ms.ops.ones((2, 3, 4))).shape
        (2, 4, 3)
    """
    if a.ndim < 2:
        raise ValueError(f"For '_nd_transpose', 'a' must have 2 dimensions or more, but got shape "
                         f"{a.shape}.")
    return wrap(a._raw.mT)
