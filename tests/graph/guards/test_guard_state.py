"""What a guard notices of each thing that it watches, also where values may vary."""

import decimal
import threading
import types

import numpy as np
import pytest

from lamella import Tensor, nn
from lamella.graph.guards.guard import Guard
from lamella.graph.guards.kinds import LEVELS
from lamella.graph.guards.search import reachable_from
from lamella.graph.guards.sources import (
    Attribute,
    Fixed,
    Global,
    OfClass,
    Slot,
    Unguarded,
    Variable,
)

RATE, TABLE = 1.5, {"a": [1.0, 2]}


class Plain:
    shared = 2.5

    def used(self):
        return self.shared


class Other(Plain):
    pass


class Base:
    pass


class Slotted:
    __slots__ = ("value", "more")


def watched(fn, free=()):
    """A guard, and its fingerprint before."""
    guard = Guard(reachable_from(fn), Unguarded(free))
    before = guard.fingerprint()
    assert guard.fingerprint() is before  # nothing has changed
    return guard, before


def attribute_of_an_empty_object():
    thing = Plain()
    return lambda x: getattr(thing, "rate", 1), lambda: setattr(thing, "rate", 2), True


def dict_of_an_object():
    thing = Plain()
    thing.rate = 1
    return lambda x: thing.rate, lambda: setattr(thing, "__dict__", dict(vars(thing))), True


def class_of_an_object():
    thing = Plain()
    thing.rate = 1
    return lambda x: thing.used(), lambda: setattr(thing, "__class__", Other), True


def bases_of_a_class():
    kind = type("Kind", (Plain, Base), {})
    return lambda x: kind.shared, lambda: setattr(kind, "__bases__", (Base, Plain)), True


def list_in_a_default():
    def fn(x, held=[1]):  # noqa: B006 - what is watched
        return held

    return fn, lambda: fn.__defaults__[0].append(2), True


def list_in_a_default_of_a_name():
    def fn(x, *, held=[1]):  # noqa: B006
        return held

    return fn, lambda: fn.__kwdefaults__["held"].append(2), True


def default_that_is_another_list():
    def fn(x, held=[1]):  # noqa: B006
        return held

    return fn, lambda: setattr(fn, "__defaults__", ([1],)), True  # which a run may change


def default_that_is_an_equal_tuple():
    def fn(x, held=(1, "a")):
        return held

    return fn, lambda: setattr(fn, "__defaults__", ((1, "a")[:1] + ("a",),)), False


def default_of_a_name():
    def fn(x, *, by=1):
        return by

    return fn, lambda: setattr(fn, "__kwdefaults__", {"by": 2}), True


def code_of_a_function():
    def fn(x):
        return 1

    return fn, lambda: setattr(fn, "__code__", (lambda x: 2).__code__), True


def what_a_bound_method_belongs_to():
    held = [1]
    append = held.append
    return lambda x: append, lambda: held.insert(0, 3), True


def what_a_bound_method_of_an_object_belongs_to():
    thing = Plain()
    thing.rate = 1
    method = thing.used
    return lambda x: method(), lambda: setattr(thing, "rate", 2), True


def attribute_of_a_tensor():
    tensor = Tensor([1.0])
    return lambda x: tensor, lambda: setattr(tensor, "note", 1), True


def attribute_of_a_tensor_in_a_list():
    held = [Tensor([1.0])]
    return lambda x: held, lambda: setattr(held[0], "note", 1), True


def shape_of_a_tensor_of_an_object():
    thing = Plain()
    thing.kept = Tensor([1.0])
    return lambda x: thing.kept, lambda: thing.kept.assign_value(Tensor([1.0, 2.0])), True


def one_tensor_for_two_names():
    thing = Plain()
    thing.one, thing.other = Tensor([1.0]), Tensor([2.0])
    return lambda x: thing, lambda: setattr(thing, "other", thing.one), True


def another_tensor_of_that_form():
    thing = Plain()
    thing.one, thing.other = Tensor([1.0]), Tensor([2.0])
    return lambda x: thing, lambda: setattr(thing, "other", Tensor([3.0])), False


