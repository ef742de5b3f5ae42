"""Calls of small compiled functions, from the guards to the result, without Python in between.

The long way (`Compiled.__call__`) takes some 8 µs beside the kernels. Most calls are like the one
before: the last graph applies, its arguments are Tensors of the same forms, and it gives one new
Tensor and changes nothing. Such a call is one function written in C++ (`program.cpp`); on a miss it
has done nothing, and the long way is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...tensor import Tensor
from ..guards.watch import Watch
from .program import extension
from .replay import Path

MOST = 64  # Parameters and Tensors that a function holds
_ARGUMENT, _PARAMETER, _TENSOR, _CONSTANT = range(4)


def direct(path: Path, watch: Watch, seen: Any, args: tuple) -> Callable[[tuple], Any] | None:
    """A function from a call's arguments to what it gives, or to None if the graph doesn't apply.

    Args:
        path: the graph, which applied to the last call.
        watch, seen: what the graph read, and how that has to be.
        args: of the last call.

    Returns:
        The function; None if the graph does more than such a function can.
    """
    plan, module = path.plan, extension.module
    if module is None or plan is None or not path.settled or len(plan.stages) != 1:
        return None
    stage = plan.stages[0]
    arguments = [a._raw for a in args if type(a) is Tensor]
    more = (path.expected, path.fresh, path.streams, path.slots, path.assigned(), path.sizes,
            path.compute, path.spots,
            plan.changing is not None, len(args) != len(arguments) or None)
    if (any(more) or not path.gives_one or len(arguments) != path.arguments
            or len(path.held) > MOST or stage.backend != "replay"
            or any(x.requires_grad for x in arguments)):
        return None
    constants = [*path.constants, *plan.constants]
    sources = [*((_ARGUMENT, i) for i in range(len(arguments))),
               *((_PARAMETER, i) for i in range(len(path.parameters))),
               *((_TENSOR, i) for i in range(len(path.others))),
               *((_CONSTANT, i) for i in range(len(constants)))]
    result = plan.results[0] - len(sources)
    if result < 0 or len(plan.results) != 1:
        return None
    try:
        return module.make_direct(
            Tensor, stage.run, arguments, watch.values, seen, path.parameters, path.others,
            constants, [sources[i] for i in stage.takes], result)
    except (IndexError, RuntimeError, TypeError):
        return None
