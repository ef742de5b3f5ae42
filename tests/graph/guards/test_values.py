"""How each kind of values is compared, copied and put back."""

import array
import contextvars
import enum
import functools
import random
import types
from collections import Counter, OrderedDict, defaultdict, deque

import numpy as np
import pytest

from lamella import Parameter, Tensor
from lamella.graph.guards.kinds import (
    BUILT_IN,
    LEVELS,
    MOST_BYTES,
    MOST_PARTS,
    in_another_order,
)
from lamella.graph.guards.sources import ABSENT
from lamella.graph.guards.values import (
    GROWN,
    LONGEST,
    WHOLE,
    comparable,
    has_changed,
    is_fixed,
    kind_of,
)


class Number(int):
    pass


class Level(int):
    __slots__ = ()


class Decimal(float):
    pass


class Colour(enum.IntEnum):
    RED = 1
    ALSO = 2


class Noted(tuple):
    pass


class Matrix(np.ndarray):
    pass


class Bytes(bytearray):
    pass


class Single(np.float32):
    pass


class Shown(dict):
    def items(self):
        return []

    copy = keys = values = items


class Plain:
    pass


class Alike:
    def __eq__(self, other):
        return True

    __hash__ = object.__hash__


class Mapped(dict):
    pass


OBJECT, ALIKE = Plain(), Alike()
NAN = float("nan")
LONG = [10**9 + i for i in range(LONGEST + 1)]


def nested(depth, value):
    for _ in range(depth):
        value = [value]
    return value


def holding_itself(*parts):
    found = [*parts]
    found.append(found)
    return found


def noted(kind, content, note):
    """A value of a class with an attribute."""
    made = type("Own", (kind,), {})(content) if kind is list else kind(content)
    made.note = note
    return made


def matrix(number):
    return np.full(2, number).view(Matrix)


def noted_partial(note):
    found = functools.partial(max, 1)
    found.note = note
    return found


