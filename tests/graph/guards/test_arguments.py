"""Arguments taken apart, put together, and which objects they hold."""

import functools
from collections import OrderedDict, namedtuple
from dataclasses import dataclass

import pytest

import lamella as ms
from lamella import Tensor
from lamella.graph.guards.arguments import (
    apart,
    may_be_passed_on,
    pattern_of,
    put_together,
    things_of,
    with_leaves,
)

Pair = namedtuple("Pair", "left right")


@dataclass
class Options:
    scale: float
    weights: list


def adds(by, *, times=3, extra=1):
    def inner(x, shift=2, *, power=times):
        return (x + by + shift + extra) ** power
    return inner


def test_things_are_lists_dicts_and_what_is_taken_apart():
    x, inner, part = Tensor([1.0]), [2, x2 := Tensor([2.0])], functools.partial(max, [3], key=abs)
    options = Options(1.5, inner)
    tree = (x, {"a": inner, "b": (4, "t", None)}, Pair(options, part), options.weights)
    found = list(things_of(tree))
    assert [type(each) for each in found] == [
        dict, list, Options, list, functools.partial, list, list]
    assert found[0] is tree[1] and found[1] is inner and found[2] is options
    assert found[4] is part and found[5] is part.args[0]
    assert pattern_of(found) == [0, 1, 2, 1, 3, 4, 1]
    for leaf in (x, x2, 1, "t", None, 2.0, (1, (x, "a"))):
        assert list(things_of(leaf)) == []


def test_leaves_are_replaced_wherever_they_are():
    x = Tensor([1.0])

    def twice(leaf):
        return leaf * 2 if isinstance(leaf, (Tensor, int, float)) else leaf

    tree = ([x, 1], (2, "t"), Pair(3, x), OrderedDict(a=4, b=[5]), Options(1.5, [6]))
    found = with_leaves(tree, twice)
    assert found[0][0].tolist() == [2.0] and found[0][1] == 2 and found[1] == (4, "t")
    assert type(found[2]) is Pair and found[2].left == 6 and found[2].right.tolist() == [2.0]
    assert type(found[3]) is OrderedDict and found[3] == OrderedDict(a=8, b=[10])
    assert type(found[4]) is Options and found[4].scale == 3.0
    assert tree[0][1] == 1 and tree[3] == OrderedDict(a=4, b=[5])  # not changed in place


@pytest.mark.parametrize("make", [adds, functools.partial(adds, times=2, extra=5)])
def test_functions_are_put_together_with_other_parts(make):
    fn = make(10)
    parts = apart(fn).parts
    other = put_together(fn, [part.thing if hasattr(part, "thing") else part for part in parts])
    assert other is not fn and other(1) == fn(1) and other(1, 3, power=1) == fn(1, 3, power=1)
    closed = [cell.cell_contents for cell in fn.__closure__]
    changed = put_together(fn, [*[each + 1 for each in closed], 20, 2])
    assert changed(1) == (1 + sum(closed) + 2 + 20) ** 2
    assert (changed.__defaults__, changed.__kwdefaults__) == ((20,), {"power": 2})
    assert changed.__qualname__ == fn.__qualname__ and changed.__module__ == fn.__module__


def test_methods_partial_functions_and_gradients():
    method, part = [3].append, functools.partial(pow, 2, exp=5)
    assert apart(method) is None  # in C
    found = put_together(part, [max, 7, 1])
    assert (found.func, found.args, found.keywords) == (max, (7,), {"exp": 1})
    cell = ms.nn.ReLU()
    bound = cell.construct
    assert apart(bound).parts == [bound.__func__, cell]
    other = ms.nn.ReLU()
    assert put_together(bound, [bound.__func__, other]).__self__ is other
    grad = ms.ops.GradOperation(get_all=True)
    assert apart(grad).parts == [] and put_together(grad, []) is grad
    assert apart(ms.ops.GradOperation())[0] != apart(grad)[0]


def test_functions_that_count_as_wholes():
    def counts():
        nonlocal total
        total += 1

    total = 0
    assert not may_be_passed_on(counts) and apart(counts) is None  # it assigns
    assert apart(test_functions_that_count_as_wholes) is None  # of a module

    def later():
        return unknown

    assert not may_be_passed_on(later) and apart(later) is None  # without a value so far
    unknown = 1
    assert may_be_passed_on(later) and apart(later).parts == [unknown]
    later.marked = True
    assert apart(later) is None  # it has attributes
