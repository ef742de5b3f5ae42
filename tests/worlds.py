"""Real worlds of processes for tests: each runs one script, which prints its results as JSON."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def free_port() -> int:
    """A port below the ephemeral range, so that other connections don't take it."""
    for port in random.SystemRandom().sample(range(10_000, 32_000), 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError("no port is free")


def start_world(script: Any, size: int, *arguments: str, rank_name: str = "RANK",
                size_name: str = "WORLD_SIZE", **variables: str) -> list[subprocess.Popen]:
    """Start a script in several processes.

    Args:
        rank_name, size_name: the environment variables that tell each which it is.
        **variables: more of them.
    """
    common = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI", "MS_"))}
    common |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), size_name: str(size),
               "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), **variables}
    return [subprocess.Popen([sys.executable, str(script), *arguments],
                             env={**common, rank_name: str(rank)}, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True) for rank in range(size)]


def run_world(script: Any, size: int, *arguments: str, **options: str) -> list[str]:
    """What each process of a world prints, after all have succeeded."""
    processes = start_world(script, size, *arguments, **options)
    try:
        answers = [process.communicate(timeout=900) for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, (_, errors) in zip(processes, answers, strict=True):
        assert process.returncode == 0, errors
    return [out for out, _ in answers]


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
