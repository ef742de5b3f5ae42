"""The worker processes of a `DataLoader`, and `get_worker_info`."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch.utils.data

from ...tensors.random import manual_seed, set_seed
from .fetching import Fetcher


class WorkerInfo:
    """What a worker process knows: its `id`, `num_workers`, its `seed` and its `dataset`."""

    id: int
    num_workers: int
    seed: int
    dataset: Any

    def __init__(self, id: int, num_workers: int, seed: int, dataset: Any):
        self.__dict__.update(id=id, num_workers=num_workers, seed=seed, dataset=dataset)

    def __setattr__(self, name: str, value: Any) -> None:
        raise RuntimeError("Cannot modify the attributes of WorkerInfo object after "
                           "initialization.")

    def __repr__(self) -> str:
        return "WorkerInfo: {" + ", ".join(f"{k}: {v}" for k, v in self.__dict__.items()) + "}"


_info: WorkerInfo | None = None


def get_worker_info() -> Any:
    """What this worker process knows of itself; None if it isn't a `DataLoader`'s.

    Returns:
        An object with `id`, `num_workers`, `seed` and `dataset`, the process's own copy; or None.

    Examples:
        >>> print(get_worker_info())
        None
    """
    return _info


class Failed:
    """An error that is sent to the main process as text: its type might not be picklable."""

    def __init__(self, worker: int, error: Exception):
        self.text = (f"DataLoader worker {worker} (pid: {os.getpid()}) caught "
                     f"{type(error).__name__} with message:\n"
                     + "".join(traceback.format_exception(error)))


class Start:
    """Called in each worker before anything else: its streams of random numbers, then the user's.

    Args:
        base_seed: worker k has `random`, NumPy and Lamella seeded from ``base_seed`` and k.
        then: the user's function of the worker's number, or None.
    """

    def __init__(self, base_seed: int, then: Callable[[int], None] | None):
        self.base_seed, self.then = base_seed, then

    def __call__(self, worker: int) -> None:
        global _info
        given: Any = torch.utils.data.get_worker_info()
        seed = self.base_seed + worker
        set_seed(seed & 0xFFFFFFFF)
        manual_seed(seed)
        words = [worker, self.base_seed & 0xFFFFFFFF, self.base_seed >> 32, 0]
        np.random.seed(np.random.SeedSequence(words).generate_state(4))
        work = given.dataset
        _info = WorkerInfo(worker, given.num_workers, seed, work.fetcher.dataset)
        if self.then is not None:
            try:
                self.then(worker)
            except Exception as error:
                work.failed = Failed(worker, error)


class _Work:
    """What both kinds have: how samples are read, and an error of the start."""

    def __init__(self, fetcher: Fetcher):
        self.fetcher = fetcher
        self.failed: Failed | None = None

    def _checked(self, numbers: Any) -> Any:
        if self.failed is not None:
            return self.failed
        try:
            return self.fetcher.fetch(numbers)
        except StopIteration:
            raise
        except Exception as error:
            return Failed(_info.id if _info else 0, error)


class NumberedWork(_Work, torch.utils.data.Dataset):
    """Reads the samples whose numbers it is given."""

    def __getitem__(self, numbers: Any) -> Any:
        try:
            return self._checked(numbers)
        except StopIteration as error:
            return Failed(_info.id if _info else 0, error)


class StreamedWork(_Work, torch.utils.data.IterableDataset):
    """Reads samples one after the other, as many as `numbers` says each time."""

    def __init__(self, fetcher: Fetcher, numbers: Any):
        super().__init__(fetcher)
        self.numbers = numbers

    def __iter__(self) -> Iterator[Any]:
        try:
            self.fetcher.start()
        except Exception as error:
            yield Failed(_info.id if _info else 0, error)
            return
        for numbers in self.numbers:
            try:
                yield self._checked(numbers)
            except StopIteration:
                return


__all__ = ["Failed", "NumberedWork", "Start", "StreamedWork", "WorkerInfo", "get_worker_info"]
