"""Guards look at the program's objects without running code of these objects."""

import types

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor

X = Tensor(np.ones((1, 2), np.float32))


class Lazy(types.ModuleType):
    """A module that is imported when it is first used, and can't be."""

    asked = 0

    def __getattribute__(self, name):
        Lazy.asked += 1
        raise ModuleNotFoundError(name)


class Unbound:
    """A proxy that nothing stands behind yet."""

    def __init__(self):
        object.__setattr__(self, "scale", 2.0)

    def __getattribute__(self, name):
        raise RuntimeError(f"{name} of nothing")


class Slotted:
    __slots__ = ("scale",)

    def __init__(self):
        object.__setattr__(self, "scale", 2.0)

    def __getattribute__(self, name):
        raise RuntimeError(f"{name} of nothing")


MAKERS = {"lazy": lambda: Lazy("lazy"), "unbound": Unbound, "slotted": Slotted}
here = types.ModuleType("here")  # its other names are looked at with the one that is used


def by_closure(thing):
    return lambda x: x * 2 if thing is not None else x


def by_dict(thing):
    table = {"thing": thing, "by": 2}
    return lambda x: x * table["by"]


def by_list(thing):
    return lambda x, row=[thing, 2]: x * row[1]  # noqa: B006 - what the guards look at


def by_module(thing):
    here.thing = thing
    return lambda x: x * 2 if here.thing is not None else x


def by_object(thing):
    holder = types.SimpleNamespace(thing=thing, by=2)
    return lambda x: x * holder.by


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("held", [by_closure, by_dict, by_list, by_module, by_object])
def test_what_a_function_can_reach(held, kind):
    Lazy.asked = 0
    function = held(MAKERS[kind]())
    for compiled in (ms.jit(function), ms.jit(ms.value_and_grad(lambda x: function(x).sum()))):
        for _ in range(3):
            compiled(X)
    assert ms.jit(function)(X).asnumpy().tolist() == [[2, 2]]
    assert Lazy.asked == 0


@pytest.mark.parametrize("kind", MAKERS)
def test_arguments(kind):
    compiled, thing = ms.jit(lambda x, other: x * 2), MAKERS[kind]()
    for _ in range(3):
        assert compiled(X, thing).asnumpy().tolist() == [[2, 2]]


def test_attributes_behind_such_a_class_still_count():
    class Settings:
        def __init__(self, by):
            self.by = by

        def __getattribute__(self, name):
            if name.startswith("__"):
                raise RuntimeError(name)
            return object.__getattribute__(self, name)

    settings = Settings(2)
    compiled = ms.jit(lambda x: x * settings.by)
    assert [compiled(X).asnumpy()[0, 0] for _ in range(3)] == [2, 2, 2]
    settings.by = 5
    assert [compiled(X).asnumpy()[0, 0] for _ in range(3)] == [5, 5, 5]


class Hiding(dict):
    """A dict that shows something else than it holds."""

    def items(self):
        return [(key, "hidden") for key in super().keys()]

    def values(self):
        return ["hidden"] * super().__len__()

    def __iter__(self):
        return iter(())

    def __len__(self):
        return 0


class Empty(list):
    """A list that says that there is nothing in it."""

    def __iter__(self):
        return iter(())

    def __len__(self):
        return 0


@pytest.mark.parametrize("make, key", [
    (lambda: Hiding(a=2.0), "a"), (lambda: Empty([2.0]), 0)], ids=["dict", "list"])
def test_what_a_container_holds_counts_not_what_it_shows(make, key):
    held, given = make(), make()
    by_closure = ms.jit(lambda x: x * held[key])
    by_argument = ms.jit(lambda x, container: x * container[key])
    for wanted in (2.0, 5.0, 7.0):
        dict.__setitem__(held, key, wanted) if key == "a" else list.__setitem__(held, key, wanted)
        given[key] = wanted
        for _ in range(3):
            assert by_closure(X).asnumpy()[0, 0] == wanted
            assert by_argument(X, given).asnumpy()[0, 0] == wanted
