"""Where no gradient flows: `stop_gradient` and `_no_grad`."""

from __future__ import annotations

from typing import Any

import torch

from ..tensor import Tensor, wrap
from .tree import map_tensors, tensors


def stop_gradient(value: Any) -> Any:
    """The same value, through which no gradient flows back.

    Args:
        value: a Tensor, or a tuple, list or dict that holds Tensors.

    Raises:
        TypeError: if it holds no Tensor.

    Examples:
        >>> import lamella as ms
        >>> print(ms.grad(lambda x: x * ms.ops.stop_gradient(x))(ms.Tensor(3.0)))
        3.0
    """
    if isinstance(value, Tensor):
        return wrap(value._raw.detach())
    if next(tensors(value), None) is None and not isinstance(value, (tuple, list, dict)):
        raise TypeError(f"For 'stop_gradient', the input must be a Tensor or hold Tensors, "
                        f"but got {type(value).__name__}.")
    return map_tensors(lambda t: wrap(t._raw.detach()), value)


class no_grad(torch.no_grad):  # noqa: N801
    """A block, or as a decorator a function, inside which nothing is recorded.

    Examples:
        >>> import lamella as ms
        >>> def f(x):
        ...     with ms._no_grad():
        ...         y = x * x
        ...     return x + y
        >>> print(ms.grad(f)(ms.Tensor(3.0)))
        1.0
    """


class enable_grad(torch.enable_grad):  # noqa: N801
    """A block inside which operations are recorded again, within `_no_grad`."""
