"""Values of a graph and the stacks that they are parts of, beside NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lamella.graph.xla.lowering.values import Values

X = np.arange(24, dtype=np.float32).reshape(2, 4, 3)


class Made:
    """Counts how often a stack is made."""

    def __init__(self, value):
        self.value, self.count = value, 0

    def __call__(self):
        self.count += 1
        return self.value


def values_of(*inputs, orders=None):
    return Values([jnp.asarray(x) for x in inputs], orders or [None] * len(inputs))


def test_inputs_are_in_the_order_that_the_graph_has():
    values = values_of(X, X, orders=[[2, 0, 1], None])
    np.testing.assert_array_equal(values[0], X.transpose(2, 0, 1))
    np.testing.assert_array_equal(values[1], X)
    assert values.after(1)(0) is values[1]


def test_arguments_are_read():
    values = values_of(X, X[0])
    assert values.read([{"n": 1}, [2, {"complex": [1.0, -2.0]}], {"dtype": "float32"}, None]) == [
        values[1], [2, 1 - 2j], "float32", None]


@pytest.mark.parametrize("dim, which", [(0, 1), (0, -2), (1, 3), (1, -1), (2, -3)])
def test_a_part_is_taken_when_it_is_read(dim, which):
    values = values_of(X)
    values.part(5, (0, dim), which)
    np.testing.assert_array_equal(values[5], X.take(which, dim))


def test_a_stack_is_made_once_and_only_if_it_is_read():
    values, read, other = values_of(X), Made(jnp.asarray(X)), Made(jnp.asarray(X))
    values.several(7, read)
    values.several(8, other)
    for number, which in ((9, 1), (10, 0)):
        values.item(number, 7, which)
        values.item(number + 2, 8, which)
    assert read.count == 0
    np.testing.assert_array_equal(values[9], X[1])
    np.testing.assert_array_equal(values[10], X[0])
    assert read.count == 1 and other.count == 0
    values[20] = [jnp.asarray(X[0]), jnp.asarray(X[1])]
    values.item(21, 20, 1)
    np.testing.assert_array_equal(values[21], X[1])


ROWS = np.arange(18, dtype=np.float32).reshape(6, 3)


@pytest.mark.parametrize("places, is_gathered", [
    ([0, 1, 2, 3, 4, 5], False), ([2, 3, 4], False), ([3], False), ([5, 4, 3, 2, 1, 0], False),
    ([4, 3], False), ([1, 2, 4], True), ([4, 2, 0], True), ([2, 2], True), ([1, 0, 2], True)])
def test_parts_together_are_a_part_of_their_stack(places, is_gathered):
    def stacked(rows):
        values = Values([], [])
        values.keep_stack([*range(10, 16)], rows)
        return values.stack([10 + place for place in places])

    np.testing.assert_array_equal(jax.jit(stacked)(ROWS), ROWS[places])
    assert ("gather" in str(jax.make_jaxpr(stacked)(ROWS))) == is_gathered


def test_stacks_of_parts_of_several_and_of_single_values():
    values = values_of(ROWS[0] * 2, ROWS[1] * 3)
    values.keep_stack([*range(10, 16)], jnp.asarray(ROWS))
    values.keep_stack([*range(20, 26)], jnp.asarray(-ROWS))
    found = values.stack([0, 12, 13, 21, 20, 1, 10])
    np.testing.assert_array_equal(found, np.stack([
        ROWS[0] * 2, ROWS[2], ROWS[3], -ROWS[1], -ROWS[0], ROWS[1] * 3, ROWS[0]]))
    np.testing.assert_array_equal(values.stack([0, 1]), np.stack([ROWS[0] * 2, ROWS[1] * 3]))


@pytest.mark.parametrize("numbers, expected", [
    ([10, 11], True), ([10, 20], True), ([10, 0], True), ([0], False), ([0, 1], False),
    ([10, 1], False), ([10, 30], False), ([0, 1, 10], False)])
def test_which_values_are_stacked_as_parts(numbers, expected):
    values = values_of(ROWS[0], ROWS[0].astype(np.int32))
    values.keep_stack([10, 11], jnp.asarray(ROWS[:2]))
    values.keep_stack([20, 21], jnp.asarray(-ROWS[:2]))
    values.keep_stack([30, 31], jnp.asarray(ROWS[:2].astype(np.int32)))
    assert values.has_parts(numbers) == expected


@pytest.mark.parametrize("numbers, expected", [
    ([0], False), ([1], True), ([0, 1], True), ([10, 12], False), ([10, 11], True), ([11], True),
    ([0, 10], False), ([0, 12, 11], True), ([10, 12, 0, 1], True), ([2, 0], False)])
def test_whether_any_element_is_set(numbers, expected):
    values = values_of(np.zeros(3, np.int32), np.array([0, 0, 4], np.int32), np.array(False))
    rows = np.zeros((3, 2), np.float32)
    rows[1, 0] = -0.5
    values.keep_stack([10, 11, 12], jnp.asarray(rows))
    assert bool(values.any_of(numbers)) == expected
