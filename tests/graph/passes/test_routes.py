"""The pass that runs each matrix product by the fastest kernel."""

import pytest
import torch
import torch.nn.functional as F

from lamella.graph.passes import improve, plain, routes
from lamella.machine import few_rows, products
from lamella.machine.halves import SLOW
from tests.graph.passes.checks import check_same, count, recorded

pytestmark = pytest.mark.skipif(not products.available(), reason="this PyTorch has no oneDNN")


@pytest.fixture(autouse=True)
def onednn(monkeypatch):
    monkeypatch.setattr(products.routes, "fastest", lambda *args: "onednn")


def step(x, w1, b1, w2):
    weights = [w.detach().requires_grad_() for w in (w1, b1, w2)]
    loss = (F.linear(x, *weights[:2]).tanh() @ weights[2]).square().sum()
    return loss.detach(), *torch.autograd.grad(loss, weights)


@pytest.mark.parametrize("dtype, tolerance", [
    (torch.float32, 1e-4), pytest.param(torch.bfloat16, 5e-2, marks=pytest.mark.skipif(
        torch.bfloat16 in SLOW, reason="no kernels of oneDNN's of bfloat16 on this processor"))])
def test_forward_and_backward_products(dtype, tolerance):
    inputs = [torch.randn(s).to(dtype) for s in [(9, 5), (4, 5), (4,), (4, 3)]]
    graph = recorded(step, *inputs)
    better = improve(graph, inputs)
    check_same(graph, better, inputs, tolerance)
    assert count(graph, "mm", "addmm") == 5
    assert count(better, "mm", "addmm") == 0 and count(better, "_linear_pointwise") == 5
    assert count(better, "tanh") == 0
    back = plain(better)
    check_same(graph, back, inputs)
    assert count(back, "_linear_pointwise") == 0 and count(back, "tanh") == 1


@pytest.mark.parametrize("ending", [torch.tanh, torch.sigmoid, F.gelu,
                                    lambda x: F.gelu(x, approximate="tanh")])
def test_activations_fused_into_products(ending):
    inputs = [torch.randn(s) for s in [(6, 5), (4, 5), (4,)]]
    graph = recorded(lambda x, w, b: ending(F.linear(x, w, b)), *inputs)
    better = improve(graph, inputs)
    check_same(graph, better, inputs, 1e-4)
    assert count(better, "_linear_pointwise") == 1
    assert count(better, "tanh", "sigmoid", "gelu") == 0
    check_same(graph, plain(better), inputs)


@pytest.mark.parametrize("ending", [torch.relu, torch.tanh, torch.sigmoid, F.gelu,
                                    lambda x: F.gelu(x, approximate="tanh")])
def test_nan_is_kept(ending):
    inputs = [torch.randn(s) for s in [(6, 5), (4, 5), (4,)]]
    graph = recorded(lambda x, w, b: ending(F.linear(x, w, b)), *inputs)
    better = improve(graph, inputs)
    assert count(better, "_linear_pointwise") == 1
    inputs[0][1, 2], inputs[0][3, 1], inputs[0][4, 0] = float("nan"), float("inf"), -float("inf")
    torch.testing.assert_close(better(*inputs), graph(*inputs), equal_nan=True)


@pytest.mark.parametrize("bias", [lambda b: b[::2], lambda b: b[:1].expand(4)])
def test_products_with_a_strided_bias_stay(bias):
    inputs = [torch.randn(s) for s in [(6, 5), (4, 5), (8,)]]
    graph = recorded(lambda x, w, b: F.linear(x, w, bias(b)), *inputs)
    better = improve(graph, inputs)
    check_same(graph, better, inputs)
    assert count(better, "_linear_pointwise") == 0


def test_other_products_stay():
    inputs = [torch.randn(6, 5).double(), torch.randn(5, 4).double(), torch.randn(6, 4).double()]
    graph = recorded(lambda a, b, c: (a @ b, torch.addmm(c, a, b)), *inputs)
    assert count(improve(graph, inputs), "_linear_pointwise") == 0
    inputs = [x.float() for x in inputs]
    graph = recorded(lambda a, b, c: (torch.addmm(c, a, b), torch.addmm(c[0], a, b, beta=2)),
                     *inputs)
    assert count(improve(graph, inputs), "_linear_pointwise") == 0


@pytest.fixture
def asked(monkeypatch):
    """The questions for the fastest kernels, all of which are said to be PyTorch's."""
    keys = []
    monkeypatch.setattr(products.routes, "fastest", lambda *given: keys.append(
        ("any", *given)) or "torch")
    monkeypatch.setattr(few_rows, "fastest", lambda *given: keys.append(("few", *given)) or None)
    return keys


WIDE, HALF = torch.float32, torch.bfloat16
aten = torch.ops.aten


def is_product(node):
    return node.target in (aten.mm.default, aten.addmm.default)


