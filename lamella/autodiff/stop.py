"""Stopping gradients: `stop_gradient` and `_no_grad`."""

from __future__ import annotations

from typing import Any

import torch

from ..core.primitive import primitive
from ..tensors.tensor import Tensor, wrap
from .tree import map_tensors


def stop_gradient(value: Any) -> Any:
    """The same value, through which no gradient flows back.

    Args:
        value: a Tensor, a tuple, list or dict that holds Tensors, or anything else, which comes
            back as it is.

    Examples:
        >>> import lamella as ms
        >>> print(ms.grad(lambda x: x * ms.ops.stop_gradient(x))(ms.Tensor(3.0)))
        3.0
    """
    if isinstance(value, Tensor):
        return wrap(value._raw.detach())
    return map_tensors(lambda t: wrap(t._raw.detach()), value)


def stop_gradient_(input: Tensor) -> Tensor:
    """Cut a Tensor from what it was computed from, in place; returns the Tensor.

    Raises:
        TypeError: if `input` is not a Tensor.

    Examples:
        >>> import lamella as ms
        >>> def f(x):
        ...     y = x * x
        ...     ms.ops.stop_gradient_(y)
        ...     return x + y
        >>> print(ms.grad(f)(ms.Tensor(3.0)))
        1.0
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"For 'stop_gradient_', the input must be a Tensor, "
                        f"but got {type(input).__name__}.")
    input._raw = input._raw.detach()
    return input


StopGradient = primitive("StopGradient", stop_gradient)


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

    def __enter__(self) -> None:
        super().__enter__()
        self.forward = torch._C._is_fwd_grad_enabled()
        torch._C._set_fwd_grad_enabled(False)

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        torch._C._set_fwd_grad_enabled(self.forward)


class enable_grad(torch.enable_grad):  # noqa: N801
    """A block inside which operations are recorded again, within `_no_grad`."""

    def __enter__(self) -> None:
        super().__enter__()
        self.forward = torch._C._is_fwd_grad_enabled()
        torch._C._set_fwd_grad_enabled(True)

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        torch._C._set_fwd_grad_enabled(self.forward)
