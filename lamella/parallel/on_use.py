"""Sharded Parameters gathered where they are used, and again for the backward pass (ZeRO-3).

A `Uses` belongs to one gradient call. Each read of a sharded Parameter gathers the full Parameter,
which isn't kept: the backward pass gathers again what the tape would have saved of it. The gradient
by a full Parameter is scattered as soon as it is computed.

All processes must make the exchanges in the same order, but each chooses the order of its kernels
by its own measurements. So the order of exchanges doesn't depend on the kernels: the backward pass
gathers in the reverse order of the forward pass, and scatters in that order too, through a second
communicator. Exchanges that no kernel has needed are made at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch

from ..communication import exchange
from ..communication.groups import Group, beside
from ..core.state import state
from .spread import SpreadParameter

_NAME = "Parameter"  # the name in errors about exchanges


class Cut(Protocol):
    """How Parameters are cut, as far as this matters here; see `parts.Placement`."""

    group: Group
    alike: bool

    def scattered(self, raw: torch.Tensor) -> torch.Tensor:
        """This process's part of the sum of the group's gradients of a whole."""
        ...


class _Use:
    """One read of a Parameter in a gradient call.

    Attributes:
        part: this process's part of it as it was read: it may be assigned before the backward pass.
        whole: the full Parameter, gathered for the backward pass; None once it isn't needed.
        saved: how often the tape has saved the full Parameter, or a view of it.
        left: how many of these the backward pass hasn't read yet.
        gradient: the gradient by the full Parameter, once it is computed.
    """

    def __init__(self, parameter: SpreadParameter):
        self.parameter, self.part = parameter, parameter._data
        self.whole: torch.Tensor | None = None
        self.saved = self.left = 0
        self.gradient: torch.Tensor | None = None


class _Saved:
    """A view of a gathered weight, which the tape keeps instead of its data."""

    def __init__(self, use: _Use, raw: torch.Tensor):
        self.use = use
        self.form = raw.shape, raw.stride(), raw.storage_offset()
        use.saved += 1
        use.left += 1


class Uses:
    """The reads of Parameters in one gradient call, and the exchanges that they make.

    Args:
        level: the gradient call.
        placement: how the Parameters are cut.
    """

    def __init__(self, level: Any, placement: Cut):
        self.level, self.placement = level, placement
        self.group, self.scatter_group = placement.group, beside(placement.group)
        self.forward: list[_Use] = []
        self.to_gather: list[_Use] = []  # by the backward pass
        self.to_scatter: list[_Use] = []  # gradients not sent yet
        self.pending: list[tuple[_Use, torch.Tensor]] = []
        self.sums: dict[int, torch.Tensor] = {}  # by id of a Parameter
        self.use_of_storage: dict[int, tuple[Any, _Use]] = {}  # by the storage of a whole
        self.backward_may_run = True  # it may still begin, or has begun
        self.failed = state.failed  # when no pass had begun that an error could have ended

    def whole(self, parameter: SpreadParameter, alias: torch.Tensor) -> torch.Tensor:
        """The gathered Parameter, recorded on the tape."""
        if not (alias.requires_grad and torch.is_grad_enabled()):
            return self._gather(parameter._data)
        use = _Use(parameter)
        self.to_scatter.append(use)
        return _Whole.apply(self, use, alias)  # type: ignore[return-value]

    def _gather(self, part: torch.Tensor) -> torch.Tensor:
        return exchange.all_gather(_NAME, part, self.group).flatten(0, 1)

    def note(self, use: _Use, whole: torch.Tensor) -> None:
        """Note a weight that the forward pass has gathered, and its storage."""
        from torch.multiprocessing.reductions import StorageWeakRef

        if torch._C._current_autograd_node() is not None:  # type: ignore[attr-defined]
            return  # of a part of the function that is computed again
        self.forward.append(use)
        self.to_gather.append(use)
        storage = whole.untyped_storage()
        self.use_of_storage[storage._cdata] = StorageWeakRef(storage), use

    def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function; the tape saves no gathered weights, only how to gather them again."""
        with torch.autograd.graph.saved_tensors_hooks(self._pack, self._unpack):
            return function(*args, **kwargs)

    def _pack(self, raw: torch.Tensor) -> Any:
        found = self.use_of_storage.get(raw.untyped_storage()._cdata)
        return raw if found is None or found[0].expired() else _Saved(found[1], raw)

    def _unpack(self, kept: Any) -> torch.Tensor:
        if not isinstance(kept, _Saved):
            return kept
        use = kept.use
        self._continue()
        if use.whole is None:
            self._gather_again(use)
        whole = self._gather(use.part) if use.whole is None else use.whole
        use.left -= 1
        if use.left <= 0:
            use.whole = None
        return whole.as_strided(*kept.form)

    def _continue(self) -> None:
        """Continue the backward pass, or begin another where an error has ended one."""
        if self.failed != state.failed:
            self.sums.clear()
            self._begin()
        self.backward_may_run = True

    def _gather_again(self, until: _Use | None) -> None:
        """Gather the weights of the forward pass again, last first, up to one use, or all."""
        while self.to_gather:
            use = self.to_gather.pop()
            whole = self._gather(use.part)
            if use.left:
                use.whole = whole
            if use is until:
                return

    def scatter(self, use: _Use, gradient: torch.Tensor) -> None:
        """Send a gradient, once those of later uses have been sent."""
        self._continue()
        use.gradient = gradient
        while self.to_scatter and self.to_scatter[-1].gradient is not None:
            self._send(self.to_scatter.pop())

    def _send(self, use: _Use) -> None:
        gradient, use.gradient = use.gradient, None
        if gradient is None:
            gradient = torch.zeros(use.parameter.shape, dtype=use.parameter._data.dtype,
                                   device=use.parameter._data.device)
        if self.placement.alike:
            self._add(use, self.placement.scattered(gradient))
            return
        if state.trace is None:
            while self.pending and exchange.has_finished(self.pending[0][1]):
                self._finish_scatter()
        self.pending.append((use, exchange.begin_scatter(_NAME, gradient, self.scatter_group)))

    def _finish_scatter(self) -> None:
        use, part = self.pending.pop(0)
        self._add(use, exchange.end_scatter(_NAME, part, self.scatter_group).sum(0))

    def _add(self, use: _Use, part: torch.Tensor) -> None:
        place = id(use.parameter)
        self.sums[place] = self.sums[place] + part if place in self.sums else part

    def gradient(self, parameter: SpreadParameter) -> torch.Tensor:
        """This process's part of a Parameter's gradient, reduced over the group."""
        if self.backward_may_run:
            self._continue()
            self._end()
        found = self.sums.pop(id(parameter), None)
        return torch.zeros_like(parameter._data) if found is None else found

    def _end(self) -> None:
        """End a backward pass; there may be another one."""
        self._gather_again(None)
        while self.to_scatter:
            self._send(self.to_scatter.pop())
        while self.pending:
            self._finish_scatter()
        self._begin()
        self.backward_may_run = False

    def _begin(self) -> None:
        """Forget how far a backward pass has come."""
        self.to_gather, self.to_scatter = self.forward.copy(), self.forward.copy()
        self.pending.clear()
        for use in self.forward:
            use.left, use.whole, use.gradient = use.saved, None, None
        self.failed = state.failed


_last: dict[str, Uses] = {}  # of each group; kept where no compiled function looks for changes


def uses_in(level: Any, placement: Cut) -> Uses:
    """The uses in a gradient call of Parameters that are cut in one way."""
    while level.outer is not None:
        level = level.outer
    name = placement.group.name
    found = _last.get(name)
    if found is None or found.level is not level or found.placement is not placement:
        found = _last[name] = Uses(level, placement)
    return found


class _Whole(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, uses: Uses, use: _Use, alias: torch.Tensor) -> torch.Tensor:
        ctx.uses, ctx.use = uses, use
        whole = uses._gather(use.part)
        uses.note(use, whole)
        return whole

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Any) -> Any:
        ctx.uses.scatter(ctx.use, gradients[0])
        return None, None, None
