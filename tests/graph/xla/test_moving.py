"""Loops that read and write at places that move on."""

import random

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Parameter, ops
from lamella.graph.runtime import stage
from lamella.graph.runtime.compiled import Compiled
from lamella.graph.xla.lowering.boxes import ADD, PLACE, PUT, TAKE, Box
from lamella.graph.xla.lowering.moving import with_boxes
from lamella.graph.xla.text import described
from tests.graph.passes.checks import recorded
from tests.graph.random_tables import check

from . import evaluated
from .test_rolling import agrees, loops, tensor  # noqa: F401  (a fixture)

F32 = "float32"


def counts(loops):  # noqa: F811
    return [count for made in loops for count, _ in made]


def attention(w, x):
    """A decoder whose cache is written at the place of each step."""
    keys, total, far = ops.zeros((2, 4, 10)), 0.0, ops.arange(10)
    for t in range(10):
        keys[:, :, t] = (x[t] @ w).reshape(2, 4)
        scores = (keys * x[t].reshape(2, 4, 1)).sum(1)
        weights = ops.softmax(ops.where(far <= t, scores, -1e9), -1)
        total = total + ((keys * weights[:, None]).sum(-1) ** 2).sum()
    return total


def soft_dtw(x, y):
    """Alignment by dynamic programming: a table written in two loops."""
    cost = ((x[:, None] - y[None]) ** 2).sum(-1)
    table = ops.zeros((7, 6)) + 1e3
    table[0, 0] = 0.0
    for i in range(6):
        for j in range(5):
            three = ops.stack([table[i, j], table[i, j + 1], table[i + 1, j]])
            table[i + 1, j + 1] = cost[i, j] - ops.logsumexp(-three, 0)
    return table[6, 5]


def forward_backward(w, e):
    """Rows written in both directions."""
    f, b = ops.zeros((9, 3)), ops.zeros((9, 3))
    f[0] = e[0]
    for t in range(1, 9):
        f[t] = e[t] + ops.logsumexp(f[t - 1][:, None] + w, 0)
    for t in range(7, -1, -1):
        b[t] = ops.logsumexp(w + e[t + 1] + b[t + 1], 1)
    return (ops.softmax(f + b, -1) ** 2).sum()


@pytest.mark.parametrize("fn, shapes, steps", [
    (attention, [(8, 8), (10, 8)], [7, 9]),
    (soft_dtw, [(6, 3), (5, 3)], [26, 26]),
    (forward_backward, [(3, 3), (9, 3)], [6, 6, 6, 6]),
], ids=["attention", "soft_dtw", "forward_backward"])
def test_tables_and_their_gradients(loops, fn, shapes, steps):  # noqa: F811
    args = [tensor(*shape, seed=i) for i, shape in enumerate(shapes)]
    agrees(lambda *args: ms.value_and_grad(fn, (0, 1))(*args), *args)
    assert len(counts(loops)) >= len(steps)
    assert all(a >= b for a, b in zip(sorted(counts(loops))[-len(steps):], steps, strict=True))


def test_the_gradient_of_a_gradient(loops):  # noqa: F811
    def filled(x, w):
        table = ops.zeros((9, 3))
        for t in range(1, 9):
            table[t] = ops.tanh(table[t - 1] + w) * x[t]
        return (table * table).sum()

    agrees(lambda x, w: ms.grad(lambda w: ms.grad(filled)(x, w).sum())(w),
           tensor(9, 3), tensor(3, seed=1))
    assert len(counts(loops)) >= 3


def test_views_from_before_a_write_and_behind_it(loops):  # noqa: F811
    """A part that was read keeps what it had; a view that is made has what is written."""
    def fn(x):
        table, h = x * 1, x[0]
        for t in range(1, 11):
            old, row = table[t] * 1, table[t - 1]
            table[t] = ops.tanh(h + row) * 0.9
            row[1] = h[0] * 0.5
            h = old * 0.3 + table[t] + table[t - 1] * 0.1
        return h, table

    agrees(fn, tensor(11, 3))
    assert max(counts(loops)) >= 8


