"""Lets no gradient pass on from what the step of a loop has computed for nothing.

Where an `if` takes one of two values, the tape gives the other one a gradient of 0. Eagerly it
gets none: what it was computed from isn't differentiated, which may give no number. So for each
node of the tape it is found under which condition its result is used, and what leaves the nodes of
one condition is masked by that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import torch

Flag = torch.Tensor | None  # whether something is used; None: in any case


def mask_gradients(outs: Iterable[torch.Tensor], choices: Sequence[tuple[Any, torch.Tensor]]
                   ) -> None:
    """Mask the gradients on a tape.

    Args:
        outs: the results of a step, which are used.
        choices: the nodes of `where` that take one of two values, each with its test.
    """
    if not choices:
        return
    tests, flags = dict(choices), _Flags()
    roots = [raw.grad_fn for raw in outs if raw.grad_fn is not None]
    found: dict[Any, list[Flag]] = {root: [None] for root in roots}
    order, used = _users_first(roots), {}
    for node in order:
        flag = used[node] = flags.any_of(found[node])
        for place, (source, _) in enumerate(node.next_functions):
            if source is not None:
                test = tests.get(node)
                found.setdefault(source, []).append(
                    flag if test is None else flags.both(flag, flags.way(test, place)))
    for node in order:
        flag = used[node]
        leaves = [source is not None and (hasattr(source, "variable") or used[source] is not flag)
                  for source, _ in node.next_functions]
        if flag is not None and any(leaves):
            node.register_hook(_masking(flag, leaves))


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


def _masking(flag: torch.Tensor, leaves: list[bool]) -> Callable[..., tuple]:
    def mask(gradients: tuple, _: Any) -> tuple:
        return tuple([torch.where(flag, g, 0) if g is not None and masked else g
                      for g, masked in zip(gradients, leaves, strict=True)])

    return mask


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
