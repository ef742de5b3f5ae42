"""Masks the gradients of values that were computed and not used.

Where an `if` in a loop selects one of two values, the tape gives the other one a gradient of 0. So
does a loop without steps to what its steps would have used. Eagerly these have no gradient at all;
and 0 times an infinite derivative is NaN. So each node of the tape gets the condition under which
its result is used, and gradients that leave the nodes of one condition are masked by it. What a
loop has used is known once the backward pass has gone through it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import torch
from torch._functorch.utils import unwrap_dead_wrappers

from ...core.state import state
from ..ir.loop_undefined import ABSENT, MASKS

# nodes that make gradients of 0 from gradients of 0, whatever values they have saved
_KEEP_ZEROS = {f"{name}Backward{number}" for number in (0, 1) for name in (
    "Add", "Alias", "Cat", "Clone", "Expand", "Neg", "Permute", "Select", "Slice", "Squeeze",
    "Stack", "Sub", "Sum", "T", "ToCopy", "Transpose", "UnsafeView", "Unsqueeze", "View", "Where")}
Truth = bool | torch.Tensor  # of one element


class Use(NamedTuple):
    """When a node of the tape uses one of its inputs: if a test holds, or if it doesn't.

    Attributes:
        test: a truth value, or what gives it once a backward pass has gone through the node.
        way: 0 if the test has to hold, 1 if it must not.
    """

    test: torch.Tensor | Callable[[], Truth]
    way: int = 0


class Presence:
    """Which gradients a node of the tape takes and gives in a backward pass.

    Attributes:
        found: whether the gradient of an input is there, by the input's number. Of other inputs it
            is.
    """

    def __init__(self) -> None:
        self.found: Mapping[int, Truth] = {}
        self._taken: Mapping[int, Flag | None] = {}

    def of(self, place: int) -> Use:
        """When the node uses an input."""
        return Use(lambda: self.found.get(place, True))

    def takes(self, place: int) -> Truth:
        """Whether the gradient of a result is there."""
        flag = self._taken.get(place)
        return True if flag is None else flag.now()

    @contextmanager
    def taking(self, flags: Mapping[int, Flag | None]) -> Iterator[None]:
        """A block in whose backward pass these say whether the gradients of results are there."""
        before, self._taken = self._taken, flags
        try:
            yield
        finally:
            self._taken = before


class Masks:
    """The nodes on a run's tape that may not use what they are given."""

    def __init__(self) -> None:
        self._uses: dict[Any, Mapping[int, Use]] = {}
        self._presences: dict[Any, Presence] = {}

    def note(self, node: Any, uses: Mapping[int, Use], presence: Presence | None = None) -> None:
        """Note a node of the tape that may not use what it is given.

        Args:
            node: the node.
            uses: when it uses some of its inputs, by their numbers.
            presence: which gradients it takes, to be told before it runs.
        """
        self._uses[node] = uses
        if presence is not None:
            self._presences[node] = presence

    @contextmanager
    def placed(self, outs: Iterable[torch.Tensor], inputs: Iterable[torch.Tensor]
               ) -> Iterator[None]:
        """A block in whose backward passes gradients are masked.

        In the step of a loop, the graph says of each gradient whether it is there.

        Args:
            outs: what is differentiated.
            inputs: by what.
        """
        with ExitStack() as blocks:
            self._place(blocks, [(raw.grad_fn, raw.output_nr) for raw in outs
                                 if raw.grad_fn is not None], {raw.grad_fn for raw in inputs})
            yield

    def _place(self, blocks: ExitStack, roots: list[tuple[Any, int]], ends: Collection[Any]
               ) -> None:
        order, flags, marks = _users_first([root for root, _ in roots]), _Flags(), in_part()
        if self._uses.keys().isdisjoint(order):
            return
        found: dict[Any, dict[int, list[Flag | None]]] = {}
        for root, number in roots:
            found.setdefault(root, {}).setdefault(number, []).append(None)
        used: dict[Any, Flag | None] = {}
        for node in order:
            its = {number: flags.any_of(several) for number, several in found[node].items()}
            flag, uses = flags.any_of(list(its.values())), self._uses.get(node, {})
            used[node] = flag
            if node in self._presences and not marks:
                blocks.enter_context(self._presences[node].taking(its))
            for place, (source, number) in enumerate(node.next_functions):
                if source is not None:
                    use = flags.of(uses[place]) if place in uses else None
                    found.setdefault(source, {}).setdefault(number, []).append(
                        flags.both(flag, use))
        spoilt = set()
        for node in order:
            flag, uses = used[node], self._uses.get(node, {}) if marks else {}
            spoils = flag is not None and (node in spoilt or node.name() not in _KEEP_ZEROS)
            masks: dict[int, Flag] = {}
            for place, (source, _) in enumerate(node.next_functions):
                if source is not None and spoils:
                    if (hasattr(source, "variable") or source in ends or used[source] is not flag
                            or source in self._presences):
                        masks[place] = flag  # type: ignore[assignment]
                    else:
                        spoilt.add(source)
            chooses = uses and node.name() == "WhereBackward0"
            if not chooses:
                masks |= {place: flags.both(masks.get(place), flags.of(use))
                          for place, use in uses.items()}
            if masks or chooses:
                handle = node.register_hook(self._masking(masks, uses if chooses else ()))
                blocks.callback(handle.remove)

    def _masking(self, masks: Mapping[int, Flag], choices: Collection[int]
                 ) -> Callable[..., tuple]:
        def mask(gradients: tuple, _: Any) -> tuple:
            for place in choices:  # the kernel has masked them already
                if gradients[place] is not None:
                    _mark(gradients[place], MASKS, 1 + place)
            return tuple([g if g is None or place not in masks
                          else self._where(masks[place].now(), g)
                          for place, g in enumerate(gradients)])

        return mask

    def _where(self, flag: Truth, gradient: torch.Tensor) -> torch.Tensor:
        if flag is True:
            return gradient
        if flag is False:
            return absent(gradient)
        found = torch.where(flag, gradient, 0)
        _mark(found, MASKS, 1)
        if found.grad_fn is not None:  # of a derivative that is differentiated again
            self.note(found.grad_fn, {0: Use(flag)})
        return found


