"""Operators of the program's own: Python functions with or without a gradient of their own."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from ..autodiff.custom import call_with_bprop
from ..core.errors import describe
from ..core.require import one_of
from ..tensors.tensor import Tensor
from .primitive import Primitive

__all__ = ["Custom", "Morph", "PyFunc", "custom_info_register", "kernel", "ms_kernel"]


class PyFunc(Primitive):
    """A Python function on NumPy arrays as an operator; it has no gradient.

    Args:
        fn: takes NumPy arrays, gives one or a tuple of them; where `in_shapes` says ``()``, it
            takes a number of Python's.
        in_types, in_shapes: of the inputs; the types are kept.
        out_types: the data types of the outputs.
        out_shapes: their shapes; kept.
        stateful: accepted as MindSpore does.

    Raises:
        TypeError: if `fn` is no function.

    Examples:
        >>> import lamella as ms
        >>> double = ms.ops.PyFunc(lambda x: x * 2, [ms.float32], [(2,)], [ms.float32], [(2,)])
        >>> print(double(ms.Tensor([1.0, 2.0]))[0])
        [2. 4.]
    """

    def __init__(self, fn: Callable[..., Any], in_types: Any, in_shapes: Any, out_types: Any,
                 out_shapes: Any, stateful: bool = True):
        super().__init__("PyFunc")
        if not callable(fn):
            raise TypeError(f"For 'PyFunc', 'fn' must be a function, but got {fn!r}.")
        self.fn = fn
        self.out_types = tuple(out_types)
        for name, value in (("in_types", in_types), ("in_shapes", in_shapes),
                            ("out_types", out_types), ("out_shapes", out_shapes)):
            self.add_prim_attr(name, value)

    def __call__(self, *args: Any) -> tuple[Tensor, ...]:
        shapes = [*self.in_shapes, *[None] * len(args)]
        out = self.fn(*[_as_declared(_array(a), shape)
                        for a, shape in builtins.zip(args, shapes)])  # noqa: B905
        results = out if isinstance(out, (tuple, list)) else (out,)
        return tuple([Tensor(np.asarray(r), t)
                      for r, t in builtins.zip(results, self.out_types)])  # noqa: B905


def _as_declared(value: Any, shape: Any) -> Any:
    """An array of one element as a number, if its declared shape is ``()``."""
    is_number = shape is not None and len(shape) == 0 and isinstance(value, np.ndarray)
    return value.item() if is_number and value.size == 1 else value


def _array(value: Any) -> Any:
    return value.asnumpy() if isinstance(value, Tensor) else value


class Ruled:
    """A function with a backward rule, as `Cell.bprop` has it."""

    def __init__(self, function: Callable[..., Any], rule: Callable[..., Any]):
        self.construct, self.bprop = function, rule

    def get_parameters(self) -> list[Any]:
        return []


class Custom(Primitive):
    """A Python function as an operator.

    Args:
        func: with ``"pyfunc"`` a function of NumPy arrays; with ``"hybrid"`` one of NumPy arrays
            too, which MindSpore would compile; decorated by `ops.kernel` or not.
        out_shape: the results' shape, several of them, or a function of the inputs' shapes; None:
            what `func` gives.
        out_dtype: the results' data type, several, or a function of the inputs' types; None: what
            `func` gives.
        func_type: ``"pyfunc"`` or ``"hybrid"``. Kernels in other languages (``"aot"``, ``"akg"``,
            ``"tbe"``, ``"aicpu"``, ``"julia"``) are MindSpore's alone.
        bprop: the gradients of the inputs, from the inputs, the result and its gradient.
        reg_info: accepted as MindSpore does.

    Inputs:
        - **input** - Tensors.

    Outputs:
        A Tensor or a tuple of them. Without `bprop` it has no gradient.

    Raises:
        TypeError: if `func` is no function.
        ValueError: if `func_type` is unknown, or what `func` gives has not the shape promised.
        NotImplementedError: if `func_type` names another language.

    Examples:
        >>> import lamella as ms
        >>> add = ms.ops.Custom(lambda a, b: a + b, out_shape=lambda a, b: a,
        ...                     out_dtype=lambda a, b: a, func_type="pyfunc")
        >>> print(add(ms.Tensor([1.0, 2.0]), ms.Tensor([3.0, 4.0])))
        [4. 6.]
    """

    def __init__(self, func: Any, out_shape: Any = None, out_dtype: Any = None,
                 func_type: str = "pyfunc", bprop: Callable[..., Any] | None = None,
                 reg_info: Any = None):
        super().__init__("Custom")
        one_of(func_type, ("hybrid", "akg", "tbe", "aicpu", "aot", "pyfunc", "julia"), "func_type",
               "Custom")
        if func_type not in ("pyfunc", "hybrid"):
            raise NotImplementedError(f"For 'Custom', 'func_type' {func_type!r} names kernels that "
                                      f"only MindSpore can load; give a Python function and "
                                      f"'pyfunc'.")
        if not callable(func):
            raise TypeError(f"For 'Custom', 'func' must be a function, but got {func!r}.")
        if bprop is not None and not callable(bprop):
            raise TypeError(f"For 'Custom', 'bprop' must be a function, but got {bprop!r}.")
        self.func, self.out_shape, self.out_dtype = func, out_shape, out_dtype
        self.bprop, self.reg_info = bprop, reg_info
        self.add_prim_attr("func_name", getattr(func, "__name__", type(func).__name__))
        self.add_prim_attr("func_type", func_type)
        self._ruled = None if bprop is None else Ruled(self._run, bprop)

    def __call__(self, *args: Any) -> Any:
        return self._run(*args) if self._ruled is None else call_with_bprop(self._ruled, args, {})

    def _run(self, *args: Any) -> Any:
        out = self.func(*[_array(a) for a in args])
        several = isinstance(out, (tuple, list))
        given = [np.asarray(r) for r in out] if several else [np.asarray(out)]
        shapes = self._promised(self.out_shape, [getattr(a, "shape", ()) for a in args],
                                len(given) if several else None)
        types = self._promised(self.out_dtype, [getattr(a, "dtype", None) for a in args],
                               len(given) if several else None)
        found = []
        for array, shape, kind in builtins.zip(given, shapes, types, strict=True):
            if shape is not None and tuple(shape) != array.shape:
                raise ValueError(f"For 'Custom', '{self.func_name}' must give an array of shape "
                                 f"{tuple(shape)}, as 'out_shape' says, but it gave one of shape "
                                 f"{array.shape} for {[describe(a) for a in args]}.")
            found.append(Tensor(array) if kind is None else Tensor(array, kind))
        return tuple(found) if several else found[0]

    def _promised(self, promise: Any, inputs: list[Any], count: int | None) -> list[Any]:
        """What the results' shapes or types are to be, one for each; None where nothing is said."""
        if promise is None:
            return [None] * (count or 1)
        if callable(promise) and not isinstance(promise, type):
            promise = promise(*inputs)
        if count is None:
            return [promise]
        promised = list(promise)  # type: ignore[arg-type]
        if len(promised) != count:
            raise ValueError(f"For 'Custom', '{self.func_name}' must give {len(promised)} results, "
                             f"as 'out_shape' and 'out_dtype' say, but it gave {count}.")
        return promised


