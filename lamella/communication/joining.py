"""How this process meets the others of its world: what launchers say, and how long to wait."""

from __future__ import annotations

import datetime
import os

import torch
import torch.distributed as dist

from .. import context


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


# what torchrun, msrun and OpenMPI's mpirun say: this process, how many there are, here and in all
RANK = ("RANK", "RANK_ID", "OMPI_COMM_WORLD_RANK")
SIZE = ("WORLD_SIZE", "RANK_SIZE", "MS_WORKER_NUM", "OMPI_COMM_WORLD_SIZE")
LOCAL_RANK = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK")
LOCAL_SIZE = ("LOCAL_WORLD_SIZE", "LOCAL_RANK_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE")
_patience: datetime.timedelta | None = None  # how long an exchange may wait, as a program set it


def wait_for(patience: datetime.timedelta | None) -> None:
    """Set how long exchanges of the groups made from now on may wait for another process; None:
    the default."""
    global _patience
    _patience = patience


def patience() -> datetime.timedelta:
    """How long exchanges may wait for another process."""
    return _patience or datetime.timedelta(seconds=number("HCCL_EXEC_TIMEOUT", default=1800))


def join(size: int) -> None:
    """Join the other processes; the one of rank 0 is where they meet."""
    rank = number(*RANK)
    if rank >= size:
        raise RuntimeError(f"For 'init', this is process {rank} of {size}: the environment "
                           f"variables that the launcher sets contradict each other.")
    host = os.environ.get("MASTER_ADDR") or os.environ.get("MS_SCHED_HOST") or "127.0.0.1"
    port = number("MASTER_PORT", "MS_SCHED_PORT", default=8118)
    library = "gloo"
    if context.current_device().type == "cuda":
        here = number(*LOCAL_RANK, "DEVICE_ID", default=rank) % torch.cuda.device_count()
        context.set_device(context.get_context("device_target"), here)
        library = "cpu:gloo,cuda:nccl"
    try:
        dist.init_process_group(library, init_method=f"tcp://{host}:{port}", rank=rank,
                                world_size=size, timeout=patience())
    except Exception as error:
        raise RuntimeError(f"For 'init', process {rank} of {size} could not join the others at "
                           f"{host}:{port}: {error}") from error


def join_simulated(rank: int, size: int) -> None:
    """Be one process of a world whose others aren't there: what they would send stays unset."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=size)
