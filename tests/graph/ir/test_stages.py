"""Stages of a graph: together they do what the graph does, and only the last change its inputs."""

import operator

import pytest
import torch

from lamella.graph.ir.lazy_module import KernelGraph, LazyModule
from lamella.graph.ir.metadata import copy_of, meta_of_value
from lamella.graph.ir.operations import CAUGHT
from lamella.graph.ir.stages import (
    FEW_BYTES,
    CannotCut,
    Cut,
    Part,
    check_guards,
    ending_of,
    lift_constants,
    written_inputs,
)
from tests.graph.passes.checks import check_same, recorded

aten = torch.ops.aten
X = torch.randn(2, 3, generator=torch.Generator().manual_seed(0))
Y = torch.randn(3, generator=torch.Generator().manual_seed(1))
HELD = torch.tensor([1.0, 2.0, 3.0])


def names(nodes):
    return sorted(str(n.target).split(".")[1] if hasattr(n.target, "_schema") else "getitem"
                  for n in nodes)


def run(cut, inputs):
    """The results of all stages one after another; none before the last ones changes an input."""
    values, before = [*inputs, *cut.constants], [copy_of(x) for x in inputs]
    for number, (part, takes) in enumerate(cut.stages):
        if number <= cut.changing:
            assert all(torch.equal(a, b) for a, b in zip(before, inputs, strict=True))
        assert part.changes_inputs is False or number >= cut.changing
        copy = part.copied()
        assert [n.meta.get("tensor_meta") for n in copy.graph.nodes][:len(takes)] == [
            n.meta.get("tensor_meta") for n in part.inputs]
        values.extend(copy(*[values[i] for i in takes]))
        assert all(type(value) is torch.Tensor for value in values)
    return values


def check_stages(graph, inputs, guards=0, shapes=()):
    """The stages of a graph, which draw, return and change what the whole graph does."""
    first, second = [copy_of(x) for x in inputs], [copy_of(x) for x in inputs]
    torch.manual_seed(3)
    wanted = graph(*first)
    wanted = [wanted] if isinstance(wanted, torch.Tensor) else list(wanted)
    torch.manual_seed(3)
    cut = Cut(graph, guards, shapes)
    values = run(cut, second)
    found = [values[place] for place in cut.results]
    known = dict(cut.input_guards)
    others = iter(cut.guards)
    checked = [values[known[n]] if n in known else values[next(others)[1]] for n in range(guards)]
    for a, b in zip([*wanted, *first], [*checked, *found, *second], strict=True):
        assert torch.equal(a, b) and a.stride() == b.stride()
    return cut


def overwritten(x, y):
    t = y * 2
    x.add_(t)
    return t.mul_(3)


def overwritten_but_not_read(x, y):
    t, s = y * 2, y * 3
    x.add_(s)
    return t.mul_(3)


def written_from_an_input(x, y):
    t = y * 2
    x.add_(1)
    t.add_(x[0])
    return [t[1:] * 2, y * 5]


def drawn_before(x, y):
    first = torch.rand_like(x)
    x.add_(1)
    return [first, torch.rand_like(y)]


def drawn_after(x, y):
    x.uniform_()
    return [torch.rand_like(y), y.sin()]


def view_of_before(x, y):
    view = x.t()
    x.add_(1)
    return [view, view.sin(), y.neg()]


def results_of_a_late_one(x, y):
    x.mul_(2)
    least, place = x.min(1)
    return [least, place, y.exp()]


# function: how many stages compute, how many there are, what comes at the end
FORMS = {
    "nothing changes": (lambda x, y: [x * 2 + y, y], 1, 1, []),
    "an end": (lambda x, y: [(x * 2).sum(), x.add_(y)], 1, 2, ["add_"]),
    "at once": (lambda x, y: x.add_(y), 0, 1, ["add_"]),
    "read after": (lambda x, y: [x.add_(1), x.sin(), y.sin()], 1, 2, ["add_", "sin"]),
    "read after a part": (lambda x, y: [x[0].add_(1), x[1].sin()], 1, 2,
                          ["add_", "select", "sin"]),
    "of what comes late": (lambda x, y: (x.add_(1) * 2).exp(), 0, 1, ["add_", "exp", "mul"]),
    "own memory": (lambda x, y: (y * 2).add_(1), 1, 1, []),
    "overwritten": (overwritten, 1, 2, ["add_", "mul_"]),
    "overwritten, but not read": (overwritten_but_not_read, 1, 2, ["add_"]),
    "written from an input": (written_from_an_input, 1, 2,
                              ["add_", "add_", "mul", "select", "slice"]),
    "drawn before": (drawn_before, 1, 2, ["add_"]),
    "drawn after": (drawn_after, 1, 2, ["rand_like", "uniform_"]),
    "a view from before": (view_of_before, 1, 2, ["add_", "sin"]),
    "several results": (results_of_a_late_one, 1, 2, ["getitem", "getitem", "min", "mul_"]),
    "a constant": (lambda x, y: [x * HELD, y.add_(HELD)], 1, 2, ["add_"]),
    "two inputs": (lambda x, y: [y.mul_(2), x.sub_(y), HELD.sum()], 1, 2, ["mul_", "sub_"]),
}


