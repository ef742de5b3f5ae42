"""Whether a part of a graph is worth compiling."""

from __future__ import annotations

import itertools
from collections import Counter

from torch.fx import Node

from ..ir.loop import loops_of
from ..ir.metadata import meta_of
from ..ir.operations import bases_of, effects_of, written_by
from ..ir.stages import Part
from ..tracing.recorder import Recomputation

FEWEST = 3  # operations that are worth it
MOST = 4  # writes into parts of one tensor
KEPT = 2**24  # bytes that compiled code may keep although the program computes them again


def is_worth_compiling(part: Part) -> bool:
    """Whether a part has more than a few operations that run a kernel.

    Not if `ms.recompute` computes much again: a compiler may join the second run with the first,
    and keep the values that were to be freed.
    """
    if _computed_again(part) > KEPT:
        return False
    kernels = (n for n in part.nodes if n.op == "call_function" and not _is_view(n))
    return (bool(loops_of(part.nodes))
            or len(list(itertools.islice(kernels, FEWEST))) == FEWEST)


def has_many_patches(part: Part) -> bool:
    """Whether a part writes into many parts of one tensor.

    Inductor makes nested selections of such writes. XLA's code writes in place.
    """
    return _patches(part) > MOST


def _computed_again(part: Part) -> int:
    """The bytes of the values that a second run of `ms.recompute` makes."""
    return sum(0 if (meta := meta_of(node)) is None else meta.bytes for node in part.nodes
               if isinstance(node.meta.get("again"), Recomputation) and not _is_view(node))


def _patches(part: Part) -> int:
    """The largest number of writes into parts of one tensor."""
    if not any(n.op == "call_function" and effects_of(n.target).written for n in part.nodes):
        return 0
    nodes = list(part.copied().graph.nodes)
    bases = bases_of(nodes)
    count = Counter(base for node in nodes for base in written_by(node, bases)
                    if any(n not in bases[n] and base in bases[n] for n in node.all_input_nodes))
    return max(count.values(), default=0)


def _is_view(node: Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is None or (not schema.is_mutable
                              and any(r.alias_info is not None for r in schema.returns))
