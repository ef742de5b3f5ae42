"""Slices in rows become parts of a stack, and what is concatenated becomes a stack; by NumPy."""

import numpy as np
import pytest

from lamella.graph.xla.lowering.rolling import is_part
from lamella.graph.xla.lowering.slices import with_parts

F32 = "float32"


def numpy_of(step, values):
    """What a step computes."""
    op, args = step["op"], step["args"]
    if op == "slice.Tensor":
        source, dim, start, end, stride = args
        index = [slice(None)] * values[source["n"]].ndim
        index[dim] = slice(start, end, stride)
        return values[source["n"]][tuple(index)]
    if op == "view.default":
        return values[args[0]["n"]].reshape(args[1])
    if op == "select.int":
        return values[args[0]["n"]].take(args[2], args[1])
    several = [values[part["n"]] for part in args[0]]
    return {"cat.default": np.concatenate, "stack.default": np.stack}[op](several, args[1])


def check(steps, *inputs):
    """The steps that are made of these, which have avals and give the same results."""
    def run(steps):
        values = dict(enumerate(inputs))
        for step in steps:
            values[step["to"]] = numpy_of(step, values)
            assert [*values[step["to"]].shape] == step["aval"][0], step
        return values

    made = with_parts(steps, [[[*x.shape], F32] for x in inputs])
    wanted, found = run(steps), run(made)
    for step in steps:
        np.testing.assert_array_equal(found[step["to"]], wanted[step["to"]])
    assert len({step["to"] for step in made}) == len(made)
    return made


def sliced(x, dim, starts, length, stride=1, source=0, ends=None):
    """A step for each of these starts."""
    first = 1
    steps = []
    for number, start in enumerate(starts):
        end = start + length if ends is None else ends[number]
        step = {"op": "slice.Tensor", "to": first + number,
                "args": [{"n": source}, dim, start, end, stride]}
        made = numpy_of(step, {source: x})
        steps.append({**step, "aval": [[*made.shape], F32]})
    return steps


X = np.arange(2 * 12 * 5, dtype=np.float32).reshape(2, 12, 5)


@pytest.mark.parametrize("dim, starts, length, cut", [
    (1, [0, 3, 6, 9], 3, [2, 4, 3, 5]), (-2, [9, 6, 3, 0], 3, [2, 4, 3, 5]),
    (1, [2, 4, 8, 10], 2, [2, 6, 2, 5]), (2, [0, 1, 2, 4], 1, [2, 12, 5, 1]),
    (1, [-12, 1, 11, 5, 1], 1, [2, 12, 1, 5])])
def test_chunks_are_selected_from_their_stack(dim, starts, length, cut):
    ends = [start + length if start + length else X.shape[dim] for start in starts]
    view, *made = check(sliced(X, dim, starts, length, ends=ends), X)
    assert (view["op"], view["args"], view["aval"]) == (
        "view.default", [{"n": 0}, cut], [cut, F32]) and is_part(view)
    assert [(step["op"], step["args"]) for step in made] == [
        ("select.int", [{"n": view["to"]}, dim % 3, start % X.shape[dim] // length])
        for start in starts]


@pytest.mark.parametrize("dim, starts, length", [
    (1, [0, 1, 2, 3], 3),  # windows
    (1, [0, 3, 6, 8], 3),  # one of which lies otherwise
    (1, [0, 5, 10, 1], 2), (2, [0, 2, 1, 3], 2),  # the whole isn't a number of chunks
])
def test_other_rows_are_parts_as_they_are(dim, starts, length):
    steps = sliced(X, dim, starts, length)
    assert check(steps, X) == [{**step, "part": True} for step in steps]


@pytest.mark.parametrize("steps", [
    sliced(X, 1, [0, 3, 6], 3),  # too few
    sliced(X, 1, [0, 3, 3, 6], 3),  # one of them twice
    sliced(X, 1, [0, 4, 8, 2], 3, 2),  # with steps of two
    sliced(X, 1, [0, 0, 0, 0], 12),  # the whole
    sliced(X, 1, [3, 4, 5, 6], 0),  # nothing
    [*sliced(X, 1, [0, 3], 3), *sliced(X, 1, [0, 2, 4], 2)],  # of several lengths
    [*sliced(X, 1, [0, 1], 1), *sliced(X, 2, [2, 3], 1)],  # along several dimensions
    sliced(X, 1, [-20, -19, -18, -17], 0, ends=[3, 3, 3, 3])])  # which begin before the whole
def test_slices_that_are_no_row_stay(steps):
    steps = [{**step, "to": 1 + number} for number, step in enumerate(steps)]
    assert check(steps, X) == steps


def test_rows_of_two_values():
    other = X[:, ::-1] * 2
    steps = [step for starts in ((0, 3), (6, 9)) for source in (0, 1) for step in sliced(
        X if source == 0 else other, 1, starts, 3, source=source)]
    steps = [{**step, "to": 2 + number} for number, step in enumerate(steps)]
    made = check(steps, X, other)
    assert [step["op"] for step in made] == [
        "view.default", "select.int", "select.int", "view.default", *["select.int"] * 6]


def test_a_slice_without_a_start():
    steps = sliced(X, 1, [0, 3, 6, 9], 3)
    steps[0]["args"][2] = None
    assert check(steps, X)[1]["args"][2] == 0


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("count", [3, 4, 5])
def test_what_is_concatenated_is_stacked(dim, count):
    parts = [X[:, :3] + number for number in range(count)]
    made = np.concatenate(parts, dim)
    step = {"op": "cat.default", "to": count, "args": [[{"n": n} for n in range(count)], dim],
            "aval": [[*made.shape], F32]}
    found = check([step], *parts)
    assert [s["op"] for s in found] == (
        ["stack.default", "view.default"] if count > 3 else ["cat.default"])
    assert found[-1]["to"] == count and found[0]["args"][1] == (dim % 3 if count > 3 else dim)


@pytest.mark.parametrize("shapes, kinds", [
    ([[2, 3]] * 3 + [[2, 4]], [F32] * 5), ([[2, 3]] * 4, [F32] * 3 + ["float64", "float64"]),
    ([[2, 3]] * 4, [F32] * 4 + ["float64"])])
def test_what_differs_is_not_stacked(shapes, kinds):
    inputs = [[shape, kind] for shape, kind in zip(shapes, kinds[:4], strict=True)]
    step = {"op": "cat.default", "to": 4, "args": [[{"n": n} for n in range(4)], 1],
            "aval": [[2, sum(shape[1] for shape in shapes)], kinds[4]]}
    assert with_parts([step], inputs) == [step]