@pytest.mark.parametrize("name", FORMS)
def test_what_comes_at_the_end(name):
    fn, computing, count, late = FORMS[name]
    graph = recorded(fn, X, Y)
    assert names(ending_of(graph)) == late
    cut = check_stages(graph, [X, Y])
    assert (cut.changing, len(cut.stages)) == (computing, count)
    assert not cut.exchanges and not cut.input_guards and not cut.guards
    changed = [i for i, (a, b) in enumerate(zip((X, Y), _after(fn), strict=True))
               if not torch.equal(a, b)]
    assert written_inputs(graph) == changed


def _after(fn):
    given = X.clone(), Y.clone()
    fn(*given)
    return given


def guarded_and_used(x, y):
    least, place = x.min(1)
    return [place, least * 2, y.exp()]


# function whose first results are guards: how many, how many stages, after which each is known
GUARDED = {
    "an input": (lambda x, y: [y, x * 2], 1, 1, []),
    "computed": (lambda x, y: [x.sum(), x * 2], 1, 2, [1]),
    "two, one of them an input": (lambda x, y: [x.sum(), y, y.sum(), x * 2], 3, 2, [1, 1]),
    "parts of several": (lambda x, y: (lambda most, place: [most, place, y.exp(), most * 2, place])(
        *x.max(1)), 2, 2, [1, 1]),
    "one of several, and the other": (lambda x, y: (lambda most, place: [most, y.exp(), place])(
        *x.max(1)), 1, 2, [1]),
    "the last value": (lambda x, y: [(x * 2).sum()], 1, 1, [1]),
    "a guard and a result": (lambda x, y: (lambda t: [t, t, t * 2])(x.sum()), 1, 2, [1]),
    "a part of several": (guarded_and_used, 1, 2, [1]),
    "before a change": (lambda x, y: [y.sum(), x.add_(y)], 1, 2, [1]),
    "a view of an input": (lambda x, y: [y[0], x * 2], 1, 2, [1]),
}


@pytest.mark.parametrize("name", GUARDED)
def test_when_guards_are_known(name):
    fn, guards, count, known = GUARDED[name]
    cut = check_stages(recorded(fn, X, Y), [X, Y], guards)
    assert len(cut.stages) == count and [after for after, _ in cut.guards] == known


def test_a_kernel_whose_shape_is_guarded_is_a_stage_of_its_own():
    def made():
        graph = torch.fx.Graph()
        x, y = graph.placeholder("x"), graph.placeholder("y")
        call = graph.call_function
        double, mask = call(aten.mul.Tensor, (y, 2)), call(aten.gt.Scalar, (x, 0))
        chosen = call(aten.masked_select.default, (x, mask))
        graph.output([chosen, call(aten.add.Tensor, (double, 1)),
                      call(aten.neg.default, (chosen,))])
        return torch.fx.GraphModule(torch.nn.Module(), graph)

    cut = check_stages(made(), [X, Y], 1, [0])
    (after, _), = cut.guards
    its, _ = cut.stages[after - 1]
    assert names(its.nodes) == ["masked_select"] and len(cut.stages) == 3
    assert len(check_stages(made(), [X, Y], 1).stages) == 2


def test_the_kernel_of_a_guarded_part_is_alone_with_all_its_parts():
    graph = torch.fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    call = graph.call_function
    double = call(aten.mul.Tensor, (x, 2))
    several = call(aten._unique2.default, (double, True, True))
    different, inverse, counts = (call(operator.getitem, (several, i)) for i in range(3))
    tail = call(aten.neg.default, (y,))
    graph.output([different, call(aten.neg.default, (inverse,)), counts, tail])
    cut = check_stages(torch.fx.GraphModule(torch.nn.Module(), graph), [X, Y], 1, [0])
    assert [names(part.nodes) for part, _ in cut.stages] == [
        ["mul"], ["_unique2", "getitem", "getitem", "getitem"], ["neg", "neg"]]
    assert [after for after, _ in cut.guards] == [2]


