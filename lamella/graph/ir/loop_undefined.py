"""Leaves out of the backward pass of a loop what is computed of gradients that aren't there.

A value that isn't differentiated has no gradient, which is not the same as a gradient of 0: where a
derivative is infinite, such as that of a root at 0, the product of both is NaN. But a loop has to
be given a tensor for each gradient. So its body is built again, without what is computed of a
gradient that is never there. Some gradients are there in some steps only: that of a value which
each step computes anew, and of which only the last is read after the loop. For such a gradient the
loop carries a flag that says whether it is there, and masks it by the flag where it meets others.
The flag after the last step of the backward pass is a result of the loop, by which gradients before
the loop are masked in turn.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import torch
from torch.fx import Node

from .lazy_module import KernelGraph, LazyModule
from .loop import Loop, loop_of
from .loop_halves import placeholders
from .metadata import meta_of
from .operations import sweep

aten = torch.ops.aten
# marks in a node's `meta`: MASKS of a kernel `where`: which of its arguments is the gradient that
# it masks; ABSENT of zeros: that they stand for a gradient that isn't there
MASKS, ABSENT = "masks", "absent"

class There(enum.Enum):
    """Whether a gradient is there."""

    ALWAYS = enum.auto()
    NEVER = enum.auto()
    SOMETIMES = enum.auto()  # in some steps
    STEPPED = enum.auto()  # if the loop takes a step
    UNSTEPPED = enum.auto()  # if it takes none
    PLAIN = enum.auto()  # what is computed of no gradient


ALWAYS, NEVER, SOMETIMES, STEPPED, UNSTEPPED, PLAIN = There
Status = There | Node  # a node that says so
# what is 0 where the first input is
_KEEP_ZEROS = {aten.clone.default, aten.neg.default, aten.sum.default, aten.sum.dim_IntList,
               aten.expand.default, aten.view.default, aten.permute.default, aten.t.default,
               aten.transpose.int, aten.unsqueeze.default, aten.squeeze.dim}


class Defined(NamedTuple):
    """A backward loop without the gradients that aren't there.

    Attributes:
        loop: it also carries, after the other values, whether those in `sometimes` are there.
            A gradient that isn't is 0.
        sometimes: the numbers of the carried gradients that are there in some steps.
        stacks: the numbers of the stacks that it takes.
        flags: nodes that it takes after the other values: whether inputs are there.
        ends: for each carried value whether it is there after the loop; never PLAIN.
        kept: for each stack that it gives whether it is there: ALWAYS or NEVER.
    """

    loop: Loop
    sometimes: list[int]
    stacks: list[int]
    flags: list[Node]
    ends: list[There]
    kept: list[There]


def without_undefined(loop: Loop, given: Sequence[Status], asked: Collection[int] | None = None
                      ) -> Defined:
    """A loop of a backward pass without the gradients that aren't there.

    Args:
        loop: the loop, of a known number of steps.
        given: for each carried value, stack and value from outside whether it is there.
        asked: the carried values of which it matters whether they are there after the loop; None:
            all.
    """
    kinds: list[There] = [SOMETIMES if isinstance(status, Node) else status
                          for status in given[:loop.carried]]
    taken = [any(user.target is not aten.zeros_like.default for user in node.users)
             for node in placeholders(loop.body)]
    sums = [i for i in _sums(loop) if given[i] is NEVER]
    while True:
        body = _Body(loop, kinds, given)
        joined = [_joined(*pair) for pair in zip(kinds, body.results, taken, strict=False)]
        for i in sums:  # while it isn't there, the result is what a step adds
            joined[i] = NEVER
        if joined == kinds:
            break
        kinds = joined
    if sums:
        for i in sums:
            result = body.results[i]
            kinds[i] = SOMETIMES if isinstance(result, Node) else result
        body = _Body(loop, kinds, given)
    asked = range(loop.carried) if asked is None else asked
    if not body.masks and all(kinds[i] is not SOMETIMES for i in asked):
        kinds = [ALWAYS if kind is SOMETIMES else kind for kind in kinds]
        body = _Body(loop, kinds, given)  # what isn't there is 0, and stays that
    return body.made()


def _sums(loop: Loop) -> list[int]:
    """The numbers of the carried values to which the steps only add something."""
    outs: Any = loop.body.graph.output_node().args[0]
    return [i for i, (node, out) in enumerate(zip(placeholders(loop.body), outs[:loop.carried],
                                                  strict=False))
            if list(node.users) == [out] and out.target is aten.add.Tensor and not out.kwargs
            and out.args[0] is node]


def _joined(before: There, now: Status, is_taken: bool) -> There:
    """Whether a carried gradient is there, from whether it is at first and after a step.

    Args:
        is_taken: whether a step computes with it; if not, it may as well be 0.
    """
    if before is PLAIN and now is PLAIN:
        return PLAIN
    if before is SOMETIMES or isinstance(now, Node):
        return SOMETIMES
    before, now = (ALWAYS if status is PLAIN else status for status in (before, now))
    return before if before is now else SOMETIMES if is_taken else ALWAYS


class _Body:
    """The body made again.

    Attributes:
        results: for each result of the first body whether it is there.
        masks: how many values are masked since inputs may not be there.
    """

    def __init__(self, loop: Loop, kinds: list[There], given: Sequence[Status]):
        self.loop, self.kinds, self.given, self.graph = loop, kinds, given, KernelGraph()
        self.masks = 0
        self._status: dict[Node, Status] = {}
        self._clean: set[Node] = set()  # 0 where they aren't there
        self._copies: dict[Node, Node] = {}
        self._inner: dict[Node, tuple[Loop, int, list[Status]]] = {}
        self._truths = _Truths(self._call)
        self.sometimes = [i for i, kind in enumerate(kinds) if kind is SOMETIMES]
        self.flags = list(dict.fromkeys(s for s in given[loop.carried:] if isinstance(s, Node)))
        old, first = placeholders(loop.body), loop.carried
        inputs = [self._input(node) for node in old[:first]]
        known = {i: self._input() for i in self.sometimes}
        inputs += [self._input(node) for node in old[first:]]
        outer = {flag: self._input() for flag in self.flags}
        for i, node in enumerate(inputs):
            status = known.get(i, kinds[i]) if i < first else given[i]
            self._status[node] = outer[status] if i >= first and isinstance(
                status, Node) else status
        self._clean.update(inputs[:first])
        self._stacks = inputs[first:first + loop.stacks]
        for node in loop.body.graph.nodes:
            if node.op == "output":
                self._finish(node.args[0], inputs, known)
            elif node.op != "placeholder":
                self._copies[node] = self._made(node)

    def made(self) -> Defined:
        """The loop."""
        sweep(self.graph)
        loop, stacks = self.loop, []
        for i, node in enumerate(self._stacks):
            if node.users:
                stacks.append(i)
            else:
                self.graph.erase_node(node)
        made = Loop(LazyModule(loop.body, self.graph), loop.carried + len(self.sometimes),
                    len(stacks), loop.kept, None, loop.steps, loop.backward, loop.counts,
                    loop.counted)
        return Defined(made, self.sometimes, stacks, self.flags,
                       [self._end(i) for i in range(loop.carried)],
                       [NEVER if status is NEVER else ALWAYS
                        for status in self.results[loop.carried:]])

    def _end(self, i: int) -> There:
        """Whether a carried value is there after the loop."""
        if self.kinds[i] is SOMETIMES:
            return SOMETIMES
        before, now = (NEVER if status is NEVER else ALWAYS
                       for status in (self.given[i], self.results[i]))
        if before is now or self.loop.steps is not None:
            return now if self.loop.steps != 0 else before
        return STEPPED if now is ALWAYS else UNSTEPPED

    def _input(self, node: Node | None = None) -> Node:
        made = self.graph.create_node("placeholder", f"input_{len(self.graph.nodes)}")
        if node is not None:
            made.meta.update(node.meta)
            self._copies[node] = made
        self._status[made] = PLAIN
        return made

    def _finish(self, outs: Sequence[Node], inputs: list[Node], known: dict[int, Node]) -> None:
        carried, ends, flags = self.loop.carried, [], []
        self.results: list[Status] = []
        for i, old in enumerate(outs):
            node = self._copies[old]
            status = self._status[node]
            if i < carried and node.target is aten.zeros_like.default and node.args[0] is inputs[i]:
                status = PLAIN if self.kinds[i] is PLAIN else NEVER
            if status is NEVER:
                node = self._zeros(node)
            elif isinstance(status, Node):
                node = self._masked(node)
            if i in known:
                flags.append(status if isinstance(status, Node) else self._call(
                    aten.zeros_like.default if status is NEVER else aten.ones_like.default,
                    known[i]))
            self.results.append(status)
            ends.append(node)
        self.graph.output([*ends[:carried], *flags, *ends[carried:]])

    def _call(self, target: Any, *args: Any) -> Node:
        node = self.graph.call_function(target, args)
        self._status[node] = PLAIN
        return node

    def _made(self, node: Node) -> Node:
        """A node of the first body as one of this."""
        given = [self._copies[source] for source in node.all_input_nodes]
        if node.target is operator.getitem and given[0] in self._inner:
            return self._part(node, given[0])
        found = {self._status[source] for source in given} - {PLAIN}
        if ABSENT in node.meta:
            return self._copied(node, NEVER)
        if MASKS in node.meta and found:
            return self._mask(node)
        inner = loop_of(node)
        if inner is not None and found and inner.condition is None:
            return self._loop(node, inner)
        if node.target is aten.add.Tensor and len(given) == 2 and not node.kwargs and found:
            return self._sum(node, *given)
        if len(found) <= 1:
            made = self._copied(node, next(iter(found), PLAIN))
            if node.target in _KEEP_ZEROS and given and given[0] in self._clean:
                self._clean.add(made)
            return made
        masked = {source: self._masked(self._copies[source]) for source in node.all_input_nodes}
        made = self.graph.node_copy(node, masked.__getitem__)
        self._status[made] = self._truths.any_of([
            self._status[source] for source in given if self._status[source] is not PLAIN])
        return made

    def _copied(self, node: Node, status: Status) -> Node:
        made = self.graph.node_copy(node, self._copies.__getitem__)
        self._status[made] = status
        return made

    def _mask(self, node: Node) -> Node:
        """A gradient that is masked already, which is there if it was before, and is taken."""
        place: int = node.meta[MASKS]
        flag, gradient = (self._copies[node.args[i]] for i in (0, place))  # type: ignore[index]
        before = self._status[gradient]
        status = self._truths.both(before, flag, place == 1)
        if status is NEVER:
            return self._zeros(gradient)
        if isinstance(before, Node) and isinstance(status, Node) and gradient not in self._clean:
            self.masks += 1
            return self._where(status, gradient)
        made = self._copied(node, status)
        self._clean.add(made)
        return made

    def _sum(self, node: Node, first: Node, second: Node) -> Node:
        """Two gradients are added, or one to a sum."""
        statuses = [self._status[first], self._status[second]]
        if NEVER in statuses:
            other = second if statuses[0] is NEVER else first
            meta, own = meta_of(node), meta_of(other)
            if meta is not None and own is not None and meta.shape != own.shape:
                made = self._call(aten.expand.default, other, list(meta.shape))
                self._status[made] = self._status[other]
                return made
            return other
        pair = [first, second] if statuses[0] is statuses[1] else [
            self._masked(first), self._masked(second)]
        made = self.graph.call_function(aten.add.Tensor, tuple(pair))
        made.meta = dict(node.meta)
        self._status[made] = self._truths.any_of(statuses)
        if {first, second} <= self._clean:
            self._clean.add(made)
        return made

    def _zeros(self, node: Node) -> Node:
        made = node if node.target is aten.zeros_like.default else self._call(
            aten.zeros_like.default, node)
        made.meta[ABSENT], self._status[made] = True, NEVER
        return made

    def _masked(self, node: Node) -> Node:
        """A gradient that is 0 where it isn't there."""
        status = self._status[node]
        if status is NEVER:
            return self._zeros(node)
        if not isinstance(status, Node) or node in self._clean:
            return node
        self.masks += 1
        return self._where(status, node)

    def _where(self, status: Node, node: Node) -> Node:
        made = self._call(aten.where.self, status, node, self._call(aten.zeros_like.default, node))
        made.meta[MASKS], self._status[made] = 1, status
        self._clean.add(made)
        return made

    def _loop(self, node: Node, inner: Loop) -> Node:
        """A loop in the body, which has to leave out the same."""
        values = [self._copies[source] for source in node.args[0]]  # type: ignore[union-attr]
        start, last = int(inner.counted), inner.counted + inner.carried
        given = [self._status[value] for value in values[start:]]
        if all(status in (ALWAYS, PLAIN) or status is NEVER and ABSENT in value.meta
               for status, value in zip(given, values[start:], strict=True)):
            return self._copied(node, ALWAYS)  # it was made so
        found = without_undefined(inner, given)
        self.masks += any(isinstance(status, Node) for status in given)
        starts = [status if isinstance(status, Node) else self._call(
                      aten.full.default, [], status is not NEVER)
                  for status in (given[i] for i in found.sometimes)]
        for made in starts:
            if made.target is aten.full.default:
                made.kwargs = {"dtype": torch.bool, "device": _device(node)}
        made = self._call(found.loop, [
            *values[:start], *map(self._masked, values[start:last]), *starts,
            *(values[last + i] for i in found.stacks), *values[last + inner.stacks:],
            *found.flags])
        made.meta = dict(node.meta)
        results: list[Status] = [*found.ends, *found.kept, *[PLAIN] * inner.counts]
        for place, i in enumerate(found.sometimes):
            results[i] = self._call(operator.getitem, made, inner.carried + place)
        for i, end in enumerate(results):
            if end in (STEPPED, UNSTEPPED):
                results[i] = self._truths.both(ALWAYS, self._call(
                    aten.gt.Scalar, values[0], 0), end is STEPPED)
        self._inner[made] = (inner, len(found.sometimes), results)
        return made

    def _part(self, node: Node, source: Node) -> Node:
        inner, added, results = self._inner[source]
        place: Any = node.args[1]
        made = self._call(operator.getitem, source, place + added * (place >= inner.carried))
        made.meta = dict(node.meta)
        self._status[made] = results[place]
        self._clean.add(made)
        return made


