"""`DistributedSampler`: the part of the samples that one process reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .checks import check_type, length_of
from .sampler import Sampler


class DistributedSampler(Sampler[int]):
    """Every `num_replicas`-th sample, from `rank` on, of an order that all processes share.

    Args:
        dataset: the dataset; only its length is needed.
        num_replicas, rank: how many parts there are, and which this is; default: the group's.
        shuffle: in random order, another one each epoch (see `set_epoch`).
        seed: of the order.
        drop_last: leave out what makes parts unequal; else samples from the front are added.

    Raises:
        TypeError, ValueError: for other arguments.

    Examples:
        >>> list(DistributedSampler(range(10), num_replicas=3, rank=1, shuffle=False))
        [1, 4, 7, 0]
    """

    def __init__(self, dataset: Any, num_replicas: int | None = None, rank: int | None = None,
                 shuffle: bool = True, seed: int = 0, drop_last: bool = False) -> None:
        super().__init__(dataset)
        check_type("num_replicas", num_replicas, int, optional=True)
        check_type("rank", rank, int, optional=True)
        check_type("shuffle", shuffle, bool)
        check_type("seed", seed, int)
        check_type("drop_last", drop_last, bool)
        if num_replicas is None or rank is None:
            from ...mint import distributed  # a room that few programs need
            num_replicas = distributed.get_world_size() if num_replicas is None else num_replicas
            rank = distributed.get_rank() if rank is None else rank
        if num_replicas <= 0:
            raise ValueError(f"Invalid num_replicas: {num_replicas}, num_replicas must be greater "
                             f"than 0.")
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank: {rank}, rank must be in the interval "
                             f"[0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last, self.epoch = shuffle, seed, drop_last, 0
        whole, rest = divmod(length_of("dataset", dataset, type(self).__name__), num_replicas)
        self.num_samples = whole + (rest > 0 and not drop_last)
        self.total_samples = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        size = len(self.dataset)
        order = np.arange(size)
        if self.shuffle:
            order = np.random.default_rng(self.seed + self.epoch).permutation(size)
        # np.resize repeats from the front, or cuts.
        return iter(np.resize(order, self.total_samples)[self.rank::self.num_replicas].tolist())

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Give another order from now on.

        Args:
            epoch: the epoch's number.

        Raises:
            TypeError: if it isn't an int.
        """
        check_type("epoch", epoch, int)
        self.epoch = epoch
