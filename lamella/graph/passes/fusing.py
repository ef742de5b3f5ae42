"""Shared functions of passes that replace several kernels by one."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ...machine.extension import Extension
from ...machine.measured import Key
from ...machine.timing import fastest_of
from ..ir.agreement import agree_but_for_kinks, next_to
from ..ir.metadata import TensorMetadata, meta_of
from ..ir.operations import sweep
from .casts import NARROW, WIDE, is_cast, is_like
from .memory import Memory

aten = torch.ops.aten
_VIEWS: tuple[Any, ...] = (aten.view.default, aten._unsafe_view.default)

ROUNDS, PATIENCE = 7, 0.1  # the most rounds of timing one form; seconds

Arguments = Sequence[Any]  # of a kernel: nodes, None, and settings


def rewritten(module: GraphModule, nodes: Iterable[Node], extension: Extension,
              rewrite: Callable[[Node, Memory], bool]) -> int:
    """Rewrite nodes one by one, once the extension that has their kernel is there.

    Args:
        module: changed in place.
        nodes: the nodes to rewrite.
        extension: built in the background, if it isn't there; then nothing is rewritten.
        rewrite: is given a node, and the alias analysis of the graph as it is by then; returns
            whether it has rewritten the node.

    Returns:
        How many were rewritten.
    """
    found = list(nodes)
    if not found:
        return 0
    if extension.obtain() is None:
        return 0
    count, memory = 0, None
    for node in found:
        memory = memory or Memory(module.graph)
        if rewrite(node, memory):
            count, memory = count + 1, None
    if count:
        sweep(module.graph)
    return count


def metas_of(given: Arguments) -> list[Any] | None:
    """Arguments with the metadata of nodes in their place; None if the kernel can't take them.

    It takes tensors of float32 and bfloat16 in main memory.
    """
    metas = [meta_of(a) if isinstance(a, Node) else a for a in given]
    fit = all(isinstance(m, TensorMetadata) and m.device.type == "cpu" and m.dtype in (WIDE, NARROW)
              for a, m in zip(given, metas, strict=True) if isinstance(a, Node))
    return metas if fit else None


def key_of(theirs: Callable[..., Any], form: Sequence[int | bool], metas: Arguments) -> Key:
    """The key under which the faster kernel is remembered: a form, the types, and the settings."""
    return (theirs.__name__, *form, *(
        str(m.dtype) if isinstance(m, TensorMetadata) else str(m) for m in metas),
        torch.get_num_threads())


def made_of(metas: Arguments) -> list[Any]:
    """Arguments with random numbers in the place of metadata."""
    return [m.scratch() if isinstance(m, TensorMetadata) else m for m in metas]


def faster(theirs: Callable[..., Any], ours: Callable[..., Any], given: Arguments) -> str:
    """``"fused"`` if our kernel is clearly faster and its results agree, else ``"torch"``."""
    def near() -> list[torch.Tensor]:
        return _results(theirs(*(next_to(a) if isinstance(a, torch.Tensor) else a for a in given)))

    wanted, found = _results(theirs(*given)), _results(ours(*given))
    if [a.stride() for a in wanted] != [b.stride() for b in found] or not agree_but_for_kinks(
            wanted, found, near):
        return "torch"
    del wanted, found
    return fastest_of({"torch": lambda: theirs(*given), "fused": lambda: ours(*given)},
                      ROUNDS, PATIENCE)


def _results(found: torch.Tensor | Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [found] if isinstance(found, torch.Tensor) else list(found)


def results_of(node: Node, count: int) -> list[Node | None] | None:
    """The results of a kernel, None for one that nothing reads; None if anything else reads it."""
    users = list(node.users)
    if any(u.target is not operator.getitem for u in users):
        return None
    found: dict[Any, Node] = {u.args[1]: u for u in users}
    return [found.get(i) for i in range(count)] if len(found) == len(users) else None


def replace(old: Sequence[Node | None], new: Sequence[Node]) -> None:
    """Have everything read new values in the place of old ones, which may be None."""
    for before, after in zip(old, new, strict=True):
        if before is not None:
            before.replace_all_uses_with(after)


def only_user(node: Node, target: Any) -> Node | None:
    """The only reader of a value, if it is this operation, with a result of the same form."""
    users = list(node.users)
    return users[0] if len(users) == 1 and users[0].target is target and (
        is_like(users[0], node)) else None


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


def column_sum(node: Node) -> Node | None:
    """The cast to float32 of the sums of a value's columns: over all dimensions but the last one.

    None if there is none, or if anything else reads the sums, which are in bfloat16.
    """
    for reader in [node, *(u for u in node.users if u.target in _VIEWS)]:
        meta, its = meta_of(node), meta_of(reader)
        if meta is None or its is None or its.shape[-1:] != meta.shape[-1:]:
            continue
        for total in [u for u in reader.users if u.target is aten.sum.dim_IntList]:
            given: Any = total.args[1] or ()  # none are all
            dims, casts = [d % len(its.shape) for d in given], list(total.users)
            if dims and sorted(dims) == list(range(len(its.shape) - 1)) and not total.kwargs and (
                    total.args[2:] in ((), (False,)) and len(casts) == 1
                    and is_cast(casts[0], WIDE)):
                return casts[0]
    return None