RECORDS = np.array([(1, 2), (3, 4)], [("a", "f4"), ("b", "f4")])
PAIRS = [
    (1, 1, True), (1, 1.0, False), (1, True, False), (0.0, -0.0, False), (NAN, -NAN, True),
    (0.0, 0.0, True), (1.5, 1.5, True), ("a", "a", True), ("a", b"a", False), (None, 0, False),
    (Number(1), 1, False), (Number(1), Number(1), True), (Number(1), Number(2), False),
    (OBJECT, OBJECT, True), (OBJECT, Plain(), False), (ALIKE, ALIKE, True),
    (ALIKE, Alike(), False), ([1], [1], True), ([1], (1,), False), ([1], [1.0], False),
    ([1], deque([1]), False), ([1, 2], [2, 1], False), ({1}, {1}, True), ({1}, {True}, False),
    ({1}, frozenset([1]), False), ({"a": 1}, {"a": 1}, True), ({"a": 1}, {"b": 1}, False),
    ({"a": 1}, {"a": 1.0}, False), ({1: 2}, {True: 2}, False), ({1: 2}, {1: 2, 3: 4}, False),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, False), ({"a": 1}, OrderedDict(a=1), False),
    (types.MappingProxyType({"a": 1}), types.MappingProxyType({"a": 1}), True),
    (types.MappingProxyType({"a": 1}), types.MappingProxyType({"a": 2}), False),
    ({"a": 1}.keys(), {"a": 1}.keys(), True), ({"a": 1}.values(), {"a": 2}.values(), False),
    ({"a": 1}.items(), {"a": 1}.values(), False),
    (LONG, list(LONG), True), (LONG, tuple(LONG), False), (LONG, [*LONG[:-1], 3], False),
    (LONG, LONG[:-1], False), (LONG, [x + 0 for x in LONG], False),  # others, though equal
    (LONG[:-1], [x + 0 for x in LONG[:-1]], True), ([*LONG, []], [*LONG, [1]], False),
    ([*LONG, []], [*[x + 0 for x in LONG], []], True),
    (dict.fromkeys(LONG), dict.fromkeys(LONG), True),
    (dict.fromkeys(LONG), dict.fromkeys(LONG, 1), False),
    (nested(LEVELS, 1), nested(LEVELS, 1), True), (nested(LEVELS, 1), nested(LEVELS, 2), False),
    (nested(LEVELS + 1, 1), nested(LEVELS + 1, 1), False),  # the innermost is another list
    (holding_itself(1), holding_itself(1), True), (holding_itself(1), holding_itself(2), False),
    (holding_itself([]), [[], [[]]], False), ([OBJECT] * 2, [OBJECT] * 2, True),
    (np.float32(1), np.float32(1), True), (np.float32(1), np.float64(1), False),
    (np.float32(0), np.float32(-0.0), False), (np.int64(1), np.int64(2), False),
    (np.ones(3), np.ones(3), True), (np.ones(3), np.ones(3, int), False),
    (np.ones(3), np.ones((3, 1)), False), (np.ones(3), np.zeros(3), False),
    (np.ones((2, 2)), np.ones((2, 2)).T.copy("F").T, True),
    (np.ones((2, 2)), np.asfortranarray(np.ones((2, 2))), False),
    (np.ones(4096), np.ones(4096), True), (np.ones(4096), np.arange(4096.0), False),
    (np.array([1, "a"], object), np.array([1, "a"], object), True),
    (np.array([1, "a"], object), np.array([1, "b"], object), False),
    (np.array([1, "a"], object), np.array([[1, "a"]], object), False),
    (bytearray(b"ab"), bytearray(b"ab"), True), (bytearray(b"ab"), bytearray(b"ac"), False),
    (bytearray(b"ab"), memoryview(b"ab"), False),
    (array.array("i", [1]), array.array("i", [1]), True),
    (functools.partial(max, 1), functools.partial(max, 1), True),
    (functools.partial(max, 1), functools.partial(max, 2), False),
    (functools.partial(max, 1), functools.partial(min, 1), False),
    (functools.partial(max, key=abs), functools.partial(max, key=len), False),
    (functools.partial(max, nested(LEVELS - 2, 1)), functools.partial(max, nested(LEVELS - 2, 1)),
     True), (functools.partial(max, nested(LEVELS - 1, 1)),
             functools.partial(max, nested(LEVELS - 1, 1)), False),
    (1j, 1j, True), (complex(1, 0.0), complex(1, -0.0), False), (NAN * 1j, NAN * 1j, True),
    (complex(NAN, 1), complex(NAN, 2), False), (Decimal(0.0), Decimal(-0.0), False),
    (Decimal(NAN), Decimal(NAN), True), (Level(1), Number(1), False), (Level(1), Level(1), True),
    (Colour.RED, Colour.RED, True), (Colour.RED, Colour.ALSO, False), (Colour.RED, 1, False),
    ({(1,): 2}, {(1,): 2}, True), ({(1,): 2}, {(True,): 2}, False), ({0.0: 1}, {-0.0: 1}, False),
    ({OBJECT: 1}, {OBJECT: 1}, True), ({ALIKE: 1}, {ALIKE: 1}, True),
    ({ALIKE: 1}, {Alike(): 1}, False),
    (defaultdict(list, a=1), defaultdict(list, a=1), True),
    (defaultdict(list, a=1), defaultdict(set, a=1), False),
    (defaultdict(list, a=1), defaultdict(None, a=1), False),
    (deque([1], 2), deque([1], 2), True), (deque([1], 2), deque([1]), False),
    (noted(list, [1], 2), noted(list, [1], 2), False), (Noted((1,)), Noted((1,)), True),
    (noted(Noted, (1,), 2), noted(Noted, (1,), 2), True),
    (noted(Noted, (1,), 2), noted(Noted, (1,), 3), False),
    (noted(Noted, (1,), [2]), noted(Noted, (1,), [2]), True),
    (noted(Noted, (1,), 2), Noted((1,)), False), (noted(Number, 1, 2), noted(Number, 1, 3), False),
    (noted(Mapped, {"a": 1}, 2), noted(Mapped, {"a": 1}, 2), True),
    (noted(Mapped, {"a": 1}, 2), noted(Mapped, {"a": 1}, 3), False),
    (np.ones(2), np.ones(2).view(Matrix), False), (RECORDS, RECORDS.copy(), True),
    (RECORDS, RECORDS.astype([("b", "f4"), ("a", "f4")]), False),
    (RECORDS[0], RECORDS.copy()[0], True),
    (RECORDS[0], RECORDS[1], False), (array.array("b", [1]), array.array("B", [1]), False),
    (memoryview(b"abcd"), memoryview(b"abcd").cast("B", [2, 2]), False),
    (memoryview(b"ab").cast("b"), memoryview(b"ab"), False),
    (noted_partial(1), noted_partial(1), True), (noted_partial(1), noted_partial(2), False),
    (noted(matrix, 1, 2), noted(matrix, 1, 2), True),
    (noted(matrix, 1, 2), noted(matrix, 1, 3), False),
    (noted(Single, 1.5, 2), noted(Single, 1.5, 2), True),
    (noted(Single, 1.5, 2), noted(Single, 1.5, 3), False), (Shown(a=1), Shown(a=2), False),
    (noted(Bytes, b"a", 2), noted(Bytes, b"a", 2), True),
    (noted(Bytes, b"a", 2), noted(Bytes, b"a", 3), False),
    (noted(Noted, (1,), nested(LEVELS - 2, 1)), noted(Noted, (1,), nested(LEVELS - 2, 1)), True),
    (noted(Noted, (1,), nested(LEVELS - 1, 1)), noted(Noted, (1,), nested(LEVELS - 1, 1)), False),
    (Tensor([1.0]), Tensor([1.0]), False), (max, max, True), (max, min, False),
    (Plain, Plain, True), (Plain, Alike, False), (BUILT_IN, BUILT_IN, True),
    (BUILT_IN, dict(BUILT_IN), False)]


