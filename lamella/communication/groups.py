"""The world of processes, and communicator groups.

Without a launcher the world is one process: every function here works, and collectives return at
once. With one (its environment variables give the rank), `init` joins the processes by
torch.distributed: by NCCL on GPUs, by gloo on CPUs.
"""

from __future__ import annotations

import atexit
import gc
import os
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch.distributed as dist

from ..core import context
from ..core.docstrings import documented_like
from .backends import (
    HCCL_WORLD_COMM_GROUP,
    MCCL_WORLD_COMM_GROUP,
    NCCL_WORLD_COMM_GROUP,
    WORLD_NAMES,
    Backend,
    GlobalComm,
)
from .joining import LOCAL_SIZE, RANK, SIZE, join, join_simulated, number, patience, wait_for

__all__ = [
    "Backend", "GlobalComm", "HCCL_WORLD_COMM_GROUP", "MCCL_WORLD_COMM_GROUP",
    "NCCL_WORLD_COMM_GROUP", "create_group", "destroy_group", "get_comm_name",
    "get_group_rank_from_world_rank", "get_group_size", "get_local_rank", "get_local_rank_size",
    "get_process_group_ranks", "get_rank", "get_world_rank_from_group_rank", "init", "release",
]

class Group:
    """Processes that communicate with each other.

    Attributes:
        name: its name.
        ranks: the ranks of its processes in the world, ascending.
        rank: this process's place among them; -1 if it is not one of them.
        process_group: the group as torch.distributed has it; None where there is one process,
            and once the group has ended.
        beside: the second communicator that `beside` has made.
        messages: how many single messages there were, by their two ends and the program's tag.
        compares: whether its processes compare what they exchange; see `exchange`.
    """

    def __init__(self, name: str, ranks: Sequence[int], process_group: Any = None):
        self.name = name
        self.ranks = sorted(ranks)
        self.beside: Group | None = None
        self.messages: Counter[Any] = Counter()
        me = world_rank()
        self.rank = self.ranks.index(me) if me in self.ranks else -1
        self.process_group = process_group
        self.compares = (process_group is not None and self.rank >= 0
                         and os.environ.get("LAMELLA_CHECK_EXCHANGES") != "0"
                         and "cpu:gloo" in dist.get_backend_config(process_group).split(","))
        if process_group is not None:
            _joined.add(self)

    @property
    def has_ended(self) -> bool:
        """Whether its processes can't communicate any more."""
        return self.process_group is None and self.size > 1

    @property
    def size(self) -> int:
        """The number of its processes."""
        return len(self.ranks)


_joined: weakref.WeakSet[Group] = weakref.WeakSet()  # all that have communicators


def beside(group: Group) -> Group:
    """A second communicator for the same processes, for exchanges of another thread.

    Libraries such as NCCL don't support exchanges of several threads on one communicator. Each
    process of the group has to call this, at the same place in its order of exchanges.
    """
    if group.size == 1 or group.rank < 0:
        return group
    if group.beside is None:
        group.beside = Group(group.name, group.ranks, _second(group))
    return group.beside


def _second(group: Group) -> Any:
    """A second communicator, as torch.distributed has it.

    Processes find each other by its name. `new_group` makes names from the number of groups that a
    process is in, which differs between processes; so the name is made from the first one's.
    """
    c10d: Any = dist.distributed_c10d
    library, store = c10d._world.pg_map[c10d._get_default_group()]
    made, _ = c10d._new_process_group_helper(
        group.size, group.rank, group.ranks, dist.Backend(library), store,
        f"{group.process_group.group_name}_beside", timeout=patience())
    c10d._world.pg_group_ranks[made] = {rank: i for i, rank in enumerate(group.ranks)}
    return made


_groups: dict[str, Group] = {}
_ended = 0  # how many worlds have ended
_local_size = 1
_joined_here = False  # whether `init` joined the processes, and not the program itself
# called with the number of processes before they are joined; other rooms add their checks
checks: list[Callable[[int], None]] = []
# called when all groups end; they drop the communicators that other rooms hold
at_end: list[Callable[[], None]] = []


