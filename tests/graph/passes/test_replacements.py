"""Values are replaced wherever they are used, in operations with many inputs at the end."""

import pytest
import torch

from lamella.graph.passes.replacements import MANY, Replacements
from tests.graph.passes.checks import check_same, recorded

X = torch.rand(3)


def stacked(count):
    """A graph that stacks so many values, these values and the operation."""
    graph = recorded(lambda x: [torch.stack([x + i for i in range(count)]) * 2], X)
    nodes = list(graph.graph.nodes)
    return graph, nodes[1:-3], nodes[-3]


@pytest.mark.parametrize("count, waits", [(MANY, False), (MANY + 1, True)])
def test_operations_with_many_inputs_wait(count, waits):
    graph, values, stack = stacked(count)
    found = Replacements()
    found.replace(values[0], values[1])
    found.replace(values[1], values[2])
    assert (stack.args[0][0] is values[0]) is waits
    found.finish_one(stack)
    found.finish()
    assert stack.args[0][:4] == [values[2]] * 3 + [values[3]]
    assert not values[0].users and not values[1].users
    graph.recompile()
    check_same(recorded(lambda x: [torch.stack([x + max(2, i) for i in range(count)]) * 2], X),
               graph, [X])


def test_all_that_wait_are_rewritten_at_the_end():
    count = MANY + 1

    def function(x):
        values = [x + i for i in range(count)]
        return [torch.stack(values), torch.cat(values)]

    graph = recorded(function, X)
    values = list(graph.graph.nodes)[1:1 + count]
    found = Replacements()
    found.replace(values[5], values[6])
    found.finish()
    assert not values[5].users
