"""Guards on everything that a compiled function reads from Python's objects."""

import array
import collections
import contextvars
import gc
import threading
import types
import weakref

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, jit, nn, ops
from lamella.graph.guards.search import reachable_from

from .agreement import Plain, agree, x

SCALE = 2.0
HELPERS = types.ModuleType("helpers")
exec("FLAG = 1.0\nnet = None\ndef times_flag(x):\n    return x * FLAG\n", HELPERS.__dict__)


class Factors:
    shared = 2.0

    def times_global(self, x):
        return x * SCALE


class Slotted:
    __slots__ = ("factor",)


def nested(x):
    def inner(y):
        return y * SCALE
    return inner(x)


class GlobalInside(nn.Cell):
    def construct(self, x):
        return x * SCALE


READERS = {
    "a function inside": nested,
    "a comprehension": lambda x: sum([x * SCALE for _ in range(2)]),
    "a Cell": lambda x: GlobalInside()(x),
    "a method": lambda x: Factors().times_global(x),
}


@pytest.mark.parametrize("reader", READERS)
def test_globals_are_read_wherever_the_code_is(monkeypatch, reader):
    def program(wrap):
        fn = wrap(READERS[reader])
        for value in (2.0, 3.0, 3.0, 2.0):
            monkeypatch.setitem(globals(), "SCALE", value)
            yield fn(x())

    agree(program)


def test_modules_classes_and_slots_are_read(monkeypatch):
    thing = Slotted()

    def program(wrap):
        fns = [wrap(lambda x: x * HELPERS.FLAG), wrap(lambda x: HELPERS.times_flag(x)),
               wrap(lambda x: x * Factors.shared), wrap(lambda x: x * thing.factor)]
        for value in (2.0, 3.0, 3.0, 2.0):
            monkeypatch.setattr(HELPERS, "FLAG", value)
            monkeypatch.setattr(Factors, "shared", value)
            thing.factor = value
            yield [fn(x()) for fn in fns]

    agree(program)


def test_attributes_of_functions_are_read_and_changed():
    def program(wrap):
        def scaled(x):
            scaled.calls += 1
            return x * scaled.factor + scaled.calls

        scaled.factor, scaled.calls, plain = 2.0, 0, scaled
        fn = wrap(lambda x: plain(x))
        for factor in (2.0, 3.0, 3.0):
            scaled.factor = factor
            yield fn(x()), scaled.calls

    agree(program)


def test_an_attribute_that_hides_one_of_a_base_class():
    class Meta(type):
        factor = 2.0

    class First(nn.Cell):
        factor = 2.0

        def times(self, x):
            return x * self.factor

        def construct(self, x):
            return self.times(x)

    def program(wrap):
        second = Meta("Second", (), {})
        third = type("Third", (First,), {})
        net = third()
        fn = wrap(lambda x: (net(x), x * second.factor))
        for owner, name, value in (
                (First, "factor", 3.0), (third, "factor", 4.0), (Meta, "factor", 3.0),
                (second, "factor", 5.0), (third, "times", lambda self, x: x * 9)):
            before = vars(owner).get(name)
            setattr(owner, name, value)
            yield fn(x())
            yield fn(x())
            if owner in (First, Meta):
                setattr(owner, name, before)

    agree(program)


def with_mapping(value):
    return lambda x: x * value["a"]


def with_item(value):
    return lambda x: x * value[0]


def of_referent(value):
    return lambda x: x * value().factor


def of_proxy(value):
    return lambda x: x * value.factor


HELD = {
    "a bytearray": lambda: (thing := bytearray(b"\2"), with_item(thing),
                            lambda v: thing.__setitem__(0, int(v))),
    "an array": lambda: (thing := array.array("d", [2.0]), with_item(thing),
                         lambda v: thing.__setitem__(0, v)),
    "a ChainMap": lambda: (thing := collections.ChainMap({"a": 2.0}), with_mapping(thing),
                           lambda v: thing.__setitem__("a", v)),
    "a read-only view": lambda: (thing := {"a": 2.0}, with_mapping(types.MappingProxyType(thing)),
                                 lambda v: thing.__setitem__("a", v)),
    "data of a thread": lambda: (thing := threading.local(), lambda x: x * thing.factor,
                                 lambda v: setattr(thing, "factor", v)),
    "a context's": lambda: (thing := contextvars.ContextVar("v"), lambda x: x * thing.get(),
                            thing.set),
}


@pytest.mark.parametrize("kind", HELD)
def test_other_objects_that_hold_values(kind):
    def program(wrap):
        held, fn, change = HELD[kind]()
        fn = wrap(fn)
        for value in (2.0, 3.0, 3.0, 2.0):
            change(value)
            yield fn(x())
        assert held is not None

    agree(program)


