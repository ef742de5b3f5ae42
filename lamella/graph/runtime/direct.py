"""The short path: calls of small compiled functions in C++, from the guards to the result.

`Compiled.__call__` takes tens of microseconds beside the kernels. Most calls are like the one
before: the same graph applies, its arguments are Tensors like those before, alone or in lists and
tuples, and it returns new Tensors, or numbers of such, without side effects. Such a call is one
function in C++ (`program.cpp`), which checks every guard, and runs kernels or XLA's code. On a miss
it has changed nothing, and `Compiled.__call__` continues.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor
from ..guards.kinds import ATOMS
from ..tracing.results import New, Read
from .keys import settings
from .program import extension

if TYPE_CHECKING:
    import torch

    from .plan import Plan
    from .program import Run
    from .replay import Replay


REST = 256  # calls until the long path is taken again, if its graph may still become faster


class Direct(NamedTuple):
    """The short path to a graph.

    Attributes:
        call: from a call's arguments to its result, or to None if a guard fails; None if the graph
            does more than such a function can.
        expected: the fingerprint that it expects; the very object.
        settings: the settings that it holds for.
        run: what runs the graph.
    """

    call: Any = None
    expected: Any = None
    settings: tuple[torch.device, bool] | None = None
    run: Any = None

    @classmethod
    def of(cls, replay: Replay, guards: Callable[[], Any], expected: Any, args: tuple) -> Direct:
        """The short path to a graph.

        Args:
            replay: the graph, which applied to the last call.
            guards: returns the fingerprint of what the graph read (`Guard.fingerprint`).
            expected: the object that `guards` must return.
            args: the arguments of the last call.
        """
        plan = replay.execution.plan  # read once: another thread may replace it
        run = None if plan is None else plan.only_run
        return cls(_direct(replay, plan, run, guards, expected, args), expected, settings(), run)


def _direct(replay: Replay, plan: Plan | None, run: Run | None, guards: Callable[[], Any],
            expected: Any, args: tuple) -> Callable[..., Any] | None:
    inputs, module = replay.inputs, extension.module
    if module is None or plan is None or run is None or not replay.only_computes:
        return None
    constants = [*inputs.constants, *plan.constants]
    first = inputs.arguments + len(inputs.held) + len(constants)
    checks = [check for checks in plan.guards.after.values() for check in checks]
    if any(type(value) not in (bool, int, float) for *_, value in checks):
        return None
    results = [number - first for number in (*plan.results, *(place for _, place, _ in checks))]
    structure, tree = _structure(args), _tree(replay.outputs.out_tree[0])
    if structure is None or tree is None or min(results, default=-1) < 0:  # or it gives an input
        return None
    try:
        return module.make_direct(Tensor, Parameter, run, guards, expected, args, structure,
                                  inputs.held, constants, plan.stages[0].takes, results, tree,
                                  [(len(plan.results) + i, value)
                                   for i, (*_, value) in enumerate(checks)])
    except (IndexError, RuntimeError, TypeError, ValueError):  # other kinds of arguments
        return None


def _structure(args: Any) -> Any:
    """A structure of Tensors as `program.cpp` reads it; None if there is anything else."""
    if type(args) is Tensor:
        return 0
    if type(args) not in (tuple, list):
        return None
    parts = [_structure(part) for part in args]
    return None if None in parts else (type(args).__name__, parts)


def _tree(tree: Any) -> Any:
    """The description of a result as `program.cpp` reads it; None for another one."""
    if type(tree) is New:
        return None if tree.own else tree.number
    if type(tree) is Read:
        return "number", tree.number
    if type(tree) in ATOMS:
        return "constant", tree
    if type(tree) not in (tuple, list):
        return None
    parts = [_tree(part) for part in tree]
    return None if None in parts else (type(tree).__name__, parts)
