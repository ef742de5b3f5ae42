"""Which names of modules and classes a search finds."""

import builtins
import math
import sys
import types

from lamella.graph.guards.kinds import BUILT_IN, ByIdentity
from lamella.graph.guards.search import reachable_from

SCALE, UNUSED = 2.0, [1.0]


class Plain:
    pass


def names_of(reach, owner):
    return set(reach.names.spaces[id(owner)][2]) if id(owner) in reach.names.spaces else None


def functions_of(reach):
    return sorted(function.__name__ for function in reach.objects.functions)


def test_globals_that_a_function_reads():
    def step(x):
        return x * SCALE + missing.UNUSED + math.pi  # noqa: F821

    reach = reachable_from(step)
    assert names_of(reach, globals()) == {"SCALE", "missing", "math"}
    assert names_of(reach, vars(math)) >= {"pi"} and "sin" not in names_of(reach, vars(math))
    assert all(each.thing is not UNUSED for each in reach.contents.containers)


def test_built_in_names_that_a_module_does_not_hide():
    def step(x):
        return sorted(x), print(x), len(x)

    reach = reachable_from(step)
    assert {"sorted", "print", "len"} <= names_of(reach, globals())
    # what `print` is differs while a thread records
    assert names_of(reach, BUILT_IN) == {"sorted", "len"}

    def holds_all(x):
        return __builtins__

    reach = reachable_from(holds_all)
    assert all(each.thing is not BUILT_IN for each in reach.contents.containers)


def test_the_programs_own_print_is_followed(monkeypatch):
    def own_print(*args, **options):
        return SCALE

    def prints(x):
        print(x)

    monkeypatch.setattr(builtins, "print", own_print)
    assert functions_of(reachable_from(prints)) == ["own_print", "prints"]
    assert functions_of(reachable_from(lambda x: x)) == ["<lambda>"]


def test_the_table_of_modules_is_no_container():
    def step(x):
        return sys.modules, sys.path

    reach = reachable_from(step)
    assert "path" in names_of(reach, vars(sys)) and "modules" not in names_of(reach, vars(sys))
    things = [each.thing for each in reach.contents.containers]
    assert any(thing is sys.path for thing in things)
    assert all(thing is not sys.modules for thing in things)


def test_caches_and_slots_of_lamellas_objects_are_left_out():
    thing, ours, cached = Plain(), ByIdentity([1]), Plain()
    thing.__dict__["_compiled_methods"] = {"a": cached}
    thing.kept = Plain()
    reach = reachable_from(lambda x: (thing, ours))
    assert thing.kept in reach.objects.others and cached not in reach.objects.others
    assert reach.objects.slotted == []


def test_attributes_of_classes_and_methods_that_are_mentioned():
    class Meta(type):
        of_meta = 1

        def meta_method(cls):
            return 1

    class Base(metaclass=Meta):
        shared = [1]
        __special__ = 3

        def used(self):
            return SCALE

        def unused(self):
            return UNUSED

        def __len__(self):
            return 1

        def __init__(self):
            self.value = 1

        def construct(self):
            return 2

    class Derived(Base):
        own = Base

    thing = Derived()

    def step(x):
        return thing.used()

    reach = reachable_from(step)
    assert functions_of(reach) == ["__len__", "construct", "step", "used"]
    found = names_of(reach, Base)
    assert {"shared", "used", "__len__", "construct"} <= found
    assert found.isdisjoint({"unused", "__init__", "__special__", "__dict__", "__doc__"})
    assert names_of(reach, Meta) == {"of_meta"}
    assert names_of(reach, Derived) >= {"own"} | found  # which it may override

    assert names_of(reach, object) is None  # none of the program's

    def mentions_later(x):
        return thing.unused

    def first(x):
        return thing.used(), second

    def second(x):
        return mentions_later

    assert functions_of(reachable_from(thing, first)) == [
        "__len__", "construct", "first", "mentions_later", "second", "unused", "used"]

    def made(x):
        return Derived(), Derived.__special__, thing.unused

    reach = reachable_from(made)
    assert functions_of(reach) == ["__init__", "__len__", "construct", "made", "unused"]
    assert "__special__" in names_of(reach, Base)


def test_methods_whose_names_are_computed_are_found_once_they_ran():
    class Thing:
        def hidden(self):
            return SCALE

    thing = Thing()

    def step(x):
        return getattr(thing, "hid" + "den"[x:])

    assert functions_of(reachable_from(step)) == ["step"]
    assert functions_of(reachable_from(step, names=["hidden"])) == ["hidden", "step"]


def module_of(**held):
    module = types.ModuleType("some_settings")
    vars(module).update(held)
    return module


def test_modules_of_the_programs():
    def inside():
        return SCALE

    module = module_of(scale=[2.0], other=[3.0], inside=inside, kind=Plain, part=math)

    def step(x):
        return x * module.scale

    reach = reachable_from(step)
    assert names_of(reach, vars(module)) == {"scale"}
    assert vars(module) in reach.names.sized

    def computed(x, name="scale"):
        return x * getattr(module, name)

    reach = reachable_from(computed)
    assert names_of(reach, vars(module)) >= {"scale", "other", "inside", "kind", "part"}
    things = [each.thing for each in reach.contents.containers]
    assert any(thing is module.other for thing in things)
    assert functions_of(reach) == ["computed"]  # others once they ran
    assert "sin" not in (names_of(reach, vars(math)) or ())


def test_modules_that_make_their_names():
    module = module_of(__getattr__=lambda name: SCALE)

    def step(x):
        return x * module.anything

    reach = reachable_from(step)
    assert "__getattr__" in names_of(reach, vars(module))
    assert functions_of(reach) == ["<lambda>", "step"]


def test_imports_inside_of_functions(monkeypatch):
    module = module_of(scale=2.0)
    monkeypatch.setitem(sys.modules, "some_settings", module)

    def imports(x):
        import some_settings
        return some_settings.scale

    def by_name(x):
        return sys.modules["some_settings"].scale

    for step in (imports, by_name):
        reach = reachable_from(step)
        assert "some_settings" in names_of(reach, sys.modules)
        assert names_of(reach, vars(module)) == {"scale"}
        assert sys.modules not in reach.names.sized

    def looks_for_it(x):
        return x.some_settings, "scale"

    reach = reachable_from(looks_for_it)  # it may be imported in another way
    assert names_of(reach, vars(module)) == {"scale"} and names_of(reach, sys.modules) is None


def test_the_main_module_may_grow():
    spaces = [{"__name__": name, "scale": 1} for name in ("__main__", "some", "json", None)]
    for space in spaces:
        exec("def step(x): return x * scale", space)
        reach = reachable_from(space["step"])
        assert (space in reach.names.sized) == (space["__name__"] in ("some", None))
        assert (names_of(reach, space) == {"scale"}) == (space["__name__"] != "json")
