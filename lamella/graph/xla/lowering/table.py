"""The table from operations of PyTorch to JAX, and the types that they compute in.

A row is a function of the `Aval` of its result and the operation's arguments, all of them, in the
order of its schema. `lowering.graph` checks the shape and type that each row gives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeGuard

from .later import jnp

Step = dict[str, Any]  # an operation of a described graph
TABLE: dict[str, Callable[..., Any]] = {}
VIEWS: set[str] = set()  # the names of operations whose result lies in the memory of its input


class NotLowered(Exception):
    """An operation, or a use of it, that isn't in the table."""


class Aval(NamedTuple):
    """The shape and type of a value: what JAX calls its abstract value."""

    shape: tuple[int, ...]
    dtype: str


def is_tensor(described: Any) -> TypeGuard[list[Any]]:
    """Whether a step's aval is that of one tensor, and not the list of those of its results."""
    return described is not None and len(described) == 2 and isinstance(described[1], str)


def avals_of(described: Any) -> Any:
    """A step's aval, or the list of those of its results."""
    if is_tensor(described):
        return Aval(tuple(described[0]), described[1])
    return [None if aval is None else avals_of(aval) for aval in described]


def row(*names: str, view: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds a function to the table as the row of the operations with these names."""

    def add(fn: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            TABLE[name if "." in name else f"{name}.default"] = fn
            if view:
                VIEWS.add(name if "." in name else f"{name}.default")
        return fn

    return add


def pointwise(fn: Callable[..., Any], inexact: bool = False, narrow: bool = False
              ) -> Callable[..., Any]:
    """A row that applies `fn` to its tensors and numbers in their common type.

    16-bit numbers are computed in 32 bits, as PyTorch does.

    Args:
        fn: the function, of the tensors and numbers among the arguments, and the others as given.
        inexact: whether integers are computed as float32.
        narrow: whether the arguments are rounded to 16 bits if that is the common type; otherwise
            numbers such as factors keep all their digits.
    """

    def apply(aval: Aval, *args: Any) -> Any:
        kind = common(args)
        if inexact and not is_inexact(kind):
            kind = "float32"
        if not narrow:
            kind = wide(kind)
        return fn(*[rounded(a, kind) if is_value(a) else a for a in args]).astype(aval.dtype)

    return apply


def pointwise_row(*names: str, inexact: bool = False, narrow: bool = False
                  ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds a pointwise function as a row."""

    def add(fn: Callable[..., Any]) -> Callable[..., Any]:
        row(*names)(pointwise(fn, inexact, narrow))
        return fn

    return add


def is_value(x: Any) -> bool:
    """Whether an argument is a tensor or a number, rather than a choice such as a name."""
    return hasattr(x, "dtype") or type(x) in (int, float, complex)


def of_type(x: Any, kind: str) -> Any:
    """A tensor or number in a type; integers wrap around as in PyTorch."""
    if hasattr(x, "dtype"):
        return cast(x, kind)
    if kind == "bool":
        return jnp.asarray(bool(x))
    if not is_inexact(kind) and type(x) is float:
        return jnp.asarray(int(x), kind)
    if not is_inexact(kind):
        return jnp.asarray(x, "int64").astype(kind)
    return jnp.asarray(x, kind)


def cast(x: Any, kind: str) -> Any:
    """A tensor in another type.

    XLA takes the product with a truth value that has become a fraction for a choice, so that
    infinity or NaN times 0 would be 0. By way of int8 it stays a product.
    """
    return (x.astype("int8") if x.dtype == bool and is_inexact(kind) else x).astype(kind)


def rounded(x: Any, kind: str) -> Any:
    """A tensor or number as a type holds it, in the type that kernels compute in."""
    found = of_type(x, wide(kind))
    return found if str(getattr(x, "dtype", "")) == kind else found.astype(kind).astype(wide(kind))


_INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
_FLOATS = ("float16", "bfloat16", "float32", "float64")
_COMPLEX = ("complex64", "complex128")


def is_inexact(kind: str) -> bool:
    """Whether a type has a fraction."""
    return kind in _FLOATS or kind in _COMPLEX


def is_complex(kind: str) -> bool:
    """Whether a type is one of complex numbers."""
    return kind in _COMPLEX


def wide(kind: str) -> str:
    """The type that PyTorch's kernels compute in."""
    return "float32" if kind in ("float16", "bfloat16") else kind


def dtype_of(x: Any) -> str:
    """The name of a tensor's type."""
    return str(x.dtype)


def _rank(kind: str) -> int:
    return (3 if kind in _COMPLEX else 2 if kind in _FLOATS else 1 if kind in _INTEGERS else 0)


def common(args: Any) -> str:
    """The type that PyTorch promotes tensors and numbers to.

    Tensors with dimensions count first, then those without, then Python's numbers: a later group
    only changes the kind (truth values, integers, fractions), not the precision.
    """
    groups: list[list[str]] = [[], [], []]
    for x in args:
        if hasattr(x, "dtype"):
            groups[0 if x.ndim else 1].append(dtype_of(x))
        elif type(x) is complex:
            groups[2].append("complex64")
        elif type(x) is float:
            groups[2].append("float32")
        elif type(x) is int:
            groups[2].append("int64")
        elif type(x) is bool:
            groups[2].append("bool")
    found = ""
    for group in groups:
        for number, kind in enumerate(group):
            lower = kind if number == 0 else str(jnp.promote_types(lower, kind))  # noqa: F821
        if group:
            found = _joined(found, lower)
    return found or "float32"


def _joined(higher: str, lower: str) -> str:
    if not higher:
        return lower
    if _rank(higher) >= _rank(lower) and higher != "bool":
        return higher
    if lower in _COMPLEX and higher in _FLOATS:
        lower = "complex64"
    return str(jnp.promote_types(higher, lower))
