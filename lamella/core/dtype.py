"""Data types: MindSpore's names for them, and the PyTorch and NumPy types they stand on.

A data type prints as ``Float32`` and is written ``mindspore.float32`` in a repr, as MindSpore
programs expect. Types that no tensor can hold (``string``, ``tensor_type``, ...) exist for programs
that name them in annotations and checks.
"""

from __future__ import annotations

import builtins
import enum
from typing import Any

import numpy as np
import torch


class Type:
    """A data type.

    Args:
        name: MindSpore's name, such as ``"float32"``.
        printed: the printed form, such as ``"Float32"``.
        raw: the PyTorch type that holds it, or None for a type that no tensor can hold.

    Examples:
        >>> import lamella as ms
        >>> print(ms.float32, ms.float32.itemsize)
        Float32 4
        >>> ms.float32
        mindspore.float32
    """

    __slots__ = ("name", "printed", "raw")

    def __init__(self, name: str, printed: str, raw: torch.dtype | None = None):
        self.name = name
        self.printed = printed
        self.raw = raw

    @property
    def itemsize(self) -> builtins.int:
        """Bytes of one element."""
        if self.raw is None:
            raise TypeError(f"The type {self.printed} has no elements and so no 'itemsize'.")
        return self.raw.itemsize

    def __str__(self) -> str:
        return self.printed

    def __repr__(self) -> str:
        return f"mindspore.{self.name}"

    def __reduce__(self):
        return (_by_name, (self.name,))

    def __deepcopy__(self, memo):
        return self

    def __copy__(self):
        return self


class Number(Type):
    """A type whose elements are numbers or booleans."""

    __slots__ = ()


class Bool(Number):
    """Booleans."""

    __slots__ = ()


class Int(Number):
    """Signed integers."""

    __slots__ = ()


class UInt(Number):
    """Unsigned integers."""

    __slots__ = ()


class Float(Number):
    """IEEE floating-point numbers."""

    __slots__ = ()


class BFloat(Number):
    """bfloat16: float32's range with eight bits of precision."""

    __slots__ = ()


class Complex(Number):
    """Complex numbers."""

    __slots__ = ()


class String(Type):
    """Text; no tensor holds it."""

    __slots__ = ()


class TensorType(Type):
    """The type of tensors themselves."""

    __slots__ = ()


bool_ = Bool("bool", "Bool", torch.bool)
int8 = Int("int8", "Int8", torch.int8)
int16 = Int("int16", "Int16", torch.int16)
int32 = Int("int32", "Int32", torch.int32)
int64 = Int("int64", "Int64", torch.int64)
uint8 = UInt("uint8", "UInt8", torch.uint8)
uint16 = UInt("uint16", "UInt16", torch.uint16)
uint32 = UInt("uint32", "UInt32", torch.uint32)
uint64 = UInt("uint64", "UInt64", torch.uint64)
float16 = Float("float16", "Float16", torch.float16)
float32 = Float("float32", "Float32", torch.float32)
float64 = Float("float64", "Float64", torch.float64)
bfloat16 = BFloat("bfloat16", "BFloat16", torch.bfloat16)
complex64 = Complex("complex64", "Complex64", torch.complex64)
complex128 = Complex("complex128", "Complex128", torch.complex128)
float8_e4m3fn = Float("float8_e4m3fn", "Float8E4M3FN", torch.float8_e4m3fn)
float8_e5m2 = Float("float8_e5m2", "Float8E5M2", torch.float8_e5m2)

byte, short, half, single, double, long = int8, int16, float16, float32, float64, int64
ubyte, ushort, uintc, uintp, intc, intp = uint8, uint16, uint32, uint64, int32, int64
cfloat, cdouble = complex64, complex128

