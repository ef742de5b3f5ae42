"""A loop as one operation: what it gives, and in whose memory its results lie."""

import operator

import pytest
import torch

from lamella.graph.ir.lazy_module import KernelGraph
from lamella.graph.ir.loop import (
    Loop,
    keeps_to,
    loop_of,
    loops_of,
    open_in,
    operations_in,
    operations_of,
    room_for,
)
from tests.graph.passes.checks import recorded

aten = torch.ops.aten
FIRST, ELEMENTS, WEIGHT = torch.tensor([1.0, 2.0]), torch.tensor([[3.0, 1], [2, 5], [4, 7]]), 2.0


def step(c, e, w):
    return [c * w + e, c - e, c.sum()]


def looped(steps=None, backward=False, counts=False, counted=False, limit=None):
    """A loop of `step`, which goes on below a limit if there is one."""
    weight = torch.tensor(WEIGHT)
    condition = None if limit is None else recorded(lambda c, w: [c.sum() < limit], FIRST, weight)
    return Loop(recorded(step, FIRST, ELEMENTS[0], weight), 1, 1,
                [torch.empty(0, 2), torch.empty(0)], condition, steps, backward, counts, counted)


def by_hand(count, backward):
    """The last carried value and the stacks."""
    c, kept, sums = FIRST, {}, {}
    for i in range(count):
        place = len(ELEMENTS) - 1 - i if backward else i
        c, kept[place], sums[place] = step(c, ELEMENTS[place], WEIGHT)
    rows = sorted(kept)
    return [c, torch.stack([kept[i] for i in rows]) if rows else torch.empty(0, 2),
            torch.stack([sums[i] for i in rows]) if rows else torch.empty(0)]


KINDS = {"fixed": (dict(steps=3), [], 3), "none": (dict(steps=0), [], 0),
         "counted": (dict(counted=True), [torch.tensor(3)], 3),
         "counted none": (dict(counted=True), [torch.tensor(0)], 0),
         "while": (dict(limit=50), [], 3), "while none": (dict(limit=1), [], 0)}


@pytest.mark.parametrize("taped", [False, True])
@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_loop_gives(kind, backward, counts, taped):
    options, count, steps = KINDS[kind]
    loop = looped(**options, backward=backward, counts=counts)
    first = FIRST.clone().requires_grad_(taped)
    found = loop([*count, first, ELEMENTS, torch.tensor(WEIGHT)])
    wanted = by_hand(steps, backward)
    assert len(found) == 3 + counts
    for a, b in zip(found, wanted, strict=False):
        assert torch.equal(a, b) and a.shape == b.shape
    if counts:
        assert found[3].dtype is torch.int64 and int(found[3]) == steps and not found[3].shape
    assert loop.seen == steps and found[0] is not first
    if taped and steps:
        assert all(raw.requires_grad for raw in found[:3])
        assert torch.autograd.grad(found[0].sum(), first)[0].tolist() == [WEIGHT**steps] * 2


def test_the_most_steps_that_were_seen():
    loop = looped(counted=True)
    for count in (2, 3, 1):
        loop([torch.tensor(count), FIRST, ELEMENTS, torch.tensor(WEIGHT)])
    assert loop.seen == 3


def test_steps_under_a_vmap_are_those_of_each_example():
    loop, rows = looped(steps=3), torch.tensor([[1.0, 2], [5, -3]])
    ends, kept, sums = torch.vmap(lambda c: tuple(loop([c, ELEMENTS, torch.tensor(WEIGHT)])))(rows)
    for i, row in enumerate(rows):
        for a, b in zip((ends[i], kept[i], sums[i]),
                        loop([row, ELEMENTS, torch.tensor(WEIGHT)]), strict=True):
            assert torch.equal(a, b)


def test_a_run_without_derivatives_of_what_has_them():
    loop, first = looped(steps=3), FIRST.clone().requires_grad_()
    with torch.no_grad():
        found = loop([first, ELEMENTS, torch.tensor(WEIGHT)])
    assert not any(raw.requires_grad for raw in found) and torch.equal(found[1], by_hand(3, 0)[1])


