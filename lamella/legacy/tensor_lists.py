"""Primitives of lists and queues of Tensors, which programs of reinforcement learning fill.

They live in this process under a handle, and no graph can hold them: a compiled function that
calls them runs eagerly.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import torch

from ..core.dtype import to_raw
from ..core.outside import outside
from ..core.require import boolean, int_at_least_0, of_type
from ..ops.arguments import raw_of, raw_or_number, require
from ..ops.join import stack
from ..ops.primitive import Primitive
from ..tensors.tensor import Tensor, wrap
from .handles import Handles

__all__ = [
    "TensorArray", "TensorArrayClear", "TensorArrayClose", "TensorArrayGather", "TensorArrayRead",
    "TensorArraySize", "TensorArrayStack", "TensorArrayWrite", "TensorsQueueClear",
    "TensorsQueueClose", "TensorsQueueCreate", "TensorsQueueGet", "TensorsQueuePut",
    "TensorsQueueSize",
]


class _Array:
    """The Tensors of one array; positions that were not written hold zeros."""

    def __init__(self, dtype: Any, shape: Sequence[int], limit: int | None):
        self.dtype, self.shape, self.limit = to_raw(dtype), tuple(shape), limit
        self.values: list[Tensor] = []

    def zeros(self) -> Tensor:
        return wrap(torch.zeros(self.shape, dtype=self.dtype))

    def write(self, index: int, value: Any, name: str) -> None:
        raw = raw_or_number(value)
        require(tuple(raw.shape) == self.shape, ValueError,
                f"For '{name}', 'value' must have the shape {self.shape}, but got "
                f"{tuple(raw.shape)}.")
        require(index >= 0 and (self.limit is None or index < self.limit), ValueError,
                f"For '{name}', 'index' must be 0 or more"
                f"{'' if self.limit is None else f' and below {self.limit}'}, but got {index}.")
        while len(self.values) <= index:
            self.values.append(self.zeros())
        self.values[index] = wrap(raw.to(self.dtype, copy=True))

    def read(self, index: int, name: str) -> Tensor:
        require(0 <= index < len(self.values), ValueError,
                f"For '{name}', 'index' must be 0 or more and below {len(self.values)}, the "
                f"array's length, but got {index}.")
        return self.values[index]


_arrays: Handles[_Array] = Handles("TensorArray", ())


class TensorArray(Primitive):
    """Makes a list of Tensors of one shape and type; its handle, int64, shape ().

    Args:
        dtype: the data type.
        element_shape: the shape of each Tensor.
        dynamic_size: let it grow; otherwise it has `size` positions.
        size: how many, 0 or more.
        name: accepted for the graph's sake.

    Raises:
        TypeError: if an argument has a wrong type.
        ValueError: if `size` is below 0.

    Examples:
        >>> import lamella as ms
        >>> from lamella.legacy import tensor_lists
        >>> handle = tensor_lists.TensorArray(ms.float32, (2,))()
        >>> tensor_lists.TensorArrayWrite()(handle, 1, ms.Tensor([1.0, 2.0]))
        >>> print(tensor_lists.TensorArrayStack(ms.float32, (2,), True, 0)(handle))
        [[0. 0.]
         [1. 2.]]
    """

    def __init__(self, dtype: Any, element_shape: Sequence[int], dynamic_size: bool = True,
                 size: int = 0, name: str = "TA"):
        super().__init__("TensorArray")
        of_type(element_shape, (tuple, list), "element_shape", self.name)
        boolean(dynamic_size, "dynamic_size", self.name)
        int_at_least_0(size, "size", self.name)
        to_raw(dtype)
        for what, value in (("dtype", dtype), ("element_shape", tuple(element_shape)),
                            ("dynamic_size", dynamic_size), ("size", size)):
            self.add_prim_attr(what, value)

    @outside
    def __call__(self) -> Tensor:
        limit = None if self.dynamic_size else self.size
        return _arrays.add(_Array(self.dtype, self.element_shape, limit))


class _Described(Primitive):
    """A Primitive that is told the form of what it reads; the array itself knows it, too."""

    def __init__(self, dtype: Any, element_shape: Sequence[int]):
        super().__init__(type(self).__name__)
        self.add_prim_attr("dtype", dtype).add_prim_attr("element_shape", tuple(element_shape))


class _Named(Primitive):
    """A Primitive without attributes."""

    def __init__(self):
        super().__init__(type(self).__name__)


def _position(value: Any, name: str) -> int:
    return of_type(value.item() if isinstance(value, Tensor) else value, int, "index", name)


class TensorArrayWrite(_Named):
    """Puts a Tensor at a position of an array: ``(handle, index, value)``."""

    @outside
    def __call__(self, handle: Any, index: Any, value: Any) -> None:
        _arrays.get(handle, self.name).write(_position(index, self.name), value, self.name)


class TensorArrayRead(_Described):
    """The Tensor at a position of an array: ``(handle, index)``."""

    @outside
    def __call__(self, handle: Any, index: Any) -> Tensor:
        return _arrays.get(handle, self.name).read(_position(index, self.name), self.name)


class TensorArrayStack(Primitive):
    """The Tensors of an array as one, with gradients; of a fixed size all its positions."""

    def __init__(self, dtype: Any, element_shape: Sequence[int], dynamic_size: bool = True,
                 size: int = 0):
        super().__init__("TensorArrayStack")
        for what, value in (("dtype", dtype), ("element_shape", tuple(element_shape)),
                            ("is_dynamic_shape", dynamic_size), ("size", size)):
            self.add_prim_attr(what, value)

    @outside
    def __call__(self, handle: Any) -> Tensor:
        array = _arrays.get(handle, self.name)
        rest = 0 if array.limit is None else array.limit - len(array.values)
        values = [*array.values, *[array.zeros() for _ in range(rest)]]
        if not values:
            return wrap(torch.zeros((0, *array.shape), dtype=array.dtype))
        return stack(values)


class TensorArrayGather(_Described):
    """The Tensors at several positions of an array as one: ``(handle, indices)``."""

    @outside
    def __call__(self, handle: Any, indices: Any) -> Tensor:
        array, places = _arrays.get(handle, self.name), raw_of(indices, self.name, "indices")
        require(places.dim() == 1, ValueError,
                f"For '{self.name}', 'indices' must have rank 1, but got shape {indices.shape}.")
        return stack([array.read(place, self.name) for place in places.tolist()])


class TensorArraySize(_Named):
    """How many positions of an array hold something, int64."""

    @outside
    def __call__(self, handle: Any) -> Tensor:
        return wrap(torch.tensor(len(_arrays.get(handle, self.name).values)))


class TensorArrayClear(_Named):
    """Empties an array."""

    @outside
    def __call__(self, handle: Any) -> None:
        _arrays.get(handle, self.name).values.clear()


class TensorArrayClose(_Named):
    """Gives an array up; its handle is no longer valid."""

    @outside
    def __call__(self, handle: Any) -> None:
        _arrays.remove(handle, self.name)


class _Queue:
    """The entries of one queue, each some Tensors."""

    def __init__(self, limit: int):
        self.limit = limit
        self.entries: deque[tuple[Tensor, ...]] = deque()


_queues: Handles[_Queue] = Handles("TensorsQueue", ())


class _Formed(Primitive):
    """A Primitive that knows the form of a queue's entries."""

    def __init__(self, dtype: Any, shapes: Sequence[Sequence[int]]):
        super().__init__(type(self).__name__)
        of_type(shapes, (tuple, list), "shapes", self.name)
        require(len(shapes) > 0, ValueError,
                f"For '{self.name}', 'shapes' must not be empty.")
        to_raw(dtype)
        self.add_prim_attr("dtype", dtype)
        self.add_prim_attr("shapes", tuple([tuple(shape) for shape in shapes]))


