"""All calls of torch.distributed: collectives on raw tensors, without derivatives.

Every process of a group must make the same exchanges in the same order. Graphs of compiled
functions keep this order (see `repeated`). In a group of one process each function returns at once.

Between CPUs, the processes first compare in a few bytes what each is about to exchange: gloo ends
the process, or gives wrong numbers, where two processes send different amounts. They raise the same
error then, and the group can still be used. ``LAMELLA_CHECK_EXCHANGES=0`` leaves that out.
"""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from ..core import context
from ..core.dtype import is_inexact
from ..core.state import state
from ..tensors.construction import flat_bytes
from . import groups, repeated, waiting
from .groups import Group, world_rank
from .repeated import repeatable

_OPS: dict[str, Any] = {"sum": dist.ReduceOp.SUM, "max": dist.ReduceOp.MAX,
                        "min": dist.ReduceOp.MIN, "prod": dist.ReduceOp.PRODUCT,
                        "avg": dist.ReduceOp.SUM}
# types that the libraries can't combine, and the types that they are converted to
_WIDER = {torch.bool: torch.uint8, torch.int16: torch.int32, torch.uint16: torch.int32,
          torch.uint32: torch.int64, torch.bfloat16: torch.float32}

# a name that PyTorch has changed
_gather: Any = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor


class Exchange(NamedTuple):
    """One exchange of this process, as `watcher` gets it."""

    name: str  # of the function that the program called
    kind: str
    group: Group
    nbytes: int  # that this process gives
    what: str


# called with each exchange before it is made
watcher: Callable[[Exchange], None] | None = None
_made = 0  # exchanges of this process, for messages
_PACKAGES = tuple(str(Path(module.__file__ or "").parent) + os.sep
                  for module in (sys.modules[__name__.partition(".")[0]], torch))


def _exchanged(name: str, kind: str, group: Group, raw: torch.Tensor, option: Any,
               call: Callable[[], Any], alike: bool = True, compares: bool = True) -> Any:
    """Make one exchange with the group's other processes.

    Args:
        raw: the tensor that is sent; of one type and size in all processes, if `alike`.
        option: what else has to be the same in all processes.
        compares: whether the processes compare what they exchange, if the group does so at all.
            False if an earlier comparison covers this exchange.
    """
    what = note(name, kind, group, raw, option, alike)
    try:
        if compares and group.compares:
            _compare(name, what, group)
        return call()
    except (RuntimeError, ValueError) as error:
        if isinstance(error, Divergence):
            raise
        raise failure(name, group, error) from None


def note(name: str, kind: str, group: Group, raw: torch.Tensor, option: Any,
         alike: bool = True, gives: bool = True) -> str:
    """Count an exchange, and describe it.

    Args:
        gives: whether this process sends the tensor; False if it only receives one like it.
    """
    global _made
    check_member(name, group)
    _made += 1
    size = raw.numel() if alike else "any number of"
    what = f"{kind}({option}) of {size} {str(raw.dtype).removeprefix('torch.')} elements"
    if watcher is not None:
        watcher(Exchange(name, kind, group, raw.nbytes if gives else 0, what))
    return what


class Divergence(RuntimeError):
    """Processes of a group are about to make different exchanges."""


def failure(name: str, group: Group, error: Exception) -> RuntimeError:
    """The error for an exchange that failed."""
    return RuntimeError(f"For '{name}', exchange {_made} of process {world_rank()}, in group "
                        f"{group.name!r} of {group.ranks}, at {program_line()}, failed: "
                        f"{waiting.reason(error, group)}")


# what this process has made when it ends, for those that still wait
groups.at_end.append(lambda: waiting.leave(_made))


def _wait_until(work: Any, name: str, what: str, group: Group) -> None:
    """Wait for others, and say what this process waits for if that takes long."""
    waiting.until(work, group, lambda: f"exchange {_made}, '{name}', {what}in group "
                  f"{group.name!r} of {group.ranks}, at {program_line()}")


def _compare(name: str, what: str, group: Group) -> None:
    """Check that all processes are about to exchange the same.

    Raises:
        Divergence: if they aren't, in each of them.
    """
    begun = _begin_comparison(what, group)
    _wait_until(begun.pending, name, f"{what}, ", group)
    _end_comparison(name, begun, group)


def _begin_comparison(what: str, group: Group) -> Any:
    mine: Any = torch.tensor([zlib.crc32(what.encode())])
    mine.found, mine.what = [torch.empty_like(mine) for _ in group.ranks], what
    mine.pending = dist.all_gather(mine.found, mine, group.process_group, async_op=True)
    return mine


def _end_comparison(name: str, begun: Any, group: Group) -> None:
    if all(torch.equal(each, begun) for each in begun.found):
        return
    descriptions: list[Any] = [None] * group.size
    mine = f"'{name}', {begun.what}, at {program_line()}"
    dist.all_gather_object(descriptions, mine, group.process_group)
    listing = "".join(f"\n  process {rank}: {description}"
                      for rank, description in zip(group.ranks, descriptions, strict=True))
    raise Divergence(f"For '{name}', the processes of group {group.name!r} exchange different "
                     f"things, as their exchange {_made}:{listing}")


