"""Large pages of memory for weights that are read again and again.

Each step of a language model reads all its weights. A processor fetches ahead within a page only,
and looks up where each page lies; so with pages of 2 MiB instead of 4 KiB the same weights are read
in about three quarters of the time. Linux moves memory to such pages when it is asked
(``MADV_COLLAPSE``, from version 6.1 on): addresses and contents stay.

``LAMELLA_LARGE_PAGES=0`` leaves all memory as it is.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable

import torch

from . import background

PAGE = 2**21  # bytes of a large page
_COLLAPSE = 25  # MADV_COLLAPSE in madvise(2)


def move_later(tensors: Iterable[torch.Tensor]) -> None:
    """Let a thread move what these tensors hold to large pages, about a GB in two seconds."""
    if not sys.platform.startswith("linux") or os.environ.get("LAMELLA_LARGE_PAGES") == "0":
        return
    storages = [t.untyped_storage() for t in tensors if t.device.type == "cpu"
                and t.layout is torch.strided and not hasattr(t, "device_mesh")]
    held = [s for s in storages if s.nbytes() >= PAGE]
    if held:
        background.start("lamella-pages", lambda: move(held))


def move(storages: Iterable[torch.UntypedStorage]) -> int:
    """Move storages to large pages; returns the bytes that are on them.

    Memory of files stays as it is, and so does what no large page is free for.
    """
    madvise = ctypes.CDLL(None).madvise  # other threads run meanwhile
    moved = 0
    for storage in storages:
        start = storage.data_ptr()
        first, last = -(-start // PAGE) * PAGE, (start + storage.nbytes()) // PAGE * PAGE
        for address in range(first, last, PAGE):  # each alone: others need their memory, too
            if madvise(ctypes.c_void_p(address), ctypes.c_size_t(PAGE), _COLLAPSE):
                break
            moved += PAGE
    return moved
