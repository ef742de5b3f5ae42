"""Functions over functions: maps over nested sequences, dispatch on types, partial application."""

from __future__ import annotations

import builtins
import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..compat.arguments import of_mismatch
from ..core import checks
from ..core import dtype as mstype
from ..core.dtype import Type, get_py_obj_dtype, to_raw
from ..core.errors import describe, op
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor, wrap
from .primitive import Primitive

__all__ = [
    "HyperMap", "Map", "MultitypeFuncGraph", "Partial", "add_flags",
    "constexpr", "make_list", "make_range", "make_tuple", "mixed_precision_cast", "partial",
    "_primexpr", "prim_arg_register",
    "prim_attr_register", "tuple_getitem", "tuple_len", "typeof",
]


class HyperMap:
    """A function applied to the leaves of nested tuples and lists.

    Args:
        ops: the function, or None to give it as first argument of each call.
        reverse: whether to work through the sequences from the end; the result keeps their order.

    Returns:
        A nested tuple of the shape of the first sequence.

    Raises:
        TypeError: if an argument is no sequence where the first one is.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.HyperMap()(lambda a, b: a + b, (1, (2, 3)), (10, (20, 30)))
        (11, (22, 33))
    """

    def __init__(self, ops: Callable[..., Any] | None = None, reverse: bool = False):
        if ops is not None and not callable(ops):
            raise TypeError(f"For '{type(self).__name__}', 'ops' must be a function, "
                            f"but got {ops!r}.")
        self.ops = ops
        self.reverse = reverse

    def __call__(self, *args: Any) -> Any:
        function, args = (args[0], args[1:]) if self.ops is None else (self.ops, args)
        if not args:
            raise TypeError(f"For '{type(self).__name__}', give a sequence after the function.")
        return self._over(function, args)

    def _over(self, function: Callable[..., Any], args: tuple) -> Any:
        if not isinstance(args[0], (tuple, list)):
            return function(*args)
        return self._each(lambda *parts: self._over(function, parts), args)

    def _each(self, function: Callable[..., Any], args: tuple) -> tuple:
        for arg in args:
            if not isinstance(arg, (tuple, list, Tensor)):
                raise TypeError(f"For '{type(self).__name__}', the arguments must be sequences of "
                                f"one shape, but got {[type(a).__name__ for a in args]}.")
        rows = list(zip(*args))  # noqa: B905  (the shortest decides, as in MindSpore)
        if not self.reverse:
            return tuple([function(*row) for row in rows])
        return tuple([function(*row) for row in reversed(rows)][::-1])


class Map(HyperMap):
    """A function applied to the elements of tuples and lists, not going into nested ones.

    Args:
        ops: the function, or None to give it as first argument of each call.
        reverse: whether to work from the end; the result keeps the order.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.Map()(lambda a, b: a * b, (1, 2), (3, 4))
        (3, 8)
    """

    def _over(self, function: Callable[..., Any], args: tuple) -> tuple:
        return self._each(function, args)


_KINDS: dict[str, tuple[type, ...]] = {
    "tensor": (Tensor,), "parameter": (Parameter,), "ref": (Parameter,),
    "tuple": (tuple,), "list": (list,), "dictionary": (dict,), "dict": (dict,),
    "string": (str,), "str": (str,), "none": (type(None),), "typenone": (type(None),),
    "bool": (bool, np.bool_), "int": (int, np.integer), "int64": (int, np.integer),
    "int32": (int, np.integer), "float": (float, np.floating), "float32": (float, np.floating),
    "float64": (float, np.floating), "slice": (slice,), "ellipsis": (type(...),),
    "number": (bool, int, float, complex, np.number), "type": (Type,), "typetype": (Type,),
}


def _fits(value: Any, kind: Any) -> bool:
    """Whether an argument is of a registered type, given by name, data type or class."""
    if isinstance(kind, Type):
        kind = {"tensor_type": "Tensor", "type_none": "None", "int": "Int", "float": "Float",
                "type_type": "TypeType"}.get(kind.name, kind.name)
    if isinstance(kind, type):
        return isinstance(value, kind)
    name = kind.strip().lower()
    if name.startswith("tensor["):  # "Tensor[Float32]"
        return isinstance(value, Tensor) and value.dtype.name.lower() == name[7:-1]
    if name in ("function", "func"):
        return callable(value) and not isinstance(value, Tensor)
    if name in ("rowtensor", "cootensor", "csrtensor", "maptensor", "undetermined"):
        return type(value).__name__.lower() == name
    if name.endswith("_") and name[:-1] in _KINDS:
        name = name[:-1]
    if name not in _KINDS:
        raise TypeError(f"For 'MultitypeFuncGraph.register', the type {kind!r} is not known. "
                        f"Known: {', '.join(sorted(_KINDS))}.")
    if isinstance(value, bool) and name.startswith("int"):
        return False
    return isinstance(value, _KINDS[name])