@pytest.mark.parametrize("function, shapes, dtype, bias", [
    (lambda a, b: a @ b, [(9, 5), (5, 4)], WIDE, False),
    (lambda a, b: a @ b, [(9, 5), (5, 4)], HALF, False),
    (lambda a, b: a @ b.t(), [(9, 5), (4, 5)], WIDE, False),
    (lambda a, b: a.t() @ b, [(5, 9), (5, 4)], WIDE, False),
    (lambda a, b: torch.addmm(b[0], a, b), [(9, 5), (5, 4)], WIDE, True),
    (lambda a, b: torch.addmm(b[:1], a, b), [(9, 5), (5, 4)], WIDE, None),
    (lambda a, b: torch.addmm(b[0, 0], a, b), [(9, 5), (5, 4)], WIDE, None),
    (lambda a, b: torch.addmm(b[:, 0], a, b), [(9, 5), (5, 5)], WIDE, None),
    (lambda a, b: torch.addmm(b[0], a, b, alpha=2), [(9, 5), (5, 4)], WIDE, None),
    (lambda a, b: torch.addmm(b[0], a, b, beta=0), [(9, 5), (5, 4)], WIDE, None),
    (lambda a, b: a @ b, [(9, 5), (5, 4)], torch.float64, None),
    (lambda a, b: a @ b, [(9, 5), (5, 4)], torch.float16, None),
    (lambda a, b: torch.bmm(a[None], b[None]), [(9, 5), (5, 4)], WIDE, None)])
@pytest.mark.parametrize("measure", [False, True])
def test_which_products_are_asked_for(asked, function, shapes, dtype, bias, measure):
    """Of matrices of one type, and a bias that lies in memory as the kernels read it."""
    inputs = [torch.randn(shape).to(dtype) for shape in shapes]
    assert routes.route(recorded(function, *inputs).graph, measure) == 0
    given = [(n.meta["tensor_meta"].shape, n.meta["tensor_meta"].stride)
             for node in recorded(function, *inputs).graph.nodes if is_product(node)
             for n in node.args[-2:]]
    assert asked == ([] if bias is None else [("any", *given, bias, measure, dtype)])


@pytest.mark.parametrize("rows, function, is_few", [
    (1, lambda a, b: a @ b.t(), True), (few_rows.MOST, lambda a, b: a @ b.t(), True),
    (few_rows.MOST + 1, lambda a, b: a @ b.t(), False), (2, lambda a, b: a @ b[:5], False),
    (2, lambda a, b: a.t().clone(memory_format=torch.contiguous_format).t() @ b.t(), False),
    (2, lambda a, b: a[:, :4] @ b[:, :4].t(), False),
    (2, lambda a, b: a[:, :4].clone() @ b[:, :4].t(), True),
    (2, lambda a, b: a @ b[:1].expand(7, 5).t(), False),
    (2, lambda a, b: a[:, :0].clone() @ b[:, :0].t(), False)])
def test_products_of_a_few_rows_have_their_own_kernel(asked, rows, function, is_few):
    """Where rows and columns lie beside each other in memory; if it isn't known, any other."""
    inputs = [torch.randn(rows, 5), torch.randn(7, 5)]
    graph = recorded(function, *inputs).graph
    (product,) = [n for n in graph.nodes if is_product(n)]
    width = product.args[0].meta["tensor_meta"].shape[1]
    columns = product.args[1].meta["tensor_meta"].shape[1]
    assert routes.route(graph, True) == 0
    assert asked[:-1] == [("few", rows, width, columns, False, WIDE, True)] * is_few
    assert asked[-1][0] == "any"


@pytest.mark.parametrize("kernel, name", [("onednn", "_linear_pointwise"), ("rows", "few_rows"),
                                          ("torch", "mm")])
@pytest.mark.parametrize("bias", [False, True])
def test_the_kernel_that_is_the_fastest_is_used(monkeypatch, kernel, name, bias):
    if few_rows.extension.module is None:
        pytest.skip("no C++ compiler that can build it")
    monkeypatch.setattr(few_rows, "fastest", lambda *given: kernel)
    inputs = [torch.randn(2, 5), torch.randn(7, 5), torch.randn(7)]

    def product(a, b, c):
        return torch.addmm(c, a, b.t()) if bias else a @ b.t()

    def read_otherwise(a, b, c):
        found, other = product(a, b, c), product(a, b + 1, c)
        return found.tanh(), found, other.tanh(), other[0]

    for function, made, ends in ((lambda *given: product(*given).tanh(), 1, kernel != "onednn"),
                                 (lambda *given: product(*given).cos(), 1, 0),
                                 (read_otherwise, 2, 2)):
        graph, better = recorded(function, *inputs), recorded(function, *inputs)
        assert routes.route(better.graph, True) == (0 if kernel == "torch" else made)
        better.recompile()
        check_same(graph, better, inputs, 1e-4)
        assert count(better, "addmm" if bias and name == "mm" else name) == made
        assert count(better, "tanh") == ends
        back = plain(better)
        check_same(graph, back, inputs, 1e-4)
        assert count(back, "addmm" if bias else "mm") == made
        assert count(back, "tanh", "cos") == count(graph, "tanh", "cos")


def test_without_onednn_all_stays(monkeypatch):
    monkeypatch.setattr(routes, "available", lambda: False)
    graph = recorded(lambda a, b: a @ b, torch.randn(9, 5), torch.randn(5, 4))
    assert routes.route(graph.graph, True) == 0 and count(graph, "mm") == 1
    assert plain(graph) is graph
