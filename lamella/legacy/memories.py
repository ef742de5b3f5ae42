"""Primitives of replay buffers that have a handle: by priority, and reservoir sampling.

No graph can hold them: a compiled function that calls them runs eagerly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ..core.dtype import to_raw
from ..core.outside import outside
from ..core.require import int_at_least_0, of_type, positive_int, within
from ..ops.arguments import raw_of, raw_or_number, require
from ..ops.primitive import Primitive
from ..tensors.random import fresh_generator
from ..tensors.tensor import Tensor, wrap
from .handles import Handles

__all__ = [
    "PriorityReplayBufferCreate", "PriorityReplayBufferDestroy", "PriorityReplayBufferPush",
    "PriorityReplayBufferSample", "PriorityReplayBufferUpdate", "ReservoirReplayBufferCreate",
    "ReservoirReplayBufferDestroy", "ReservoirReplayBufferPush", "ReservoirReplayBufferSample",
]


class _Rows:
    """Rows of several columns, at most `capacity`, and how many came in all."""

    def __init__(self, owner: Primitive):
        self.capacity: int = owner.capacity
        self.columns = [torch.zeros((self.capacity, *shape), dtype=to_raw(kind))
                        for shape, kind in zip(owner.shapes, owner.dtypes, strict=True)]
        self.came = 0
        self.generator = fresh_generator(owner, owner.seed0, owner.seed1)

    @property
    def held(self) -> int:
        return min(self.came, self.capacity)

    def put(self, place: int, row: Any, name: str) -> None:
        of_type(row, (tuple, list), "transition", name)
        raws = [raw_of(one, name, "transition") for one in row]
        wanted = [tuple(column.shape[1:]) for column in self.columns]
        require([tuple(raw.shape) for raw in raws] == wanted, ValueError,
                f"For '{name}', 'transition' must have the shapes {wanted}, but got "
                f"{[tuple(raw.shape) for raw in raws]}.")
        for column, raw in zip(self.columns, raws, strict=True):
            column[place] = raw.detach()

    def take(self, places: torch.Tensor) -> tuple[Tensor, ...]:
        return tuple([wrap(column[places]) for column in self.columns])

    def drawn(self, count: int) -> torch.Tensor:
        """Numbers in [0, 1), float64."""
        return torch.rand(count, dtype=torch.float64, generator=self.generator)

    def check_some(self, name: str) -> None:
        require(self.came > 0, RuntimeError, f"For '{name}', the buffer is empty.")


class _Prioritized(_Rows):
    """Rows with priorities; row i is drawn with probability p_i^alpha / sum_j p_j^alpha."""

    def __init__(self, owner: Primitive):
        super().__init__(owner)
        self.alpha: float = owner.alpha
        self.priorities = np.zeros(self.capacity)  # each to the power of alpha
        self.highest = 1.0  # what a new row gets, so that each is drawn soon

    def push(self, row: Any, name: str) -> None:
        place = self.came % self.capacity
        self.put(place, row, name)
        self.priorities[place] = self.highest
        self.came += 1

    def sample(self, count: int, beta: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Places, and weights (N P(i))^-beta over the largest, which undo the bias."""
        sums = np.cumsum(self.priorities[:self.held])
        # a draw from each of `count` equal parts of the whole (Schaul et al., 2016, B.2.1)
        where = (np.arange(count) + self.drawn(count).numpy()) / count * sums[-1]
        places = np.minimum(np.searchsorted(sums, where, side="right"), self.held - 1)
        weights = self.priorities[places] ** -beta  # what N and the sum would add cancels out
        return (torch.from_numpy(places),
                torch.from_numpy(weights / weights.max()).to(torch.float32))

    def update(self, indices: Any, priorities: Any, name: str) -> None:
        places = raw_or_number(indices).reshape(-1).numpy()
        values = raw_or_number(priorities).detach().reshape(-1).double().numpy()
        require(places.size == values.size, ValueError,
                f"For '{name}', 'indices' and 'priorities' must be as many, but got "
                f"{places.size} and {values.size}.")
        require(bool(np.all((places >= 0) & (places < self.held))), ValueError,
                f"For '{name}', 'indices' must be 0 or more and below {self.held}, the number of "
                f"rows.")
        require(bool(np.all(values >= 0)), ValueError,
                f"For '{name}', 'priorities' must be 0 or more.")
        self.priorities[places] = values ** self.alpha
        self.highest = max(self.highest, float(self.priorities[places].max(initial=0.0)))


class _Reservoir(_Rows):
    """A sample of all rows that came, each with the same probability (Vitter, 1985, R)."""

    def push(self, row: Any, name: str) -> None:
        place = self.came
        if place >= self.capacity:
            place = int(self.drawn(1).item() * (self.came + 1))
        if place < self.capacity:
            self.put(place, row, name)
        self.came += 1


_prioritized: Handles[_Prioritized] = Handles("PriorityReplayBuffer", (1,))
_reservoirs: Handles[_Reservoir] = Handles("ReservoirReplayBuffer", (1,))


class _Create(Primitive):
    """Keeps the form of a new buffer's rows."""

    def _describe(self, capacity: int, shapes: Any, dtypes: Any, seed0: int, seed1: int) -> None:
        name = type(self).__name__
        super().__init__(name)
        positive_int(capacity, "capacity", name)
        of_type(shapes, (tuple, list), "shapes", name)
        of_type(dtypes, (tuple, list), "dtypes", name)
        require(len(shapes) == len(dtypes), ValueError,
                f"For '{name}', 'shapes' and 'dtypes' must be of one length, but got "
                f"{len(shapes)} and {len(dtypes)}.")
        for what, value in (("capacity", capacity), ("shapes", shapes), ("dtypes", dtypes),
                            ("seed0", int_at_least_0(seed0, "seed0", name)),
                            ("seed1", int_at_least_0(seed1, "seed1", name))):
            self.add_prim_attr(what, value)


