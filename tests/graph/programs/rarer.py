"""Programs with state in rarer kinds of objects, and under names that are computed."""

import builtins
import contextvars
import decimal
import gc
import logging
import operator
import sys
import types
import weakref

import numpy as np
import scipy.sparse

import lamella as ms
from lamella import Tensor, nn

from . import X, plain, program


def results(call, change, values):
    """What a compiled function gives after each change."""
    found = []
    for value in values:
        change(value)
        found.append(plain(call(X())))
    return found


@program
def keys_of_other_types(wrap):
    """1, 1.0 and True are equal keys."""
    d = {}

    def change(key):
        d.clear()
        d[key] = 2.0

    return results(wrap(lambda x: x.astype(ms.int32) * next(iter(d))), change, [1, 1, 1.0, True])


@program
def dict_arguments_with_keys_of_other_types(wrap):
    call = wrap(lambda x, d: x.astype(ms.int32) * next(iter(d)))
    return [call(X(), {key: 0}).dtype for key in (1, 1, 1.0, True)]


@program
def order_of_a_set(wrap):
    s = set()

    def fn(x):
        for value in s:
            x = x * 2 + value
        return x

    def change(order):
        s.clear()
        for value in order:
            s.add(value)

    return results(wrap(fn), change, [(0, 8), (0, 8), (8, 0), (8, 0)])


@program
def set_argument_that_grows(wrap):
    s = set()

    def fn(x, s):
        s.add(len(s))
        return x * len(s)

    call = wrap(fn)
    return [plain(call(X(), s)) for _ in range(5)] + [s]


@program
def attributes_of_array_classes(wrap):
    class Array(np.ndarray):
        pass

    a = np.ones(3, np.float32).view(Array)
    a.n, a.scale = 0, 1.0

    def fn(x):
        a.n += 1
        return x * a.n * a.scale

    return [*results(wrap(fn), lambda v: setattr(a, "scale", v), [1.0, 1.0, 3.0, 4.0]), a.n]


@program
def masked_array(wrap):
    a = np.ma.array([1.0, 2.0, 3.0], mask=[0, 0, 1])
    return results(wrap(lambda x: x * float(a.sum())), lambda v: a.mask.__setitem__(0, v),
                   [False, False, True, False])


@program
def attributes_of_buffer_classes(wrap):
    class Bytes(bytearray):
        pass

    b = Bytes(3)
    return results(wrap(lambda x: x * b.k), lambda v: setattr(b, "k", v), [1, 1, 2])


@program
def objects_of_numpy_and_scipy(wrap):
    line, matrix, factors = np.poly1d([1.0, 2.0]), scipy.sparse.csr_matrix(np.eye(3)), [1.0]
    times = np.vectorize(lambda value: value * factors[0])

    def change(value):
        line[0] = matrix.data[0] = factors[0] = value

    return results(wrap(lambda x: x * float(line(2.0)) * float(matrix.data[0]) + float(times(1.0))),
                   change, [1.0, 1.0, 2.0, 3.0])


@program
def bits_of_a_generator(wrap):
    bits = np.random.PCG64(3)
    call = wrap(lambda x: x * float(bits.random_raw() % 1000))
    return [plain(call(X())) for _ in range(4)]


@program
def weak_reference_to_what_vanishes(wrap):
    class Thing:
        k = 2.0

    thing = Thing()
    held, values = weakref.ref(thing), weakref.WeakValueDictionary(a=thing)
    call = wrap(lambda x: x * len(values) if held() is None else x * held().k)
    found = [plain(call(X())) for _ in range(3)]
    del thing
    gc.collect()
    return [*found, held() is None, plain(call(X()))]


@program
def slots_assigned(wrap):
    class Slotted:
        __slots__ = ("flag", "last")

    s = Slotted()
    s.flag = s.last = None

    def fn(x):
        s.flag = True
        s.last = 1.0
        return x

    call, found = wrap(fn), []
    for _ in range(4):
        call(X())
        found.append((s.flag, s.last))
        s.flag = None
        del s.last
    return found


