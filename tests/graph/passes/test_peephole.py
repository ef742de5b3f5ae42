"""Which operations without effect are removed, and which only seem to have none."""

import pytest
import torch

from lamella.graph.passes.memory import Memory
from lamella.graph.passes.peephole import peephole
from tests.graph.passes.checks import check_same, recorded

aten = torch.ops.aten
X = torch.arange(24.0).reshape(2, 3, 4) - 7
ROW = X[0, 0]


def rewritten(function, *inputs):
    """How many operations are rewritten; all results stay."""
    graph, better = recorded(function, *inputs), recorded(function, *inputs)
    made = peephole(better, Memory(better.graph))
    better.recompile()
    check_same(graph, better, inputs)
    return made


@pytest.mark.parametrize("function, made", [
    (lambda x: x.transpose(0, 2).transpose(0, 2), 1),
    (lambda x: x.transpose(0, 2).transpose(2, 0), 1),
    (lambda x: x.transpose(-1, 0).transpose(0, 2), 1),
    (lambda x: x.transpose(0, 1).transpose(0, 2), 0),
    (lambda x: x.permute(1, 2, 0).permute(2, 0, 1), 1),
    (lambda x: x.permute(1, 2, 0).permute(1, 2, 0), 0),
    (lambda x: x.permute(-2, -1, 0).permute(2, 0, 1), 1),
    (lambda x: x.permute(2, 1, 0).transpose(0, 2), 1),
    (lambda x: x.transpose(1, 2).permute(0, 2, 1), 1),
    (lambda x: x.transpose(1, 2).permute(1, 0, 2), 0),
    (lambda x: x[0].t().t(), 1), (lambda x: x[0].t().transpose(0, 1), 1),
    (lambda x: x[0].t().permute(0, 1), 0),
    (lambda x: x[0, 0].t().t(), 1), (lambda x: x[0, 0, 0].t().t(), 1),
    (lambda x: x[0, 0, 0].transpose(0, -1).transpose(0, 0), 1),
    (lambda x: x.view(2, 3, 4), 1), (lambda x: x.view(6, 4), 0), (lambda x: x.view(4, 6), 0),
    (lambda x: x.view(6, 4).view(24), 0), (lambda x: x.view(6, 4).view(2, 3, 4), 1),
    (lambda x: aten._unsafe_view(x, [2, 3, 4]), 1),
    (lambda x: aten._unsafe_view(aten._unsafe_view(x, [6, 4]), [2, 3, 4]), 1),
    (lambda x: x.expand(2, 3, 4), 1), (lambda x: x.expand(1, 2, 3, 4), 0),
    (lambda x: x[:1].expand(2, 3, 4), 0), (lambda x: x[0:2], 1), (lambda x: x[0:1], 0),
    (lambda x: x[:, 0:3], 1), (lambda x: x[:, 1:3], 0), (lambda x: x[:, ::2], 0),
    (lambda x: aten.alias(x), 1)])
def test_views(function, made):
    """Those of a value; the same views stay if they are results themselves."""
    function_of_sine = lambda x: function(x.sin()).cos()  # noqa: E731
    assert rewritten(function_of_sine, X) == made
    if made:
        assert rewritten(lambda x: function(x.sin()), X) == 0


@pytest.mark.parametrize("function, made", [
    (lambda x: x.clone(), 1), (lambda x: x.clone(memory_format=torch.contiguous_format), 1),
    (lambda x: x.transpose(0, 1).clone(memory_format=torch.contiguous_format), 0),
    (lambda x: aten._to_copy(x, dtype=torch.float32), 1),
    (lambda x: aten._to_copy(x, dtype=torch.float64), 0),
    (lambda x: x * 1, 1), (lambda x: x * 1.0, 1), (lambda x: x * True, 1), (lambda x: x * 2, 0),
    (lambda x: x * 0, 0), (lambda x: aten.mul.Scalar(x, 1), 1), (lambda x: aten.mul.Scalar(x, -1),
                                                                  0),
    (lambda x: x / 1, 1), (lambda x: x / 1.0, 1), (lambda x: x / 2, 0),
    (lambda x: aten.div.Scalar(x, 1), 1), (lambda x: x + 1, 0),
    (lambda x: x.long() * 1, 1), (lambda x: x.long() * 1.0, 0), (lambda x: x.long() / 1, 0),
    (lambda x: aten.slice_backward(x, [2, 3, 4], 1, 0, 3, 1), 1),
    (lambda x: aten.slice_backward(x, [2, 4, 4], 1, 0, 3, 1), 0),
    (lambda x: aten.slice_backward(x, [2, 3, 8], 2, 0, 8, 2), 0)])
def test_copies(function, made):
    """Those of a value; results have memory of their own."""
    assert rewritten(lambda x: function(x.sin()).cos(), X) == made
    assert rewritten(lambda x: function(x.sin()), X) == 0


def before(x, y):
    x.add_(1)
    return x.clone() * y


def after(x, y):
    found = x.clone() * y
    x.add_(1)
    return found


def between(x, y):
    copy = x.clone()
    x.add_(1)
    return copy * y


def between_by_a_view(x, y):
    copy = x.clone()
    x[0].add_(1)
    return copy * y


def while_a_view_is_read(x, y):
    row = x.clone()[1]
    x.add_(1)
    return row * y


def with_what_reads_it(x, y):
    x.add_(x.clone())
    return x * y


def of_another(x, y):
    copy = x.clone()
    y.add_(1)
    return copy * y


def of_the_copy(x, y):
    return x.clone().add_(1) * y


def of_a_view_of_the_copy(x, y):
    copy = x.clone()
    copy[0].add_(1)
    return copy * y, x * 2


def which_is_a_result(x, y):
    copy = x.clone()
    return copy, copy * y


def of_which_a_view_is_a_result(x, y):
    copy = x.clone()
    return copy[0], copy * y


@pytest.mark.parametrize("function, made", [
    (before, 1), (after, 1), (between, 0), (between_by_a_view, 0), (while_a_view_is_read, 0),
    (with_what_reads_it, 0), (of_another, 1), (of_the_copy, 0), (of_a_view_of_the_copy, 0),
    (which_is_a_result, 0), (of_which_a_view_is_a_result, 0)])
def test_copies_of_what_is_written(function, made):
    assert rewritten(function, X, ROW) == made


@pytest.mark.parametrize("dims, kept, shape, made", [
    ([1], True, (2, 4), 1), ([-2], True, (2, 4), 1), ([0, 2], True, (3,), 1),
    ([0, -1], True, (3,), 1), ([0, 1, 2], True, (), 1), ([1], True, (2, 1, 2, 2), 0),
    ([1], True, (8,), 0), ([1], True, (4, 2), 0), ([0], True, (3, 4), 1), ([1], False, (2, 4), 1),
    ([1], False, (8,), 0)])
def test_sums_that_keep_dimensions_for_a_view(dims, kept, shape, made):
    assert rewritten(lambda x: x.sum(dims, kept).view(shape).cos(), X) == made
