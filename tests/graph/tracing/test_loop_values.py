"""What stands for `and`, `or` and calls in loops that ask Tensors, where nothing is rehearsed."""

import itertools

import pytest

from lamella import Tensor, ops
from lamella.graph.tracing.loop_values import all_of, any_of, item

VALUES = (0, 3, "", "a", [], [0], None, True, False, 0.0)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_as_pythons_operators(count):
    for values in itertools.product(VALUES, repeat=count):
        asked = []

        def part(value, asked=asked):
            asked.append(value)
            return value

        parts = [lambda value=value, part=part: part(value) for value in values]
        for joined, ends in ((all_of, False), (any_of, True)):
            first = next((i for i, v in enumerate(values) if bool(v) is ends), count - 1)
            asked.clear()
            found = joined(*parts)
            assert found is values[first] and asked == [*values[:first + 1]]


def test_tensors_are_asked_as_by_pythons_operators():
    yes, no = ops.ones(1) > 0, ops.ones(1) < 0
    assert all_of(lambda: yes, lambda: no) is no and all_of(lambda: no, lambda: 1 / 0) is no
    assert any_of(lambda: no, lambda: yes) is yes and any_of(lambda: yes, lambda: 1 / 0) is yes


@pytest.mark.parametrize("value", [2, 2.5, True])
def test_the_number_of_a_tensor(value):
    found = item(Tensor(value))
    assert type(found) is type(value) and found == value