def program_line() -> str:
    """The innermost line of the program that is running, or that a replay was recorded from."""
    if repeated.here.line:
        return repeated.here.line
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_PACKAGES) and not file.startswith("<"):
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back
    return "no line of the program"


def check_member(name: str, group: Group) -> None:
    """Check that this process is one of the group's, and that the group hasn't ended."""
    if group.has_ended and group.rank >= 0:
        raise RuntimeError(f"For '{name}', group {group.name!r} of {group.ranks} has ended: "
                           f"'release' or 'destroy_group' has been called.")
    if group.rank < 0:
        raise RuntimeError(f"For '{name}', process {world_rank()} is not in group {group.name!r}, "
                           f"which has {group.ranks}.")


def mean_of(total: torch.Tensor, count: int) -> torch.Tensor:
    """The mean, of the sum of so many tensors; whole numbers are rounded down."""
    return total / count if is_inexact(total.dtype) else total // count


def check_op(name: str, op: Any) -> None:
    """Check the name of a way to combine values."""
    if not isinstance(op, str):
        raise TypeError(f"For '{name}', the 'op' must be str, but got {type(op).__name__}.")
    if op not in _OPS:
        raise ValueError(f"For '{name}', 'op' must be one of {list(_OPS)}, but got {op!r}.")


@repeatable
def all_reduce(name: str, raw: torch.Tensor, op: str, group: Group) -> torch.Tensor:
    """The tensors of all processes, combined element by element."""
    if group.size == 1:
        return raw.clone()
    kind = _WIDER.get(raw.dtype, raw.dtype)
    out = raw.detach().to(kind).clone(memory_format=torch.contiguous_format)
    _exchanged(name, "all_reduce", group, out, op,
               lambda: dist.all_reduce(out, _OPS[op], group.process_group))
    if op == "avg":
        out = mean_of(out, group.size)
    return out.to(raw.dtype)


@repeatable
def begin_comparison(name: str, given: list[torch.Tensor], what: str, group: Group) -> torch.Tensor:
    """Begin to compare what all processes will exchange, if the group compares that.

    Args:
        given: an empty list: the comparison takes no tensors.

    Returns:
        The argument of `end_comparison`, which must be called before the first of these exchanges.
    """
    check_member(name, group)
    return _begin_comparison(what, group) if group.compares else torch.empty(0)


@repeatable
def end_comparison(name: str, begun: Any, group: Group) -> list[torch.Tensor]:
    """Check that all processes will exchange the same.

    Raises:
        Divergence: if they won't, in each of them.
    """
    if group.compares:
        _wait(name, begun, group)
        _end_comparison(name, begun, group)
    return []


@repeatable
def begin_sum(name: str, flat: torch.Tensor, group: Group) -> torch.Tensor:
    """Begin to sum the tensors of all processes, in the memory of `flat` if its type allows that.

    An earlier comparison has checked that all processes sum the same.

    Returns:
        The tensor that will hold the sum; `end_sum` waits for it.
    """
    out: Any = flat.to(_WIDER.get(flat.dtype, flat.dtype))
    out.pending = _exchanged(
        name, "all_reduce", group, out, "sum", lambda: dist.all_reduce(
            out, _OPS["sum"], group.process_group, async_op=True), compares=False)
    return out


@repeatable
def end_sum(name: str, out: torch.Tensor, dtype: torch.dtype, group: Group) -> torch.Tensor:
    """The sum that `begin_sum` began, converted to a data type."""
    _wait(name, out, group)
    return out.to(dtype)


def _wait(name: str, out: Any, group: Group) -> None:
    wait_for(name, [out.pending], group)
    del out.pending


@repeatable
def all_gather(name: str, raw: torch.Tensor, group: Group) -> torch.Tensor:
    """The tensors of all processes, which have one shape, joined along a new first dimension."""
    if group.size == 1:
        return raw[None].clone()
    given = raw.detach().contiguous()
    out = given.new_empty((group.size, *given.shape))
    _exchanged(name, "all_gather", group, raw, tuple(raw.shape),
               lambda: _gather(flat_bytes(out), flat_bytes(given), group.process_group))
    return out


@repeatable
def broadcast(name: str, raw: torch.Tensor, root: int, group: Group) -> torch.Tensor:
    """The tensor of one process, whose rank in the world is given."""
    if group.size == 1:
        return raw.clone()
    given = flat_bytes(raw).clone()
    _exchanged(name, "broadcast", group, raw, f"from {root}, {tuple(raw.shape)}",
               lambda: dist.broadcast(given, root, group.process_group))
    return _from_bytes(given, raw.shape, raw)


