"""Whether gradients of a loop are there: statuses of its values, the loop without the others."""

import itertools
import random

import pytest
import torch
from torch.fx import Node

from lamella.graph.ir.lazy_module import KernelGraph
from lamella.graph.ir.loop import Loop
from lamella.graph.ir.loop_undefined import (
    ABSENT,
    ALWAYS,
    MASKS,
    NEVER,
    PLAIN,
    SOMETIMES,
    STEPPED,
    UNSTEPPED,
    _joined,
    _sums,
    _Truths,
    without_undefined,
)
from tests.graph.passes.checks import recorded

aten = torch.ops.aten


class Flags:
    """Three flags, and the truths made of them."""

    def __init__(self):
        self.graph, self.calls = KernelGraph(), 0
        self.flags = [self.graph.placeholder(name) for name in "pqr"]
        self.truths = _Truths(self.call)

    def call(self, target, *args):
        self.calls += 1
        return self.graph.call_function(target, args)

    def table(self, status):
        """The value for all values of the flags."""
        return [self.value(status, dict(zip(self.flags, values, strict=True)))
                for values in itertools.product((False, True), repeat=3)]

    def value(self, status, known):
        if not isinstance(status, Node):
            return status in (ALWAYS, PLAIN)
        if status in known:
            return known[status]
        return bool(status.target(*[torch.tensor(self.value(n, known)) for n in status.args]))


def test_random_conditions_of_flags():
    rng = random.Random(5)
    for _ in range(60):
        made = Flags()
        known = [(status, made.table(status)) for status in (ALWAYS, NEVER, *made.flags)]
        for _ in range(12):
            if rng.random() < 0.6:
                status, table = rng.choice(known)
                flag, holds = rng.choice(made.flags), rng.random() < 0.5
                found = made.truths.both(status, flag, holds)
                wanted = [t and f is holds for t, f in zip(table, made.table(flag), strict=True)]
            else:
                several = rng.choices(known, k=rng.randint(1, 3))
                found = made.truths.any_of([status for status, _ in several])
                wanted = [any(row) for row in zip(*(table for _, table in several), strict=True)]
            assert made.table(found) == wanted
            assert found is not PLAIN
            known.append((found, wanted))


def test_conditions_that_are_equal_are_one_node():
    made = Flags()
    (p, q, r), truths = made.flags, made.truths
    assert truths.both(ALWAYS, p, True) is p and truths.both(NEVER, p, True) is NEVER
    not_p = truths.both(ALWAYS, p, False)
    assert made.calls == 1 and not_p.target is aten.bitwise_not.default
    assert truths.both(p, p, True) is p and truths.both(p, p, False) is NEVER
    assert truths.both(not_p, p, True) is NEVER and truths.both(not_p, p, False) is not_p
    both = truths.both(p, q, True)
    assert truths.both(q, p, True) is both is truths.both(both, q, True)
    assert truths.both(both, p, False) is NEVER and made.calls == 2
    assert truths.any_of([both, p]) is p is truths.any_of([p, both])
    assert truths.any_of([p, not_p]) is ALWAYS and made.calls == 2
    other = truths.both(p, q, False)
    assert truths.any_of([both, other]) is p and truths.any_of([other, both, NEVER]) is p
    assert truths.any_of([NEVER, NEVER]) is NEVER and truths.any_of([p, PLAIN]) is ALWAYS
    assert truths.any_of([p, ALWAYS, NEVER]) is ALWAYS and truths.any_of([q, q]) is q
    before = made.calls
    either = truths.any_of([p, q])
    assert either.target is aten.bitwise_or.Tensor and made.calls == before + 1
    assert truths.any_of([p, q]) is either
    assert truths.any_of([truths.both(both, r, True), truths.both(both, r, False)]) is both
    assert truths.both(either, r, True).target is aten.bitwise_and.Tensor


@pytest.mark.parametrize("before, now, is_taken, found", [
    (PLAIN, PLAIN, True, PLAIN), (PLAIN, PLAIN, False, PLAIN), (PLAIN, ALWAYS, True, ALWAYS),
    (ALWAYS, PLAIN, True, ALWAYS), (PLAIN, NEVER, True, SOMETIMES), (PLAIN, NEVER, False, ALWAYS),
    (NEVER, PLAIN, True, SOMETIMES), (NEVER, PLAIN, False, ALWAYS), (NEVER, NEVER, True, NEVER),
    (ALWAYS, ALWAYS, True, ALWAYS), (ALWAYS, NEVER, True, SOMETIMES),
    (ALWAYS, NEVER, False, ALWAYS), (NEVER, ALWAYS, True, SOMETIMES),
    (NEVER, ALWAYS, False, ALWAYS),
    (SOMETIMES, ALWAYS, False, SOMETIMES), (SOMETIMES, NEVER, True, SOMETIMES)])
def test_whether_a_carried_gradient_is_there_in_all_steps(before, now, is_taken, found):
    assert _joined(before, now, is_taken) is found


def test_a_node_says_in_which_steps_a_gradient_is_there():
    node = KernelGraph().placeholder("flag")
    for before in (PLAIN, NEVER, ALWAYS, SOMETIMES):
        assert _joined(before, node, False) is SOMETIMES


# -- loops -----------------------------------------------------------------------------------------

A, B, E, W = (torch.tensor([i + 1.0, -1.0]) for i in range(4))


def loop_of(body, carried, stacks, given, kept=0, **options):
    """A backward loop of a body, and what it is called with."""
    graph = recorded(body, *given)
    options = {"steps": 3, **options}
    return Loop(graph, carried, stacks, [torch.empty(0, 2)] * kept, None, options["steps"], True,
                counted=options.get("counted", False))


