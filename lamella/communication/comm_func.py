"""Collectives as functions that never change their input; `all_to_all_v_c` writes its result.

Where MindSpore returns a handle to wait for, so do these: None, unless ``async_op=True``.
Collectives have finished when they return; only `isend` and `irecv` are asynchronous.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..core import context
from ..core.dtype import to_raw
from ..core.errors import describe
from ..core.require import of_type
from ..tensors.inplace import in_place, repeats_elements
from ..tensors.tensor import Tensor, wrap
from . import exchange, messages, rules
from .groups import HCCL_WORLD_COMM_GROUP, Group, group_of

__all__ = [
    "CommHandle", "P2POp", "all_gather_into_tensor", "all_reduce",
    "all_to_all_single_with_output_shape", "all_to_all_v_c", "all_to_all_with_output_shape",
    "barrier", "batch_isend_irecv", "broadcast", "gather_into_tensor", "irecv", "isend", "recv",
    "reduce", "reduce_scatter_tensor", "scatter_tensor", "send",
]

_WORLD = HCCL_WORLD_COMM_GROUP


class CommHandle:
    """The handle of an exchange that may not have finished."""

    def __init__(self, work: Any = None):
        self._work = work

    def wait(self) -> None:
        """Wait until the exchange has finished; then its Tensor has its values."""
        if self._work is not None:
            self._work.wait()
            self._work = None


def raw_of(name: str, tensor: Any) -> torch.Tensor:
    """The data of a Tensor, checked to be one."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"For '{name}', the argument 'tensor' must be a Tensor, "
                        f"but got {type(tensor).__name__}.")
    return tensor._raw


def write_into(name: str, target: Any, value: torch.Tensor) -> None:
    """Put a result into the Tensor that is to have it."""
    raw = raw_of(name, target)
    if raw.shape != value.shape:
        raise ValueError(f"For '{name}', the result has shape {list(value.shape)}, but the Tensor "
                         f"that it is to be written into is {describe(target)}.")
    if repeats_elements(raw):
        raise ValueError(f"For '{name}', elements of the Tensor that the result is to be written "
                         f"into share memory, as 'broadcast_to' makes them. Give a copy of it.")
    in_place(target, lambda own: own.copy_(value))


def as_handle(name: str, async_op: Any) -> CommHandle | None:
    """The handle that a finished collective returns."""
    if not isinstance(async_op, bool):
        raise TypeError(f"For '{name}', the argument 'async_op' must be a bool, "
                        f"but got {async_op!r}.")
    return CommHandle() if async_op else None


def member(name: str, argument: str, rank: Any, group: Group) -> int:
    """The rank in the group of a process with a given rank in the world."""
    if not isinstance(rank, int) or isinstance(rank, bool):
        raise TypeError(f"For '{name}', the argument '{argument}' must be an int, "
                        f"but got {rank!r}.")
    if rank not in group.ranks:
        raise ValueError(f"For '{name}', '{argument}' must be one of the processes {group.ranks} "
                         f"of group {group.name!r}, but got {rank}.")
    return group.ranks.index(rank)


def all_reduce(tensor: Tensor, op: str = "sum", group: str | None = _WORLD,
               async_op: bool = False) -> tuple[Tensor, CommHandle | None]:
    """The Tensors of all processes, combined element by element.

    Args:
        tensor: of one shape and type on all processes.
        op: ``"sum"``, ``"prod"``, ``"max"`` or ``"min"``, see `ops.ReduceOp`.
        group: the group's name.
        async_op: whether to return a handle.

    Returns:
        The combined Tensor, on every process, and the handle or None.

    Raises:
        TypeError: if an argument is of the wrong type.
        RuntimeError: if there is no such group, or an exchange fails.

    Examples:
        >>> import lamella as ms
        >>> from lamella.communication.comm_func import all_reduce
        >>> print(all_reduce(ms.Tensor([1.0, 2.0]))[0])
        [1. 2.]
    """
    found = rules.all_reduce("all_reduce", raw_of("all_reduce", tensor), op,
                             group_of(group, "all_reduce"))
    return wrap(found), as_handle("all_reduce", async_op)


def all_gather_into_tensor(tensor: Tensor, group: str | None = _WORLD, async_op: bool = False
                           ) -> tuple[Tensor, CommHandle | None]:
    """The Tensors of all processes joined along the first dimension, and a handle or None.

    Args: as `all_reduce`.
    """
    name = "all_gather_into_tensor"
    found = rules.all_gather(name, raw_of(name, tensor), group_of(group, name))
    return wrap(found), as_handle(name, async_op)


