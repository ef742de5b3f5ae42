"""The device that the tests of this folder run on: the simulated one, or one that is there.

``LAMELLA_TEST_DEVICE=GPU pytest tests/device`` runs them on a GPU, in this process.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

import lamella as ms
from lamella.device import kinds

NAME = os.environ.get("LAMELLA_TEST_DEVICE", "simulated")  # for `set_device`
IS_REAL = NAME != "simulated"
INDEX = 0 if IS_REAL else 1  # a simulated one isn't the first, which a program takes by default
PLACE = f"{NAME}:{INDEX}"
KIND = str(kinds.kind_of(NAME)) if IS_REAL else "privateuseone"  # PyTorch's name of it
DEVICE = torch.device(KIND, INDEX)
WAITS = "called a synchronizing CUDA operation"  # what PyTorch warns of where it is asked to

waits: list[Any] = []  # the warnings of this test; those before `_looked` have been counted
_looked = 0
_is_counting = False


def module() -> Any:
    """PyTorch's module of the device."""
    return torch.get_device_module(DEVICE.type)


def count() -> int:
    """How many devices of its kind there are."""
    return module().device_count()


def counts() -> dict[str, int]:
    """How often the host has waited for the device since the last call, by what it waited for."""
    if not IS_REAL:
        return module()._backend.counts()
    global _looked, _is_counting
    if not _is_counting:
        _warn_of_waits("warn")
        _is_counting = True
    found = sum(WAITS in str(each.message) for each in waits[_looked:])
    _looked = len(waits)
    return {"waits": found} if found else {}


def _warn_of_waits(mode: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that it is a prototype
        module().set_sync_debug_mode(mode)


@contextmanager
def used() -> Iterator[None]:
    """A block in which a test uses a device that is there."""
    global waits, _looked, _is_counting
    with warnings.catch_warnings(record=True) as log:
        waits, _looked = log, 0
        warn_as_errors()
        ms.set_device(NAME, INDEX)
        ms.set_seed(0)
        try:
            yield
        finally:
            if _is_counting:
                _warn_of_waits("default")
                _is_counting = False
            ms.set_context(mode=ms.PYNATIVE_MODE)
            ms.set_device("CPU")


def warn_as_errors() -> None:
    """Warnings are errors, except for those that tests count, and one of a CPU's kernel."""
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", "An output with one or more elements was resized")
    warnings.filterwarnings("always", WAITS)