def one_list_for_two_names():
    thing, held = Plain(), [1]
    thing.held = [1]
    return lambda x: (thing.held, held), lambda: setattr(thing, "held", held), True


def an_equal_list():
    thing, held = Plain(), [1]
    thing.held = [1]
    return lambda x: (thing.held, held), lambda: setattr(thing, "held", [1]), False


def inner_list_of_two_names():
    held, other = {"a": [1]}, {"a": [1]}
    return lambda x: (held, other), lambda: other.update(a=held["a"]), True


def another_variable():
    by = 1

    def change():
        nonlocal by
        by = True

    return lambda x: by, change, True


def variable_that_loses_its_value():
    by = 1

    def change():
        nonlocal by
        del by

    return lambda x: by, change, True


def slot_that_gets_a_value():
    thing = Slotted()
    thing.value = 1
    return lambda x: thing.value, lambda: setattr(thing, "more", 2), True


def slot_that_loses_its_value():
    thing = Slotted()
    thing.value = 1
    return lambda x: thing.value, lambda: delattr(thing, "value"), True


def numbers_of_decimals():
    value = decimal.Decimal(1)
    return lambda x: value / 3, lambda: setattr(decimal.getcontext(), "prec", 5), True


def errors_of_numpy():
    value = np.float32(1)
    return lambda x: value / 0, lambda: np.seterr(divide="raise"), True


def new_name_of_a_class():
    kind = type("Kind", (Plain,), {})
    thing = kind()
    return lambda x: thing.used(), lambda: setattr(kind, "anything", 1), True


def new_name_of_a_module():
    module = types.ModuleType("some")
    module.by = 1
    return lambda x: module.by, lambda: setattr(module, "anything", 1), True


def name_that_appears():
    space = {"__name__": "__main__"}  # which may grow otherwise
    exec("def fn(x): return missing", space)
    return space["fn"], lambda: space.update(missing=1), True


def name_that_appears_among_many():
    space = {"__name__": "__main__", **{f"name{i}": i for i in range(50)}}
    exec("def fn(x): return missing", space)
    return space["fn"], lambda: space.update(missing=1), True


def another_name_that_appears():
    space = {"__name__": "__main__", "by": 1}
    exec("def fn(x): return by * missing", space)
    return space["fn"], lambda: space.update(spare=1), False


def another_tensor_in_a_variable():
    tensor = Tensor([1.0])

    def change():
        nonlocal tensor
        tensor = Tensor([2.0])

    return lambda x: tensor, change, True  # by a name from the next recording on


def list_deep_inside():
    inner = [1]
    held = inner
    for _ in range(LEVELS - 1):
        held = [held]
    return lambda x: held, lambda: inner.append(2), True


def list_deep_inside_of_a_set_as_well():
    inner = [1]
    held = [inner, {2}]
    for _ in range(LEVELS - 2):
        held = [held]
    return lambda x: held, lambda: inner.append(2), True


MAKERS = [value for value in list(globals().values()) if type(value) is types.FunctionType
          and value is not watched and value.__module__ == __name__]


@pytest.fixture(autouse=True)
def _settings():
    with np.errstate(divide="warn"), decimal.localcontext():
        yield


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_what_is_noticed(make):
    fn, change, noticed = make()
    guard, before = watched(fn)
    change()
    now = guard.fingerprint()
    assert (now != before) == noticed and guard.fingerprint() == now


def test_another_thread_has_other_locals():
    local = threading.local()
    local.by, found = 1, []
    guard, before = watched(lambda x: local.by)
    thread = threading.Thread(target=lambda: found.append(guard.fingerprint() == before))
    thread.start()
    thread.join(60)
    assert found == [False] and guard.fingerprint() == before
    guard, before = watched(lambda x: RATE)
    thread = threading.Thread(target=lambda: found.append(guard.fingerprint() is before))
    thread.start()
    thread.join(60)
    assert found[1]


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.rate, self.other, self.held = 1.5, [3.0], {"k": [1.5, [7]], "m": [7]}

    def construct(self, x):
        return x * self.rate


