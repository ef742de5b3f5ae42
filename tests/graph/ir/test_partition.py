"""A graph of a function and its backward pass in two: what is kept, and what both compute."""

import operator

import pytest
import torch

from lamella.graph.ir.metadata import copy_of
from lamella.graph.ir.partition import changes_what_it_takes, cut
from tests.graph.passes.checks import count, recorded

aten = torch.ops.aten
X = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
W = torch.randn(4, 2, generator=torch.Generator().manual_seed(1))


def joint_of(fn, *inputs):
    """A recorded function of inputs, the last of which is a gradient: its graph, and which nodes
    depend on that.
    """
    graph = recorded(fn, *inputs)
    start = [n for n in graph.graph.nodes if n.op == "placeholder"][-1]
    passes = {}
    for node in graph.graph.nodes:
        if node.op == "call_function" and any(n is start or n in passes
                                              for n in node.all_input_nodes):
            passes[node] = 0
    return graph, passes, start


def short(nodes):
    return [n.name if n.op == "placeholder" else "part" if n.target is operator.getitem
            else str(n.target).split(".")[1] for n in nodes]


def layer(x, w, g):
    """sin(x w) and the gradients by x and w; the cosine is part of the function."""
    product = x @ w
    slope = product.cos() * g
    return [product.sin(), slope @ w.t(), x.t() @ slope]


def dropped(x, w, g):
    mask = torch.rand_like(x)
    return [x * mask, g * mask, g.sum()]


def chosen(x, w, g):
    best, place = x.max(1, keepdim=True)
    return [best * 2, torch.zeros_like(x).scatter(1, place, g * 2), g * 3]


def views(x, w, g):
    """The gradient takes views of views, and one that may be a copy."""
    turned = x.t()[1:]
    flat = aten._unsafe_view(x * 2, [12])
    return [x * 1, turned * g.sum(), flat * g.sum()]


def of_the_result(x, w, g):
    y = x.exp()
    return [y, y * g, g + 1]


def sized(x, w, g):
    return [x * 2, g.expand(3, 4) * 2, g * 1]


ROWS = {
    "a layer": (layer, (3, 2), 1, ["x0", "x1", "cos"]),
    "random numbers": (dropped, (3, 4), 1, ["rand_like"]),
    "one of several results": (chosen, (3, 1), 1, ["part", "zeros_like"]),
    "views": (views, (3, 4), 1, ["x0", "_unsafe_view"]),
    "a result": (of_the_result, (3, 4), 1, ["exp"]),
    "nothing": (sized, (1, 4), 1, []),
}


@pytest.mark.parametrize("name", ROWS)
def test_both_halves_compute_what_the_whole_does(name):
    fn, shape, results, keeps = ROWS[name]
    g = torch.randn(shape, generator=torch.Generator().manual_seed(2))
    joint, passes, start = joint_of(fn, X, W, g)
    outs = joint.graph.output_node().args[0]
    forward, kept, (back,) = cut(joint, passes, [[start]], [outs[results:]], results, results)
    inputs = [n for n in joint.graph.nodes if n.op == "placeholder"]
    numbers = {node: f"x{i}" for i, node in enumerate(inputs)}
    assert [numbers.get(n) or short([n])[0] for n in kept] == keeps
    assert back.takes == list(range(len(kept)))
    torch.manual_seed(3)
    wanted = joint(X, W, g)
    torch.manual_seed(3)
    found = forward(X, W)
    drawn = torch.rand(())
    got = back.graph(*found[results:], g)
    assert torch.rand(()) != drawn  # nothing was drawn again, but by these lines
    assert len(found) == results + len(keeps)
    for a, b in zip(wanted, [*found[:results], *got], strict=True):
        assert torch.equal(a, b)
    for copy, node in zip(back.graph.graph.nodes, kept, strict=False):
        assert copy.meta["tensor_meta"] == node.meta["tensor_meta"]


def test_gradients_of_a_layer_are_those_of_the_tape():
    g = torch.randn(3, 2)
    joint, passes, start = joint_of(layer, X, W, g)
    outs = joint.graph.output_node().args[0]
    forward, _, (back,) = cut(joint, passes, [[start]], [outs[1:]], 1, 1)
    x, w = X.clone().requires_grad_(), W.clone().requires_grad_()
    wanted = torch.autograd.grad((x @ w).sin(), (x, w), g)
    for a, b in zip(wanted, back.graph(*forward(X, W)[1:], g), strict=True):
        assert torch.allclose(a, b)
    assert count(back.graph, "t") == 2  # made again
    assert count(forward, "mm", "cos", "sin") == 3 and count(back.graph, "mm", "cos") == 2


