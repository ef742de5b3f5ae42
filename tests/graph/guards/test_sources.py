"""Sources: where values live, and which parts of them are inputs of a graph."""

import types
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple

import pytest

from lamella import nn
from lamella.graph.guards.reachable import Reachable
from lamella.graph.guards.search import reachable_from
from lamella.graph.guards.sources import (
    ABSENT,
    DEEPEST,
    LONGEST,
    AnyOf,
    Attribute,
    Fixed,
    Global,
    OfClass,
    Slot,
    Source,
    Unguarded,
    Variable,
    kept_in,
    named,
    names_to,
    state_of,
)

Pair = namedtuple("Pair", "left right")


class Row(tuple):
    pass


class Noted(Pair):
    pass


class Plain:
    rate = 0.5

    def __init__(self, **held):
        self.__dict__.update(held)


class Slotted:
    __slots__ = ("a", "b")


def source_of(kind, value):
    """A source of a kind, whose value is this one."""
    if kind is Variable:
        return Variable(types.CellType(value), "a")
    if kind is Global:
        return Global({"a": value}, "a")
    if kind is OfClass:
        return OfClass(type("Own", (), {"a": value}), "a")
    if kind is Fixed:
        return Fixed(value, "a")
    thing = Slotted() if kind is Slot else Plain()
    thing.a = value
    return kind(thing, "a")


KINDS = [Attribute, Slot, Global, OfClass, Variable, Source]


@pytest.mark.parametrize("kind, text", [
    (Attribute, "the attribute 'a' of Plain"), (Slot, "the attribute 'a' of Slotted"),
    (Global, "the global 'a'"), (OfClass, "the attribute 'a' of Own"),
    (Variable, "the variable 'a'"), (Source, "the attribute 'a' of Plain"),
    (Fixed, "an object that it reads")])
def test_values_at_sources(kind, text):
    held = {"k": [1, (2, Pair(3, 4))]}
    source = source_of(kind, held)
    assert source.get() is held and source.is_keyed() and source.describe() == text
    inner = source.at("k").at(1).at(1).at(0)
    assert inner.get() == 3 and inner.describe() == text + "['k'][1][1][0]"
    assert inner.path == ("k", 1, 1, 0) and inner.names() == {"a", "k"}
    assert source.at("k").at(1).is_keyed() and not inner.is_keyed()
    assert not source.at("k").at(1).at(1).is_keyed()  # of a class of its own
    assert not inner.at(0).is_keyed() and not source.at("m").at(0).is_keyed()
    for missing in (source.at("m"), source.at("k").at(5), inner.at(0), source.at("k").at("m"),
                    source.at("m").at("n")):
        assert missing.get() is ABSENT
    assert inner.identity == source.at("k").at(1).at(1).at(0).identity != source.at("k").identity
    other = source_of(kind, dict(held))
    assert inner.identity != other.at("k").at(1).at(1).at(0).identity


@pytest.mark.parametrize("kind", KINDS)
def test_values_put_at_sources(kind):
    first, pair = [1, 2], Pair(3, 4)
    source = source_of(kind, {"k": first, "p": (5, pair)})
    held = source.get()
    source.at("k").at(0).set(6)
    assert held["k"] is first and first == [6, 2]
    inner = source.at("p").at(1).at(0)
    inner.set(7)
    assert held["p"] == (5, (7, 4)) and type(held["p"][1]) is Pair and pair == (3, 4)
    assert inner.whole().path == ("p",) and source.at("k").at(0).whole().path == ("k", 0)
    if kind is not Slot:
        source.set((8, 9))
        assert source.get() == (8, 9) and source.at(1).whole().path == ()
        source.at(1).set(0)
        assert source.get() == (8, 0)


def test_names_that_are_missing():
    space: dict = {}
    source = Global(space, "a")
    assert source.get() is ABSENT
    source.set(1)
    assert space == {"a": 1}
    source.set(ABSENT)
    source.set(ABSENT)
    assert space == {}
    assert Attribute(Plain(), "a").get() is ABSENT is Slot(Slotted(), "a").get()
    assert OfClass(Plain, "a").get() is ABSENT and OfClass(Plain, "rate").get() == 0.5
    assert Variable(types.CellType(), "a").get() is ABSENT
    assert Fixed(3).names() == frozenset() and names_to(Fixed(3)) is None is names_to(None)
    assert names_to(Fixed(3, "a")) == {"a"}
    assert type(named(Plain, "a")) is OfClass and type(named(space, "a")) is Global


def nested(depth, value):
    for _ in range(depth):
        value = [value]
    return value


def paths_inside(value):
    """The paths of what is looked at inside of a value."""
    return [source.path for source, _ in Fixed(value).inside(value)]


