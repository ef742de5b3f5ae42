"""Dry runs of programs without the devices that they were written for."""

from __future__ import annotations

import os
from typing import Any

__all__ = ["mock", "set_simulation"]


def set_simulation() -> None:
    """Have processes that are started from now on, and `communication.init`, simulate the others.

    It sets the environment variable ``MS_SIMULATION_LEVEL`` to 1, with which a process counts as
    one of ``RANK_SIZE`` without communicating. What is computed here is real, as Lamella needs no
    device for it.

    Examples:
        >>> import os
        >>> from lamella.insight import dryrun
        >>> dryrun.set_simulation()
        >>> os.environ.pop("MS_SIMULATION_LEVEL")
        '1'
    """
    os.environ["MS_SIMULATION_LEVEL"] = "1"


def mock(mock_val: Any, *args: Any) -> Any:
    """A stand-in for a value while the program is simulated, else the value itself.

    Args:
        mock_val: the stand-in.
        *args: the value, or a function and its arguments.

    Raises:
        TypeError: if there is neither a value nor a function.

    Examples:
        >>> import lamella as ms
        >>> from lamella.insight import dryrun
        >>> x = ms.Tensor([3.0])
        >>> print(dryrun.mock(False, x[0] > 2), dryrun.mock(0, max, 1, 5))
        True 5
    """
    if os.environ.get("MS_SIMULATION_LEVEL"):
        return mock_val
    if not args:
        raise TypeError("For 'mock', there must be a value or a function after 'mock_val'.")
    value, *given = args
    if given and not callable(value):
        raise TypeError(f"For 'mock', what has arguments must be a function, but got {value!r}.")
    return value(*given) if callable(value) else value
