"""Weights on large pages: the same addresses and contents, and files stay as they are."""

from __future__ import annotations

import os
import pathlib
import re

import numpy as np
import pytest
import torch

from lamella.machine import background, pages

SIZE = 6 * pages.PAGE


def on_large_pages(storage: torch.UntypedStorage) -> int:
    """The bytes of the mapping around a storage that are on large pages, as Linux counts them."""
    address, inside, found = storage.data_ptr() + pages.PAGE, False, 0
    for line in pathlib.Path("/proc/self/smaps").read_text().splitlines():
        if match := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            inside = int(match[1], 16) <= address < int(match[2], 16)
        elif inside and line.startswith("AnonHugePages:"):
            found = 1024 * int(line.split()[1])
    return found


@pytest.fixture
def supported():
    """Whether this system moves memory when it is asked."""
    try:
        moves = pages.move([torch.zeros(SIZE, dtype=torch.uint8).untyped_storage()]) > 0
    except (AttributeError, OSError):
        moves = False
    if not moves:
        pytest.skip("this system has no MADV_COLLAPSE, or no large page is free")


def test_addresses_and_contents_stay(supported):
    x = torch.arange(SIZE // 4, dtype=torch.int32)
    address, copy = x.data_ptr(), x.clone()
    moved = pages.move([x.untyped_storage()])
    assert moved % pages.PAGE == 0 and SIZE - 2 * pages.PAGE <= moved <= SIZE
    assert on_large_pages(x.untyped_storage()) >= moved
    assert x.data_ptr() == address and torch.equal(x, copy)


def test_a_file_in_memory_stays_as_it_is(supported, tmp_path):
    np.ones(SIZE, np.uint8).tofile(tmp_path / "weights")
    x = torch.from_file(str(tmp_path / "weights"), shared=True, size=SIZE, dtype=torch.uint8)
    assert pages.move([x.untyped_storage()]) == 0 and bool((x == 1).all())


def test_the_thread_takes_large_tensors_of_this_processor_alone(monkeypatch):
    started = []
    monkeypatch.setattr(background, "start", lambda name, work: started.append(work))
    small, meta = torch.zeros(8), torch.zeros(SIZE, device="meta")
    pages.move_later([small, meta])
    assert not started
    monkeypatch.setenv("LAMELLA_LARGE_PAGES", "0")
    pages.move_later([torch.zeros(SIZE)])
    assert not started
    monkeypatch.delenv("LAMELLA_LARGE_PAGES")
    x = torch.zeros(SIZE, dtype=torch.uint8)
    pages.move_later([small, x.view(2, -1).t(), meta])  # any view of it
    if os.uname().sysname == "Linux":
        started[0]()
        assert bool((x == 0).all())
