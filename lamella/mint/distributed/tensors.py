"""Collectives that write into Tensors. Each returns a handle if ``async_op=True``, else None.

All of them are over when they return, so that a handle has nothing to wait for.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import torch

from ...communication import exchange, rules
from ...communication.comm_func import CommHandle, as_handle, member, raw_of, write_into
from ...communication.groups import Group, group_of
from ...core.errors import describe
from ...tensors.tensor import Tensor

__all__ = ["all_gather", "all_gather_into_tensor", "all_gather_into_tensor_uneven", "all_reduce",
           "all_to_all", "all_to_all_single", "barrier", "broadcast", "gather",
           "gather_into_tensor", "reduce", "reduce_scatter", "reduce_scatter_tensor",
           "reduce_scatter_tensor_uneven", "scatter", "scatter_tensor"]

Shape = Sequence[int]


def all_reduce(tensor: Tensor, op: str = "sum", group: str | None = None,
               async_op: bool = False) -> CommHandle | None:
    """Write into `tensor` the Tensors of all processes, combined element by element.

    Args:
        tensor: of one shape and type on all processes.
        op: ``"sum"``, ``"prod"``, ``"max"`` or ``"min"``.
        group: the group's name; None for all processes.
        async_op: whether to return a handle.

    Raises:
        TypeError: if an argument is of the wrong type.
        RuntimeError: if there is no such group, or the exchange fails.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([1.0, 2.0])
        >>> ms.mint.distributed.all_reduce(x)
        >>> print(x)  # one process: nothing to add
        [1. 2.]
    """
    raw, found = raw_of("all_reduce", tensor), group_of(group, "all_reduce")
    exchange.check_op("all_reduce", op)
    write_into("all_reduce", tensor, exchange.all_reduce("all_reduce", raw, op, found))
    return as_handle("all_reduce", async_op)


def reduce(tensor: Tensor, dst: int, op: str = "sum", group: str | None = None,
           async_op: bool = False) -> CommHandle | None:
    """As `all_reduce`; only process `dst` gets the result."""
    raw, found = raw_of("reduce", tensor), group_of(group, "reduce")
    place = member("reduce", "dst", dst, found)
    exchange.check_op("reduce", op)
    total = exchange.all_reduce("reduce", raw, op, found)
    if found.rank == place:
        write_into("reduce", tensor, total)
    return as_handle("reduce", async_op)


def broadcast(tensor: Tensor, src: int, group: str | None = None,
              async_op: bool = False) -> CommHandle | None:
    """Write the Tensor of process `src` into that of every process."""
    raw, found = raw_of("broadcast", tensor), group_of(group, "broadcast")
    member("broadcast", "src", src, found)
    write_into("broadcast", tensor, exchange.broadcast("broadcast", raw, src, found))
    return as_handle("broadcast", async_op)


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: str | None = None,
               async_op: bool = False) -> CommHandle | None:
    """Write the Tensor of process i into ``tensor_list[i]``."""
    name = "all_gather"
    raw, found = raw_of(name, tensor), group_of(group, name)
    _check_list(name, "tensor_list", tensor_list, found.size)
    for target, part in zip(tensor_list, exchange.all_gather(name, raw, found), strict=True):
        write_into(name, target, part)
    return as_handle(name, async_op)


def all_gather_into_tensor(output_tensor: Tensor, input_tensor: Tensor, group: str | None = None,
                           async_op: bool = False) -> CommHandle | None:
    """Write the Tensors of all processes, joined along the first dimension."""
    name = "all_gather_into_tensor"
    parts = exchange.all_gather(name, raw_of(name, input_tensor), group_of(group, name))
    write_into(name, output_tensor, _joined(parts))
    return as_handle(name, async_op)


def all_gather_into_tensor_uneven(output: Tensor, input: Tensor,
                                  output_split_sizes: list[int] | None = None,
                                  group: str | None = None, async_op: bool = False
                                  ) -> CommHandle | None:
    """As `all_gather_into_tensor`; process i gives ``output_split_sizes[i]`` rows."""
    name = "all_gather_into_tensor_uneven"
    raw, found = raw_of(name, input), group_of(group, name)
    sizes = _sizes(name, "output_split_sizes", output_split_sizes, raw_of(name, output).shape,
                   found)
    if not raw.ndim:
        raise ValueError(f"For '{name}', 'input' must have at least one dimension, but has none.")
    parts = exchange.all_to_all(name, [raw] * found.size,
                                [(size, *raw.shape[1:]) for size in sizes], found)
    write_into(name, output, torch.cat(parts))
    return as_handle(name, async_op)


def reduce_scatter_tensor(output: Tensor, input: Tensor, op: str = "sum",
                          group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """Write this process's part, along the first dimension, of the combined Tensors."""
    name = "reduce_scatter_tensor"
    raw, found = raw_of(name, input).detach(), group_of(group, name)
    exchange.check_op(name, op)
    write_into(name, output, rules.reduce_scatter(name, raw, op, found))
    return as_handle(name, async_op)


