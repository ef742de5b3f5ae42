"""Products of one column and one row, and of one row and a matrix."""

import pytest
import torch

from lamella.graph.passes import improve
from tests.graph.passes.checks import check_same, count, recorded


@pytest.mark.parametrize("a, b", [
    ((64, 80, 1), (64, 1, 70)), ((64, 1, 80), (64, 1, 70)), ((90, 1), (1, 70)), ((1, 90), (1, 70)),
])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_one_column_and_one_row(a, b, dtype):
    def function(x, y):
        x = x.mT if x.shape[-1] != 1 else x
        return torch.bmm(x, y) if x.dim() == 3 else torch.mm(x, y)

    inputs = torch.randn(a, dtype=dtype), torch.randn(b, dtype=dtype)
    graph = recorded(function, *inputs)
    better = improve(graph, inputs)
    check_same(graph, better, inputs)
    assert (count(better, "mul"), count(better, "bmm", "mm")) == (1, 0)


@pytest.mark.parametrize("a, b", [
    ((64, 80, 2), (64, 2, 70)), ((64, 4, 1), (64, 1, 4)), ((90, 3), (3, 70))])
def test_others_stay(a, b):
    inputs = torch.randn(a), torch.randn(b)
    graph = recorded(torch.matmul, *inputs)
    better = improve(graph, inputs)
    check_same(graph, better, inputs)
    assert count(better, "mul") == 0


def test_gradients_by_example():
    def step(w, x):
        return torch.func.vmap(torch.func.grad(lambda w, x: (x[None] @ w.T).sin().sum()),
                               (None, 0))(w, x)

    inputs = torch.randn(70, 60), torch.randn(8, 60)
    graph = recorded(step, *inputs)
    better = improve(graph, inputs)
    check_same(graph, better, inputs)
    assert (count(graph, "bmm"), count(better, "bmm")) == (1, 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rows, bias, expected", [(1, 70, 1), (2, 70, 0), (1, 1, 1)])
def test_one_row_and_a_matrix(dtype, rows, bias, expected):
    def function(x, w, b):
        y = torch.nn.functional.linear(x, w, b.expand(70)) if bias == 1 else \
            torch.nn.functional.linear(x, w, b)
        return y.relu(), y * 2

    inputs = [torch.randn(shape, dtype=dtype) for shape in ((rows, 80), (70, 80), (bias,))]
    graph = recorded(function, *inputs)
    better = improve(graph, inputs)
    check_same(graph, better, inputs)
    assert (count(better, "addmv"), count(better, "addmm")) == (expected, 1 - expected)


def test_a_row_with_steps_stays():
    inputs = [torch.randn(80, 1).t(), torch.randn(70, 160)[:, ::2], torch.randn(70)]
    graph = recorded(torch.nn.functional.linear, *inputs)
    better = improve(graph, inputs)
    check_same(graph, better, inputs)
    assert count(better, "addmv") == 0
