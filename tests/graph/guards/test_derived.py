"""Classes derived from Python's, functions that bear another's name, names that Python reserves."""

import functools
import sys
import types
from collections import namedtuple
from typing import NamedTuple

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, jit, nn, ops

FACTOR = 2.0
X = Tensor([1.0, 3.0])


@pytest.fixture(autouse=True)
def _factor_put_back():
    yield
    globals()["FACTOR"] = 2.0


def set_factor(value):
    globals()["FACTOR"] = value


class Point(NamedTuple):
    x: float

    def scaled(self, by):
        return by * (self.x * FACTOR)


class Longer(namedtuple("Pair", "x y")):
    __slots__ = ()
    shift = 1.0

    def scaled(self, by):
        return by * (self.x * self.shift)


class Numbers(list):
    __slots__ = ()
    shift = 1.0

    def scaled(self, by):
        return by * (self[0] * self.shift * FACTOR)


class Table(dict):
    shift = 1.0

    def scaled(self, by):
        return by * (self["x"] * self.shift * FACTOR)


class Level(int):
    __slots__ = ()
    shift = 1.0

    def scaled(self, by):
        return by * (int(self) * self.shift * FACTOR)


class Row(np.ndarray):
    shift = 1.0

    def scaled(self, by):
        return by * (float(self[0]) * self.shift * FACTOR)


class Own(Tensor):
    shift = 1.0

    def scaled(self, by):
        return by * (self * self.shift * FACTOR)


VALUES = [Point(3.0), Longer(3.0, 4.0), Numbers([3.0]), Table(x=3.0), Level(3),
          np.ones(1).view(Row), Own([3.0])]


def changes_of(value):
    """What another method may do is changed: a global, and an attribute of the class."""
    yield lambda: None
    yield lambda: None
    yield lambda: set_factor(5.0)
    if hasattr(value, "shift"):
        yield lambda: setattr(type(value), "shift", 7.0)
        yield lambda: setattr(type(value), "shift", 1.0)


@pytest.mark.parametrize("is_argument", [False, True])
@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_what_methods_of_a_derived_class_read(value, is_argument):
    if is_argument:
        fn = jit(lambda x, given: given.scaled(x))
        call = functools.partial(fn, X, value)
    else:
        held = types.SimpleNamespace(value=value)
        fn = jit(lambda x: held.value.scaled(x))
        call = functools.partial(fn, X)
    for change in changes_of(value):
        change()
        assert call().asnumpy().tolist() == value.scaled(X).asnumpy().tolist()
    assert fn.report()["replays"] >= 1 and not fn.report()["eager"]


def test_tensors_of_other_classes_are_other_arguments():
    fn = jit(lambda x: x * 2 if type(x) is Tensor else x * 3)
    for given in (Tensor([1.0]), Own([1.0]), Tensor([1.0]), Own([1.0])):
        assert fn(given).item() == (2 if type(given) is Tensor else 3)
    assert fn.report()["traces"] == 2


def scaled(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args) * FACTOR

    return inner


@functools.wraps(np.dot)
def without_variables(x):
    return x * FACTOR


@pytest.mark.parametrize("function, use", [
    (scaled(ops.relu), lambda function, x: function(x)),
    (scaled(np.mean), lambda function, x: x * float(function([0.5]))),
    (without_variables, lambda function, x: function(x))], ids=["lamella", "numpy", "no closure"])
def test_a_function_that_bears_the_name_of_a_librarys(function, use):
    assert not function.__module__.startswith("tests")
    fn = jit(lambda x: use(function, x))
    for factor in (2.0, 2.0, 5.0):
        set_factor(factor)
        assert fn(X).asnumpy().tolist() == use(function, X).asnumpy().tolist()
    assert fn.report()["traces"] == 2 and fn.report()["replays"] == 1


class Special(nn.Cell):
    __scale__ = 2.0
    __doc__ = "ab"

    def construct(self, x):
        return x * self.__scale__ * len(self.__doc__)


def test_attributes_with_names_as_python_has_them():
    net = Special()
    fn, found = jit(net), []
    for change in (lambda: None, lambda: None, lambda: setattr(Special, "__scale__", 3.0),
                   lambda: setattr(Special, "__doc__", "abc"), lambda: None):
        change()
        found.append(fn(Tensor([1.0])).item())
    assert found == [4, 4, 6, 9, 9] and fn.report()["replays"] == 2


class Slotted:
    __slots__ = ("value",)

    def factor(self):
        return 2.0 * self.value


class Other:
    __slots__ = ("value",)

    def factor(self):
        return 3.0 * self.value


def test_an_object_with_slots_gets_another_class():
    thing = Slotted()
    thing.value = 1.0
    fn, found = jit(lambda x: x * thing.factor()), []
    for kind in (Slotted, Slotted, Other, Slotted):
        thing.__class__ = kind
        found.append(fn(Tensor([1.0])).item())
    assert found == [2, 2, 3, 2]


def test_a_run_that_gives_an_object_with_slots_another_class_is_eager():
    thing = Slotted()
    thing.value = 1.0

    def step(x):
        thing.__class__ = Other if type(thing) is Slotted else Slotted
        return x * thing.factor()

    fn = jit(step)
    with pytest.warns(UserWarning, match="changes the class of an object"):
        assert [fn(Tensor([1.0])).item() for _ in range(4)] == [3, 2, 3, 2]


