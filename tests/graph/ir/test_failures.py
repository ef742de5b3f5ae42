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


aten = torch.ops.aten
PLANE, ROW, LINE = torch.rand(3, 4), torch.rand(4), torch.rand(())
SCORES = -torch.rand(2, 3, 2, 5)
ONE, FOUR, SIDE = torch.rand(3, 1), torch.rand(4, 5), torch.rand(1, 1)
# operations of a tensor and an index of a shape, which has one value
INDEXED = {
    "index": (lambda x, i: x[i], PLANE, (2,)),
    "index of columns": (lambda x, i: x[:, i], PLANE, (2,)),
    "index of rows and columns": (lambda x, i: x[i.clamp(0, 2), i], PLANE, (2,)),
    "index_put": (lambda x, i: aten.index_put(x, [None, i], LINE), PLANE, (2,)),
    "index_select": (lambda x, i: x.index_select(1, i), PLANE, (2,)),
    "index_select from the end": (lambda x, i: x.index_select(-2, i), PLANE, (2,)),
    "index_select of a number": (lambda x, i: x.index_select(0, i), LINE, (1,)),
    "gather": (lambda x, i: x.gather(1, i), PLANE, (1, 1)),
    "gather of a number": (lambda x, i: x.gather(0, i), LINE, ()),
    "scatter": (lambda x, i: x.scatter(1, i, 1.0), PLANE, (1, 1)),
    "scatter_add": (lambda x, i: x.scatter_add(0, i, SIDE), PLANE, (1, 1)),
    "scatter_reduce": (lambda x, i: x.scatter_reduce(1, i, SIDE, "amax"), PLANE, (1, 1)),
    "index_add": (lambda x, i: x.index_add(1, i, ONE), PLANE, (1,)),
    "index_copy": (lambda x, i: x.index_copy(1, i, ONE), PLANE, (1,)),
    "index_reduce": (lambda x, i: x.index_reduce(1, i, ONE, "amax"), PLANE, (1,)),
    "index_fill": (lambda x, i: x.index_fill(1, i, 1.0), PLANE, (1,)),
    "take": (lambda x, i: x.take(i), PLANE, (1,)),
    "put": (lambda x, i: x.put(i, ROW[:1]), PLANE, (1,)),
    "embedding": (lambda x, i: torch.embedding(x, i), FOUR, (1, 2)),
    "nll_loss": (lambda x, i: aten.nll_loss_forward(x, i, None, 1, -3), PLANE, (3,)),
    "nll_loss of one": (lambda x, i: aten.nll_loss_forward(x, i, None, 0, 9), ROW, ()),
    "nll_loss2d": (lambda x, i: aten.nll_loss2d_forward(x, i, None, 2, -1), SCORES, (2, 2, 5)),
    "floor_divide": (lambda x, i: (x * 9).long() // i, PLANE, (4,)),
    "remainder": (lambda x, i: (x * 9).long() % i, PLANE, (4,)),
    "remainder of a number": (lambda x, i: torch.remainder(7, i), PLANE, (4,)),
    "quotient": (lambda x, i: torch.div((x * 9).long(), i, rounding_mode="trunc"), PLANE, (4,)),
}


@pytest.mark.filterwarnings("ignore:index_reduce.. is in beta")
@pytest.mark.parametrize("name", INDEXED)
def test_a_check_holds_for_each_integer_that_fails_and_for_no_other(name):
    fn, x, shape = INDEXED[name]
    graph = recorded(fn, x, torch.ones(shape, dtype=torch.int64).clamp(max=x.dim()))
    checks = [check for node in graph.graph.nodes if node.op == "call_function"
              for check in checks_of(node)]
    check = checks[-1]
    refused = set()
    for value in range(-15, 16):
        i = torch.full(shape, value)
        try:
            fn(x, i)
        except (RuntimeError, IndexError):
            refused.add(value)
        assert bool(check.fails(i).all()) == bool(check.fails(i).any()) == (value in refused)
    assert refused and check.instead not in refused
    if check.within is not None:
        least, most = check.within
        assert refused.isdisjoint(range(least, most + 1))
        assert least - 1 in refused or name.startswith("nll_loss")
        assert most + 1 in refused


def test_rows_that_a_gradient_skips_are_not_read_by_machine_code():
    graph = recorded(lambda g, i: aten.embedding_dense_backward(g, i, 4, -1, False),
                     torch.rand(2, 3), torch.tensor([0, 3]))
    (check,) = [check for node in graph.graph.nodes if node.op == "call_function"
                for check in checks_of(node)]
    assert check.fails(torch.tensor([-1, 0, 3, 4])).tolist() == [True, False, False, True]
    assert check.within == (0, 3) and check.place == (1,)


@pytest.mark.parametrize("name, first", [("nll_loss", 1), ("nll_loss2d", 2)])
def test_classes_of_a_gradient(name, first):
    scores = torch.rand(3, 4) if name == "nll_loss" else torch.rand(2, 4, 1, 3)
    target = torch.zeros(3 if name == "nll_loss" else (2, 1, 3), dtype=torch.int64)
    kernel = getattr(aten, f"{name}_backward")
    graph = recorded(lambda g, x, i: kernel(g, x, i, None, 1, 6, torch.tensor(2.0)),
                     torch.rand(()), scores, target)
    (check,) = [check for node in graph.graph.nodes if node.op == "call_function"
                for check in checks_of(node)]
    assert check.place == (2,) and check.within == (0, 3)
    assert check.fails(torch.tensor([-1, 0, 3, 4, 6])).tolist() == [True, False, False, True, False]


@pytest.mark.parametrize("fn, wrong, right", [
    (lambda x: aten.binary_cross_entropy(x, torch.ones(4)), [-0.1, 1.1, float("nan")],
     [0.0, 1.0, 0.5]),
    (lambda x: aten._linalg_eigh(x.reshape(2, 2)), [float("nan"), float("inf")], [0.0, -1e30]),
    (lambda x: aten._linalg_svd(x.reshape(2, 2)), [float("nan"), float("-inf")], [0.0, 1e30])])
def test_numbers_for_which_a_kernel_fails(fn, wrong, right):
    graph = recorded(fn, torch.ones(4))
    (check,) = [check for node in graph.graph.nodes if node.op == "call_function"
                for check in checks_of(node)]
    assert check.fails(torch.tensor(wrong)).all() and not check.fails(torch.tensor(right)).any()
    assert check.instead is None and check.within is None and check.place == (0,)


@pytest.mark.parametrize("fn", [
    lambda x: x // x, lambda x: x % x, lambda x: x.long() // 2, lambda x: x.long() % 3,
    lambda x: aten.index_put(x, [x > 1.5], LINE), lambda x: x.masked_fill(x > 0, 1.0)])
def test_kernels_that_fail_for_nothing(fn):
    graph = recorded(fn, torch.rand(4) + 1)
    assert not any(checks_of(n) for n in graph.graph.nodes if n.op == "call_function")
