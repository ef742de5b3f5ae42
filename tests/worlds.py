"""Real worlds of processes for tests: each runs one script, which prints its results as JSON."""

from __future__ import annotations

import contextlib
import datetime
import io
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.distributed import TCPStore, distributed_c10d

import lamella

from .zygote import Started, run_together

ROOT = Path(__file__).parents[1]


def start_world(script: Any, size: int, *arguments: str, rank_name: str = "RANK",
                size_name: str = "WORLD_SIZE", **variables: str) -> list[Started]:
    """Start a script in several processes.

    Args:
        rank_name, size_name: the environment variables that tell each which it is.
        **variables: more of them.
    """
    store, environments = _environments(size, rank_name, size_name, variables)
    processes = [Started(script, *arguments, env=environment) for environment in environments]
    processes[0].store = store  # type: ignore[attr-defined] # lasts as long as the processes
    return processes


def run_world(script: Any, size: int, *arguments: str, rank_name: str = "RANK",
              size_name: str = "WORLD_SIZE", **variables: str) -> list[str]:
    """What each process of a world prints, after all have succeeded."""
    store, environments = _environments(size, rank_name, size_name, variables)
    answers = run_together([[str(script), *arguments]] * size, environments)
    del store
    assert not any(answer.returncode for answer in answers), "\n\n".join(
        answer.stderr for answer in answers)
    return [answer.stdout for answer in answers]


def run_world_here(main: Callable[[], Any], script: Any, size: int, *arguments: str,
                   here: int = 0, **variables: str) -> list[str]:
    """As `run_world`, but one process is this one, which calls the function of the script.

    So what it runs can be traced and changed here. Afterwards it is as before: alone.

    Args:
        here: the rank of this process.
    """
    store, environments = _environments(size, "RANK", "WORLD_SIZE", variables)
    mine = environments.pop(here)
    others = [Started(script, *arguments, env=environment) for environment in environments]
    before, argv, threads = dict(os.environ), sys.argv, torch.get_num_threads()
    os.environ.update({**mine, "HCCL_EXEC_TIMEOUT": "300"})
    sys.argv = [str(script), *arguments]
    torch.set_num_threads(1)  # as in the others
    answers = []
    try:
        with contextlib.redirect_stdout(io.StringIO()) as said, warnings.catch_warnings():
            main()
        answers = [other.communicate() for other in others]
    finally:
        for other in others:
            other.kill()
            other.communicate()
        lamella.communication.release()
        lamella.reset_auto_parallel_context()
        lamella.set_context(mode=lamella.PYNATIVE_MODE)
        sys.argv = argv
        torch.set_num_threads(threads)
        os.environ.clear()
        os.environ.update(before)
        del store
    assert not any(other.returncode for other in others), "\n\n".join(
        error for _, error in answers)
    found = [out for out, _ in answers]
    found.insert(here, said.getvalue())
    return found


def asked_for(request: pytest.FixtureRequest, *names: str) -> set[Any]:
    """The values of a parameter, or tuples of several, in the tests of a file that will run.

    A world computes no more than these: fewer if tests are chosen or left out.
    """
    found = set()
    for item in request.session.items:
        given = item.callspec.params if hasattr(item, "callspec") else {}
        if item.path == request.path and all(name in given for name in names):
            values = tuple(given[name] for name in names)
            found.add(values if len(names) > 1 else values[0])
    return found


def _environments(size: int, rank_name: str, size_name: str, variables: dict[str, str]
                  ) -> tuple[TCPStore, list[dict[str, str]]]:
    """The store of a world, which its processes find, and the environment of each."""
    # kept by this process, where it has chosen its port itself: nobody else can take that
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    common = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI", "MS_"))}
    common |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.port), size_name: str(size),
               "TORCHELASTIC_USE_AGENT_STORE": "True", "OMP_NUM_THREADS": "1",
               "PYTHONPATH": str(ROOT), **variables}
    return store, [{**common, rank_name: str(rank)} for rank in range(size)]


def wait_no_longer_than(seconds: float) -> None:
    """Have collectives of this process fail after some seconds from now on.

    So a test that one fails doesn't depend on how slowly processes start.
    """
    for group in list(distributed_c10d._world.pg_map):
        distributed_c10d._set_pg_timeout(datetime.timedelta(seconds=seconds), group)


def error_of(call: Callable[..., Any], *arguments: Any) -> str:
    """The error that a call raises, in a process of a world; the test judges it."""
    try:
        call(*arguments)
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"
    return "nothing"


def communicator_threads() -> list[str]:
    """The threads of torch's communicators in this process, by name; none where that is unknown."""
    names = [(task / "comm").read_text().strip() for task in Path("/proc/self/task").glob("*")]
    return [name for name in names if name.startswith("pt_gloo")]
