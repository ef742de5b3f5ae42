"""Primitive classes of tuples and lists of Python's: `SequenceAdd`, `ListAppend` and their kind."""

from __future__ import annotations

import math
from typing import Any

import torch

from ...core import context
from ...core import dtype as mstype
from ...core.dtype import to_raw
from ...core.errors import op
from ...tensors.tensor import Tensor, wrap
from ..combine import addn
from ..creation import zeros_like
from ..join import concat, stack
from ..primitive import primitive
from ..split import unstack
from .attributes import with_attributes

__all__ = [
    "InSequence", "ListAppend", "ListAppendAndInsertGrad", "ListInsert", "ListToTensor",
    "ListToTuple", "SequenceAdd", "SequenceAddN", "SequenceAddOffset", "SequenceConcat",
    "SequenceCount", "SequenceIndex", "SequenceMax", "SequenceMin", "SequenceMul", "SequenceSlice",
    "SequenceSliceGrad", "SequenceSliceSetItem", "SequenceStack", "SequenceUnstack",
    "SequenceZerosLike", "ShapeMulGrad", "TensorToList",
    "TupleToList", "TupleToTensor", "shape_mul",
]


def _is_number_like(value: Any) -> bool:
    return isinstance(value, (int, float)) or isinstance(value, Tensor) and value.size == 1


def _same(element: Any, target: Any) -> bool:
    if isinstance(element, Tensor) or isinstance(target, Tensor):
        return (isinstance(element, Tensor) and isinstance(target, Tensor)
                and element.shape == target.shape and bool((element == target).all()))
    return bool(element == target)


def _append(input_data: Any, target: Any) -> list[Any]:
    """A list with `target` at its end."""
    return [*input_data, target]


def _insert(input_data: Any, index: int, target: Any) -> list[Any]:
    """A list with `target` before the element at `index`."""
    out = list(input_data)
    out.insert(int(index), target)
    return out


def _without(input_data: Any, index: int) -> list[Any]:
    """A list without the element at `index`: the gradient of putting it there."""
    out = list(input_data)
    del out[int(index)]
    return out


def _slice(sequence: Any, start: int, stop: int, step: int) -> Any:
    """The elements from `start` to `stop`, each `step`-th."""
    return sequence[start:stop:step]


def _slice_gradient(dy: Any, x: Any, start: int, stop: int, step: int) -> Any:
    """Zeros like the elements of `x`, with `dy` where the slice was."""
    out = [_zeros_of(element) for element in x]
    for position, gradient in zip(range(*slice(start, stop, step).indices(len(out))), dy,
                                  strict=True):
        out[position] = gradient
    return type(x)(out)


def _set_slice(seq: Any, target: Any, start: int, stop: int, step: int) -> Any:
    """A sequence with `target` in place of a slice."""
    out = list(seq)
    out[start:stop:step] = target
    return type(seq)(out)


def _zeros_of(element: Any) -> Any:
    return zeros_like(element) if isinstance(element, Tensor) else type(element)()


def _zeros(sequence: Any) -> Any:
    """A sequence of zeros of the same types and shapes."""
    return type(sequence)([_zeros_of(element) for element in sequence])


def _count(sequence: Any, target: Any) -> int:
    """How many elements are equal to `target`."""
    return sum(_same(element, target) for element in sequence)


def _index(sequence: Any, target: Any, start: int | None = None, end: int | None = None) -> int:
    """The first position of an element that is equal to `target`.

    Raises:
        ValueError: if there is none.
    """
    for position in range(*slice(start, end).indices(len(sequence))):
        if _same(sequence[position], target):
            return position
    raise ValueError(f"For 'SequenceIndex', {target!r} is not in the sequence.")


def _contains(target: Any, sequence: Any) -> bool:
    """Whether an element is equal to `target`."""
    return any(_same(element, target) for element in sequence)


def _add_offset(shape_0: Any, shape_1: Any) -> tuple[int, int]:
    """Where each of two sequences begins in their concatenation."""
    return 0, len(shape_0)


