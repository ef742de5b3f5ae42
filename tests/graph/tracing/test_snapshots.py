"""Snapshots of objects: what has changed since then, and how it is put back."""

import array
import collections
import random
import types
from typing import Any

import numpy as np
import pytest

from lamella.graph.guards.search import reachable_from
from lamella.graph.guards.sources import ABSENT, Fixed
from lamella.graph.guards.values import GROWN, WHOLE
from lamella.graph.tracing.changes import (
    APPENDED,
    Change,
    GivenThing,
    Snapshot,
    assign,
    check_givable,
    compared,
    holder_of,
)
from lamella.graph.tracing.dry import has_changed
from lamella.graph.tracing.refusals import CannotTrace


class Slotted:
    __slots__ = ("first", "second")


class Plain:
    pass


class Kind:
    factor = 2.0


class Guarded:
    def __setattr__(self, name, value):
        raise AttributeError(name)

    __delattr__ = __setattr__  # type: ignore[assignment]


FLAG = 1.0


class World:
    """Objects of every kind, and a function that reaches them."""

    def __init__(self):
        self.thing, self.slotted = Plain(), Slotted()
        self.thing.count = 1
        self.slotted.first = 1
        self.table: dict[str, Any] = {"a": 1, "b": 2, "c": 3}
        self.numbers, self.nested = [1, 2, 3], {"inner": [1, {"deep": 1}]}
        self.names, self.queue = {"x", "y"}, collections.deque([1, 2], maxlen=3)
        self.array, self.bytes = np.array([1.0, np.nan]), bytearray(b"abc")
        self.whole = array.array("i", [1, 2])
        self.stream, self.of_numpy = random.Random(1), np.random.default_rng(1)
        self.kind = type("Kind", (), {"factor": 2.0, "other": 3.0})
        self.function, self.put = self._functions()
        Kind.factor = 2.0
        globals()["FLAG"] = 1.0
        globals().pop("LATER", None)

    def _functions(self):
        variable = 1.0
        own = vars(self).values()
        held = [thing for thing in own]

        def function():
            return (variable, FLAG, Kind.factor, held[0].count, held[1].first, held[1].second,
                    held[-1].factor, held[-1].other)

        def put(value):
            nonlocal variable
            variable = value

        return function, put

    def seen(self):
        return repr((vars(self.thing), [getattr(self.slotted, name, None) for name in (
            "first", "second")], list(self.table.items()), self.numbers, self.nested,
            sorted(self.names), self.queue, self.array, self.bytes, self.whole,
            self.stream.getstate(), self.of_numpy.bit_generator.state,
            vars(self.kind).get("factor"),
            vars(self.kind).get("other"), vars(self.kind).get("third"), Kind.factor, FLAG,
            globals().get("LATER"), self.function.__closure__[1].cell_contents
            if self.function.__closure__ else None))


def reorders(world):
    world.table["a"] = world.table.pop("a")


def refills(world):
    world.queue.append(5)
    world.queue.append(6)


def replaces_attributes(world):
    world.thing.__dict__ = {"count": 5}


CHANGES = {
    "an attribute": lambda w: setattr(w.thing, "count", 2),
    "a new attribute": lambda w: setattr(w.thing, "more", 2),
    "a removed attribute": lambda w: delattr(w.thing, "count"),
    "all attributes": replaces_attributes,
    "a slot": lambda w: setattr(w.slotted, "first", 2),
    "a slot that is filled": lambda w: setattr(w.slotted, "second", 2),
    "a slot that is emptied": lambda w: delattr(w.slotted, "first"),
    "an item": lambda w: w.table.update(a=5), "a new item": lambda w: w.table.update(d=5),
    "a removed item": lambda w: w.table.pop("b"), "an order": reorders,
    "an element": lambda w: w.numbers.__setitem__(0, 5), "more": lambda w: w.numbers.append(4),
    "less": lambda w: w.numbers.pop(), "other": lambda w: w.numbers.reverse(),
    "inside": lambda w: w.nested["inner"][1].update(deep=2),
    "a set": lambda w: w.names.add("z"), "a deque": lambda w: w.queue.append(3),
    "a full deque": refills, "an array": lambda w: w.array.__setitem__(0, 5.0),
    "bytes": lambda w: w.bytes.__setitem__(0, 5), "an array of ints": lambda w: w.whole.__setitem__(
        0, 5),
    "a stream": lambda w: w.stream.random(), "a stream of NumPy's": lambda w: w.of_numpy.random(),
    "a class": lambda w: setattr(w.kind, "factor", 5.0),
    "a class with more": lambda w: setattr(w.kind, "third", 5.0),
    "a class with less": lambda w: delattr(w.kind, "other"),
    "a class of the module": lambda w: setattr(Kind, "factor", 5.0),
    "a global": lambda w: globals().__setitem__("FLAG", 5.0), "a variable": lambda w: w.put(5.0)}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_seen_and_put_back(name):
    world = World()
    reach = reachable_from(world.function)
    before, seen = Snapshot(reach), world.seen()
    assert not has_changed(before) and list(before.changes()) == []
    CHANGES[name](world)
    assert world.seen() != seen and has_changed(before)
    before.restore()
    assert world.seen() == seen and not has_changed(before)