@pytest.mark.parametrize("value, paths", [
    (1, [()]), ([1, 2], [(), (0,), (1,)]), ((1, [2]), [(), (0,), (1,), (1, 0)]),
    ({"a": 1, 2: 3, 2.5: 4, None: 5}, [(), ("a",), (2,)]), (Pair(1, 2), [(), (0,), (1,)]),
    (OrderedDict(a=1), [(), ("a",)]), (defaultdict(list, a=1), [(), ("a",)]),
    (Counter("a"), [(), ("a",)]), ({1, 2}, [()]), (deque([1]), [()]), ("text", [()]),
    (Row((1, 2)), [()])])
def test_what_is_inside_of_a_value(value, paths):
    assert paths_inside(value) == paths
    for source, part in Fixed(value).inside(value):
        assert source.get() is part


def test_how_much_is_looked_at_inside_of_a_value():
    assert len(paths_inside([0] * LONGEST)) == LONGEST + 1
    assert paths_inside([0] * (LONGEST + 1)) == [()]
    assert len(paths_inside(nested(DEEPEST, 1))) == DEEPEST + 1
    assert len(paths_inside(nested(DEEPEST + 1, 1))) == DEEPEST + 1
    around: list = [1]
    around.append(around)
    assert paths_inside(around) == [(), (0,), (1,)]


def test_the_state_of_objects():
    assert state_of(Plain(a=1, b=2)) == [("a", 1), ("b", 2)]
    cell = nn.Dense(2, 3)
    found = dict(state_of(cell))
    assert found["in_channels"] == 2 and not {"_params", "_cells", "_buffers"} & found.keys()


TREE = {"a": 1.0, "b": [2.0, (3.0, 4)], "c": Pair(5.0, "t"), "d": 6}


@pytest.mark.parametrize("paths, guarded", [
    ([()], AnyOf(dict)), ([("a",)], {**TREE, "a": AnyOf(float)}),
    ([("b", 0)], {**TREE, "b": [AnyOf(float), (3.0, 4)]}),
    ([("b", 1, 0), ("b", 0), ("a",)], {**TREE, "a": AnyOf(float),
                                       "b": [AnyOf(float), (AnyOf(float), 4)]}),
    ([("c", 0)], {**TREE, "c": Pair(AnyOf(float), "t")}),
    ([("b",)], {**TREE, "b": AnyOf(list)}), ([("b",), ("b", 0)], {**TREE, "b": AnyOf(list)}),
    ([("e",)], TREE), ([("b", 2)], TREE), ([("b", "a")], TREE), ([("d", 0)], TREE),
    ([("b", 1, 2)], TREE)])
def test_the_guarded_part_of_a_value(paths, guarded):
    thing = Plain(a=TREE)
    free = Unguarded([Attribute(thing, "a")] if paths == [()] else [
        _at(Attribute(thing, "a"), path) for path in paths])
    found = free.guarded(vars(thing), "a", TREE)
    assert found == guarded and repr(found) == repr(guarded)
    assert free.has(vars(thing), "a") and not free.has(vars(thing), "b") and free
    assert free.guarded(vars(thing), "b", TREE) is TREE and not free.has(thing, "a")


def test_the_guarded_part_of_a_tuple_with_attributes():
    value = Noted(1.5, 2)
    value.note = "kept"
    found = Unguarded([Fixed(value).at(0)]).guarded(value, None, value)
    assert type(found) is Noted and found == (AnyOf(float), 2) and found.note == "kept"
    assert value == (1.5, 2)


def _at(source, path):
    for step in path:
        source = source.at(step)
    return source


@pytest.mark.parametrize("make", [OrderedDict, lambda a, b: defaultdict(list, a=a, b=b), Counter])
def test_the_guarded_part_of_a_dict_of_another_class(make):
    value = make(a=1, b=2)
    found = Unguarded([Fixed(value).at("b"), Fixed(value).at("c")]).guarded(value, None, value)
    assert type(found) is type(value) and found == {"a": 1, "b": AnyOf(int)}
    assert value == {"a": 1, "b": 2} and not Unguarded()


class Net(nn.Cell):
    shared = 3.0

    def __init__(self):
        super().__init__()
        self.rate, self.steps = 0.5, {"k": [1.5, 2]}
        self.slotted = Slotted()
        self.slotted.a = 4.5

    def construct(self, x):
        return x * self.rate * self.steps["k"][0] * SCALE * self.shared * self.slotted.a


SCALE = 2.5


def test_numbers_that_a_run_may_read():
    by = 6.5
    net = Net()
    fn = lambda x: net(x) * by  # noqa: E731
    reach = reachable_from(fn)
    assert isinstance(reach, Reachable)
    found = kept_in(reach, {float})
    values = {source.describe(): value for source, value in found.values()}
    wanted = {"the attribute 'rate' of Net": 0.5, "the attribute 'steps' of Net['k'][0]": 1.5,
              "the attribute 'shared' of Net": 3.0, "the variable 'by'": 6.5,
              "the global 'SCALE'": 2.5, "the attribute 'a' of Slotted": 4.5}
    assert wanted.items() <= values.items()
    assert all(type(value) is float for value in values.values())
    assert all(found[source.identity][0] is source for source, _ in found.values())