@pytest.mark.parametrize("first, second, equal", PAIRS, ids=range(len(PAIRS)))
def test_what_is_compared_of_two_values(first, second, equal):
    assert (comparable(first) == comparable(second)) == equal
    assert comparable(first) == comparable(first) or first is ALIKE


def test_a_container_met_twice_is_told_from_two():
    one: list = []
    assert comparable([one, one]) != comparable([one, []])
    assert comparable([one, one]) == comparable([[]] * 2) != comparable([[], []])
    pair = (1,)
    assert comparable([pair, pair]) == comparable([pair, (int("1"),)])
    some = frozenset([1])
    assert comparable([some, some]) == comparable([some, frozenset([int("1")])])


def test_large_values_that_were_not_opened_equal_any_others():
    for one, other, small in (
            ([0] * (MOST_PARTS + 1), [1] * (MOST_PARTS + 1), [1] * MOST_PARTS),
            (np.zeros(MOST_BYTES + 1, np.int8), np.ones(MOST_BYTES + 1, np.int8),
             np.ones(MOST_BYTES, np.int8))):
        assert comparable(one, 0, {}) == comparable(other, 0, {}) != comparable(small, 0, {})
        opened = {id(one): one, id(other): other}
        assert comparable(one, 0, opened) != comparable(other, 0, opened)
        assert comparable(one) != comparable(other)
        zeros = small * 0 if isinstance(small, np.ndarray) else [0] * MOST_PARTS
        assert comparable(small, 0, {}) != comparable(zeros, 0, {})


