"""What is compared of the values of names, and what rules have in common."""

from collections import Counter, OrderedDict, defaultdict

import pytest

import lamella as ms
from lamella import Parameter, Tensor, nn, ops
from lamella.graph.guards.fingerprint import _shown, holds_tensors, kind_of_rule, slot
from lamella.graph.guards.kinds import LEVELS
from lamella.graph.guards.sources import ABSENT
from lamella.graph.guards.values import LONGEST

T = Tensor([1.0, 2.0])


def nested(depth):
    """A Tensor in so many lists."""
    found = T
    for _ in range(depth):
        found = [found]
    return found


def around_itself(*parts):
    found = [*parts]
    found.insert(0, found)
    return found


@pytest.mark.parametrize("value, holds", [
    ([T], True), ((1, T), True), ({"a": T}, True), ({"a": [1, (T,)]}, True), ([1, 2.0], False),
    ([], False), ({}, False), (OrderedDict(a=T), True), (defaultdict(list, a=T), True),
    (Counter(a=2), False), ([{T: 1}], False), ([{1, 2}], False),
    (nested(LEVELS + 1), True), (nested(LEVELS + 2), False),
    ([0] * (LONGEST - 1) + [T], True), ([0] * LONGEST + [T], False),
    (around_itself(), False), (around_itself(T), True),
    ([[1], [1], [T]], True)], ids=range(19))
def test_which_containers_hold_tensors(value, holds):
    assert holds_tensors(value) == holds


def same(first, second, together=False):
    """Whether the slots of two values are equal; those of pairs that are looked at together."""
    found = []
    for value in (first, second):
        seen: dict = {}
        found.append([slot(v, seen, None) for v in value] if together else slot(value, seen, None))
    return found[0] == found[1]


@pytest.mark.parametrize("first, second, equal", [
    (T, Tensor([5.0, 6.0]), True), (T, Tensor([1.0]), False), (T, Tensor([1, 2]), False),
    (T, Tensor([[1.0, 2.0]]), False), ([T], [Tensor([3.0, 4.0])], True), ([T], (T,), False),
    ([T, 1], [T, 2], False), ([T, 1], [T, 1.0], False), ([T], [T, T], False),
    ({"a": T}, {"b": T}, False), ({1: T}, {1.0: T}, False), ({1: T}, {True: T}, False),
    ({"a": T, "b": 1}, {"b": 1, "a": T}, False), ({"a": [T]}, {"a": [T * 2]}, True),
    ({"a": [T]}, {"a": (T,)}, False), (1, 1.0, False), (1, 1, True), ("a", "b", False)],
    ids=range(18))
def test_values_of_names(first, second, equal):
    assert same(first, second) == equal


def test_two_names_of_one_object_are_told_from_names_of_two():
    other = Tensor([3.0, 4.0])
    assert not same([T, T], [T, other], together=True)
    assert same([T, other], [other, T], together=True)
    both = [T]
    assert not same([both, both], [both, [T]], together=True)
    assert same([both, both], [[other]] * 2, together=True)
    pair = (T,)
    assert same([pair, pair], [pair, (T,)], together=True)  # tuples don't change


def test_attributes_of_tensors_count():
    first, second = Tensor([1.0, 2.0]), Tensor([1.0, 2.0])
    second.note = "own"
    assert not same(first, second)
    first.note = "own"
    assert same(first, second)


@pytest.mark.parametrize("first, second, equal", [
    (nn.ReLU(), nn.ReLU(), True), (nn.ReLU(), nn.Tanh(), False),
    (nn.MaxPool2d(2, 2), nn.MaxPool2d(2, 2), True), (nn.MaxPool2d(2, 2), nn.MaxPool2d(2, 1), False),
    (nn.SequentialCell(nn.ReLU(), nn.Tanh()), nn.SequentialCell(nn.ReLU(), nn.Tanh()), True),
    (nn.SequentialCell(nn.ReLU(), nn.Tanh()), nn.SequentialCell(nn.Tanh(), nn.ReLU()), False),
    (ops.Softmax(-1), ops.Softmax(-1), True), (ops.Softmax(-1), ops.Softmax(0), False)],
    ids=range(8))
def test_equal_rules_are_one_kind(first, second, equal):
    assert kind_of_rule(first) is not None
    assert (kind_of_rule(first) == kind_of_rule(second)) == equal


class Own(nn.Cell):
    def construct(self, x):
        return x


@pytest.mark.parametrize("rule", [
    nn.Dense(2, 3), nn.SequentialCell(nn.ReLU(), nn.Dense(2, 3)), Own(),
    nn.SequentialCell(Own()), T, Parameter(T, name="w"), 3, len, ms])
def test_what_holds_more_than_settings_is_no_such_rule(rule):
    assert kind_of_rule(rule) is None


@pytest.mark.parametrize("value", [3, 2.5, None, True], ids=str)
def test_how_plain_values_are_shown(value):
    assert _shown((type(value), value)) == repr(value)


def test_how_other_values_are_shown():
    assert _shown(ABSENT) == "nothing" and _shown("a text") == "a text"
    assert _shown((list, 3)) == _shown((int, 3, 4)) == _shown([int, 3]) == ""
    assert _shown((int, 3)) == "3" and len(_shown((int, 10**80))) == 60
