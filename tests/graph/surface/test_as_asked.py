"""Results of compiled functions: without iterators and views of dicts."""

import collections

import pytest

import lamella as ms
from lamella import Tensor, jit
from lamella.graph.surface.as_asked import as_graphs_give

Pair = collections.namedtuple("Pair", "first second")
X = Tensor([1.0, 2.0])
OWN = {"a": 1, "b": X}


@pytest.mark.filterwarnings("ignore:For 'jit'")
@pytest.mark.parametrize("make, wanted", [
    (lambda: range(1, 4), (1, 2, 3)), (lambda: range(0), ()),
    (lambda: zip((1, 2), (X, "b"), strict=True), ((1, X), (2, "b"))),
    (lambda: enumerate("ab"), ((0, "a"), (1, "b"))),
    (lambda: OWN.keys(), ("a", "b")), (lambda: OWN.values(), (1, X)),
    (lambda: OWN.items(), [("a", 1), ("b", X)]),
    (lambda: map(len, ("", "a")), [0, 1]), (lambda: filter(None, (0, 1, 2)), [1, 2]),
    (lambda: enumerate([range(1), OWN.items()]), ((0, (0,)), (1, [("a", 1), ("b", X)]))),
    (lambda: [1, range(2)], [1, (0, 1)]), (lambda: (range(2), 1), ((0, 1), 1)),
    (lambda: {"k": 1, "v": [OWN.keys()]}, {"k": 1, "v": [("a", "b")]}),
    (lambda: ([{"v": (0, map(abs, (-1,)))}],), ([{"v": (0, [1])}],))], ids=range(14))
def test_what_a_graph_has_no_form_of(make, wanted):
    for found in (as_graphs_give(make()), jit(lambda x: make())(X)):
        assert repr(found) == repr(wanted) and type(found) is type(wanted)


@pytest.mark.parametrize("value", [
    X, None, "ab", 3, [1, (2, {"a": [X]})], (1, 2), {"a": (1, [2])}, Pair(1, range(2)),
    collections.OrderedDict(a=range(2)), collections.deque([range(2)]), {1, 2}, (), [], {},
    (i for i in (1, 2)), iter([1]), reversed([1])], ids=range(17))
def test_other_results_are_the_very_objects(value):
    assert as_graphs_give(value) is value


def test_a_container_in_itself():
    row, named = [1], {"a": 1}
    row.append(row)
    named["b"] = (named, row)
    assert as_graphs_give(row) is row and as_graphs_give(named) is named
    row.append(range(2))
    found = as_graphs_give(row)
    assert found[1] is row and found[2] == (0, 1) and type(row[2]) is range


def values_of(x):
    return {"a": x * 2, "b": [x * 3]}.values()


@pytest.mark.filterwarnings("ignore:For 'jit'")
@pytest.mark.parametrize("around, wanted", [
    (lambda f: f, [3.0, 6.0]), (lambda f: ms.grad(lambda x: f(x).sum()), [3.0, 3.0]),
    (lambda f: ms.grad(ms.grad(lambda x: (f(x) ** 2).sum())), [18.0, 18.0]),
    (lambda f: ms.vmap(f), [3.0, 6.0]), (lambda f: jit(lambda x: f(x) * 2), [6.0, 12.0]),
    (lambda f: lambda x: ms.jvp(f, x, x)[1], [3.0, 6.0])], ids=range(6))
def test_results_inside_of_other_functions(around, wanted):
    compiled = jit(values_of)

    def second(x):
        found = compiled(x)
        assert type(found) is tuple and type(found[1]) is list
        return found[1][0]

    for _ in range(3):
        assert around(second)(X).tolist() == wanted
