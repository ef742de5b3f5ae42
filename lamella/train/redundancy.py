"""Parameters that several processes hold: values that come from one of them."""

from __future__ import annotations

from typing import Any

from ..communication import exchange
from ..communication.groups import create_group, group_of
from ..core.require import of_type
from ..nn.cell import Cell
from ..parallel import stages
from ..parallel.parameter_layout import layout_of
from ..tensors.parameter import Parameter
from .held import held_part

__all__ = ["get_parameter_redundancy", "parameter_broadcast", "remove_param_redundancy",
           "sync_pipeline_shared_parameters"]


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


def get_parameter_redundancy(layout_obj: Any, initial_rank: int | None = None
                             ) -> dict[str, tuple[tuple[int, ...], ...]]:
    """Which processes hold the same values of each Parameter of a network.

    Args:
        layout_obj: the network.
        initial_rank: the rank of the first process of this one's stage of a pipeline; default 0.

    Returns:
        For each Parameter, in the order of names, groups of ranks.

    Raises:
        TypeError: if `layout_obj` is no Cell.

    Examples:
        >>> import lamella as ms
        >>> from lamella.train.redundancy import get_parameter_redundancy
        >>> get_parameter_redundancy(ms.nn.Dense(2, 1))
        {'bias': ((0,),), 'weight': ((0,),)}
    """
    of_type(layout_obj, Cell, "layout_obj", "get_parameter_redundancy")
    first, found = initial_rank or 0, {}
    for name, parameter in sorted(layout_obj.parameters_dict().items()):
        layout = layout_of(parameter)
        alike: dict[Any, list[int]] = {}
        for rank in range(layout.size):
            alike.setdefault(layout.cell(rank), []).append(first + rank)
        found[name] = tuple(tuple(ranks) for ranks in alike.values())
    return found


def remove_param_redundancy(param_redundancy_dict: dict[str, tuple[tuple[int, ...], ...]],
                            keep_redundancy: int = 1) -> dict[int, set[str]]:
    """Which process saves which Parameters, so that each value is saved as often as is asked for.

    Args:
        param_redundancy_dict: what `get_parameter_redundancy` gave.
        keep_redundancy: how many processes save each.

    Returns:
        The names of Parameters by rank, as evenly spread as their order allows.

    Examples:
        >>> from lamella.train.redundancy import remove_param_redundancy
        >>> shares = remove_param_redundancy({"a": ((0, 1),), "b": ((0, 1),)})
        >>> {rank: sorted(names) for rank, names in shares.items()}
        {0: ['a'], 1: ['b']}
    """
    shares: dict[int, set[str]] = {}
    for name, groups in sorted(param_redundancy_dict.items()):
        for ranks in groups:
            fewest = sorted(ranks, key=lambda rank: (len(shares.get(rank, ())), rank))
            for rank in fewest[:keep_redundancy]:
                shares.setdefault(rank, set()).add(name)
    return shares
