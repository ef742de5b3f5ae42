"""`DataLoader`: batches of a dataset, read here or by worker processes."""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from multiprocessing.context import BaseContext
from typing import Any

import numpy as np
import torch
import torch.utils.data

from ...core import context, log
from ...core.state import state
from ...tensors.tensor import Tensor
from .checks import check_not_negative, check_positive, check_type
from .dataset import IterableDataset
from .fetching import Fetcher
from .sampler import BatchSampler, InfiniteSampler, RandomSampler, SequentialSampler
from .worker import Failed, NumberedWork, Start, StreamedWork


class DataLoader:
    """Batches of a dataset.

    Args:
        dataset: a `Dataset` (anything with `__getitem__`), or an `IterableDataset`.
        batch_size: how many samples in a batch; None: give samples, not batches.
        shuffle: in random order, another one each epoch.
        sampler: gives the samples' numbers; instead of `shuffle`.
        batch_sampler: gives lists of numbers; instead of all of these and `drop_last`.
        num_workers: how many processes read; 0: this one does.
        collate_fn: makes a batch of a list of samples; default: `default_collate`, without
            batches `default_convert`.
        pin_memory: page-locked memory, for an accelerator.
        drop_last: leave out a last batch that isn't full.
        timeout: the seconds to wait for a worker's batch; 0: without limit.
        worker_init_fn: called in each worker with its number.
        multiprocessing_context: how workers are started, or a context of `multiprocessing`.
        generator: a `numpy.random.Generator` of the order and of the workers' seed.
        prefetch_factor: how many batches each worker reads ahead; default: 2.
        persistent_workers: let workers live from epoch to epoch.
        in_order: give batches in the order of the sampler, not as they are ready.

    Raises:
        TypeError, ValueError: for other arguments, or such as exclude each other.
        NotImplementedError: if the dataset has no `__getitem__`.

    Examples:
        >>> [batch.tolist() for batch in DataLoader(range(5), batch_size=2)]
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None,
                 sampler: Iterable | None = None, batch_sampler: Iterable | None = None,
                 num_workers: int = 0, collate_fn: Callable | None = None,
                 pin_memory: bool = False, drop_last: bool = False, timeout: float = 0.0,
                 worker_init_fn: Callable[[int], None] | None = None,
                 multiprocessing_context: Any = None,
                 generator: np.random.Generator | None = None, *,
                 prefetch_factor: int | None = None, persistent_workers: bool = False,
                 in_order: bool = True) -> None:
        streamed = isinstance(dataset, IterableDataset)
        if not streamed and not hasattr(dataset, "__getitem__"):
            raise NotImplementedError(f"{type(dataset).__name__} should implement __getitem__ "
                                      f"method if it is map style.")
        check_positive("batch_size", batch_size, optional=True)
        check_type("shuffle", shuffle, bool, optional=True)
        check_type("drop_last", drop_last, bool)
        chosen = {"shuffle": bool(shuffle), "sampler": sampler is not None}
        if streamed:
            _exclude("when dataset is iterable style", chosen,
                     batch_sampler=batch_sampler is not None)
        if shuffle and sampler is not None:
            raise ValueError("sampler cannot be specified with shuffle.")
        if batch_sampler is not None:
            _exclude("with batch_sampler", chosen, batch_size=batch_size != 1, drop_last=drop_last)
        check_not_negative("num_workers", num_workers, int)
        check_type("pin_memory", pin_memory, bool)
        check_not_negative("timeout", timeout, (int, float))
        check_type("generator", generator, np.random.Generator, optional=True)
        check_type("persistent_workers", persistent_workers, bool)
        check_type("in_order", in_order, bool)
        check_positive("prefetch_factor", prefetch_factor, optional=True)
        for name, given in (("multiprocessing_context", multiprocessing_context is not None),
                            ("prefetch_factor", prefetch_factor is not None),
                            ("persistent_workers", persistent_workers)):
            if given and num_workers == 0:
                raise ValueError(f"{name} must only be specified when num_workers is greater than "
                                 f"0, but got: 0.")
        check_type("multiprocessing_context", multiprocessing_context, (str, BaseContext), True)
        if isinstance(multiprocessing_context, str):
            multiprocessing_context = multiprocessing.get_context(multiprocessing_context)

        self.dataset, self.num_workers, self.collate_fn = dataset, num_workers, collate_fn
        self.pin_memory, self.timeout, self.worker_init_fn = pin_memory, timeout, worker_init_fn
        self.generator = generator if generator is not None else np.random.default_rng()
        self.persistent_workers, self.in_order = persistent_workers, in_order
        self.multiprocessing_context = multiprocessing_context
        self.prefetch_factor = prefetch_factor or (2 if num_workers else None)
        if sampler is None:
            if streamed:
                sampler = InfiniteSampler()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=self.generator)
            else:
                sampler = SequentialSampler(dataset)
        self.sampler, self.drop_last = sampler, drop_last
        if batch_sampler is not None:
            batch_size = None
        elif batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.batch_sampler = batch_size, batch_sampler
        self.index_sampler: Any = sampler if batch_sampler is None else batch_sampler
        self._loader: Any = None  # of persistent workers

    def __iter__(self) -> _Batches:
        fetcher = Fetcher(self.dataset, self.batch_sampler is not None, self.collate_fn,
                          self.drop_last)
        if self.num_workers == 0:
            fetcher.start()
            numbers = iter(self.index_sampler)
            return _Batches(self, _Here(fetcher, numbers))
        with warnings.catch_warnings():  # of the number of workers: said by `_workers`
            warnings.filterwarnings("ignore", message="This DataLoader will create")
            loader = self._workers(fetcher) if self._loader is None else self._loader
            if self.persistent_workers:
                self._loader = loader
            return _Batches(self, iter(loader))

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self.index_sampler)
        dataset: Any = self.dataset
        if self.batch_size is None:
            return len(dataset)
        whole, rest = divmod(len(dataset), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)

    def _workers(self, fetcher: Fetcher) -> Any:
        """PyTorch's loader, which starts the workers, deals out numbers and collects batches."""
        processors = (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity")
                      else os.cpu_count() or 1)
        if self.num_workers > processors:
            log.warning(f"DataLoader's num_workers is {self.num_workers}, but there are only "
                        f"{processors} processors: fewer workers may be faster.")
        start = Start(int(self.generator.integers(0, 2**63, dtype=np.int64)), self.worker_init_fn)
        work: Any = (StreamedWork(fetcher, self.index_sampler) if fetcher.streamed
                     else NumberedWork(fetcher))
        return torch.utils.data.DataLoader(
            work, batch_size=None, sampler=None if fetcher.streamed else self.index_sampler,
            num_workers=self.num_workers, collate_fn=_as_it_is, timeout=self.timeout,
            worker_init_fn=start, multiprocessing_context=self.multiprocessing_context,
            generator=torch.Generator(),  # so that PyTorch's own stream isn't drawn from
            prefetch_factor=self.prefetch_factor, in_order=self.in_order,
            persistent_workers=self.persistent_workers)


