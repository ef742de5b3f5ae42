"""Checks whether the step of a loop has rules or hooks that its kernels don't show."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ...autodiff.level import batching
from ...core.dtype import is_inexact
from ...core.state import state
from ...core.wrappers import functorch
from .loop_part import Call, Raws, Unlike, untransformed
from .loop_rules import example

# calls that change the tape, which kernels don't show
_CUTS = {"detach", "detach_", "register_hook", "register_post_accumulate_grad_hook", "data"}


class Watch:
    """What is seen of a step that is recorded outside of all transformations.

    Args:
        is_batched: whether it is in a `vmap`. Then it may take tensors of the transformations from
            outside, for each of which a value of one example stands in.

    Attributes:
        is_faithful: whether the derivative of what it computes is that of its kernels: nothing is
            cut from the tape, there is no hook and no rule of the user's.
        is_paused: whether another loop in it is recorded, which is watched by itself.
    """

    def __init__(self, is_batched: bool):
        self.is_batched, self.is_faithful, self.is_paused = is_batched, True, False
        self._known: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._originals: dict[int, torch.Tensor] = {}

    def stand_in(self, raw: torch.Tensor) -> torch.Tensor:
        """The value that stands in for a tensor, itself if it isn't wrapped."""
        if not functorch.is_functorch_wrapped_tensor(raw):
            return raw
        if batching():  # it may be one of a `vmap` inside of the step
            raise Unlike
        if id(raw) not in self._known:
            level = state.level
            with state.trace.recorder.pause(), untransformed():
                found = example(raw).detach()
            if level is not None and (level.reverse or level.forward):
                found.requires_grad_(is_inexact(found.dtype))
            self._known[id(raw)] = raw, found
            self._originals[id(found)] = raw
        return self._known[id(raw)][1]

    def original(self, raw: torch.Tensor) -> torch.Tensor:
        """What a tensor that the step takes from outside stands for."""
        return self._originals.get(id(raw), raw)

    def around(self, call: Call) -> Call:
        """A function of the program's that is watched."""
        def watched(raws: Raws) -> tuple[Raws, Raws] | None:
            with _Mode(self):
                return call(raws)

        return watched


class Ends(Watch):
    """Lets the tape of a step end at what it takes from outside: stand-ins take the place of
    tensors that were computed before it.
    """

    def __init__(self) -> None:
        super().__init__(True)
        self._begun = torch.autograd._get_sequence_nr()  # type: ignore[attr-defined]

    def stand_in(self, raw: torch.Tensor) -> torch.Tensor:
        node = raw.grad_fn if raw.requires_grad else None
        if node is None or node._sequence_nr() >= self._begun:
            return raw
        if id(raw) not in self._known:
            with state.trace.recorder.pause():
                found = raw.detach().requires_grad_()
            self._known[id(raw)] = raw, found
            self._originals[id(found)] = raw
        return self._known[id(raw)][1]


class _Mode(TorchFunctionMode):
    def __init__(self, watch: Watch):
        super().__init__()
        self._watch = watch

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        watch = self._watch
        if watch.is_batched:
            args, kwargs = _mapped(watch, args), _mapped(watch, kwargs or {})
        name = getattr(func, "__name__", "")
        if name == "__get__":
            name = getattr(getattr(func, "__self__", None), "__name__", "")
        if name in _CUTS or not torch.is_grad_enabled() and _has_inexact(args) or (
                func is torch.autograd.grad and _ends_here(kwargs)):
            watch.is_faithful &= watch.is_paused
        return func(*args, **(kwargs or {}))


def _ends_here(kwargs: Any) -> bool:
    """Whether gradients are cut from the tape, though it records what is around."""
    return not kwargs["create_graph"] and state.level is not None and state.level.reverse


def _mapped(watch: Watch, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return watch.stand_in(value)
    if type(value) in (tuple, list):
        return type(value)([_mapped(watch, part) for part in value])
    if type(value) is dict:
        return {key: _mapped(watch, part) for key, part in value.items()}
    return value


def _has_inexact(args: Any) -> bool:
    return any(is_inexact(a.dtype) if isinstance(a, torch.Tensor)
               else isinstance(a, (tuple, list)) and _has_inexact(a) for a in args)
