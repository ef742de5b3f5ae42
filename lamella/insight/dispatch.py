"""`MsDispatchMode`: a block in which the program sees, and may replace, every operator."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_map

from ..core.dispatch_mode import DispatchMode
from ..tensors.tensor import Tensor, wrap

__all__ = ["MsDispatchMode", "OpFunc"]

# PyTorch's names of kernels whose names in MindSpore aren't the same words
_NAMES = {
    "add": "AddExt", "sub": "SubExt", "rsub": "SubExt", "floor_divide": "FloorDiv",
    "mm": "MatMulExt", "bmm": "BatchMatMul", "addmm": "Addmm", "relu": "ReLU", "sum": "SumExt",
    "mean": "MeanExt", "max": "Max", "min": "Min", "amax": "ReduceMax", "amin": "ReduceMin",
    "_softmax": "Softmax", "_log_softmax": "LogSoftmax", "view": "Reshape",
    "_unsafe_view": "Reshape", "reshape": "Reshape", "permute": "Transpose", "t": "Transpose",
    "transpose": "Transpose", "cat": "Concat", "stack": "Stack", "gt": "Greater", "lt": "Less",
    "ge": "GreaterEqual", "le": "LessEqual", "eq": "Equal", "ne": "NotEqual", "_to_copy": "Cast",
    "where": "Select", "clamp": "ClampTensor", "index_select": "IndexSelect",
    "expand": "BroadcastTo", "repeat": "Tile", "fill": "Fill", "zeros_like": "ZerosLike",
    "ones_like": "OnesLike", "native_layer_norm": "LayerNormExt", "convolution": "Convolution",
    "native_batch_norm": "BatchNormExt", "gelu": "GeLU", "silu": "SiLU", "select": "SelectView",
    "constant_pad_nd": "ConstantPadND",
}
# what only looks at a tensor, or hands it on
_SILENT = frozenset(("detach", "alias", "lift_fresh", "lift", "_local_scalar_dense", "is_same_size",
                     "sym_size", "sym_stride", "sym_numel", "sym_storage_offset", "set_"))


class _Thread(threading.local):
    handling = False  # whether a `__ms_dispatch__` is running: outer blocks see nothing then


_thread = _Thread()


def _name(kernel: Any, args: tuple[Any, ...]) -> str:
    """What MindSpore calls a kernel, or its own words in that form."""
    words = kernel.overloadpacket.__name__
    place = "Inplace" if words.endswith("_") else ""
    words = words.rstrip("_")
    if words == "mul" and not all(isinstance(arg, torch.Tensor) for arg in args):
        return f"{place}Muls"
    own = "".join(word[:1].upper() + word[1:] for word in words.split("_"))
    return place + _NAMES.get(words, own)


def _shown(value: Any) -> Any:
    return wrap(value) if isinstance(value, torch.Tensor) else value


def _hidden(value: Any) -> Any:
    return value._raw if isinstance(value, Tensor) else value


class OpFunc:
    """An operator that is about to run.

    Attributes:
        name: what MindSpore calls it.
    """

    def __init__(self, kernel: Any, args: tuple[Any, ...]):
        self._kernel = kernel
        self.name = _name(kernel, args)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it; a block around sees nothing of it."""
        return tree_map(_shown, self._kernel(*tree_map(_hidden, args),
                                             **tree_map(_hidden, kwargs)))

    def __repr__(self) -> str:
        return f"<OpFunc {self.name}>"


class _Kernels(DispatchMode):
    """Hands each kernel to the method of a `MsDispatchMode`."""

    def __init__(self, mode: MsDispatchMode):
        super().__init__()
        self.mode = mode

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        if _thread.handling or func.overloadpacket.__name__ in _SILENT:
            return func(*args, **kwargs)
        _thread.handling = True
        try:
            operator = OpFunc(func, args)
            out = self.mode.__ms_dispatch__(operator, tree_map(_shown, tuple(args)),
                                            tree_map(_shown, kwargs) or None)
        except TypeError as error:  # which Python's ``+`` would take for: no such operator
            raise RuntimeError(f"For '{type(self.mode).__name__}', '__ms_dispatch__' failed for "
                               f"{func}: {error}") from error
        finally:
            _thread.handling = False
        return _returned(operator, func, out)


def _returned(operator: OpFunc, kernel: Any, out: Any) -> Any:
    """What `__ms_dispatch__` gave, if it is of the kernel's form."""
    many = len(kernel._schema.returns)
    if many == 1 and str(kernel._schema.returns[0].type) == "Tensor":
        fits = isinstance(out, Tensor)
    else:
        fits = many <= 1 or isinstance(out, (tuple, list)) and len(out) == many
    if not fits:
        raise RuntimeError(f"For '__ms_dispatch__', what it returns for {operator.name} must be of "
                           f"the form that 'func(*args)' gives, but got {out!r} of type "
                           f"{type(out).__name__}.")
    return tree_map(_hidden, out)


class MsDispatchMode:
    """A block in which every operator is handed to a method, in gradients too.

    A subclass defines ``__ms_dispatch__(self, func, args, kwargs=None)``, which returns what the
    operator is to give: ``func(*args)``, or another Tensor of its shape and type. ``func.name`` is
    the operator's name; where Lamella computes with another kernel, that kernel's. Of blocks
    inside of each other the innermost counts. It is a decorator, too.

    What a compiled function replays is one piece, which isn't taken apart.

    Raises:
        TypeError: if ``__ms_dispatch__`` doesn't take (func, args, kwargs).
        RuntimeError: if it gives something of another form, or raises a TypeError.

    Examples:
        >>> import lamella as ms
        >>> class Named(ms.MsDispatchMode):
        ...     def __ms_dispatch__(self, func, args, kwargs=None):
        ...         print(func.name)
        ...         return func(*args, **kwargs or {})
        >>> x = ms.Tensor([1.0, -2.0])
        >>> with Named():
        ...     y = x.abs() + x
        Abs
        AddExt
    """

    def __init__(self):
        self._entered: list[_Kernels] = []

    def __ms_dispatch__(self, func: OpFunc, args: tuple, kwargs: dict[str, Any] | None = None
                        ) -> Any:
        return func(*args, **kwargs or {})

    def __enter__(self) -> MsDispatchMode:
        try:
            inspect.signature(self.__ms_dispatch__).bind(None, (), None)
        except TypeError as error:
            raise TypeError(f"For '{type(self).__name__}', '__ms_dispatch__' must take (func, "
                            f"args, kwargs=None): {error}.") from None
        kernels = _Kernels(self)
        if not hasattr(self, "_entered"):  # a subclass with an __init__ of its own
            self._entered = []
        self._entered.append(kernels)
        kernels.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._entered.pop().__exit__(*error)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, which runs in such a block."""
        @functools.wraps(function)
        def within(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return within
