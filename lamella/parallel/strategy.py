"""How the Parameters of a network lie over processes, as `Layout`s."""

from __future__ import annotations

import string
from typing import Any

from ..communication.groups import group_of
from ..core.require import of_type
from ..core.settings import Settings
from ..nn.cell import Cell
from . import stages
from .layout import Layout
from .parameter_layout import ParameterLayout, layout_of
from .stages import StageParameter

__all__ = ["clear_strategy_metadata", "enable_save_strategy_online",
           "get_current_strategy_metadata", "get_strategy_metadata"]

_settings = Settings("the strategies saved online", {"enabled": False})


def enable_save_strategy_online() -> None:
    """Let the functions of this module return layouts from now on."""
    _settings["enabled"] = True


def clear_strategy_metadata() -> None:
    """Let the functions of this module return nothing, until they are enabled again."""
    _settings["enabled"] = False


def get_strategy_metadata(network: Cell, rank_id: int | None = None
                          ) -> dict[int, dict[str, list[Any]]] | None:
    """How each process holds the Parameters of a network.

    Args:
        network: the network; a `TrainOneStepCell` has the optimizer's states too.
        rank_id: tell only this process's; default: all.

    Returns:
        By rank and by the Parameter's name a list of its `Layout`, type and whole shape. None
        before `enable_save_strategy_online`.

    Raises:
        TypeError: if `network` is no Cell.
        ValueError: if there is no such process.

    Examples:
        >>> import lamella as ms
        >>> from lamella.parallel.strategy import *
        >>> enable_save_strategy_online()
        >>> layout, kind, shape = get_strategy_metadata(ms.nn.Dense(2, 3), 0)[0]["weight"]
        >>> layout.to_dict()["tensor_map"], kind, shape
        ((-1, -1), 'Float32', (3, 2))
        >>> clear_strategy_metadata()
    """
    name = "get_strategy_metadata"
    of_type(network, Cell, "network", name)
    size = group_of(None, name).size
    if rank_id is not None and rank_id not in range(size):
        raise ValueError(f"For '{name}', 'rank_id' must be in [0, {size}), but got {rank_id!r}.")
    if not _settings["enabled"]:
        return None
    found: dict[int, dict[str, list[Any]]] = {}
    for rank in range(size) if rank_id is None else [rank_id]:
        pipeline = stages.latest()
        width = size if pipeline is None else pipeline.alike.size
        stage = rank // width
        ranks = list(range(stage * width, (stage + 1) * width))
        found[rank] = {
            p.name: [_layout(layout_of(p), ranks), str(p.dtype), p.shape]
            for p in network.get_parameters()
            if not isinstance(p, StageParameter) or p.stage == stage}
    return found


def get_current_strategy_metadata(network: Cell) -> dict[int, dict[str, list[Any]]] | None:
    """As `get_strategy_metadata`, of this process, whose key is 0."""
    found = get_strategy_metadata(network, group_of(None, "get_current_strategy_metadata").rank)
    return None if found is None else dict(enumerate(found.values()))


def _layout(found: ParameterLayout, ranks: list[int]) -> Layout:
    """How a Parameter lies over the processes that hold it."""
    devices, axes = found.devices, list(found.axes)
    if found.extra:  # the first dimension is cut by neighbours
        devices = tuple(n for n in (len(ranks) // found.extra, found.extra) if n > 1)
        axes[0] = (0,)
    names = tuple(string.ascii_lowercase[:len(devices)])
    places = [tuple(names[-1 - axis] for axis in each) for each in axes]
    return Layout(devices, names, ranks)(*[
        "None" if not each else each[0] if len(each) == 1 else each for each in places])
