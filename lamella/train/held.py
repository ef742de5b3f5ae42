"""Checkpoints of what each process holds of Parameters that are cut, as MindSpore has them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..communication.groups import group_of
from ..nn.cell import Cell
from ..parallel import settings
from ..parallel.auto_parallel import AutoParallel
from ..parallel.parts import PartParameter
from ..tensor import Tensor, wrap
from .strategy_files import ParameterLayout, write_strategy

__all__ = ["held_part", "write_layouts"]


def held_part(value: Any) -> Any:
    """A Tensor around what this process holds of a Parameter that is cut; else the value itself."""
    return wrap(value._data) if isinstance(value, PartParameter) else value


def write_layouts(save_obj: Any, named: Iterable[tuple[str, Any]]) -> None:
    """Write how Parameters are cut to the strategy file that the settings name, if they name one.

    Args:
        save_obj: what is saved; an `AutoParallel` in it has settings of its own.
        named: the Parameters, and other values, by the names they are saved under.
    """
    path = _strategy_file(save_obj)
    if path:
        write_strategy(path, {name: _layout(value) for name, value in named
                              if isinstance(value, Tensor)})


def _strategy_file(save_obj: Any) -> str:
    cells = save_obj.cells_and_names() if isinstance(save_obj, Cell) else ()
    for _, cell in cells:
        if isinstance(cell, AutoParallel) and (name := cell.strategy_file()):
            return name
    return settings.get_auto_parallel_context("strategy_ckpt_config")["save_file"]


def _layout(value: Tensor) -> ParameterLayout:
    if not isinstance(value, PartParameter):
        return ParameterLayout((group_of(None, "save_checkpoint").size,), ((),) * value.ndim)
    devices, axes, extra = value.placement.arrangement()
    from_last = [tuple(len(devices) - 1 - axis for axis in axes.get(dim, ()))
                 for dim in range(value.ndim)]
    return ParameterLayout(tuple(devices), tuple(from_last), extra)