def test_slices_that_overlap_and_places_in_any_order(loops):  # noqa: F811
    def fn(x):
        table, h = x * 1, x[0]
        for t in (3, 1, 4, 1, 5, 9, 2, 6, 5, 3):
            table[t:t + 2] = ops.stack([h, table[-t]]) * 0.9
            h = ops.tanh(table[t - 1:t + 1].sum(0) + h)
            table[t, 1] += h[0]
        return h, table

    agrees(fn, tensor(11, 3))
    assert max(counts(loops)) >= 9


def test_a_parameter_that_is_written(loops):  # noqa: F811
    weights = [Parameter(tensor(12, 3), name="w") for _ in range(2)]

    def step(w, x):
        h = x
        for t in range(1, 12):
            h = ops.tanh(h + w[t - 1]) * 0.9 + ops.sin(h)
            w[t] = h * 0.5
        return h

    compiled = Compiled(step)
    for call in range(4):
        x = tensor(3, seed=call)
        found, wanted = compiled(weights[0], x), step(weights[1], x)
        np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), 1e-5, 1e-6)
        np.testing.assert_allclose(weights[0].asnumpy(), weights[1].asnumpy(), 1e-5, 1e-6)


def test_indices_out_of_range_are_errors():
    def fn(x):
        table = x * 1
        for t in range(6):
            table[t] = table[t - 1] + 1
        return table

    compiled = Compiled(fn)
    for _ in range(3):
        compiled(tensor(6, 3))
    with pytest.raises(IndexError, match="out of bounds"):
        compiled(tensor(5, 3))


@pytest.mark.parametrize("shape, views, wanted", [
    ([4, 5], [("select.int", [0, -1], [5])], ((3, 0), (1, 5))),
    ([4, 5], [("select.int", [0, 1], [5]), ("select.int", [-1, 2], [])], ((1, 2), (1, 1))),
    ([4, 5], [("slice.Tensor", [1, 1, 99, 1], [4, 4]), ("slice.Tensor", [1, -2, None, 1], [4, 2]),
              ("select.int", [0, 3], [2])], ((3, 3), (1, 2))),
    ([4, 5], [("narrow.default", [0, -3, 2], [2, 5]), ("unsqueeze.default", [1], [2, 1, 5]),
              ("select.int", [1, 0], [2, 5]), ("select.int", [1, 4], [2])], ((1, 4), (2, 1))),
    ([4, 1, 5], [("as_strided.default", [[2, 3], [5, 1], 7], [2, 3])], ((1, 0, 2), (2, 1, 3))),
    ([4, 5], [("as_strided.default", [[2, 3], [5, 1], 0], [2, 3])], ((0, 0), (2, 3))),
    ([4, 5], [("as_strided.default", [[2, 3], [5, 1], None], [2, 3])], ((0, 0), (2, 3))),
    ([4, 5], [("slice.Tensor", [0, 0, 4, 2], [2, 5])], None),
    ([4, 5], [("as_strided.default", [[2, 3], [5, 1], 8], [2, 3])], None),  # around the end
    ([4, 5], [("as_strided.default", [[4], [6], 0], [4])], None),  # the diagonal
    ([4, 5], [("as_strided.default", [[3, 3], [1, 1], 0], [3, 3])], None),  # twice
    ([4, 5], [("as_strided.default", [[5, 4], [1, 5], 0], [5, 4])], None),  # transposed
    ([4, 5], [("view.default", [[20]], [20])], None),
    ([4, 5], [("t.default", [], [5, 4])], None),
])
def test_boxes_of_views(shape, views, wanted):
    box = Box.all_of(shape)
    for name, rest, made in views:
        box = box.view(name, rest, made)
    assert wanted is None if box is None else (box.starts, box.sizes) == wanted