def _join(x: Any, y: Any) -> Any:
    """The elements of one sequence, then those of another of the same type."""
    if type(x) is not type(y):
        raise TypeError(f"For 'SequenceAdd', both inputs must be tuples or both lists, but got "
                        f"{type(x).__name__} and {type(y).__name__}.")
    return x + y


def _repeat(sequence: Any, scalar: int) -> Any:
    """A sequence so many times."""
    return sequence * int(scalar)


def _product(input_data: Any) -> int:
    """The product of the numbers in a sequence."""
    return math.prod(input_data)


def _product_gradient(input_data: Any, dout: Any) -> tuple[Any, ...]:
    """The gradient of the product by each number: that of the others, times `dout`."""
    return tuple(math.prod(v for j, v in enumerate(input_data) if j != i) * dout
                 for i in range(len(input_data)))


def _to_tensor(x: Any, dtype: Any = None) -> Tensor:
    """A Tensor of the numbers of a sequence, or of its 0-d Tensors.

    Raises:
        TypeError: if there is another value.
    """
    if not all(map(_is_number_like, x)):
        raise TypeError(f"For 'TupleToTensor', the elements must be numbers, but got {x!r}.")
    raws = [v._raw.reshape(()) if isinstance(v, Tensor) else torch.tensor(
        v, dtype=torch.int64 if isinstance(v, int) else torch.float32,
        device=context.current_device()) for v in x]
    if dtype is None:
        dtype = mstype.int64 if x and isinstance(x[0], int) else mstype.float32
    raw = torch.stack([value.to(to_raw(dtype)) for value in raws]) if raws else torch.empty(
        0, dtype=to_raw(dtype), device=context.current_device())
    return wrap(raw)


def _to_list(input_tensor: Tensor) -> list[Any]:
    """The elements of a Tensor as a list, nested if it has several dimensions."""
    return input_tensor.tolist()


def _in_sequence(name: str, axis: int, function: Any) -> Any:
    def compute(x: Any, *, axis: int) -> Any:
        return function(x, axis)

    compute.__name__ = "_compute"
    return with_attributes(name, op(compute, name), axis=axis)


def _total(x: Any) -> Any:
    """The sum of Tensors, or of numbers."""
    return sum(x) if x and all(isinstance(v, (int, float)) for v in x) else addn(x)


InSequence = primitive("InSequence", _contains)
ListAppend = primitive("ListAppend", _append)
ListAppendAndInsertGrad = primitive("ListAppendAndInsertGrad", _without)
ListInsert = primitive("ListInsert", _insert)
ListToTensor = primitive("ListToTensor", _to_tensor)
ListToTuple = primitive("ListToTuple", tuple)
SequenceAdd = primitive("SequenceAdd", _join)
SequenceAddN = primitive("SequenceAddN", _total)
SequenceAddOffset = primitive("SequenceAddOffset", _add_offset)
SequenceConcat = _in_sequence("SequenceConcat", 0, concat)
SequenceCount = primitive("SequenceCount", _count)
SequenceIndex = primitive("SequenceIndex", _index)
SequenceMax = primitive("SequenceMax", max)
SequenceMin = primitive("SequenceMin", min)
SequenceMul = primitive("SequenceMul", _repeat)
SequenceSlice = primitive("SequenceSlice", _slice)
SequenceSliceGrad = primitive("SequenceSliceGrad", _slice_gradient)
SequenceSliceSetItem = primitive("SequenceSliceSetItem", _set_slice)
SequenceStack = _in_sequence("SequenceStack", 0, stack)
SequenceUnstack = with_attributes(
    "SequenceUnstack", op(lambda x, *, axis, num: unstack(x, axis), "SequenceUnstack"), axis=0,
    num=None)
SequenceZerosLike = primitive("SequenceZerosLike", _zeros)
ShapeMulGrad = primitive("ShapeMulGrad", _product_gradient)
TensorToList = primitive("TensorToList", _to_list)
TupleToList = primitive("TupleToList", list)
TupleToTensor = primitive("TupleToTensor", _to_tensor)
shape_mul = primitive("shape_mul", _product)