def test_context_variables_and_caches():
    variable, other = contextvars.ContextVar("one"), contextvars.ContextVar("one")
    before = comparable(variable)
    assert before == comparable(variable) != comparable(other)
    variable.set([1])
    assert before != comparable(variable)
    now = comparable(variable)
    variable.get().append(2)
    assert comparable(variable) != now

    @functools.lru_cache
    def cached(x):
        return x

    before = comparable(cached)
    cached(1)
    after = comparable(cached)
    assert before != after != comparable(functools.lru_cache(abs))
    cached(1)
    assert comparable(cached) == after  # only the number of hits has changed
    last = functools.lru_cache(maxsize=1)(str)
    last(1)
    before = comparable(last)
    last(2)
    assert comparable(last) != before  # it holds as many


VALUES = [
    (1, True), ("a", True), (OBJECT, True), (max, True), ((1, 2), True), ((1, [2]), False),
    ((1, (2, (3, {}))), False), ([1], False), ({}, False), (set(), False), (frozenset([1]), True),
    (frozenset([(1, OBJECT)]), True), (deque(), False), (np.ones(2), False), (np.float32(1), True),
    (bytearray(), False), (types.MappingProxyType({}), False), ({}.keys(), False),
    (functools.partial(max), False), (functools.lru_cache(len), False),
    (contextvars.ContextVar("a"), False), (Number(1), False), (random.Random(), True),
    (Level(1), True), (Colour.RED, True), ((Level(1), "a"), True), (Noted((1,)), False),
    (frozenset([Number(1)]), False), (RECORDS[0], False), (np.str_("a"), True),
    (Tensor([1.0]), True), (OBJECT.__init__, True)]


@pytest.mark.parametrize("value, fixed", VALUES, ids=range(len(VALUES)))
def test_what_stays_the_same_as_long_as_the_object(value, fixed):
    assert is_fixed(value) == fixed


def _changes(thing, change, without=()):
    """What a change of a value gives; then it is put back."""
    kind, shown = kind_of(thing), repr(thing)
    before = kind.copy(thing)
    assert not has_changed(thing, before) and list(kind.changes(thing, before)) == []
    change(thing)
    found = list(kind.changes(thing, before, without))
    assert has_changed(thing, before) or without
    kind.put_back(thing, before)
    assert not has_changed(thing, before) and repr(thing) == shown
    return found


def _assign(index, value):
    return lambda thing: thing.__setitem__(index, value)


A, B, C = Plain(), Plain(), Plain()


@pytest.mark.parametrize("make, change, found", [
    (lambda: [A, B], lambda v: v.append(C), [(GROWN, [C])]),
    (lambda: deque([A]), lambda v: v.extend([B, C]), [(GROWN, [B, C])]),
    (lambda: [A, B], lambda v: v.pop(), [(WHOLE, [A])]),
    (lambda: [A, B], lambda v: v.reverse(), [(WHOLE, [B, A])]),
    (lambda: [A, B], lambda v: v.insert(0, C), [(WHOLE, [C, A, B])]),
    (lambda: [], lambda v: v.append(A), [(GROWN, [A])]),
    (lambda: {1}, lambda v: v.add(2), [(WHOLE, [1, 2])]),
    (lambda: {1, 2}, lambda v: v.discard(1), [(WHOLE, [2])]),
    (lambda: {"a": A}, _assign("b", B), [("b", B)]),
    (lambda: {"a": A}, _assign("a", B), [("a", B)]),
    (lambda: {"a": A, "b": B}, lambda v: v.pop("a"), [("a", ABSENT)]),
    (lambda: {"a": A, "b": B}, lambda v: v.update(a=v.pop("a")), [(WHOLE, {"b": B, "a": A})]),
    (lambda: OrderedDict(a=A, b=B), lambda v: v.move_to_end("a"), [(WHOLE, {"b": B, "a": A})]),
    (lambda: defaultdict(list, a=A), lambda v: v["b"], [("b", [])]),
    (lambda: Counter("aab"), lambda v: v.update("b"), [("b", 2)]),
    (lambda: bytearray(b"ab"), _assign(0, 3), [(WHOLE, bytearray(b"\3b"))]),
    (lambda: array.array("d", [1.0]), _assign(0, 2.0), [(WHOLE, array.array("d", [2.0]))])],
    ids=range(17))