@pytest.mark.parametrize("body, copied", [
    (lambda a, b: [a + 1, b * 2], set()), (lambda a, b: [b, a], {0, 1}),
    (lambda a, b: [a.t(), a + b], {0}), (lambda a, b: [(c := a + b), c.t()], {1}),
    (lambda a, b: [(c := a + b).view(4), c.sin()], set()),
    (lambda a, b: [a.sin(), b.cos(), a], set())])  # the third isn't carried
def test_which_results_are_copied_since_they_may_share_memory(body, copied):
    a, b = torch.ones(2, 2), torch.full((2, 2), 3.0)
    loop = Loop(recorded(body, a, b), 2, 0, [], None, 1)
    assert loop.copied == copied
    if len(body(a, b)) == 2:
        ends = loop([a, b])
        places = [raw.untyped_storage().data_ptr() for raw in (a, b, *ends)]
        assert len({*places}) == 4
        assert all(map(torch.equal, ends, body(a, b)))


def test_what_it_began_with_is_copied_if_there_is_no_step():
    body = recorded(lambda a: [a + 1], FIRST)
    for steps in (0, 1):
        first = FIRST.clone()
        last, = Loop(body, 1, 0, [], None, steps)([first])
        last += 5
        assert torch.equal(first, FIRST) and torch.equal(last, FIRST + steps + 5)


def test_a_constant_of_its_graph_is_not_given_away():
    graph = KernelGraph()
    graph.placeholder("x")
    held = graph.get_attr("held", type_expr=None)
    graph.output([held])
    module = torch.fx.GraphModule({"held": torch.ones(2)}, graph)
    loop = Loop(module, 1, 0, [], None, 2)
    loop([FIRST])[0].add_(1)
    assert loop.copied == {0} and module.held.tolist() == [1, 1]


@pytest.mark.parametrize("body, may_fail", [
    (lambda x: [x.sin()], False), (lambda x: [x[torch.tensor([1])]], True),
    (lambda x: [torch._assert_async(x.sum() > 0) or x.sin()], True)])
def test_a_loop_fails_where_a_kernel_of_its_steps_does(body, may_fail):
    inner = Loop(recorded(body, FIRST), 1, 0, [], None, 1)
    assert inner.effects.may_fail == may_fail
    graph = KernelGraph()
    x = graph.placeholder("x")
    graph.output([graph.call_function(operator.getitem, (graph.call_function(inner, ([x],)), 0))])
    outer = Loop(torch.fx.GraphModule({}, graph), 1, 0, [], None, 1)
    assert outer.effects.may_fail == may_fail
    names = [n.target.__name__ for n in operations_of(outer)]
    assert names[0] == "loop" and names[-1] == "getitem" and len(names) > 2
    inner.seen, outer.seen = 5, 3
    count = len(inner.body.graph.nodes)
    assert operations_in(inner.body.graph.nodes) == count
    assert operations_in(outer.body.graph.nodes) == 3 + 5 * count


def test_the_graphs_of_a_loop_are_simplified_once():
    loop, seen = looped(limit=50), []
    assert loop.graphs == [loop.condition, loop.body]
    assert str(loop) == "while of 4 operations" and str(looped(steps=2)) == "for of 4 operations"

    def simplified(graph):
        seen.append(graph)
        if graph is loop.body:  # as if its first result were its input
            end = graph.graph.output_node()
            end.args = ([next(iter(graph.graph.nodes)), *end.args[0][1:]],)

    loop.simplify(simplified)
    loop.simplify(simplified)
    assert seen == [loop.condition, loop.body] and loop.copied == {0}
    fixed = looped(steps=2)
    assert fixed.graphs == [fixed.body]


@pytest.mark.parametrize("options, is_open", [
    (dict(limit=1), True), (dict(counted=True), True), (dict(steps=3), False),
    (dict(steps=0), False)])
def test_stacks_are_open_if_the_number_of_steps_is(options, is_open):
    assert looped(**options).has_open_stacks == is_open


def test_a_loop_without_stacks_has_none_that_are_open():
    body = recorded(lambda a: [a + 1], FIRST)
    assert not Loop(body, 1, 0, [], None, None, counted=True).has_open_stacks
    takes = recorded(lambda a, e: [a + e], FIRST, FIRST)
    assert Loop(takes, 1, 1, [], None, None, counted=True).has_open_stacks