@repeatable
def all_to_all(name: str, parts: Sequence[torch.Tensor], shapes: Sequence[Sequence[int]],
               group: Group, even: bool = False) -> list[torch.Tensor]:
    """Part i goes to process i of the group; what comes from each, of the given shapes.

    Args:
        even: whether all parts of all processes are of one shape.
    """
    if group.size == 1:
        return [parts[0].clone()]
    like = parts[0]
    given = [flat_bytes(part) for part in parts]
    width = like.element_size()
    counts = [width * torch.Size(shape).numel() for shape in shapes]
    out = torch.empty(sum(counts), dtype=torch.uint8, device=like.device)
    joined, sizes = torch.cat(given), [part.numel() for part in given]

    def call() -> None:
        if group.compares and not even:
            _compare_counts(name, sizes, counts, group)
        dist.all_to_all_single(out, joined, counts, sizes, group.process_group)

    _exchanged(name, "all_to_all", group, joined.view(like.dtype), "even" if even else "", call,
               alike=even)
    return [_from_bytes(part, shape, like)
            for part, shape in zip(out.split(counts), shapes, strict=True)]


def _compare_counts(name: str, given: list[int], taken: list[int], group: Group) -> None:
    """Check that each process receives as much from every other one as that one sends to it."""
    mine = torch.tensor([given, taken])
    found = [torch.empty_like(mine) for _ in group.ranks]
    dist.all_gather(found, mine, group.process_group)
    gives, takes = torch.stack(found).unbind(1)
    wrong = (gives != takes.T).nonzero().tolist()
    if wrong:
        i, j = wrong[0]
        raise Divergence(f"For '{name}', exchange {_made} in group {group.name!r}: process "
                         f"{group.ranks[i]} gives {gives[i, j]} bytes to process "
                         f"{group.ranks[j]}, which takes {takes[j, i]}; at {program_line()}.")


@repeatable
def begin_scatter(name: str, raw: torch.Tensor, group: Group) -> torch.Tensor:
    """Begin to give each process its part, along the first dimension, of the tensors of all.

    Returns:
        What the parts of all will be in; `end_scatter` waits for them.
    """
    given = raw.detach().contiguous()
    out: Any = given.new_empty((group.size, len(given) // group.size, *given.shape[1:]))
    out.given = given  # must stay until all is sent
    out.pending = _exchanged(
        name, "reduce_scatter", group, given, tuple(given.shape), lambda: dist.all_to_all_single(
            flat_bytes(out), flat_bytes(given), group=group.process_group, async_op=True))
    return out


@repeatable
def end_scatter(name: str, out: torch.Tensor, group: Group) -> torch.Tensor:
    """This process's parts of the tensors of all, joined along a new first dimension."""
    _wait(name, out, group)
    del out.given  # type: ignore[attr-defined]
    return out


def has_finished(out: Any) -> bool:
    """Whether a pending exchange has finished, so that it can be ended early.

    A run that starts over makes exchanges in the order of the run that it replaces, whatever has
    finished meanwhile: there it is False.
    """
    return repeated.here.log is None and out.pending.is_completed()


def wait_for(name: str, works: Sequence[Any], group: Group) -> None:
    """Wait until exchanges have finished."""
    try:
        for work in works:
            _wait_until(work, name, "", group)
    except (RuntimeError, ValueError) as error:
        raise failure(name, group, error) from None


def compare(name: str, what: str, group: Group) -> None:
    """Check that all processes are about to do the same, where the group compares that.

    Raises:
        Divergence: if they aren't, in each of them.
    """
    if group.compares:
        _compare(name, what, group)


def raise_in_all(name: str, error: Exception | None, group: Group) -> None:
    """Raise an error in all processes if any of them has one.

    Args:
        error: this process's, or None.
    """
    if error is not None and group.size == 1:
        raise error
    flag = torch.tensor([error is not None], dtype=torch.int32, device=context.current_device())
    if not all_reduce(name, flag, "max", group):
        return
    descriptions: list[Any] = [None] * group.size
    dist.all_gather_object(descriptions, error and f"{type(error).__name__}: {error}",
                           group.process_group)
    if error is not None:
        raise error
    listing = "".join(f"\n  process {rank}: {raised}"
                      for rank, raised in zip(group.ranks, descriptions, strict=True) if raised)
    raise RuntimeError(f"For '{name}', other processes of group {group.name!r} raised:{listing}")


def barrier(name: str, group: Group) -> None:
    """Wait until all processes are here."""
    check_member(name, group)
    _barrier(name, [], group)


@repeatable
def _barrier(name: str, given: list[torch.Tensor], group: Group) -> list[torch.Tensor]:
    if group.size > 1:
        _exchanged(name, "barrier", group, torch.empty(0), None,
                   lambda: dist.barrier(group.process_group))
    return given


def refuse_graphs(what: str) -> None:
    """End a recording, since no graph can hold this exchange; the function continues eagerly."""
    if state.trace is not None:
        state.trace.refuse(what)


def _from_bytes(moved: torch.Tensor, shape: Sequence[int], like: torch.Tensor) -> torch.Tensor:
    # a part may begin where no element of its type may: then it is copied
    if moved.storage_offset() % like.element_size():
        moved = moved.clone()
    return moved.view(like.dtype).reshape(tuple(shape))