def test_what_a_change_of_a_container_is(make, change, found):
    thing = make()
    kind = kind_of(thing)
    before = kind.copy(thing)
    change(thing)
    assert list(kind.changes(thing, before)) == found
    _changes(make(), change)


def test_a_copy_is_of_what_a_dict_holds_and_not_of_what_it_shows():
    thing = Shown(a=A)
    before = kind_of(thing).copy(thing)
    assert before == {"a": A} and type(before) is dict
    thing["a"] = B
    assert list(kind_of(thing).changes(thing, before)) == [("a", B)]


def test_changes_of_a_dict_without_some_names():
    def swap(held):
        held["cache"] = 3
        held["a"] = held.pop("a")

    assert _changes({"a": A, "b": B}, swap, ["cache"]) == [
        ("b", ABSENT), ("b", B), ("a", ABSENT), ("a", A)]
    assert _changes({"a": A}, _assign("cache", 1), ["cache"]) == []
    assert _changes({"a": A}, _assign("b", 1), ["cache"]) == [("b", 1)]


def test_changes_of_arrays():
    assert len(_changes(np.array([1.0, NAN]), _assign(0, 2.0))) == 1
    assert len(_changes(np.array([1, 2]), _assign(1, 3))) == 1
    assert len(_changes(np.array([1j, NAN]), _assign(0, NAN))) == 1
    assert len(_changes(RECORDS.copy()[0], _assign("b", 7))) == 1
    assert len(_changes(RECORDS.copy(), _assign(1, (5, 6)))) == 1
    kind, given = kind_of(np.ones(1)), np.array(["a", None], object)
    before = kind.copy(given)
    assert not has_changed(given, before)
    given[1] = 2
    assert has_changed(given, before)


@pytest.mark.parametrize("thing, draw", [
    (random.Random(3), lambda v: v.random()), (np.random.default_rng(3), lambda v: v.random()),
    (np.random.RandomState(3), lambda v: v.rand()), (np.random.PCG64(3), lambda v: v.random_raw())],
    ids=range(4))
def test_generators_are_put_back_to_their_position(thing, draw):
    kind = kind_of(thing)
    before = kind.copy(thing)
    first = draw(thing)
    assert has_changed(thing, before)
    kind.put_back(thing, before)
    assert not has_changed(thing, before) and draw(thing) == first


def test_variables_of_closures():
    cell, empty = types.CellType([1]), types.CellType()
    kind = kind_of(cell)
    before, nothing = kind.copy(cell), kind.copy(empty)
    assert nothing is ABSENT and not has_changed(cell, before) and not has_changed(empty, nothing)
    cell.cell_contents, empty.cell_contents = [1], 2
    assert list(kind.changes(cell, before)) == [(WHOLE, [1])]
    assert list(kind.changes(empty, nothing)) == [(WHOLE, 2)]


@pytest.mark.parametrize("now, before, another", [
    ("", "", False), ("a", "", False), ("", "a", False), ("ab", "a", False), ("ba", "a", True),
    ("ba", "ab", True), ("a", "ab", False), ("b", "ab", False), ("cab", "ab", True),
    ("acb", "ab", True), ("abc", "ab", False), ("bc", "ab", False), ("ca", "ab", True),
    ("cba", "abc", True), ("ac", "abc", False)])
def test_the_order_of_the_keys_of_a_dict(now, before, another):
    assert in_another_order(dict.fromkeys(now), dict.fromkeys(before)) == another


def test_a_parameter_is_compared_by_identity():
    weight = Parameter(Tensor([1.0]), name="w")
    assert comparable(weight) == comparable(weight)
    assert comparable(weight) != comparable(Parameter(Tensor([1.0]), name="w"))
