"""Python's loops are found in a recorded graph, and compute the same as a loop."""

import functools

import jax
import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops
from lamella.graph.runtime import stage
from lamella.graph.runtime.compiled import Compiled
from lamella.graph.xla.lowering import graph, rolling
from lamella.graph.xla.lowering.values import Values


@pytest.fixture(autouse=True)
def loops(monkeypatch):
    """Forces XLA; the loops of each graph, as their steps and the loops in their body."""
    monkeypatch.setattr(stage, "ENGINE", "xla")
    found = []

    def noted(steps, *rest):
        made = rolling.rolled(steps, *rest)
        found.append(shape(made))
        return made

    monkeypatch.setattr(graph, "rolled", noted)
    return found


def shape(steps):
    return [(s.count, shape(s.body)) for s in steps if isinstance(s, rolling.Rolled)]


def tensor(*shape, seed=0):
    return Tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32) * 0.3)


def agrees(fn, *args):
    compiled = Compiled(fn)
    for _ in range(4):
        found = compiled(*args)
    wanted = fn(*args)
    flat = lambda v: [x for p in v for x in flat(p)] if isinstance(v, (tuple, list)) else [v]  # noqa: E731
    for a, b in zip(flat(found), flat(wanted), strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), 1e-4, 1e-5)
    assert compiled.report()["backends"] == ["xla"]


def recurrent(x, h, w):
    """Reads one step's input at a time, keeps all states, and adds up a loss."""
    total, states = ops.zeros_like(h).sum(), []
    for t in range(x.shape[0]):
        h = ops.tanh(x[t] + h @ w) * 0.9 + 0.01
        total = total + (h * h).sum()
        states.append(h)
    return total, states


def test_a_recurrence_and_its_gradient(loops):
    x, h, w = tensor(12, 3, 4), tensor(3, 4, seed=1), tensor(4, 4, seed=2)
    agrees(lambda x, h, w: ms.value_and_grad(
        lambda *args: recurrent(*args)[0], (0, 1, 2))(x, h, w), x, h, w)
    found = [loop for made in loops for loop in made]
    assert len(found) >= 2 and all(count >= 10 for count, _ in found)


def test_all_states_and_the_last_one(loops):
    x, h, w = tensor(9, 3, 4), tensor(3, 4, seed=1), tensor(4, 4, seed=2)

    def fn(x, h, w):
        total, states = recurrent(x, h, w)
        return total, ops.stack(states), states[-1], states[3] * 2, x[::-1].sum(0)

    agrees(fn, x, h, w)
    assert any(count >= 8 for made in loops for count, _ in made)


def test_the_order_in_which_elements_are_read(loops):
    """Forwards, backwards, every other one, in any order, one of them twice."""
    x = tensor(16, 5)

    def fn(x):
        found = []
        parts = ops.unbind(x)
        for order in (range(16), range(15, -1, -1), range(0, 16, 2), [3, 1, 4, 1, 5, 9, 2, 6]):
            y = x[0] * 0
            for t in order:
                y = ops.tanh(y * 1.3 + parts[t]) - ops.exp(y * 0.2) * 0.1
            found.append(y)
        return found

    agrees(fn, x)
    assert sum(len(made) for made in loops) >= 4


def test_a_loop_in_a_loop(loops):
    def fn(x, w):
        for _ in range(6):
            y = x
            for _ in range(8):
                y = ops.tanh(y @ w + x) * 0.5 - ops.sin(y)
            x = ops.exp(y * 0.1) * 0.5 + x * 0.2
        return x

    agrees(fn, tensor(3, 4), tensor(4, 4, seed=1))
    assert any(inner for made in loops for _, inner in made)


def test_rows_of_a_table_whose_first_column_has_no_left_neighbour(loops):
    """As soft time warping: the columns repeat through all rows, but only the rows are a loop."""
    rows, columns = 8, 12

    def fn(costs):
        edge = costs[0, 0] * 0 + 3
        above = [edge] * (columns + 1)
        for i in range(rows):
            row = [edge]
            for j in range(columns):
                near = ops.stack([above[j], above[j + 1], row[j]])
                row.append(costs[i, j] + ops.tanh(ops.exp(near * -0.3).sum()))
            above = row
        return above[-1]

    agrees(fn, tensor(rows, columns))
    assert any(count >= rows - 2 and inner for made in loops for count, inner in made), loops


def test_values_of_two_steps_before(loops):
    def fn(x, y):
        for _ in range(20):
            x, y = ops.tanh(y) * 0.9 + x * 0.3, x
        return x, y

    agrees(fn, tensor(5), tensor(5, seed=1))
    assert any(made for made in loops)


def test_steps_of_other_shapes_and_numbers_stay_apart(loops):
    def fn(x):
        y = x[0]
        for t in range(1, 8):
            y = (ops.tanh(x[t - 1:]) * y).sum(0) * (t + 0.5) + ops.exp(y * 0.1)
        return y

    agrees(fn, tensor(8, 3))
    assert not any(made for made in loops)


def test_first_and_last_steps_of_other_links(loops):
    def fn(x, w):
        y, before = x, None
        for _ in range(14):
            z = ops.tanh(y @ w)
            y = z + 0.5 * x if before is None else z + 0.5 * before + ops.sin(y)
            before = z
        return y * before

    agrees(fn, tensor(3, 4), tensor(4, 4, seed=1))
    assert any(made for made in loops)


