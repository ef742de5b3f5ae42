"""MindSpore's checkpoints of cut Parameters: each process writes the part that it holds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..communication import settings
from ..nn.cell import Cell
from ..parallel import stages
from ..parallel.auto_parallel import AutoParallel
from ..parallel.parameter_layout import layout_of
from ..parallel.parts import PartParameter
from ..parallel.stages import StageParameter
from ..tensors.tensor import Tensor, wrap
from .strategy_files import write_strategy

__all__ = ["held_part", "write_layouts"]


def held_part(value: Any) -> Any:
    """A Tensor around what this process holds of a Parameter that is cut; None for one of another
    stage of a pipeline; else the value itself."""
    if not isinstance(value, (PartParameter, StageParameter)):
        return value
    return None if value._data.is_meta else wrap(value._data)


def write_layouts(save_obj: Any, named: Iterable[tuple[str, Any]]) -> None:
    """Write how Parameters are cut to the strategy file that the settings name, if they name one.

    Args:
        save_obj: what is saved; an `AutoParallel` in it has settings of its own.
        named: the Parameters, and other values, by the names they are saved under.
    """
    path = _strategy_file(save_obj)
    if path:
        pipeline = stages.latest()
        write_strategy(path, {name: layout_of(value) for name, value in named
                              if isinstance(value, Tensor) and held_part(value) is not None},
                       None if pipeline is None else pipeline.stage)


def _strategy_file(save_obj: Any) -> str:
    cells = save_obj.cells_and_names() if isinstance(save_obj, Cell) else ()
    for _, cell in cells:
        if isinstance(cell, AutoParallel) and (name := cell.strategy_file()):
            return name
    return settings.get_auto_parallel_context("strategy_ckpt_config")["save_file"]
