"""What the C library is asked for, by settings and versions; zeros whose pages come late."""

import mmap

import pytest
import torch

from lamella.machine import memory

TRIM, MMAP = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of malloc.h


class Library:
    """Stands for the C library; takes thresholds up to a limit."""

    def __init__(self, most=2**31 - 1, trims=True):
        self.most, self.trims, self.calls, self.released = most, trims, [], []

    def mallopt(self, name, value):
        self.calls.append((name, value))
        return int(value <= self.most if name == MMAP else self.trims)

    def malloc_trim(self, pad):
        self.released.append(pad)


@pytest.fixture
def asked(monkeypatch):
    """Asks an imagined library; gives the answer and the library."""
    left_out = []
    monkeypatch.setattr(memory, "_kept", 0)
    monkeypatch.setattr(memory, "_is_glibc", lambda: True)
    monkeypatch.setattr(memory.allocator, "leave_out", lambda: left_out.append(True))
    for name in ("LAMELLA_KEEP_MEMORY", *[n for n in memory.os.environ if n.startswith(
            ("MALLOC_", "GLIBC_TUNABLES", "THP_MEM_ALLOC_ENABLE"))]):
        monkeypatch.delenv(name, raising=False)

    def ask(library):
        monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: library)
        return memory.keep_freed_memory(), library

    ask.left_out = left_out
    return ask


@pytest.mark.parametrize("most, trims, kept, is_kept", [
    (2**31 - 1, True, 2**31 - 1, True), (2**25, True, 2**25, True), (2**25 - 1, True, 0, False),
    (2**31 - 1, False, 2**31 - 1, False)])
def test_the_largest_blocks_that_it_keeps(asked, most, trims, kept, is_kept):
    found, library = asked(Library(most, trims))
    assert found is is_kept and memory._kept == kept and asked.left_out == []
    assert ((TRIM, 2**31 - 1) in library.calls) == (kept > 0)
    library.calls.clear()
    with memory.returning_freed_memory():
        assert library.calls == ([(MMAP, 2**20)] if kept else [])
        assert library.released == ([0] if kept else [])
    assert library.calls == ([(MMAP, 2**20), (MMAP, kept)] if kept else [])


@pytest.mark.parametrize("name, value, is_kept", [
    ("LAMELLA_KEEP_MEMORY", "0", False), ("LAMELLA_KEEP_MEMORY", "1", True),
    ("MALLOC_ARENA_MAX", "4", False), ("GLIBC_TUNABLES", "", False),
    ("THP_MEM_ALLOC_ENABLE", "1", False), ("MY_MALLOC_", "1", True)])
def test_settings_of_the_users_own_come_first(asked, name, value, is_kept, monkeypatch):
    monkeypatch.setenv(name, value)
    assert asked(Library())[0] is is_kept
    assert bool(asked.left_out) is not is_kept


@pytest.mark.parametrize("said, is_glibc", [
    ("glibc 2.36", True), ("musl 1.2", False), (None, False), (ValueError(), False),
    (OSError(), False), (AttributeError(), False)])
def test_other_libraries_are_left_alone(said, is_glibc, monkeypatch):
    def confstr(name):
        if isinstance(said, Exception):
            raise said
        return said

    monkeypatch.setattr(memory.os, "confstr", confstr)
    assert memory._is_glibc() is is_glibc
    library = Library()
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: library)
    memory.release()
    assert library.released == ([0] if is_glibc else [])


@pytest.mark.skipif(not hasattr(mmap, "MAP_PRIVATE"), reason="this system has no such memory")
@pytest.mark.parametrize("shape, dtype, is_made", [
    ((2**18,), torch.float32, True), ((2**18 - 1,), torch.float32, False),
    ((2, 2**16 + 1, 2), torch.float32, True), ((2**17,), torch.float64, True),
    ((2**17,), torch.float32, False), ((0, 2**20), torch.float32, False)])
def test_zeros_of_a_mebibyte_and_more(shape, dtype, is_made, monkeypatch):
    found = memory.untouched_zeros(shape, dtype)
    assert (found is not None) is is_made
    if is_made:
        assert found.shape == shape and found.dtype is dtype and not found.any()
        found[-1] = 1
        assert found.sum() == found[-1].numel()

        def refused(*args, **options):
            raise OSError("no memory")

        monkeypatch.setattr(memory.mmap, "mmap", refused)
        assert memory.untouched_zeros(shape, dtype) is None