def reduce_scatter_tensor(tensor: Tensor, op: str = "sum", group: str | None = _WORLD,
                          async_op: bool = False) -> tuple[Tensor, CommHandle | None]:
    """This process's part, along the first dimension, of the combined Tensors; a handle or None.

    Args: as `all_reduce`.

    Raises:
        ValueError: if the first dimension can't be cut into equal parts.
    """
    name = "reduce_scatter_tensor"
    found = rules.reduce_scatter(name, raw_of(name, tensor), op, group_of(group, name))
    return wrap(found), as_handle(name, async_op)


def reduce(tensor: Tensor, dst: int, op: str = "sum", group: str | None = _WORLD) -> Tensor:
    """The Tensors of all processes combined, on process `dst`; the others get zeros of shape [1].

    Args:
        tensor, op, group: as `all_reduce`.
        dst: the rank in the world of the process that gets the result.
    """
    found = group_of(group, "reduce")
    place = member("reduce", "dst", dst, found)
    total = rules.all_reduce("reduce", raw_of("reduce", tensor), op, found)
    return wrap(total if found.rank == place else total.new_zeros(1))


def broadcast(tensor: Tensor, src: int = 0, group: str | None = _WORLD) -> Tensor:
    """The Tensor of process `src`, on every process.

    Args:
        tensor: of one shape and type on all processes.
        src: the rank in the world of the process that has it.
        group: the group's name.
    """
    found = group_of(group, "broadcast")
    member("broadcast", "src", src, found)
    return wrap(rules.broadcast("broadcast", raw_of("broadcast", tensor), src, found))


def scatter_tensor(tensor: Tensor, src: int = 0, group: str | None = _WORLD) -> Tensor:
    """This process's part, along the first dimension, of the Tensor of process `src`.

    Args: as `broadcast`.

    Raises:
        ValueError: if the first dimension can't be cut into equal parts.
    """
    name = "scatter_tensor"
    found, raw = group_of(group, name), raw_of(name, tensor)
    member(name, "src", src, found)
    rules.check_divisible(name, raw.shape, 0, found.size)
    return wrap(rules.broadcast(name, raw, src, found).chunk(found.size)[found.rank].clone())


def gather_into_tensor(tensor: Tensor, dst: int = 0, group: str | None = _WORLD) -> Tensor:
    """The Tensors of all processes joined, on process `dst`; the others get zeros of shape [1].

    Args:
        tensor: of one shape and type on all processes.
        dst: the rank in the world of the process that gets the result.
        group: the group's name.
    """
    name = "gather_into_tensor"
    found = group_of(group, name)
    place = member(name, "dst", dst, found)
    whole = rules.all_gather(name, raw_of(name, tensor), found)
    return wrap(whole if found.rank == place else whole.new_zeros(1))


def all_to_all_with_output_shape(output_shape_list: Sequence[Any],
                                 input_tensor_list: Sequence[Tensor], group: str | None = None,
                                 async_op: bool = False
                                 ) -> tuple[tuple[Tensor, ...], CommHandle | None]:
    """Tensor i goes to process i; what comes from each process, and a handle or None.

    Args:
        output_shape_list: for each process, the shape of what comes from it, or a Tensor like it.
        input_tensor_list: for each process, what goes to it.
        group: the group's name; None for the world.
        async_op: whether to return a handle.

    Raises:
        ValueError: if there isn't one of each for every process.
    """
    name = "all_to_all_with_output_shape"
    found = group_of(group, name)
    for what, given in (("output_shape_list", output_shape_list),
                        ("input_tensor_list", input_tensor_list)):
        of_type(given, (list, tuple), what, name)
        if len(given) != found.size:
            raise ValueError(f"For '{name}', '{what}' must have one element for each of the "
                             f"{found.size} processes, but got {len(given)}.")
    shapes = [tuple(s.shape) if isinstance(s, Tensor) else tuple(s) for s in output_shape_list]
    raws = rules.all_to_all(name, [raw_of(name, t) for t in input_tensor_list], shapes, found)
    return tuple(wrap(raw) for raw in raws), as_handle(name, async_op)


