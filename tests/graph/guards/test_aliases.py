"""Which containers of some values are the same."""

from collections import deque

import pytest

from lamella.graph.guards.aliases import Aliases


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
    assert found(1, "a", (1, (2,)), None, 2.5) == []


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
    outer["b"][0] = [1]
    assert not aliases.hold()
    del outer["b"]
    assert not aliases.hold()