number = Number("number", "Number")
int_ = Int("int", "Int")
uint = UInt("uint", "UInt")
float_ = Float("float", "Float")
complex_ = Complex("complex", "Complex")
string = String("string", "String")
qint4x2 = Type("int4", "Int4")  # two numbers of 4 bits in a byte, which no tensor holds here
type_none = Type("type_none", "None")
tensor_type = TensorType("tensor_type", "Tensor")
list_ = Type("list", "List")
tuple_ = Type("tuple", "Tuple")
dict_ = Type("dict", "Dictionary")
slice_ = Type("slice", "Slice")
function = Type("function", "Func")
type_type = Type("type_type", "TypeType")
none_type = type_none

bool = bool_  # noqa: A001  (MindSpore's own name for it)
int = int32  # noqa: A001
float = float32  # noqa: A001

int_type = (int8, int16, int32, int64)
uint_type = (uint8, uint16, uint32, uint64)
float_type = (float16, float32, float64, bfloat16)
signed_type = (int8, byte, int16, short, int32, int64, float16, float32, float64, bfloat16)
complex_type = (complex64, complex128)
all_types = (bool_, *int_type, *uint_type, *float_type, *complex_type)
number_type = (*int_type, *uint_type, *float_type, *complex_type)
implicit_conversion_seq = {t: i for i, t in enumerate(all_types)}

NARROW = (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2)  # what NumPy lacks
from_raw: dict[torch.dtype, Type] = {
    t.raw: t for t in (*all_types, float8_e4m3fn, float8_e5m2) if t.raw is not None
}
_NAMED = {
    t.name: t
    for t in (*from_raw.values(), number, int_, uint, float_, complex_, string, qint4x2,
              type_none, tensor_type, list_, tuple_, dict_, slice_, function, type_type)
}
_PYTHON: dict[Any, Type] = {
    builtins.bool: bool_, builtins.int: int64, builtins.float: float32, builtins.complex: complex64,
    str: string, list: list_, tuple: tuple_, dict: dict_, type(None): type_none,
}


class _Widths(enum.Enum):
    """Members that print as their names, and whose `value` is a method, as MindSpore has them."""

    def __str__(self) -> str:
        return self.name

    def value(self) -> builtins.int:
        """The number of the member."""
        return self._value_


QuantDtype = _Widths("QuantDtype", {
    f"{kind}{bits}": bits - 1 + start for start, kind in ((0, "INT"), (100, "UINT"))
    for bits in range(1, 17)})
QuantDtype.__doc__ = """Whole numbers of 1 to 16 bits, by which quantized networks name their types.

Examples:
    >>> import lamella as ms
    >>> print(ms.QuantDtype.INT8, ms.QuantDtype.UINT4.value())
    INT8 103
"""


def _by_name(name: str) -> Type:
    return _NAMED[name]


def to_raw(dtype: Any, where: str = "dtype") -> torch.dtype:
    """The PyTorch type for a data type given in any of its forms.

    Args:
        dtype: a Lamella type, a NumPy type, a PyTorch type, ``bool``/``int``/``float``, or a name
            such as ``"float32"``.
        where: the function and argument that an error names.

    Raises:
        TypeError: if `dtype` names no type that a tensor can hold.
    """
    if isinstance(dtype, Type):
        if dtype.raw is not None:
            return dtype.raw
        generic = {"int": torch.int64, "float": torch.float32, "uint": torch.uint64,
                   "complex": torch.complex64}
        if dtype.name in generic:
            return generic[dtype.name]
    elif isinstance(dtype, torch.dtype):
        return dtype
    elif isinstance(dtype, str) and dtype.lower() in _NAMED:
        return to_raw(_NAMED[dtype.lower()], where)
    elif isinstance(dtype, type) and dtype in (builtins.bool, builtins.int, builtins.float,
                                               builtins.complex):
        return _PYTHON[dtype].raw  # type: ignore[return-value]
    elif dtype is not None:  # which NumPy reads as float64
        try:
            return _NAMED[np.dtype(dtype).name].raw  # type: ignore[return-value]
        except (TypeError, ValueError, KeyError):
            pass
    raise TypeError(f"For '{where}', the data type must be one that a tensor can hold, such as "
                    f"mindspore.float32, but got {dtype!r} of type {type(dtype).__name__}.")


