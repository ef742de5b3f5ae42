"""A value is replaced by one that is equal, but not the same to the program: as eagerly."""

import array
import cmath
import math
import types
from collections import OrderedDict, defaultdict, deque

import numpy as np
import pytest

from lamella import Tensor, jit
from lamella.graph.guards.fingerprint import kind_of_rule
from lamella.nn import ReLU

VALUE = None


class Rough(float):
    """A number that equals those near it."""

    def __eq__(self, other):
        return abs(float(self) - float(other)) < 2

    __hash__ = float.__hash__


class Signed(float):
    pass


class Negative(np.ndarray):
    def sum(self):
        return -np.ndarray.sum(self)


def derived(kind, *given):
    """Two values of a class derived from Python's, which differ in an attribute only."""
    own = type("Own", (kind,), {})
    values = [own.__new__(own, *given), own.__new__(own, *given)]
    for value, factor in zip(values, (2.0, 5.0), strict=True):
        if kind in (list, dict, set, deque):
            value.__init__(*given)
        value.factor = factor
    return values


def views(*kinds):
    return [np.arange(3.0).view(kind) for kind in kinds]


def units(*factors):
    found = [np.arange(3.0).view(Negative) for _ in factors]
    for one, factor in zip(found, factors, strict=True):
        one.factor = factor
    return found


class Slots(list):
    __slots__ = ("factor",)


def slotted(*factors):
    found = [Slots([1]) for _ in factors]
    for one, factor in zip(found, factors, strict=True):
        one.factor = factor
    return found


def first_key(value):
    key = next(iter(value))
    return key[0] if type(key) is tuple else key


def of_type(number):
    return {int: 2.0, float: 3.0, bool: 4.0}[type(number)]


def times_factor(x, value):
    return x * value.factor


A, B = (np.array([(1, 2)], [(name, "f4") for name in names]) for names in ("ab", "ba"))
# a function of a Tensor and the value, and values
CASES = {
    "a complex number": (lambda x, v: x * cmath.sqrt(v).imag, [
        complex(-1, 0.0), complex(-1, -0.0)]),
    "a complex NaN": (lambda x, v: x * v.imag, [complex(math.nan, 1), complex(math.nan, 2)]),
    "a number that equals others": (lambda x, v: x * float(v), [Rough(2), Rough(3)]),
    "a zero of a class": (lambda x, v: x * math.copysign(1, v), [Signed(0.0), Signed(-0.0)]),
    "types in keys": (lambda x, v: x * of_type(first_key(v)), [
        {(1,): 2}, {(1.0,): 2}, {(True,): 2}]),
    "a zero as a key": (lambda x, v: x * math.copysign(1, first_key(v)), [{0.0: 2}, {-0.0: 2}]),
    "types in keys of Tensors": (lambda x, v: x * of_type(first_key(v)),
                                 [{(1,): Tensor(2.0)}, {(1.0,): Tensor(2.0)}]),
    "a class of arrays": (lambda x, v: x * float(v.sum()), views(np.ndarray, Negative)),
    "fields": (lambda x, v: x * float(v["a"][0]), [A, B]),
    "a row": (lambda x, v: x * float(v["a"]), [A[0], B[0]]),
    "a mask": (lambda x, v: x * float(v.sum()), [
        np.ma.array([1.0, 2.0], mask=[0, m]) for m in (0, 1)]),
    "an attribute of an array": (times_factor, units(2.0, 5.0)),
    "an attribute in a slot": (times_factor, slotted(2.0, 5.0)),
    **{f"an attribute of a {kind.__name__}": (times_factor, derived(kind, *given))
       for kind, *given in ((list, [1]), (dict, {"a": 1}), (tuple, (1,)), (set, {1}), (int, 3),
                            (frozenset, {1}), (str, "a"), (float, 1.5), (bytes, b"a"),
                            (bytearray, b"a"), (deque, [1]), (np.float32, 1.5))},
    "what a dict lacks": (lambda x, v: x * v.default_factory(), [
        defaultdict(lambda: 2.0), defaultdict(lambda: 3.0)]),
    "what a dict of Tensors lacks": (lambda x, v: x * v.default_factory(), [
        defaultdict(lambda: 2.0, a=Tensor(1.0)), defaultdict(lambda: 3.0, a=Tensor(1.0))]),
    "how long a deque may be": (lambda x, v: x * v.maxlen, [deque([1], 3), deque([1], 4)]),
    "numbers of the same bytes": (lambda x, v: x * v[0], [
        array.array("b", [-1]), array.array("B", [255])]),
    "a view of bytes": (lambda x, v: x * v[0], [
        memoryview(b"\xff").cast("b"), memoryview(b"\xff").cast("B")]),
    "a shape of bytes": (lambda x, v: x * len(v), [
        memoryview(bytes(4)).cast("B", [2, 2]), memoryview(bytes(4)).cast("B", [4, 1])]),
}


