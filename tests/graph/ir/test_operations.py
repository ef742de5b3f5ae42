"""Aliases, mutations and last uses of operations in recorded graphs."""

import operator

import pytest
import torch

from lamella.graph.ir.operations import (
    FAILS,
    _effects_by_schema,
    bases_of,
    effects_of,
    is_random,
    last_uses,
    must_stay,
    mutating,
    never_written,
    nodes_in,
    sweep,
    sweep_recorded,
    tensors_in,
    written_by,
)
from lamella.graph.ir.stages import Part, ending_of, written_inputs
from tests.graph.passes.checks import recorded

aten = torch.ops.aten
X, Y = torch.rand(2, 3), torch.rand(3)


def called(graph, name):
    """The nodes of an operation, in order."""
    return [n for n in graph.graph.nodes if str(n.target).startswith(f"aten.{name}.")]


@pytest.mark.parametrize("fn, names", [
    (lambda x, y: (x + 1).t(), ["add"]), (lambda x, y: x.t()[0], ["x"]),
    (lambda x, y: (x + y).view(6)[2:].add_(1), ["add"]), (lambda x, y: x.sin(), ["sin"]),
    (lambda x, y: aten._unsafe_view(x * 2, [6]), ["mul", "own"]),  # a view, perhaps
    (lambda x, y: x.split(1)[1], ["x"]), (lambda x, y: x.sort()[1], ["own"])])
def test_in_whose_memory_a_value_lies(fn, names):
    graph = recorded(fn, X, Y)
    nodes = list(graph.graph.nodes)
    last = nodes[-1].args[0][0]
    known = {"x": nodes[0], "own": last}
    assert bases_of(nodes)[last] == {
        known.get(name) or called(graph, name)[0] for name in names}


def test_results_of_one_operation_have_their_own_memory():
    graph = recorded(lambda x: [*x.max(1), x.max(1)[0]], X)
    nodes = list(graph.graph.nodes)
    values, places, again = nodes[-1].args[0]
    bases = bases_of(nodes)
    assert bases[values] == {values} and bases[places] == {places} and bases[again] == {again}


def test_what_is_given_has_memory_of_its_own():
    graph = recorded(lambda x: x.t().sin(), X)
    x, turned, sine, _ = graph.graph.nodes
    assert bases_of([sine], [turned]) == {turned: {turned}, sine: {sine}}
    assert bases_of([x, turned])[turned] == {x}


@pytest.mark.parametrize("fn, written", [
    (lambda x, y: x + y, set()), (lambda x, y: x.add_(y), {0}), (lambda x, y: x[0].copy_(y), {0}),
    (lambda x, y: torch.add(x, 1, out=x), {0}), (lambda x, y: torch.sin(y, out=y), {1}),
    (lambda x, y: torch._foreach_add_([x, y], 1.0) or x, {0, 1}),
    (lambda x, y: (x * 2).add_(1), set())])
def test_which_inputs_are_written(fn, written):
    graph = recorded(fn, X, Y)
    nodes = list(graph.graph.nodes)
    bases = bases_of(nodes)
    inputs = nodes[:2]
    found = {i for node in nodes for i, x in enumerate(inputs) if x in written_by(node, bases)}
    assert found == written
    assert {i for i, x in enumerate(inputs) if x not in never_written(nodes)} == written
    assert written_inputs(graph) == sorted(written)
    assert set(mutating(nodes)) == {n for n in nodes if written_by(n, bases)}


@pytest.mark.parametrize("training", [True, False])
def test_running_statistics_are_written_in_training(training):
    x, ones, mean, var = torch.rand(4, 3), torch.ones(3), torch.zeros(3), torch.ones(3)
    graph = recorded(lambda *given: aten.native_batch_norm(
        given[0], given[1], given[1], given[2], given[3], training, 0.1, 1e-5)[0], x, ones, mean,
        var)
    nodes = list(graph.graph.nodes)
    (norm,), bases = called(graph, "native_batch_norm"), bases_of(nodes)
    assert written_by(norm, bases) == (set(nodes[2:4]) if training else set())
    assert written_inputs(graph) == ([2, 3] if training else [])
    assert must_stay(norm) == Part.whole(graph).changes_inputs == (norm in ending_of(graph)) == (
        training)


def test_batch_statistics_change_nothing():
    graph = recorded(lambda x: aten.native_batch_norm(
        x, None, None, None, None, True, 0.1, 1e-5)[0], torch.rand(4, 3))
    (norm,) = called(graph, "native_batch_norm")
    assert not must_stay(norm) and not list(mutating(graph.graph.nodes))


@pytest.mark.parametrize("fn, draws", [
    (lambda x: torch.rand_like(x), True), (lambda x: x.bernoulli(), True),
    (lambda x: x.clone().normal_(), True), (lambda x: x.sin(), False),
    (lambda x: aten._scaled_dot_product_flash_attention_for_cpu(x, x, x)[0], False),
    (lambda x: aten._scaled_dot_product_flash_attention_for_cpu(x, x, x, 0.0)[0], False),
])
def test_what_draws_random_numbers(fn, draws):
    graph = recorded(fn, torch.rand(1, 1, 2, 4))
    assert any(map(is_random, graph.graph.nodes)) == draws
    assert any(must_stay(n) for n in graph.graph.nodes if n.op == "call_function") == draws


@pytest.mark.parametrize("target, args, kwargs, draws", [
    (aten.bernoulli.default, [X], {}, True), (aten.sin.default, [X], {}, False),
    (aten.scaled_dot_product_attention.default, [X, X, X, None, 0.5], {}, True),
    (aten.scaled_dot_product_attention.default, [X, X, X, None, 0.0], {}, False),
    (aten.scaled_dot_product_attention.default, [X, X, X], {"dropout_p": 0.25}, True),
    (aten.scaled_dot_product_attention.default, [X, X, X], {"dropout_p": 0.0}, False),
    (aten.scaled_dot_product_attention.default, [X, X, X], {}, False)])
