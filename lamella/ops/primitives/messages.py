"""Messages between two processes as Primitives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ...communication import rules
from ...communication.groups import Group
from ...core import context
from ...core.dtype import to_raw
from ...tensors.tensor import Tensor, wrap
from .communication import _WORLD, _Collective, _ranked

__all__ = ["BatchISendIRecv", "NeighborExchange", "Receive", "Send"]


class NeighborExchange(_Collective):
    """Tensors go to some processes and come from some.

    Args:
        send_rank_ids, recv_rank_ids: the ranks in the group to send to, and to receive from.
        recv_shapes, send_shapes: the shapes of what comes, and of what goes.
        recv_type: the data type of what comes.
        group: the group's name.

    Inputs:
        - **input_x** - a tuple of Tensors.

    Outputs:
        A tuple of Tensors.
    """

    def __init__(self, send_rank_ids: Sequence[int], recv_rank_ids: Sequence[int],
                 recv_shapes: Sequence[Sequence[int]], send_shapes: Sequence[Sequence[int]],
                 recv_type: Any, group: str = _WORLD):
        super().__init__(group, send_rank_ids=send_rank_ids, recv_rank_ids=recv_rank_ids,
                         recv_shapes=recv_shapes, send_shapes=send_shapes, recv_type=recv_type)

    def __call__(self, input_x: Any) -> tuple[Tensor, ...]:
        group, raws = self._group(), self._each(input_x, "input_x")
        shapes = [tuple(raw.shape) for raw in raws]
        if shapes != [tuple(s) for s in self.send_shapes] or len(raws) != len(self.send_rank_ids):
            raise ValueError(f"For '{self.name}', the inputs must have the shapes "
                             f"{self.send_shapes}, but got {shapes}.")
        for rank in (*self.send_rank_ids, *self.recv_rank_ids):
            _ranked(self.name, "send_rank_ids and recv_rank_ids", rank, group)
        found = rules.neighbors(self.name, raws, self.send_rank_ids, self.recv_rank_ids,
                                self.recv_shapes, to_raw(self.recv_type), group)
        return tuple([wrap(raw) for raw in found])


class BatchISendIRecv(_Collective):
    """Tensors go to some processes and come from some, in the order of a list.

    Args:
        op_types: ``"isend"`` or ``"irecv"`` for each.
        remote_ranks: the rank in the group of the other process.
        receive_shapes, receive_dtypes: for each that comes, in order.
        group: the group's name; None for the world.

    Inputs:
        - **input_x** - a tuple of the Tensors that go, in order.

    Outputs:
        For each, the Tensor that has come; where one was sent, a zero.

    Raises:
        ValueError: if the lists don't fit each other.
    """

    def __init__(self, op_types: Sequence[str], remote_ranks: Sequence[int],
                 receive_shapes: Sequence[Sequence[int]] | None = None,
                 receive_dtypes: Sequence[Any] | None = None, group: str | None = _WORLD):
        shapes, types = tuple(receive_shapes or ()), tuple(receive_dtypes or ())
        super().__init__(group, op_types=op_types, remote_ranks=remote_ranks, receive_shapes=shapes,
                         receive_dtypes=types)
        if not all(kind in ("isend", "irecv") for kind in op_types):
            raise ValueError(f"For '{self.name}', 'op_types' must be 'isend' or 'irecv', "
                             f"but got {op_types}.")
        coming = list(op_types).count("irecv")
        if len(op_types) != len(remote_ranks) or len(shapes) != coming or len(types) != coming:
            raise ValueError(f"For '{self.name}', there must be a rank for each of 'op_types', and "
                             f"a shape and a type for each 'irecv', but got {remote_ranks}, "
                             f"{shapes} and {types}.")

    def __call__(self, input_x: Any) -> tuple[Tensor, ...]:
        group, raws = self._group(), self._each(input_x, "input_x")
        by_kind: dict[str, list[int]] = {"isend": [], "irecv": []}
        for kind, rank in zip(self.op_types, self.remote_ranks, strict=True):
            _other(self.name, "remote_ranks", rank, group)
            by_kind[kind].append(rank)
        if len(raws) != len(by_kind["isend"]):
            raise ValueError(f"For '{self.name}', there must be a Tensor for each 'isend', "
                             f"{len(by_kind['isend'])}, but got {len(raws)}.")
        came = iter(rules.exchange_batch(
            self.name, raws, by_kind["isend"], by_kind["irecv"], self.receive_shapes,
            [to_raw(kind) for kind in self.receive_dtypes], group))
        nothing = torch.zeros((), device=context.current_device())
        return tuple([wrap(nothing.clone() if kind == "isend" else next(came))
                      for kind in self.op_types])


class Send(_Collective):
    """Sends a Tensor to one process; gives it back, so that others may depend on it.

    Args:
        sr_tag: which message this is; the same as `Receive`'s.
        dest_rank: the rank in the group of the process that receives it.
        group: the group's name.
        group_back: kept; the gradient comes back within `group`.
    """

    def __init__(self, sr_tag: int, dest_rank: int, group: str = _WORLD, group_back: str = _WORLD):
        super().__init__(group, sr_tag=sr_tag, dest_rank=dest_rank, group_back=group_back)
        self._int("dest_rank", dest_rank)

    def __call__(self, input_x: Tensor) -> Tensor:
        group, raw = self._group(), self._raw(input_x)
        _other(self.name, "dest_rank", self.dest_rank, group)
        return wrap(rules.send(self.name, raw, self.dest_rank, self.sr_tag, group))


class Receive(_Collective):
    """The Tensor that one process sends.

    Args:
        sr_tag: which message this is; the same as `Send`'s.
        src_rank: the rank in the group of the process that sends it.
        shape, dtype: of what comes.
        group: the group's name.
        group_back: kept; the gradient goes back within `group`.

    Inputs:
        - **input_x** - a Tensor that the gradient is followed through, as MindSpore has it; or
          nothing.
    """

    def __init__(self, sr_tag: int, src_rank: int, shape: Sequence[int], dtype: Any,
                 group: str = _WORLD, group_back: str = _WORLD):
        super().__init__(group, sr_tag=sr_tag, src_rank=src_rank, shape=shape, dtype=dtype,
                         group_back=group_back)
        self._int("src_rank", src_rank)

    def __call__(self, input_x: Tensor | None = None) -> Tensor:
        group = self._group()
        _other(self.name, "src_rank", self.src_rank, group)
        through = (torch.zeros((), device=context.current_device()) if input_x is None
                   else self._raw(input_x))
        return wrap(rules.receive(self.name, through, self.src_rank, self.sr_tag,
                                  tuple(self.shape), to_raw(self.dtype), group))


def _other(name: str, argument: str, rank: int, group: Group) -> None:
    if _ranked(name, argument, rank, group) == group.ranks[group.rank]:
        raise ValueError(f"For '{name}', '{argument}' must be another process, but {rank} is "
                         f"this one.")