def free_attribute():
    net = Net()
    return net, [Attribute(net, "rate")], {
        True: [lambda: setattr(net, "rate", 2.5), lambda: setattr(net, "other", [3.0]),
               lambda: setattr(net, "rate", -0.0)],
        False: [lambda: setattr(net, "rate", 2), lambda: net.other.append(1),
                lambda: setattr(net, "other", 4), lambda: setattr(net, "more", 1),
                lambda: delattr(net, "rate"),
                lambda: net.__dict__.update(other=net.__dict__.pop("other")),
                lambda: net.__dict__.update(renamed=net.__dict__.pop("held"))]}


def free_in_a_container():
    net, shared = Net(), [7]
    return net, [Attribute(net, "held").at("k").at(0)], {
        True: [lambda: net.held["k"].__setitem__(0, 9.5), lambda: net.held.update(k=[1.0, [7]]),
               lambda: setattr(net, "held", {"k": [0.5, [7]], "m": [7]})],
        False: [lambda: net.held["k"].__setitem__(0, 9), lambda: net.held["k"].append(1),
                lambda: net.held["k"][1].append(1), lambda: net.held["m"].append(1),
                lambda: net.held.update(m=net.held["k"][1]), lambda: net.held.update(k=(1.5, [7])),
                lambda: net.held.pop("m"), lambda: net.held.update(n=1),
                lambda: net.held["k"].__setitem__(1, net.held["m"]),
                lambda: setattr(net, "held", {"k": [1.5, shared], "m": shared})]}


def free_variable():
    by, held = 1.5, [2]

    def fn(x):
        return x * by, held

    def put(value):
        nonlocal by
        by = value

    return fn, [Variable(fn.__closure__[0], "by")], {
        True: [lambda: put(2.5)],
        False: [lambda: put(2), lambda: put(held), lambda: held.append(1)]}


def free_slot():
    thing = Slotted()
    thing.value, thing.more = 1.5, 2.5
    return lambda x: thing.value * thing.more, [Slot(thing, "value")], {
        True: [lambda: setattr(thing, "value", 7.5)],
        False: [lambda: setattr(thing, "value", 7), lambda: setattr(thing, "more", 7.5),
                lambda: delattr(thing, "value")]}


def free_global():
    space = {"RATE": 1.5, "MORE": 2.5, "__name__": "some"}
    exec("def fn(x): return x * RATE * MORE", space)
    return space["fn"], [Global(space, "RATE")], {
        True: [lambda: space.update(RATE=7.5)],
        False: [lambda: space.update(RATE=7), lambda: space.update(MORE=7.5),
                lambda: space.pop("RATE")]}


def free_of_a_class():
    kind = type("Kind", (), {"rate": 1.5, "more": 2.5})
    return lambda x: kind.rate * kind.more, [OfClass(kind, "rate")], {
        True: [lambda: setattr(kind, "rate", 7.5)],
        False: [lambda: setattr(kind, "rate", 7), lambda: setattr(kind, "more", 7.5)]}


@pytest.mark.parametrize("make", [free_attribute, free_in_a_container, free_variable, free_slot,
                                  free_global, free_of_a_class], ids=lambda make: make.__name__)
@pytest.mark.parametrize("stays", [True, False])
def test_values_that_may_vary(make, stays):
    for number in range(len(make()[2][stays])):
        fn, free, changes = make()
        guard, before = watched(fn, free)
        changes[stays][number]()
        now = guard.fingerprint()
        assert (now == before) == stays, number
        assert guard.fingerprint() is now


def test_a_source_that_is_no_name_guards_nothing_else():
    guard, before = watched(lambda x: TABLE, [Fixed(3)])
    TABLE["a"][1] = 3
    try:
        assert guard.fingerprint() != before
    finally:
        TABLE["a"][1] = 2
    assert guard.fingerprint() == before
