"""`cell_attr_register`, which programs import from ``mindspore._extends``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["cell_attr_register"]


def cell_attr_register(fn: Callable[..., Any] | None = None,
                       attrs: str | list[str] | None = None) -> Callable[..., Any]:
    """Decorate a Cell's ``__init__``: what it was given is kept, as text, in `cell_init_args`.

    Args:
        fn: the ``__init__``; None where the decorator is given arguments.
        attrs: the name of an attribute, or a list of names, to keep instead of the arguments.

    Raises:
        ValueError: if `attrs` is neither.

    Examples:
        >>> import lamella as ms
        >>> class Scale(ms.nn.Cell):
        ...     @cell_attr_register
        ...     def __init__(self, factor):
        ...         super().__init__()
        >>> Scale(3).cell_init_args
        'Scale[3]'
    """
    names = [attrs] if isinstance(attrs, str) else attrs
    if names is not None and not (isinstance(names, list)
                                  and all(isinstance(name, str) for name in names)):
        raise ValueError(f"For 'cell_attr_register', 'attrs' must be a str or a list of str, "
                         f"but got {attrs!r}.")

    def decorated(init: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(init)

        @functools.wraps(init)
        def call(self: Any, *args: Any, **kwargs: Any) -> None:
            given = list(signature.bind(self, *args, **kwargs).arguments.values())[1:]
            init(self, *args, **kwargs)
            if names is not None:
                given = [getattr(self, name) for name in names if hasattr(self, name)]
            self.cell_init_args = f"{type(self).__name__}{given}"

        return call

    return decorated if fn is None else decorated(fn)
