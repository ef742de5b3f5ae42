"""Loops over values that grow: caches by ``cat``, by lists, and slices that end later each step."""

import pytest

import lamella as ms
from lamella import ops
from lamella.graph.xla.lowering.growing import with_equal_sizes
from lamella.graph.xla.lowering.growing_rules import Length, through_view
from tests.graph.random_growing import check

from .test_rolling import agrees, loops, tensor  # noqa: F401  (a fixture)

F32 = "float32"


def counts(loops):  # noqa: F811
    return [count for made in loops for count, _ in made]


def joined(w, x):
    """A decoder whose cache grows by ``cat``."""
    h, keys, total = x[0], ops.zeros((0, 4)), 0.0
    for t in range(12):
        keys = ops.cat([keys, (h @ w)[None]])
        h = ops.tanh(ops.softmax(keys @ h) @ keys + x[t])
        total = total + (h * h).sum()
    return total


def sliced(w, x):
    """A decoder that reads the part of its cache that is filled."""
    h, keys, total = x[0], ops.zeros((12, 4)), 0.0
    for t in range(12):
        keys[t] = h @ w
        h = ops.tanh(ops.softmax(keys[:t + 1] @ h) @ keys[:t + 1] + x[t])
        total = total + (h * h).sum()
    return total


def again(w, x):
    """Attention over all tokens so far, in each step; two sequences, so views join dimensions."""
    far, total = ops.triu(ops.ones((12, 12)), 1) * -1e9, 0.0
    two = ops.stack([x, x * 0.5])
    for t in range(2, 12):
        y = two[:, :t]
        scores = ops.softmax((y @ w) @ y.swapaxes(1, 2) + far[:t, :t])
        total = total + (ops.tanh(scores @ y)[:, -1] ** 2).sum()
    return total


@pytest.mark.parametrize("fn", [joined, sliced, again])
def test_growing_caches_and_their_gradients(loops, fn):  # noqa: F811
    agrees(lambda *args: ms.value_and_grad(fn, (0, 1))(*args), tensor(4, 4), tensor(12, 4, seed=1))
    assert len(counts(loops)) >= 2
    assert sorted(counts(loops))[-2] >= 7


def test_a_list_that_is_stacked_in_each_step(loops):  # noqa: F811
    def fn(w, x):
        h, seen = x[0], []
        for t in range(12):
            seen.append(h @ w)
            keys = ops.stack(seen)
            h = ops.tanh((ops.softmax(keys @ h)[:, None] * keys).sum(0) + x[t])
        return h, ops.stack(seen)

    agrees(fn, tensor(4, 4), tensor(12, 4, seed=1))
    assert max(counts(loops)) >= 9


def test_what_has_no_rule_gets_the_part_that_counts(loops):  # noqa: F811
    def fn(w, x):
        h, keys, found = x[0], x[:1], []
        for _ in range(8):
            keys = ops.cat([keys, h[None]])
            h = ops.tanh(h @ w + ops.cumsum(keys, 0)[-1] + keys[len(keys) // 2])
            found.append(keys)
        return found

    agrees(fn, tensor(4, 4), tensor(8, 4, seed=1))


def test_infinite_and_missing_numbers_beyond_the_length_are_not_read(loops):  # noqa: F811
    def fn(w, x):
        h, table = x[0], ops.zeros((12, 4)) - float("inf")
        for t in range(12):
            table[t] = h
            part = table[:t + 1]
            h = ops.tanh((ops.exp(part) @ w).sum(0) * 0.1 + (part * 0.5).mean(0) + ops.amax(part, 0)
                         + ops.log(part * part).sum(0) * 0.01)
        return h

    agrees(fn, tensor(4, 4), tensor(12, 4, seed=1))
    assert max(counts(loops)) >= 9


def test_parts_of_several_sizes_that_are_no_loop_stay_as_they_are(loops):  # noqa: F811
    agrees(lambda x: [x[:n].sum() * (x[:n] + 1) for n in (2, 4, 8, 16)], tensor(16))
    assert loops == [[]] or counts(loops) == []


def test_nothing_grows_in_most_graphs():
    steps = [{"op": "slice.Tensor", "to": 1 + n, "args": [{"n": 0}, 0, n, n + 2, 1],
              "aval": [[2], F32]} for n in range(8)]
    assert with_equal_sizes(steps, [[[16], F32]], [1, 8]) is None


def test_the_numbers_of_results_are_those_of_the_parts_that_count():
    steps = [{"op": "slice.Tensor", "to": n, "args": [{"n": 0}, 0, 0, n, 1], "aval": [[n], F32]}
             for n in range(1, 9)]
    made, results = with_equal_sizes(steps, [[[16], F32]], [1, 3])
    avals = {step["to"]: step["aval"] for step in made}
    assert avals[1] == [[1], F32]  # a dimension of one element may be broadcast
    assert avals[3] == [[8], F32]
    assert results[0] == 1
    assert avals[results[1]] == [[3], F32]


@pytest.mark.parametrize("shape, lengths, view, wanted", [
    ([2, 5, 3], {1: Length(5, 8)}, [10, 3], {0: Length(5, 8, 2, 1)}),
    ([2, 5, 3], {1: Length(5, 8)}, [2, 15], {1: Length(5, 8, 1, 3)}),
    ([2, 5, 3], {1: Length(5, 8)}, [30], {0: Length(5, 8, 2, 3)}),
    ([10, 3], {0: Length(5, 8, 2, 1)}, [2, 5, 1, 3], {1: Length(5, 8)}),
    ([5, 5], {0: Length(5, 8), 1: Length(5, 8)}, [1, 5, 5], {1: Length(5, 8), 2: Length(5, 8)}),
    ([5, 5], {0: Length(5, 8), 1: Length(5, 8)}, [25], None),
    ([6], {0: Length(6, 8)}, [2, 3], None),
], ids=str)
def test_lengths_of_views(shape, lengths, view, wanted):
    assert through_view(shape, lengths, view) == wanted


@pytest.mark.parametrize("derive", [0, 1])
def test_random_programs(loops, derive):  # noqa: F811
    for seed in range(4):
        check(seed + 1, derive)
