"""The cache on disk: compiled graphs and measurements, kept from one process to the next.

Its folder is ``$LAMELLA_CACHE``, else ``lamella`` in the user's cache folder; ``LAMELLA_CACHE=0``
turns it off. It never grows beyond ``$LAMELLA_CACHE_MIB`` (default 1024): the least recently used
entries are removed. An entry is a folder that appears complete, by one rename, or not at all;
damaged entries are removed and made again. Since compiled graphs are code, a folder that other
users can write to or replace is not used; one warning says so.
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

from ..core import context, log
from ..device import kinds

ABANDONED = 3600.0  # seconds after which unfinished work of another process is removed
RETRY = 86400.0  # seconds after which a failed compilation is tried again
MOST_MIB = 1024.0
_warned: set[str] = set()  # paths and settings, each of which is warned of once


def cache_folder() -> pathlib.Path | None:
    """The cache folder, made if needed; None if there is none."""
    path = place()
    if path is None:
        return None
    reason = unusable(path)
    if reason is None:
        return pathlib.Path(path)
    if path not in _warned:
        _warned.add(path)
        log.warning(f"No compiled graphs are kept: {reason}.")
    return None


def place() -> str | None:
    """The folder by the settings; None if the cache is turned off."""
    named = os.environ.get("LAMELLA_CACHE")
    if named in ("0", ""):
        return None
    around = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.abspath(named or os.path.join(around, "lamella"))


def unusable(path: str) -> str | None:
    """Why a folder, which is made if needed, can't be used as the cache; None if it can.

    Its owner and permissions are checked each time, since both may change.
    """
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        doubt = _doubt(os.path.realpath(path))
        return doubt or (None if _is_writable(path) else f"'{path}' can't be written to")
    except OSError as error:
        return f"'{path}' can't be used: {error.strerror}"


@functools.lru_cache(maxsize=8)
def _is_writable(path: str) -> bool:
    with contextlib.suppress(OSError), tempfile.TemporaryFile(dir=path):
        return True
    return False


def _doubt(path: str) -> str | None:
    """Why other users could change a folder, whose path has no links; None if they can't."""
    if not hasattr(os, "getuid"):
        return None
    found = os.stat(path)
    if found.st_uid != os.getuid():
        return f"'{path}' belongs to another user"
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others may write to '{path}'"
    above = os.path.dirname(path)
    while True:
        found = os.stat(above)
        writers = stat.S_IWOTH | (0 if _is_private(found.st_gid) else stat.S_IWGRP)
        others = found.st_mode & writers and not found.st_mode & stat.S_ISVTX
        if found.st_uid not in (0, os.getuid()) or others:
            return f"others may put another folder in the place of '{path}', through '{above}'"
        if above == os.path.dirname(above):
            return None
        above = os.path.dirname(above)


def _is_private(group: int) -> bool:
    """Whether a group has, by the usual convention, only this user as a member (or is root's)."""
    return group == os.getuid() == os.getgid() or group == 0


def machine() -> str:
    """The machine that compiled code and measurements hold for: PyTorch, CPU, threads."""
    parts = [torch.__version__, torch.backends.cpu.get_cpu_capability(), processor(),
             str(torch.get_num_threads())]
    device = context.current_device()
    if device.type != "cpu":
        parts.append(kinds.name_of(device))
    return "|".join(parts)


@functools.lru_cache(maxsize=1)
def processor() -> str:
    """This processor, and what it can do; empty if that isn't known."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        return "".join(sorted({line for line in file
                               if line.startswith(("model name", "flags", "Features"))}))
    return ""


def key_of(*parts: Any) -> str:
    """The name of an entry described by `parts`, on this machine."""
    text = json.dumps([machine(), *parts], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def key_of_code(*parts: Any) -> str:
    """The name of code that holds for any CPU and number of threads, unlike that of `key_of`."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:40]


def entry(key: str) -> pathlib.Path | None:
    """The folder of an entry, marked as used now; None if there is none.

    A failed compilation is kept for a day only: memory or the disk may have been full.
    """
    root = cache_folder()
    found = root / key if root is not None else None
    if found is None or not found.is_dir():
        return None
    with contextlib.suppress(OSError):
        if time.time() - (found / "failed").stat().st_mtime > RETRY:
            shutil.rmtree(found, ignore_errors=True)
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
    """Make a filled draft the entry `key`, unless there is one; then `prune`."""
    try:
        folder.rename(folder.parent / key)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
    prune(folder.parent)


def discard(folder: pathlib.Path, what: str) -> None:
    """Remove a damaged entry, so that it is made again; `what` is logged."""
    log.warning(f"The kept graph '{folder.name}' is damaged ({what}); it is made again.")
    shutil.rmtree(folder, ignore_errors=True)


def prune(root: pathlib.Path) -> None:
    """Remove abandoned drafts, and the least recently used entries beyond the limit of size."""
    most = most_mib() * 2**20
    entries = []
    for found in root.iterdir():
        with contextlib.suppress(OSError):
            used = found.stat().st_mtime
            if found.name.startswith("draft-"):
                if time.time() - used > ABANDONED:
                    _remove(found)
            elif found.is_dir():
                entries.append((used, size(found), found))
    total = sum(much for _, much, _ in entries)
    for _, much, folder in sorted(entries):
        if total <= most:
            break
        shutil.rmtree(folder, ignore_errors=True)
        total -= much


def size(folder: str | os.PathLike) -> int:
    """The bytes of all files in a folder and below it."""
    total = 0
    for file in pathlib.Path(folder).rglob("*"):
        with contextlib.suppress(OSError):
            total += file.stat().st_size if file.is_file() else 0
    return total


def most_mib() -> float:
    """The limit of the folder's size, in MiB."""
    text = os.environ.get("LAMELLA_CACHE_MIB") or str(MOST_MIB)
    with contextlib.suppress(ValueError):
        found = float(text)
        if found >= 0:
            return found
    if text not in _warned:
        _warned.add(text)
        log.warning(f"LAMELLA_CACHE_MIB must be a number of 0 or more, but is {text!r}; "
                    f"{MOST_MIB:g} is used.")
    return MOST_MIB


def _remove(found: pathlib.Path) -> None:
    if found.is_dir() and not found.is_symlink():
        shutil.rmtree(found, ignore_errors=True)
    else:
        found.unlink()
