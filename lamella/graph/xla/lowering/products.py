"""Products of a batch of matrices with one matrix, which graphs hold as batched products.

`vmap` expands what all examples share. XLA would write the expanded factor to memory, and multiply
many small matrices; one large product takes a fraction of that.
"""

from __future__ import annotations

from typing import Any

from .later import jnp
from .table import Aval, Step, row, wide

SHARED = "lamella.shared_product"


def with_shared_factors(steps: list[Step], inputs: list[Any]) -> list[Step]:
    """The steps of a graph with each factor that is one matrix, expanded, in place of the batch.

    Args:
        steps: operations, none of which writes.
        inputs: the avals of the graph's inputs.
    """
    avals = dict(enumerate(inputs))
    matrices: dict[int, int] = {}  # by the number of an expanded one
    made = []
    for step in steps:
        avals[step["to"]], args = step.get("aval"), step["args"]
        if step["op"] == "expand.default":
            source, (shape, _) = args[0]["n"], step["aval"]
            known = avals.get(source)
            if len(shape) == 3 and shape[0] > 1 and known is not None and (
                    known[0] in (shape[1:], [1, *shape[1:]])):
                matrices[step["to"]] = source
        elif step["op"] == "bmm.default":
            shared = [arg["n"] in matrices for arg in args]
            if shared[0] != shared[1]:
                given = [{"n": matrices.get(arg["n"], arg["n"])} for arg in args]
                step = {**step, "op": SHARED, "args": [*given, shared[0]]}
        made.append(step)
    return made


@row(SHARED)
def _shared_product(aval: Aval, x: Any, y: Any, first: bool) -> Any:
    """``x[i] @ y`` for each ``i``; if the `first` factor is the shared one, ``x @ y[i]``."""
    kind = wide(aval.dtype)
    x, y = x.astype(kind), y.astype(kind)
    if first:
        found = jnp.moveaxis(jnp.tensordot(x.reshape(x.shape[-2:]), y, ([1], [1])), 1, 0)
    else:
        found = jnp.tensordot(x, y.reshape(y.shape[-2:]), ([2], [0]))
    return found.astype(aval.dtype)
