"""Which equal operations are one, and which only look alike."""

import pytest
import torch

from lamella.graph.passes.common_subexpressions import eliminate_common_subexpressions
from lamella.graph.passes.memory import Memory
from tests.graph.passes.checks import check_same, recorded

aten = torch.ops.aten
X, Y = torch.rand(3, 4) + 1, torch.rand(4) + 1


def merged(function, again=None):
    """How many operations are left out; all results stay."""
    graph, better = recorded(function, X, Y), recorded(function, X, Y)
    sines = [n for n in better.graph.nodes if n.target is aten.sin.default]
    for node, value in zip(sines, again or [], strict=True if again else False):
        node.meta["again"] = value
    made = eliminate_common_subexpressions(better, Memory(better.graph))
    better.recompile()
    check_same(graph, better, [X, Y])
    return made


@pytest.mark.parametrize("first, second, made", [
    (lambda x, y: x.sin(), lambda x, y: x.sin(), 1), (lambda x, y: x.sin(), lambda x, y: x.cos(),
                                                      0),
    (lambda x, y: x * y, lambda x, y: x * y, 1), (lambda x, y: x * y, lambda x, y: y * x, 0),
    (lambda x, y: x + 2, lambda x, y: x + 2, 1), (lambda x, y: x + 2, lambda x, y: x + 2.0, 0),
    (lambda x, y: x + 1, lambda x, y: x + True, 0), (lambda x, y: x + 0.5, lambda x, y: x + 0.5, 1),
    (lambda x, y: x * 0.0, lambda x, y: x * -0.0, 0),
    (lambda x, y: x * 0.0, lambda x, y: x * 0.0, 1),
    (lambda x, y: torch.add(x, y, alpha=2), lambda x, y: torch.add(x, y, alpha=3), 0),
    (lambda x, y: torch.add(x, y, alpha=2), lambda x, y: torch.add(x, y, alpha=2), 1),
    (lambda x, y: torch.add(x, y, alpha=2), lambda x, y: x + y, 0),
    (lambda x, y: x.sum([0]), lambda x, y: x.sum([0]), 1),
    (lambda x, y: x.sum([0]), lambda x, y: x.sum([1]), 0),
    (lambda x, y: x.sum([0]), lambda x, y: x.sum([0], True), 0),
    (lambda x, y: torch.cat([x, x]), lambda x, y: torch.cat([x, x]), 1),
    (lambda x, y: torch.cat([x, x]), lambda x, y: torch.cat([x, x, x]), 0),
    (lambda x, y: torch.cat([x, x * y]), lambda x, y: torch.cat([x, x * y]), 2),
    (lambda x, y: x.to(torch.float64), lambda x, y: x.to(torch.float64), 1),
    (lambda x, y: x.to(torch.float64), lambda x, y: x.to(torch.int32), 0),
    (lambda x, y: x[1], lambda x, y: x[1], 1), (lambda x, y: x[1], lambda x, y: x[2], 0),
    (lambda x, y: aten.gelu(x, approximate="tanh"), lambda x, y: aten.gelu(x), 0),
    (lambda x, y: torch.rand_like(x), lambda x, y: torch.rand_like(x), 0)])
def test_pairs(first, second, made):
    def both(x, y):
        return first(x, y).exp().sum() - second(x, y).tanh().sum()

    assert merged(both) == made
    assert merged(lambda x, y: (first(x, y), second(x, y))) == max(0, made - 1)  # the results stay


def test_operations_with_arguments_that_are_mutated():
    def function(x, y):
        x, found = x + y, []
        for _ in range(3):
            found += [x.sin().exp(), x.sin().tanh(), x.sin().cos(), y.sin().sqrt()]
            x.add_(1)
        return sum(part.sum() for part in found)

    assert merged(function) == 3 * 2 + 3 * 2  # x's in each step; y's sines, roots and sums


def test_what_is_mutated_is_not_the_first():
    def function(x, y):
        a, b, c = x.sin(), x.sin(), x.sin()
        a.add_(1)
        return (a * b * c).sum()

    assert merged(function) == 1


@pytest.mark.parametrize("again, made", [
    ([None, None, None], 2), ([True, None, None], 1), ([None, None, True], 1),
    ([True, True, True], 0), ([False, False, False], 2), (["run", "run", "other"], 1),
    (["run", "other", "third"], 0), ([None, "run", None], 1)])
def test_values_that_are_computed_again_to_save_memory(again, made):
    runs = {name: object() for name in ("run", "other", "third")}
    again = [runs.get(value, value) for value in again]
    assert merged(lambda x, y: (x.sin() + 1).sum() + (x.sin() + 2).sum() + (x.sin() + 3).sum(),
                  again) == made