class Morph(Primitive):
    """A function of Tensors as an operator, so that it can have a gradient of its own.

    Args:
        fn: the function.
        infer_shape, infer_dtype: what they would say of the results, the results say here.
        bprop_fn: the gradients of the inputs, from the inputs, the result and its gradient; None:
            the function is differentiated.

    Raises:
        TypeError: if one that should be a function isn't.

    Examples:
        >>> import lamella as ms
        >>> cube = ms.ops.Morph(lambda x: x ** 3, lambda s: s, lambda t: t,
        ...                     lambda x, out, dout: 100 * dout)
        >>> print(cube(ms.Tensor([2.0])), ms.grad(cube)(ms.Tensor([2.0])))
        [8.] [100.]
    """

    def __init__(self, fn: Callable[..., Any], infer_shape: Callable[..., Any],
                 infer_dtype: Callable[..., Any], bprop_fn: Callable[..., Any] | None = None):
        super().__init__("Morph")
        for name, value in (("fn", fn), ("infer_shape", infer_shape), ("infer_dtype", infer_dtype),
                            ("bprop_fn", bprop_fn)):
            if not callable(value) and not (name == "bprop_fn" and value is None):
                raise TypeError(f"For 'Morph', '{name}' must be a function, but got {value!r}.")
        self.fn, self.bprop_fn = fn, bprop_fn
        self._ruled = None if bprop_fn is None else Ruled(fn, bprop_fn)

    def __call__(self, *args: Any) -> Any:
        return self.fn(*args) if self._ruled is None else call_with_bprop(self._ruled, args, {})


def kernel(fn: Any = None, reg_info: Any = None, compile_attrs: Any = None) -> Any:
    """Mark a function for `ops.Custom`, which MindSpore would compile; it runs as Python.

    Works with and without arguments; both are accepted as MindSpore does.

    Examples:
        >>> import lamella as ms
        >>> @ms.ops.kernel
        ... def twice(a):
        ...     return a * 2
        >>> print(ms.ops.Custom(twice, func_type="hybrid")(ms.Tensor([1.0])))
        [2.]
    """
    return fn if fn is not None else lambda function: function


ms_kernel = kernel


def custom_info_register(*reg_info: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Hang registration information on a function for `ops.Custom`; it has no effect.

    Examples:
        >>> import lamella as ms
        >>> @ms.ops.custom_info_register("info")
        ... def twice(a):
        ...     return a * 2
        >>> twice.reg_info
        ['info']
    """
    def keep(function: Any) -> Any:
        function.reg_info = list(reg_info)
        return function

    return keep