def init(backend_name: str | None = None) -> None:
    """Join the processes that a launcher has started; without a launcher, a world of one.

    Under ``lamella msrun --sim_level`` this is one process of a world whose others aren't there;
    see `communication.simulate`.

    An exchange that waits for another process for more than half an hour, or the seconds that the
    environment variable ``HCCL_EXEC_TIMEOUT`` says, raises a RuntimeError. Between CPUs, one that
    waits for more than 10 seconds (``LAMELLA_WAIT_NOTICE``) warns, with what the other processes
    wait for, and raises one if a process that it waits for has ended its program.

    Args:
        backend_name: ``"hccl"``, ``"nccl"``, ``"mccl"`` or None. It chooses the name of the world's
            group only: what carries the messages follows the device, NCCL for GPUs and gloo for
            CPUs.

    Raises:
        TypeError: if `backend_name` is no str.
        RuntimeError: if MindSpore has no library of that name, or the processes can't be joined.

    Examples:
        >>> from lamella import communication
        >>> communication.init()
        >>> communication.get_rank(), communication.get_group_size()
        (0, 1)
        >>> communication.release()
    """
    global _local_size, _joined_here
    if backend_name is None:
        target = context.get_context("device_target")
        backend_name = {"Ascend": "hccl", "GPU": "nccl"}.get(target, "mccl")
    if not isinstance(backend_name, str):
        raise TypeError(f"For 'init', the argument 'backend_name' must be a string, "
                        f"but got the type : {type(backend_name)}")
    if backend_name not in WORLD_NAMES:
        raise RuntimeError(f"For 'init', the argument 'backend_name' must be one of 'hccl', 'nccl' "
                           f"and 'mccl', but got 'backend_name' : {backend_name}")
    if GlobalComm.INITED:
        return
    size = dist.get_world_size() if dist.is_initialized() else number(*SIZE, default=1)
    for check in checks:
        check(size)
    if size > 1 and not dist.is_initialized():
        if int(os.environ.get("MS_SIMULATION_LEVEL") or -1) >= 0:
            join_simulated(number(*RANK), size)
        else:
            join(size)
        _joined_here = True
    ranks = range(size)
    _local_size = min(size, number(*LOCAL_SIZE, default=size))
    GlobalComm.BACKEND, GlobalComm.WORLD_COMM_GROUP = backend_name, WORLD_NAMES[backend_name]
    GlobalComm.INITED = True
    world = Group(GlobalComm.WORLD_COMM_GROUP, ranks, dist.group.WORLD if size > 1 else None)
    _groups.update(dict.fromkeys(WORLD_NAMES.values(), world))


def ended() -> int:
    """How many worlds have ended; users of groups notice by it that theirs has.

    It is the same in all processes: a group that is destroyed, which only its processes do, doesn't
    change it.
    """
    return _ended


@atexit.register
def release() -> None:
    """Leave the other processes; `init` may be called again afterwards."""
    global _local_size, _joined_here, _ended
    _groups.clear()
    # operators and graphs hold groups. A communicator's threads run until nothing holds it, and one
    # that frees a tensor while Python ends would abort the process
    for group in list(_joined):
        group.process_group = None
    for drop in at_end:
        drop()
    _ended += 1
    if _joined_here and dist.is_initialized():
        dist.destroy_process_group()
        gc.collect()
    _local_size, _joined_here = 1, False
    wait_for(None)
    GlobalComm.BACKEND, GlobalComm.WORLD_COMM_GROUP = Backend.HCCL, HCCL_WORLD_COMM_GROUP
    GlobalComm.INITED = False


def world_rank() -> int:
    """This process's rank in the world; before `init`, the rank that the launcher gives."""
    if dist.is_initialized():
        return dist.get_rank()
    return 0 if GlobalComm.INITED else number("RANK_ID")


def _is_initialized() -> bool:
    """Whether `init` has been called."""
    return GlobalComm.INITED


