"""Sharded Parameters gathered where they are used, and again for the backward pass (ZeRO-3).

A `Uses` belongs to one gradient call. Each read of a Parameter that is cut gathers its whole, which
nothing keeps: what the tape would save of it is gathered again in the backward pass. Gradients of
wholes are scattered as they come.

The sequences of exchanges are the program's. The backward pass gathers what the forward pass did,
last first, whatever it asks for; and it scatters last first, on connections of their own: in which
order kernels ask, each process decides by its own measurements. What nobody asks for is made at the
end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from ..communication import exchange
from ..communication.groups import beside
from ..state import state

if TYPE_CHECKING:
    from .parts import PartParameter, Placement

_NAME = "Parameter"  # what exchanges are made for, in messages


class _Use:
    """One read of a Parameter in a gradient call.

    Attributes:
        whole: what was gathered for the backward pass, as long as that needs it.
        saved: how often the tape has saved the whole, or a view of it.
        left: how many of those the backward pass hasn't asked for.
        gradient: the gradient by the whole, once it is there.
    """

    def __init__(self, parameter: PartParameter):
        self.parameter = parameter
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

    def __init__(self, level: Any, placement: Placement):
        self.level, self.placement = level, placement
        self.group, self.apart = placement.group, beside(placement.group)
        self.forward: list[_Use] = []
        self.gathered: list[_Use] = []  # those that the backward pass hasn't gathered
        self.scattered: list[_Use] = []  # those whose gradients haven't left
        self.coming: list[tuple[_Use, torch.Tensor]] = []
        self.sums: dict[int, torch.Tensor] = {}  # by id of a Parameter
        self.known: dict[int, tuple[Any, _Use]] = {}  # by the memory of a whole
        self.goes_on = True  # whether a backward pass has begun, or may

    def whole(self, parameter: PartParameter, alias: torch.Tensor) -> torch.Tensor:
        """The gathered Parameter, recorded on the tape."""
        if not (alias.requires_grad and torch.is_grad_enabled()):
            return self._gather(parameter)
        use = _Use(parameter)
        self.scattered.append(use)
        return _Whole.apply(self, use, alias)  # type: ignore[return-value]

    def _gather(self, parameter: PartParameter) -> torch.Tensor:
        return exchange.all_gather(_NAME, parameter._data, self.group).flatten(0, 1)

    def note(self, use: _Use, whole: torch.Tensor) -> None:
        """Remember a weight gathered in the forward pass, and its memory."""
        from torch.multiprocessing.reductions import StorageWeakRef

        if torch._C._current_autograd_node() is not None:  # type: ignore[attr-defined]
            return  # of a part of the function that is computed again
        self.forward.append(use)
        self.gathered.append(use)
        storage = whole.untyped_storage()
        self.known[storage._cdata] = StorageWeakRef(storage), use

    def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function; of gathered weights the tape keeps only how to gather them again."""
        with torch.autograd.graph.saved_tensors_hooks(self._pack, self._unpack):
            return function(*args, **kwargs)

    def _pack(self, raw: torch.Tensor) -> Any:
        found = self.known.get(raw.untyped_storage()._cdata)
        return raw if found is None or found[0].expired() else _Saved(found[1], raw)

    def _unpack(self, kept: Any) -> torch.Tensor:
        if not isinstance(kept, _Saved):
            return kept
        use, self.goes_on = kept.use, True
        if use.whole is None:
            self._gather_again(use)
        whole = self._gather(use.parameter) if use.whole is None else use.whole
        use.left -= 1
        if use.left <= 0:
            use.whole = None
        return whole.as_strided(*kept.form)

    def _gather_again(self, until: _Use | None) -> None:
        """Gather the weights of the forward pass again, last first, up to one use, or all."""
        while self.gathered:
            use = self.gathered.pop()
            whole = self._gather(use.parameter)
            if use.left:
                use.whole = whole
            if use is until:
                return

    def scatter(self, use: _Use, gradient: torch.Tensor) -> None:
        """Send a gradient, once those of later uses have been sent."""
        use.gradient, self.goes_on = gradient, True
        while self.scattered and self.scattered[-1].gradient is not None:
            self._send(self.scattered.pop())

    def _send(self, use: _Use) -> None:
        gradient, use.gradient = use.gradient, None
        if gradient is None:
            gradient = torch.zeros(use.parameter.shape, dtype=use.parameter._data.dtype,
                                   device=use.parameter._data.device)
        if self.placement.alike:
            self._add(use, self.placement.scattered(gradient))
            return
        if state.trace is None:
            while self.coming and exchange.has_come(self.coming[0][1]):
                self._take()
        self.coming.append((use, exchange.begin_scatter(_NAME, gradient, self.apart)))

    def _take(self) -> None:
        use, coming = self.coming.pop(0)
        self._add(use, exchange.end_scatter(_NAME, coming, self.apart).sum(0))

    def _add(self, use: _Use, part: torch.Tensor) -> None:
        place = id(use.parameter)
        self.sums[place] = self.sums[place] + part if place in self.sums else part

    def gradient(self, parameter: PartParameter) -> torch.Tensor:
        """This process's part of a Parameter's gradient, reduced over the group."""
        if self.goes_on:
            self._end()
        found = self.sums.pop(id(parameter), None)
        return torch.zeros_like(parameter._data) if found is None else found

    def _end(self) -> None:
        """End a backward pass; there may be another one."""
        self._gather_again(None)
        while self.scattered:
            self._send(self.scattered.pop())
        while self.coming:
            self._take()
        self.gathered, self.scattered = self.forward.copy(), self.forward.copy()
        for use in self.forward:
            use.left, use.whole = use.saved, None
        self.goes_on = False


_last: dict[str, Uses] = {}  # of each group; kept where no compiled function looks for changes


def uses_in(level: Any, placement: Placement) -> Uses:
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
        whole = uses._gather(use.parameter)
        uses.note(use, whole)
        return whole

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Any) -> Any:
        ctx.uses.scatter(ctx.use, gradients[0])
        return None, None, None
