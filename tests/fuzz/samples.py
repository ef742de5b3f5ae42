"""Targets that misbehave, to test the harness with."""

from __future__ import annotations

import os
import signal
import sys

import torch

from lamella import Tensor, ops
from lamella.core.errors import op

from .surface import Target


def fine(x: Tensor) -> Tensor:
    """An answer.

    >>> import lamella as ms
    >>> from tests.fuzz import samples
    >>> _ = samples.fine(ms.Tensor([1.0]))
    """
    return ops.ones(())


def crash(x: Tensor | None = None) -> None:
    """The process exits."""
    os.kill(os.getpid(), signal.SIGSEGV)


def hang(x: Tensor | None = None) -> None:
    """An endless loop."""
    while True:
        pass


def raw(x: Tensor) -> None:
    """An error of PyTorch's."""
    torch.ones(2) + torch.ones(3)


def inside(x: Tensor) -> None:
    """An internal error."""
    None.shape  # type: ignore[attr-defined]  # noqa: B018


@op
def clear(x: Tensor) -> None:
    """An error of Lamella's."""
    raise ValueError("For 'clear', 'x' must be something else.")


def targets() -> list[Target]:
    """All of them."""
    functions = [fine, crash, hang, raw, inside, clear]
    return [Target(f"samples.{f.__name__}", f, False, sys.modules[__name__]) for f in functions]
