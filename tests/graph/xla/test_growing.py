"""Loops over values that grow: caches by ``cat``, by lists, and slices that end later each step."""

import pytest
import torch

import lamella as ms
from lamella import ops
from lamella.graph.xla.lowering import growing
from lamella.graph.xla.lowering.boxes import PUT, TAKE
from lamella.graph.xla.lowering.growing import with_equal_sizes
from lamella.graph.xla.lowering.growing_rules import Length, through_view
from tests.graph.random_growing import check

from . import evaluated
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


def chain(op, shapes, dim, kinds=(F32,) * 9):
    """Steps that join the first three, four, ... of some inputs."""
    steps = []
    for count in range(3, len(shapes) + 1):
        shape = [*shapes[0]]
        if op == "cat.default":
            shape[dim] = sum(own[dim] for own in shapes[:count])
        else:
            shape.insert(dim % (len(shape) + 1), count)
        steps.append({"op": op, "to": len(shapes) + count, "aval": [shape, kinds[count]],
                      "args": [[{"n": n} for n in range(count)], dim]})
    return steps


@pytest.mark.parametrize("op, shapes, dim, pieces", [
    ("cat.default", [[2, 3]] * 7, 0, [2] * 7), ("cat.default", [[2, 3]] * 7, -1, [3] * 7),
    ("cat.default", [[size, 3] for size in (1, 2, 1, 3, 1, 2, 4)], 0, [1, 2, 1, 3, 1, 2, 4]),
    ("stack.default", [[2, 3]] * 7, 0, [1] * 7), ("stack.default", [[2, 3]] * 7, 1, [1] * 7),
    ("stack.default", [[2, 3]] * 7, -1, [1] * 7), ("stack.default", [[]] * 7, 0, [1] * 7)])
def test_lists_that_are_joined_in_each_step_are_written_piece_by_piece(op, shapes, dim, pieces):
    steps, made = chain(op, shapes, dim), torch.Generator().manual_seed(0)
    inputs = [torch.randn(shape, generator=made) for shape in shapes]
    ends = [step["to"] for step in steps]
    found, results = with_equal_sizes(steps, [[shape, F32] for shape in shapes], ends)
    wanted = evaluated.run(steps, dict(enumerate(inputs)))
    values = evaluated.run(found, dict(enumerate(inputs)))
    for end, result in zip(ends, results, strict=True):
        assert torch.equal(values[result], wanted[end])
    writes = [step for step in found if step["op"] == PUT]
    axis, first = dim % len(steps[0]["aval"][0]), 1 if op == "cat.default" else 3
    assert [step["args"][3][axis] for step in writes] == pieces[first:]
    assert [step["args"][2][axis] for step in writes] == [
        sum(pieces[:count]) for count in range(first, len(pieces))]


def test_lists_of_other_types_or_lengths_are_no_chain():
    kinds = [F32, F32, F32, F32, "float64", F32, F32, F32]
    for steps in (chain("cat.default", [[2]] * 7, 0, kinds)[:2],
                  chain("cat.default", [[2]] * 5, 0), chain("cat.default", [[2]] * 7, 0)[::2]):
        assert with_equal_sizes(steps, [[[2], F32]] * 7, [steps[-1]["to"]]) is None


def test_a_piece_of_another_type_is_not_joined_to_what_was_there():
    kinds = [F32] * 5 + ["float64"] * 3
    for op in ("cat.default", "stack.default"):
        steps = chain(op, [[2]] * 7, 0, kinds)
        made = [step for step in growing._as_chains(steps) if step["op"] != "view.default"]
        assert [len(step["args"][0]) for step in made] == [3, 2, 5, 2, 2]
        assert [step["op"] for step in made] == [op, "cat.default", op, *["cat.default"] * 2]
        assert [step["to"] for step in made] == [step["to"] for step in steps]


