"""Worker processes of pipelines, by PyTorch's DataLoader.

A worker gets a list of items (row numbers, or rows) and gives the rows it made of them. Arrays come
back through shared memory. Worker k has `random` and `np.random` seeded with seed + k, and its own
`Streams`; what they are afterwards comes back with the rows, if they were drawn from.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from . import config
from .errors import DataError, SkippedRow, in_user_code
from .order import Row
from .transforms.operation import Streams

_SHARED = 4096  # bytes from which on an array goes through shared memory
PIECE = 8  # rows that a worker makes at a time


class _Failed:
    """An error that is sent to the main process."""

    def __init__(self, text: str):
        self.text = text


class _Work(Dataset):
    """What a worker does; runs in it."""

    def __init__(self, make: Callable[[Any, Streams], Row], operations: list[Any], what: str):
        self.make, self.operations, self.what = make, operations, what
        self.streams: Streams | None = None
        self.last: Any = None
        self.share = config.get_enable_shared_mem()
        self.mode = config.get_error_samples_mode()

    def start(self, seed: int, state: Any) -> None:
        """Called in the worker before anything else."""
        self.streams = Streams(seed, self.operations)
        random.seed(seed)
        np.random.seed(seed & 0xFFFFFFFF)
        if state is not None:
            random.setstate(state[0])
            np.random.set_state(state[1])
            self.streams.restore(state[2])
        self.last = self._state()

    def _state(self) -> Any:
        assert self.streams is not None
        return random.getstate(), np.random.get_state(legacy=True), self.streams.state()

    def __getitem__(self, items: Any) -> Any:
        assert self.streams is not None
        rows: list[Row | None] = []
        for item in items:
            try:
                rows.append(self.make(item, self.streams))
            except SkippedRow:
                rows.append(None)
            except DataError as error:
                return _Failed(str(error))
            except Exception as error:
                return _Failed(str(in_user_code(self.what, error)))
        return [None if row is None else [self._sent(v) for v in row] for row in rows], \
            self._changed()

    def _sent(self, array: Any) -> Any:
        if (not self.share or isinstance(array, dict) or array.dtype.kind in "USO"
                or array.nbytes < _SHARED):
            return array
        array = np.ascontiguousarray(array)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of arrays that can't be written to
            return torch.from_numpy(array)

    def _changed(self) -> Any:
        state, last = self._state(), self.last
        same = (state[0] == last[0] and state[1][2] == last[1][2] and state[2].keys() ==
                last[2].keys() and np.array_equal(state[1][1], last[1][1]) and not state[2])
        if same:
            return None
        self.last = state
        return state


def _as_it_is(result: Any) -> Any:
    return result


class _Stream:
    """The items of the epoch that is read now, as the DataLoader asks for them."""

    def __init__(self) -> None:
        self.items: Iterable[Any] = ()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)


class Processes:
    """Worker processes that live as long as a reading of a pipeline.

    Args:
        make: makes a row of an item, in the worker.
        operations: those that draw random numbers in `make`.
        what: what failed, in errors.
        workers: how many processes.
        seed: worker k starts from seed + k.
        states: of the workers, to go on from.
    """

    def __init__(self, make: Callable[[Any, Streams], Row], operations: list[Any], what: str,
                 workers: int, seed: int, states: list[Any] | None = None):
        self.stream, self.workers = _Stream(), workers
        self.states: list[Any] = list(states) if states else [None] * workers
        given = self.states

        def start(worker: int) -> None:
            info: Any = torch.utils.data.get_worker_info()
            info.dataset.start(seed + worker, given[worker])

        self.loader: Any = DataLoader(
            _Work(make, operations, what), batch_size=None, sampler=self.stream,  # type: ignore
            num_workers=workers, worker_init_fn=start, persistent_workers=True,
            multiprocessing_context=config.get_multiprocessing_start_method(),
            timeout=config.get_multiprocessing_timeout_interval(), prefetch_factor=2,
            collate_fn=_as_it_is,
            generator=torch.Generator())  # so that PyTorch's own stream isn't drawn from
        self.running: Any = None

    def rows(self, items: Iterator[Any], turn: int) -> Iterator[tuple[Row | None, bool]]:
        """The rows of `items`, in order; item i is worker (turn + i) mod W's.

        Yields:
            The row, None if it is left out, and whether the workers' states stand right after it.
        """
        self.stream.items = self._dealt(items, turn)
        self.sizes: list[int] = []
        self.running = iter(self.loader)
        parts: list[Any] = []
        for result in self.running:
            if isinstance(result, _Failed):
                raise DataError(result.text)
            parts.append(result)
            if len(parts) < self.workers:
                continue
            size = self.sizes.pop(0)
            for number in range(size):
                place, worker = divmod(number, self.workers)
                row = parts[(turn + worker) % self.workers][0][place]
                last = number == size - 1
                if last:
                    self.states = [state or before for (_, state), before
                                   in zip(parts, self.states, strict=True)]  # marks keep the list
                yield (None if row is None else tuple(
                    [v.numpy() if isinstance(v, torch.Tensor) else v for v in row])), last
            turn = (turn + size) % self.workers
            parts = []

    def _dealt(self, items: Iterator[Any], turn: int) -> Iterator[list[Any]]:
        size = PIECE * self.workers
        while True:
            block: list[Any] = []
            for item in items:
                block.append(item)
                if len(block) == size:
                    break
            if not block:
                return
            self.sizes.append(len(block))
            for worker in range(self.workers):
                yield block[(worker - turn) % self.workers::self.workers]
            turn = (turn + len(block)) % self.workers

    def close(self) -> None:
        """End the processes."""
        running, self.running = self.running, None
        if running is not None:
            running._shutdown_workers()
        self.loader = None
