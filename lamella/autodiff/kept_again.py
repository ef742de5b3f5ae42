"""A recomputed block: tensors that the backward pass needs are computed there again, not kept.

In place of each tensor that the tape would keep, a token is kept. The first one that the backward
pass asks for runs the block a second time, which gives the tensors of all tokens. PyTorch's
`torch.utils.checkpoint` does the same, and imports PyTorch's compiler at its first use: 2 s.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks

from .engine import OVERWRITTEN

_numbers = itertools.count(-2, -1)  # of asks outside of a backward pass


class _Token:
    """Stands for a tensor that isn't kept.

    Attributes:
        found: by the number of the backward pass, the tensor of the second run, and its version.
    """

    __slots__ = ("found", "like", "__weakref__")

    def __init__(self, raw: torch.Tensor):
        self.found: dict[int, tuple[torch.Tensor, int]] = {}
        self.like = raw.shape, raw.dtype, raw.device


class _AllFound(Exception):  # noqa: N818  (no error: the rest of a second run isn't needed)
    pass


class _Block:
    """A run of a function, and its second run.

    Args:
        run: the function of raw tensors.
        raws: the tensors.
        around: a context for the second run.
        stops_early: whether the second run ends when all tensors are there.
    """

    def __init__(self, run: Callable[..., Any], raws: Sequence[torch.Tensor], around: Any,
                 stops_early: bool):
        self._run, self._around, self._stops_early = run, around, stops_early
        self._inputs = [_kept(raw) for raw in raws]
        self._settings = _autocast_settings(raws)
        self._tokens: list[weakref.ref[_Token]] = []
        self._done: set[int] = set()
        self.is_over = False  # whether the first run is

    def pack(self, raw: torch.Tensor) -> _Token:
        """The token for a tensor that the tape is to keep."""
        token = _Token(raw)
        self._tokens.append(weakref.ref(token))
        return token

    def unpack(self, token: _Token) -> torch.Tensor:
        """The tensor that a token stands for."""
        number = torch._C._current_graph_task_id()
        if number == -1:
            number = next(_numbers)
        if number not in self._done:
            self._again(number)
            self._done.add(number)
        if number not in token.found:
            raise RuntimeError("For 'recompute', a tensor that the backward pass needs was asked "
                               "for twice, or the second run of the block didn't give it: it must "
                               "compute the same in each run.")
        raw, version = token.found.pop(number)
        if raw._version != version:
            raise RuntimeError(f"What a derivative needs was {OVERWRITTEN}: a Tensor of shape "
                               f"{tuple(raw.shape)} in a block of 'recompute'")
        return raw

    def _again(self, number: int) -> None:
        place = 0

        def found(raw: torch.Tensor) -> torch.Tensor:
            nonlocal place
            raw = raw.detach() if raw.requires_grad else raw
            if place >= len(self._tokens):
                if self.is_over:
                    raise _differs("keeps more tensors")
                return raw  # of a backward pass inside of the block
            token = self._tokens[place]()
            place += 1
            if token is not None:
                if token.like != (raw.shape, raw.dtype, raw.device):
                    raise _differs("keeps a tensor of another shape or type")
                token.found[number] = raw, raw._version
            if self._stops_early and place == len(self._tokens):
                raise _AllFound
            return raw

        try:
            with saved_tensors_hooks(found, lambda raw: raw), torch.enable_grad(), (
                    _autocast(self._settings)), self._around:
                self._run(*[_taken(raw) for raw in self._inputs])
        except _AllFound:
            pass
        if place < len(self._tokens) and self.is_over:
            raise _differs("keeps fewer tensors")


def kept_again(run: Callable[..., Any], raws: Sequence[torch.Tensor],
               contexts: Callable[[], tuple[Any, Any]] | None = None, stops_early: bool = True
               ) -> Any:
    """What a function of raw tensors gives; for the backward pass it is run again.

    Args:
        run: the function; its second run must compute the same.
        raws: its arguments.
        contexts: makes two contexts, for the first run and the second.
        stops_early: whether the second run ends when all that is needed is there.

    Raises:
        RuntimeError: in the backward pass, if the second run computes something else.
    """
    first, second = (nullcontext(), nullcontext()) if contexts is None else contexts()
    block = _Block(run, raws, second, stops_early)
    with saved_tensors_hooks(block.pack, block.unpack), first:
        found = run(*raws)
    block.is_over = True
    return found


def _differs(what: str) -> RuntimeError:
    return RuntimeError(f"For 'recompute', the second run of the block {what} for the backward "
                        f"pass than the first: it must compute the same in each run.")


# a tensor that is kept as the tape does: hooks around see it, and a change in place is found
_make_saved: Any = getattr(torch._C._autograd, "_make_saved_tensor", None)  # type: ignore


def _kept(raw: torch.Tensor) -> Any:
    return raw if _make_saved is None else _make_saved(raw, is_output=False)


def _taken(kept: Any) -> torch.Tensor:
    return kept if isinstance(kept, torch.Tensor) else kept.unpack()


def _autocast_settings(raws: Sequence[torch.Tensor]) -> list[tuple[str, torch.dtype, bool]]:
    """The kinds of devices, the types of PyTorch's own mixed precision there, whether it is on."""
    kinds = {"cpu", *[raw.device.type for raw in raws]}
    return [(kind, torch.get_autocast_dtype(kind), torch.is_autocast_enabled(kind))
            for kind in sorted(kinds) if kind == "cpu" or torch.amp.is_autocast_available(kind)]


def _autocast(settings: list[tuple[str, torch.dtype, bool]]) -> ExitStack:
    stack = ExitStack()
    for kind, dtype, is_on in settings:
        if is_on or torch.is_autocast_enabled(kind):
            stack.enter_context(torch.amp.autocast(kind, dtype, is_on))
    return stack
