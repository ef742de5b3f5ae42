"""The parts of Lamella in C++, built once for all processes of tests, in the user's cache folder.

Tests run with them where there is a compiler; ``LAMELLA_CPP=0``: without. On a machine that has
none yet two processes of tests build them side by side: the kernels, and the others.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

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
    winograd,
)

EXTENSIONS = (identity.extension, outside.extension, program.extension, memory.allocator,
              few_rows.extension, attention.extension, batch_norm.extension,
              cross_entropy.extension, int8_rows.extension, layer_norm.extension,
              activation.extension, kinks.extension, few_queries.extension,
              winograd.extension,
              *([client.extension] if client.available() else []))
GROUPS = {kind: [one for one in EXTENSIONS if one.for_this_processor == (kind == "kernels")]
          for kind in ("kernels", "others")}
# what all kernels include: to read it takes a compiler four fifths of its time for one
HEADERS = ("ATen/Parallel.h", "ATen/core/Tensor.h", "ATen/ops/empty.h", "ATen/ops/empty_like.h",
           "Python.h", "torch/library.h")


def load() -> None:
    """Load them, after building those that aren't there yet."""
    with _users_folder() as folder:
        if folder is not None and extension.is_wanted() and extension.compiler() is not None:
            left = [kind for kind in GROUPS if not _built(kind, folder, fcntl.LOCK_NB)]
            for kind in left:  # which another process builds
                _built(kind, folder)
        for wanted in EXTENSIONS:
            wanted.is_finished = True  # nothing is built beside the tests


def copy_to(target: Path) -> None:
    """Put them into another cache folder: else a program with that folder builds them all."""
    with _users_folder():
        for wanted in EXTENSIONS:
            key = wanted._key()
            folder = cache.entry(key) if key is not None else None
            if folder is not None:
                shutil.copytree(folder, target / folder.name, dirs_exist_ok=True)


@contextlib.contextmanager
def _users_folder() -> Iterator[Path | None]:
    """The user's cache folder, which is used meanwhile, whatever the tests have set."""
    kept = os.environ.pop("LAMELLA_CACHE", None)
    try:
        yield cache.cache_folder()
    finally:
        if kept is not None:
            os.environ["LAMELLA_CACHE"] = kept


def _built(kind: str, folder: Path, waits: int = 0) -> bool:
    """Load those of a group, built if need be; False if another process is at it."""
    with open(folder / f"building-{kind}.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | waits)
        except BlockingIOError:
            return False
        with tempfile.TemporaryDirectory() as headers:
            for wanted in GROUPS[kind]:
                if wanted.load() is None:
                    wanted.build(lambda command, inside, patience: _run(
                        _with_headers(command, Path(headers)) if kind == "kernels" else command,
                        inside, patience))
                    wanted.load()
    return True


def _with_headers(command: Sequence[str], folder: Path) -> list[str]:
    """A compiler's command with what all kernels include, translated at the first kernel."""
    shared = folder / "shared.h"
    if not shared.exists():
        shared.write_text("".join(f"#include <{name}>\n" for name in HEADERS))
        options = [part for part in command[1:command.index("-o")]
                   if part != "-shared" and not part.endswith(".cpp")]
        _run([command[0], *options, "-x", "c++-header", str(shared), "-o", f"{shared}.gch"],
             folder, extension.PATIENCE)
    return [command[0], "-include", str(shared), *command[1:]]


def _run(command: Sequence[str], folder: Path, patience: float) -> bool:
    return subprocess.run(command, cwd=folder, timeout=patience).returncode == 0
