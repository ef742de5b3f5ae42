"""What code that ran may have read beyond what was searched."""

import pytest

from lamella.graph.guards.kinds import MOST_PARTS
from lamella.graph.guards.ran import not_found, uninspected, was_read
from lamella.graph.guards.search import reachable_from

LARGE = list(range(MOST_PARTS + 1))


def around():
    def inner():
        return LARGE

    return inner


def other():
    return 1


def by_a_computed_name(thing):
    return getattr(thing, "LAR" + thing.name)


def by_a_name_in_a_text():
    return {"LARGE": 1}


def test_functions_that_were_not_followed():
    reach = reachable_from(around)
    assert not_found(reach, [around.__code__, around().__code__]) == []
    assert not_found(reach, [around.__code__, other.__code__]) == [other.__code__]


@pytest.mark.parametrize("codes, read", [
    ([around], True), ([other], False), ([by_a_computed_name], True), ([other, around], True),
    ([by_a_name_in_a_text], True), ([], False)])
def test_large_containers_that_code_may_have_read(codes, read):
    reach = reachable_from(around)
    found = was_read(reach, [function.__code__ for function in codes])
    assert found == ({id(LARGE): LARGE} if read else {})


def test_variables_are_read_by_name_and_defaults_without_one():
    table, turns = dict.fromkeys(LARGE), iter([1])

    def reads():
        return table

    def holds(default=LARGE):
        return default

    def draws():
        return next(turns)

    for function, wanted in ((reads, table), (holds, LARGE), (draws, turns)):
        reach = reachable_from(function)
        assert was_read(reach, [function.__code__]) == {id(wanted): wanted}
        assert bool(was_read(reach, [other.__code__])) == (function is holds)
        # an iterator isn't read by asking for names
        assert bool(was_read(reach, [by_a_computed_name.__code__])) == (function is not draws)
    assert was_read(reachable_from(other), [by_a_computed_name.__code__]) == {}


def test_which_code_may_change_what_was_not_inspected():
    unknown = uninspected(reachable_from(around, other))
    assert [unknown(function.__code__) for function in (other, around, by_a_computed_name)] == [
        False, True, True]
    opened = uninspected(reachable_from(around, other, opened={id(LARGE): LARGE}))
    assert not opened(around.__code__)