def reduce_scatter_tensor_uneven(output: Tensor, input: Tensor,
                                 input_split_sizes: list[int] | None = None, op: str = "sum",
                                 group: str | None = None, async_op: bool = False
                                 ) -> CommHandle | None:
    """As `reduce_scatter_tensor`; process i gets ``input_split_sizes[i]`` rows."""
    name = "reduce_scatter_tensor_uneven"
    raw, found = raw_of(name, input).detach(), group_of(group, name)
    exchange.check_op(name, op)
    sizes = _sizes(name, "input_split_sizes", input_split_sizes, raw.shape, found)
    total = exchange.all_reduce(name, raw, op, found)
    write_into(name, output, total.split(sizes)[found.rank])
    return as_handle(name, async_op)


def reduce_scatter(output: Tensor, input_list: list[Tensor], op: str = "sum",
                   group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """Write the combination of all processes' ``input_list[i]``, where this is process i."""
    name = "reduce_scatter"
    found = group_of(group, name)
    _check_list(name, "input_list", input_list, found.size)
    exchange.check_op(name, op)
    total = exchange.all_reduce(name, torch.stack([t._raw for t in input_list]), op, found)
    write_into(name, output, total[found.rank])
    return as_handle(name, async_op)


def scatter(tensor: Tensor, scatter_list: list[Tensor], src: int = 0, group: str | None = None,
            async_op: bool = False) -> CommHandle | None:
    """Write ``scatter_list[i]`` of process `src` into the Tensor of process i."""
    name = "scatter"
    raw, found = raw_of(name, tensor), group_of(group, name)
    place, parts = member(name, "src", src, found), []
    if found.rank == place:
        _check_list(name, "scatter_list", scatter_list, found.size)
        parts = [t._raw for t in scatter_list]
    write_into(name, tensor, _from_one(name, parts, raw, place, found))
    return as_handle(name, async_op)


def scatter_tensor(output_tensor: Tensor, input_tensor: Tensor, src: int = 0,
                   group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """As `scatter`, of one Tensor that is cut along its first dimension."""
    name = "scatter_tensor"
    raw, found = raw_of(name, output_tensor), group_of(group, name)
    place, parts = member(name, "src", src, found), []
    if found.rank == place:
        whole = raw_of(name, input_tensor)
        if not whole.ndim:
            raise ValueError(f"For '{name}', 'input_tensor' must have at least one dimension, but "
                             f"has none.")
        rules.check_divisible(name, whole.shape, 0, found.size)
        parts = list(whole.chunk(found.size))
    write_into(name, output_tensor, _from_one(name, parts, raw, place, found))
    return as_handle(name, async_op)


def gather(tensor: Tensor, gather_list: list[Tensor], dst: int = 0, group: str | None = None,
           async_op: bool = False) -> CommHandle | None:
    """Write the Tensor of process i into ``gather_list[i]`` of process `dst`."""
    name = "gather"
    raw, found = raw_of(name, tensor), group_of(group, name)
    place = member(name, "dst", dst, found)
    if found.rank == place:
        _check_list(name, "gather_list", gather_list, found.size)
    parts = _to_one(name, raw, place, found)
    for target, part in zip(gather_list if parts else (), parts, strict=True):
        write_into(name, target, part)
    return as_handle(name, async_op)


def gather_into_tensor(output_tensor: Tensor, input_tensor: Tensor, dst: int = 0,
                       group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """As `gather`; process `dst` gets one Tensor, joined along the first dimension."""
    name = "gather_into_tensor"
    raw, found = raw_of(name, input_tensor), group_of(group, name)
    parts = _to_one(name, raw, member(name, "dst", dst, found), found)
    if parts:
        write_into(name, output_tensor, _joined(torch.stack(parts)))
    return as_handle(name, async_op)


def all_to_all(output_tensor_list: list[Tensor], input_tensor_list: list[Tensor],
               group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """Write ``input_tensor_list[j]`` of process i into ``output_tensor_list[i]`` of process j."""
    name = "all_to_all"
    found = group_of(group, name)
    _check_list(name, "output_tensor_list", output_tensor_list, found.size)
    _check_list(name, "input_tensor_list", input_tensor_list, found.size)
    parts = exchange.all_to_all(name, [t._raw for t in input_tensor_list],
                                [t.shape for t in output_tensor_list], found)
    for target, part in zip(output_tensor_list, parts, strict=True):
        write_into(name, target, part)
    return as_handle(name, async_op)


def all_to_all_single(output: Tensor, input: Tensor, output_split_sizes: Any = None,
                      input_split_sizes: Any = None, group: str | None = None,
                      async_op: bool = False) -> CommHandle | None:
    """As `all_to_all`, of Tensors that are cut along their first dimension, equally by default."""
    name = "all_to_all_single"
    raw, found = raw_of(name, input), group_of(group, name)
    given = _sizes(name, "input_split_sizes", input_split_sizes, raw.shape, found)
    taken = _sizes(name, "output_split_sizes", output_split_sizes, raw_of(name, output).shape,
                   found)
    parts = exchange.all_to_all(name, raw.split(given), [(n, *raw.shape[1:]) for n in taken], found)
    write_into(name, output, torch.cat(parts))
    return as_handle(name, async_op)


def barrier(group: str | None = None, async_op: bool = False,
            device_ids: Any = None) -> CommHandle | None:
    """Wait until all processes of a group are here. `device_ids` has no effect."""
    exchange.barrier("barrier", group_of(group, "barrier"))
    return as_handle("barrier", async_op)


def _from_one(name: str, parts: list[torch.Tensor], like: torch.Tensor, place: int,
              group: Group) -> torch.Tensor:
    """What process `place` of the group, which alone has `parts`, has for this one."""
    nothing = like.new_empty(0)
    shapes = [like.shape if i == place else (0,) for i in range(group.size)]
    for part in parts:
        if part.shape != like.shape or part.dtype != like.dtype:
            raise ValueError(f"For '{name}', what is given out must have the shape and type of "
                             f"what takes it, {list(like.shape)} {like.dtype}, but got "
                             f"{list(part.shape)} {part.dtype}.")
    return exchange.all_to_all(name, parts or [nothing] * group.size, shapes, group)[place]


def _to_one(name: str, raw: torch.Tensor, place: int, group: Group) -> list[torch.Tensor]:
    """The Tensors of all processes, for process `place` of the group; nothing for the others."""
    nothing = raw.new_empty(0)
    here = group.rank == place
    parts = exchange.all_to_all(
        name, [raw if i == place else nothing for i in range(group.size)],
        [raw.shape if here else (0,)] * group.size, group)
    return parts if here else []


def _joined(parts: torch.Tensor) -> torch.Tensor:
    """Tensors of several processes, one after the other along their first dimension."""
    return parts.flatten(0, 1) if parts.ndim > 1 else parts


def _check_list(name: str, argument: str, tensors: Any, size: int) -> None:
    if not isinstance(tensors, (list, tuple)) or not all(isinstance(t, Tensor) for t in tensors):
        raise TypeError(f"For '{name}', '{argument}' must be a list of Tensors, "
                        f"but got {describe(tensors)}.")
    if len(tensors) != size:
        raise ValueError(f"For '{name}', '{argument}' must have a Tensor for each of the {size} "
                         f"processes, but got {len(tensors)}.")


def _sizes(name: str, argument: str, sizes: Any, shape: Shape, group: Group) -> list[int]:
    """The lengths along the first dimension, which are equal where none are given."""
    if not shape:
        raise ValueError(f"For '{name}', Tensors of rank 0 can't be cut.")
    if sizes is not None and (not isinstance(sizes, (list, tuple))
                              or not all(isinstance(size, Integral) for size in sizes)):
        raise TypeError(f"For '{name}', '{argument}' must be a list of ints, "
                        f"but got {describe(sizes)}.")
    if not sizes:
        rules.check_divisible(name, shape, 0, group.size)
        return [shape[0] // group.size] * group.size
    if len(sizes) != group.size or sum(sizes) != shape[0] or min(sizes) < 0:
        raise ValueError(f"For '{name}', '{argument}' must have a length of 0 or more for each of "
                         f"the {group.size} processes, {shape[0]} in all, but got {list(sizes)}.")
    return list(sizes)
