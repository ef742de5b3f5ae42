"""The folder where compiled graphs and measurements are kept from one process to the next.

It is ``$LAMELLA_CACHE``, else ``lamella`` in the user's cache folder; ``LAMELLA_CACHE=0`` keeps
nothing. It never grows beyond ``$LAMELLA_CACHE_MIB`` (1024 unless set): what was used longest ago
goes first. An entry is a folder that appears whole, by one rename, or not at all; what can't be
read counts as not there. Since compiled graphs are code, a folder that others may write to is not
used.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import pathlib
import shutil
import stat
import tempfile
import time
from typing import Any

import torch

ABANDONED = 3600.0  # seconds after which unfinished work of another process is removed


def cache_folder() -> pathlib.Path | None:
    """Where things are kept, made if needed; None if nothing can be kept."""
    named = os.environ.get("LAMELLA_CACHE")
    if named in ("0", ""):
        return None
    around = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return _usable(named or os.path.join(around, "lamella"))


@functools.lru_cache(maxsize=8)
def _usable(path: str) -> pathlib.Path | None:
    folder = pathlib.Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = folder.stat()
        if hasattr(os, "getuid") and (found.st_uid != os.getuid()
                                      or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
            return None
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return None


def machine() -> str:
    """What compiled code and measurements hold for: PyTorch, the processor, the threads."""
    parts = [torch.__version__, torch.backends.cpu.get_cpu_capability(), _processor(),
             str(torch.get_num_threads())]
    if torch.cuda.is_available():
        parts.append(torch.cuda.get_device_name())
    return "|".join(parts)


@functools.lru_cache(maxsize=1)
def _processor() -> str:
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        return "".join(sorted({line for line in file
                               if line.startswith(("model name", "flags", "Features"))}))
    return ""


def key_of(*parts: Any) -> str:
    """A name for what is described by `parts`, on this machine."""
    text = json.dumps([machine(), *parts], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def entry(key: str) -> pathlib.Path | None:
    """The folder kept under `key`, marked as used now; None if there is none."""
    root = cache_folder()
    found = root / key if root is not None else None
    if found is None or not found.is_dir():
        return None
    with contextlib.suppress(OSError):
        os.utime(found)
    return found


def draft() -> pathlib.Path | None:
    """A new empty folder to fill and then `publish`."""
    root = cache_folder()
    if root is None:
        return None
    try:
        return pathlib.Path(tempfile.mkdtemp(prefix="draft-", dir=root))
    except OSError:
        return None


def publish(folder: pathlib.Path, key: str) -> None:
    """Keep a filled draft under `key`, and remove what is too much; an entry of that key stays."""
    try:
        folder.rename(folder.parent / key)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
    prune(folder.parent)


def prune(root: pathlib.Path) -> None:
    """Remove abandoned drafts, and the entries used longest ago until the rest is small enough."""
    most = float(os.environ.get("LAMELLA_CACHE_MIB") or 1024) * 2**20
    entries = []
    for folder in root.iterdir():
        with contextlib.suppress(OSError):
            used = folder.stat().st_mtime
            if folder.name.startswith("draft-"):
                if time.time() - used > ABANDONED:
                    shutil.rmtree(folder, ignore_errors=True)
            elif folder.is_dir():
                size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
                entries.append((used, size, folder))
    total = sum(size for _, size, _ in entries)
    for _, size, folder in sorted(entries):
        if total <= most:
            break
        shutil.rmtree(folder, ignore_errors=True)
        total -= size