@program
def all_attributes_replaced(wrap):
    class Thing:
        pass

    thing = Thing()
    thing.k = 1.0

    def change(value):
        if value is not None:
            thing.__dict__ = {"k": value}

    found = results(wrap(lambda x: x * thing.k), change, [None, None, 1.0, 5.0, None])

    def fn(x):
        thing.__dict__ = {"k": thing.k + 1}
        return x * thing.k

    return [*found, *results(wrap(fn), change, [None, None, 1.0, None])]


@program
def class_of_an_object_assigned(wrap):
    class First:
        def go(self, x):
            self.__class__ = Second
            return x + 1

    class Second:
        def go(self, x):
            self.__class__ = First
            return x * 2

    state = First()
    return results(wrap(lambda x: state.go(x)), lambda v: None, range(6)) + [type(state).__name__]


@program
def defaults_assigned(wrap):
    def times(x, n=1):
        return x * n

    def fn(x):
        times.__defaults__ = (times.__defaults__[0] + 1,)
        return times(x)

    return results(wrap(fn), lambda v: None, range(4)) + [times.__defaults__]


@program
def attribute_added_to_a_class(wrap):
    class Last:
        pass

    module = types.ModuleType("added_to")
    sys.modules[module.__name__] = module

    def fn(x):
        Last.value = x.sum()
        module.value = x * 2
        return x

    call, found = wrap(fn), []
    for i in range(4):
        call(X() * i)
        found.append(plain((Last.value, module.value)))
    return found


@program
def attributes_of_keys(wrap):
    class Key:
        pass

    key = Key()
    d = {key: 1.0}

    def fn(x):
        for k, value in d.items():
            x = x * k.scale + value
        return x

    return results(wrap(fn), lambda v: setattr(key, "scale", v), [1.0, 1.0, 3.0])


@program
def property_in_a_pattern(wrap):
    factor = [2.0]

    class Thing:
        @property
        def half(self):
            return factor[0]

    thing = Thing()

    def fn(x):
        match thing:
            case Thing(half=h):
                return x * h

    return results(wrap(fn), lambda v: factor.__setitem__(0, v), [2.0, 2.0, 5.0])


@program
def methods_by_computed_names(wrap):
    class Thing:
        kind = "a"

        def act_a(self, x):
            return x * factor["k"]

        def act_b(self, x):
            return x + factor["k"]

    factor, thing = {}, Thing()

    def change(value):
        thing.kind, factor["k"] = value

    values = [("a", 1.0), ("a", 1.0), ("a", 2.0), ("b", 2.0), ("b", 2.0), ("b", 3.0)]
    return [results(wrap(fn), change, values) for fn in (
        lambda x: getattr(thing, "act_" + thing.kind)(x),
        lambda x: operator.methodcaller("act_" + thing.kind, x)(thing))]


def act_a(x):
    return x * MODULE.factor[0]


def act_b(x):
    return x + MODULE.factor[0]


MODULE = types.ModuleType("computed_names")
sys.modules[MODULE.__name__] = MODULE


@program
def contents_of_a_module_by_computed_names(wrap):
    MODULE.__dict__.update(act_a=act_a, act_b=act_b, factor=[1.0], kind="a")

    def change(value):
        MODULE.kind, MODULE.factor[0] = value

    values = [("a", 1.0), ("a", 1.0), ("a", 2.0), ("b", 2.0), ("b", 2.0), ("b", 3.0)]
    found = [results(wrap(fn), change, values) for fn in (
        lambda x: getattr(MODULE, "act_" + MODULE.kind)(x),
        lambda x: x * vars(MODULE)["fac" + "tor"][0])]
    call = wrap(lambda x: getattr(MODULE, "act_" + MODULE.kind)(x))
    for replacement in (act_b, act_b, lambda x: x * 100):
        MODULE.act_b = replacement
        found.append(plain(call(X())))
    return found


