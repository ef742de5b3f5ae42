"""Conversions of arguments by MindSpore's operators, as functions that programs import.

Kinds of arguments are numbers: ``DT_INT_VAL``, ``DT_TUPLE_INT_VAL``, ``DT_TENSOR_VAL``, ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core import dtype as mstype
from ..tensors.tensor import Tensor
from . import creation
from .primitive import Primitive
from .primitives import python_sequences

_SCALARS = {"BOOL": 1, "INT": 2, "FLOAT": 3, "NUMBER": 4}
DT_BOOL_VAL, DT_INT_VAL, DT_FLOAT_VAL, DT_NUMBER_VAL = _SCALARS.values()
DT_TENSOR_VAL = 5
(DT_TUPLE_BOOL_VAL, DT_TUPLE_INT_VAL, DT_TUPLE_FLOAT_VAL, DT_TUPLE_NUMBER_VAL,
 DT_TUPLE_TENSOR_VAL, DT_TUPLE_STR_VAL, DT_TUPLE_ANY_VAL) = range(8, 15)
(DT_LIST_BOOL_VAL, DT_LIST_INT_VAL, DT_LIST_FLOAT_VAL, DT_LIST_NUMBER_VAL, DT_LIST_TENSOR_VAL,
 DT_LIST_STR_VAL, DT_LIST_ANY_VAL) = range(15, 22)
DT_TYPE_VAL = 22

_TUPLES, _LISTS = frozenset(range(8, 15)), frozenset(range(15, 22))
_ELEMENTS = ("bool", "int", "float", "number", "tensor", "string", "any")
_WORDS = {1: "bool", 2: "int", 3: "float", 4: "number", 5: "Tensor",
          **{8 + i: f"tuple of {word}" for i, word in enumerate(_ELEMENTS)},
          **{15 + i: f"list of {word}" for i, word in enumerate(_ELEMENTS)}}

# MindSpore's numbers of its data types
_TYPES = {"Bool": 30, "Int8": 32, "Int16": 33, "Int32": 34, "Int64": 35, "UInt8": 37, "UInt16": 38,
          "UInt32": 39, "UInt64": 40, "Float16": 42, "Float32": 43, "Float64": 44, "BFloat16": 45,
          "Complex64": 51, "Complex128": 52, "String": 12}


class DtypeToEnum(Primitive):
    """MindSpore's number of a data type.

    Inputs:
        - **op_name**, **arg_name** - what an error calls the operator and the argument.
        - **dtype** - the data type.

    Raises:
        TypeError: if `dtype` is none.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.DtypeToEnum()("cast", "dtype", ms.float32)
        43
    """

    def __init__(self):
        super().__init__("DtypeToEnum")

    def __call__(self, op_name: str, arg_name: str, dtype: Any) -> int:
        name = str(dtype).removeprefix("mindspore.").lower()
        found = next((n for kind, n in _TYPES.items() if kind.lower() == name), None)
        if found is None or isinstance(dtype, str):
            raise TypeError(f"For '{op_name}', the input '{arg_name}' should be mindspore dtype, "
                            f"but got {dtype}.")
        return found


_classes: Any = python_sequences  # classes without arguments
tuple_to_list, list_to_tuple = _classes.TupleToList(), _classes.ListToTuple()


def int_to_float(data: int) -> float:
    """An int as a float."""
    return float(data)


def scalar_to_tuple(data: Any) -> tuple[Any]:
    """A number as a tuple of one."""
    return (data,)


def tensor_to_tuple(data: Tensor) -> tuple[Any, ...]:
    """The elements of a Tensor of one dimension, or of none."""
    found = data.tolist()
    return tuple(found) if isinstance(found, list) else (found,)


def scalar_to_tensor(data: Any) -> Tensor:
    """A number as a Tensor: bool, int32 or float32.

    Examples:
        >>> from lamella.ops.arg_dtype_cast import scalar_to_tensor
        >>> scalar_to_tensor(3).dtype
        mindspore.int32
    """
    kinds = {bool: mstype.bool_, int: mstype.int32, float: mstype.float32}
    return creation.scalar_to_tensor(data, kinds.get(type(data), mstype.float32))


def tuple_to_tensor(data: tuple[Any, ...]) -> Tensor:
    """The numbers of a tuple as a Tensor."""
    return creation.tuple_to_array(data)


def list_to_tensor(data: list[Any]) -> Tensor:
    """The numbers of a list as a Tensor."""
    return creation.tuple_to_array(tuple(data))


def tensor_to_number(data: Tensor, dst_type: int, op_name: str) -> Any:
    """The number in a Tensor, of the kind `dst_type`.

    Raises:
        TypeError: if the Tensor holds numbers of another kind.
    """
    found = data.item()
    if not is_instance_of(found, dst_type):
        raise TypeError(f"For '{op_name}', a Tensor of {_WORDS.get(dst_type, dst_type)} is needed, "
                        f"but got one of {data.dtype}.")
    return found


def is_tuple(type_id: int) -> bool:
    """Whether a kind is one of tuples."""
    return type_id in _TUPLES


def is_list(type_id: int) -> bool:
    """Whether a kind is one of lists."""
    return type_id in _LISTS


def is_number(type_id: int) -> bool:
    """Whether a kind is one of numbers."""
    return type_id in _SCALARS.values()


def is_integral_mstype(dtype: Any) -> bool:
    """Whether a data type is one of integers."""
    return dtype in mstype.int_type + mstype.uint_type


def is_floating_point_mstype(dtype: Any) -> bool:
    """Whether a data type is one of floating-point numbers."""
    return dtype in mstype.float_type


def is_instance_of(data: Any, type_id: int) -> bool:
    """Whether a value is of a kind."""
    kinds: dict[int, Any] = {DT_INT_VAL: int, DT_FLOAT_VAL: float, DT_BOOL_VAL: bool,
                             DT_NUMBER_VAL: (int, float), DT_TENSOR_VAL: Tensor}
    kind = tuple if is_tuple(type_id) else list if is_list(type_id) else kinds.get(type_id)
    return kind is not None and isinstance(data, kind)


def is_instance_in(data: Any, type_id: Any) -> bool:
    """Whether a value is of one of several kinds, or of one."""
    several = type_id if isinstance(type_id, (tuple, list)) else (type_id,)
    return any(is_instance_of(data, one) for one in several)


def get_support_dtype_list(src_type: Any, dst_type: int) -> str:
    """The kinds that `type_it` takes, in words."""
    sources = src_type if isinstance(src_type, (tuple, list)) else (src_type,)
    return f"[{', '.join(_WORDS.get(kind, str(kind)) for kind in (*sources, dst_type))}]"


def _as_is(data: Any) -> Any:
    return data


def _to_number(data: Any, dst_type: int, op_name: str) -> Any:
    return tensor_to_number(data, dst_type, op_name) if isinstance(data, Tensor) else (
        int_to_float(data) if dst_type == DT_FLOAT_VAL else data)


def do_type_cast(data: Any, dst_type: int, op_name: str) -> Any:
    """A value as one of another kind.

    Raises:
        TypeError: if there is no conversion.
    """
    if is_instance_of(data, dst_type):
        return data
    if is_number(dst_type) and isinstance(data, (int, float, Tensor)):
        return _to_number(data, dst_type, op_name)
    if is_tuple(dst_type) or is_list(dst_type):
        ways: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
            (Tensor, tensor_to_tuple), ((tuple, list), _as_is), (object, scalar_to_tuple))
        found = next(way(data) for kind, way in ways if isinstance(data, kind))
        return tuple(found) if is_tuple(dst_type) else list(found)
    if dst_type == DT_TENSOR_VAL:
        return tuple_to_tensor(tuple(data)) if isinstance(data, (tuple, list)) else \
            scalar_to_tensor(data)
    raise TypeError(f"For '{op_name}', there is no conversion of {type(data).__name__} to "
                    f"{_WORDS.get(dst_type, dst_type)}.")


def type_it(op_name: str, arg_name: str, data: Any, src_type: Any, dst_type: int) -> Any:
    """A value of one of the kinds `src_type` as one of the kind `dst_type`.

    Args:
        op_name, arg_name: what an error calls the operator and the argument.
        data: the value; None stays.
        src_type: a kind, or several.
        dst_type: the kind to have.

    Raises:
        TypeError: if it is of none of these.

    Examples:
        >>> from lamella.ops.arg_dtype_cast import DT_INT_VAL, DT_TUPLE_INT_VAL, type_it
        >>> type_it("tile", "reps", 3, DT_INT_VAL, DT_TUPLE_INT_VAL)
        (3,)
    """
    if data is None:
        return None
    if not is_instance_in(data, src_type) and not is_instance_of(data, dst_type):
        raise TypeError(f"For '{op_name}', the type of '{arg_name}' should be one of "
                        f"'{get_support_dtype_list(src_type, dst_type)}', but got {type(data)}.")
    return do_type_cast(data, dst_type, op_name)
