"""Primitives of replay buffers: the experience of an agent, kept in Parameters.

A buffer is a Parameter for each column, of shape (capacity, ...), and two Parameters of int32: how
many rows it holds, and where the oldest one is. Once it is full, each new row takes the place of
the oldest. All three Primitives can be part of a compiled step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..core.require import int_at_least_0, of_type, positive_int
from ..ops.arguments import raw_of, require, require_values
from ..ops.assign import assign, store
from ..ops.primitive import Primitive
from ..ops.primitives.random import own_stream
from ..ops.random import draw
from ..tensors.tensor import Tensor, wrap

__all__ = ["BufferAppend", "BufferGetItem", "BufferSample"]


class _Buffer(Primitive):
    """What the three have in common: the buffer's form.

    Args:
        capacity: how many rows it can hold.
        buffer_shape: the shape of a row in each column.
        buffer_dtype: the data type of each column.
    """

    def __init__(self, capacity: int, buffer_shape: Sequence[Sequence[int]],
                 buffer_dtype: Sequence[Any]):
        name = type(self).__name__
        super().__init__(name)
        positive_int(capacity, "capacity", name)
        of_type(buffer_shape, (tuple, list), "buffer_shape", name)
        of_type(buffer_dtype, (tuple, list), "buffer_dtype", name)
        require(len(buffer_shape) == len(buffer_dtype), ValueError,
                f"For '{name}', 'buffer_shape' and 'buffer_dtype' must be of one length, but got "
                f"{len(buffer_shape)} and {len(buffer_dtype)}.")
        self.add_prim_attr("capacity", capacity).add_prim_attr("buffer_dtype", buffer_dtype)
        self.buffer_shape = [tuple(shape) for shape in buffer_shape]
        self.add_prim_attr("side_effect_mem", True)

    def _columns(self, data: Any) -> list[torch.Tensor]:
        """The raw columns, checked."""
        of_type(data, (tuple, list), "data", self.name)
        raws = [raw_of(column, self.name, "data") for column in data]
        wanted = [(self.capacity, *shape) for shape in self.buffer_shape]
        require([tuple(raw.shape) for raw in raws] == wanted, ValueError,
                f"For '{self.name}', 'data' must have the shapes {wanted}, but got "
                f"{[tuple(raw.shape) for raw in raws]}.")
        return raws

    def _number(self, value: Any, what: str) -> torch.Tensor:
        """The raw tensor, of rank 0, that counts rows."""
        raw = raw_of(value, self.name, what)
        require(raw.numel() == 1 and not raw.is_floating_point(), TypeError,
                f"For '{self.name}', '{what}' must be one integer, but got {value!r}.")
        return raw.reshape(())


class BufferAppend(_Buffer):
    """Appends rows to a replay buffer; once it is full, they take the place of the oldest.

    Args:
        capacity: how many rows the buffer can hold.
        buffer_shape: the shape of a row in each column.
        buffer_dtype: the data type of each column.

    Inputs:
        - **data** - a Parameter of shape (capacity, ...) for each column.
        - **exp** - a Tensor for each column, of one row or of (N, ...) rows, N at most `capacity`.
        - **count** - Parameter of int32, how many rows the buffer holds.
        - **head** - Parameter of int32, where its oldest row is.

    Raises:
        TypeError: if the type of `exp` isn't that of `data`.
        ValueError: if shapes don't fit.

    Examples:
        >>> import lamella as ms
        >>> from lamella.legacy.replay import BufferAppend
        >>> data = [ms.Parameter(ms.ops.zeros((3, 2)), name="state")]
        >>> count, head = (ms.Parameter(ms.Tensor(0, ms.int32), name=n) for n in ("count", "head"))
        >>> append = BufferAppend(3, [(2,)], [ms.float32])
        >>> for n in range(4):
        ...     append(data, [ms.Tensor([float(n)] * 2)], count, head)
        >>> print(data[0].asnumpy()[:, 0], count.asnumpy(), head.asnumpy())
        [3. 1. 2.] 3 1
    """

    def __call__(self, data: Any, exp: Any, count: Any, head: Any) -> None:
        self._columns(data)
        rows = self._rows(data, exp)
        held, first = self._number(count, "count"), self._number(head, "head")
        new = rows[0].shape[0] if rows else 0
        require(new <= self.capacity, ValueError,
                f"For '{self.name}', 'exp' must have at most {self.capacity} rows, but got {new}.")
        where = (first + held + torch.arange(new, device=held.device)) % self.capacity
        for column, given in zip(data, rows, strict=True):
            _put(column, where, given, self.name)
        total = held + new
        over = (total - self.capacity).clamp(min=0)
        for variable, raw in ((count, total - over), (head, (first + over) % self.capacity)):
            assign(variable, wrap(raw.to(variable._raw.dtype).reshape(variable.shape)))

    def _rows(self, data: Any, exp: Any) -> list[torch.Tensor]:
        """The rows for each column, of shape (N, ...)."""
        of_type(exp, (tuple, list), "exp", self.name)
        require(len(exp) == len(data), ValueError,
                f"For '{self.name}', 'exp' must have {len(data)} Tensors, but got {len(exp)}.")
        rows = []
        for given, column, shape in zip(exp, data, self.buffer_shape, strict=True):
            raw = raw_of(given, self.name, "exp")
            if raw.dim() == len(shape):
                raw = raw.unsqueeze(0)
            require(tuple(raw.shape[1:]) == shape, ValueError,
                    f"For '{self.name}', a row in 'exp' must have the shape {shape}, but got "
                    f"{given.shape}.")
            require(raw.dtype == column._raw.dtype, TypeError,
                    f"For '{self.name}', 'exp' must have the type of 'data', {column.dtype}, but "
                    f"got {given.dtype}.")
            rows.append(raw)
        require(len({raw.shape[0] for raw in rows}) < 2, ValueError,
                f"For '{self.name}', the Tensors in 'exp' must have as many rows as each other, "
                f"but got {[raw.shape[0] for raw in rows]}.")
        return rows


def _put(column: Any, where: torch.Tensor, rows: torch.Tensor, name: str) -> None:
    store(column, lambda old: old.index_copy(0, where, rows), name,
          lambda old: old.index_copy_(0, where, rows))


class BufferGetItem(_Buffer):
    """A row of a replay buffer, counted from the oldest; below 0 from the newest.

    Args:
        capacity, buffer_shape, buffer_dtype: as `BufferAppend` takes them.

    Inputs:
        - **data**, **count**, **head** - the buffer, as `BufferAppend` takes it.
        - **index** - an int or a Tensor of one integer.

    Outputs:
        A tuple with the row of each column.

    Raises:
        ValueError: if `index` is not below `count`.

    Examples:
        >>> import lamella as ms
        >>> from lamella.legacy.replay import BufferGetItem
        >>> data = [ms.Parameter(ms.Tensor([[3.0], [1.0], [2.0]]), name="state")]
        >>> count, head = (ms.Parameter(ms.Tensor(n, ms.int32), name=str(n)) for n in (3, 1))
        >>> get = BufferGetItem(3, [(1,)], [ms.float32])
        >>> print(get(data, count, head, 0)[0], get(data, count, head, -1)[0])
        [1.] [3.]
    """

    def __call__(self, data: Any, count: Any, head: Any, index: Any) -> tuple[Tensor, ...]:
        columns = self._columns(data)
        held, first = self._number(count, "count"), self._number(head, "head")
        at = self._number(index if isinstance(index, Tensor) else Tensor(index), "index")
        require_values((at < held) & (at >= -held),
                       f"For '{self.name}', 'index' must be one of the buffer's rows, whose number "
                       f"'count' says.")
        row = (first + torch.where(at < 0, at + held, at)) % self.capacity
        return tuple([wrap(raw.index_select(0, row.reshape(1))[0]) for raw in columns])


class BufferSample(_Buffer):
    """Random rows of a replay buffer.

    Args:
        capacity, buffer_shape, buffer_dtype: as `BufferAppend` takes them.
        batch_size: how many rows, at most `capacity`.
        seed: of the operator; 0 means the default generator.
        unique: let no row come twice.

    Inputs:
        - **data**, **count**, **head** - the buffer, as `BufferAppend` takes it.

    Outputs:
        A tuple with the rows of each column, of shape (batch_size, ...).

    Raises:
        ValueError: if the buffer is empty, or with `unique` holds fewer rows than `batch_size`.

    Examples:
        >>> import lamella as ms
        >>> from lamella.legacy.replay import BufferSample
        >>> data = [ms.Parameter(ms.Tensor([[3.0], [1.0], [2.0]]), name="state")]
        >>> count, head = (ms.Parameter(ms.Tensor(n, ms.int32), name=str(n)) for n in (3, 1))
        >>> sample = BufferSample(3, 3, [(1,)], [ms.float32], unique=True)
        >>> print(sample(data, count, head)[0].sum())
        6.0
    """

    def __init__(self, capacity: int, batch_size: int, buffer_shape: Sequence[Sequence[int]],
                 buffer_dtype: Sequence[Any], seed: int = 0, unique: bool = False):
        super().__init__(capacity, buffer_shape, buffer_dtype)
        positive_int(batch_size, "batch_size", self.name)
        require(batch_size <= capacity, ValueError,
                f"For '{self.name}', 'batch_size' must be at most 'capacity', {capacity}, but got "
                f"{batch_size}.")
        int_at_least_0(seed, "seed", self.name)
        of_type(unique, bool, "unique", self.name)
        for what, value in (("batch_size", batch_size), ("seed", seed), ("unique", unique)):
            self.add_prim_attr(what, value)

    def __call__(self, data: Any, count: Any, head: Any) -> tuple[Tensor, ...]:
        columns = self._columns(data)
        held, first = self._number(count, "count"), self._number(head, "head")
        least = self.batch_size if self.unique else 1
        require_values(held >= least,
                       f"For '{self.name}', the buffer must hold at least {least} rows.")
        stream = own_stream(self, self.seed, 0)
        if self.unique:  # the rows that drew the smallest numbers; those that aren't there none
            drawn = draw("rand", (self.capacity,), torch.float32, stream)
            there = torch.arange(self.capacity, device=drawn.device) < held
            rows = torch.where(there, drawn, 2.0).topk(self.batch_size, largest=False).indices
        else:
            drawn = draw("rand", (self.batch_size,), torch.float64, stream)
            rows = (drawn * held).long()
        where = (first + rows) % self.capacity
        return tuple([wrap(raw.index_select(0, where)) for raw in columns])
