"""Whether all processes of a training make the same exchanges in the same order."""

from __future__ import annotations

from collections import defaultdict

import torch.distributed as dist

from ..core.require import one_of
from . import exchange
from .exchange import Exchange
from .groups import Group, group_of

__all__ = ["comm_exec_order_check"]

_seen: dict[str, list[str]] = defaultdict(list)  # by group: its exchanges since the start
_groups: dict[str, Group] = {}


def _note(made: Exchange) -> None:
    _seen[made.group.name].append(f"'{made.name}', {made.what}, at {exchange.program_line()}")
    _groups[made.group.name] = made.group


def comm_exec_order_check(action: str) -> None:
    """Compare the exchanges that processes make between two calls.

    Args:
        action: ``"start"`` begins to note them; ``"end"`` stops, and compares them within each
            group, for which all its processes have to call it.

    Raises:
        ValueError: if `action` is another one.
        RuntimeError: at the end, if the processes of a group differ, or it wasn't started; at the
            start, if it is running or something else watches the exchanges.

    Examples:
        >>> import lamella as ms
        >>> ms.comm_exec_order_check("start")
        >>> _ = ms.ops.AllReduce()(ms.Tensor([1.0]))
        >>> ms.comm_exec_order_check("end")
    """
    name = "comm_exec_order_check"
    if one_of(action, ("start", "end"), "action", name) == "start":
        if exchange.watcher is not None:
            raise RuntimeError(f"For '{name}', the exchanges are watched already.")
        _seen.clear()
        _groups.clear()
        exchange.watcher = _note
        return
    if exchange.watcher is not _note:
        raise RuntimeError(f"For '{name}', 'start' must come before 'end'.")
    exchange.watcher = None
    group_of(None, name)
    for group in sorted(_groups):
        _compare(name, _groups[group], _seen[group])


def _compare(name: str, group: Group, mine: list[str]) -> None:
    if group.size == 1:
        return
    every: list[list[str]] = [[]] * group.size
    dist.all_gather_object(every, mine, group.process_group)
    kinds = [[text.partition(", at ")[0] for text in one] for one in every]
    if all(one == kinds[0] for one in kinds):
        return
    place = next(i for i in range(max(map(len, kinds)))
                 if len({one[i] if i < len(one) else "" for one in kinds}) > 1)
    listing = "".join(f"\n  process {rank}: {one[place] if place < len(one) else 'none'}"
                      for rank, one in zip(group.ranks, every, strict=True))
    raise RuntimeError(f"For '{name}', the processes of group {group.name!r} made different "
                       f"exchanges, first as their number {place + 1}:{listing}")