def test_boxes_are_the_parts_that_views_show():
    """Chains of views at random, of a tensor whose elements are their places."""
    rng = random.Random(5)
    for _ in range(200):
        whole = torch.arange(60).reshape(rng.choice(([3, 4, 5], [5, 1, 12], [60], [2, 30])))
        box, view = Box.all_of([*whole.shape]), whole
        for _ in range(rng.randrange(1, 5)):
            if not view.dim():
                break
            dim = rng.randrange(-view.dim(), view.dim())
            size = view.shape[dim]
            start = rng.randrange(-size, size)
            length = rng.randrange(1, size - start % size + 1)
            name, rest = rng.choice((
                ("select.int", [dim, start]), ("narrow.default", [dim, start, length]),
                ("slice.Tensor", [dim, start, start % size + length, 1]),
                ("slice.Tensor", [dim, None, length, 1]), ("unsqueeze.default", [dim]),
                ("squeeze.default", [])))
            packet, _, overload = name.partition(".")
            view = getattr(getattr(torch.ops.aten, packet), overload)(view, *rest)
            box = box.view(name, rest, [*view.shape])
        part = whole[tuple(slice(s, s + n) for s, n in zip(box.starts, box.sizes, strict=True))]
        assert torch.equal(part.reshape(view.shape), view)
        assert [1 if axis is None else box.sizes[axis] for axis in box.axes] == [*view.shape]


def test_steps_as_boxes():
    """Copies go, views of what is written are taken, and gradients are added where they belong."""
    table, part = [[4, 3], F32], [[3], F32]
    steps = [
        {"op": "select.int", "to": 2, "args": [{"n": 0}, 0, 1], "aval": part},
        {"op": "copy.default", "to": 3, "args": [{"n": 2}, {"n": 1}, False], "aval": part},
        {"op": "put_back", "to": 4, "aval": table,
         "args": [{"n": 0}, {"n": 3}, {"by": [["select.int", [0, 1], part]]}]},
        {"op": "clone.default", "to": 5, "args": [{"n": 4}, None], "aval": table},
        {"op": "select.int", "to": 6, "args": [{"n": 0}, 0, -1], "aval": part},
        {"op": "select_backward.default", "to": 7, "args": [{"n": 6}, [4, 3], 0, 2], "aval": table},
        {"op": "add.Tensor", "to": 8, "args": [{"n": 7}, {"n": 5}, 1], "aval": table},
        {"op": "add.Tensor", "to": 9, "args": [{"n": 7}, {"n": 5}, 2], "aval": table},
        {"op": "copy.default", "to": 10, "args": [{"n": 0}, {"n": 1}, False], "aval": table}]
    found, ends = with_boxes(steps, [table, part], [8, 9, 5, 10])
    assert ends == [8, 9, 4, 10]
    assert [(step["op"], step["to"], *step["args"]) for step in found] == [
        (PUT, 4, {"n": 0}, {"n": 1}, [1, 0], [1, 3]),
        (TAKE, 6, {"n": 0}, [3, 0], [1, 3]),
        (PLACE, 7, {"n": 6}, [2, 0], [1, 3]),
        (ADD, 8, {"n": 4}, {"n": 6}, [2, 0], [1, 3]),
        ("add.Tensor", 9, {"n": 7}, {"n": 4}, 2),
        ("copy.default", 10, {"n": 0}, {"n": 1}, False)]


