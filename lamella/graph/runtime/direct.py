"""The short path: calls of small compiled functions in C++, from the guards to the result.

`Compiled.__call__` takes some 8 µs beside the kernels. Most calls are like the one before: the same
graph applies, its arguments are Tensors of the same forms, and it returns one new Tensor without
side effects. Such a call is one function in C++ (`program.cpp`), which checks every guard. On a
miss it has changed nothing, and `Compiled.__call__` continues.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor
from .keys import settings
from .program import extension

if TYPE_CHECKING:
    import torch

    from .replay import Replay


class Direct(NamedTuple):
    """The short path to a graph.

    Attributes:
        call: from a call's arguments to its result, or to None if a guard fails; None if the graph
            does more than such a function can.
        expected: the fingerprint that it expects; the very object.
        settings: the settings that it holds for.
    """

    call: Any = None
    expected: Any = None
    settings: tuple[torch.device, bool] | None = None

    @classmethod
    def of(cls, replay: Replay, guards: Callable[[], Any], expected: Any, args: tuple) -> Direct:
        """The short path to a graph.

        Args:
            replay: the graph, which applied to the last call.
            guards: returns the fingerprint of what the graph read (`Guard.fingerprint`).
            expected: the object that `guards` must return.
            args: the arguments of the last call.
        """
        return cls(_direct(replay, guards, expected, args), expected, settings())


def _direct(replay: Replay, guards: Callable[[], Any], expected: Any, args: tuple
            ) -> Callable[..., Tensor | None] | None:
    plan, inputs, module = replay.execution.plan, replay.inputs, extension.module
    if module is None or plan is None or len(plan.stages) != 1 or not replay.only_computes:
        return None
    if (plan.stages[0].backend != "replay" or plan.changing == 0 or plan.exchanges
            or len(plan.results) != 1):
        return None
    constants = [*inputs.constants, *plan.constants]
    result = plan.results[0] - inputs.arguments - len(inputs.held) - len(constants)
    if result < 0 or len(args) != inputs.arguments:  # the result is an input; not only Tensors
        return None
    try:
        return module.make_direct(Tensor, Parameter, plan.stages[0].run, guards, expected, args,
                                  inputs.held, constants, plan.stages[0].takes, result)
    except (IndexError, RuntimeError, TypeError, ValueError):  # other kinds of arguments
        return None
