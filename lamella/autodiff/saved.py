"""Hooks on the tensors that the tape saves for the backward pass."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from ..tensors.tensor import Tensor, wrap


class saved_tensors_hooks(torch.autograd.graph.saved_tensors_hooks):  # noqa: N801
    """A block inside which tensors that the tape saves pass through the hooks.

    Args:
        pack_hook: takes each Tensor when it is saved, and returns any object instead.
        unpack_hook: takes that when the backward pass needs it, and returns the Tensor to use.

    Raises:
        TypeError: if one is no function, or `unpack_hook` returns no Tensor.

    Examples:
        >>> import lamella as ms
        >>> def f(x, y):
        ...     with ms.saved_tensors_hooks(lambda t: t + 1, lambda t: t):
        ...         return x * y
        >>> print(ms.grad(f)(ms.Tensor(2.0), ms.Tensor(3.0)))
        4.0
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]):
        for name, hook in (("pack_hook", pack_hook), ("unpack_hook", unpack_hook)):
            if not callable(hook):
                raise TypeError(f"For 'saved_tensors_hooks', '{name}' must be a function, "
                                f"but got {type(hook).__name__}.")

        def unpack(packed: Any) -> torch.Tensor:
            tensor = unpack_hook(packed)
            if not isinstance(tensor, Tensor):
                raise TypeError(f"For 'saved_tensors_hooks', 'unpack_hook' must return a Tensor, "
                                f"but it returned {type(tensor).__name__}.")
            return tensor._raw

        super().__init__(lambda raw: pack_hook(wrap(raw.detach())), unpack)


def register_saved_tensors_hooks(pack_hook: Callable[[Tensor], Any],
                                 unpack_hook: Callable[[Any], Tensor]) -> Callable[..., Any]:
    """A decorator: the function runs inside `saved_tensors_hooks` of these two functions."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with saved_tensors_hooks(pack_hook, unpack_hook):
                return function(*args, **kwargs)

        return call

    return decorate