def dtype_to_nptype(type_: Type) -> Any:
    """The NumPy type for a data type.

    ``bfloat16`` has no NumPy type of its own and gives ``numpy.float32``, which holds every one of
    its values.

    Examples:
        >>> import lamella as ms
        >>> ms.dtype_to_nptype(ms.int8)
        <class 'numpy.int8'>
    """
    if not isinstance(type_, Type) or type_.raw is None:
        raise TypeError(f"For 'dtype_to_nptype', 'type_' must be a data type of tensors, "
                        f"but got {type_!r}.")
    if type_.raw in NARROW:
        return np.float32
    return np.dtype(type_.name).type


def dtype_to_pytype(type_: Type) -> type:
    """The Python type whose values a data type holds.

    Examples:
        >>> import lamella as ms
        >>> ms.common.dtype.dtype_to_pytype(ms.bool_)
        <class 'bool'>
    """
    kinds = ((Bool, builtins.bool), ((Int, UInt), builtins.int),
             ((Float, BFloat), builtins.float), (Complex, builtins.complex), (String, str))
    for kind, python in kinds:
        if isinstance(type_, kind):
            return python
    for python, known in _PYTHON.items():
        if known is type_:
            return python
    raise TypeError(f"For 'dtype_to_pytype', no Python type stands for {type_!r}.")


def type_size_in_bytes(dtype: Type) -> builtins.int:
    """How many bytes a number of this type takes; 0 for types without numbers.

    Examples:
        >>> import lamella as ms
        >>> ms.common.dtype.type_size_in_bytes(ms.complex64)
        8
    """
    if not isinstance(dtype, Type):
        raise TypeError(f"For 'type_size_in_bytes', 'dtype' must be a data type, "
                        f"but got {dtype!r}.")
    return dtype.itemsize if isinstance(dtype, Number) else 0


def pytype_to_dtype(obj: Any) -> Type:
    """The data type for a Python or NumPy type.

    Raises:
        TypeError: if it isn't a type.
        NotImplementedError: if there is none.

    Examples:
        >>> import lamella as ms
        >>> print(ms.pytype_to_dtype(np.float32))
        Float32
    """
    if isinstance(obj, Type):
        return obj
    if not isinstance(obj, (type, np.dtype)):
        raise TypeError(f"For 'pytype_to_dtype', the argument 'obj' must be a python type object, "
                        f"such as int, float, str, etc. But got type {type(obj)}.")
    if obj is builtins.float or obj is builtins.complex:
        return float64 if obj is builtins.float else complex128  # as wide as Python's own
    if obj in _PYTHON:
        return _PYTHON[obj]
    try:
        return _NAMED[np.dtype(obj).name]
    except (TypeError, KeyError):
        raise NotImplementedError(f"No data type stands for {obj!r}.") from None


def get_py_obj_dtype(obj: Any) -> Type:
    """The data type of a Python object: a tensor's, or that of the object's own type."""
    raw = None if isinstance(obj, type) else getattr(obj, "_raw", None)
    if raw is not None:
        return from_raw[raw.dtype]
    return pytype_to_dtype(type(obj))


def is_inexact(raw: torch.dtype) -> builtins.bool:
    """Whether a PyTorch type is floating or complex."""
    return raw.is_floating_point or raw.is_complex


def is_integer(raw: torch.dtype) -> builtins.bool:
    """Whether a PyTorch type is one of integers; booleans are none."""
    return not (raw.is_floating_point or raw.is_complex or raw is torch.bool)


def promote_types(a: torch.dtype, b: torch.dtype) -> torch.dtype:
    """The type that an operation on two tensors computes in.

    MindSpore's rule looks at types only: a tensor of rank 0 counts as much as any other. It is
    PyTorch's table of promotions, completed by NumPy's for the wide unsigned types.
    """
    try:
        return torch.promote_types(a, b)
    except RuntimeError:
        pass
    if a.is_floating_point or b.is_floating_point:
        return a if a.is_floating_point else b
    kind = np.promote_types(from_raw[a].name, from_raw[b].name)
    return torch.float32 if kind.kind == "f" else _NAMED[kind.name].raw  # type: ignore
