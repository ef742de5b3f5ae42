"""Reading samples and making a batch of them: the same in a worker as in the main process."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from .collate import default_collate, default_convert
from .dataset import IterableDataset


class Fetcher:
    """Reads samples.

    Args:
        dataset: where from.
        batched: a list of samples at a time.
        collate_fn: what is made of them.
        drop_last: of an `IterableDataset`, leave out a last batch that isn't full.
    """

    def __init__(self, dataset: Any, batched: bool, collate_fn: Callable | None, drop_last: bool):
        self.dataset, self.batched, self.drop_last = dataset, batched, drop_last
        self.collate_fn = collate_fn or (default_collate if batched else default_convert)
        self.streamed = isinstance(dataset, IterableDataset)
        self.samples: Any = None

    def start(self) -> None:
        """Begin an epoch."""
        if self.streamed:
            self.samples = iter(self.dataset)

    def fetch(self, numbers: Any) -> Any:
        """A batch of the samples of these numbers; of a stream, of the next ones, as many.

        Raises:
            StopIteration: at the end of a stream.
        """
        if not self.streamed:
            data = ([self.dataset[number] for number in numbers] if self.batched
                    else self.dataset[numbers])
        elif self.batched:
            data = list(itertools.islice(self.samples, len(numbers)))
            if not data or (self.drop_last and len(data) < len(numbers)):
                raise StopIteration
        else:
            data = next(self.samples)
        return self.collate_fn(data)
