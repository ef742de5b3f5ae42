"""The processes, and groups of them."""

from __future__ import annotations

import datetime
import hashlib
import os
from typing import Any
from urllib.parse import urlsplit

from ...communication import groups, joining
from ...communication.store import TCPStore
from ...core.errors import describe
from ...core.require import of_type

__all__ = ["destroy_process_group", "get_backend", "get_global_rank", "get_group_rank",
           "get_process_group_ranks", "get_rank", "get_world_size", "init_process_group",
           "is_available", "is_initialized", "new_group"]


def is_available() -> bool:
    """Whether processes can communicate here: always."""
    return True


def is_initialized() -> bool:
    """Whether `init_process_group` or `communication.init` has been called."""
    return groups.GlobalComm.INITED


def init_process_group(backend: str = "hccl", init_method: str | None = None,
                       timeout: Any = None, world_size: int = -1, rank: int = -1, store: Any = None,
                       group_name: str = "", pg_options: Any = None, device_id: Any = None) -> None:
    """Join the processes: those that a launcher has started, or as the arguments say.

    Args:
        backend: ``"hccl"``, ``"nccl"`` or ``"mccl"``; what carries messages follows the device.
        init_method: ``"env://"``, or ``"tcp://host:port"``, where the processes meet.
        world_size, rank: how many there are, and which this is; given together.
        timeout: a timedelta: how long an exchange may wait for another process; default 30 minutes.
        group_name, pg_options, device_id: accepted, without effect.
        store: a `TCPStore` in which the processes meet, in place of `init_method`; needs
            `world_size` and `rank`.

    Raises:
        ValueError: if `init_method` is of another form, only one of `world_size` and `rank` is
            given, or both or neither of them with a `store`.
        TypeError: if `timeout` is no timedelta, or `store` no `TCPStore`.
        RuntimeError: if the processes can't be joined.

    Examples:
        >>> from lamella.mint import distributed
        >>> distributed.init_process_group("mccl")
        >>> distributed.get_rank(), distributed.get_world_size()
        (0, 1)
        >>> distributed.destroy_process_group()
    """
    for name, number in (("world_size", world_size), ("rank", rank)):
        if type(number) is not int:
            raise TypeError(f"For 'init_process_group', '{name}' must be an int, "
                            f"but got {describe(number)}.")
    if init_method is not None and not isinstance(init_method, str):
        raise TypeError(f"For 'init_process_group', 'init_method' must be a str, "
                        f"but got {describe(init_method)}.")
    if store is not None:
        of_type(store, TCPStore, "store", "init_process_group")
        if init_method is not None or world_size <= 0:
            raise ValueError("For 'init_process_group', a 'store' comes with 'world_size' and "
                             "'rank', and without 'init_method'.")
        joining.meet_in(store.store)
    if timeout is not None:
        of_type(timeout, datetime.timedelta, "timeout", "init_process_group")
        joining.wait_for(timeout)
    if (world_size < 0) != (rank < 0):
        raise ValueError(f"For 'init_process_group', 'world_size' and 'rank' must be given "
                         f"together, but got {world_size} and {rank}.")
    if world_size > 0:
        os.environ["WORLD_SIZE"], os.environ["RANK"] = str(world_size), str(rank)
    if init_method is not None and init_method != "env://":
        where = urlsplit(init_method)
        if where.scheme != "tcp" or not where.hostname or not where.port:
            raise ValueError(f"For 'init_process_group', 'init_method' must be 'env://' or "
                             f"'tcp://host:port', but got {init_method!r}.")
        os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = where.hostname, str(where.port)
    groups.init(backend)


def _named(group: Any) -> Any:
    """The name of a group, the world's for None and an empty name."""
    return groups.GlobalComm.WORLD_COMM_GROUP if group is None or (
        isinstance(group, str) and not group) else group


def destroy_process_group(group: str | None = None) -> None:
    """Leave the other processes; with `group`, take away that group only."""
    if group is None:
        groups.release()
    else:
        groups.destroy_group(group)


def get_rank(group: str | None = None) -> int:
    """This process's rank in a group; -1 if it is not one of its processes."""
    return groups.get_rank(_named(group))


def get_world_size(group: str | None = None) -> int:
    """The number of a group's processes; -1 if this process is not one of them."""
    name = _named(group)
    return groups.get_group_size(name) if groups.get_rank(name) >= 0 else -1


def new_group(ranks: list[int] | None = None, timeout: Any = None, backend: Any = None,
              pg_options: Any = None, use_local_synchronization: bool = False,
              group_desc: str | None = None) -> str:
    """Make a group of some processes, all if `ranks` is None; each process has to call it.

    Returns:
        The group's name.
    """
    if ranks is None:
        ranks = groups.get_process_group_ranks()
    if not isinstance(ranks, (list, tuple, range)):
        raise TypeError(f"For 'new_group', 'ranks' must be a list, but got {describe(ranks)}.")
    name = "-".join(map(str, ranks))
    if len(name) > 60:
        name = hashlib.sha1(name.encode()).hexdigest()
    groups.create_group(name, ranks)
    return name


def get_backend(group: str | None = None) -> str:
    """The name that the communication library goes by."""
    groups.group_of(group, "get_backend")
    return groups.GlobalComm.BACKEND


def get_global_rank(group: str | None, group_rank: int) -> int:
    """The rank in the world of a group's process."""
    return groups.get_world_rank_from_group_rank(
        _named(group), group_rank)


def get_group_rank(group: str | None, global_rank: int) -> int:
    """The rank in a group of a process of the world."""
    return groups.get_group_rank_from_world_rank(
        global_rank, _named(group))


def get_process_group_ranks(group: str | None = None) -> list[int]:
    """The ranks in the world of a group's processes."""
    return groups.get_process_group_ranks(_named(group))
