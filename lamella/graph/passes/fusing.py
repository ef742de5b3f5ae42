"""What passes that put one kernel in the place of several have in common."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ...machine.timing import GAIN
from ..ir.agreement import agree_but_for_kinks, next_to
from ..ir.metadata import meta_of
from .casts import WIDE, is_cast, is_like
from .memory import Memory

aten = torch.ops.aten
_VIEWS: tuple[Any, ...] = (aten.view.default, aten._unsafe_view.default)

ROUNDS, PATIENCE = 7, 0.1  # the most rounds of timing one form; seconds

Arguments = list[Any]  # of a kernel: nodes, None, and settings


def faster(theirs: Callable[..., Any], ours: Callable[..., Any], given: Arguments) -> str:
    """``"fused"`` if our kernel is clearly faster and its results agree, else ``"torch"``."""
    def near() -> list[torch.Tensor]:
        return _results(theirs(*(next_to(a) if isinstance(a, torch.Tensor) else a for a in given)))

    wanted, found = _results(theirs(*given)), _results(ours(*given))
    if [a.stride() for a in wanted] != [b.stride() for b in found] or not agree_but_for_kinks(
            wanted, found, near):
        return "torch"
    del wanted
    best, start = {theirs: float("inf"), ours: float("inf")}, time.perf_counter()
    for number in range(ROUNDS):
        for run in best:
            begin = time.perf_counter()
            run(*given)
            best[run] = min(best[run], time.perf_counter() - begin)
        if number and time.perf_counter() - start > PATIENCE:
            break
    return "fused" if best[ours] < GAIN * best[theirs] else "torch"


def _results(found: torch.Tensor | Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [found] if isinstance(found, torch.Tensor) else list(found)


def parts_of(node: Node) -> dict[int, Node] | None:
    """The results of a kernel by their numbers; None if anything else reads it."""
    users = list(node.users)
    if any(u.target is not operator.getitem for u in users):
        return None
    found = {u.args[1]: u for u in users}
    return found if len(found) == len(users) else None  # type: ignore[return-value]


def only_user(node: Node, target: Any, memory: Memory) -> Node | None:
    """The only reader of a value, if it is this operation, with a result of the same form."""
    users = list(node.users)
    if len(users) != 1 or users[0].target is not target or node in memory.results:
        return None
    return users[0] if is_like(users[0], node) else None


def are_written(memory: Memory, *values: Node | None) -> bool:
    """Whether anything writes into the memory of one of these."""
    return any(v is not None and bool(memory.writes(v)) for v in values)


def erase(module: GraphModule, node: Node) -> None:
    """Remove a node with what is computed of it, which nothing else reads; `sweep` keeps it."""
    for user in list(node.users):
        erase(module, user)
    module.graph.erase_node(node)


def kernel_inserted(module: GraphModule, place: Node, target: Any, given: Arguments,
                    like: list[Node | None]) -> list[Node]:
    """A kernel, before a node; returns its results, each with the metadata of another node."""
    graph = module.graph
    with graph.inserting_before(place):
        kernel = graph.call_function(target, tuple(given))
        kernel.meta.update({k: v for k, v in place.meta.items() if k != "tensor_meta"})
        found = []
        for number, other in enumerate(like):
            part = graph.call_function(operator.getitem, (kernel, number))
            part.meta.update(kernel.meta)
            if other is not None:
                part.meta["tensor_meta"] = meta_of(other)
            found.append(part)
    return found


def column_sum(node: Node, memory: Memory) -> Node | None:
    """The cast to float32 of the sums of a value's columns: over all dimensions but the last one.

    None if there is none, or if anything else reads the sums, which are in bfloat16.
    """
    for reader in [node, *(u for u in node.users if u.target in _VIEWS)]:
        meta, its = meta_of(node), meta_of(reader)
        if meta is None or its is None or its.shape[-1:] != meta.shape[-1:]:
            continue
        for total in [u for u in reader.users if u.target is aten.sum.dim_IntList]:
            (cast, *more), dims = total.users, [d % len(its.shape) for d in total.args[1]]  # type: ignore[union-attr]
            if not more and is_cast(cast, WIDE) and total not in memory.results and (
                    sorted(dims) == list(range(len(its.shape) - 1)) and not total.kwargs
                    and total.args[2:] in ((), (False,))):
                return cast
    return None