class _Truths:
    """Makes nodes of a body that say whether gradients are there: conditions, `and`, `or`."""

    def __init__(self, call: Callable[..., Node]):
        self._call, self._known = call, {}
        self._terms: dict[Node, frozenset[tuple[Node, bool]]] = {}

    def both(self, status: Status, flag: Node, holds: bool) -> Status:
        """Whether a gradient is there and a truth value holds, or doesn't hold."""
        if status is NEVER:
            return NEVER
        terms = self._of(status)
        if (flag, not holds) in terms:
            return NEVER
        found = terms | {(flag, holds)}
        if found == terms:
            return status
        if found not in self._known:
            own = flag if holds else self._made(aten.bitwise_not.default, flag)
            node = own if not terms else self._made(aten.bitwise_and.Tensor, status, own)
            self._known[found], self._terms[node] = node, found
        return self._known[found]

    def any_of(self, statuses: Sequence[Status]) -> Status:
        """Whether any of them is there."""
        if ALWAYS in statuses or PLAIN in statuses:
            return ALWAYS
        left = list(dict.fromkeys(status for status in statuses if status is not NEVER))
        if not left:
            return NEVER
        found = left[0]
        for node in left[1:]:
            terms, others = self._of(found), self._of(node)
            differ = terms ^ others
            if terms <= others:
                continue
            if others < terms:
                found = node
            elif len(differ) == 2 and len({flag for flag, _ in differ}) == 1:  # in both ways
                found = ALWAYS
                for flag, holds in sorted(terms & others, key=lambda term: term[0].name):
                    found = self.both(found, flag, holds)
                if found is ALWAYS:
                    return ALWAYS
            else:
                found = self._made(aten.bitwise_or.Tensor, found, node)
        return found

    def _of(self, status: Status) -> frozenset[tuple[Node, bool]]:
        return self._terms.get(status, frozenset({(status, True)})) if isinstance(
            status, Node) else frozenset()

    def _made(self, target: Any, *nodes: Any) -> Node:
        key = (target, *nodes)
        if key not in self._known:
            self._known[key] = self._call(target, *nodes)
        return self._known[key]


def _device(node: Node) -> torch.device:
    """Where a loop computes."""
    metas = [meta_of(part) for part in (*node.users, *node.all_input_nodes)]
    return next((meta.device for meta in metas if meta is not None), torch.device("cpu"))
