"""`sync_wait` and `device_que`: a pipeline that waits for the program, or sends to a device."""

from __future__ import annotations

import itertools
import queue
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import config
from .checks import string
from .iterators import TupleIterator
from .node import Dataset
from .order import Row, Table
from .state import Run


class SyncWaitDataset(Dataset):
    """The dataset that `Dataset.sync_wait` gives."""

    def __init__(self, child: Dataset, condition_name: str, num_batch: int = 1,
                 callback: Callable[..., Any] | None = None):
        super().__init__(child)
        config.refuse_independent("Dataset sync wait")
        string("sync_wait", "condition_name", condition_name)
        if isinstance(num_batch, bool) or not isinstance(num_batch, int) or num_batch < 1:
            raise ValueError("num_batch need to be greater than 0. For 'sync_wait', it is "
                             f"{num_batch!r}.")
        if callback is not None and not callable(callback):
            raise TypeError(f"For 'sync_wait', 'callback' must be a function, but got "
                            f"{type(callback).__name__}.")
        if condition_name in child.get_sync_notifiers():
            raise RuntimeError(f"For 'sync_wait', there is a condition {condition_name!r} already.")
        self.condition_name, self.num_batch, self.callback = condition_name, num_batch, callback
        self.allowed, self.open = num_batch, False

    def _update(self, num_batch: int | None = None, data: Any = None) -> None:
        self.allowed += num_batch or self.num_batch
        if self.callback is not None:
            self.callback(data)

    def _rows(self, run: Run, skip: int = 0) -> Iterator[Row]:
        self.allowed = self.num_batch
        for number, row in enumerate(self.children[0]._rows(run, skip)):
            if number >= self.allowed and not self.open:
                raise RuntimeError(f"For 'sync_wait', row {number} was asked for before "
                                   f"sync_update({self.condition_name!r}) let it pass.")
            yield row

    def _count(self) -> int:
        return self.children[0].get_dataset_size()

    def get_sync_notifiers(self) -> dict[str, Any]:
        """The functions that `sync_update` calls, by condition."""
        return {**self.children[0].get_sync_notifiers(), self.condition_name: self._update}

    def is_sync(self) -> bool:
        """Whether a `sync_wait` is among the operations."""
        return True

    def disable_sync(self) -> None:
        """Disable the waiting: let all rows pass."""
        self.open = True
        super().disable_sync()


class TransferDataset(Dataset):
    """The dataset that `Dataset.device_que` gives: its rows go to a queue of this process."""

    def __init__(self, child: Dataset, send_epoch_end: bool = True,
                 create_data_info_queue: bool = False, queue_name: str = ""):
        super().__init__(child)
        self.queue_name = queue_name or f"{id(self):x}"
        self.rows: Iterator[Any] | None = None
        self.queue: queue.Queue[Any] = queue.Queue()
        self.fresh = child.fresh

    def _table(self) -> Table | None:
        return self.children[0]._table()

    def _numbers(self, run: Run, skip: int = 0) -> Iterator[np.ndarray]:
        return self.children[0]._numbers(run, skip)

    def _rows(self, run: Run, skip: int = 0) -> Iterator[Row]:
        return iter(self.children[0]._rows(run, skip))

    def _count(self) -> int:
        return self.children[0].get_dataset_size()

    def create_dict_iterator(self, *args: Any, **kwargs: Any) -> Any:
        """Not possible.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError("TransferDataset is not iterable.")

    def create_tuple_iterator(self, *args: Any, **kwargs: Any) -> Any:
        """Not possible.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError("TransferDataset is not iterable.")

    def send(self, num_epochs: int = -1) -> None:  # type: ignore[override]
        """Start sending."""
        self.rows = TupleIterator(self.children[0], num_epochs)

    def receive(self) -> list[Any]:
        """The next row of what was sent; epochs follow one another."""
        if self.rows is None:
            raise RuntimeError("For 'device_que', 'send' must be called first.")
        for row in itertools.chain(self.rows, self.rows):
            return row
        raise StopIteration

    def stop_send(self) -> None:
        """Stop sending."""

    def continue_send(self) -> None:
        """Continue sending."""

    def get_data_info(self) -> tuple[list[Any], list[Any]]:
        """The types and shapes of a row."""
        return self.output_types(), self.output_shapes()

    def release(self) -> None:
        """Release the queue."""
        self.rows = None
