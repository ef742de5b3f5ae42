"""Results of compiled functions that the program doesn't differentiate get no gradient."""

import itertools

import pytest
import torch

import lamella as ms
from lamella import Tensor, jit, nn, ops
from lamella.graph.ir.unused_results import sources_of, without_unused
from tests.graph.passes.checks import recorded

from ..runtime.taped import array, assert_alike


class Constant(nn.Cell):
    """A Cell whose gradient doesn't depend on that of its result."""

    def construct(self, x):
        return x * 1

    def bprop(self, x, out, dout):
        return (dout * 0 + 5,)


class Spread(nn.Cell):
    """A Cell whose rule adds gradients of two shapes."""

    def construct(self, x):
        return x * 1, x.sum()

    def bprop(self, x, out, dout):
        return (dout[0] + dout[1],)


class Widened(nn.Cell):
    """A Cell whose rule adds gradients of two types."""

    def construct(self, x):
        return x * 1, x.astype(ms.float64)

    def bprop(self, x, out, dout):
        return ((dout[0] + dout[1]).astype(ms.float32),)


rule, hook = Constant(), ops.InsertGradientOf(lambda g: g * 2 + 1)
spread, widened = Spread(), Widened()


def in_place(x):
    y = ops.sqrt(x)
    y[1] = x[0]
    return y, y[x > 0.5], y * x, x * 2


def parts(x):
    first, second, third = ops.unbind(ops.stack([ops.sqrt(x), x, x * x]))
    return first * 2, second, third * third


def one_of_another(x):
    y = ops.sqrt(x)
    return y, y * y, ops.cat([y, x])


def in_a_dict(x):
    return {"root": ops.sqrt(x), "more": [x * 2, ops.exp(x)], "step": 3}


FUNCTIONS = {
    "roots": lambda x: (ops.sqrt(x), x * 2),
    "a sum of both": lambda x: (ops.sqrt(x) + x, x ** 0.5, x * x + ops.sqrt(x)),
    "a rule": lambda x: (rule(x), x * 2),
    "a hook of both": lambda x: (lambda y: (ops.sqrt(y), y * 2))(hook(x)),
    "a hook of one": lambda x: (hook(ops.sqrt(x)), x * 2, x * 3),
    "numbers of a matrix": lambda x: ops.svd(ops.diag(ops.ones_like(x)) * x.sum(), True)[:2],
    "in place": in_place, "parts": parts, "one of another": one_of_another, "a dict": in_a_dict,
    "shapes that are added": lambda x: spread(x), "types that are added": lambda x: widened(x),
}


def gradients(call, chosen, number):
    def loss(x):
        leaves = [t for t in ms.tree.leaves(call(x)) if isinstance(t, Tensor)]
        return sum([(leaves[i] * (i + 2)).sum() for i in chosen], Tensor(0.0))

    return ms.value_and_grad(loss)(Tensor([0.0, 1.0 + number, 4.0]))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_choice_of_results(name):
    function = FUNCTIONS[name]
    count = sum(isinstance(t, Tensor) for t in ms.tree.leaves(function(Tensor([0.0, 1.0, 4.0]))))
    choices = [chosen for n in range(1, count + 1)
               for chosen in itertools.combinations(range(count), n)]
    call = jit(function)
    gradients(call, range(count), 0)
    for number, chosen in enumerate([*choices, *choices]):
        assert_alike(gradients(call, chosen, number), gradients(function, chosen, number))
    report = call.report()
    assert (report["traces"], report["eager"]) == (1, [])


def test_inputs_of_unused_results_have_gradients_of_zero():
    one, other = nn.Dense(3, 1), nn.Dense(3, 1)
    weights = one.trainable_params() + other.trainable_params()

    def function(x):
        return one(x).sum(), ops.sqrt(other(x) * 0).sum()

    call, x = jit(function), Tensor(array(2, 3))
    for number in (0, 0, 1, 1):
        assert_alike(ms.grad(lambda x, number=number: call(x)[number], 0, weights)(x),
                     ms.grad(lambda x, number=number: function(x)[number], 0, weights)(x))


