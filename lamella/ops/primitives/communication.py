"""Collectives as Primitives, over the functions of `communication.rules`.

In a group of one process they give their input, in compiled functions as well.
"""

from __future__ import annotations

from typing import Any

import torch

from ...communication import exchange, rules
from ...communication.groups import HCCL_WORLD_COMM_GROUP, GlobalComm, Group, group_of
from ...tensors.tensor import Tensor, wrap
from ..primitive import Primitive

__all__ = [
    "AllGather", "AllGatherV", "AllReduce", "AlltoAll", "AlltoAllV", "AlltoAllVC", "Barrier",
    "Broadcast", "CollectiveGather", "CollectiveScatter", "Reduce", "ReduceOp", "ReduceScatter",
    "ReduceScatterV",
]

_WORLD = HCCL_WORLD_COMM_GROUP


class ReduceOp:
    """The reductions of collectives.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.ReduceOp.SUM
        'sum'
    """

    SUM = "sum"
    MAX = "max"
    MIN = "min"
    PROD = "prod"
    AVG = "avg"


class _Collective(Primitive):
    """A Primitive that communicates within a group."""

    def __init__(self, group: Any, **attributes: Any):
        super().__init__(type(self).__name__)
        for name, value in attributes.items():
            self.add_prim_attr(name, value)
        if group is None or group == _WORLD:
            group = GlobalComm.WORLD_COMM_GROUP
        if not isinstance(group, str):
            raise TypeError(f"For '{self.name}', the 'group' must be str, "
                            f"but got {type(group).__name__}.")
        self.add_prim_attr("group", group)

    def _group(self) -> Group:
        return group_of(self.group, self.name)

    def _raw(self, x: Any) -> torch.Tensor:
        if not isinstance(x, Tensor):
            raise TypeError(f"For '{self.name}', the input must be a Tensor, "
                            f"but got {type(x).__name__}.")
        return x._raw

    def _each(self, x: Any, argument: str) -> list[torch.Tensor]:
        if not isinstance(x, (tuple, list)):
            raise TypeError(f"For '{self.name}', '{argument}' must be a tuple of Tensors, "
                            f"but got {type(x).__name__}.")
        return [self._raw(part) for part in x]

    def _int(self, argument: str, value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"For '{self.name}', the '{argument}' must be int, "
                            f"but got {type(value).__name__}.")
        return value


class AllReduce(_Collective):
    """The Tensors of all processes, combined element by element.

    Args:
        op: how, see `ops.ReduceOp`.
        group: the group's name.

    Inputs:
        - **input_x** - Tensor of one shape and type on all processes.

    Outputs:
        The combined Tensor, on every process. Its gradient is the sum of the gradients; with
        ``"max"`` and ``"min"``, where the input is what was chosen.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.AllReduce()(ms.Tensor([1.0, 2.0])))
        [1. 2.]
    """

    def __init__(self, op: str = ReduceOp.SUM, group: str = _WORLD):
        super().__init__(group, op=op)
        exchange.check_op(self.name, op)

    def __call__(self, input_x: Tensor) -> Tensor:
        return wrap(rules.all_reduce(self.name, self._raw(input_x), self.op, self._group()))


class AllGather(_Collective):
    """The Tensors of all processes joined along the first dimension; the gradient is
    `ReduceScatter`'s.

    Args:
        group: the group's name.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.AllGather()(ms.Tensor([1.0, 2.0])))
        [1. 2.]
    """

    def __init__(self, group: str = _WORLD):
        super().__init__(group)
        self.add_prim_attr("rank_size", self._group().size)
        self.rank = self._group().rank

    def __call__(self, input_x: Tensor) -> Tensor:
        return wrap(rules.all_gather(self.name, self._raw(input_x), self._group()))


class ReduceScatter(_Collective):
    """This process's part, along the first dimension, of the combined Tensors.

    Args:
        op: how they are combined, see `ops.ReduceOp`; there is a gradient of the sum only.
        group: the group's name.

    Raises:
        ValueError: when called, if the first dimension can't be cut into equal parts.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ReduceScatter()(ms.Tensor([1.0, 2.0])))
        [1. 2.]
    """

    def __init__(self, op: str = ReduceOp.SUM, group: str = _WORLD):
        super().__init__(group, op=op)
        exchange.check_op(self.name, op)
        self.add_prim_attr("rank_size", self._group().size)

    def __call__(self, input_x: Tensor) -> Tensor:
        return wrap(rules.reduce_scatter(self.name, self._raw(input_x), self.op, self._group()))