@pytest.mark.parametrize("steps", [
    [{"op": "cat.default", "to": 6 + n, "args": [[{"n": 5 + n}], 0], "aval": [[4], F32]}
     for n in range(5)],
    [{"op": "stack.default", "to": 6 + n, "args": [[{"n": 0}, {"n": 1 + n}], 0],
      "aval": [[2, 4], F32]} for n in range(5)]])
def test_joins_of_one_value_and_stacks_of_two_are_no_growth(steps):
    assert with_equal_sizes(steps, [[[4], F32]] * 6, [10]) is None


def test_parts_that_grow_in_several_dimensions():
    sizes = [(2, 2), (3, 2), (4, 3), (5, 3)]
    steps = [{"op": TAKE, "to": 1 + n, "args": [{"n": 0}, [0, 1], [a, b]], "aval": [[a, b], F32]}
             for n, (a, b) in enumerate(sizes)]
    made, _ = with_equal_sizes(steps, [[[9, 9], F32]], [1])
    assert [step["aval"] for step in made[:4]] == [[[5, 3], F32]] * 4


def test_a_first_piece_that_is_read_again_stays():
    steps, given = chain("stack.default", [[2]] * 7, 0), torch.arange(14.0).reshape(7, 2)
    steps.append({"op": "neg.default", "to": 20, "args": [{"n": 0}], "aval": [[2], F32]})
    found, (end,) = with_equal_sizes(steps, [[[2], F32]] * 7, [20])
    assert len({step["to"] for step in found} | {*range(7)}) == len(found) + 7
    assert torch.equal(evaluated.run(found, dict(enumerate(given)))[end], -given[0])


@pytest.mark.parametrize("count, grows", [(3, False), (4, True)])
def test_how_many_lengths_are_growth(count, grows):
    steps = [{"op": "slice.Tensor", "to": n, "args": [{"n": 0}, 0, 0, n + 1, 1],
              "aval": [[n + 1], F32]} for n in range(1, count + 1)]
    steps += [{**steps[0], "to": 9}]
    assert (with_equal_sizes(steps, [[[16], F32]], [1]) is not None) == grows
    joined = [{"op": "cat.default", "to": 1 + n, "args": [[{"n": n}, {"n": 0}], 0],
               "aval": [[2 * n + 4], F32]} for n in range(count)]
    assert (with_equal_sizes(joined, [[[2], F32]], [count]) is not None) == grows


def test_a_chain_begins_with_a_size_that_can_not_be_broadcast():
    """Of a dimension of one element it isn't known whether it is to be expanded."""
    steps = [{"op": "cat.default", "to": 2 + n, "args": [[{"n": 1 + n}, {"n": 0}], 0],
              "aval": [[n], F32]} for n in range(1, 7)]
    steps[0]["args"] = [[{"n": 2}, {"n": 0}], 0]
    inputs = [[[1], F32], [[1], F32], [[0], F32]]
    found, results = with_equal_sizes(steps, inputs, [3, 4])
    avals = {step["to"]: step["aval"] for step in found}
    assert avals[3] == [[1], F32] and results[0] == 3
    assert avals[4] == [[6], F32] and avals[results[1]] == [[2], F32]


@pytest.mark.parametrize("shape, lengths, view, wanted", [
    ([2, 5, 3], {1: Length(5, 8)}, [10, 3], {0: Length(5, 8, 2, 1)}),
    ([2, 5, 3], {1: Length(5, 8)}, [2, 15], {1: Length(5, 8, 1, 3)}),
    ([2, 5, 3], {1: Length(5, 8)}, [30], {0: Length(5, 8, 2, 3)}),
    ([10, 3], {0: Length(5, 8, 2, 1)}, [2, 5, 1, 3], {1: Length(5, 8)}),
    ([15, 2], {0: Length(5, 8, 1, 3)}, [5, 6], {0: Length(5, 8)}),
    ([3, 10], {1: Length(5, 8, 2, 1)}, [6, 5], {1: Length(5, 8)}),
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
