"""Phases of Cells: the flags of a Cell in GRAPH_MODE, for each phase that a program sets.

MindSpore keeps a graph for each phase that a program sets (``net.phase = "prefill"``). Flags (see
`Cell.add_flags`) are constants of a graph, so a phase keeps those that held at its first call.
Programs that generate text rely on it: they set flags once for each phase and then only change
the phase.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...nn.cell import Cell

_ITS_OWN = ("train", "predict")  # set by `set_train`, not by the program
_Flags = dict[Cell, dict[str, object]]


@contextmanager
def flags_of_phase(cell: Cell) -> Iterator[None]:
    """While it lasts, flags are what they were at the first call of the Cell's phase."""
    now = _flags(cell)
    first = cell.__dict__.setdefault("_flags_of_phases", {}).setdefault(cell.phase, now)
    changed = {part: flags for part, flags in first.items() if flags != now.get(part)}
    _put(changed)
    try:
        yield
    finally:
        _put({part: now[part] for part in changed if part in now})


def has_phase(cell: Cell) -> bool:
    """Whether a program has set the Cell's phase."""
    phase = cell.__dict__.get("phase")
    return phase is not None and phase not in _ITS_OWN


def _flags(cell: Cell) -> _Flags:
    return {part: dict(part.get_flags()) for _, part in cell.cells_and_names()
            if part.__dict__.get("_flags")}


def _put(changed: _Flags) -> None:
    for part, flags in changed.items():
        part.add_flags(**flags)
