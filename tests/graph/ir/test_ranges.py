"""Bounds of integers: what is known of them holds, and spares checks of indices."""

import pytest
import torch
from torch.fx import Interpreter

from lamella.graph.ir.operations import never_written
from lamella.graph.ir.ranges import ranges_of
from lamella.graph.passes.flags import add_flag
from tests.graph.passes.checks import recorded

X = torch.randn(5, 7, generator=torch.Generator().manual_seed(0))
KNOWN = {
    "clamp": (lambda x: (x * 100).long().clamp(-3, 4), (-3, 4)),
    "argmax": (lambda x: x.argmax(1), (0, 6)),
    "argmax of all": (lambda x: x.argmax(), (0, 34)),
    "argmin": (lambda x: x.argmin(0), (0, 4)), "min": (lambda x: x.min(1)[1], (0, 6)),
    "argmax of a number": (lambda x: x.sum().argmax(0), (0, 0)),
    "argmax of one": (lambda x: x[:, :1].argmax(1), (0, 0)),
    "moved": (lambda x: x.argmax(1)[1:].unsqueeze(0).expand(3, 4).clone()[0].squeeze(), (0, 6)),
    "picked": (lambda x: x.sort(0)[1].select(1, 2).gather(0, x.argmax(0)), (0, 4)),
    "max": (lambda x: x.max(0)[1], (0, 4)),
    "topk": (lambda x: x.topk(3)[1][:, :2].t(), (0, 6)),
    "sort": (lambda x: x.sort(dim=0, descending=True, stable=True)[1].int(), (0, 4)),
    "remainder": (lambda x: (x * 100).long() % 6, (0, 5)),
    "remainder of 1": (lambda x: (x * 100).long() % 1, (0, 0)),
    "quotient": (lambda x: x.view(-1).topk(9)[1] // 7, (0, 4)),
    "quotient of negatives": (lambda x: (x * 100).long().clamp(-3, 4) // 2, (-2, 2)),
    "quotient by a mode": (lambda x: torch.div(
        (x * 100).long().clamp(-3, 4), 2, rounding_mode="floor"), (-2, 2)),
    "one number": (lambda x: (x * 100).long().clamp(3, 3), (3, 3)),
    "the greatest of both types": (lambda x: (x * 100).long().clamp(
        1 - 2**31, 2**31 - 1), (1 - 2**31, 2**31 - 1)),
    "search in rows": (lambda x: torch.searchsorted(x.sort()[0], x[:, :2].contiguous()), (0, 7)),
    "search": (lambda x: torch.searchsorted(x.view(-1).sort()[0], x).view(7, 5), (0, 35)),
    "read": (lambda x: x.argmax(1)[x.min(1)[1].clamp(0, 4)], (0, 6))}


def ranges_in(graph):
    nodes = list(graph.graph.nodes)
    return ranges_of(nodes, never_written(nodes))


class Checked(Interpreter):
    """Compares each value with its bounds."""

    def run_node(self, n):
        value, bounds = super().run_node(n), self.ranges.get(n)
        assert bounds is None or bounds[0] <= value.min() and value.max() <= bounds[1]
        return value


@pytest.mark.parametrize("name", KNOWN)
def test_values_lie_within_their_bounds(name):
    fn, bounds = KNOWN[name]
    graph = recorded(fn, X)
    checked = Checked(graph)
    checked.ranges = ranges_in(graph)
    assert checked.ranges[graph.graph.output_node().args[0][0]] == bounds
    for x in (X, -X, X * 0):
        checked.run(x)


@pytest.mark.parametrize("fn", [
    lambda x: (x * 100).long(), lambda x: (x * 100).long().clamp(0), lambda x: x.topk(2)[0].long(),
    lambda x: x.argmax(1).add_(9), lambda x: x.argmax(1) * 2, lambda x: (x * 100).long() // 7,
    lambda x: x.clamp(0, 3).long(), lambda x: (x * 9).long() % -4,
    lambda x: torch.div((x * 9).long().clamp(-3, 4), 2, rounding_mode="trunc"),
    lambda x: (x * 9).long().clamp(5, 2), lambda x: (x * 9).long().clamp(-5, 2**31),
    lambda x: (x * 9).long().clamp(-2**31, 5), lambda x: torch.cat([x.argmax(1), x.argmin(1)]),
    lambda x: x[:0].argmax(1)])
def test_bounds_that_are_not_known(fn):
    graph = recorded(fn, X)
    assert graph.graph.output_node().args[0][0] not in ranges_in(graph)


def test_bounds_of_what_is_written_are_not_known():
    graph = recorded(lambda x: [x.argmax(1), x.argmin(1).add_(9)], X)
    found = {str(node.target) for node in ranges_in(graph)}
    assert "aten.argmax.default" in found and "aten.argmin.default" not in found


@pytest.mark.parametrize("fn, is_checked", [
    (lambda x: x[x.argmax(0).clamp(0, 4)], False), (lambda x: x[x.argmax(1) * 0], True),
    (lambda x: x[(x[0] * 9).long().clamp(-5, 4)], False),
    (lambda x: x[torch.searchsorted(x[0].sort()[0], x[0] - 99)], True),
    (lambda x: x.gather(1, x.topk(2)[1]), False),
    (lambda x: x.t().gather(1, x.argmax(1)[:, None] % 6 // 2), False)])
def test_indices_that_are_made_for_what_they_are_used_on_need_no_check(fn, is_checked):
    assert add_flag(recorded(fn, X)) is is_checked