def all_to_all_single_with_output_shape(output_shape: Any, tensor: Tensor,
                                        output_split_sizes: Sequence[int] | None = None,
                                        input_split_sizes: Sequence[int] | None = None,
                                        group: str | None = None, async_op: bool = False
                                        ) -> tuple[Tensor, CommHandle | None]:
    """Parts of a Tensor along its first dimension go to the processes; what comes, joined.

    Args:
        output_shape: the shape of the result, or a Tensor like it.
        tensor: what is sent.
        output_split_sizes, input_split_sizes: how much of the first dimension comes from, and goes
            to, each process; None or empty: equal parts.
        group: the group's name; None for the world.
        async_op: whether to return a handle.

    Raises:
        ValueError: if the sizes don't add up.
    """
    name = "all_to_all_single_with_output_shape"
    found, raw = group_of(group, name), raw_of(name, tensor)
    shape = tuple(output_shape.shape if isinstance(output_shape, Tensor) else output_shape)
    given = _split_sizes(name, "input_split_sizes", input_split_sizes, raw.shape, found)
    taken = _split_sizes(name, "output_split_sizes", output_split_sizes, shape, found)
    parts = rules.all_to_all(name, list(raw.split(given)), [(n, *shape[1:]) for n in taken], found)
    return wrap(torch.cat(parts)), as_handle(name, async_op)


