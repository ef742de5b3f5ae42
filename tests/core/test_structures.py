"""Structures without Tensors: `lamella.core.structures` and `lamella.tree`."""

import collections
import dataclasses
import typing

import pytest
from torch.utils import _pytree

import lamella as ms
from lamella.core import structures

Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Point:
    x: typing.Any
    y: typing.Any = None


EXAMPLES = [
    1, None, (), [], {}, (1, [2, {"k": 3}]), Pair(1, [2]), {"b": 1, "a": (2, 3)},
    collections.OrderedDict(z=1, a=[2]), collections.defaultdict(list, k=[1, 2]), Point(1, [2, 3]),
    [Point((1, None), {"k": 2})], collections.Counter(a=1, b=2),
]


@pytest.mark.parametrize("tree", EXAMPLES, ids=repr)
def test_round_trips(tree):
    found, structure = ms.tree.flatten(tree)
    again = ms.tree.unflatten(structure, found)
    assert again == tree and type(again) is type(tree) and structure == ms.tree.flatten(again)[1]
    assert ms.tree.leaves(tree) == found
    doubled = ms.tree.map(lambda a, b: a + b, tree, tree)
    assert ms.tree.leaves(doubled) == [leaf * 2 for leaf in found]
    assert structures.same_structure(tree, doubled)
    with pytest.raises(ValueError, match="leaves"):
        ms.tree.unflatten(structure, [*found, 0])


@pytest.mark.parametrize("tree", [t for t in EXAMPLES if "Point" not in repr(t)
                                  and "Counter" not in repr(t) and "None" not in repr(t)], ids=repr)
def test_leaves_are_pytorchs(tree):
    assert ms.tree.leaves(tree) == _pytree.tree_leaves(tree)


def test_paths():
    tree = {"a": [1, Point(2, Pair(3, 4))]}
    assert dict(structures.paths(tree, "x")) == {
        "x['a'][0]": 1, "x['a'][1].x": 2, "x['a'][1].y.a": 3, "x['a'][1].y.b": 4}


@pytest.mark.parametrize("a, b, place", [
    ((1, 2), (1, 2, 3), r"a tuple with \[0\], \[1\] and another a tuple with"),
    ({"k": [1]}, {"k": 1}, r"at \['k'\] one has a list with \[0\] and another a leaf of type int"),
    ([Point(1, [2])], [Point(1, [2, 3])], r"at \[0\]\.y"),
    ({"k": 1}, {"l": 1}, r"'k'.*'l'"),
    (Point(1), Pair(1, 2), "Point"),
])
def test_structures_that_differ(a, b, place):
    with pytest.raises(ValueError, match=place):
        ms.tree.map(lambda x, y: x, a, b)
    assert not structures.same_structure(a, b)


def test_dicts_are_matched_by_keys():
    assert ms.tree.map(lambda a, b: (a, b), {"x": 1, "y": 2}, {"y": 20, "x": 10}) == {
        "x": (1, 10), "y": (2, 20)}


class Box:
    def __init__(self, held, label):
        self.held, self.label = held, label


class Other(Box):
    pass


def test_registered_classes():
    ms.tree.register(Box, lambda b: ((b.held,), b.label), lambda label, parts: Box(*parts, label))
    made = ms.tree.map(lambda v: v * 2, [Box({"k": 1}, "a"), 3])
    assert made[0].held == {"k": 2} and made[0].label == "a" and made[1] == 6
    assert list(structures.paths(made[0])) == [(".parts[0]['k']", 2)]
    assert not structures.same_structure(Box(1, "a"), Box(1, "b"))
    other = Other(1, "a")
    assert ms.tree.leaves(other) == [other]  # subclasses are registered apart
    for wrong in (ms.Tensor, ms.nn.Dense, int, list):
        with pytest.raises(TypeError, match="can't be"):
            ms.tree.register(wrong, lambda b: ((), None), lambda label, parts: None)
    with pytest.raises(TypeError, match="'flatten' must be a function"):
        ms.tree.register(Other, 1, lambda label, parts: None)
    with pytest.raises(TypeError, match="'cls' must be a class"):
        ms.tree.register(other, lambda b: ((), None), lambda label, parts: None)
    with pytest.raises(TypeError, match="'function' must be a function"):
        ms.tree.map(1, [1])
    with pytest.raises(TypeError, match=r"tree\.flatten"):
        ms.tree.unflatten([1], [1])


def test_wide_and_deep():
    tree = 1
    for _ in range(200):
        tree = [tree]
    assert ms.tree.leaves(tree) == [1]
    assert ms.tree.map(lambda v: v, list(range(10000))) == list(range(10000))


def test_what_contains_itself_is_named():
    endless: list = [ms.Tensor([1.0])]
    endless.append({"again": endless})
    x = ms.Tensor([1.0, 2.0])
    for call in (
            lambda: ms.vmap(lambda x: endless)(x), lambda: ms.vmap(lambda x, y: x)(x, endless),
            lambda: ms.value_and_grad(lambda x: (x.sum(), endless), has_aux=True)(x),
            lambda: ms.grad(lambda x, y: x.sum(), 1)(x, endless),
            lambda: ms.jvp(lambda x: endless, (x,), (x,)), lambda: ms.jacrev(lambda x: endless)(x),
            lambda: ms.tree.map(lambda leaf: leaf, endless),
            lambda: list(structures.paths(endless))):
        with pytest.raises(ValueError, match="can't contain itself"):
            call()
    with pytest.raises(ValueError, match="can't contain themselves"):
        ms.Tensor(endless[:0] + [endless_list()])


def endless_list():
    endless: list = [1.0]
    endless.append(endless)
    return endless


def test_a_structure_equals_only_structures():
    _, form = ms.tree.flatten({"a": 1, "b": [2, 3]})
    assert form == ms.tree.flatten({"a": 5, "b": [6, 7]})[1]
    assert form != ms.tree.flatten({"a": 1, "b": [2, [3]]})[1]
    assert form != {"a": 1, "b": [2, 3]} and form != 3
