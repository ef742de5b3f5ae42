"""The outcome of a recorded run: its graph, its results, and its side effects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import GraphModule

from ...core.spreading import is_part
from ...tensors.tensor import Tensor
from ..ir.operations import sweep_recorded
from .changes import APPENDED, Change, Snapshot, check_givable
from .refusals import CannotTrace, Cause
from .results import Results
from .trace import Trace, data_of


@dataclass
class Outcome:
    """What a recorded run comes to.

    Attributes:
        graph: the kernels; its results are guards, new Tensors, data of assigned Tensors, and
            gradients.
        constants: raw tensors that the run used, or made from numbers; inputs after all others.
        out_tree: descriptions of the function's result, of assigned values, and of what it prints.
        changes: its assignments to Python's objects; `values` are what it assigned.
        assigned: which of `Trace.held` got other data.
        recorded: for each new Tensor among the results, whether the tape has recorded it.
        same: the Tensors that are arguments and also in `Trace.held`, by their numbers in both.
        pattern: which of the lists, dicts and objects that it was given are the same; None if it
            doesn't change or return any.
        found_elsewhere: those that the run also reaches without the arguments, with their numbers.
    """

    graph: GraphModule
    out_tree: Any
    constants: list[torch.Tensor] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    assigned: list[int] = field(default_factory=list)
    recorded: list[bool] = field(default_factory=list)
    same: list[tuple[int, int]] = field(default_factory=list)
    pattern: list[int] | None = None
    found_elsewhere: list[tuple[int, Any]] = field(default_factory=list)


def outcome_of(trace: Trace, before: Snapshot, given: list[Tensor]) -> Outcome:
    """What a run has come to.

    Args:
        trace: the run.
        before: the objects as they were.
        given: the arguments' Tensors.

    Raises:
        CannotTrace: if no replay can repeat it.
    """
    things, scalars, tensors = trace.given, trace.scalars, [one.tensor for one in trace.held]
    assert things is not None
    made, to_given = list(before.changes()), list(things.changes(before.reach))
    if scalars is not None:
        made.extend((Change(source, APPENDED), grown.items) for source, grown in scalars.lists
                    if grown.items)
    changes, values = [list(parts) for parts in zip(*made, *to_given, strict=True)] or ([], [])
    if scalars is not None:
        changes = [change._replace(key=scalars.guarded(change.key)) for change in changes]

    def knows(value: Any) -> bool:
        return value in before.reach.visited or things.knows(value)

    check_givable([trace.value, [value for _, value in to_given]], knows, "returns")
    check_givable([value for _, value in made], knows, "keeps", Cause.NEW_OBJECT)
    results = Results(given, tensors, before.reach, things.things, scalars)
    out_tree = results.described((trace.value, values, [call.args for call in trace.deferred]))
    if any(map(is_part, results.new)):  # the recorder knows what this process holds of it
        raise CannotTrace("returns a Tensor that is cut over processes")
    elsewhere = things.found_elsewhere(before.reach)
    assigned = [i for i, one in enumerate(trace.held) if data_of(one.tensor) is not one.begun]
    gradients = trace.pulls.gradients if trace.pulls is not None else ()
    raws = [*(guard.raw for guard in trace.guards), *(raw.detach() for raw in results.new),
            *(data_of(tensors[i]).detach() for i in assigned), *(raw.detach() for raw in gradients)]
    places = {id(t): i for i, t in enumerate(tensors)}
    graph = _cleaned(trace.recorder.finished(raws))
    constants = trace.recorder.own_constants()  # results that no kernel has made are such, too
    return Outcome(
        graph, out_tree, constants, changes, values, assigned,
        [raw.requires_grad for raw in results.new],
        [(i, places[id(t)]) for i, t in enumerate(given) if id(t) in places],
        things.pattern if elsewhere or results.uses_things or to_given else None, elsewhere)


def _cleaned(graph: GraphModule) -> GraphModule:
    """The graph without dead code."""
    sweep_recorded(graph.graph)
    graph.recompile()
    return graph
