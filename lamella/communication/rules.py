"""Collectives with derivatives.

The gradient of a collective is a collective, so all processes of the group have to differentiate.
The rules are MindSpore's: in particular, the gradient of a broadcast is, on every process, the
cotangent of its own result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..autodiff.level import lifted
from ..core import context
from . import exchange, messages
from .groups import Group


def _check_plain(name: str, group: Group) -> bool:
    """Whether there are other processes; if so, only the plain tape may be recorded.

    Raises:
        RuntimeError: inside `vmap` or forward mode, where results would be wrong.
    """
    exchange.check_member(name, group)
    if group.size > 1 and lifted():
        raise RuntimeError(f"For '{name}', processes can't communicate inside of 'vmap' and of "
                           f"forward-mode derivatives; use reverse mode.")
    return group.size > 1


def all_reduce(name: str, raw: torch.Tensor, op: str, group: Group) -> torch.Tensor:
    """Combine the tensors of all processes element by element."""
    exchange.check_op(name, op)
    if not _check_plain(name, group):
        return raw.clone()
    return _AllReduce.apply(name, op, group, raw)  # type: ignore[return-value]


class _AllReduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, name: str, op: str, group: Group, raw: torch.Tensor) -> torch.Tensor:
        out = exchange.all_reduce(name, raw, op, group)
        ctx.name, ctx.op, ctx.group = name, op, group
        if op not in ("sum", "avg"):
            ctx.save_for_backward(raw, out)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        name, op, group = ctx.name, ctx.op, ctx.group
        gradient = gradients[0]
        if op in ("sum", "avg"):
            return None, None, None, all_reduce(name, gradient, op, group)
        raw, out = ctx.saved_tensors
        if op == "prod":
            found = all_reduce(name, gradient * out, "sum", group) / raw
        else:
            found = all_reduce(name, gradient, "sum", group) * (raw == out)
        return None, None, None, found


def all_gather(name: str, raw: torch.Tensor, group: Group) -> torch.Tensor:
    """The tensors of all processes, joined along the first dimension."""
    if not _check_plain(name, group):
        return raw.clone()
    return _AllGather.apply(name, group, raw)  # type: ignore[return-value]


class _AllGather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, name: str, group: Group, raw: torch.Tensor) -> torch.Tensor:
        ctx.name, ctx.group = name, group
        rows = group.size * (len(raw) if raw.dim() else 1)
        return exchange.all_gather(name, raw, group).reshape(rows, *raw.shape[1:])

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return None, None, reduce_scatter(ctx.name, gradients[0], "sum", ctx.group)


def reduce_scatter(name: str, raw: torch.Tensor, op: str, group: Group) -> torch.Tensor:
    """This process's part, along the first dimension, of the combined tensors."""
    exchange.check_op(name, op)
    check_divisible(name, raw.shape, 0, group.size)
    if not _check_plain(name, group):
        return raw.clone()
    return _ReduceScatter.apply(name, op, group, raw)  # type: ignore[return-value]


class _ReduceScatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, name: str, op: str, group: Group, raw: torch.Tensor) -> torch.Tensor:
        ctx.name, ctx.op, ctx.group = name, op, group
        # gloo has no reduce-scatter for all types: each process adds up the parts it receives
        return combined(exchange.end_scatter(name, exchange.begin_scatter(name, raw, group),
                                              group), op)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        if ctx.op not in ("sum", "avg"):
            raise RuntimeError(f"For '{ctx.name}', there is a gradient for the sum only, "
                               f"but 'op' is {ctx.op!r}.")
        found = all_gather(ctx.name, gradients[0], ctx.group)
        return None, None, None, found if ctx.op == "sum" else found / ctx.group.size


def combined(stacked: torch.Tensor, op: str) -> torch.Tensor:
    """Tensors that are joined along a new first dimension, combined element by element."""
    if op == "max":
        return stacked.amax(0)
    if op == "min":
        return stacked.amin(0)
    if op == "prod":
        return stacked.prod(0, dtype=stacked.dtype)
    total = stacked.sum(0, dtype=stacked.dtype)
    if op == "sum":
        return total
    return exchange.mean_of(total, len(stacked))


def broadcast(name: str, raw: torch.Tensor, root: int, group: Group) -> torch.Tensor:
    """The tensor of the process whose rank in the world is `root`."""
    if root not in group.ranks:
        raise ValueError(f"For '{name}', process {root} is not in group {group.name!r}, "
                         f"which has {group.ranks}.")
    if not _check_plain(name, group):
        return raw.clone()
    return _Broadcast.apply(name, root, group, raw)  # type: ignore[return-value]


class _Broadcast(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, name: str, root: int, group: Group, raw: torch.Tensor) -> torch.Tensor:
        return exchange.broadcast(name, raw, root, group)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return None, None, None, gradients[0]


def all_to_all(name: str, raws: Sequence[torch.Tensor], shapes: Sequence[Sequence[int]],
               group: Group) -> list[torch.Tensor]:
    """Tensor i goes to process i of the group; what comes from each, of the given shapes."""
    if not _check_plain(name, group):
        return [raws[0].clone()]
    return list(_AllToAll.apply(name, [tuple(s) for s in shapes], group, *raws))  # type: ignore