class Broadcast(_Collective):
    """The Tensors of one process, on all; the gradient on each process is what came to its own.

    Args:
        root_rank: the rank in the group of the process that has them.
        group: the group's name.

    Inputs:
        - **input_x** - a tuple of Tensors.

    Outputs:
        A tuple of Tensors.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.Broadcast(0)((ms.Tensor([1.0, 2.0]),))[0])
        [1. 2.]
    """

    def __init__(self, root_rank: int, group: str = _WORLD):
        super().__init__(group, root_rank=root_rank)
        self._int("root_rank", root_rank)

    def __call__(self, input_x: Any) -> tuple[Tensor, ...]:
        group = self._group()
        root = _ranked(self.name, "root_rank", self.root_rank, group)
        raws = [self._raw(input_x)] if isinstance(input_x, Tensor) else self._each(
            input_x, "input_x")
        return tuple([wrap(rules.broadcast(self.name, raw, root, group)) for raw in raws])


class Reduce(_Collective):
    """The Tensors of all processes combined, on one; the others get zeros.

    Args:
        dest_rank: the rank in the group of the process that gets the result.
        op: how, see `ops.ReduceOp`.
        group: the group's name.
    """

    def __init__(self, dest_rank: int, op: str = ReduceOp.SUM, group: str = _WORLD):
        super().__init__(group, dest_rank=dest_rank, op=op)
        self._int("dest_rank", dest_rank)
        exchange.check_op(self.name, op)

    def __call__(self, x: Tensor) -> Tensor:
        group = self._group()
        _ranked(self.name, "dest_rank", self.dest_rank, group)
        total = rules.all_reduce(self.name, self._raw(x), self.op, group)
        return wrap(total if group.rank == self.dest_rank else total * 0)


class CollectiveScatter(_Collective):
    """This process's part, along the first dimension, of one process's Tensor.

    Args:
        src_rank: the rank in the group of the process that has it.
        group: the group's name.
    """

    def __init__(self, src_rank: int = 0, group: str = _WORLD):
        super().__init__(group, src_rank=src_rank)
        self._int("src_rank", src_rank)

    def __call__(self, input_x: Tensor) -> Tensor:
        group, raw = self._group(), self._raw(input_x)
        _ranked(self.name, "src_rank", self.src_rank, group)
        rules.check_divisible(self.name, raw.shape, 0, group.size)
        # what the others give counts for nothing, so that the gradients come to this one
        parts = list((raw if group.rank == self.src_rank else raw * 0).chunk(group.size))
        came = rules.all_to_all(self.name, parts, [parts[0].shape] * group.size, group)
        return wrap(came[self.src_rank])


class CollectiveGather(_Collective):
    """The Tensors of all processes joined, on one; the others get zeros.

    Args:
        dest_rank: the rank in the group of the process that gets the result.
        group: the group's name.
    """

    def __init__(self, dest_rank: int, group: str = _WORLD):
        super().__init__(group, dest_rank=dest_rank)
        self._int("dest_rank", dest_rank)

    def __call__(self, input_x: Tensor) -> Tensor:
        group = self._group()
        _ranked(self.name, "dest_rank", self.dest_rank, group)
        whole = rules.all_gather(self.name, self._raw(input_x), group)
        return wrap(whole if group.rank == self.dest_rank else whole * 0)


class AlltoAll(_Collective):
    """Part i of a Tensor goes to process i; the parts that come, joined.

    Args:
        split_count: the number of parts: that of processes.
        split_dim: the dimension that is cut.
        concat_dim: the dimension that they are joined along.
        group: the group's name.

    Raises:
        ValueError: when called, if the dimension can't be cut into equal parts.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.AlltoAll(1, 2, 3)(ms.ops.ones((1, 1, 8, 1))).shape
        (1, 1, 8, 1)
    """

    def __init__(self, split_count: int, split_dim: int, concat_dim: int, group: str = _WORLD):
        super().__init__(group, split_count=split_count, split_dim=split_dim,
                         concat_dim=concat_dim)
        for name in ("split_count", "split_dim", "concat_dim"):
            self._int(name, self.__dict__[name])

    def __call__(self, input_x: Tensor) -> Tensor:
        group, raw = self._group(), self._raw(input_x)
        if self.split_count != group.size:
            raise ValueError(f"For '{self.name}', 'split_count' must be the number of processes, "
                             f"{group.size}, but got {self.split_count}.")
        rules.check_divisible(self.name, raw.shape, self.split_dim, group.size)
        rules.check_divisible(self.name, raw.shape, self.concat_dim, 1)
        parts = list(raw.chunk(group.size, self.split_dim))
        came = rules.all_to_all(self.name, parts, [parts[0].shape] * group.size, group)
        return wrap(torch.cat(came, self.concat_dim))


def _counts(name: str, argument: str, sizes: Any, group: Group) -> list[int]:
    found = sizes.tolist() if isinstance(sizes, Tensor) else list(sizes)
    if len(found) != group.size:
        raise ValueError(f"For '{name}', '{argument}' must have one number for each of the "
                         f"{group.size} processes, but got {found}.")
    return found


