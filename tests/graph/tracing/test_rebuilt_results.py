"""Descriptions of results, and the values that replays make of them."""

import collections
import dataclasses

import pytest
import torch

import lamella as ms
from lamella import Parameter, Tensor, jit
from lamella.graph.guards.search import reachable_from
from lamella.graph.guards.sources import Global
from lamella.graph.tracing.changes import GivenThing
from lamella.graph.tracing.results import (
    Computed,
    Given,
    Held,
    Known,
    Made,
    New,
    Read,
    Rebuilding,
    Results,
    Text,
    builder_of,
    numbers_in,
)

RAWS = [torch.tensor([1.0]), torch.tensor(2), torch.tensor([3.0])]
Pair = collections.namedtuple("Pair", "left right")


@dataclasses.dataclass
class Both:
    left: object
    right: object = 3


def plain(value):
    if isinstance(value, Tensor):
        return value.tolist()
    if isinstance(value, (tuple, list)):
        return type(value)(map(plain, value))
    return {key: plain(part) for key, part in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("tree, value", [
    (New(0), [1.0]), (New(2), [3.0]), (Read(1), 2), (3, 3), ("a", "a"), (None, None),
    ((New(2), New(0), 5), ([3.0], [1.0], 5)), ([New(0), (Read(1), [None])], [[1.0], (2, [None])]),
    ({"a": New(0), 3: {"b": New(2)}}, {"a": [1.0], 3: {"b": [3.0]}}), ((), ()),
    ([[], {}], [[], {}]),
    ((7, 7), (7, 7))])
def test_what_can_be_made_of_the_graphs_results_alone(tree, value):
    found = builder_of(tree)(RAWS)
    assert plain(found) == value and type(found) is (
        Tensor if isinstance(tree, New) else type(value))


@pytest.mark.parametrize("tree", [
    New(0, (("a", 1),)), [New(0, (("a", 1),))], Given(0), Held(0), (New(0), Held(1)),
    Pair(New(0), New(1)), collections.OrderedDict(a=New(0)), {"a": Known([], None)}, GivenThing(0),
    [(lambda one: [one, (one,)])(New(0))], (lambda one: (one, one))([New(0)]), Made(Both, {}),
    Computed(0), {"a": {"b": len}}])
def test_what_needs_more_or_is_there_twice(tree):
    assert builder_of(tree) is None


def test_the_numbers_of_new_tensors():
    tree = (New(3), [New(1), {"a": New(2, (("b", 5),))}], Made(Both, {"left": New(7)}), Held(9),
            Computed(4), Pair(New(0), 8), 6, "a", Read(5))
    assert list(numbers_in(tree)) == [3, 1, 2, 7, 0]


def test_values_of_descriptions():
    given, held, things = Tensor([5.0]), Tensor([6.0]), [["first"], {"second": 2}]
    space = {"name": ["found"]}
    rebuilding = Rebuilding(RAWS, [given], {4: held}.__getitem__, things, [0.5, 7])
    one = New(0)
    known = Known(["kept"], None)
    tree = (one, [one], Given(0), Held(4), GivenThing(1), Computed(1), Read(1), known,
            Known([], Global(space, "name")), Text(["a ", Computed(0), ".2f", "!"]),
            Made(Both, {"left": one}), Pair(one, 2), {"a": one},
            collections.OrderedDict(b=New(2, (("count", 3),))), "text")
    (first, (again,), its_given, its_held, thing, number, read, its_known, found, text, made, pair,
     table, ordered, plain_text) = rebuilding.value_of(tree)
    assert first.tolist() == [1.0] and again is first is made.left is pair.left is table["a"]
    assert its_given is given and its_held is held and thing is things[1] and number == 7
    assert read == 2 and type(read) is int and its_known is known.thing and found is space["name"]
    assert text == "a 0.50!" and type(made) is Both and not hasattr(vars(made), "right")
    assert type(pair) is Pair and pair.right == 2 and type(ordered) is collections.OrderedDict
    assert ordered["b"].count == 3 and ordered["b"].tolist() == [3.0] and plain_text == "text"
    assert rebuilding.value_of(one) is first and rebuilding.value_of(New(0)) is not first


def described(value, given=(), held=(), things=(), reached=None):
    results = Results(given, held, reachable_from(lambda: reached), things)
    return results.described(value), results


def test_tensors_are_given_held_or_new():
    one, other, new = Tensor([1.0]), Tensor([2.0]), Tensor([3.0])
    tree, results = described([one, other, new, new, (one,)], [one, one, other], [other])
    assert tree == [Given(0), Held(0), New(0), New(0), (Given(0),)] and tree[2] is tree[3]
    assert [raw is new._raw for raw in results.new] == [True] and not results.uses_things


def test_plain_values_and_parameters_are_themselves():
    weight = Parameter(Tensor([1.0]), name="w")
    given = (weight, 3, "a", None, 2.5)
    tree, results = described(given)
    assert all(one is other for one, other in zip(tree, given, strict=True)) and not results.new


def test_objects_that_were_there_before_are_the_same_ones():
    known, thing, other = [1], {"a": 2}, [3]
    tree, results = described([known, thing, other, other], things=[thing, thing], reached=known)
    assert type(tree[0]) is Known and tree[0].thing is known and tree[1] == GivenThing(0)
    assert tree[2] == [3] and tree[2] is tree[3] and results.uses_things
    tree, results = described(thing, things=[thing], reached=thing)
    assert type(tree) is Known and results.uses_things


def test_new_objects_are_made_again():
    new = Tensor([1.0])
    tree, _ = described([Both(new), Pair(new, [new]), collections.defaultdict(list, a=new)])
    assert tree[0] == Made(Both, {"left": New(0), "right": 3}) and tree[0].held["left"] is tree[
        1].left and type(tree[1]) is Pair and type(tree[2]) is collections.defaultdict
    assert tree[2].default_factory is list and tree[2]["a"] is tree[1].right[0]


SHARED = [Tensor([5.0])]
STATE: dict = {"list": SHARED}


@pytest.mark.parametrize("give, of", [
    (lambda x: (lambda y: (y, [y, {"a": y}]))(x * 2), lambda f: (
        f[0] is f[1][0], f[1][1]["a"] is f[0])),
    (lambda x: (x, (x,)), lambda f: (f[0] is f[1][0],)),
    (lambda x: [STATE["list"], STATE["list"][0]], lambda f: (f[0] is SHARED, f[1] is SHARED[0])),
    (lambda x: (lambda y: (y, y))([x + 1]), lambda f: (f[0] is f[1],)),
    (lambda x: Pair(x + 1, x), lambda f: (type(f) is Pair,)),
    (lambda x: (lambda both: (both, both))(Both(x + 1)), lambda f: (
        f[0] is f[1], type(f[0]) is Both)),
    (lambda x: collections.Counter(a=3), lambda f: (type(f) is collections.Counter, f["a"] == 3))],
    ids=range(7))
def test_what_is_the_same_object_stays_so_in_replays(give, of):
    step = jit(give)
    for number in range(4):
        x = Tensor([1.0, number])
        found = step(x)
        assert all(of(found)) and ms.tree.leaves(found) is not None
    assert step.report()["replays"] == 3
