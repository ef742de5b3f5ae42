"""Which containers of some values are the same."""

from collections import defaultdict, deque

import numpy as np
import pytest

from lamella.graph.guards.aliases import Aliases
from lamella.graph.guards.sources import AnyOf


def found(*values, opened=None, depth=3):
    aliases = Aliases(opened)
    for value in values:
        aliases.add(value, depth=depth)
    return aliases.found


@pytest.mark.parametrize("make", [list, dict, set, deque])
def test_the_same_container_has_the_same_number(make):
    one, other = make(), make()
    assert found(one, other, one) == [0, 1, 0]
    assert found([one], {"a": other}, (one,)) == [0, 1, 2, 3, 1]


def test_what_a_run_cannot_change_has_no_number():
    assert found(1, "a", (1, (2,)), None, 2.5, object(), frozenset([1]), np.ones(2), len) == []


def test_containers_that_hold_themselves_end():
    inner = []
    inner.append(inner)
    assert found(inner, inner) == [0, 0, 0]


def test_depth_and_size_limit_what_is_looked_into():
    inner = []
    assert found([[inner]], inner) == [0, 1, 2, 2]
    assert found([[inner]], inner, depth=1) == [0, 1, 2]
    large = [inner, *range(10_000)]
    assert found(large, inner, opened={}) == [0, 1]
    assert found(large, inner, opened={id(large): large}) == [0, 1, 1]


def test_it_is_seen_that_containers_were_replaced():
    inner = [1]
    outer = {"a": inner, "b": [inner]}
    aliases = Aliases()
    aliases.add(outer)
    assert aliases.hold()
    inner[0] = 2
    assert aliases.hold()
    outer["c"] = [object(), np.ones(2)]
    aliases.add(outer["c"])
    outer["c"][:] = [object(), np.ones(2)]  # no containers of Python's
    assert aliases.hold()
    outer["b"][0] = [1]
    assert not aliases.hold()
    del outer["b"]
    assert not aliases.hold()


def test_a_dict_gets_no_value_for_a_key_that_is_gone():
    table = defaultdict(list, a=[1], b=[2])
    aliases = Aliases()
    aliases.add(table)
    assert aliases.hold()
    del table["a"]
    assert not aliases.hold() and table == {"b": [2]}


@pytest.mark.parametrize("make", [set, frozenset])
def test_what_is_in_a_set_has_no_place(make):
    aliases, held, other = Aliases(), [make([(1, 2)])], (1, deque([[1]]))
    aliases.add(held)
    assert aliases.hold() == (make is frozenset)  # which doesn't change
    aliases.add(other)
    assert aliases.found == ([0, 1, 2, 3] if make is set else [0, 1, 2])


@pytest.mark.parametrize("given, looked_into", [
    (AnyOf(list), False), ([AnyOf(list), [1]], True), ([[2], AnyOf(list)], True), (None, True)])
def test_what_may_change_is_not_looked_into(given, looked_into):
    inner, other = [1], [2]
    aliases = Aliases()
    aliases.add([inner, other], given)
    assert len(aliases.found) == (3 if looked_into else 1)
    aliases.add(inner)
    assert aliases.found[-1] == 1


def test_the_inside_of_what_may_change():
    inner, deep = [1], [[3]]
    aliases = Aliases()
    aliases.add([inner, deep, [4]], [[1], AnyOf(list), [4]])
    assert aliases.found == [0, 1, 2, 3]  # not that inside of the second