def test_each_choice_of_the_results_of_an_lstm():
    net = nn.LSTM(3, 4)

    def function(x):
        out, (hidden, memory) = net(x)
        return out, hidden, memory, out[-1]

    call, x = jit(function), Tensor(array(5, 2, 3))
    for chosen in (range(4), (0,), (1,), (2,), (3,), (1, 2), (0, 2)):
        found, wanted = (
            ms.grad(lambda x, f=f, chosen=chosen: sum([(f(x)[i] ** 2).sum() for i in chosen]), 0,
                    net.trainable_params())(x) for f in (call, function))
        assert_alike(found, wanted)
    assert call.report()["eager"] == [] and call.report()["traces"] == 1


def test_derivatives_of_a_choice():
    call = jit(lambda x: (ops.sqrt(x), x ** 3))
    for _ in range(3):
        _, pull = ms.vjp(lambda x: call(x)[1], Tensor([0.0, 2.0]))
        found = ms.vmap(pull)(Tensor([[1.0, 0.0], [0.0, 1.0]]))
        assert_alike(found, Tensor([[0.0, 0.0], [0.0, 12.0]]))


def test_many_results_that_meet_in_a_hook_stay_eager():
    def function(x):
        y = hook(x)
        return y * 5, y * 2, y * 3, ops.sqrt(y)

    call = jit(function)
    with pytest.warns(UserWarning, match="returns more than 3 differentiated Tensors"):
        gradients(call, [0], 0)
    for chosen in ((0, 1), (2,), (0, 1, 2)):
        assert_alike(gradients(call, chosen, 1), gradients(function, chosen, 1))


A, B, X = torch.tensor([[1.0, 2], [3, 4]]), torch.tensor([[5.0, 7], [0, 2]]), torch.eye(2) + 1


def written(a, b, x):
    table = torch.zeros(2, 2)
    table[0] = a[1]
    return [table * 2, b + table]


PASSES = {
    "a sum": (lambda a, b, x: [a * x + b * 2, a * 3, x * b], [3, 1, 2]),
    "parts": (lambda a, b, x: [torch.cat([a, b.sum(0, keepdim=True)]), x @ x], [3, 0]),
    "a stack": (lambda a, b, x: [torch.stack([a[0], (b @ x).sum(1)], 1)], [3]),
    "three of them": (lambda a, b, x: [torch.cat([x, a, b, a * x], 1)], [3]),
    "both twice": (lambda a, b, x: [(a + b) @ x + (b * 2 + x.sum() * a)], [3]),
    "a factor and a shift": (lambda a, b, x: [
        torch.native_layer_norm(x, [2], a[0], b[1], 1e-5)[0]], [3]),
    "what is written": (written, [1, 3])}


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_for_some_results_is_that_for_all_with_zeros(name):
    fn, wanted = PASSES[name]
    for given in ([0], [1], [0, 1]):
        graph = recorded(fn, A, B, X)
        nodes = [*graph.graph.nodes]
        found = sources_of(nodes, nodes[:2])
        assert [found.get(node, 0) for node in nodes[-1].args[0]] == wanted
        short, there = without_unused(graph, nodes[:2], given)
        bits = sum(1 << i for i in given)
        assert there == [not its or bool(its & bits) for its in wanted]
        a, b = A * (0 in given), B * (1 in given)
        every = fn(a, b, X) if "factor" not in name else [
            torch.native_layer_norm(X, [2], A[0] if 0 in given else None,
                                    B[1] if 1 in given else None, 1e-5)[0]]
        for got, want in zip(short(a, b, X), [
                one for one, is_there in zip(every, there, strict=True) if is_there], strict=True):
            torch.testing.assert_close(got, want)


@pytest.mark.parametrize("fn", [
    lambda a, b, x: a * b, lambda a, b, x: a @ b, lambda a, b, x: torch.add(a, b, alpha=2),
    lambda a, b, x: torch.where(x > 1, a, b), lambda a, b, x: (a + b) * a,
    lambda a, b, x: a + b[0], lambda a, b, x: a.sum() + b, lambda a, b, x: a + b.double(),
    lambda a, b, x: torch.native_layer_norm(a, [2], b[0], None, 1e-5)[0]])
def test_gradients_that_meet_elsewhere(fn):
    nodes = [*recorded(fn, A, B, X).graph.nodes]
    assert sources_of(nodes, nodes[:2]) is None
