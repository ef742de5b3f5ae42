"""Delays an optimizer's kernels in a dry run, so that they can be undone without copies.

A dry run is undone, for which the memory that a kernel mutates has to be copied before: for a
training step all weights and all states of the optimizer. But nothing reads these between the
update and the end of most steps. So an update waits for the first kernel that reads what it writes,
and without one it isn't run at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import torch

from ..ir.operations import Effects, tensors_in


class Update(NamedTuple):
    """A kernel that waits, with its arguments."""

    func: Any
    known: Effects
    args: tuple
    kwargs: dict


class Updates:
    """The updates that wait, in order."""

    def __init__(self) -> None:
        self._waiting: list[Update] = []
        self._read: set[int | None] = set()  # memory, by identity; None: unknown
        self._written: set[int | None] = set()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, update: Update) -> None:
        """Let a kernel wait."""
        self._waiting.append(update)
        self._read.update(_memory_of(tensors_in((update.args, update.kwargs))))
        self._written.update(_memory_of(written_by(*update[1:])))

    def are_needed_by(self, known: Effects, args: tuple, kwargs: dict) -> bool:
        """Whether a kernel with these side effects depends on the updates, or they on it."""
        if known.shared and not (known.written or known.may_be_view):
            return False  # a view
        given = set(_memory_of(tensors_in((args, kwargs))))
        return (None in given or not given.isdisjoint(self._written)
                or not self._read.isdisjoint(_memory_of(written_by(known, args, kwargs))))

    def change(self, raws: Iterable[torch.Tensor]) -> bool:
        """Whether the updates will change one of these tensors."""
        return not self._written.isdisjoint(_memory_of(raws))

    def taken(self) -> list[Update]:
        """The updates, which wait no longer."""
        found = self._waiting
        self.__init__()
        return found


def may_wait(func: Any) -> bool:
    """Whether a kernel is an optimizer's: it gives nothing, and changes whole lists."""
    return not func._schema.returns and func.__name__.startswith(("_fused_", "_foreach_"))


def run(updates: Iterable[Update], before: Callable[[Update], None]) -> None:
    """Run updates that have waited; `before` is called before each.

    The tape and other transformations have seen them when they were called.
    """
    with torch.no_grad(), torch._C._DisableFuncTorch():
        for update in updates:
            before(update)
            update.func(*update.args, **update.kwargs)


def written_by(known: Effects, args: tuple, kwargs: dict) -> Iterator[torch.Tensor]:
    """The tensors that a kernel with these side effects mutates."""
    return tensors_in(known.mutated(args, kwargs))


def _memory_of(raws: Iterable[torch.Tensor]) -> Iterator[int | None]:
    """The memory of tensors; None for a sparse one, and for one of another class."""
    for raw in raws:
        plain = type(raw) is torch.Tensor and raw.layout is torch.strided
        yield raw.untyped_storage()._cdata if plain else None