def turned_before(x, y):
    view = x.t()
    return [view.sum(), view * 2]


@pytest.mark.parametrize("fn, inputs, results", [
    (turned_before, [X], [1, 1]), (turned_before, [X, Y], [1, 1]),
    (lambda x, y: turned_before(x + 1, y), [X, Y], [2, 1]),  # the view of a value is kept
    (lambda x, y: (lambda t: [x.sum(), t, y.exp() * 2])(x.sin()), [X, Y], [2, 1]),
    (lambda x, y: (lambda t: [t.sum(), (t + y).cos()])(x.sin()), [X, Y], [2, 1]),
    (lambda x, y: [y.exp().sum(), x.sin() * 2], [X, Y], [1, 1])])
def test_what_a_stage_keeps_for_those_after_it(fn, inputs, results):
    graph = recorded(lambda x, y=Y: fn(x, y) if len(inputs) == 2 else fn(x, x), *inputs)
    cut = check_stages(graph, inputs, 1)
    assert [len(part.results) for part, _ in cut.stages] == results


@pytest.mark.parametrize("fn, late", [
    (lambda x, y: [x.add_(1).sum(), y], True), (lambda x, y: [y.sum(), x.add_(1)], False),
    (lambda x, y: [x.add_(1)[0, 0], y], True), (lambda x, y: [y[0], y.add_(1)], False)])
def test_a_guard_on_what_was_changed_before_is_refused(fn, late):
    graph = recorded(fn, X, Y)
    guard = graph.graph.output_node().args[0][0]
    check_guards(graph, 0)
    for check in (check_guards, Cut):
        if late:
            with pytest.raises(CannotCut, match=str(guard.target)) as found:
                check(graph, 1)
            assert found.value.guard is guard
        else:
            check(graph, 1)


INDEX = torch.tensor([0, 1])
COUNT = FEW_BYTES // 4  # numbers of float32 whose copy takes no longer than a kernel


def indexed(x, i):
    return x.index_add_(0, i, torch.ones(2))


@pytest.mark.parametrize("fn, length, caught, undone", [
    (indexed, COUNT, False, [0]), (indexed, COUNT + 1, False, []), (indexed, COUNT + 1, True, [0]),
    (lambda x, i: x.add_(1), 4, False, []), (lambda x, i: x.add_(1), 4, True, [0]),
    (lambda x, i: [x.add_(1), x.index_select(0, i)], 4, False, [0]),
    (lambda x, i: [x.index_select(0, i), x.add_(1)], 4, False, []),
    (lambda x, i: [x.add_(1), i.add_(1), x.index_select(0, i)], COUNT - 4, False, [0, 1]),
    (lambda x, i: [x.add_(1), i.add_(1), x.index_select(0, i)], COUNT - 3, False, []),
    (lambda x, i: x.index_select(0, i), 4, True, [])])
def test_which_inputs_are_put_back_if_a_kernel_fails_late(fn, length, caught, undone):
    graph = recorded(fn, torch.ones(length), INDEX)
    for node in graph.graph.nodes:
        node.meta.pop(CAUGHT, None)
        if caught and node.op == "call_function":
            node.meta[CAUGHT] = True
    assert Cut(graph, 0).undone == undone
    if undone and not caught:  # of an unknown size: never a few bytes
        del next(iter(graph.graph.nodes)).meta["tensor_meta"]
        assert Cut(graph, 0).undone == []


@pytest.mark.parametrize("fn, changes, shares", [
    (lambda x, y: x + y, False, False), (lambda x, y: x.add_(y), True, True),
    (lambda x, y: x.t(), False, True), (lambda x, y: (x + y).add_(1), False, True),
    (lambda x, y: (x + y).t(), False, True), (lambda x, y: [x.t() + 1, y * 2], False, False),
    (lambda x, y: [(x + y)[0].add_(1).sum()], False, False)])
def test_what_a_part_changes_and_shares(fn, changes, shares):
    part = Part.whole(recorded(fn, X, Y))
    assert len(part.inputs) == 2 and part.constants == {}
    assert (part.changes_inputs, part.shares) == (changes, shares)