class AlltoAllV(_Collective):
    """Parts of different lengths of a Tensor of one dimension go to the processes.

    Args:
        group: the group's name.
        block_size: how many elements a count stands for.

    Inputs:
        - **input_x** - Tensor (N,).
        - **send_numel_list** - how much goes to each process.
        - **recv_numel_list** - how much comes from each process.
    """

    def __init__(self, group: str = _WORLD, block_size: int = 1):
        super().__init__(group, block_size=block_size)
        self._int("block_size", block_size)

    def __call__(self, input_x: Tensor, send_numel_list: Any, recv_numel_list: Any) -> Tensor:
        group, raw = self._group(), self._raw(input_x)
        given = [n * self.block_size
                 for n in _counts(self.name, "send_numel_list", send_numel_list, group)]
        taken = [n * self.block_size
                 for n in _counts(self.name, "recv_numel_list", recv_numel_list, group)]
        _check_total(self.name, "send_numel_list", given, raw)
        came = rules.all_to_all(self.name, list(raw.split(given)), [(n,) for n in taken], group)
        return wrap(torch.cat(came))


class AllGatherV(_Collective):
    """The Tensors of all processes, of one dimension and different lengths, joined.

    Args:
        group: the group's name.

    Inputs:
        - **input_x** - Tensor (N,).
        - **output_split_sizes** - the length on each process.
    """

    def __init__(self, group: str = _WORLD):
        super().__init__(group)

    def __call__(self, input_x: Tensor, output_split_sizes: Any) -> Tensor:
        group, raw = self._group(), self._raw(input_x)
        sizes = _counts(self.name, "output_split_sizes", output_split_sizes, group)
        _check_total(self.name, "output_split_sizes", [sizes[group.rank]], raw)
        came = rules.all_to_all(self.name, [raw] * group.size, [(n,) for n in sizes], group)
        return wrap(torch.cat(came))


class ReduceScatterV(_Collective):
    """This process's part of the sum of the processes' Tensors; parts may differ in length.

    Args:
        op: ``"sum"``, ``"max"`` or ``"min"``.
        group: the group's name.

    Inputs:
        - **input_x** - Tensor (N,).
        - **input_split_sizes** - the length of each process's part.
    """

    def __init__(self, op: str = ReduceOp.SUM, group: str = _WORLD):
        super().__init__(group, op=op)
        exchange.check_op(self.name, op)

    def __call__(self, input_x: Tensor, input_split_sizes: Any) -> Tensor:
        group, raw = self._group(), self._raw(input_x)
        sizes = _counts(self.name, "input_split_sizes", input_split_sizes, group)
        _check_total(self.name, "input_split_sizes", sizes, raw)
        total = rules.all_reduce(self.name, raw, self.op, group)
        return wrap(total.split(sizes)[group.rank].clone())


def _check_total(name: str, argument: str, sizes: list[int], raw: torch.Tensor) -> None:
    if raw.dim() != 1 or sum(sizes) != raw.numel():
        raise ValueError(f"For '{name}', the input must have one dimension, as long as "
                         f"'{argument}' says, {sum(sizes)}, but got shape {tuple(raw.shape)}.")


class AlltoAllVC(_Collective):
    """As `AlltoAllV`, where every process knows how much goes from each to each.

    Args:
        group: the group's name.
        block_size: how many elements a count stands for.
        transpose: whether the counts are of what comes, by process, not of what goes.

    Inputs:
        - **input_x** - Tensor (N,).
        - **send_count_matrix** - row by row, how much process i sends to process j.
    """

    def __init__(self, group: str = _WORLD, block_size: int = 1, transpose: bool = False):
        super().__init__(group, block_size=block_size, transpose=transpose)
        self._int("block_size", block_size)

    def __call__(self, input_x: Tensor, send_count_matrix: Any) -> Tensor:
        group, raw = self._group(), self._raw(input_x)
        counts = (send_count_matrix._raw if isinstance(send_count_matrix, Tensor)
                  else torch.tensor(send_count_matrix))
        if counts.numel() != group.size ** 2:
            raise ValueError(f"For '{self.name}', 'send_count_matrix' must have a number for each "
                             f"pair of the {group.size} processes, but got {send_count_matrix}.")
        matrix = counts.reshape(group.size, group.size)
        matrix = (matrix.T if self.transpose else matrix) * self.block_size
        given, taken = matrix[group.rank].tolist(), matrix[:, group.rank].tolist()
        _check_total(self.name, "send_count_matrix", given, raw)
        came = rules.all_to_all(self.name, list(raw.split(given)), [(n,) for n in taken], group)
        return wrap(torch.cat(came))


class Barrier(_Collective):
    """Waits until all processes of a group are here.

    Args:
        group: the group's name.
    """

    def __init__(self, group: str = _WORLD):
        super().__init__(group)

    def __call__(self) -> None:
        exchange.barrier(self.name, self._group())


def _ranked(name: str, argument: str, rank: int, group: Group) -> int:
    """The rank in the world of a process of the group."""
    if not 0 <= rank < group.size:
        raise ValueError(f"For '{name}', '{argument}' must be in [0, {group.size}), the ranks in "
                         f"group {group.name!r}, but got {rank}.")
    return group.ranks[rank]
