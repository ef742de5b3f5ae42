"""Records a function of the program's as a graph of kernels, to compute with in another way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import Node
from torch.fx.node import map_arg

from ...autodiff.level import Level, batching, entered
from ...core.state import state
from ..guards.reachable import Reachable
from ..guards.search import reachable_from
from ..ir.loop import loop_of
from ..ir.operations import effects_of, is_random
from .loop_part import BodyRecorder, Part, Raws, Unlike, untransformed
from .loop_rules import examples_of
from .loop_watch import Watch
from .recorder import Recorder

# applies a kernel to values of any kind
Apply = Callable[[Any, tuple, dict], Any]


def recorded_body(trace: Any, program: Callable[..., Any], call: Callable[[Raws], Raws],
                  inputs: Raws, reach: Reachable | None = None
                  ) -> Callable[[Sequence[Any], Apply], list[Any]] | None:
    """A function that computes the same from other inputs, applying each kernel in another way.

    The function runs dry, outside of all transformations.

    Args:
        trace: the run that is recorded.
        program: the program's function in it.
        call: the function, of raw tensors.
        inputs: what it takes.
        reach: the objects that `program` can reach, if they are known.

    Returns:
        A function of the inputs and of an `Apply`; None if the program does more than computing,
        or its derivative isn't that of its kernels.
    """
    if type(trace.recorder) not in (Recorder, BodyRecorder):
        return None
    reach = reachable_from(program) if reach is None else reach
    if reach.limits.refused is not None or reach.limits.has_caches:
        return None
    level = Level(state.level, reverse=False, forward=True)
    if level.journal is not None:
        return None
    watch = Watch(batching())
    try:
        part = Part(trace, examples_of(trace, len(inputs), 0, inputs), [True] * len(inputs))
        part.recorder.level, part.recorder.watch = level, watch
        with entered(level):
            part.run(reach, watch.around(lambda raws: (call(raws), [])), untransformed)
    except Unlike:
        return None
    if not (watch.is_faithful and part.recorder.is_differentiable):
        return None
    outside = part.recorder.constants
    nodes = list(part.with_inputs([*part.aliases, *outside]).graph.nodes)
    if not all(map(_only_computes, nodes)):
        return None
    return lambda values, apply: _computed(
        nodes, [*values, *map(watch.original, outside)], apply)


def _only_computes(node: Node) -> bool:
    if node.op != "call_function":
        return node.op in ("placeholder", "output")
    if loop_of(node) is not None:
        return False
    known = effects_of(node.target)
    if known.reshapes_in_place:  # such as PyTorch's product of a vector does with what it has made
        return len(node.all_input_nodes[0].users) == 1
    return not (known.written or known.is_check or known.is_impure or known.gives_python
                or is_random(node))


def _functional(kernel: Any) -> Any:
    """The kernel that gives a view where this one changes a shape in place."""
    if not effects_of(kernel).reshapes_in_place:
        return kernel
    name, _, overload = str(kernel).removeprefix("aten.").partition(".")
    return getattr(getattr(torch.ops.aten, name.removesuffix("_")), overload)


def _computed(nodes: list[Node], inputs: Sequence[Any], apply: Apply) -> list[Any]:
    known: dict[Node, Any] = {}
    given = iter(inputs)
    for node in nodes:
        if node.op == "placeholder":
            known[node] = next(given)
        elif node.op == "output":
            return [known[n] for n in node.args[0]]  # type: ignore[union-attr]
        elif isinstance(node.target, torch._ops.OpOverload):
            known[node] = apply(_functional(node.target), *map_arg(  # type: ignore[misc]
                (node.args, node.kwargs), known.__getitem__))
        else:  # one of several results
            known[node] = known[node.args[0]][node.args[1]]  # type: ignore[index]
    return []