class PriorityReplayBufferCreate(_Create):
    """Makes a buffer whose rows are drawn by their priorities; its handle, int64, shape (1,).

    Args:
        capacity: how many rows it can hold; then each new one takes the place of the oldest.
        alpha: how much priorities count, from 0 (not at all) to 1.
        shapes, dtypes: of the columns of a row.
        seed0, seed1: of the draws; 0 for both follows `set_seed`.

    Raises:
        TypeError: if an argument has a wrong type.
        ValueError: if a number is out of range.

    Examples:
        >>> import lamella as ms
        >>> from lamella.legacy import memories
        >>> handle = memories.PriorityReplayBufferCreate(4, 1.0, [(1,)], [ms.float32], 0, 0)()
        >>> push = memories.PriorityReplayBufferPush(handle.item())
        >>> for n in range(3):
        ...     _ = push((ms.Tensor([float(n)]),))
        >>> update = memories.PriorityReplayBufferUpdate(handle.item())
        >>> _ = update(ms.Tensor([0, 1, 2]), ms.Tensor([0.0, 0.0, 1.0]))
        >>> sample = memories.PriorityReplayBufferSample(handle.item(), 2, [(1,)], [ms.float32])
        >>> print(*sample(1.0)[:2])
        [2 2] [1. 1.]
    """

    def __init__(self, capacity: int, alpha: float, shapes: Any, dtypes: Any, seed0: int,
                 seed1: int):
        self._describe(capacity, shapes, dtypes, seed0, seed1)
        self.add_prim_attr("alpha", within(alpha, 0, 1, "[]", "alpha", self.name))

    @outside
    def __call__(self) -> Tensor:
        return _prioritized.add(_Prioritized(self))


class ReservoirReplayBufferCreate(_Create):
    """Makes a buffer that is a fair sample of all rows that came; its handle, int64, shape (1,).

    Args:
        capacity: how many rows it can hold.
        shapes, dtypes: of the columns of a row.
        seed0, seed1: of the draws; 0 for both follows `set_seed`.

    Raises:
        TypeError: if an argument has a wrong type.
        ValueError: if a number is out of range.
    """

    def __init__(self, capacity: int, shapes: Any, dtypes: Any, seed0: int, seed1: int):
        self._describe(capacity, shapes, dtypes, seed0, seed1)

    @outside
    def __call__(self) -> Tensor:
        return _reservoirs.add(_Reservoir(self))


class _OfHandle(Primitive):
    """A Primitive of one buffer."""

    kept: Handles[Any] = _prioritized

    def __init__(self, handle: int):
        super().__init__(type(self).__name__)
        self.add_prim_attr("handle", int_at_least_0(handle, "handle", self.name))

    def _handle(self) -> Tensor:
        return wrap(torch.tensor([self.handle]))


class PriorityReplayBufferPush(_OfHandle):
    """Puts a row, a tuple of Tensors, into a buffer; its handle."""

    @outside
    def __call__(self, transition: Any) -> Tensor:
        self.kept.get(self.handle, self.name).push(transition, self.name)
        return self._handle()


class ReservoirReplayBufferPush(PriorityReplayBufferPush):
    """Puts a row, a tuple of Tensors, into a reservoir, or not; its handle."""

    kept = _reservoirs


class PriorityReplayBufferUpdate(_OfHandle):
    """Gives rows new priorities: ``(indices, priorities)``; the buffer's handle."""

    @outside
    def __call__(self, indices: Any, priorities: Any) -> Tensor:
        self.kept.get(self.handle, self.name).update(indices, priorities, self.name)
        return self._handle()


class PriorityReplayBufferDestroy(_OfHandle):
    """Gives a buffer up; its handle, which is no longer valid."""

    @outside
    def __call__(self) -> Tensor:
        self.kept.remove(self.handle, self.name)
        return self._handle()


class ReservoirReplayBufferDestroy(PriorityReplayBufferDestroy):
    """Gives a reservoir up; its handle, which is no longer valid."""

    kept = _reservoirs


class _Sample(_OfHandle):
    """Draws rows."""

    def __init__(self, handle: int, batch_size: int, shapes: Sequence[Any], dtypes: Sequence[Any]):
        super().__init__(handle)
        self.add_prim_attr("batch_size", positive_int(batch_size, "batch_size", self.name))
        self.add_prim_attr("shapes", shapes).add_prim_attr("dtypes", dtypes)


class PriorityReplayBufferSample(_Sample):
    """Rows drawn by their priorities: places (int64), weights (float32), and the columns.

    Inputs:
        - **beta** - how much the weights undo the draws' bias, from 0 (not at all) to 1.

    Raises:
        RuntimeError: if the buffer is empty.
    """

    @outside
    def __call__(self, beta: Any) -> tuple[Tensor, ...]:
        buffer = self.kept.get(self.handle, self.name)
        buffer.check_some(self.name)
        places, weights = buffer.sample(self.batch_size, float(beta))
        return (wrap(places), wrap(weights), *buffer.take(places))


class ReservoirReplayBufferSample(_Sample):
    """Rows of a reservoir, each with the same probability: the columns.

    Raises:
        RuntimeError: if the reservoir is empty.
    """

    kept = _reservoirs

    @outside
    def __call__(self) -> tuple[Tensor, ...]:
        buffer = self.kept.get(self.handle, self.name)
        buffer.check_some(self.name)
        return buffer.take((buffer.drawn(self.batch_size) * buffer.held).long())