def _check_name(function: str, group: Any) -> None:
    if not isinstance(group, str):
        raise TypeError(f"For '{function}', the argument 'group' must be type of string, "
                        f"but got 'group' type : {type(group)}.")


def _check_ready(function: str) -> None:
    if not GlobalComm.INITED:
        raise RuntimeError(f"For '{function}', distributed communication has not been "
                           f"initialized. Please call `init()` first.")


def group_of(name: str | None, function: str) -> Group:
    """The group of a name, the world for None.

    Before `init` only the world is known, a world of one: operators can be made and called.

    Raises:
        RuntimeError: if there is no such group, or `init` has to be called first.
    """
    if name is None:
        name = GlobalComm.WORLD_COMM_GROUP
    _check_name(function, name)
    found = _groups.get(name)
    if found is not None:
        return found
    if name in WORLD_NAMES.values() and number(*SIZE, default=1) == 1:
        return Group(name, [0])
    _check_ready(function)
    raise RuntimeError(f"For '{function}', there is no communication group {name!r}. Known: "
                       f"{sorted(set(_groups))}; 'create_group' makes one.")


def get_rank(group: str = HCCL_WORLD_COMM_GROUP) -> int:
    """This process's rank in a group.

    Args:
        group: the group's name.

    Raises:
        TypeError: if `group` is no str.
        RuntimeError: if there is no such group.

    Examples:
        >>> import lamella as ms
        >>> ms.communication.get_rank()
        0
    """
    _check_name("get_rank", group)
    return group_of(group, "get_rank").rank if GlobalComm.INITED else number("RANK_ID")


@documented_like(get_rank)
def get_group_size(group: str = HCCL_WORLD_COMM_GROUP) -> int:
    """The number of a group's processes."""
    _check_name("get_group_size", group)
    return (group_of(group, "get_group_size").size if GlobalComm.INITED
            else number("RANK_SIZE", default=1))


@documented_like(get_rank)
def get_local_rank(group: str = HCCL_WORLD_COMM_GROUP) -> int:
    """This process's place among those of a group on this machine."""
    _check_name("get_local_rank", group)
    if not GlobalComm.INITED:
        return number("LOCAL_RANK")
    here = _local_ranks(group_of(group, "get_local_rank"))
    return here.index(world_rank()) if world_rank() in here else -1


@documented_like(get_rank)
def get_local_rank_size(group: str = HCCL_WORLD_COMM_GROUP) -> int:
    """The number of a group's processes on this machine."""
    _check_name("get_local_rank_size", group)
    if not GlobalComm.INITED:
        return number("LOCAL_RANK_SIZE", default=1)
    return len(_local_ranks(group_of(group, "get_local_rank_size")))


