"""Joining the processes of a world: the variables of launchers, and timeouts."""

from __future__ import annotations

import datetime
import os
from typing import Any

import torch.distributed as dist
import torch.distributed.nn  # noqa: F401  before `join`: its functions hold the world that is there by then
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from ..core import context
from ..device import kinds


def number(*names: str, default: int = 0) -> int:
    """The first of some environment variables that is set, as a number."""
    for name in names:
        text = os.environ.get(name)
        if text is not None:
            if not text.strip().isdigit():
                raise ValueError(f"For 'init', the environment variable {name} must be a number "
                                 f"of 0 or more, but it is {text!r}.")
            return int(text)
    return default


# the variables of torchrun, msrun and OpenMPI's mpirun: ranks and sizes, in the world and local
RANK = ("RANK", "RANK_ID", "OMPI_COMM_WORLD_RANK")
SIZE = ("WORLD_SIZE", "RANK_SIZE", "MS_WORKER_NUM", "OMPI_COMM_WORLD_SIZE")
LOCAL_RANK = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK")
LOCAL_SIZE = ("LOCAL_WORLD_SIZE", "LOCAL_RANK_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE")
_store: Any = None  # where processes meet, as a program said
_kept: tuple[Any, Any] | None = None  # where and as which they met last, and that store
_patience: datetime.timedelta | None = None  # how long an exchange may wait, as a program set it


def wait_for(patience: datetime.timedelta | None) -> None:
    """Set the timeout of exchanges for the groups made from now on; None: the default."""
    global _patience
    _patience = patience


def meet_in(store: Any) -> None:
    """Have the processes meet in a store of torch.distributed's when they are joined."""
    global _store
    _store = store


def patience() -> datetime.timedelta:
    """The timeout of exchanges."""
    return _patience or datetime.timedelta(seconds=number("HCCL_EXEC_TIMEOUT", default=1800))


def library_of(kind: str) -> str:
    """The library that exchanges tensors of a kind of device, as its back end has told PyTorch.

    Raises:
        RuntimeError: if there is none.
    """
    found = dist.Backend.default_device_backend_map.get(kind)
    if found is None:
        raise RuntimeError(f"For 'init', PyTorch knows no library that exchanges tensors of "
                           f"{kind!r} between processes.")
    return found


def join(size: int) -> None:
    """Join the other processes, by the one of rank 0."""
    rank = number(*RANK)
    if rank >= size:
        raise RuntimeError(f"For 'init', this is process {rank} of {size}: the environment "
                           f"variables that the launcher sets contradict each other.")
    host = os.environ.get("MASTER_ADDR") or os.environ.get("MS_SCHED_HOST") or "127.0.0.1"
    port = number("MASTER_PORT", "MS_SCHED_PORT", default=8118)
    library = "gloo"
    kind = context.current_device().type
    if kind != "cpu":
        here = number(*LOCAL_RANK, "DEVICE_ID", default=rank) % kinds.count(kind)
        context.set_device(context.get_context("device_target"), here)
        library = f"cpu:gloo,{kind}:{library_of(kind)}"
    given = _store
    meet_in(None)
    try:
        store = _world_in(_store_at(host, port, rank, size) if given is None else given, rank)
        dist.init_process_group(library, store=store, rank=rank, world_size=size,
                                timeout=patience())
        _wait_for_all(rank, size)
    except Exception as error:
        raise RuntimeError(f"For 'init', process {rank} of {size} could not join the others at "
                           f"{host}:{port}: {error}") from error


def _store_at(host: str, port: int, rank: int, size: int) -> Any:
    """The store at an address, kept for later worlds.

    Process 0 may be what serves it. If that ended it with a world, a faster process could already
    have gone back to it for the next world.
    """
    global _kept
    where = host, port, rank, size
    if _kept is None or _kept[0] != where:
        _kept = None  # first frees the port, if it is the same
        store, *_ = next(rendezvous(f"tcp://{host}:{port}", rank, size, timeout=patience()))
        _kept = where, store
    _kept[1].set_timeout(patience())
    return _kept[1]


def _world_in(store: Any, rank: int) -> Any:
    """The part of a store in which the processes of the next world meet.

    An earlier world's addresses are still in the store: nobody listens there any more. So a world
    has the number of times that each of its processes has joined one in this store.
    """
    return PrefixStore(f"lamella/{store.add(f'lamella/joins/{rank}', 1)}", store)


def _wait_for_all(rank: int, size: int) -> None:
    """Wait until all have joined: a process that ends at once closes what others connect to.

    The store may be the first process's, so this one leaves last.
    """
    store = dist.distributed_c10d._get_default_store()
    others = range(1, size)
    if rank:
        store.set(f"joined/{rank}", "")
        store.wait(["joined"], patience())
        store.set(f"left/{rank}", "")
    else:
        store.wait([f"joined/{other}" for other in others], patience())
        store.set("joined", "")
        store.wait([f"left/{other}" for other in others], patience())


def join_simulated(rank: int, size: int) -> None:
    """Act as one process of a world without the others; received data stay uninitialized."""
    from torch.testing._internal.distributed.fake_pg import FakeStore  # of simulated worlds alone

    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=size)
