"""What stands for `and`, `or` and calls in loops that ask Tensors, where nothing is rehearsed."""

import itertools

import numpy as np
import pytest

from lamella import Tensor, ops
from lamella.graph.tracing.loop_values import all_of, any_of, item, not_of, number, truth, whole

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


def test_what_python_does_not_ask_is_not_asked():
    both = np.ones(2)  # has no truth value
    for joined in (all_of, any_of):
        assert joined(lambda: both) is both
    assert all_of(lambda: 1, lambda: both) is both and any_of(lambda: 0, lambda: both) is both
    with pytest.raises(ValueError, match="ambiguous"):
        all_of(lambda: both, lambda: 1)


@pytest.mark.parametrize("value", [*VALUES, ops.ones(1) > 0, ops.ones(1) < 0],
                         ids=range(len(VALUES) + 2))
def test_the_truth_of_a_value(value):
    assert not_of(value) is (not value) and truth(bool, value) is bool(value)


@pytest.mark.parametrize("value", [2, 2.5, True, "3"])
def test_numbers_of_a_value(value):
    given = value if isinstance(value, str) else Tensor(value)
    assert number(float, given) == float(value) and type(number(float, given)) is float
    if value != 2.5:
        assert whole(int, given) == int(value) and type(whole(int, given)) is int
    assert truth(str, value) == str(value)  # what the program calls so
