"""Collectives among some processes: borders of images, and groups given as lists of ranks."""

from __future__ import annotations

from typing import Any

import torch

from ...communication import rules
from ...communication.groups import HCCL_WORLD_COMM_GROUP, Group, group_of
from ...core.require import of_type, one_of
from ...tensors.tensor import Tensor, wrap
from ..arguments import require
from ..primitive import Primitive
from .communication import _Collective

__all__ = ["NeighborExchangeV2"]

# the eight directions in MindSpore's order: rows and columns are before, all of it, or behind
_DIRECTIONS = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))


def _extent(side: int, lengths: tuple[int, int], whole: int) -> int:
    """How many rows (or columns) lie on a side: those before, all of them, or those behind."""
    return (whole, lengths[1], lengths[0])[side]


def _border(side: int, lengths: tuple[int, int], whole: int) -> slice:
    """The rows (or columns) at a side of the image itself."""
    if side == 0:
        return slice(None)
    return slice(0, lengths[0]) if side < 0 else slice(whole - lengths[1], whole)


class NeighborExchangeV2(_Collective):
    """The borders of an image go to the processes around, and theirs are put around it.

    Args:
        send_rank_ids: the ranks above, above to the right, to the right, and so on clockwise, that
            get a border; -1 for none.
        send_lens: how many rows above and below, and columns at the left and right, are sent.
        recv_rank_ids: the ranks that borders come from, in the same order.
        recv_lens: how many rows and columns are put around the image, in the order of `send_lens`;
            0s where no rank sends them.
        data_format: ``'NCHW'``.
        group: the group's name.

    Inputs:
        - **input_x** - Tensor (N, C, H, W).

    Outputs:
        Tensor (N, C, above + H + below, left + W + right).

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if a length is wrong, or `data_format` another one.

    Examples:
        >>> import lamella as ms
        >>> alone = [-1] * 8
        >>> exchange = ms.ops.NeighborExchangeV2(alone, [0, 0, 0, 0], alone, [1, 0, 0, 0], "NCHW")
        >>> print(exchange(ms.ops.ones((1, 1, 1, 2))))
        [[[[0. 0.]
           [1. 1.]]]]
    """

    def __init__(self, send_rank_ids: list[int], send_lens: list[int], recv_rank_ids: list[int],
                 recv_lens: list[int], data_format: str, group: str = HCCL_WORLD_COMM_GROUP):
        super().__init__(group, send_rank_ids=send_rank_ids, send_lens=send_lens,
                         recv_rank_ids=recv_rank_ids, recv_lens=recv_lens, data_format=data_format)
        one_of(data_format, ("NCHW",), "data_format", self.name)
        for name, given, many in (("send_rank_ids", send_rank_ids, 8),
                                  ("recv_rank_ids", recv_rank_ids, 8),
                                  ("send_lens", send_lens, 4), ("recv_lens", recv_lens, 4)):
            of_type(given, list, name, self.name)
            low = -1 if many == 8 else 0
            require(len(given) == many and all(isinstance(n, int) and n >= low for n in given),
                    ValueError, f"For '{self.name}', '{name}' must be {many} ints of {low} or "
                    f"more, but got {given}.")

    def __call__(self, input_x: Tensor) -> Tensor:
        raw, group = self._raw(input_x), self._group()
        require(raw.ndim == 4, ValueError, f"For '{self.name}', 'input_x' must have the shape "
                f"(N, C, H, W), but got {input_x.shape}.")
        came = self._came(raw, group)
        above, below, left, right = self.recv_lens
        n, c, h, w = raw.shape

        def part(vertical: int, horizontal: int) -> torch.Tensor:
            if (vertical, horizontal) == (0, 0):
                return raw
            found = came.get((vertical, horizontal))
            shape = (n, c, _extent(vertical, (above, below), h),
                     _extent(horizontal, (left, right), w))
            return raw.new_zeros(shape) if found is None else found.reshape(shape)

        rows = [torch.cat([part(v, side) for side in (-1, 0, 1)], 3) for v in (-1, 0, 1)]
        return wrap(torch.cat(rows, 2))

    def _came(self, raw: torch.Tensor, group: Group) -> dict[tuple[int, int], torch.Tensor]:
        """What came from each direction, flat."""
        n, c, h, w = raw.shape
        sent, taken = ((lens[:2], lens[2:]) for lens in (self.send_lens, self.recv_lens))
        outgoing: list[list[torch.Tensor]] = [[] for _ in range(group.size)]
        for rank, (vertical, horizontal) in zip(self.send_rank_ids, _DIRECTIONS, strict=True):
            if rank >= 0:
                border = raw[:, :, _border(vertical, sent[0], h), _border(horizontal, sent[1], w)]
                outgoing[rank].append(border.reshape(-1))
        # a neighbour orders its parts by its own directions, which are opposite to ours
        expected: list[list[tuple[int, tuple[int, int]]]] = [[] for _ in range(group.size)]
        for place in sorted(range(8), key=lambda place: (place + 4) % 8):
            if self.recv_rank_ids[place] >= 0:
                vertical, horizontal = direction = _DIRECTIONS[place]
                size = n * c * _extent(vertical, taken[0], h) * _extent(horizontal, taken[1], w)
                expected[self.recv_rank_ids[place]].append((size, direction))
        parts = [torch.cat(each) if each else raw.new_zeros(0) for each in outgoing]
        shapes = [(sum(size for size, _ in each),) for each in expected]
        found = {}
        for each, flat in zip(expected, rules.all_to_all(self.name, parts, shapes, group),
                              strict=True):
            pieces = flat.split([size for size, _ in each])
            found.update({direction: piece for (_, direction), piece in
                          zip(each, pieces, strict=True)})
        return found