def in_part() -> bool:
    """Whether the step of a loop is being recorded."""
    return state.trace is not None and state.trace.recorder.is_part


def absent(like: torch.Tensor) -> torch.Tensor:
    """The zeros in place of a gradient that isn't there."""
    found = torch.zeros_like(like)
    _mark(found, ABSENT, True)
    return found


def _mark(raw: torch.Tensor, name: str, value: Any) -> None:
    if state.trace is not None:
        state.trace.recorder.mark(raw, name, value)


def note_uses(node: Any, uses: Mapping[int, Use], presence: Presence | None = None) -> None:
    """Note a node of this thread's tape; see `Masks.note`."""
    if state.masks is None:
        state.masks = Masks()
    state.masks.note(node, uses, presence)


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


class Flag:
    """Whether something is used, which may be known in the backward pass only."""

    def __init__(self, find: Callable[[], Truth]):
        self._find: Callable[[], Truth] | None = find
        self._found: Truth = True

    def now(self) -> Truth:
        """The truth value."""
        if self._find is not None:
            self._found, self._find = self._find(), None
        return self._found


class _Flags:
    """Flags of one backward pass; equal ones are the same object. None: used in any case."""

    def __init__(self) -> None:
        self._known: dict[Any, Flag] = {}
        self._opposite: dict[Flag, Flag] = {}

    def of(self, use: Use) -> Flag:
        """Whether a node uses an input."""
        test = self._made(use.test, lambda: _now(use.test))
        if not use.way:
            return test
        other = self._made(("not", test), lambda: _opposite(test.now()))
        self._opposite[test], self._opposite[other] = other, test
        return other

    def both(self, flag: Flag | None, other: Flag | None) -> Any:
        """Whether both hold."""
        if flag is None or other is None or flag is other:
            return other if flag is None else flag
        return self._made(("and", flag, other), lambda: _both(flag.now(), other.now()))

    def any_of(self, flags: Sequence[Flag | None]) -> Flag | None:
        """Whether any holds."""
        own = [flag for flag in dict.fromkeys(flags) if flag is not None]
        if None in flags or any(self._opposite.get(flag) in own for flag in own):
            return None
        found = own[0]
        for also in own[1:]:
            found = self._made(("or", found, also), lambda a=found, b=also: _either(
                a.now(), b.now()))
        return found

    def _made(self, key: Any, find: Callable[[], Truth]) -> Flag:
        if key not in self._known:
            self._known[key] = Flag(find)
        return self._known[key]


def _now(test: torch.Tensor | Callable[[], Truth]) -> Truth:
    """A test without the transformations that have ended since."""
    found = test if isinstance(test, torch.Tensor) else test()
    return found if isinstance(found, bool) else unwrap_dead_wrappers((found,))[0]


def _opposite(test: Truth) -> Truth:
    return not test if isinstance(test, bool) else ~test


def _both(first: Truth, second: Truth) -> Truth:
    if isinstance(first, bool):
        return second if first else False
    return (first if second else False) if isinstance(second, bool) else first & second


def _either(first: Truth, second: Truth) -> Truth:
    if isinstance(first, bool):
        return True if first else second
    return (True if second else first) if isinstance(second, bool) else first | second