def by_attribute(fn):
    holder = types.SimpleNamespace()
    return lambda x: fn(x, holder.value), lambda value: setattr(holder, "value", value)


def by_class(fn):
    class Holder:
        value = None

    return lambda x: fn(x, Holder.value), lambda value: setattr(Holder, "value", value)


def by_global(fn):
    return lambda x: fn(x, VALUE), lambda value: globals().update(VALUE=value)


def by_variable(fn):
    held = None

    def put(value):
        nonlocal held
        held = value

    return lambda x: fn(x, held), put


def by_list(fn):
    holder = [None]
    return lambda x: fn(x, holder[0]), lambda value: holder.__setitem__(0, value)


@pytest.mark.filterwarnings("ignore:For 'jit'")
@pytest.mark.parametrize("place", [by_attribute, by_class, by_global, by_variable, by_list])
@pytest.mark.parametrize("name", CASES)
def test_a_value_replaced_by_an_equal_one(name, place):
    fn, values = CASES[name]
    x, found = Tensor([1.0, 3.0]), []
    for wrap in (lambda fn: fn, jit):
        function, put = place(fn)
        function = wrap(function)
        found.append([])
        for value in (*values, values[0], *values[::-1]):
            put(value)
            found[-1] += [function(x).asnumpy().tolist() for _ in range(2)]
    assert found[0] == found[1]
    assert len(set(map(str, found[0]))) == len(values)


@pytest.mark.filterwarnings("ignore:For 'jit'")
@pytest.mark.parametrize("name", CASES)
def test_an_argument_that_is_equal_to_the_one_before(name):
    fn, values = CASES[name]
    x, compiled = Tensor([1.0, 3.0]), jit(fn)
    for value in (*values, values[0], *values[::-1]):
        assert compiled(x, value).asnumpy().tolist() == fn(x, value).asnumpy().tolist()


def changed_in_place(value, change):
    """What a compiled function reads before and after a change of a value."""
    compiled, x = jit(lambda x: x * float(np.atleast_1d(value["a"])[0])), Tensor([1.0])
    before = [compiled(x).item() for _ in range(2)]
    change()
    return [*before, compiled(x).item()]


def test_what_is_assigned_in_an_array_with_fields():
    whole, row = (np.array([(2, 3)], [("a", "f4"), ("b", "f4")]) for _ in range(2))
    row = row[0]
    assert changed_in_place(whole, lambda: setattr(whole.dtype, "names", ("b", "a"))) == [2, 2, 3]
    assert changed_in_place(row, lambda: row.__setitem__("a", 7)) == [2, 2, 7]


def test_a_row_that_a_run_assigns_is_no_constant():
    row = np.array([(2, 3)], [("a", "f4"), ("b", "f4")])[0]

    def step(x):
        row["a"] += 1
        return x * float(row["a"])

    compiled = jit(step)
    with pytest.warns(UserWarning, match="changes a NumPy array"):
        found = [compiled(Tensor([1.0])).item() for _ in range(4)]
    assert found == [3, 4, 5, 6] and row["a"] == 6


def test_matrices_of_objects_are_compared_by_their_elements():
    kept = np.array([[2.0, None]], object).view(Negative)
    compiled = jit(lambda x: x * kept[0, 0])
    assert [compiled(Tensor([1.0])).item() for _ in range(2)] == [2, 2]
    kept[0, 0] = 3.0
    assert compiled(Tensor([1.0])).item() == 3


class Batch(OrderedDict):
    pass


def test_a_run_gives_a_dict_that_it_was_given_an_attribute():
    def step(x, batch):
        batch.seen = getattr(batch, "seen", 0) + 1
        return x * batch.seen

    compiled = jit(step)
    batches = [Batch(a=1) for _ in range(3)]
    with pytest.warns(UserWarning, match="changes an attribute of a list or dict"):
        found = [compiled(Tensor([1.0]), batch).item() for batch in batches * 2]
    assert found == [1, 1, 1, 2, 2, 2] and [batch.seen for batch in batches] == [2, 2, 2]


def test_an_equal_batch_is_a_call_like_the_one_before():
    compiled = jit(lambda x, batch: x * batch["a"] * batch.factor)
    for _ in range(4):
        batch = Batch(a=Tensor([2.0]))
        batch.factor = 3.0
        assert compiled(Tensor([1.0]), batch).item() == 6
    assert compiled.report()["traces"] == 1 and compiled.report()["replays"] == 3


def test_rules_differ_by_the_types_in_their_keys():
    rules = []
    for key in ((1,), (True,), (1.0,), (1,)):
        rules.append(ReLU())
        rules[-1].table = {key: 2}
    kinds = list(map(kind_of_rule, rules))
    assert kinds[0] == kinds[3] and len(set(map(str, kinds))) == 3
    assert kinds[0] != kinds[1] != kinds[2] != kinds[0]