class _AllToAll(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, name: str, shapes: Any, group: Group, *raws: torch.Tensor) -> Any:
        ctx.name, ctx.group = name, group
        ctx.shapes = [raw.shape for raw in raws]
        return tuple(exchange.all_to_all(name, raws, shapes, group))

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return None, None, None, *all_to_all(ctx.name, gradients, ctx.shapes, ctx.group)


def neighbors(name: str, raws: Sequence[torch.Tensor], to: Sequence[int], sources: Sequence[int],
              shapes: Sequence[Sequence[int]], dtype: torch.dtype,
              group: Group) -> list[torch.Tensor]:
    """Send a tensor to each process of `to`, and receive one from each of `sources`; both are
    ranks in the group."""
    if not _check_plain(name, group):
        if list(to) != [0] * len(to) or list(sources) != [0] * len(sources):
            raise ValueError(f"For '{name}', the group has one process, so ranks must be 0, "
                             f"but got {list(to)} and {list(sources)}.")
        return [raw.clone() for raw in raws]
    return list(_Neighbors.apply(name, tuple(to), tuple(sources),  # type: ignore[arg-type]
                                 [tuple(s) for s in shapes], dtype, group, *raws))


def exchange_batch(name: str, raws: Sequence[torch.Tensor], to: Sequence[int],
                   sources: Sequence[int], shapes: Sequence[Sequence[int]],
                   types: Sequence[torch.dtype], group: Group) -> list[torch.Tensor]:
    """As `neighbors`, without a gradient and with a type for each tensor that comes."""
    _check_plain(name, group)
    works = [messages.send(name, raw, group.ranks[rank], group)
             for raw, rank in zip(raws, to, strict=True)]
    device = raws[0].device if raws else context.current_device()
    found = []
    for shape, kind, rank in zip(shapes, types, sources, strict=True):
        like = torch.empty(tuple(shape), dtype=kind, device=device)
        out, work = messages.receive(name, like, group.ranks[rank], group)
        found.append(out)
        works.append(work)
    for work in works:
        work.wait()
    return found


class _Neighbors(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, name: str, to: Any, sources: Any, shapes: Any, dtype: torch.dtype,
                group: Group, *raws: torch.Tensor) -> Any:
        ctx.name, ctx.group, ctx.to, ctx.sources = name, group, to, sources
        ctx.forms = [raw.shape for raw in raws], raws[0].dtype if raws else dtype
        device = raws[0].device if raws else context.current_device()
        works = [messages.send(name, raw, group.ranks[rank], group)
                 for raw, rank in zip(raws, to, strict=True)]
        found = []
        for shape, rank in zip(shapes, sources, strict=True):
            like = torch.empty(shape, dtype=dtype, device=device)
            out, work = messages.receive(name, like, group.ranks[rank], group)
            found.append(out)
            works.append(work)
        for work in works:
            work.wait()
        return tuple(found)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        shapes, dtype = ctx.forms
        found = neighbors(ctx.name, gradients, ctx.sources, ctx.to, shapes, dtype, ctx.group)
        return None, None, None, None, None, None, *found


def send(name: str, raw: torch.Tensor, to: int, tag: int, group: Group) -> torch.Tensor:
    """Send a tensor to a process, given by its rank in the group; the tensor itself."""
    _check_plain(name, group)
    return _Send.apply(name, to, tag, group, raw)  # type: ignore[return-value]


class _Send(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, name: str, to: int, tag: int, group: Group,
                raw: torch.Tensor) -> torch.Tensor:
        ctx.message, ctx.form = (name, to, tag), (raw.shape, raw.dtype, group)
        messages.send(name, raw, group.ranks[to], group, tag).wait()
        return raw.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        # the receiver's cotangent, and, unlike in MindSpore, that of the tensor itself
        came = receive(ctx.message[0], gradients[0], *ctx.message[1:], *ctx.form)
        return None, None, None, None, came + gradients[0]


def receive(name: str, through: torch.Tensor, source: int, tag: int, shape: Sequence[int],
            dtype: torch.dtype, group: Group) -> torch.Tensor:
    """Receive a tensor from a process, given by its rank in the group.

    The gradient of `through` is zero; computing it sends the received tensor's gradient back.
    """
    _check_plain(name, group)
    return _Receive.apply(name, source, tag, shape, dtype, group, through)  # type: ignore


class _Receive(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, name: str, source: int, tag: int, shape: Sequence[int],
                dtype: torch.dtype, group: Group, through: torch.Tensor) -> torch.Tensor:
        ctx.message, ctx.group, ctx.like = (name, source, tag), group, through
        like = torch.empty(tuple(shape), dtype=dtype, device=through.device)
        out, work = messages.receive(name, like, group.ranks[source], group, tag)
        work.wait()
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        name, source, tag = ctx.message
        send(name, gradients[0].contiguous(), source, tag, ctx.group)
        return None, None, None, None, None, None, torch.zeros_like(ctx.like)


def check_divisible(name: str, shape: Sequence[int], dim: int, count: int) -> None:
    """Check that a dimension can be cut into equal parts, one for each process."""
    if not -len(shape) <= dim < len(shape):
        raise ValueError(f"For '{name}', dimension {dim} is asked for, but the input has shape "
                         f"{tuple(shape)}.")
    if shape[dim] % count:
        raise ValueError(f"For '{name}', dimension {dim} of the input must be divisible by "
                         f"{count}, but the input has shape {tuple(shape)}.")
