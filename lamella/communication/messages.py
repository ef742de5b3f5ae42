"""Messages from one process to another.

Between CPUs, the two processes tell each other in a few words what they send and take, while the
message is on its way. The message's tag depends on its size and type, so that none is taken for
another: where the processes disagree, neither gets anything, and both raise the same error. As
elsewhere, ``LAMELLA_CHECK_EXCHANGES=0`` leaves that out.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist

from .exchange import (
    Divergence,
    as_bytes,
    failure,
    note,
    program_line,
    refuse_graphs,
)
from .groups import Group, world_rank

__all__ = ["Message", "begin", "receive", "send"]

_PAGE = 512  # bytes of the words that two processes exchange


class Message:
    """A message on its way.

    Args:
        name: the function that the program called.
        way: ``"to"`` or ``"from"`` the other process.
        memory: the bytes that are sent, or where those that come will be.
        what: what is sent, in words that both processes have to agree on.
        other: the other process's rank in the world.
        group: the group of both.
        tag: the program's tag; messages of one tag come in the order of their sending.
    """

    def __init__(self, name: str, way: str, memory: torch.Tensor, what: str, other: int,
                 group: Group, tag: int):
        self.name, self.group, self.line = name, group, program_line()
        self.me, self.other = world_rank(), other
        self.ends = (self.me, other) if way == "to" else (other, self.me)
        group.messages[self.ends, tag] += 1
        self.number = group.messages[self.ends, tag]
        self.words: list[Any] = []
        within, key = group.process_group, (self.ends, tag, self.number)
        try:
            if group.compares:
                self.mine = _page(f"{what}\n'{name}', at {self.line}")
                self.theirs = torch.empty_like(self.mine)
                self.words = [dist.isend(self.mine, other, within, _tag("words", *key)),
                              dist.irecv(self.theirs, other, within, _tag("words", *key))]
                tag = _tag(what, *key)
            call = dist.isend if way == "to" else dist.irecv
            self.work: Any = call(memory, other, within, tag)
        except (RuntimeError, ValueError) as error:
            raise self._failure(error) from error

    def wait(self) -> None:
        """Wait until the message has been sent, or has come.

        Raises:
            Divergence: if the other process takes or sends something else.
            RuntimeError: if the exchange fails, or the other process doesn't answer.
        """
        try:
            for work in self.words:
                work.wait()
            if self.words:
                self._compare()
            self.work.wait()
        except Divergence:
            raise
        except (RuntimeError, ValueError) as error:
            raise self._failure(error) from error

    def _compare(self) -> None:
        (mine, my_place), (theirs, their_place) = _read(self.mine), _read(self.theirs)
        if mine == theirs:
            return
        stories = {self.me: f"{my_place}: {mine}", self.other: f"{their_place}: {theirs}"}
        told = "".join(f"\n  process {rank}, {stories[rank]}" for rank in self.ends)
        raise Divergence(f"For '{self.name}', one process sends and the other takes different "
                         f"things, as {self._which()}:{told}")

    def _which(self) -> str:
        return (f"message {self.number} from process {self.ends[0]} to process {self.ends[1]} in "
                f"group {self.group.name!r} of {self.group.ranks}")

    def _failure(self, error: Exception) -> RuntimeError:
        return RuntimeError(f"For '{self.name}', {self._which()}, at {self.line}, failed: {error}")


def _tag(*key: Any) -> int:
    """A number for a message that no other one between the same processes has."""
    return zlib.crc32(repr(key).encode()) >> 1


def _page(text: str) -> torch.Tensor:
    return torch.frombuffer(bytearray(text.encode()[:_PAGE].ljust(_PAGE)), dtype=torch.uint8)


def _read(page: torch.Tensor) -> tuple[str, str]:
    """What is sent, and where the program says so."""
    what, _, place = bytes(page.tolist()).decode(errors="replace").rstrip().partition("\n")
    return what, place


def send(name: str, raw: torch.Tensor, to: int, group: Group, tag: int = 0) -> Message:
    """Begin to send a tensor to a process, given by its rank in the world."""
    refuse_graphs("sends a message to a single process")
    note(name, "message", group, raw, f"to {to}")
    return Message(name, "to", as_bytes(raw), _form(raw), to, group, tag)


def receive(name: str, like: torch.Tensor, source: int, group: Group,
            tag: int = 0) -> tuple[torch.Tensor, Message]:
    """Begin to receive a tensor of the shape and type of `like`: the memory that it will be in,
    and the message."""
    refuse_graphs("receives a message from a single process")
    note(name, "message", group, like, f"from {source}", gives=False)
    out = torch.empty(like.shape, dtype=like.dtype, device=like.device)
    return out, Message(name, "from", _memory(out), _form(like), source, group, tag)


def _form(raw: torch.Tensor) -> str:
    return f"{raw.numel()} {str(raw.dtype).removeprefix('torch.')} elements"


def _memory(out: torch.Tensor) -> torch.Tensor:
    """The bytes of a contiguous tensor, in its own memory."""
    return out.reshape(-1).view(torch.uint8)


def begin(name: str, given: Sequence[tuple[torch.Tensor, int]],
          taken: Sequence[tuple[torch.Tensor, int]], group: Group
          ) -> tuple[list[torch.Tensor], list[Any], list[Any]]:
    """Begin to send tensors to processes, and to receive others, all at once.

    What goes where is not compared: stages of a pipeline have compared their plans.

    Args:
        given: tensors, each with the rank in the group of the process that it goes to.
        taken: the same of what comes, of the shapes and types of these tensors.

    Returns:
        The memory for what comes; works of what is sent, which keep it; works of what comes. They
        are to be waited for by `wait_for`.
    """
    outs = [torch.empty(like.shape, dtype=like.dtype, device=like.device) for like, _ in taken]
    ways = []
    for raw, rank in given:
        note(name, "message", group, raw, f"to {group.ranks[rank]}")
        ways.append(dist.P2POp(dist.isend, as_bytes(raw), group.ranks[rank], group.process_group))
    for out, (_, rank) in zip(outs, taken, strict=True):
        note(name, "message", group, out, f"from {group.ranks[rank]}", gives=False)
        ways.append(dist.P2POp(dist.irecv, _memory(out), group.ranks[rank], group.process_group))
    if not ways:
        return [], [], []
    try:
        works = dist.batch_isend_irecv(ways)
    except (RuntimeError, ValueError) as error:
        raise failure(name, group, error) from error
    if len(works) < len(ways):  # the library has one work for all
        works = works * len(ways)
    return outs, works[:len(given)], works[len(given):]
