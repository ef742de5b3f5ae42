"""Keeps the memory of freed tensors, instead of returning it to the system each time.

A training step allocates and frees the same large blocks over and over. The C library gives every
block above some size back to the system when it is freed, and the system hands out cleared pages
one by one when the next step touches them again: thousands of page faults a step, up to a tenth of
the time of a large network. CUDA's memory is kept by PyTorch in the same way.

What is kept lies in pieces, and has to fit the next blocks: PyTorch's way to ask the C library for
aligned memory makes it never fit (`allocator.cpp`). So where there is a C++ compiler, tensors get
their memory in another way once a function has been compiled.

``LAMELLA_KEEP_MEMORY=0`` leaves the allocators as they are; so does any setting of their own in the
environment.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import pathlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from .extension import Extension

allocator = Extension("lamella_allocator", pathlib.Path(__file__).with_name("allocator.cpp"))

_OWN = ("MALLOC_", "GLIBC_TUNABLES", "THP_MEM_ALLOC_ENABLE")  # settings of allocators

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # names of mallopt(3)
_LARGEST = 2**31 - 1
_SMALLEST = 2**20  # bytes of a block that gets a mapping of its own in `returning_freed_memory`

_kept = 0  # bytes of the largest blocks that are kept when freed; 0 if the C library decides


def keep_freed_memory() -> bool:
    """Let the C library (glibc) keep freed blocks of up to 2 GiB for the next allocations.

    Returns:
        Whether it does so from now on.
    """
    global _kept
    if (os.environ.get("LAMELLA_KEEP_MEMORY") == "0" or not _is_glibc()
            or any(name.startswith(_OWN) for name in os.environ)):
        allocator.leave_out()
        return False
    mallopt = ctypes.CDLL(None).mallopt
    # older versions take no more than 32 MiB
    _kept = next((n for n in (_LARGEST, 2**25) if mallopt(_MMAP_THRESHOLD, n)), 0)
    return bool(_kept and mallopt(_TRIM_THRESHOLD, _LARGEST))


@contextmanager
def returning_freed_memory() -> Iterator[None]:
    """A block in which freed memory goes back to the system, for work that won't be repeated.

    Every large tensor gets pages of its own, so the sizes of such work leave no holes in the memory
    that is kept, which is returned first. It costs a page fault for every 4 KiB that is allocated.
    """
    if not _kept:
        yield
        return
    release()
    mallopt = ctypes.CDLL(None).mallopt
    mallopt(_MMAP_THRESHOLD, _SMALLEST)
    try:
        yield
    finally:
        mallopt(_MMAP_THRESHOLD, _kept)


def release() -> None:
    """Return freed memory to the system, after work that won't be repeated."""
    if _is_glibc():
        ctypes.CDLL(None).malloc_trim(0)


def untouched_zeros(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor | None:
    """Zeros on the CPU that take memory as they are written, page by page.

    The states of an optimizer are written at the end of the first step, when what its backward pass
    keeps is free again.

    Returns:
        The tensor; None if it is too small for that, or if the system has no such memory.
    """
    size = math.prod(shape) * dtype.itemsize
    if size < _SMALLEST or not hasattr(mmap, "MAP_PRIVATE"):
        return None
    try:  # not shared with forked processes
        pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:
        return None
    return torch.frombuffer(pages, dtype=dtype).reshape(*shape)


def _is_glibc() -> bool:
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").startswith("glibc")
    except (AttributeError, OSError, ValueError):  # another system, another C library
        return False