class _Here:
    """Batches read in this process."""

    def __init__(self, fetcher: Fetcher, numbers: Iterator[Any]):
        self.fetcher, self.numbers = fetcher, numbers

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self.fetcher.fetch(next(self.numbers))


class _Batches:
    """The batches of an epoch, from here or from workers."""

    def __init__(self, loader: DataLoader, results: Any):
        self.results, self.loader = results, loader
        self.pinned = loader.pin_memory and context.current_device().type != "cpu"
        if loader.pin_memory and not self.pinned:
            log.warning("Set pin_memory as True on CPU device will not have any effect.")

    def __iter__(self) -> Iterator[Any]:
        return self

    def __len__(self) -> int:
        return len(self.loader)

    def __next__(self) -> Any:
        if state.trace is not None:
            state.trace.refuse("reads a batch of a dataset")
        result = next(self.results)
        if isinstance(result, Failed):
            raise RuntimeError(result.text)
        return _pinned(result) if self.pinned else result


def _pinned(value: Any) -> Any:
    """Tensors in page-locked memory, in mappings and sequences or alone."""
    if isinstance(value, Tensor):
        return value.pin_memory()
    if isinstance(value, Mapping):
        return {key: _pinned(value[key]) for key in value}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_pinned, value))
    return [_pinned(part) for part in value] if isinstance(value, (list, tuple)) else value


def _as_it_is(result: Any) -> Any:
    return result


def _exclude(where: str, chosen: dict[str, bool], **more: bool) -> None:
    for name, given in {**chosen, **more}.items():
        if given:
            raise ValueError(f"{name} cannot be specified {where}.")


__all__ = ["DataLoader"]
