"""Messages from one process to another.

Between CPUs, the two processes also exchange short descriptions of what they send and receive. The
message's tag depends on its size and type, so that no message is mistaken for another: if the
descriptions differ, neither process receives anything, and both raise the same error. As elsewhere,
``LAMELLA_CHECK_EXCHANGES=0`` turns this check off.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist

from ..tensors.construction import flat_bytes
from .exchange import (
    Divergence,
    failure,
    note,
    program_line,
    refuse_graphs,
)
from .groups import Group, world_rank
from .waiting import reason, until

__all__ = ["Message", "begin", "receive", "send"]

_DESCRIPTION_BYTES = 512


class Message:
    """A message that is being sent or received.

    Args:
        name: the function that the program called.
        direction: ``"to"`` or ``"from"`` the other process.
        memory: the bytes to send, or the memory to receive into.
        what: a description of what is sent, which must be the same in both processes.
        other: the other process's rank in the world.
        group: the group of both.
        tag: the program's tag; messages of one tag arrive in the order in which they are sent.
    """

    def __init__(self, name: str, direction: str, memory: torch.Tensor, what: str, other: int,
                 group: Group, tag: int):
        self.name, self.group, self.line = name, group, program_line()
        self.me, self.other = world_rank(), other
        self.ends = (self.me, other) if direction == "to" else (other, self.me)
        group.messages[self.ends, tag] += 1
        self.number = group.messages[self.ends, tag]
        self.comparison: list[Any] = []
        within, key = group.process_group, (self.ends, tag, self.number)
        try:
            if group.compares:
                self.mine = _encoded(f"{what}\n'{name}', at {self.line}")
                self.theirs = torch.empty_like(self.mine)
                self.comparison = [
                    dist.isend(self.mine, other, within, _tag("description", *key)),
                    dist.irecv(self.theirs, other, within, _tag("description", *key))]
                tag = _tag(what, *key)
            call = dist.isend if direction == "to" else dist.irecv
            self.work: Any = call(memory, other, within, tag)
        except (RuntimeError, ValueError) as error:
            raise self._failure(error) from None

    def wait(self) -> None:
        """Wait until the message has been sent or received.

        Raises:
            Divergence: if the other process sends or expects something else.
            RuntimeError: if the exchange fails, or the other process doesn't answer.
        """
        try:
            for work in self.comparison:
                until(work, self.group, self._described)
            if self.comparison:
                self._compare()
            until(self.work, self.group, self._described)
        except Divergence:
            raise
        except (RuntimeError, ValueError) as error:
            raise self._failure(error) from None

    def _compare(self) -> None:
        (mine, my_line), (theirs, their_line) = _decoded(self.mine), _decoded(self.theirs)
        if mine == theirs:
            return
        descriptions = {self.me: f"{my_line}: {mine}", self.other: f"{their_line}: {theirs}"}
        listing = "".join(f"\n  process {rank}, {descriptions[rank]}" for rank in self.ends)
        raise Divergence(f"For '{self.name}', one process sends and the other takes different "
                         f"things, as {self._which()}:{listing}")

    def _which(self) -> str:
        return (f"message {self.number} from process {self.ends[0]} to process {self.ends[1]} in "
                f"group {self.group.name!r} of {self.group.ranks}")

    def _failure(self, error: Exception) -> RuntimeError:
        return RuntimeError(f"For '{self.name}', {self._described()}, failed: "
                            f"{reason(error, self.group)}")

    def _described(self) -> str:
        return f"{self._which()}, at {self.line}"


def _tag(*key: Any) -> int:
    """A number that identifies a message among those between the same processes."""
    return zlib.crc32(repr(key).encode()) >> 1


def _encoded(text: str) -> torch.Tensor:
    padded = text.encode()[:_DESCRIPTION_BYTES].ljust(_DESCRIPTION_BYTES)
    return torch.frombuffer(bytearray(padded), dtype=torch.uint8)


def _decoded(encoded: torch.Tensor) -> tuple[str, str]:
    """The description of a message, and the line of the program that sends or receives it."""
    what, _, line = bytes(encoded.tolist()).decode(errors="replace").rstrip().partition("\n")
    return what, line


def send(name: str, raw: torch.Tensor, to: int, group: Group, tag: int = 0) -> Message:
    """Begin to send a tensor to a process, given by its rank in the world."""
    refuse_graphs("sends a message to a single process")
    note(name, "message", group, raw, f"to {to}")
    return Message(name, "to", flat_bytes(raw), _form(raw), to, group, tag)


def receive(name: str, like: torch.Tensor, source: int, group: Group,
            tag: int = 0) -> tuple[torch.Tensor, Message]:
    """Begin to receive a tensor of the shape and type of `like`: the memory that it will be in,
    and the message."""
    refuse_graphs("receives a message from a single process")
    note(name, "message", group, like, f"from {source}", gives=False)
    out = torch.empty(like.shape, dtype=like.dtype, device=like.device)
    return out, Message(name, "from", flat_bytes(out), _form(like), source, group, tag)


def _form(raw: torch.Tensor) -> str:
    return f"{raw.numel()} {str(raw.dtype).removeprefix('torch.')} elements"


def begin(name: str, given: Sequence[tuple[torch.Tensor, int]],
          taken: Sequence[tuple[torch.Tensor, int]], group: Group
          ) -> tuple[list[torch.Tensor], list[Any], list[Any]]:
    """Begin to send tensors to processes, and to receive others, all at once.

    The messages are not compared: the stages of a pipeline have compared their plans before.

    Args:
        given: the tensors to send, each with the rank in the group of the receiving process.
        taken: tensors of the shapes and types to receive, each with the rank of the sender.

    Returns:
        The memory to receive into; the handles of the sends, which keep the data alive; the handles
        of the receives. `wait_for` waits for handles.
    """
    outs = [torch.empty(like.shape, dtype=like.dtype, device=like.device) for like, _ in taken]
    transfers = []
    for raw, rank in given:
        note(name, "message", group, raw, f"to {group.ranks[rank]}")
        transfers.append(dist.P2POp(dist.isend, flat_bytes(raw), group.ranks[rank],
                                    group.process_group))
    for out, (_, rank) in zip(outs, taken, strict=True):
        note(name, "message", group, out, f"from {group.ranks[rank]}", gives=False)
        transfers.append(dist.P2POp(dist.irecv, flat_bytes(out), group.ranks[rank],
                                    group.process_group))
    if not transfers:
        return [], [], []
    try:
        works = dist.batch_isend_irecv(transfers)
    except (RuntimeError, ValueError) as error:
        raise failure(name, group, error) from None
    if len(works) < len(transfers):  # the library has one handle for all
        works = works * len(transfers)
    return outs, works[:len(given)], works[len(given):]
