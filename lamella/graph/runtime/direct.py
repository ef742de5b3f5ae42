"""Calls of small compiled functions, from the guards to the result, without Python in between.

`Compiled.__call__` takes some 8 µs beside the kernels. Most calls are like the one before: the same
graph applies, its arguments are Tensors of the same forms, and it gives one new Tensor and changes
nothing. Such a call is one function in C++ (`program.cpp`), which checks all that the long way
checks. On a miss it has done nothing, and the call goes the long way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...parameter import Parameter
from ...tensor import Tensor
from .program import extension
from .replay import Path


def direct(path: Path, guards: Callable[[], Any], expected: Any, args: tuple
           ) -> Callable[..., Tensor | None] | None:
    """A function that takes a call's arguments, and gives what the call does, or None on a miss.

    Args:
        path: the graph, which applied to the last call.
        guards: gives what the graph read (`Watch.values`).
        expected: the object that this has to be.
        args: those of the last call.

    Returns:
        The function; None if the graph does more than such a function can.
    """
    plan, module = path.plan, extension.module
    if module is None or plan is None or len(plan.stages) != 1 or not path.only_computes:
        return None
    if (plan.stages[0].backend != "replay" or plan.changing == 0 or plan.exchanges
            or len(plan.results) != 1):
        return None
    constants = [*path.constants, *plan.constants]
    result = plan.results[0] - path.arguments - len(path.held) - len(constants)
    if result < 0 or len(args) != path.arguments:  # the result is an input; not only Tensors
        return None
    try:
        return module.make_direct(Tensor, Parameter, plan.stages[0].run, guards, expected, args,
                                  path.held, constants, plan.stages[0].takes, result)
    except (IndexError, RuntimeError, TypeError, ValueError):  # other kinds of arguments
        return None
