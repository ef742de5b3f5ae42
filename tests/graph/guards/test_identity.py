"""The check that containers still hold the same objects, in C++ and in Python."""

from collections import OrderedDict, defaultdict

import pytest

from lamella.graph.guards.identity import Identities
from lamella.graph.guards.sources import ABSENT

pytestmark = pytest.mark.usefixtures("executor")


CHANGES = {
    "nothing": lambda d, o, x: None,
    "the same object again": lambda d, o, x: d.update(a=d["a"]),
    "an equal name": lambda d, o, x: (d.pop("b"), d.update({"".join("b"): x[1]})),
    "another value": lambda d, o, x: d.update(a=[2]),
    "an equal value": lambda d, o, x: d.update(a=[1]),
    "more": lambda d, o, x: d.update(c=1),
    "less": lambda d, o, x: d.pop("b"),
    "another name": lambda d, o, x: d.update(c=d.pop("b")),
    "another order": lambda d, o, x: d.update(a=d.pop("a")),
    "an element": lambda d, o, x: x.append(1),
    "another element": lambda d, o, x: x.__setitem__(0, [3]),
    "elements in another order": lambda d, o, x: x.reverse(),
    "nothing left": lambda d, o, x: x.clear(),
    "of an OrderedDict the order": lambda d, o, x: o.move_to_end("a"),
    "of an OrderedDict a value": lambda d, o, x: o.update(b=5.0),
    "of an OrderedDict a name": lambda d, o, x: o.update(c=o.pop("b")),
    "of an OrderedDict an element": lambda d, o, x: o["a"].append(1),
}
SAME = ("nothing", "the same object again", "an equal name")


@pytest.mark.parametrize("change", CHANGES)
def test_changes_are_found(change):
    inner = [[1], 2.5]
    plain, ordered = {"a": [1], "b": inner[1]}, OrderedDict(a=[1], b=2.0)
    held = Identities()
    assert held.add_all({"plain": plain, "ordered": ordered, "inner": inner}, None)
    assert held.hold()
    CHANGES[change](plain, ordered, inner)
    assert held.hold() == (change in SAME)


def test_other_containers_cannot_be_compared_by_identity():
    for other in ({1}, [{1}], {"a": {2}}, defaultdict(list), [bytearray(b"a")], ([1],)):
        assert not Identities().add_all(other, None)
    for known in ([(1, "a")], {"a": {"b": [1.5, None]}}, []):
        assert Identities().add_all(known, None)


def test_large_containers_count_only_if_the_run_reads_them():
    large = list(range(10_000))
    closed, opened = Identities(), Identities()
    assert closed.add_all([large], {}) and opened.add_all([large], {id(large): large})
    large[0] = 5
    assert closed.hold() and not opened.hold()


def test_names_variables_attributes_and_classes():
    class Base:
        pass

    class Thing:
        __slots__ = ("slot",)

    class Other(Base):
        pass

    def function(x=1):
        return x, thing

    thing, other = Thing(), Other()
    (variable,) = function.__closure__
    space = {"here": 1.5}
    changes = [
        (lambda: space.update(here=2.5), lambda: space.update(here=was)),
        (lambda: space.update(gone=1), lambda: space.pop("gone")),
        (lambda: setattr(Other, "gone", 1), lambda: delattr(Other, "gone")),
        (lambda: setattr(Other, "__module__", "m"), lambda: setattr(Other, "__module__", module)),
        (lambda: setattr(variable, "cell_contents", 1),
         lambda: setattr(variable, "cell_contents", held_thing)),
        (lambda: setattr(thing, "slot", 1), lambda: delattr(thing, "slot")),
        (lambda: setattr(function, "__defaults__", (2,)),
         lambda: setattr(function, "__defaults__", defaults)),
        (lambda: setattr(Other, "__bases__", (Base, Extra)),
         lambda: setattr(other, "__class__", Base)),
    ]

    class Extra:
        pass

    was, module, held_thing = space["here"], Other.__module__, thing
    defaults = function.__defaults__
    held = Identities()
    held.names += [(space, "here", was), (space, "gone", ABSENT), (vars(Other), "gone", ABSENT),
                   (vars(Other), "__module__", module)]
    held.variables.append((variable, thing))
    held.attributes += [(thing, "slot", ABSENT), (function, "__defaults__", defaults),
                        (Other, "__mro__", Other.__mro__)]
    held.classes.append((other, Other))
    for change, undo in changes:
        assert held.hold()
        change()
        assert not held.hold()
        undo()
    assert not held.hold()  # the last one only made another change: the object's class


def test_a_list_that_holds_itself_is_noted_once():
    itself: list = [1]
    itself.extend([itself] * 20)
    identities = Identities()
    assert identities.add_all(itself, None) and len(identities.lists) == 1 and identities.hold()
    itself[3] = list(itself)
    assert not identities.hold()
