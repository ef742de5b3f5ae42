"""Lets no gradient pass on from what has been computed for nothing.

Where an `if` in a loop takes one of two values, the tape gives the other one a gradient of 0, and
so does a loop that takes no step to what its steps would have taken. Eagerly these get none: what
they were computed from isn't differentiated, which may give no number. So for each node of the tape
it is found under which condition its result is used, and what leaves the nodes of one condition is
masked by that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch._functorch.utils import unwrap_dead_wrappers

from ...core.state import state

# nodes that give gradients of 0 for those of 0, whatever they have kept
_KEEP_ZEROS = {f"{name}Backward{number}" for number in (0, 1) for name in (
    "Add", "Alias", "Cat", "Clone", "Expand", "Neg", "Permute", "Select", "Slice", "Squeeze",
    "Stack", "Sub", "Sum", "T", "ToCopy", "Transpose", "UnsafeView", "Unsqueeze", "View")}
Flag = torch.Tensor | None  # whether something is used; None: in any case


class Use(NamedTuple):
    """When a node of the tape uses one of its inputs: if a test holds, or if it doesn't.

    Attributes:
        test: a truth value.
        way: 0 or 1.
    """

    test: torch.Tensor
    way: int


class Masks:
    """What the tape of a run has computed for nothing."""

    def __init__(self) -> None:
        self._uses: dict[Any, Mapping[int, Use]] = {}

    def note(self, node: Any, uses: Mapping[int, Use]) -> None:
        """Note a node of the tape that may not use what it is given.

        Args:
            node: the node.
            uses: when it uses some of its inputs, by their numbers.
        """
        self._uses[node] = uses

    def conditions(self, outs: Sequence[torch.Tensor], inputs: Iterable[torch.Tensor]
                   ) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """The inputs, leaves of the tape, that outputs may not use, and whether they do."""
        own = {id(raw) for raw in inputs} - {id(raw) for raw in outs}
        used = self._used(_nodes_of(outs))
        found = [(getattr(node, "variable", None), flag) for node, flag in used.items()
                 if flag is not None]
        return [(raw, flag) for raw, flag in found if raw is not None and id(raw) in own]

    @contextmanager
    def placed(self, outs: Iterable[torch.Tensor], inputs: Iterable[torch.Tensor]
               ) -> Iterator[None]:
        """A block in whose backward passes gradients are masked.

        Args:
            outs: what is differentiated.
            inputs: by what.
        """
        handles = self._masked(_nodes_of(outs), {raw.grad_fn for raw in inputs})
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _used(self, roots: list[Any]) -> dict[Any, Flag]:
        """For each node, users first, whether its result is used; nothing if that is known."""
        order, flags = _users_first(roots), _Flags()
        if self._uses.keys().isdisjoint(order):
            return {}
        used: dict[Any, Flag] = {}
        found: dict[Any, list[Flag]] = {root: [None] for root in roots}
        for node in order:
            flag = used[node] = flags.any_of(found[node])
            uses = self._uses.get(node, {})
            for place, (source, _) in enumerate(node.next_functions):
                if source is not None:
                    use = uses.get(place)
                    found.setdefault(source, []).append(flag if use is None else flags.both(
                        flag, flags.way(flags.now(use.test), use.way)))
        return used

    def _masked(self, roots: list[Any], ends: Collection[Any]) -> list[Any]:
        handles, spoilt = [], set()
        used = self._used(roots)
        for node, flag in used.items():
            if flag is None or not (node in spoilt or node.name() not in _KEEP_ZEROS):
                continue
            sources = [source for source, _ in node.next_functions]
            leaves = [source is not None and (
                          hasattr(source, "variable") or source in ends or used[source] is not flag)
                      for source in sources]
            if any(leaves):
                handles.append(node.register_hook(self._masking(flag, leaves)))
            spoilt.update(source for source, its in zip(sources, leaves, strict=True) if not its)
        return handles

    def _masking(self, flag: torch.Tensor, leaves: list[bool]) -> Callable[..., tuple]:
        def mask(gradients: tuple, _: Any) -> tuple:
            return tuple([self._where(flag, g) if g is not None and its else g
                          for g, its in zip(gradients, leaves, strict=True)])

        return mask

    def _where(self, flag: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        found = torch.where(flag, gradient, 0)
        if found.grad_fn is not None:  # of a derivative that is differentiated again
            self.note(found.grad_fn, {0: Use(flag, 0)})
        return found


def note_uses(node: Any, uses: Mapping[int, Use]) -> None:
    """Note a node of this thread's tape; see `Masks.note`."""
    if state.masks is None:
        state.masks = Masks()
    state.masks.note(node, uses)


def differentiated(outs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor],
                   unread: Collection[int]) -> set[int]:
    """The numbers of the results of a step that may have a gradient.

    Args:
        outs: the results, first the carried values.
        inputs: the carried values that it takes.
        unread: the numbers of those that nothing reads after the loop. Such a one has a gradient
            only if the next step computes something else with it that has one.
    """
    places = {id(raw): place for place, raw in enumerate(inputs)}
    found = set(range(len(outs))) - set(unread)
    left = list(found) if unread else []
    while left:
        out = outs[left.pop()]  # it may be an input itself
        nodes = [] if out.grad_fn is None else _users_first([out.grad_fn])
        for raw in (out, *(getattr(node, "variable", None) for node in nodes)):
            place = places.get(id(raw))
            if place is not None and place not in found:
                found.add(place)
                left.append(place)
    return found


def _nodes_of(raws: Iterable[torch.Tensor]) -> list[Any]:
    return [raw.grad_fn for raw in raws if raw.grad_fn is not None]


def _users_first(roots: list[Any]) -> list[Any]:
    """The nodes of a tape, each after those that use it."""
    seen, finished = set(), []
    left = [(root, False) for root in roots]
    while left:
        node, is_done = left.pop()
        if is_done:
            finished.append(node)
        elif node not in seen:
            seen.add(node)
            left.append((node, True))
            left += [(source, False) for source, _ in node.next_functions if source is not None]
    return finished[::-1]


class _Flags:
    """Truth values of one element; equal ones are the same object."""

    def __init__(self) -> None:
        self._known: dict[Any, torch.Tensor] = {}
        self._opposite: dict[int, int] = {}
        self._now: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def now(self, test: torch.Tensor) -> torch.Tensor:
        """A test without the transformations that have ended since."""
        if id(test) not in self._now:
            self._now[id(test)] = test, unwrap_dead_wrappers((test,))[0]
        return self._now[id(test)][1]

    def way(self, test: torch.Tensor, place: int) -> torch.Tensor:
        """Whether the first or the second way is taken."""
        if not place:
            return test
        other = self._made(("not", id(test)), lambda: ~test)
        self._opposite[id(test)], self._opposite[id(other)] = id(other), id(test)
        return other

    def both(self, flag: Flag, other: torch.Tensor) -> torch.Tensor:
        """Whether both hold."""
        return other if flag is None or flag is other else self._made(
            ("and", id(flag), id(other)), lambda: flag & other)

    def any_of(self, flags: Sequence[Flag]) -> Flag:
        """Whether any holds."""
        own = {id(flag): flag for flag in flags}
        if None in flags or any(self._opposite.get(key) in own for key in own):
            return None
        keys = sorted(own)
        found = own[keys[0]]
        for key in keys[1:]:
            before, also = found, own[key]
            assert before is not None and also is not None
            found = self._made(("or", id(before), id(also)), lambda a=before, b=also: a | b)
        return found

    def _made(self, key: Any, make: Callable[[], torch.Tensor]) -> torch.Tensor:
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]
