"""Parameters that several processes hold: values that come from one of them."""

from __future__ import annotations

from typing import Any

from ..communication import exchange
from ..communication.groups import create_group, group_of
from ..nn.cell import Cell
from ..parallel import stages
from ..parallel.parameter_layout import layout_of
from ..tensors.parameter import Parameter
from .held import held_part

__all__ = ["parameter_broadcast", "sync_pipeline_shared_parameters"]


def parameter_broadcast(net: Cell, layout: dict[str, Any], cur_rank: int = 0,
                        initial_rank: int = 0) -> None:
    """Give the Parameters of a network, in all processes that hold the same, the values that the
    first of these has. All processes have to call it.

    Args:
        net: the network.
        layout: its keys are the names of Parameters; an empty one, as ``parameter_layout_dict`` is
            here, means all. How they lie over processes is known.
        cur_rank: this process's rank.
        initial_rank: the rank of the first process of this one's stage of a pipeline.

    Raises:
        ValueError: if a rank is another one, or the network lacks a Parameter.
        RuntimeError: if another process fails or calls something else.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.Dense(2, 1)
        >>> ms.parameter_broadcast(net, net.parameter_layout_dict)
    """
    name = "parameter_broadcast"
    world = group_of(None, name)
    if world.size == 1:
        return
    pipeline = stages.latest()
    first = 0 if pipeline is None else pipeline.stage * pipeline.alike.size
    for argument, given, wanted in (("cur_rank", cur_rank, world.rank),
                                    ("initial_rank", initial_rank, first)):
        if given != wanted:
            raise ValueError(f"For '{name}', '{argument}' must be {wanted} in this process, but "
                             f"got {given!r}.")
    named = net.parameters_dict()
    for each in layout:
        if each not in named:
            raise ValueError(f"For parameter broadcast, the param: {each} can not be found.")
    for each in layout or named:
        _broadcast(named[each], first, name)


def _broadcast(parameter: Parameter, first: int, name: str) -> None:
    """Give a Parameter the value that the first of those has that hold the same."""
    layout = layout_of(parameter)
    world = group_of(None, name)
    alike: dict[Any, list[int]] = {}
    for start in range(0, world.size, layout.size):
        for rank in range(layout.size):
            alike.setdefault((start, layout.cell(rank)), []).append(start + rank)
    for (start, _), ranks in alike.items():
        if len(ranks) == 1:
            continue
        group = world.name
        if len(ranks) < world.size:  # all processes make all groups
            group = f"alike_{'_'.join(map(str, ranks))}"
            create_group(group, ranks)
        held = held_part(parameter)
        if start == first and world.rank in ranks and held is not None:
            raw = held._raw.detach()
            parameter._data.copy_(exchange.broadcast(name, raw, ranks[0], group_of(group, name)))


def sync_pipeline_shared_parameters(net: Cell) -> None:
    """Has no effect: a Parameter that several stages of a pipeline use is held by one of them, so
    there are no copies that could differ.

    Args:
        net: the network.

    Raises:
        TypeError: if it is no Cell.
    """
    if not isinstance(net, Cell):
        raise TypeError(f"For 'sync_pipeline_shared_parameters', the argument 'net' should be a "
                        f"Cell, but got {type(net)}.")