class Graph:
    """A graph of a loop that makes an open stack, and of what takes it."""

    def __init__(self):
        self.graph = KernelGraph()
        self.first, self.weight, self.elements = map(self.graph.placeholder, "cwe")
        self.maker = looped(limit=50, counts=True)
        self.made = self.call(self.maker, [self.first, self.elements, self.weight])
        self.carried, self.kept, self.sums, self.count = (
            self.graph.call_function(operator.getitem, (self.made, i)) for i in range(4))

    def call(self, target, values):
        return self.graph.call_function(target, (values,))


def test_the_loops_among_nodes():
    made = Graph()
    fixed = made.call(looped(steps=3), [made.first, made.elements, made.weight])
    nodes = list(made.graph.nodes)
    assert open_in(nodes) == [made.made] and loops_of(nodes) == [made.maker, fixed.target]
    assert loop_of(made.made) is made.maker and loop_of(made.kept) is None


@pytest.mark.parametrize("seen, room", [
    ([], 0), ([0], 16), ([12], 16), ([13], 32), ([25], 32), ([26], 64), ([3, 26, 5], 64)])
def test_for_how_many_steps_there_is_room(seen, room):
    graph = KernelGraph()
    first, weight, elements = map(graph.placeholder, "cwe")
    nodes = []
    for count in seen:
        nodes.append(graph.call_function(looped(limit=1), ([first, elements, weight],)))
        nodes[-1].target.seen = count
    nodes.append(graph.call_function(looped(steps=3), ([first, elements, weight],)))
    nodes[-1].target.seen = 999
    assert room_for(nodes) == room


def second(made, count, first, stack, other, **options):
    """Another loop, of a count, a carried value, a stack and a value from outside."""
    options = options or dict(counted=True)
    return made.call(looped(**options), [*([count] if options.get("counted") else []), first, stack,
                                         other])


@pytest.mark.parametrize("make, found", [
    (lambda m: second(m, m.count, m.carried, m.kept, m.weight), (True, False)),
    (lambda m: second(m, m.count, m.carried, m.elements, m.weight), (True, True)),
    (lambda m: second(m, m.count, m.kept, m.elements, m.weight), (False, False)),
    (lambda m: second(m, m.kept, m.carried, m.elements, m.weight), (False, False)),
    (lambda m: second(m, m.count, m.carried, m.elements, m.sums), (False, False)),
    (lambda m: second(m, m.count, m.carried, m.sums, m.sums), (False, False)),
    (lambda m: second(m, m.count, m.carried, m.elements, m.kept, steps=3), (False, False)),
    (lambda m: second(m, m.count, m.carried, m.kept, m.weight, steps=3), (False, False)),
    (lambda m: m.graph.call_function(aten.sin.default, (m.kept,)), (False, False)),
    (lambda m: m.graph.call_function(aten.sin.default, (m.carried,)), (True, True)),
    (lambda m: m.graph.call_function(aten.sin.default, (m.count,)), (True, True))], ids=range(11))
def test_whether_the_stacks_that_a_loop_makes_are_taken_apart_only(make, found):
    """The elements that it takes itself are none of a loop's."""
    made = Graph()
    assert not keeps_to(made.made, list(made.graph.nodes))
    plain = Loop(recorded(lambda c, w: [c * w, c - w, c.sum()], FIRST, torch.tensor(WEIGHT)), 1, 0,
                 [torch.empty(0, 2), torch.empty(0)],
                 recorded(lambda c, w: [c.sum() < 50], FIRST, torch.tensor(WEIGHT)), counts=True)

    class Makes(Graph):
        def __init__(self):
            super().__init__()
            self.made.target, self.maker = plain, plain
            self.made.args = ([self.first, self.weight],)

    made = Makes()
    last = make(made)
    nodes = list(made.graph.nodes)
    assert (keeps_to(made.made, nodes),
            keeps_to(made.made, [n for n in nodes if n is not last])) == found
    if last.target is not aten.sin.default and found[0] and last.args[0][2] is made.kept:
        others = [n for n in nodes if n is not made.made]
        assert keeps_to(last, nodes) and not keeps_to(last, others)


def test_a_part_of_something_else_is_no_open_stack():
    made = Graph()
    halves = made.graph.call_function(aten.split.Tensor, (made.elements, 2))
    part = made.graph.call_function(operator.getitem, (halves, 1))
    last = second(made, made.count, made.carried, part, made.weight)
    assert not keeps_to(last, list(made.graph.nodes))