def called(loop, first, stacks=(), others=(), flags=(), count=None):
    return loop([*([] if count is None else [torch.tensor(count)]), *first, *flags, *stacks,
                 *others])


@pytest.mark.parametrize("body, sums", [
    (lambda a, b: [a + b, b * 2], [0]), (lambda a, b: [b + a, b * 2], []),
    (lambda a, b: [a + b, a * 2], []), (lambda a, b: [a - b, b + b * 3], []),
    (lambda a, b: [torch.add(a, b, alpha=2), b], []), (lambda a, b: [a + 1, b + a.sin()], [1]),
    (lambda a, b: [a * 2, b + 1, b + 1], []), (lambda a, b: [a + b.sin(), b.cos()], [0])])
def test_the_carried_values_to_which_steps_only_add(body, sums):
    """A node is added to its own input, to which nothing else is done."""
    assert _sums(Loop(recorded(body, A, B), 2, 0, [], None, 1)) == sums


def product(g, s, e, w):
    """A gradient that is passed on, and a sum of gradients by a weight."""
    return [g * e, s + g * w, g * 2]


@pytest.mark.parametrize("steps, end", [(3, ALWAYS), (0, NEVER), (None, STEPPED)])
def test_a_sum_is_there_if_a_step_adds_to_it(steps, end):
    loop = loop_of(product, 2, 1, [A, B, E, W], 1, steps=steps, counted=steps is None)
    found = without_undefined(loop, [ALWAYS, NEVER, PLAIN, PLAIN])
    assert found.ends == [ALWAYS, end] and found.kept == [ALWAYS] and found.sometimes == []
    assert found.stacks == [0] and found.flags == []
    elements = torch.stack([E, E * 2, E * 0.5])
    count = None if steps is not None else 3
    if steps != 0:
        for a, b in zip(called(found.loop, [A, 0 * B], [elements], [W], count=count),
                        called(loop, [A, 0 * B], [elements], [W], count=count), strict=True):
            assert torch.equal(a, b)


@pytest.mark.parametrize("steps", [3, None])
def test_a_gradient_that_is_never_there_is_not_computed_with(steps):
    loop = loop_of(product, 2, 1, [A, B, E, W], 1, steps=steps, counted=steps is None)
    found = without_undefined(loop, [NEVER, NEVER, PLAIN, PLAIN])
    assert found.ends == [NEVER, NEVER] and found.kept == [NEVER]
    assert found.sometimes == []
    nan = torch.full((2,), float("nan"))  # 0 times that would be seen
    last = called(found.loop, [0 * A, 0 * B], [torch.stack([nan] * 3)], [nan],
                  count=None if steps else 3)
    assert all(not raw.any() for raw in last)


@pytest.mark.parametrize("first, ends", [
    (ALWAYS, [STEPPED, ALWAYS]), (NEVER, [UNSTEPPED, NEVER])])
def test_a_gradient_that_each_step_replaces(first, ends):
    """Before the first step it is there, and afterwards not, or the other way round."""
    loop = loop_of(lambda g, h: [h * 1, h * 2], 2, 0, [A, B], steps=None, counted=True)
    other = NEVER if first is ALWAYS else ALWAYS
    found = without_undefined(loop, [other, first])
    assert found.ends == ends and found.sometimes == []


def test_a_gradient_that_is_there_in_some_steps_has_a_flag():
    """The first one is replaced by the second, which a step computes with, and is never there."""
    loop = loop_of(lambda g, h: [h * 1, h * 1, g * 2], 2, 0, [A, B], 1)
    found = without_undefined(loop, [ALWAYS, NEVER])
    assert found.sometimes in ([0], []) and found.ends[1] is NEVER
    loop = loop_of(lambda g, h, w: [h * w, h * w], 2, 0, [A, B, W])
    assert without_undefined(loop, [NEVER, NEVER, PLAIN]).sometimes == []


def test_a_flag_from_outside_masks_what_meets_others():
    flag = KernelGraph().placeholder("there")
    loop = loop_of(lambda g, e: [g + e * 2], 1, 1, [A, E])
    found = without_undefined(loop, [ALWAYS, flag])
    assert found.flags == [flag] and found.ends == [ALWAYS] and found.stacks == [0]
    elements, inf = torch.stack([E, E * 2, E * 0.5]), torch.full((3, 2), float("inf"))
    for there, given, want in ((True, elements, A + 2 * elements.sum(0)), (False, inf, A)):
        last, = called(found.loop, [A], [given], [torch.tensor(there)])
        assert torch.equal(last, want)


def test_marks_of_the_nodes():
    """Zeros in place of a gradient; and a mask, which leaves a gradient as it is where it holds."""
    graph = recorded(lambda g, t, e: [torch.where(t, g, 0) * e], A, torch.tensor(True), E)
    where = next(n for n in graph.graph.nodes if n.target is aten.where.self)
    where.meta[MASKS] = 1
    loop = Loop(graph, 1, 0, [], None, 2)
    assert without_undefined(loop, [NEVER, PLAIN, PLAIN]).ends == [NEVER]
    found = without_undefined(loop, [ALWAYS, PLAIN, PLAIN])
    assert found.ends == [SOMETIMES] and found.sometimes == [0]
    for test in (True, False):
        last, flag = found.loop([A, torch.tensor(True), torch.tensor(test), E])
        assert bool(flag) is test and torch.equal(last, A * E * E * test)
    absent = recorded(lambda g: [torch.zeros_like(g)], A)
    next(n for n in absent.graph.nodes if n.op == "call_function").meta[ABSENT] = True
    assert without_undefined(Loop(absent, 1, 0, [], None, 2), [ALWAYS]).ends == [NEVER]
