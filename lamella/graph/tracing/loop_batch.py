"""A loop of many examples: what `vmap` makes of a loop (see `loop_rules`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch.fx import GraphModule

from ...core.wrappers import functorch
from ..ir.loop import Loop
from .loop_part import Part, Raws
from .loop_rules import Run, computed, empty_like, examples_of


class Batched(NamedTuple):
    """A loop of many examples.

    Attributes:
        loop: the loop.
        values: what it is called with.
        ends: for each result of the loop of one example, its number among the results of this loop,
            and the dimension of the examples; None if it is the same for all.
    """

    loop: Loop
    values: Raws
    ends: list[tuple[int, int | None]]


def batched_of(trace: Any, loop: Loop, values: Sequence[torch.Tensor],
               dims: Sequence[int | None], size: int, run: Run) -> Batched:
    """The loop of many examples; one that has ended waits for the others.

    Args:
        trace: the run that is recorded.
        loop: the loop of one example.
        values: what it is called with, of all examples.
        dims: for each value the dimension of its examples; None if it is the same for all.
        size: how many examples there are.
        run: runs loops inside of it.

    Raises:
        Unlike: if its body can't take many.
    """
    return _Batch(trace, loop, values, dims, size, run).made()


class _Batch:
    """The loop of many examples.

    Attributes:
        many: for each input of a step whether it differs between the examples.
        by_count: whether the number of steps is given and differs.
        waits: whether the condition differs.
        differs: for each result of a step whether it differs between the examples.
    """

    def __init__(self, trace: Any, loop: Loop, values: Sequence[torch.Tensor],
                 dims: Sequence[int | None], size: int, run: Run):
        self.trace, self.loop, self.size, self.run = trace, loop, size, run
        first = loop.carried
        self.count = values[0] if loop.counted else None
        given, own = list(values[loop.counted:]), list(dims[loop.counted:])
        self.given = [raw if dim is None else raw.movedim(
                          dim, int(first <= i < first + loop.stacks))
                      for i, (raw, dim) in enumerate(zip(given, own, strict=True))]
        self.many = [dim is not None for dim in own]
        self.by_count = bool(loop.counted) and dims[0] is not None
        self.waits = False
        self.differs: list[bool] = []

    def made(self) -> Batched:
        """The loop, and what it is called with."""
        while True:
            known = sum(self.many)
            inputs = self._examples()
            condition = self._condition(inputs)
            if self.by_count or self.waits:
                self._differ(range(self.loop.carried))
                inputs = self._examples()
            part = Part(self.trace, inputs)
            part.derive(self._step)
            self._differ(i for i in range(self.loop.carried) if self.differs[i])
            if sum(self.many) == known:
                return self._assembled(part, condition)

    def _differ(self, which: Any) -> None:
        """Let carried values differ between examples."""
        for i in which:
            if not self.many[i]:
                self.many[i] = True
                self.given[i] = self._full(self.given[i]).contiguous()

    def _full(self, raw: torch.Tensor) -> torch.Tensor:
        return raw.unsqueeze(0).expand(self.size, *raw.shape)

    def _examples(self) -> Raws:
        """Inputs of a step; then the place or steps that are carried, and the last places."""
        inputs = examples_of(
            self.trace, self.loop.carried, self.loop.stacks, self.given)
        with self.trace.recorder.pause():
            place, each = inputs[0].new_zeros((2, self.size), dtype=torch.int64).unbind()
            if self.by_count:
                return [*inputs, place[0], each]
            return [*inputs, each] if self.loop.condition is not None else inputs

    def _goes_on(self, raws: Raws) -> torch.Tensor:
        """Whether there is another step: one value, or one for each example."""
        last, count = self.loop.carried + self.loop.stacks, len(self.many)
        taken = [*range(self.loop.carried), *range(last, count)]
        assert self.loop.condition is not None
        (found,), (self.waits,) = mapped(
            self.loop.condition, [raws[i] for i in taken], [self.many[i] for i in taken], self.run)
        return found

    def _condition(self, inputs: Raws) -> Part | None:
        if self.loop.condition is None:
            return None
        part = Part(self.trace, inputs)
        part.derive(lambda raws: ([self._goes_on(raws).any()], []))
        return part

    def _step(self, raws: Raws) -> tuple[Raws, Raws]:
        carried, count = self.loop.carried, len(self.many)
        outs, self.differs = mapped(self.loop.body, raws[:count], self.many, self.run)
        for i in range(carried):
            if self.many[i] and not self.differs[i]:
                outs[i] = self._full(outs[i])
        if self.by_count:
            place, limits = raws[count:]
            active, extra = place < limits, [place - 1 if self.loop.backward else place + 1]
        elif self.waits:
            active = self._goes_on(raws)
            extra = [raws[count] + active]
        else:
            return outs[:carried], outs[carried:]
        for i, raw in enumerate(outs):
            if i >= carried and not self.differs[i]:
                raw = self._full(raw)
            before = raws[i] if i < carried else torch.zeros_like(raw)
            outs[i] = torch.where(active.reshape(-1, *[1] * (raw.dim() - 1)), raw, before)
            self.differs[i] = True
        return [*outs[:carried], *extra], outs[carried:]

    def _assembled(self, part: Part, check: Part | None) -> Batched:
        loop, carried = self.loop, self.loop.carried
        last, count = carried + loop.stacks, len(self.many)
        moved = [count] if self.by_count or self.waits else []
        limits = [count + 1] if self.by_count else []
        sections = [[*range(carried), *moved], [*range(carried, last)],
                    [*range(last, count), *limits]]

        def graph(of: Part, *chosen: list[int]) -> GraphModule:
            return of.with_inputs([of.aliases[i] for section in chosen for i in section])

        first = carried + len(moved)
        made = Loop(graph(part, *sections), first, loop.stacks,
                    [empty_like(raw) for raw in part.outs[first:]],
                    None if check is None else graph(check, sections[0], sections[2]),
                    loop.steps, backward=loop.backward, counts=loop.counts and not self.waits,
                    counted=loop.counted)
        ends: list[tuple[int, int | None]] = [
            *[(i, 0 if self.many[i] else None) for i in range(carried)],
            *[(first + i, 1 if differs else None)
              for i, differs in enumerate(self.differs[carried:])]]
        if loop.counts:
            ends.append((carried, 0) if self.waits else (first + len(loop.kept), None))
        return Batched(made, self._values(), ends)

    def _values(self) -> Raws:
        carried, given, count = self.loop.carried, self.given, self.count
        if count is None:
            extra = [given[0].new_zeros((self.size,), dtype=torch.int64)] if self.waits else []
            return [*given[:carried], *extra, *given[carried:]]
        if not self.by_count:
            return [count, *given]
        most = count.max()
        place = most - 1 if self.loop.backward else torch.zeros_like(most)
        return [most, *given[:carried], place, *given[carried:], count]


def mapped(graph: GraphModule, raws: Raws, many: Sequence[bool], run: Run
           ) -> tuple[Raws, list[bool]]:
    """The results of a graph for many examples, and which of them differ between these."""
    differs: list[bool] = []
    same: Raws = []

    def one(*given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        outs = computed(graph, given, run)
        differs[:] = [functorch.is_batchedtensor(raw) for raw in outs]
        same[:] = [raw for raw, its in zip(outs, differs, strict=True) if not its]
        return (*[raw for raw, its in zip(outs, differs, strict=True) if its],
                given[list(many).index(True)])  # it has to have a result

    if not any(many):
        outs = computed(graph, raws, run)
        return outs, [False] * len(outs)
    found = iter(torch.vmap(one, tuple([0 if its else None for its in many]))(*raws))
    others = iter(same)
    return [next(found if its else others) for its in differs], differs