@program
def module_that_computes_attributes(wrap):
    def computed(name):
        return MODULE.factor[0] * 2

    MODULE.__dict__.update(__getattr__=computed, factor=[1.0])
    found = results(wrap(lambda x: x * MODULE.computed), lambda v: MODULE.factor.__setitem__(0, v),
                    [1.0, 1.0, 5.0])
    del MODULE.__getattr__
    return found


@program
def classes_derived_later(wrap):
    class Base:
        k = 1.0

    def fn(x):
        for kind in Base.__subclasses__():
            x = x * kind.k
        return x

    derived = []
    return results(wrap(fn), lambda v: derived.append(type("Derived", (Base,), {"k": v})),
                   [2.0, 3.0, 4.0])


@program
def object_in_a_context_variable(wrap):
    variable, thing = contextvars.ContextVar("variable"), types.SimpleNamespace(k=1.0, n=0)
    variable.set(thing)

    def fn(x):
        variable.get().n += 1
        return x * variable.get().k

    return results(wrap(fn), lambda v: setattr(thing, "k", v), [1.0, 1.0, 3.0]) + [thing.n]


@program
def precision_of_decimals(wrap):
    one = decimal.Decimal(1)
    with decimal.localcontext() as now:
        return results(wrap(lambda x: x * float(one / 3)), lambda v: setattr(now, "prec", v),
                       [28, 28, 2, 28])


@program
def attributes_of_a_log(wrap):
    log = logging.getLogger("a log with attributes")

    def change(value):
        log.level = log.scale = value

    return results(wrap(lambda x: x * log.level + log.scale), change, [10, 10, 20])


@program
def globals_of_a_frame(wrap):
    call = wrap(lambda x: x * sys._getframe(0).f_globals["FACTOR"])
    return results(call, lambda v: globals().__setitem__("FACTOR", v), [1.0, 1.0, 4.0])


@program
def a_cells_call_replaced(wrap):
    class Times(nn.ReLU):
        pass

    net, before = Times(), nn.ReLU.__call__

    def change(value):
        Times.__call__ = value

    return results(wrap(lambda x: net(x)), change,
                   [before, before, lambda self, x: x * 50, before])


@program
def print_replaced(wrap):
    before, seen = builtins.print, []

    def fn(x):
        print("seen", x.sum())
        return x

    def change(value):
        builtins.print = value or before

    def note(*args):
        seen.append(plain(args))

    try:
        return results(wrap(fn), change, [note, note, None, None, note]), seen
    finally:
        change(None)


@program
def arguments_compared_with_what_is_kept(wrap):
    first, second = X(), X()
    kept = types.SimpleNamespace(tensor=first)
    call = wrap(lambda x: x * 2 if x is kept.tensor else x)
    found = [plain(call(x)) for x in (first, second, first, second, second)]
    kept.tensor = second
    return found + [plain(call(x)) for x in (first, second, first)]


@program
def a_tensors_methods_replaced(wrap):
    before = Tensor.sum, Tensor.__add__

    def change(value):
        Tensor.sum, Tensor.__add__ = value or before

    try:
        return results(wrap(lambda x: (x + 1) * x.sum()), change,
                       [None, None, (Tensor.mean, before[1]), (before[0], Tensor.__mul__), None])
    finally:
        change(None)


@program
def attributes_that_come_later(wrap):
    class Thing:
        pass

    thing, module = Thing(), types.ModuleType("with_names_later")
    sys.modules[module.__name__] = module

    def change(owner):
        if owner is not None:
            owner.late = len(vars(owner)) + 2.0

    return results(wrap(lambda x: x * getattr(thing, "late", 1.0) * getattr(module, "late", 1.0)),
                   change, [None, None, Thing, module, thing, None])


@program
def objects_in_an_array(wrap):
    thing = types.SimpleNamespace(k=1.0)
    held = np.array([thing, [1.0]], dtype=object)

    def change(value):
        thing.k = value

    def fn(x):
        held[1][0] += 1
        return x * held[0].k + held[1][0]

    return results(wrap(fn), change, [1.0, 1.0, 2.0, 3.0]) + [held[1]]