def all_to_all_v_c(output: Tensor, input: Tensor, send_count_matrix: list[int],
                   group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """Write what comes from the processes, of parts of their Tensors, into `output`.

    Args:
        output: takes what comes, joined along its first dimension.
        input: what is sent, in parts along its first dimension.
        send_count_matrix: row by row, how much of that process i sends to process j.
        group: the group's name; None for the world.
        async_op: whether to return a handle.

    Returns:
        The handle or None.

    Raises:
        TypeError: if an argument is of the wrong type, or the matrix isn't square.
        ValueError: if the counts don't add up.

    Examples:
        >>> import lamella as ms
        >>> from lamella.communication.comm_func import all_to_all_v_c
        >>> x = ms.ops.zeros(2)
        >>> all_to_all_v_c(x, ms.Tensor([1.0, 2.0]), [2])
        >>> print(x)
        [1. 2.]
    """
    name = "all_to_all_v_c"
    found, raw = group_of(group, name), raw_of(name, input).detach()
    exchange.check_member(name, found)
    if not isinstance(send_count_matrix, list) or not all(
            isinstance(n, int) and not isinstance(n, bool) for n in send_count_matrix):
        raise TypeError(f"For '{name}', 'send_count_matrix' must be a list of int, but got "
                        f"{send_count_matrix!r}.")
    if len(send_count_matrix) != found.size ** 2:
        raise TypeError(f"For '{name}', 'send_count_matrix' must have a number for each pair of "
                        f"the {found.size} processes, but got {len(send_count_matrix)}.")
    row = send_count_matrix[found.rank * found.size:(found.rank + 1) * found.size]
    given = _split_sizes(name, "send_count_matrix", row, raw.shape, found)
    taken = send_count_matrix[found.rank::found.size]
    parts = rules.all_to_all(name, list(raw.split(given)), [(n, *raw.shape[1:]) for n in taken],
                             found)
    write_into(name, output, torch.cat(parts))
    return as_handle(name, async_op)


def _split_sizes(name: str, argument: str, sizes: Sequence[int] | None, shape: Sequence[int],
                 group: Group) -> list[int]:
    if not sizes:
        rules.check_divisible(name, shape, 0, group.size)
        return [shape[0] // group.size] * group.size
    if len(sizes) != group.size or sum(sizes) != shape[0]:
        raise ValueError(f"For '{name}', '{argument}' must give {group.size} sizes that add up to "
                         f"{shape[0]}, but got {list(sizes)}.")
    return list(sizes)


def barrier(group: str | None = _WORLD) -> None:
    """Wait until all processes of a group are here.

    Args:
        group: the group's name.
    """
    exchange.barrier("barrier", group_of(group, "barrier"))


def _peer(name: str, argument: str, rank: Any, group: str | None) -> Group:
    found = group_of(group, name)
    if member(name, argument, rank, found) == found.rank:
        raise ValueError(f"For '{name}', '{argument}' must be another process, but this one is "
                         f"process {rank} itself.")
    return found


def isend(tensor: Tensor, dst: int = 0, group: str | None = _WORLD, tag: int = 0) -> CommHandle:
    """Begin to send a Tensor to process `dst`; a handle to wait for.

    Args:
        tensor: what is sent.
        dst: the rank in the world of the process that receives it.
        group: the group's name.
        tag: which message this is, if there are several between the two.

    Raises:
        ValueError: if `dst` is not in the group, or is this process.
    """
    found = _peer("isend", "dst", dst, group)
    return CommHandle(messages.send("isend", raw_of("isend", tensor), dst, found, tag))


def irecv(tensor: Tensor, src: int = 0, group: str | None = _WORLD, tag: int = 0
          ) -> tuple[Tensor, CommHandle]:
    """Begin to receive a Tensor of the shape and type of `tensor` from process `src`.

    Args:
        tensor: what has the shape and type; it isn't changed.
        src: the rank in the world of the process that sends it.
        group: the group's name.
        tag: which message this is.

    Returns:
        A Tensor that has its values when the handle has been waited for, and the handle.

    Raises:
        ValueError: if `src` is not in the group, or is this process.
    """
    found = _peer("irecv", "src", src, group)
    raw, work = messages.receive("irecv", raw_of("irecv", tensor), src, found, tag)
    return wrap(raw), CommHandle(work)


def send(tensor: Tensor, dst: int = 0, group: str | None = _WORLD, tag: int = 0) -> None:
    """As `isend`; returns when the Tensor has been sent."""
    isend(tensor, dst, group, tag).wait()


def recv(tensor: Tensor, src: int = 0, group: str | None = _WORLD, tag: int = 0) -> Tensor:
    """As `irecv`; the Tensor that has come."""
    found, handle = irecv(tensor, src, group, tag)
    handle.wait()
    return found


class P2POp:
    """One sending or receiving of a `batch_isend_irecv`.

    Args:
        op: ``"isend"`` or ``"irecv"``, or the function of that name.
        tensor: what is sent, or a Tensor of the shape and type of what comes, or its shape.
        peer: the other process's rank in the world.
        group: the group's name; None for the world.
        tag: which message this is.
        recv_dtype: the type of what comes, if `tensor` is a shape.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if `op` is neither.
    """

    def __init__(self, op: str | Callable[..., Any], tensor: Any, peer: int,
                 group: str | None = None, tag: int = 0, recv_dtype: Any = None):
        kind = op if isinstance(op, str) else getattr(op, "__name__", None)
        if kind not in ("isend", "irecv"):
            raise ValueError(f"For 'P2POp', 'op' must be 'isend' or 'irecv', but got {op!r}.")
        of_type(peer, int, "peer", "P2POp")
        if not isinstance(tensor, Tensor):
            if kind == "isend" or not isinstance(tensor, (tuple, list)):
                raise TypeError(f"For 'P2POp', 'tensor' must be a Tensor (or, to receive, a "
                                f"shape), but got {type(tensor).__name__}.")
            if recv_dtype is None:
                raise ValueError("For 'P2POp', 'recv_dtype' must be given where 'tensor' is a "
                                 "shape.")
        self.op, self.tensor, self.peer = op, tensor, peer
        self.group, self.tag, self.recv_dtype = group, tag, recv_dtype
        self.kind = kind


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> tuple[Tensor, ...]:
    """Send and receive several Tensors at once.

    Args:
        p2p_op_list: what is sent and received, in one group.

    Returns:
        For each, the Tensor that has come; where one was sent, a zero.

    Raises:
        TypeError: if it is no list of `P2POp`, or empty.
    """
    name = "batch_isend_irecv"
    if not isinstance(p2p_op_list, list) or not p2p_op_list or not all(
            isinstance(each, P2POp) for each in p2p_op_list):
        raise TypeError(f"For '{name}', 'p2p_op_list' must be a list of P2POp that is not empty, "
                        f"but got {p2p_op_list!r}.")
    found, works = [], []
    for each in p2p_op_list:
        group = _peer(name, "peer", each.peer, each.group)
        if each.kind == "isend":
            works.append(messages.send(name, raw_of(name, each.tensor), each.peer, group,
                                       each.tag))
            found.append(torch.zeros((), device=context.current_device()))
            continue
        like = each.tensor._raw if isinstance(each.tensor, Tensor) else torch.empty(
            tuple(each.tensor), dtype=to_raw(each.recv_dtype), device=context.current_device())
        raw, work = messages.receive(name, like, each.peer, group, each.tag)
        found.append(raw)
        works.append(work)
    for work in works:
        work.wait()
    return tuple(wrap(raw) for raw in found)