@pytest.mark.parametrize("name", ["_params", "_cells", "_buffers"])
def test_what_a_cell_owns_gets_another_name(name):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.weight = ms.Parameter(Tensor([2.0]), name="weight")
            self.layer = nn.ReLU()
            self.register_buffer("moving", Tensor([3.0]))

        def construct(self, x):
            return x * (2.0 if hasattr(self, "other") else 1.0)

    net = Net()
    fn = jit(net)
    assert [fn(Tensor([1.0])).item() for _ in range(2)] == [1, 1]
    owned = net.__dict__[name]
    owned["other"] = owned.pop(next(iter(owned)))
    assert fn(Tensor([1.0])).item() == 2


def test_modules_by_dotted_names(monkeypatch):
    around, inner = types.ModuleType("some"), types.ModuleType("some.settings")
    around.settings, inner.scale = inner, 2.0
    monkeypatch.setitem(sys.modules, "some", around)
    monkeypatch.setitem(sys.modules, "some.settings", inner)

    def by_table(x):
        return x * sys.modules["some.settings"].scale

    def by_path(x):
        return x * functools.reduce(getattr, "settings.scale".split("."), around)

    for step in (by_table, by_path):
        inner.scale, fn, found = 2.0, jit(step), []
        for scale in (2.0, 2.0, 5.0):
            inner.scale = scale
            found.append(fn(Tensor([1.0])).item())
        assert found == [2, 2, 5] and fn.report()["replays"] == 1


def test_divisions_of_numpys_float64_depend_on_its_settings():
    zero = np.float64(0.0)

    def step(x):
        try:
            return x * float(np.isnan(zero / zero))
        except FloatingPointError:
            return x * 5.0

    def without(x, zero=zero):
        try:
            return x * float(zero / zero == 1)
        except FloatingPointError:
            return x * 5.0

    for fn, quiet in ((jit(step), 1.0), (jit(without), 0.0)):
        for how, wanted in (("ignore", quiet), ("ignore", quiet), ("raise", 5), ("ignore", quiet)):
            with np.errstate(invalid=how):
                assert fn(Tensor([1.0])).item() == wanted


class Keeping(nn.Cell):
    """A network with attributes that a program may name so."""

    def __init__(self):
        super().__init__()
        self._graph, self._compiled, self._recorded = 2.0, [3.0], Tensor([5.0])

    def construct(self, x):
        return x * self._graph * self._compiled[0] + self._recorded


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_attributes_of_networks_with_names_that_a_compiler_might_take(mode):
    net = Keeping()
    ms.set_context(mode=mode)
    try:
        fn = net if mode == ms.GRAPH_MODE else jit(net)
        found = [fn(Tensor([1.0])).item() for _ in range(2)]
        for name, value in (("_graph", 4.0), ("_compiled", [1.0]), ("_recorded", Tensor([7.0]))):
            setattr(net, name, value)
            found.append(fn(Tensor([1.0])).item())
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    assert found == [11, 11, 17, 9, 11]
    net.set_jit_config(ms.JitConfig(jit_level="O0"))
    assert net._graph == 4.0 and net._compiled == [1.0]


def test_a_class_with_its_own_compiled_attribute_has_compiled_methods():
    class Model:
        def __init__(self):
            self._compiled = False

        @jit
        def step(self, x):
            return x * (2.0 if self._compiled else 1.0)

    model = Model()
    found = [model.step(Tensor([1.0])).item() for _ in range(2)]
    model._compiled = True
    assert [*found, model.step(Tensor([1.0])).item()] == [1, 1, 2]


class Scaled(namedtuple("Pair", "x y")):
    def __new__(cls, x):
        return super().__new__(cls, x, x * 2)


def test_numbers_that_vary_in_a_tuple_that_is_made_in_another_way():
    held = types.SimpleNamespace()
    fn, found = jit(lambda x: x * held.value.x + held.value.y), []
    for number in range(6):
        held.value = Scaled(float(number))
        held.value.note = "kept"
        found.append(fn(Tensor([1.0])).item())
    assert found == [3.0 * number for number in range(6)]
    assert fn.report()["replays"] >= 1 and type(held.value) is Scaled


class Watched(list):
    asked = 0

    def __getitem__(self, place):
        Watched.asked += 1
        return super().__getitem__(place)


def test_guards_ask_no_list_of_a_program_for_its_elements():
    held = Watched([[2.0], {"a": [1.0]}])
    fn = jit(lambda x: x * list.__getitem__(held, 0)[0])
    assert [fn(Tensor([1.0])).item() for _ in range(3)] == [2, 2, 2] and Watched.asked == 0
    list.__getitem__(held, 0)[0] = 5.0
    assert fn(Tensor([1.0])).item() == 5 and Watched.asked == 0


def hidden(value):
    return value * FACTOR


@pytest.mark.parametrize("table, call", [
    ({"f": np.frompyfunc(hidden, 1, 1)}, lambda f: f(2.0)),
    ({"f": staticmethod(hidden)}, lambda f: f(2.0)),
    ({"f": property(hidden)}, lambda f: f.fget(2.0))], ids=["ufunc", "staticmethod", "property"])
def test_functions_that_other_objects_hide_read_globals_that_count(table, call):
    fn, found = jit(lambda x: x * float(call(table["f"]))), []
    for factor in (2.0, 2.0, 2.0, 2.0, 5.0):
        set_factor(factor)
        found.append(fn(Tensor([1.0])).item())
    assert found == [4, 4, 4, 4, 10] and fn.report()["replays"] == 2 and not fn.report()["eager"]
