"""The device mesh: the smallest number of axes that the strategies need.

What DTensor considers for an operator grows exponentially with the number of axes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

__all__ = ["arranged", "counts_of", "subset"]


def counts_of(strategy: Any) -> list[tuple[int, ...]]:
    """The number of parts along each dimension of each Tensor, for a strategy in any form."""
    if hasattr(strategy, "to_dict"):  # a Layout
        return [tuple(strategy.to_dict()["device_matrix"])]
    if not isinstance(strategy, (tuple, list)):
        return []
    if strategy and all(isinstance(each, int) for each in strategy):
        return [tuple(strategy)]
    return [counts for each in strategy for counts in counts_of(each)]


def subset(count: int, lengths: Sequence[int], candidates: Sequence[int]) -> list[int] | None:
    """The first of the candidate axes, by index, whose lengths have the product `count`, or None.

    Examples:
        >>> from lamella.parallel.axes import subset
        >>> subset(4, [2, 4, 2], [0, 1, 2])
        [0, 2]
    """
    if count == 1:
        return []
    for number, axis in enumerate(candidates):
        if count % lengths[axis] == 0:
            others = subset(count // lengths[axis], lengths, candidates[number + 1:])
            if others is not None:
                return [axis, *others]
    return None


def arranged(size: int, strategies: Sequence[tuple[int, ...]]) -> list[int]:
    """The lengths of the axes of the device mesh; one axis if there are no strategies.

    Args:
        size: the number of processes.
        strategies: for each Tensor, in how many parts its dimensions are cut.

    Examples:
        >>> from lamella.parallel.axes import arranged
        >>> arranged(1024, [(1, 8), (128, 1)])
        [8, 128]
    """
    lengths = [size]
    for counts in strategies:
        lengths = _refined(lengths, counts)
    return lengths


def _refined(lengths: list[int], counts: Sequence[int]) -> list[int]:
    """The axes, some of them split in two so that each count has its own axes, if possible."""
    free = list(range(len(lengths)))
    for count in counts:
        found = subset(count, lengths, free)
        while found is None:
            cut = next((axis for axis in free if 1 < math.gcd(count, lengths[axis])
                        < lengths[axis]), None)
            if cut is None:
                return lengths  # no mesh fits; the error is raised later
            part = math.gcd(count, lengths[cut])
            lengths = [*lengths[:cut], part, lengths[cut] // part, *lengths[cut + 1:]]
            free = [axis + (axis > cut) for axis in free]
            free.insert(free.index(cut) + 1, cut + 1)
            found = subset(count, lengths, free)
        free = [axis for axis in free if axis not in found]
    return lengths
