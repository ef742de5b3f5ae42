"""Kernels that fail for some values: their errors stay, whether or not their results are read."""

import pytest
import torch

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.graph.ir.failures import Unknown, checks_of
from lamella.graph.ir.operations import FAILS
from lamella.graph.passes.flags import add_flag
from lamella.graph.runtime.compiled import Compiled

from ..passes.checks import recorded

X = Tensor([1.0, 2.0, 3.0])
GOOD, BAD = Tensor([0, 1]), Tensor([0, 7])


def unused(x, i):
    ops.gather(x, i, 0)
    return x + 1


def unused_and_caught(x, i):
    try:
        ops.gather(x, i, 0)
    except RuntimeError:
        return x - 1
    return x + 1


def read_by_its_form_alone(x, i):
    return ops.ones_like(ops.embedding(i, x.reshape(3, 1)).sum()) + x


def of_a_gradient(x, i):
    return ms.grad(lambda w: ops.embedding(i, w.reshape(3, 1)).sum())(x)


def unused_in_a_loop(x, i):
    def step(n, total):
        ops.gather(x, i + n, 0)
        return total + n

    return ops.ForiLoop()(0, 2, step, x.sum())


def outcome(fn, *args):
    try:
        return fn(*args).tolist()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("fn", [unused, unused_and_caught, read_by_its_form_alone, of_a_gradient,
                                unused_in_a_loop])
def test_an_error_stays_where_nothing_reads_the_result(fn):
    compiled = Compiled(fn)
    for i in (GOOD, GOOD, GOOD, BAD, GOOD):
        assert outcome(compiled, X, i) == outcome(fn, X, i)
    assert compiled.statistics.traces == 1 and compiled.statistics.replays >= 2


def test_usual_steps_keep_no_kernel_for_its_error():
    net = nn.SequentialCell(nn.Embedding(5, 4), nn.Dense(4, 3))
    criterion = nn.CrossEntropyLoss()
    optimizer = nn.Adam(net.trainable_params(), 0.1)
    gradient = ms.grad(lambda x, y: criterion(net(x).mean(1), y), None, optimizer.parameters)
    compiled = Compiled(lambda x, y: optimizer(gradient(x, y)))
    x, y = Tensor([[0, 1], [2, 3]]), Tensor([0, 2])
    for _ in range(2):
        compiled(x, y)
    (graph,) = compiled.graphs(x, y)
    nodes = [n for part in graph.execution.graphs() for n in part.graph.nodes]
    assert len(nodes) > 20 and not any(FAILS in n.meta for n in nodes)


WRONG = {
    "index": (lambda x, i: x[i], torch.tensor([-3, 3])),
    "index_select": (lambda x, i: x.index_select(0, i), torch.tensor([0, -1])),
    "gather": (lambda x, i: x.gather(0, i), torch.tensor([0, 3])),
    "scatter": (lambda x, i: x.scatter(0, i, 1.0), torch.tensor([0, 3])),
    "scatter_add": (lambda x, i: x.scatter_add(0, i, x), torch.tensor([0, 3])),
    "index_add": (lambda x, i: x.index_add(0, i, x[:2]), torch.tensor([0, 3])),
    "index_copy": (lambda x, i: x.index_copy(0, i, x[:2]), torch.tensor([0, 3])),
    "index_fill": (lambda x, i: x.index_fill(0, i, 1.0), torch.tensor([-4, 0])),
    "index_put": (lambda x, i: x.index_put((i,), x[:2]), torch.tensor([-4, 0])),
    "take": (lambda x, i: x.take(i), torch.tensor([-4, 0])),
    "embedding": (lambda x, i: torch.embedding(x[:, None], i), torch.tensor([0, 3])),
    "nll_loss": (lambda x, i: torch.nn.functional.nll_loss(x.expand(2, 3), i),
                 torch.tensor([0, 3])),
    "floor_divide": (lambda x, i: x.long() // i, torch.tensor([1, 0, 1])),
    "remainder": (lambda x, i: x.long() % i, torch.tensor([1, 0, 1])),
    "fmod": (lambda x, i: torch.fmod(x.long(), i), torch.tensor([1, 0, 1])),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_graph_tells_what_its_kernel_raises_an_error_for(name):
    fn, wrong = WRONG[name]
    x, right = torch.tensor([0.1, 0.2, 0.3]), torch.ones_like(wrong).clamp(max=1)
    graph = recorded(fn, x, right)
    assert add_flag(graph, safe=True)
    assert not graph(x, right)[-1]
    with pytest.raises((RuntimeError, IndexError)):
        fn(x, wrong)
    assert graph(x, wrong)[-1]


def test_an_index_that_is_a_constant_has_no_flag():
    graph = recorded(lambda x: x[torch.arange(2)], torch.rand(3))
    assert not add_flag(graph)


def test_a_kernel_whose_failures_are_not_known_is_refused():
    graph = recorded(lambda x: torch.histc(x, 3), torch.rand(3))
    with pytest.raises(Unknown, match="histc"):
        add_flag(graph)
    assert not any(checks_of(n) for n in recorded(torch.sin, torch.rand(3)).graph.nodes)


def test_a_search_fails_only_by_the_order_it_is_given():
    order = torch.tensor([1, 0, 2])
    graph = recorded(lambda x: torch.searchsorted(x, x * 2, sorter=order), torch.ones(3))
    (node,) = [n for n in graph.graph.nodes if "searchsorted" in str(n.target)]
    with pytest.raises(Unknown, match="order"):
        checks_of(node)
    node.kwargs = {}
    assert not checks_of(node)
