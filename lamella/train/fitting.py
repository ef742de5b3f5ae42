"""Checks that the network, the optimizer and the data of a Model fit together."""

from __future__ import annotations

import inspect
import warnings
import weakref
from typing import Any

from ..compat.arguments import plain_signature
from ..core import checks as check
from ..core.errors import describe
from ..core.require import of_type
from ..core.tracebacks import user_stacklevel
from ..nn.cell import Cell
from ..nn.optim import Optimizer

_warned: weakref.WeakSet[Any] = weakref.WeakSet()


def check_parts(loss_fn: Any, optimizer: Any) -> None:
    """Check what a Model is made of beside its network.

    Raises:
        TypeError: if one is something else.
    """
    if loss_fn is not None and not callable(loss_fn):
        raise TypeError(f"For 'Model', 'loss_fn' must be a Cell or a function, such as "
                        f"nn.MSELoss(), but got {loss_fn!r}.")
    if optimizer is not None and not isinstance(optimizer, Cell):
        raise TypeError(f"For 'Model', 'optimizer' must be an optimizer, such as "
                        f"nn.Adam(net.trainable_params()), but got {describe(optimizer)}.")


def check_columns(network: Cell, count: int) -> None:
    """Check that a network without a loss takes each column of the dataset.

    Raises:
        ValueError: if it doesn't.
    """
    try:
        inspect.signature(network.construct).bind(*[None] * count)
    except TypeError as mismatch:
        raise ValueError(
            f"For 'Model', the dataset has {count} columns, but {type(network).__name__} takes "
            f"{plain_signature(network.construct)}: {mismatch}. If the last "
            f"column is the label, give the Model a 'loss_fn', such as nn.MSELoss().") from None


def check_frequency(valid_frequency: Any) -> None:
    """Check after which epochs `Model.fit` evaluates.

    Raises:
        TypeError: if it is neither an int nor a list.
        ValueError: if it is an int below 1.
    """
    of_type(valid_frequency, (int, list), "valid_frequency", "Model.fit")
    if not isinstance(valid_frequency, list):
        check.check_positive_int(valid_frequency, "valid_frequency", "Model.fit")


def is_due(epoch: int, valid_frequency: int | list[int]) -> bool:
    """Whether `Model.fit` evaluates after an epoch."""
    if isinstance(valid_frequency, int):
        return epoch % valid_frequency == 0
    return epoch in valid_frequency


def warn_of_no_optimizer(network: Cell, where: str) -> None:
    """Warn, once for a network, if neither a Model nor its network has an optimizer."""
    if network in _warned or any(_optimizes(value) for _, cell in network.cells_and_names()
                                 for value in (cell, *cell.__dict__.values())):
        return
    _warned.add(network)
    warnings.warn(f"For '{where}', the Model has no 'optimizer', and {type(network).__name__} has "
                  f"none in itself, so nothing is trained. Give one, such as "
                  f"nn.Adam(net.trainable_params()).", stacklevel=user_stacklevel())


def _optimizes(value: Any) -> bool:
    """Whether something is an optimizer, or a function that may hold one."""
    return (isinstance(value, Optimizer) or hasattr(value, "param_groups")
            or callable(value) and not isinstance(value, (Cell, type)))
