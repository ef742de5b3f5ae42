"""Messages between two processes, which are written into Tensors."""

from __future__ import annotations

from typing import Any

import torch

from ...communication import comm_func
from ...communication.comm_func import CommHandle, isend, send, write_into
from ...tensors.tensor import Tensor

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]


class _Arrival(CommHandle):
    """A message that is being received; `wait` writes it into the Tensor."""

    def __init__(self, handle: CommHandle, found: torch.Tensor, target: Tensor):
        super().__init__(handle._work)
        self._found, self._target = found, target

    def wait(self) -> None:
        """Wait until it is there."""
        arriving = self._work is not None
        super().wait()
        if arriving:
            write_into("irecv", self._target, self._found)


def irecv(tensor: Tensor, src: int = 0, group: str | None = None, tag: int = 0) -> CommHandle:
    """Begin to receive a message of process `src`: in `tensor`, once the handle was waited for.

    Raises:
        ValueError: if `src` is not in the group, or is this process.
    """
    found, handle = comm_func.irecv(tensor, src, group, tag)
    return _Arrival(handle, found._raw, tensor)


def recv(tensor: Tensor, src: int = 0, group: str | None = None, tag: int = 0) -> int:
    """Receive a message of process `src` into `tensor`; returns 0."""
    irecv(tensor, src, group, tag).wait()
    return 0


class P2POp:
    """One sending or receiving of a `batch_isend_irecv`.

    Args:
        op: `isend` or `irecv`, or its name.
        tensor: what is sent, or what takes what comes.
        peer: the other process's rank in the world.
        group: the group's name; None for all processes.
        tag: which message this is.

    Raises:
        TypeError: if `tensor` is no Tensor.
        ValueError: if `op` is neither.
    """

    def __init__(self, op: Any, tensor: Tensor, peer: int, group: str | None = None, tag: int = 0):
        kind = op if isinstance(op, str) else getattr(op, "__name__", None)
        if kind not in ("isend", "irecv"):
            raise ValueError(f"For 'P2POp', 'op' must be isend or irecv, but got {op!r}.")
        comm_func.raw_of("P2POp", tensor)
        self.op, self.tensor, self.peer, self.group, self.tag = op, tensor, peer, group, tag
        self.kind = kind


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[CommHandle]:
    """Begin to send and receive several messages; the handles, in their order.

    Raises:
        TypeError: if it is no list of `P2POp`, or empty.
    """
    if not isinstance(p2p_op_list, list) or not p2p_op_list or not all(
            isinstance(each, P2POp) for each in p2p_op_list):
        raise TypeError(f"For 'batch_isend_irecv', 'p2p_op_list' must be a list of P2POp that is "
                        f"not empty, but got {p2p_op_list!r}.")
    kinds = {"isend": isend, "irecv": irecv}
    return [kinds[each.kind](each.tensor, each.peer, each.group, each.tag) for each in p2p_op_list]
