"""The check that containers still hold the same objects, in C++ and in Python."""

from collections import OrderedDict, defaultdict

import pytest

from lamella.graph.guards.identity import Identities

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
    itself: list = []
    itself.append(itself)
    for other in ({1}, [{1}], {"a": {2}}, defaultdict(list), [bytearray(b"a")], ([1],), itself):
        assert not Identities().add_all(other, None)
    for known in ([(1, "a")], {"a": {"b": [1.5, None]}}, []):
        assert Identities().add_all(known, None)


def test_large_containers_count_only_if_the_run_reads_them():
    large = list(range(10_000))
    closed, opened = Identities(), Identities()
    assert closed.add_all([large], {}) and opened.add_all([large], {id(large): large})
    large[0] = 5
    assert closed.hold() and not opened.hold()