def _local_ranks(group: Group) -> list[int]:
    """The ranks of a group on this machine; launchers number machine by machine."""
    machine = world_rank() // _local_size
    return [r for r in group.ranks if r // _local_size == machine]


def get_world_rank_from_group_rank(group: str, group_rank_id: int) -> int:
    """The rank in the world of a group's process.

    Args:
        group: the group's name.
        group_rank_id: the process's rank in the group.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if the group has no such rank.
        RuntimeError: before `init`, or if there is no such group.
    """
    name = "get_world_rank_from_group_rank"
    ranks = _ranks_of(name, group, "group_rank_id", group_rank_id)
    if not 0 <= group_rank_id < len(ranks):
        raise ValueError(f"For '{name}', 'group_rank_id' must be in [0, {len(ranks)}), "
                         f"but got {group_rank_id}.")
    return ranks[group_rank_id]


def get_group_rank_from_world_rank(world_rank_id: int, group: str) -> int:
    """The rank in a group of a process of the world.

    Args:
        world_rank_id: the process's rank in the world.
        group: the group's name.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if that process is not in the group.
        RuntimeError: before `init`, or if there is no such group.
    """
    name = "get_group_rank_from_world_rank"
    ranks = _ranks_of(name, group, "world_rank_id", world_rank_id)
    if world_rank_id not in ranks:
        raise ValueError(f"For '{name}', process {world_rank_id} is not in group {group!r}, "
                         f"which has {ranks}.")
    return ranks.index(world_rank_id)


def _check_rank(function: str, argument: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"For '{function}', the argument '{argument}' must be type of int, "
                        f"but got '{argument}' type : {type(value)}.")


def _ranks_of(function: str, group: Any, argument: str, rank: Any) -> list[int]:
    """The ranks of a group, for a function that is given its name and a rank."""
    _check_name(function, group)
    _check_rank(function, argument, rank)
    _check_ready(function)
    return group_of(group, function).ranks


def get_process_group_ranks(group: str = HCCL_WORLD_COMM_GROUP) -> list[int]:
    """The ranks in the world of a group's processes.

    Args:
        group: the group's name.

    Raises:
        TypeError: if `group` is no str.
        RuntimeError: before `init`, or if there is no such group.
    """
    _check_name("get_process_group_ranks", group)
    _check_ready("get_process_group_ranks")
    return list(group_of(group, "get_process_group_ranks").ranks)


@documented_like(get_process_group_ranks)
def get_comm_name(group: str = HCCL_WORLD_COMM_GROUP) -> str:
    """The name by which the communication library knows a group: its own, here."""
    _check_name("get_comm_name", group)
    _check_ready("get_comm_name")
    return group_of(group, "get_comm_name").name


def create_group(group: str, rank_ids: list[int], options: Any = None) -> None:
    """Make a group of some processes; each process of the world has to call it.

    Args:
        group: its name.
        rank_ids: the ranks of its processes in the world.
        options: settings of Huawei's library; have no effect.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if `rank_ids` is empty, names a process twice or one that isn't there, or the
            group exists with other processes.
        RuntimeError: before `init`.
    """
    _check_name("create_group", group)
    _check_ready("create_group")
    if not isinstance(rank_ids, list):
        raise TypeError(f"For 'create_group', the argument 'rank_ids' must be type of list, "
                        f"but got 'rank_ids' type : {type(rank_ids)}.")
    for rank in rank_ids:
        _check_rank("create_group", "rank_ids", rank)
    found = _groups.get(group)
    if found is not None:
        if found.ranks != sorted(rank_ids):
            raise ValueError(f"The group {group} has been created, the rank_list is {found.ranks}, "
                             f"but current rank_list for the group is {rank_ids}")
        return
    if not rank_ids:
        raise ValueError("For 'create_group', the argument 'rank_ids' must name at least one "
                         "process, but it is empty.")
    if len(set(rank_ids)) != len(rank_ids):
        raise ValueError(f"List rank_ids in Group {group} has duplicate data! It is {rank_ids}.")
    size = group_of(None, "create_group").size
    if not all(0 <= rank < size for rank in rank_ids):
        raise ValueError(f"For 'create_group', the ranks in 'rank_ids' must be in [0, {size}), "
                         f"but got {rank_ids}.")
    made = dist.new_group(sorted(rank_ids), patience()) if size > 1 else None
    _groups[group] = Group(group, rank_ids, made)


def destroy_group(group: str) -> None:
    """Destroy a group; each of its processes has to call it.

    Args:
        group: its name.

    Raises:
        TypeError: if `group` is no str.
        ValueError: if it is the world's.
        RuntimeError: before `init`, or if there is no such group.
    """
    _check_name("destroy_group", group)
    _check_ready("destroy_group")
    if group in WORLD_NAMES.values():
        raise ValueError("The world_group does not support destruction.")
    found = group_of(group, "destroy_group")
    del _groups[group]
    for each in (found, found.beside):
        if each is not None and each.process_group is not None and each.rank >= 0:
            dist.destroy_process_group(each.process_group)
            each.process_group = None


def _get_group_map() -> dict[str, list[int]]:
    """The ranks of each group, by name."""
    return {found.name: list(found.ranks) for found in _groups.values()}


def _remove_group_info(group_name: str) -> None:
    """Forget a group whose processes have ended."""
    _groups.pop(group_name, None)
