"""Decorators of MindSpore's that mark code for its compiler; here most have no effect."""

from __future__ import annotations

import functools
import gc
import inspect
from collections.abc import Callable
from typing import Any

from ...core import context
from ...device import kinds
from ...nn.cell_tree import CellTree
from ...tensors.tensor import Tensor
from ..runtime.compiled import Compiled
from .config import declared, declared_arguments, varies


def jit_class(cls: type) -> type:
    """Mark a class whose objects are used inside compiled functions; any class may be.

    Raises:
        TypeError: if `cls` is no class, or a Cell class.

    Examples:
        >>> import lamella as ms
        >>> @ms.jit_class
        ... class Scale:
        ...     factor = 2
        ...     def __call__(self, x):
        ...         return x * self.factor
        >>> print(ms.jit(lambda x: Scale()(x))(ms.Tensor(3.0)))
        6.0
    """
    if not inspect.isclass(cls):
        raise TypeError(f"For 'jit_class', a class must be given, but got {cls!r}.")
    if issubclass(cls, CellTree):
        raise TypeError(f"For 'jit_class', the class must be no Cell, but got {cls.__name__}.")
    cls.__ms_class__ = True  # type: ignore[attr-defined]
    return cls


def no_inline(fn: Callable[..., Any] | None = None) -> Any:
    """Mark a function that MindSpore keeps as a graph of its own; no effect here.

    Examples:
        >>> import lamella as ms
        >>> @ms.no_inline
        ... def triple(x):
        ...     return x * 3
        >>> print(triple(ms.Tensor(2.0)))
        6.0
    """
    if fn is None:
        return no_inline
    fn.no_inline = True  # type: ignore[attr-defined]
    return fn


def lazy_inline(fn: Callable[..., Any] | None = None, attrs: Any = None,
                policy: str | None = None) -> Any:
    """Mark a Cell, by its ``__init__``, as one whose graph is used many times.

    Args:
        fn: the ``__init__``.
        attrs: the attributes that tell such Cells apart, a name or a list of names; default: the
            arguments of ``__init__``. They are put into the attribute ``cell_init_args``.
        policy: None or ``"front"``.

    Raises:
        ValueError: if `fn` is no ``__init__``, or an argument has another value.

    Examples:
        >>> import lamella as ms
        >>> class Block(ms.nn.Cell):
        ...     @ms.lazy_inline
        ...     def __init__(self, size):
        ...         super().__init__()
        ...         self.size = size
        >>> Block(3).cell_init_args
        'lazy_inline_Block[3]'
    """
    if fn is None:
        return lambda given: lazy_inline(given, attrs, policy)
    if inspect.isclass(fn) or getattr(fn, "__name__", "") != "__init__":
        raise ValueError(f"For 'lazy_inline', the __init__ of a Cell must be decorated, "
                         f"but got {getattr(fn, '__qualname__', fn)!r}.")
    if policy not in (None, "front"):
        raise ValueError(f"For 'lazy_inline', 'policy' must be None or 'front', "
                         f"but got {policy!r}.")
    names = [attrs] if isinstance(attrs, str) else attrs
    if names is not None and not (isinstance(names, (list, tuple))
                                  and all(isinstance(name, str) for name in names)):
        raise ValueError(f"For 'lazy_inline', 'attrs' must be a name or a list of names, "
                         f"but got {attrs!r}.")
    signature = inspect.signature(fn)

    @functools.wraps(fn)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        fn(self, *args, **kwargs)
        if policy == "front":
            self.no_inline = False
        if names is None:
            values = list(signature.bind(self, *args, **kwargs).arguments.values())[1:]
        else:
            values = [getattr(self, name) for name in names if hasattr(self, name)]
        self.cell_init_args = f"lazy_inline_{type(self).__name__}{values}"

    return init


def enable_dynamic(**kwargs: Any) -> Callable[[Any], Any]:
    """Declare which dimensions of a compiled function's arguments vary.

    Args:
        **kwargs: by argument name, Tensors made by ``Tensor(shape=[None, 3], dtype=...)``, or
            tuples or lists of them.

    Returns:
        A decorator of a function decorated with `jit`.

    Raises:
        ValueError: if nothing is declared, or for an argument that the function doesn't have.
        TypeError: if a declared argument has no dimension that varies.

    Examples:
        >>> import lamella as ms
        >>> @ms.enable_dynamic(x=ms.Tensor(shape=[None, 2], dtype=ms.float32))
        ... @ms.jit
        ... def total(x):
        ...     return x.sum()
        >>> print(total(ms.ops.ones((3, 2))), total(ms.ops.ones((4, 2))))
        6.0 8.0
    """
    if not kwargs:
        raise ValueError("For 'enable_dynamic', at least one argument must be declared.")
    for name, given in kwargs.items():
        if not isinstance(given, (Tensor, tuple, list)) or not varies(declared(given)):
            raise TypeError(f"For 'enable_dynamic', '{name}' must be a Tensor with None for a "
                            f"dimension, or hold such, but got {given!r}.")

    def decorate(fn: Any) -> Any:
        plain = fn.fn if isinstance(fn, Compiled) else fn
        if not callable(plain):
            raise ValueError(f"For 'enable_dynamic', a function decorated with jit must be given, "
                             f"but got {fn!r}.")
        signatures = declared_arguments(plain, (), kwargs, "enable_dynamic")
        if isinstance(fn, Compiled):
            fn.dynamic = signatures
        else:
            fn.__lamella_dynamic__ = signatures
        return fn

    return decorate


def ms_memory_recycle() -> None:
    """Give memory that is not in use back to the device.

    Examples:
        >>> import lamella as ms
        >>> ms.ms_memory_recycle()
    """
    gc.collect()
    kinds.call(context.current_device(), "empty_cache")
