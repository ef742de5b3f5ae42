"""The only door to the other processes: exchanges of raw tensors, without derivatives.

The sequence of exchanges belongs to the program: every process of a group makes the same ones, in
one order. So none is recorded in a graph, where passes could drop or move it; a compiled function
that communicates runs eagerly, with the warning that says so. In a group of one there is nothing to
exchange, and each function answers at once, in graphs as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist

from ..state import state
from .groups import Group, world_rank

_OPS: dict[str, Any] = {"sum": dist.ReduceOp.SUM, "max": dist.ReduceOp.MAX,
                        "min": dist.ReduceOp.MIN, "prod": dist.ReduceOp.PRODUCT,
                        "avg": dist.ReduceOp.SUM}
# what the libraries don't combine is converted, and back
_WIDER = {torch.bool: torch.uint8, torch.int16: torch.int32, torch.uint16: torch.int32,
          torch.uint32: torch.int64, torch.bfloat16: torch.float32}

_made = 0  # exchanges of this process, for messages


def _exchanged(name: str, group: Group, call: Callable[[], Any]) -> Any:
    """Make one exchange with the group's other processes."""
    global _made
    if state.trace is not None:
        state.trace.refuse("communicates with other processes")
    check_member(name, group)
    _made += 1
    try:
        return call()
    except (RuntimeError, ValueError) as error:
        raise RuntimeError(f"For '{name}', exchange {_made} of process {world_rank()}, in group "
                           f"{group.name!r} of {group.ranks}, failed: {error}") from error


def check_member(name: str, group: Group) -> None:
    """Check that this process is one of the group's."""
    if group.rank < 0:
        raise RuntimeError(f"For '{name}', process {world_rank()} is not in group {group.name!r}, "
                           f"which has {group.ranks}.")


def check_op(name: str, op: Any) -> None:
    """Check the name of a way to combine values."""
    if not isinstance(op, str):
        raise TypeError(f"For '{name}', the 'op' must be str, but got {type(op).__name__}.")
    if op not in _OPS:
        raise ValueError(f"For '{name}', 'op' must be one of {list(_OPS)}, but got {op!r}.")


def all_reduce(name: str, raw: torch.Tensor, op: str, group: Group) -> torch.Tensor:
    """The tensors of all processes, combined element by element."""
    if group.size == 1:
        return raw.clone()
    kind = _WIDER.get(raw.dtype, raw.dtype)
    out = raw.detach().to(kind).clone(memory_format=torch.contiguous_format)
    _exchanged(name, group, lambda: dist.all_reduce(out, _OPS[op], group.process_group))
    if op == "avg":
        out = out / group.size if out.is_floating_point() else out // group.size
    return out.to(raw.dtype)


def all_gather(name: str, raw: torch.Tensor, group: Group) -> list[torch.Tensor]:
    """The tensors of all processes, which have one shape."""
    if group.size == 1:
        return [raw.clone()]
    given = _bytes(raw)
    parts = [torch.empty_like(given) for _ in group.ranks]
    _exchanged(name, group, lambda: dist.all_gather(parts, given, group.process_group))
    return [_from_bytes(part, raw.shape, raw) for part in parts]


def broadcast(name: str, raw: torch.Tensor, root: int, group: Group) -> torch.Tensor:
    """The tensor of one process, whose rank in the world is given."""
    if group.size == 1:
        return raw.clone()
    given = _bytes(raw).clone()
    _exchanged(name, group, lambda: dist.broadcast(given, root, group.process_group))
    return _from_bytes(given, raw.shape, raw)


def all_to_all(name: str, parts: Sequence[torch.Tensor], shapes: Sequence[Sequence[int]],
               group: Group) -> list[torch.Tensor]:
    """Part i goes to process i of the group; what comes from each, of the given shapes."""
    if group.size == 1:
        return [parts[0].clone()]
    like = parts[0]
    given = [_bytes(part) for part in parts]
    width = like.element_size()
    counts = [width * torch.Size(shape).numel() for shape in shapes]
    out = torch.empty(sum(counts), dtype=torch.uint8, device=like.device)
    _exchanged(name, group, lambda: dist.all_to_all_single(
        out, torch.cat(given), counts, [part.numel() for part in given], group.process_group))
    return [_from_bytes(part, shape, like)
            for part, shape in zip(out.split(counts), shapes, strict=True)]


def send(name: str, raw: torch.Tensor, to: int, group: Group, tag: int = 0) -> Any:
    """Begin to send a tensor to a process, given by its rank in the world; a work to wait for."""
    given = _bytes(raw)
    return _exchanged(name, group, lambda: dist.isend(given, to, group.process_group, tag))


def receive(name: str, like: torch.Tensor, source: int, group: Group,
            tag: int = 0) -> tuple[torch.Tensor, Any]:
    """Begin to receive a tensor of the shape and type of `like`: the memory that it will be in,
    and a work to wait for."""
    out = torch.empty(like.shape, dtype=like.dtype, device=like.device)
    memory = out.reshape(-1).view(torch.uint8)  # of `out` itself, as that is contiguous
    work = _exchanged(name, group, lambda: dist.irecv(memory, source, group.process_group, tag))
    return out, work


def barrier(name: str, group: Group) -> None:
    """Wait until all processes are here."""
    check_member(name, group)
    if group.size > 1:
        _exchanged(name, group, lambda: dist.barrier(group.process_group))


def _bytes(raw: torch.Tensor) -> torch.Tensor:
    """The elements as bytes in a row: what only moves may be of any type."""
    return raw.detach().contiguous().reshape(-1).view(torch.uint8)


def _from_bytes(moved: torch.Tensor, shape: Sequence[int], like: torch.Tensor) -> torch.Tensor:
    # a part may begin where no element of its type may: then it is copied
    if moved.storage_offset() % like.element_size():
        moved = moved.clone()
    return moved.view(like.dtype).reshape(tuple(shape))
