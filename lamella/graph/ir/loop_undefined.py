"""Leaves out of the backward pass of a loop what gets no gradient.

A value that isn't differentiated has no gradient, which is not the same as a gradient of 0: where a
derivative is infinite, such as that of a root at 0, the product of both is no number. A loop has to
be given a tensor for each gradient. So its body is made again: what is computed of a gradient that
is never there is left out. Some gradients are there in some steps alone, as that of a value which
each step computes anew: only the last step's is read after the loop. With such a one the loop
carries whether it is there, and where it meets others it is masked by that.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch.fx import Node

from .lazy_module import KernelGraph, LazyModule
from .loop import Loop, loop_of
from .loop_halves import placeholders
from .metadata import meta_of
from .operations import sweep

aten = torch.ops.aten
SOMETIMES = "sometimes"
# whether a gradient is there: True, False, SOMETIMES or the node that says so; None for what is
# computed of no gradient
Status = Any
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
        results: for each result of the first loop whether it is there.
        ended: for each of its carried values whether it is there after a step.
    """

    loop: Loop
    sometimes: list[int]
    stacks: list[int]
    flags: list[Node]
    results: list[Status]
    ended: list[Status]


def without_undefined(loop: Loop, given: Sequence[Status]) -> Defined:
    """A loop of a backward pass without the gradients that aren't there.

    Args:
        loop: the loop, of a known number of steps.
        given: for each carried value, stack and value from outside whether it is there.
    """
    kinds = [SOMETIMES if isinstance(status, Node) else status for status in given[:loop.carried]]
    taken = [any(user.target is not aten.zeros_like.default for user in node.users)
             for node in placeholders(loop.body)]
    while True:
        body = _Body(loop, kinds, given)
        joined = [_joined(*pair) for pair in zip(kinds, body.results, taken, strict=False)]
        if joined == kinds:
            break
        kinds = joined
    if not body.masks:  # what isn't there is 0, and stays that
        kinds = [True if kind is SOMETIMES else kind for kind in kinds]
        body = _Body(loop, kinds, given)
    return body.made()


def _joined(before: Status, now: Status, is_taken: bool) -> Status:
    """Whether a carried gradient is there, from whether it is at first and after a step.

    Args:
        is_taken: whether a step computes with it; if not, it is as well a 0.
    """
    if before is None and now is None:
        return None
    before, now = (True if status is None else status for status in (before, now))
    return before if before is now else SOMETIMES if is_taken else True


