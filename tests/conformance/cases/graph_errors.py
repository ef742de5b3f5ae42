"""Wrong calls inside of compiled functions: of each function three that other families refuse."""

import re

from ..compare import load
from ..spec import Case
from . import (
    activations,
    algebra,
    arithmetic,
    comparison,
    division,
    elementwise,
    losses,
    matrices,
    members,
    methods,
    places,
    reductions,
    scattering,
    shapes,
    sorting,
)

_FAMILIES = (activations, algebra, arithmetic, comparison, division, elementwise, losses, matrices,
             members, methods, places, reductions, scattering, shapes, sorting)
_KINDS = ("TypeError", "ValueError", "RuntimeError", "IndexError")
_CALL = re.compile(r"(ops\.\w+|x\.\w+|Tensor\.\w+)\(")


def _refused() -> list[Case]:
    """For each function three calls that MindSpore refuses outside of graphs, of unlike kinds."""
    found: dict[str, dict[str, list[Case]]] = {}
    for module in _FAMILIES:
        results = load(module.__name__.rpartition(".")[2], module.CASES) or []
        for case, result in zip(module.CASES, results, strict=False):
            call = _CALL.match(case.expression)
            kind = result.get("e") if isinstance(result, dict) else None
            if call and kind in _KINDS and case.mode == "value" and case.inputs:
                found.setdefault(call[1], {}).setdefault(str(kind), []).append(case)
    chosen = []
    for kinds in found.values():
        rows = [calls[:: max(1, len(calls) // 3)][:3] for calls in kinds.values()]
        chosen += [c for rank in range(3) for row in rows for c in row[rank : rank + 1]][:3]
    return chosen


CASES = [case._replace(mode="graph") for case in _refused()]