SLICES = {"one": (lambda t: t, 1), "chunks": (lambda t: 3 * t, 3), "windows": (lambda t: t, 4),
          "from the end": (lambda t: -3 * t - 3, 3)}


@pytest.mark.parametrize("dim, start, size", [
    pytest.param(dim, *SLICES[name], id=f"{dim}-{name}", marks=pytest.mark.long(
        "these slices of dimension 0, and dimension 1 by windows")
        if dim and name != "windows" else ()) for dim in (0, 1) for name in SLICES])
def test_slices_that_a_loop_takes(loops, start, size, dim):
    def sliced(x, w):
        h = ops.zeros((5, 4))
        for t in range(8):
            first = start(t)
            end = first + size if first + size else None
            part = x[first:end] if dim == 0 else x[:, first:end]
            part = part.sum(dim, keepdims=True)
            h = ops.tanh(h * w + (part if dim else part.reshape(-1, 1)) * 0.1) + h * 0.5
        return (h * h).sum()

    x, w = tensor(24, 5) if dim == 0 else tensor(5, 24), tensor(5, 4, seed=1)
    agrees(lambda x, w: ms.value_and_grad(sliced, (0, 1))(x, w), x, w)
    found = [count for made in loops for count, _ in made]
    # in gradients of slices that overlap the first steps differ
    assert len(found) >= 2 and min(found) >= 5 - (size == 4), loops


def test_slices_of_a_value_that_is_computed_in_the_loop_stay(loops):
    def fn(x, w):
        for _ in range(8):
            x = ops.cat([x[:, 2:], ops.tanh(x[:, :2]) * w], 1) * 0.9
        return x

    agrees(fn, tensor(3, 6), tensor(3, 2, seed=1))
    assert any(count >= 7 for made in loops for count, _ in made)


def test_long_graphs_are_searched_quickly():
    """The time grows with the number of operations, not with its square."""
    steps = [{"op": "tanh.default", "to": n + 1, "args": [{"n": n}], "aval": [[3], "float32"]}
             if n % 3 else {"op": "add.Tensor", "to": n + 1, "args": [{"n": n}, {"n": 0}, 1],
                            "aval": [[3], "float32"]} for n in range(30000)]
    made = rolling.rolled(steps, [[[3], "float32"]], [30000])
    assert shape(made)[0][0] >= 9990 and len(made) < 50


def test_the_gradient_through_a_few_steps_of_learning(loops):
    """The first step differs from the others, so that as few as make a loop are left."""
    x, y = tensor(6, 5, 3), tensor(6, 5, 2, seed=1)
    weights = tensor(3, 4, seed=2), tensor(4, seed=3), tensor(4, 2, seed=4), tensor(2, seed=5)

    def loss(*given):
        v, b, w, c, x, y = given
        return ((ops.tanh(x @ v + b) @ w + c - y) ** 2).mean()

    def adapted(*given):
        *weights, x, y = given
        for _ in range(5):
            slopes = ms.grad(loss, (0, 1, 2, 3))(*weights, x, y)
            weights = [w - 0.1 * slope for w, slope in zip(weights, slopes, strict=True)]
        return loss(*weights, x, y)

    def fn(*weights):
        each = ms.vmap(adapted, (None, None, None, None, 0, 0))
        return ms.value_and_grad(lambda *w: each(*w, x, y).mean(), (0, 1, 2, 3))(*weights)

    agrees(fn, *weights)
    assert [count for made in loops for count, _ in made if count == 4] == [4, 4]


def test_stacks_are_made_of_pieces():
    """What lies in a stack is read from there in one piece, and the rest alone."""
    whole, alone = np.arange(20.0).reshape(10, 2), np.full(2, 7.0)

    def stacked(numbers, whole, alone):
        values = Values([whole, alone], [None, None])
        for n in range(10):
            values.part(10 + n, (0, 0), n)
        return values.stack(numbers)

    for numbers in ([*range(10, 19)], [*range(18, 11, -1)], [1, *range(18, 9, -1), 1],
                    [10, 14, 11, 19, 13, 12], [11]):
        stack = functools.partial(stacked, numbers)
        wanted = np.stack([whole[n - 10] if n > 1 else alone for n in numbers])
        np.testing.assert_array_equal(stack(whole, alone), wanted)
        assert len(jax.make_jaxpr(stack)(whole, alone).eqns) <= 7


def test_a_few_steps_with_weights_of_their_own_stay_apart(loops):
    """Their weights would have to be stacked in each call."""
    x, weights = tensor(3, 4), [tensor(4, 4, seed=1 + i) for i in range(5)]

    def fn(x, *weights):
        for w in weights:
            x = ops.tanh(x @ w) * 0.5 + x
        return x

    agrees(fn, x, *weights)
    assert loops == [[]]


def test_the_results_of_a_loop_are_stacked_in_one_piece(monkeypatch):
    names, applied = [], graph.apply
    monkeypatch.setattr(graph, "apply", lambda step, name, args: names.append(name) or applied(
        step, name, args))
    x = tensor(40, 3)

    def fn(x):
        h, found = x[0], []
        for t in range(1, 40):
            h = ops.tanh(h * 0.9 + x[t])
            found.append(h)
        return ops.stack(found[::-1], 1), h, found[-2]

    agrees(fn, x)
    assert "tanh.default" in names and "stack.default" not in names  # each part wasn't read alone