class TensorsQueueCreate(_Formed):
    """Makes a queue whose entries are some Tensors of given shapes; its handle, int64, shape ().

    Args:
        dtype: the data type of all Tensors.
        shapes: of the Tensors of an entry.
        size: how many entries it can hold; 0: any number.
        name: accepted for the graph's sake.

    Raises:
        ValueError: if `shapes` is empty or `size` below 0.

    Examples:
        >>> import lamella as ms
        >>> from lamella.legacy import tensor_lists
        >>> form = (ms.float32, ((), (2,)))
        >>> handle = tensor_lists.TensorsQueueCreate(*form, size=5)()
        >>> tensor_lists.TensorsQueuePut(*form)(handle, (ms.Tensor(1.0), ms.Tensor([2.0, 3.0])))
        >>> print(*tensor_lists.TensorsQueueGet(*form)(handle))
        1.0 [2. 3.]
    """

    def __init__(self, dtype: Any, shapes: Sequence[Sequence[int]], size: int = 0,
                 name: str = "Q"):
        super().__init__(dtype, shapes)
        self.add_prim_attr("size", int_at_least_0(size, "size", self.name))

    @outside
    def __call__(self) -> Tensor:
        return _queues.add(_Queue(self.size))


class TensorsQueuePut(_Formed):
    """Puts an entry at a queue's end: ``(handle, tensors)``."""

    @outside
    def __call__(self, handle: Any, value: Any) -> None:
        queue = _queues.get(handle, self.name)
        of_type(value, (tuple, list), "value", self.name)
        raws = [raw_of(one, self.name, "value") for one in value]
        require(tuple([tuple(raw.shape) for raw in raws]) == self.shapes, ValueError,
                f"For '{self.name}', 'value' must have the shapes {self.shapes}, but got "
                f"{[tuple(raw.shape) for raw in raws]}.")
        require(not queue.limit or len(queue.entries) < queue.limit, RuntimeError,
                f"For '{self.name}', the queue is full: it has {queue.limit} entries.")
        kind = to_raw(self.dtype)
        queue.entries.append(tuple([wrap(raw.to(kind, copy=True)) for raw in raws]))


class TensorsQueueGet(_Formed):
    """The entry at a queue's front.

    Args:
        dtype, shapes: of the entries.
        pop_after_get: also take it out.
    """

    def __init__(self, dtype: Any, shapes: Sequence[Sequence[int]], pop_after_get: bool = False):
        super().__init__(dtype, shapes)
        self.add_prim_attr("pop_after_get", boolean(pop_after_get, "pop_after_get", self.name))

    @outside
    def __call__(self, handle: Any) -> tuple[Tensor, ...]:
        entries = _queues.get(handle, self.name).entries
        require(bool(entries), RuntimeError, f"For '{self.name}', the queue is empty.")
        return entries.popleft() if self.pop_after_get else entries[0]


class TensorsQueueSize(_Named):
    """How many entries a queue has, int64."""

    @outside
    def __call__(self, handle: Any) -> Tensor:
        return wrap(torch.tensor(len(_queues.get(handle, self.name).entries)))


class TensorsQueueClear(_Named):
    """Empties a queue."""

    @outside
    def __call__(self, handle: Any) -> None:
        _queues.get(handle, self.name).entries.clear()


class TensorsQueueClose(_Named):
    """Gives a queue up; its handle is no longer valid."""

    @outside
    def __call__(self, handle: Any) -> None:
        _queues.remove(handle, self.name)
