"""Writes in place as new values: what each place holds afterwards, beside PyTorch."""

import jax
import numpy as np
import pytest
import torch

from lamella.graph.xla.lowering import NotLowered
from lamella.graph.xla.lowering.writes import put_back, without_writes
from lamella.graph.xla.text import described
from tests.graph.passes.checks import recorded

from . import evaluated


def a_view_is_made_again(y):
    row = y[1]
    y.mul_(2)
    return row + 1, y


def a_view_that_nothing_has_changed(y):
    row = y[1]
    return row + 1, row.exp()


def what_was_read_before_a_write(y):
    row = y[1] + 0
    y.add_(1)
    return row, y[1] + 0


def a_write_into_a_view(y):
    y[:, 1:3].add_(1)
    return y, y[0] * 2


def a_view_of_a_view_and_others_of_the_same(y):
    rows, column = y[1:3], y[:, 2]
    rows[0].mul_(3)
    return y, rows + 0, column + 0


def writes_one_after_another_into_views_of_each_other(y):
    rows = y[1:]
    row = rows[1]
    row.add_(1)
    y.mul_(2)
    row.add_(rows[0])
    rows.sub_(1)
    return y, rows + 0, row + 0


def what_a_write_gives_is_what_was_written(y):
    made = y.add_(1)
    made.mul_(2)
    again = made[0].add_(3)
    y.sub_(1)
    return y, made + 0, again + 0


def one_of_several_views(y):
    a, b = y.split([1, 3], 0)
    first, *_ = b.unbind(1)
    b.mul_(2)
    first.add_(5)
    return y, a + 0, b + 0, first + 0


def other_orders_and_ranks(y):
    y.t()[1].mul_(2)
    y.transpose(0, 1)[0].add_(1)
    y.unsqueeze(1)[2].sub_(4)
    y.view(-1)[3:7].mul_(-1)
    y.permute(1, 0)[2].neg_()
    return y, y.t() + 0


def whole_views(y):
    y.t().add_(torch.ones(5, 4).cumsum(0))
    y.view(2, 10).mul_(torch.arange(10.0))
    y.unsqueeze(0).add_(1)
    return y, y.view(20) + 0


def two_tensors(y):
    other = y * 2
    view = other[0]
    y[0].copy_(view)
    other.zero_()
    view.add_(y[1])
    return y, other, view + 0


CASES = [a_view_is_made_again, a_view_that_nothing_has_changed, what_was_read_before_a_write,
         a_write_into_a_view, a_view_of_a_view_and_others_of_the_same,
         writes_one_after_another_into_views_of_each_other, what_a_write_gives_is_what_was_written,
         one_of_several_views, other_orders_and_ranks, whole_views, two_tensors]


@pytest.mark.parametrize("fn", CASES)
def test_writes_become_values(fn):
    x = torch.arange(20.0).reshape(4, 5)
    graph = recorded(lambda x: [made + 0 for made in fn(x * 1)], x)
    text = described(graph, [x])
    steps, ends = without_writes(text["steps"], text["inputs"], [n for n, *_ in text["results"]])
    assert not any(step.get("writes") for step in steps)
    assert len({step["to"] for step in steps}) == len(steps)
    if not any(step.get("writes") for step in text["steps"]):
        assert steps is text["steps"]
    values = evaluated.run(steps, {0: x})
    for number, wanted in zip(ends, fn(x * 1), strict=True):
        assert torch.equal(values[number], wanted)


WHOLE = torch.arange(60.0).reshape(3, 4, 5)
CHAINS = [
    [("select.int", [1, -1])], [("slice.Tensor", [2, 1, 4, 2])], [("slice.Tensor", [0, -2, 9, 1])],
    [("view.default", [[5, 12]])], [("unsqueeze.default", [1])], [("transpose.int", [0, -1])],
    [("permute.default", [[2, 0, 1]])], [("diagonal.default", [1, 0, 2])],
    [("select.int", [0, 1]), ("t.default", [])], [("t.default", [])],
    [("transpose.int", [0, 1]), ("slice.Tensor", [0, 1, 3, 1]), ("select.int", [-1, 2])],
    [("view.default", [[12, 5]]), ("slice.Tensor", [0, 2, 11, 3])],
    [("unbind.int", [1]), ("getitem", [2])], [("unbind.int", [1]), ("getitem", [-1])],
    [("split.Tensor", [2, -1]), ("getitem", [1]), ("select.int", [0, 2])],
    [("as_strided.default", [[2, 2], [21, 5], 3])], [("squeeze.default", [])],
]


def test_parts_are_put_back_where_views_show_them():
    given, parts, wanted = [], [], []
    for chain in CHAINS:
        whole = WHOLE[0].clone() if chain == [("t.default", [])] else WHOLE.clone()
        view, views = whole, []
        for name, rest in chain:
            packet, _, overload = name.partition(".")
            view = view[rest[0]] if name == "getitem" else getattr(
                getattr(torch.ops.aten, packet), overload)(view, *rest)
            views.append([name, rest, [[[*v.shape], "int64"] for v in view] if isinstance(
                view, (list, tuple)) else [[*view.shape], "int64"]])
        part = -torch.arange(1.0, 1 + view.numel()).reshape(view.shape)
        given.append((whole.numpy().copy(), views))
        view.copy_(part)
        parts.append(part.numpy())
        wanted.append(whole.numpy())

    def computed(wholes, parts):
        return [put_back(whole, part, views)
                for whole, part, (_, views) in zip(wholes, parts, given, strict=True)]

    wholes = [whole for whole, _ in given]
    found = jax.jit(computed).lower(wholes, parts).compile({
        "xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True})(
            wholes, parts)
    for chain, one, its in zip(CHAINS, found, wanted, strict=True):
        np.testing.assert_array_equal(np.asarray(one), its, str(chain))


@pytest.mark.parametrize("name", ["_conj.default", "_neg_view.default", "view_as_real.default",
                                  "view_as_complex.default"])
def test_views_of_other_elements_are_not_written(name):
    view = [name, [], [[3, 4, 5], "float32"]]
    for views in ([view], [["select.int", [0, 1], [[4, 5], "float32"]], view]):
        with pytest.raises(NotLowered, match="other elements"):
            put_back(WHOLE.numpy(), WHOLE.numpy(), views)
