"""What a name of PyTorch, JAX, Flax or Optax is here, for messages and for the cheat sheets."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import NamedTuple

from .jax_names import ROWS as OF_JAX
from .pytorch_names import ROWS as OF_PYTORCH


class ForeignName(NamedTuple):
    """A name of another framework.

    Attributes:
        name: as ``"torch.Tensor.backward"``.
        here: what to use here, relative to ``lamella``.
        remedy: what to do, in one sentence.
        theirs, ours: an expression of theirs and the one here that computes the same; or empty.
    """

    name: str
    here: tuple[str, ...]
    remedy: str
    theirs: str = ""
    ours: str = ""

    @property
    def framework(self) -> str:
        """``"PyTorch"`` or ``"JAX"``."""
        return "PyTorch" if self.name.startswith("torch") else "JAX"


FOREIGN_NAMES = tuple(ForeignName(name, tuple(here.split()), *rest)
                      for name, here, *rest in (*OF_PYTORCH, *OF_JAX))

# what one looks for in a module or a class of ours: places of theirs, the likeliest first
_MODULES = {
    "": ("torch", "torch.nn", "torch.optim", "torch.utils.data", "jax"),
    "nn": ("torch.nn", "torch.optim", "torch.optim.lr_scheduler", "flax.linen"),
    "ops": ("torch", "torch.nn.functional", "jax.lax", "jax.nn", "jax.numpy"),
    "mint": ("torch",), "numpy": ("jax.numpy",), "train": ("torch.utils", "torch"),
    "dataset": ("torch.utils.data", "torchvision"), "random": ("jax.random",),
    "amp": ("torch.amp", "torch.cuda"), "mint.nn": ("torch.nn",), "mint.optim": ("torch.optim",),
    "mint.nn.functional": ("torch.nn.functional",), "common.initializer": ("torch.nn.init",)}
_CLASSES = {"Tensor": ("torch.Tensor", "jax.Array"),
            "Optimizer": ("torch.optim.Optimizer",), "Cell": ("torch.nn.Module",
                                                              "flax.linen.Module")}


@functools.cache
def _by_name() -> dict[str, ForeignName]:
    return {row.name: row for row in reversed(FOREIGN_NAMES)}


@functools.cache
def _by_last_part() -> dict[str, ForeignName]:
    """The names of modules and functions, not of methods, by their last part."""
    methods = tuple(f"{place}." for places in _CLASSES.values() for place in places)
    return {row.name.rpartition(".")[2]: row for row in reversed(FOREIGN_NAMES)
            if not row.name.startswith(methods)}


def in_module(module: str, name: str) -> ForeignName | None:
    """The foreign name that was looked for in a module of Lamella's; None if it is none.

    >>> in_module("lamella.nn", "Linear").here[0], in_module("lamella", "DataLoader").name
    ('nn.Dense', 'torch.utils.data.DataLoader')
    """
    room = module.partition(".")[2]
    found = _first(_MODULES.get(room, ()), name)
    return found or _by_last_part().get(name)


def in_class(kinds: Iterable[str], name: str) -> ForeignName | None:
    """The foreign name that was looked for in an object of these classes, the nearest first.

    >>> in_class(["Tensor"], "backward").here
    ('value_and_grad',)
    """
    places = [place for kind in kinds for place in _CLASSES.get(kind, ())]
    return _first(places, name)


def _first(places: Iterable[str], name: str) -> ForeignName | None:
    return next((row for place in places if (row := _by_name().get(f"{place}.{name}"))), None)