class Exchange:
    """Stands for a collective."""

    is_exchange = True

    def __init__(self, log, name):
        self.log, self.name, self.__name__ = log, name, f"exchange_{name}"

    def __call__(self, given):
        self.log.append(self.name)
        return given + 1


@pytest.mark.parametrize("order, stages, exchanges, changing", [
    ("ab", 2, {0, 1}, 2),  # independent of each other, they keep their order
    ("wab", 3, {0, 1}, 2),  # what is written is read by neither
    ("wxb", 3, {1, 2}, 0),  # one reads what was written: it is late, and so is that after it
    ("axwb", 4, {0, 1, 2}, 3),
    ("anb", 3, {0, 2}, 3), ("nannb", 4, {1, 3}, 4), ("nan", 3, {1}, 3)])
def test_collectives_are_stages_in_their_order(order, stages, exchanges, changing):
    log, graph = [], KernelGraph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    outs, called = [], []
    for letter in order:
        if letter == "w":
            outs.append(graph.call_function(aten.add_.Scalar, (x, 1)))
        elif letter == "n":  # a kernel
            outs.append(graph.call_function(aten.add.Scalar, (outs[-1] if outs else y, 1)))
        else:
            outs.append(graph.call_function(Exchange(log, letter), (x if letter == "x" else y,)))
            called.append(letter)
    graph.output(outs)
    for node in graph.nodes:
        node.meta["tensor_meta"] = meta_of_value(Y)
    cut = Cut(LazyModule(torch.nn.Module(), graph), 0)
    values = run(cut, [HELD.clone(), Y.clone()])
    assert log == called
    assert (len(cut.stages), cut.exchanges, cut.changing) == (stages, exchanges, changing)
    wanted, now = [], HELD
    for letter in order:
        now = now + 1 if letter == "w" else now
        given = {"w": now - 1, "x": now, "n": wanted[-1] if wanted else Y}.get(letter, Y)
        wanted.append(given + 1)
    for place, want in zip(cut.results, wanted, strict=True):
        assert torch.equal(values[place], want)


def held_twice():
    """x * w + w.sum(), where each use of w is a node of its own; and a draw by a generator."""
    graph, root = torch.fx.Graph(), torch.nn.Module()
    root.w, root.v, root.stream = HELD.clone(), Y.clone(), torch.Generator().manual_seed(4)
    first = graph.get_attr("w")
    x = graph.placeholder("x")
    product = graph.call_function(aten.mul.Tensor, (x, first))
    total = graph.call_function(aten.sum.default, (graph.get_attr("w"),))
    other = graph.call_function(aten.add.Tensor, (product, graph.get_attr("v")))
    drawn = graph.call_function(aten.normal_.default, (
        graph.call_function(aten.clone.default, (other,)),),
        {"generator": graph.get_attr("stream")})
    graph.output([graph.call_function(aten.add.Tensor, (product, total)), other, drawn])
    for node in graph.nodes:
        if node.op == "placeholder":
            node.meta["tensor_meta"] = meta_of_value(X)
    return torch.fx.GraphModule(root, graph)


def test_constants_are_one_each():
    cut = Cut(held_twice(), 0)
    assert [c.tolist() for c in cut.constants] == [HELD.tolist(), Y.tolist()]
    graph = held_twice()
    wanted = graph(X)
    graph.stream.manual_seed(4)
    values = run(cut := Cut(graph, 0), [X])
    for place, want in zip(cut.results, wanted, strict=True):
        assert torch.equal(values[place], want)
    (part, takes), = cut.stages
    assert {takes[i]: value.tolist() for i, value in part.constants.items()} == {
        1: HELD.tolist(), 2: Y.tolist()}


def test_constants_as_inputs():
    lifted, values = lift_constants(held_twice())
    assert [value.tolist() for value in values] == [HELD.tolist(), Y.tolist()]
    nodes = list(lifted.graph.nodes)
    assert [n.op for n in nodes[:3]] == ["placeholder"] * 3
    assert [str(n.target) for n in nodes if n.op == "get_attr"] == ["stream"]
    for a, b in zip(lifted(X, *values), held_twice()(X), strict=True):
        assert torch.equal(a, b)
    plain = recorded(lambda x: x * 2, X)
    found, none = lift_constants(plain)
    assert found is plain and none == []
    check_same(plain, found, [X])