class MultitypeFuncGraph:
    """A function of several bodies: the types of the arguments choose one.

    Args:
        name: a name, for messages.
        read_value: accepted as MindSpore does.

    Raises:
        ValueError: on a call whose arguments' types fit no body.

    Examples:
        >>> import lamella as ms
        >>> double = ms.ops.MultitypeFuncGraph("double")
        >>> @double.register("Number")
        ... def _double_number(x):
        ...     return 2 * x
        >>> @double.register("Tensor")
        ... def _double_tensor(x):
        ...     return x + x
        >>> double(4), print(double(ms.Tensor([1, 2])))
        [2 4]
        (8, None)
    """

    def __init__(self, name: str, read_value: bool = False):
        self.name = name
        self.read_value = read_value
        self.entries: list[tuple[tuple[Any, ...], Callable[..., Any]]] = []
        self.default_func: Callable[..., Any] | None = None

    def register(self, *type_names: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """A decorator that adds a body for arguments of these types.

        Args:
            type_names: for each argument a name such as ``"Tensor"``, ``"Number"``, ``"Bool"``,
                ``"Tuple"``, ``"None"`` or ``"Function"``, or a data type.

        Raises:
            TypeError: if one is neither a str nor a type.
        """
        for kind in type_names:
            if not isinstance(kind, (str, Type, type)):
                raise TypeError(f"For 'MultitypeFuncGraph.register', a type must be given by name "
                                f"or as a mindspore data type, but got {kind!r}.")
            _fits(None, kind)

        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            self.entries.append((type_names, function))
            return function

        return add

    def register_default(self) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """A decorator that sets the body for all arguments that no other body fits."""
        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            self.default_func = function
            return function

        return add

    _register_default = register_default

    def __call__(self, *args: Any) -> Any:
        if len(self.entries) == 1 and self.default_func is None:
            return self.entries[0][1](*args)
        for kinds, function in self.entries:
            if len(kinds) == len(args) and all(map(_fits, args, kinds)):
                return function(*args)
        if self.default_func is not None:
            return self.default_func(*args)
        known = ", ".join(str(kinds) for kinds, _ in self.entries)
        raise ValueError(f"For '{self.name}', no function is registered for the types "
                         f"({', '.join(type(a).__name__ for a in args)}). Registered: {known}.")

    def set_doc_url(self, doc_url: str) -> None:
        """Keep the address of a page that describes the function."""
        self.doc_url = doc_url

    def set_need_raise(self) -> None:
        """Accepted as MindSpore does: a call that fits no body raises in any case."""

    def __repr__(self) -> str:
        return f"MultitypeFuncGraph({self.name!r}, {len(self.entries)} functions)"


class Partial(Primitive):
    """Partial application as an object: ``Partial()(function, *args)``.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.Partial()(lambda a, b: a - b, 5)(3)
        2
    """

    def __init__(self):
        super().__init__("Partial")

    def __call__(self, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        return partial(*args, **kwargs)


def partial(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """`function` with its first arguments given.

    Raises:
        TypeError: if `function` can't be called.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.partial(lambda a, b: a - b, 5)(3)
        2
    """
    if not callable(function):
        raise TypeError(f"For 'partial', 'function' must be callable, but got {function!r} of type "
                        f"{type(function).__name__}.")
    return functools.partial(function, *args, **kwargs)


def constexpr(fn: Callable[..., Any] | None = None, get_instance: bool = True,
              name: str | None = None, reuse_result: bool = True, check: bool = True) -> Any:
    """Mark a function to be run, while a graph is traced, on plain values; it runs as it is.

    Works with and without arguments: ``@constexpr`` and ``@constexpr(check=False)``.

    Examples:
        >>> import lamella as ms
        >>> @ms.ops.constexpr
        ... def total(numbers):
        ...     return sum(numbers)
        >>> total((1, 2))
        3
    """
    if fn is None:
        return lambda function: constexpr(function, get_instance, name, reuse_result, check)
    if not get_instance:
        return lambda: fn
    return fn


def _primexpr(fn: Callable[..., Any] | None = None, get_instance: bool = True,
              name: str | None = None, reuse_result: bool = True) -> Any:
    """As `constexpr`, for functions whose values may also be known only when the graph runs.

    Examples:
        >>> import lamella as ms
        >>> @ms.ops._primexpr
        ... def half(n):
        ...     return n // 2
        >>> half(6)
        3
    """
    return constexpr(fn, get_instance, name, reuse_result)


def prim_attr_register(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate the ``__init__`` of a Primitive: its arguments become the operator's attributes.

    Examples:
        >>> import lamella as ms
        >>> class Scale(ms.ops.Primitive):
        ...     @ms.ops.prim_attr_register
        ...     def __init__(self, factor=2):
        ...         pass
        >>> Scale().factor
        2
    """
    signature = inspect.signature(fn)

    @functools.wraps(fn)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        Primitive.__init__(self, type(self).__name__)
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError as mismatch:
            raise of_mismatch(type(self).__name__, signature, (self, *args), mismatch,
                              kwargs) from None
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            self.add_prim_attr(name, value)
        attributes = self._attributes
        fn(self, *args, **kwargs)
        # a call of the base's has begun anew
        self._attributes = tuple(dict.fromkeys((*attributes, *self._attributes)))

    return init


prim_arg_register = prim_attr_register


def add_flags(fn: Any = None, **flags: Any) -> Any:
    """Hang flags on a function or Cell; returns it, or a decorator where none is given.

    Examples:
        >>> import lamella as ms
        >>> @ms.ops.add_flags(has_effect=True)
        ... def f(x):
        ...     return x
        >>> f(1)
        1
    """
    if fn is None:
        return lambda function: add_flags(function, **flags)
    if not callable(fn):
        raise TypeError(f"For 'add_flags', 'fn' must be a function or a Cell, but got {fn!r} of "
                        f"type {type(fn).__name__}.")
    kept = {**getattr(fn, "_func_graph_flags", {}), **flags}
    try:
        fn._func_graph_flags = kept
    except AttributeError:
        raise TypeError(f"For 'add_flags', 'fn' must be a function or a Cell that can hold flags, "
                        f"but got {fn!r}.") from None
    return fn


def mixed_precision_cast(dst_dtype: Any, x: Any) -> Any:
    """The floating Tensors of nested tuples, lists and dicts in another type; the rest as it is.

    Examples:
        >>> import lamella as ms
        >>> out = ms.ops.mixed_precision_cast(ms.float16, (ms.Tensor([1.0]), ms.Tensor([1])))
        >>> [t.dtype for t in out]
        [mindspore.float16, mindspore.int64]
    """
    if isinstance(x, Tensor):
        raw = x._raw
        return wrap(raw.to(to_raw(dst_dtype))) if raw.is_floating_point() else x
    if isinstance(x, (tuple, list)):
        return tuple([mixed_precision_cast(dst_dtype, v) for v in x])
    if isinstance(x, dict):
        return {k: mixed_precision_cast(dst_dtype, v) for k, v in x.items()}
    return x


@op
def tuple_len(value: Any) -> int:
    """The length of a tuple.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.tuple_len((1, 2))
        2
    """
    return len(value)


@op
def make_range(*args: int) -> tuple[int, ...]:
    """The ints that ``range(*args)`` counts, as a tuple.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.make_range(3)
        (0, 1, 2)
    """
    for place, number in enumerate(args):
        checks.check_is_int(number, f"args[{place}]", "make_range")
    return tuple(builtins.range(*args))


def make_tuple(*args: Any) -> tuple:
    """The arguments as a tuple.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.make_tuple(1, 2)
        (1, 2)
    """
    return args


def make_list(*args: Any) -> list:
    """The arguments as a list.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.make_list(1, 2)
        [1, 2]
    """
    return list(args)


def tuple_getitem(value: tuple | list, index: int) -> Any:
    """An element of a tuple or list.

    Raises:
        TypeError: if `value` is something else, or `index` no int.
        IndexError: if `index` is out of range.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.tuple_getitem((1, 2), 1)
        2
    """
    if not isinstance(value, (tuple, list)):
        raise TypeError(f"For 'tuple_getitem', 'value' must be a tuple or list, but got "
                        f"{describe(value)}.")
    if not isinstance(index, int):
        raise TypeError(f"For 'tuple_getitem', 'index' must be an int, but got "
                        f"{describe(index)}.")
    if not -len(value) <= index < len(value):
        raise IndexError(f"For 'tuple_getitem', 'index' must be in [{-len(value)}, {len(value)}), "
                         f"but got {index}.")
    return value[index]


def typeof(value: Any) -> Any:
    """The data type of a number or other Python value.

    It is ``tensor_type`` for a Tensor, and ``type_type`` for a class.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.typeof(1)
        mindspore.int64
    """
    if isinstance(value, type):
        return mstype.type_type
    return mstype.tensor_type if isinstance(value, Tensor) else get_py_obj_dtype(value)
