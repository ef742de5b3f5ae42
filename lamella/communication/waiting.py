"""Waiting for other processes, and the errors that name a process that is lost.

A process that has waited for some seconds notes in the store where all have met what it waits for,
reads the others' notes, and warns with them. One that ends leaves a note, too. So a program whose
processes have lost each other says at which lines they are, long before an exchange times out.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch.distributed as dist

from ..core import log
from .groups import Group, ended, world_rank
from .joining import patience

__all__ = ["leave", "reason", "until"]

_LOOK = 1.0  # seconds from one look at the others' notes to the next
# gloo's texts for a connection that the other end has closed, and for a timeout
_LOST = re.compile("closed by peer|reset by peer|Broken pipe|Socket closed|Connection refused")
_LATE = re.compile("[Tt]imed out|[Tt]imeout")


def notice() -> float:
    """After how many seconds a process that waits for others says so."""
    with contextlib.suppress(ValueError):
        return max(0.1, float(os.environ.get("LAMELLA_WAIT_NOTICE", "")))
    return 10.0


def until(work: Any, group: Group, describe: Callable[[], str]) -> None:
    """Wait until an exchange has finished.

    Args:
        describe: what this process waits for, in words; called if it takes long.

    Raises:
        RuntimeError: if the exchange fails, or if a process of the group has ended its program.
    """
    if not group.compares:
        work.wait()
        return
    began, due = time.monotonic(), notice()
    if _finished(work, due):
        return
    what = describe()
    _note({"waits": what, "since": time.time() - due})
    try:
        while True:
            waited = time.monotonic() - began
            notes = _notes(group)
            gone = [rank for rank, note in notes.items() if "ended" in note]
            if gone and not _finished(work, _LOOK):
                raise RuntimeError(_told(notes, gone))
            if waited >= due:
                log.warning(f"Process {world_rank()} has waited {waited:.0f} s for others, in "
                            f"{what}. Meanwhile:{_told(notes, group.ranks)}")
                due *= 2
            if _finished(work, min(_LOOK, max(0.1, due - waited))):
                return
    finally:
        _note({})


def _finished(work: Any, seconds: float) -> bool:
    """Whether an exchange finishes within some seconds."""
    try:
        work.wait(timedelta(seconds=seconds))
        return True
    except RuntimeError:
        if work.is_completed():  # with an error of its own
            raise
        return False


def leave(exchanges: int) -> None:
    """Leave a note that this process makes no more exchanges, after so many."""
    if dist.is_initialized():
        _note({"ended": exchanges})


def reason(error: Exception, group: Group) -> str:
    """Why an exchange failed, in words; gloo's text where that is neither loss nor lateness."""
    text = str(error)
    if not group.compares or not (_LOST.search(text) or _LATE.search(text)):
        return text
    notes = _notes(group)
    gone = [rank for rank, note in notes.items() if "ended" in note]
    if gone:
        return _told(notes, gone)
    if _LOST.search(text):
        return ("the connection to another process of the group was lost; its own output says "
                "whether it was killed or raised an error.")
    return (f"no answer within the {patience().total_seconds():g} s that HCCL_EXEC_TIMEOUT or the "
            f"group allow. Meanwhile:{_told(notes, group.ranks)}")


def _told(notes: dict[int, dict[str, Any]], ranks: list[int]) -> str:
    lines = []
    for rank in ranks:
        note = notes.get(rank, {})
        if rank == world_rank():
            continue
        if "ended" in note:
            lines.append(f"process {rank} has ended its program, or has called 'release', after "
                         f"{note['ended']} exchanges")
        elif "waits" in note:
            lines.append(f"process {rank} has waited {time.time() - note['since']:.0f} s, in "
                         f"{note['waits']}")
        else:
            lines.append(f"process {rank} waits for no other: it computes, or has stopped")
    return "".join(f"\n  {line}" for line in lines)


def _key(rank: int) -> str:
    return f"lamella/{ended()}/{rank}"


def _store() -> Any:
    return dist.distributed_c10d._get_default_store()


def _note(said: dict[str, Any]) -> None:
    """Leave a note about this process in the store, which may be gone."""
    with contextlib.suppress(RuntimeError, ValueError):
        _store().set(_key(world_rank()), json.dumps(said))


def _notes(group: Group) -> dict[int, dict[str, Any]]:
    """The notes of a group's other processes, as far as they can be read."""
    found: dict[int, dict[str, Any]] = {}
    with contextlib.suppress(RuntimeError, ValueError):
        store = _store()
        for rank in group.ranks:
            if rank != world_rank() and store.check([_key(rank)]):
                found[rank] = json.loads(store.get(_key(rank)))
    return found