def test_a_write_into_a_row_is_one_into_the_table():
    """Of ``row = table[2]; row[1] = a; row[0] = a`` neither write copies the row."""
    table, part, one = [[4, 3], F32], [[3], F32], [[], F32]

    def written(to, row, whole, column):
        return [
            {"op": "put_back", "to": to, "aval": part,
             "args": [{"n": row}, {"n": 1}, {"by": [["select.int", [0, column], one]]}]},
            {"op": "put_back", "to": to + 1, "aval": table,
             "args": [{"n": whole}, {"n": to}, {"by": [["select.int", [0, 2], part]]}]}]

    steps = [{"op": "select.int", "to": 2, "args": [{"n": 0}, 0, 2], "aval": part},
             *written(3, 2, 0, 1), *written(5, 3, 4, 0),
             {"op": "neg.default", "to": 7, "args": [{"n": 5}], "aval": part}]
    found, ends = with_boxes(steps, [table, one], [6, 7])
    row = found[-2]["to"]
    assert ends == [6, 7]
    assert [(step["op"], step["to"], *step["args"]) for step in found] == [
        (PUT, 4, {"n": 0}, {"n": 1}, [2, 1], [1, 1]),
        (PUT, 6, {"n": 4}, {"n": 1}, [2, 0], [1, 1]),
        (TAKE, row, {"n": 6}, [2, 0], [1, 3]),
        ("neg.default", 7, {"n": row})]


def test_gradients_of_parts_of_parts_are_placed_in_the_whole():
    steps = [
        {"op": "select_backward.default", "to": 1, "args": [{"n": 0}, [3], 0, -1],
         "aval": [[3], F32]},
        {"op": "slice_backward.default", "to": 2, "args": [{"n": 1}, [8], 0, 2, 5, 1],
         "aval": [[8], F32]},
        {"op": "slice_backward.default", "to": 3, "args": [{"n": 1}, [8], 0, 2, 7, 2],
         "aval": [[8], F32]}]
    found, _ = with_boxes(steps, [[[], F32]], [2, 3])
    assert [(step["op"], step["args"]) for step in found] == [
        (PLACE, [{"n": 0}, [2], [1]]), (PLACE, [{"n": 0}, [4], [1]]),
        ("slice_backward.default", steps[2]["args"])]


@pytest.mark.parametrize("rows", [3, 4])
def test_parts_of_many_parts_are_taken_from_the_whole(rows):
    steps = []
    for row in range(rows):
        steps += [{"op": "select.int", "to": 1 + 2 * row, "args": [{"n": 0}, 0, row],
                   "aval": [[3], F32]},
                  {"op": "select.int", "to": 2 + 2 * row, "args": [{"n": 1 + 2 * row}, 0, 2],
                   "aval": [[], F32]}]
    found, ends = with_boxes(steps, [[[5, 3], F32]], [2 + 2 * row for row in range(rows)])
    assert ends == [2 + 2 * row for row in range(rows)]
    assert found == steps if rows < 4 else [(step["op"], step["args"]) for step in found] == [
        (TAKE, [{"n": 0}, [row, 2], [1, 1]]) for row in range(rows)]


@pytest.mark.parametrize("engine, seed, derive", [
    ("", 3, 0), ("", 25, 0), ("", 1001, 1), ("", 4, 2), ("xla", 6, 0)])
def test_random_tables(loops, monkeypatch, engine, seed, derive):  # noqa: F811
    """A replay gives each bit that eager calls give."""
    monkeypatch.setattr(stage, "ENGINE", engine)
    compiled = check(seed, derive)
    assert compiled.report()["replays"] and (not engine or counts(loops))


def test_gradients_of_parts_may_be_one_of_several_results():
    """As those of a row that is normalized."""
    def fn(x):
        g = torch.ops.aten.native_layer_norm(x[0] * 1, [3], None, None, 1e-5)[0]
        return [torch.ops.aten.select_backward(g, [4, 3], 0, 1), g[1:].clone() + 0]

    x = torch.arange(12.0).reshape(4, 3) ** 2
    text = described(recorded(fn, x), [x])
    found, ends = with_boxes(text["steps"], text["inputs"], [n for n, *_ in text["results"]])
    assert [step["op"] for step in found].count(PLACE) == 1
    for number, wanted in zip(ends, fn(x), strict=True):
        assert torch.equal(evaluated.run(found, {0: x})[number], wanted)
