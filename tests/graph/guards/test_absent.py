"""Names that code may look for and do without."""

import builtins
import types

import pytest

from lamella.graph.guards.absent import note_absent, sought_by
from lamella.graph.guards.reachable import Names


def asks(thing):
    return hasattr(thing, "scale")


def handles(thing):
    try:
        return thing.scale
    except AttributeError:
        return 1


def reads(thing):
    return thing.scale


def ends(thing):
    try:
        return thing.scale
    finally:
        thing.close()


@pytest.mark.parametrize("function, found", [
    (asks, {"hasattr", "scale"}), (handles, {"scale", "AttributeError"}), (reads, set()),
    (ends, set())])
def test_the_names_that_a_function_may_do_without(function, found):
    assert sought_by(function.__code__) == found
    installed = function.__code__.replace(co_filename="/usr/lib/site-packages/some/file.py")
    assert sought_by(installed) == frozenset()


class Base:
    shared = 1


class Derived(Base):
    own = 2


def test_where_missing_names_may_appear():
    module = types.ModuleType("some")
    module.there = 1
    names = Names()
    note_absent(names, {"there", "missing", "len"}, [module], [Base])
    found = names.spaces[id(vars(module))]
    assert found[0] is found[1] is vars(module) and set(found[2]) == {"missing", "len"}
    assert set(names.spaces[id(vars(builtins))][2]) == {"there", "missing"}
    assert set(names.spaces[id(Base)][2]) == {"there", "missing", "len"}


def test_a_class_may_get_the_names_that_it_inherits():
    for sought in (set(), {"x"}):
        names = Names()
        names.use(Base, vars(Base), "shared")
        names.use(Derived, vars(Derived), "own")
        names.use(type, vars(type), "mro")
        note_absent(names, sought, [], [])
        assert set(names.spaces[id(Derived)][2]) == {"own", "shared", "mro"}
        assert set(names.spaces[id(Base)][2]) == {"shared", "mro"}
        assert (id(vars(builtins)) in names.spaces) == bool(sought)
