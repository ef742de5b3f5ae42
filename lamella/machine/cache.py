"""The folder where compiled graphs and measurements are kept from one process to the next.

It is ``$LAMELLA_CACHE``, else ``lamella`` in the user's cache folder; ``LAMELLA_CACHE=0`` keeps
nothing. It never grows beyond ``$LAMELLA_CACHE_MIB`` (1024 unless set): what was used longest ago
goes first. An entry is a folder that appears whole, by one rename, or not at all; what can't be
read, or is damaged, is removed and made again. Since compiled graphs are code, a folder that others
may write to, or may put another in the place of, is not used; that is said once.
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

from .. import log

ABANDONED = 3600.0  # seconds after which unfinished work of another process is removed
RETRY = 86400.0  # seconds after which what could not be made is tried again
MOST_MIB = 1024.0
_told: set[str] = set()  # what was said already


def cache_folder() -> pathlib.Path | None:
    """Where things are kept, made if needed; None if nothing can be kept."""
    path = place()
    if path is None:
        return None
    reason = unusable(path)
    if reason is None:
        return pathlib.Path(path)
    if path not in _told:
        _told.add(path)
        log.warning(f"No compiled graphs are kept: {reason}.")
    return None


def place() -> str | None:
    """The folder that is asked for; None if nothing is to be kept."""
    named = os.environ.get("LAMELLA_CACHE")
    if named in ("0", ""):
        return None
    around = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.abspath(named or os.path.join(around, "lamella"))


def unusable(path: str) -> str | None:
    """Why nothing can be kept in a folder, which is made if needed; None if it can.

    Whose it is and who may write to it is looked at each time: both may change.
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
    """Who else could change what is in a folder, which has no links in its path."""
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
    """Whether a group is, by the usual convention, that of this user alone (or root's)."""
    return group == os.getuid() == os.getgid() or group == 0


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


def key_of_code(*parts: Any) -> str:
    """A name for code that holds for any processor and number of threads, unlike `key_of`'s."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:40]


def entry(key: str) -> pathlib.Path | None:
    """The folder kept under `key`, marked as used now; None if there is none.

    What says that it could not be made is kept for a day: memory or the disk may have been full.
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
    """Keep a filled draft under `key`, and remove what is too much; an entry of that key stays."""
    try:
        folder.rename(folder.parent / key)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
    prune(folder.parent)


def discard(folder: pathlib.Path, what: str) -> None:
    """Remove an entry that is damaged, so that it is made again; `what` goes to the log."""
    log.warning(f"The kept graph '{folder.name}' is damaged ({what}); it is made again.")
    shutil.rmtree(folder, ignore_errors=True)


def prune(root: pathlib.Path) -> None:
    """Remove abandoned drafts, and the entries used longest ago until the rest is small enough."""
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
    """How large the folder may become, in MiB."""
    text = os.environ.get("LAMELLA_CACHE_MIB") or str(MOST_MIB)
    with contextlib.suppress(ValueError):
        found = float(text)
        if found >= 0:
            return found
    if text not in _told:
        _told.add(text)
        log.warning(f"LAMELLA_CACHE_MIB must be a number of 0 or more, but is {text!r}; "
                    f"{MOST_MIB:g} is taken.")
    return MOST_MIB


def _remove(found: pathlib.Path) -> None:
    if found.is_dir() and not found.is_symlink():
        shutil.rmtree(found, ignore_errors=True)
    else:
        found.unlink()