def test_streams_may_move_in_a_run_that_may_draw():
    world = World()
    before, seen = Snapshot(reachable_from(world.function), may_draw=True), world.seen()
    world.stream.random()
    random.random()
    np.random.rand()
    assert not has_changed(before) and world.seen() != seen
    place = random.getstate()
    before.restore()
    assert world.seen() == seen and random.getstate() != place


@pytest.mark.parametrize("draw", [random.random, np.random.rand])
def test_a_draw_of_the_modules_is_seen_and_put_back(draw):
    before = Snapshot(reachable_from(lambda: 1))
    first = draw()
    with pytest.raises(CannotTrace, match="draws random numbers that are not Lamella's"):
        list(before.changes())
    before.restore()
    assert draw() == first


def emptied(value):
    cell = types.CellType(value)
    del cell.cell_contents
    return cell


@pytest.mark.parametrize("holder, key, value, wanted", [
    ([1], APPENDED, [2, 3], [1, 2, 3]), ([1], GROWN, [2], [1, 2]), ([1], WHOLE, [4, 5], [4, 5]),
    (collections.deque([1], 2), APPENDED, [2, 3], collections.deque([2, 3], 2)),
    ({"a": 1}, "b", 2, {"a": 1, "b": 2}), ({"a": 1}, "a", ABSENT, {}),
    ({"a": 1}, "b", ABSENT, {"a": 1}), ({"a": 1, "b": 2}, WHOLE, {"b": 3}, {"b": 3}),
    ({1}, WHOLE, {2, 3}, {2, 3}), (types.CellType(1), None, 2, types.CellType(2)),
    (types.CellType(1), None, ABSENT, emptied(1))])
def test_assignments(holder, key, value, wanted):
    assign(holder, key, value)
    assert holder == wanted


def test_assignments_of_attributes():
    kind = type("Kind", (), {"factor": 2.0})
    assign(kind, "factor", 3.0)
    assign(kind, "other", 4.0)
    assert (kind.factor, kind.other) == (3.0, 4.0)  # type: ignore[attr-defined]
    assign(kind, "factor", ABSENT)
    assert not hasattr(kind, "factor")
    for thing in (Slotted(), Guarded()):  # not by the class's own way
        assign(thing, "first", 3)
        assert thing.first == 3
        assign(thing, "first", ABSENT)
        assert not hasattr(thing, "first")


def test_what_a_change_of_an_argument_changes():
    import dataclasses

    @dataclasses.dataclass
    class Own:
        first: int

    @dataclasses.dataclass
    class Few:
        __slots__ = ("first",)
        first: int

    own, few, held, table = Own(1), Few(1), [1], {"a": 1}
    assert compared(own) is vars(own) is holder_of(own)
    assert compared(few) == {"first": 1} and holder_of(few) is few
    assert holder_of(held) is held and holder_of(table) is table
    assert Change(GivenThing(1), "a").holder_now([own, table]) is table
    assert Change(GivenThing(0), "a").holder_now([own, table]) is vars(own)
    assert Change(held, 0).holder_now([]) is held and Change(Fixed(held), 0).holder_now([]) is held


@pytest.mark.parametrize("make", [lambda inner: [inner], lambda inner: {"a": inner},
                                  lambda inner: (inner,)])
@pytest.mark.parametrize("depth, may", [(64, True), (65, False)])
def test_how_deep_results_may_be_nested(make, depth, may):
    value: Any = 1
    for _ in range(depth):
        value = make(value)
    if may:
        check_givable(value, lambda _: False, "it returns")
    else:
        with pytest.raises(CannotTrace, match="objects that refer to each other"):
            check_givable(value, lambda _: False, "it returns")