@pytest.mark.parametrize("hold", [
    lambda thing: of_referent(weakref.ref(thing)), lambda thing: of_proxy(weakref.proxy(thing)),
], ids=["reference", "proxy"])
def test_functions_that_read_weak_references_run_eagerly(hold):
    """A graph would keep it alive."""
    thing = Plain()
    fn = jit(hold(thing))
    found = []
    with pytest.warns(UserWarning, match="held by a weak reference only"):
        for value in (2.0, 3.0, 3.0, 2.0):
            thing.factor = value
            found.append(fn(x()).asnumpy().tolist())
    assert found == [(x() * value).asnumpy().tolist() for value in (2.0, 3.0, 3.0, 2.0)]
    alive = weakref.ref(thing)
    del thing
    gc.collect()
    assert alive() is None


def test_weak_references_to_objects_held_otherwise_stay_compiled():
    class Child(nn.Cell):
        def construct(self, x):
            return x * self.parent().factor

    class Parent(nn.Cell):
        def __init__(self):
            super().__init__()
            self.factor, self.child = 2.0, Child()
            self.child.parent = weakref.ref(self)

        def construct(self, x):
            return self.child(x)

    def program(wrap):
        net = Parent()
        fn = wrap(net)
        for value in (2.0, 3.0, 3.0, 2.0):
            net.factor = value
            yield fn(x())

    agree(program)


def test_classes_without_a_module_are_the_users():
    """Such are made at run time, as protobuf makes its messages."""
    def program(wrap):
        scale = type("Scale", (), {"factor": 2.0, "__module__": None})
        thing = scale()
        fns = [wrap(lambda x: x * scale.factor), wrap(lambda x: x * thing.factor)]
        for value in (2.0, 3.0, 3.0, 2.0):
            scale.factor = value
            yield [fn(x()) for fn in fns]

    agree(program)


def test_another_reach_is_not_searched():
    """It holds whole modules, and through these every object."""
    thing = Factors()
    other = reachable_from(lambda: thing)
    assert thing in other.visited
    assert thing not in reachable_from(lambda: other).visited


def test_a_network_in_a_module_is_trained(monkeypatch):
    def program(wrap):
        HELPERS.net = nn.Dense(2, 1, weight_init="ones")
        optimizer = nn.Momentum(HELPERS.net.trainable_params(), 0.1, 0.9)

        @wrap
        def step(x):
            loss, grads = ms.value_and_grad(lambda x: HELPERS.net(x).sum(), None,
                                            optimizer.parameters)(x)
            optimizer(grads)
            return loss

        for _ in range(4):
            yield step(x().reshape(1, 2)), HELPERS.net.weight.value()

    agree(program)


def test_long_lists_and_arrays_are_compared_by_what_is_in_them():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.long = list(range(3000))
            self._private = {str(i): [i] for i in range(50)}
            self.array = np.ones(2, np.float32)
            self.number = np.float32(1)

        def construct(self, x):
            return (x * self.long[2500] + self._private["4"][0] * Tensor(self.array)
                    + float(self.number))

    def program(wrap):
        net = Net()
        fn = wrap(net)
        for i in range(2):
            yield fn(x())
            net.long[2500] += 1
            yield fn(x())
            net._private["4"][0] += 1
            yield fn(x())
            net.array[1] += 1
            yield fn(x())
            net.number = np.float32(i)

    agree(program)


def test_the_two_zeros_differ_and_nan_is_a_value():
    def program(wrap):
        by_value = wrap(lambda x, a: x * np.copysign(1.0, a))
        by_guard = wrap(lambda x, a: x * np.copysign(1.0, float(a)))
        for a in (0.0, -0.0, float("nan"), 0.0, -0.0, 1.0):
            yield by_value(x(), a), by_guard(x(), Tensor(a))

    agree(program)


def test_requires_grad_outside_of_cells_is_guarded():
    def program(wrap):
        weights = [Parameter(x(), name="a"), Parameter(x(), name="b")]
        fn = wrap(lambda x: [w * x for w in weights if w.requires_grad])
        for learns in (True, False, True):
            weights[0].requires_grad = learns
            yield fn(x())

    agree(program)


def test_hooks_and_attributes_of_parameters():
    def program(wrap):
        net, factor = nn.Dense(2, 1, weight_init="ones"), [10.0]
        handle = net.weight.register_hook(lambda g: g * factor[0])
        net.weight.scale = 2.0

        def loss(x):
            net.weight.seen = x * net.weight.scale
            return (net(x) * net.weight.scale).sum()

        fn = wrap(ms.grad(loss, None, net.trainable_params()))
        given = ops.ones((1, 2))
        for change in (lambda: None, lambda: None, lambda: factor.__setitem__(0, 3.0),
                       lambda: setattr(net.weight, "scale", 5.0), handle.remove):
            change()
            yield fn(given), net.weight.seen

    agree(program)