class _Body:
    """The body made again.

    Attributes:
        results: for each result of the first body whether it is there.
        masks: how many values are masked.
    """

    def __init__(self, loop: Loop, kinds: list[Status], given: Sequence[Status]):
        self.loop, self.kinds, self.graph = loop, kinds, KernelGraph()
        self.masks = 0
        self._status: dict[Node, Status] = {}
        self._clean: set[Node] = set()  # 0 where they aren't there
        self._copies: dict[Node, Node] = {}
        self._inner: dict[Node, tuple[Loop, int, list[Status]]] = {}
        self._or: dict[tuple[Node, Node], Node] = {}
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
        results = [*self.kinds, *self.results[loop.carried:]]
        for i in self.unchanged:
            results[i] = False
        return Defined(made, self.sometimes, stacks, self.flags, results + [None] * loop.counts,
                       self.results[:loop.carried])

    def _input(self, node: Node | None = None) -> Node:
        made = self.graph.create_node("placeholder", f"input_{len(self.graph.nodes)}")
        if node is not None:
            made.meta.update(node.meta)
            self._copies[node] = made
        self._status[made] = None
        return made

    def _finish(self, outs: Sequence[Node], inputs: list[Node], known: dict[int, Node]) -> None:
        carried, ends, flags = self.loop.carried, [], []
        self.results: list[Status] = []
        self.unchanged: list[int] = []
        for i, old in enumerate(outs):
            node = self._copies[old]
            status = self._status[node]
            if i < carried and node.target is aten.zeros_like.default and node.args[0] is inputs[i]:
                status = False if self.kinds[i] is not None else None
            elif i < carried and node is inputs[i] and old.op != "placeholder":
                self.unchanged.append(i)  # a sum to which nothing is added
            if status is False:
                node = self._zeros(node)
            elif isinstance(status, Node):
                node = self._masked(node)
            if i in known:
                flags.append(status if isinstance(status, Node) else self._call(
                    aten.zeros_like.default if status is False else aten.ones_like.default,
                    known[i]))
            if isinstance(status, Node):
                status = SOMETIMES if i < carried else True
            self.results.append(status)
            ends.append(node)
        self.graph.output([*ends[:carried], *flags, *ends[carried:]])

    def _call(self, target: Any, *args: Any) -> Node:
        node = self.graph.call_function(target, args)
        self._status[node] = None
        return node

    def _made(self, node: Node) -> Node:
        """A node of the first body as one of this."""
        given = [self._copies[source] for source in node.all_input_nodes]
        if node.target is operator.getitem and given[0] in self._inner:
            return self._part(node, given[0])
        found = {self._status[source] for source in given} - {None}
        inner = loop_of(node)
        if inner is not None and found - {True} and inner.condition is None:
            return self._loop(node, inner)
        if node.target is aten.add.Tensor and len(given) == 2 and not node.kwargs and found:
            return self._sum(node, *given)
        if len(found) <= 1:
            made = self.graph.node_copy(node, self._copies.__getitem__)
            self._status[made] = next(iter(found), None)
            if node.target in _KEEP_ZEROS and given and given[0] in self._clean:
                self._clean.add(made)
            return made
        masked = {source: self._masked(self._copies[source]) for source in node.all_input_nodes}
        made = self.graph.node_copy(node, masked.__getitem__)
        self._status[made] = self._any([self._status[source] for source in given
                                        if self._status[source] is not None])
        return made

    def _sum(self, node: Node, first: Node, second: Node) -> Node:
        """Two gradients are added, or one to a sum."""
        statuses = [self._status[first], self._status[second]]
        if False in statuses:
            other = second if statuses[0] is False else first
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
        self._status[made] = self._any(statuses)
        if {first, second} <= self._clean:
            self._clean.add(made)
        return made

    def _zeros(self, node: Node) -> Node:
        return node if node.target is aten.zeros_like.default else self._call(
            aten.zeros_like.default, node)

    def _masked(self, node: Node) -> Node:
        """A gradient that is 0 where it isn't there."""
        status = self._status[node]
        if status is False:
            return self._zeros(node)
        if not isinstance(status, Node) or node in self._clean:
            return node
        self.masks += 1
        return self._call(aten.where.self, status, node, self._call(aten.zeros_like.default, node))

    def _any(self, statuses: Sequence[Status]) -> Status:
        """Whether any of them is there."""
        if any(status is True or status is None for status in statuses):
            return True
        nodes = list(dict.fromkeys(status for status in statuses if status is not False))
        if not nodes:
            return False
        found = nodes[0]
        for node in nodes[1:]:
            key = (found, node)
            if key not in self._or:
                self._or[key] = self._call(aten.bitwise_or.Tensor, *key)
            found = self._or[key]
        return found

    def _loop(self, node: Node, inner: Loop) -> Node:
        """A loop in the body, which has to leave out the same."""
        values = [self._copies[source] for source in node.args[0]]  # type: ignore[union-attr]
        start, last = int(inner.counted), inner.counted + inner.carried
        given = [self._status[value] for value in values[start:]]
        found = without_undefined(inner, given)
        self.masks += any(isinstance(status, Node) for status in given)
        starts = [status if isinstance(status, Node) else self._call(
                      aten.full.default, [], status is not False)
                  for status in (given[i] for i in found.sometimes)]
        for made in starts:
            if made.target is aten.full.default:
                made.kwargs = {"dtype": torch.bool, "device": _device(node)}
        made = self._call(found.loop, [
            *values[:start], *map(self._masked, values[start:last]), *starts,
            *(values[last + i] for i in found.stacks), *values[last + inner.stacks:],
            *found.flags])
        made.meta = dict(node.meta)
        results = list(found.results)
        for place, i in enumerate(found.sometimes):
            results[i] = self._call(operator.getitem, made, inner.carried + place)
        self._inner[made] = (inner, len(found.sometimes), results)
        return made

    def _part(self, node: Node, source: Node) -> Node:
        inner, added, results = self._inner[source]
        place: Any = node.args[1]
        made = self._call(operator.getitem, source, place + added * (place >= inner.carried))
        made.meta = dict(node.meta)
        self._status[made] = results[place]
        return made


def _device(node: Node) -> torch.device:
    """Where a loop computes."""
    metas = [meta_of(part) for part in (*node.users, *node.all_input_nodes)]
    return next((meta.device for meta in metas if meta is not None), torch.device("cpu"))
