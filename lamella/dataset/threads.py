"""Worker threads, for operations whose kernels release the interpreter's lock."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from ..core.threads import own_this, workers


class Lanes:
    """Threads with a queue each: work of one lane runs in the order it was submitted.

    Args:
        count: how many.
    """

    def __init__(self, count: int):
        self.pools = [ThreadPoolExecutor(1, f"lamella-data-{k}", own_this) for k in range(count)]

    def submit(self, lane: int, function: Callable[..., Any], *args: Any) -> Future:
        """Have thread `lane` call a function."""
        return self.pools[lane].submit(_called, function, *args)

    is_closed = False

    def close(self) -> None:
        """End the threads; what hasn't begun is dropped."""
        self.is_closed = True
        for pool in self.pools:
            pool.shutdown(wait=False, cancel_futures=True)


def _called(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function, which may call the program's, while no run is tried that is undone."""
    entered = workers.enter()
    try:
        return function(*args)
    finally:
        if entered:
            workers.leave()


def ahead(blocks: Iterator[Any], start: Callable[[Any], Any],
          depth: Callable[[], int]) -> Iterator[Any]:
    """Work on some blocks ahead of the consumer, and yield what `start` gave, in order.

    Args:
        blocks: the blocks.
        start: starts the work on a block.
        depth: says how many blocks are worked on before they are asked for.
    """
    begun: collections.deque[Any] = collections.deque()
    for block in blocks:
        begun.append(start(block))
        if len(begun) > depth():
            yield begun.popleft()
    yield from begun