def test_whether_a_call_draws(target, args, kwargs, draws):
    assert effects_of(target).draws(args, kwargs) == draws


def test_when_values_are_used_last():
    graph = recorded(lambda x, y: ((x + y).sin() * x, y * 2), X, Y)
    x, y, add, sin, mul, two, end = graph.graph.nodes
    assert last_uses(graph.graph.nodes) == {
        x: [], y: [], add: [], sin: [add], mul: [sin, x], two: [y], end: [mul, two, end]}
    graph.graph.erase_node(end)
    assert last_uses(graph.graph.nodes)[mul] == [sin, x, mul]  # which nothing reads


def test_what_is_swept():
    def fn(x, y, i):
        x.exp()
        (x + 1).add_(1)
        x.gather(1, i)
        torch.ones_like(y.take(i))
        return y.sin()

    graph = recorded(fn, X, Y, torch.zeros(1, 1, dtype=torch.int64))
    sweep_recorded(graph.graph)
    found = [str(n.target).split(".")[1] for n in graph.graph.nodes if n.op == "call_function"]
    assert found == ["add", "add_", "gather", "take", "sin"]
    assert [FAILS in n.meta for n in called(graph, "gather") + called(graph, "take")] == [True] * 2
    for node in graph.graph.nodes:
        node.meta.pop(FAILS, None)
    sweep(graph.graph)
    assert not called(graph, "gather") and not called(graph, "take") and called(graph, "add_")
    assert len(called(graph, "sin")) == 1


def test_what_is_in_arguments():
    graph = recorded(lambda x, y: torch.cat([x, x]), X, Y)
    x, y, cat, end = graph.graph.nodes
    assert nodes_in([x, (y, [1, None, x])]) == [x, y, x] and nodes_in(cat) == [cat]
    assert nodes_in({"a": x}) == nodes_in(3) == []
    given = [X, (Y, 3), {"a": [X]}, None]
    assert [t.shape for t in tensors_in(given)] == [X.shape, Y.shape, X.shape]


FLAGS = ("is_random", "is_impure", "is_check", "may_fail", "may_be_view", "shaped_by_values",
         "gives_python", "reshapes_in_place", "only_computes", "of_a_form")


@pytest.mark.parametrize("target, written, flags", [
    (aten.add.Tensor, (), "only_computes"), (aten.add_.Tensor, ((0, "self"),), ""),
    (aten.sin.out, ((1, "out"),), ""), (aten.t.default, (), "only_computes"),
    (aten.t_.default, ((0, "self"),), "reshapes_in_place"),
    (aten.transpose_.default, ((0, "self"),), "reshapes_in_place"),
    (aten.bernoulli.default, (), "is_random"),
    (aten.bernoulli_.float, ((0, "self"),), "is_random"),
    (aten._assert_async.msg, (), "is_check"), (aten.nonzero.default, (), "shaped_by_values"),
    (aten.masked_select.default, (), "shaped_by_values"),
    (aten._local_scalar_dense.default, (), "gives_python"),
    (aten.index_select.default, (), "may_fail only_computes"),
    (aten.index_put_.default, ((0, "self"),), "may_fail"),
    (aten.reshape.default, (), "may_be_view only_computes"),
    (aten._unsafe_view.default, (), "may_be_view only_computes"),
    (aten.to.dtype, (), "may_be_view only_computes"), (aten._to_copy.default, (), "only_computes"),
    (aten.zeros_like.default, (), "of_a_form only_computes"),
    (aten.new_full.default, (), "of_a_form only_computes"),
    (aten.rand_like.default, (), "is_random"),
    (aten._foreach_mul_.Scalar, ((0, "self"),), "is_check"),
    (aten.native_batch_norm.default, (), "is_impure"),
    (aten.cudnn_batch_norm.default, (), "is_impure"),
    (aten._native_batch_norm_legit.default, ((3, "running_mean"), (4, "running_var")),
     "is_impure"),
    (aten._native_batch_norm_legit.no_stats, (), "only_computes"),
    (aten._native_batch_norm_legit_no_training.default, (), "only_computes"),
    (aten.native_batch_norm_backward.default, (), "only_computes"),
    (aten.cudnn_batch_norm_backward.default, (), "only_computes"),
    (torch.ops.mkldnn._linear_pointwise.default, (), ""), (operator.add, (), "")])
def test_what_a_schema_says_and_what_it_does_not_say(target, written, flags):
    known = _effects_by_schema(target)
    assert known.written == written and set(written) <= set(known.shared)
    assert [name for name in FLAGS if getattr(known, name)] == [
        name for name in FLAGS if name in flags.split()]
    assert not known.is_exchange and not known.is_python


@pytest.mark.parametrize("name", ["is_exchange", "is_python"])
def test_what_is_no_kernel_says_what_it_is(name):
    class Other:
        def __call__(self):
            raise NotImplementedError

    setattr(Other, name, True)
    known = _effects_by_schema(Other())
    assert (known.is_exchange, known.is_python) == (name == "is_exchange", name == "is_python")


def test_gradients_of_batch_norm_change_no_statistics():
    given = [torch.rand(4, 3), torch.rand(4, 3), torch.rand(3), torch.rand(3), torch.rand(3) + 1]
    before = [x.clone() for x in given]
    for training in (True, False):
        aten.native_batch_norm_backward(*given, given[3], given[4], training, 1e-5, [True] * 3)
    assert all(map(torch.equal, before, given))
