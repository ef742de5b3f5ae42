"""The parts of Lamella in C++, built once for all processes of tests, in the user's cache folder.

Tests run with them where there is a compiler; ``LAMELLA_CPP=0``: without.
"""

import fcntl
import os
import subprocess

from lamella.graph.guards import identity
from lamella.graph.runtime import program
from lamella.graph.tracing import outside
from lamella.graph.xla import client
from lamella.machine import (
    activation,
    attention,
    batch_norm,
    cache,
    cross_entropy,
    extension,
    few_queries,
    few_rows,
    int8_rows,
    kinks,
    layer_norm,
    memory,
)

EXTENSIONS = (identity.extension, outside.extension, program.extension, memory.allocator,
              few_rows.extension, attention.extension, batch_norm.extension,
              cross_entropy.extension, int8_rows.extension, layer_norm.extension,
              activation.extension, kinks.extension, few_queries.extension,
              *([client.extension] if client.available() else []))


def load() -> None:
    """Load them, after building those that aren't there yet."""
    kept = os.environ.pop("LAMELLA_CACHE", None)
    try:
        folder = cache.cache_folder()
        if folder is not None and extension.is_wanted() and extension.compiler() is not None:
            with open(folder / "building.lock", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                for wanted in EXTENSIONS:
                    if wanted.load() is None:
                        wanted.build(_run)
                        wanted.load()
        for wanted in EXTENSIONS:
            wanted.is_finished = True  # nothing is built beside the tests
    finally:
        if kept is not None:
            os.environ["LAMELLA_CACHE"] = kept


def _run(command, folder, patience):
    return subprocess.run(command, cwd=folder, timeout=patience).returncode == 0