class _HostCollective(Primitive):
    """A collective of the ranks in a list or group."""

    def __init__(self, group: Any, **attributes: Any):
        super().__init__(type(self).__name__)
        if not isinstance(group, (tuple, list)) or not group or not all(
                isinstance(rank, int) for rank in group):
            raise ValueError(f"For '{self.name}', 'group' must be a list of ranks, but got "
                             f"{group!r}.")
        for name, value in attributes.items():
            self.add_prim_attr(name, value)
        self.add_prim_attr("group", list(group))

    def _members(self, group: Group) -> list[int]:
        if not all(0 <= rank < group.size for rank in self.group) or group.rank not in self.group:
            raise ValueError(f"For '{self.name}', 'group' must be ranks of the {group.size} "
                             f"processes, this one, {group.rank}, among them, but got "
                             f"{self.group}.")
        return self.group

    def _exchanged(self, raws: list[torch.Tensor]) -> list[torch.Tensor]:
        """What came from each of the group, to whose members `raws` go, of one shape."""
        world = group_of(None, self.name)
        members = self._members(world)
        none = raws[0].new_zeros(0)
        parts, shapes = [none] * world.size, [(0,)] * world.size
        for rank, raw in zip(members, raws, strict=True):
            parts[rank], shapes[rank] = raw.reshape(-1), (raw.numel(),)
        came = rules.all_to_all(self.name, parts, shapes, world)
        return [came[rank].reshape(raws[0].shape) for rank in members]


class _HostAllGather(_HostCollective):
    """The Tensors of the processes in a list, joined along the first dimension.

    All processes have to take part; those of other lists among themselves.

    Args:
        group: the ranks, in the order of the result.

    Examples:
        >>> import lamella as ms
        >>> from lamella.ops.primitives.neighbours import _HostAllGather
        >>> print(_HostAllGather(group=[0])(ms.Tensor([1.0, 2.0])))
        [1. 2.]
    """

    def __init__(self, group: Any = None):
        super().__init__(group)

    def __call__(self, input_: Tensor) -> Tensor:
        return wrap(torch.cat(self._exchanged([input_._raw] * len(self.group))))


class _HostReduceScatter(_HostCollective):
    """This process's part of the combined Tensors of the processes in a list.

    Args:
        op: how they are combined, see `ops.ReduceOp`.
        group: the ranks, in the order of the parts.

    Examples:
        >>> import lamella as ms
        >>> from lamella.ops.primitives.neighbours import _HostReduceScatter
        >>> print(_HostReduceScatter(group=[0])(ms.Tensor([1.0, 2.0])))
        [1. 2.]
    """

    def __init__(self, op: str = "sum", group: Any = None):
        super().__init__(group, op=op)
        one_of(op, ("sum", "max", "min", "prod"), "op", self.name)

    def __call__(self, input_: Tensor) -> Tensor:
        raw = input_._raw
        rules.check_divisible(self.name, raw.shape, 0, len(self.group))
        return wrap(rules.combined(torch.stack(self._exchanged(list(raw.chunk(len(self.group))))),
                                   self.op))