def test_kept_values_come_where_they_are_asked_for_and_starts_may_be_missing():
    g = torch.randn(3, 4)
    joint, passes, start = joint_of(of_the_result, X, W, g)
    nodes = joint.graph.output_node().args[0]
    forward, kept, (back,) = cut(joint, passes, [[None, start]], [nodes[1:]], 0, 1)
    found = forward(X, W)
    assert torch.equal(found[0], X.exp()) and torch.equal(found[1], X.exp()) and len(found) == 2
    assert short(kept) == ["exp"]
    got = back.graph(found[0], torch.zeros(9), g)  # nothing reads what has no start
    assert torch.equal(got[0], X.exp() * g) and torch.equal(got[1], g + 1)


def test_two_passes_take_what_each_of_them_needs():
    def fn(x, w, g):
        return [x.exp(), x.sin(), x.exp() * g, x.cos() * (g * 2)]

    g = torch.randn(3, 4)
    joint, passes, start = joint_of(fn, X, W, g)
    outs = joint.graph.output_node().args[0]
    exponential, cosine = outs[2].args[0], outs[3].args[0]
    for node in (outs[3], outs[3].args[1]):
        passes[node] = 1
    forward, kept, (first, second) = cut(
        joint, passes, [[start], [start]], [outs[2:3], outs[3:]], 2, 2)
    assert kept == [exponential, cosine]
    assert (first.takes, second.takes) == ([0], [1])
    found = forward(X, W)[2:]
    assert torch.equal(first.graph(found[0], g)[0], X.exp() * g)
    assert torch.equal(second.graph(found[1], g)[0], X.cos() * (g * 2))
    assert count(first.graph, "mul") == 1 and count(second.graph, "mul") == 2


def noted(x, w, g):
    """The pass also changes an input of the function, which no gradient reads."""
    w.add_(g.sum())
    return [x * 2, g * 3]


def noted_its_own(x, w, g):
    own = g * 2
    own.add_(1)
    return [x * 2, own * 3]


@pytest.mark.parametrize("fn, changes", [(noted, True), (noted_its_own, False),
                                         (lambda x, w, g: [x * 2, g.mul_(3)], True)])
def test_a_pass_that_changes_what_it_takes(fn, changes):
    g = torch.randn(3, 4)
    joint, passes, start = joint_of(fn, X, W, g)
    outs = joint.graph.output_node().args[0]
    forward, _, (back,) = cut(joint, passes, [[start]], [outs[1:]], 1, 1)
    assert changes_what_it_takes(back.graph) is changes
    assert not changes_what_it_takes(forward)
    first, second = [[copy_of(v) for v in (X, W, g)] for _ in range(2)]
    wanted = joint(*first)
    kept = forward(*second[:2])[1:]
    assert torch.equal(back.graph(*kept, second[2])[0], wanted[1])
    for a, b in zip(first, second, strict=True):
        assert torch.equal(a, b)


def test_sizes_are_asked_for_again_and_tensors_without_metadata_are_kept():
    graph = torch.fx.Graph()
    x, g = graph.placeholder("x"), graph.placeholder("g")
    call = graph.call_function
    size = call(aten.sym_size.int, (x, 0))
    sine = call(aten.sin.default, (x,))
    out = call(aten.mul.Tensor, (x, 2))
    wide = call(aten.expand.default, (g, [size, 4]))
    total = call(aten.mul.Tensor, (wide, sine))
    graph.output([out, total])
    joint = torch.fx.GraphModule(torch.nn.Module(), graph)
    forward, kept, (back,) = cut(joint, {wide: 0, total: 0}, [[g]], [[total]], 1, 1)
    assert kept == [x, sine]
    given = torch.randn(1, 4)
    for length in (3, 5):  # the graph holds for any size
        rows = torch.randn(length, 4)
        first, *more = forward(rows)
        assert torch.equal(first, rows * 2)
        assert torch.equal(back.graph(*more, given)[0], given.expand(length, 4) * rows.sin())
