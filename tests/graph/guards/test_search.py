"""What a search finds, what it leaves closed, and when there is no graph for what it finds."""

import collections
import contextvars
import ctypes
import functools
import itertools
import logging
import math
import queue
import sys
import threading
import weakref

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, nn
from lamella.graph.guards import search
from lamella.graph.guards.kinds import MOST_PARTS
from lamella.graph.guards.search import reachable_from, reachable_from_call
from lamella.graph.guards.sources import Fixed

here = sys.modules[__name__]
LARGE = list(range(MOST_PARTS + 1))
SCALE, UNUSED, HELD = 2.0, [1.0], Tensor([8.0])


class Plain:
    pass


class Structure(ctypes.Structure):
    _fields_ = [("a", ctypes.c_int)]  # noqa: RUF012


def names_of(reach, owner):
    return set(reach.names.spaces[id(owner)][2]) if id(owner) in reach.names.spaces else None


def functions_of(reach):
    return sorted(function.__name__ for function in reach.objects.functions)


# -- how many functions ----------------------------------------------------------------------------

def installed(count, file="/usr/lib/python3/site-packages/some.py"):
    """Functions of a package, all of which a table holds."""
    space = {"table": []}
    code = "\n".join(f"def f{i}(x):\n    return x\ntable.append(f{i})" for i in range(count))
    exec(compile(code, file, "exec"), space)
    return space["table"]


@pytest.mark.parametrize("count, followed", [(4, 5), (5, 3)])
def test_of_a_large_package_only_functions_that_ran_are_followed(count, followed, monkeypatch):
    monkeypatch.setattr(search, "MANY_FUNCTIONS", 5)
    table = installed(count)

    def step(x):
        return table[0](x)

    reach = reachable_from_call(step, (1,), {}, ["f1", "f3"])
    assert len(reach.objects.functions) == followed and reach.limits.refused is None
    if count == 5:
        assert functions_of(reach) == ["f1", "f3", "step"]


@pytest.mark.parametrize("count, refused", [(7, False), (8, True)])
def test_of_the_programs_own_functions_all_are_followed(count, refused, monkeypatch):
    monkeypatch.setattr(search, "MANY_FUNCTIONS", 5)
    monkeypatch.setattr(search, "MOST_FUNCTIONS", 8)
    table = installed(count, "/home/user/some.py")

    def step(x):
        return table[0](x)

    reach = reachable_from_call(step, (1,), {})
    if refused:
        assert reach.limits.refused == "can reach more than 8 functions"
    else:
        assert len(reach.objects.functions) == 8 and reach.limits.refused is None


# -- what isn't looked into ------------------------------------------------------------------------

def test_what_is_closed_and_the_names_that_lead_to_it():
    table, deep = dict.fromkeys(LARGE), {"inner": [np.zeros(10**5)]}
    turns, file = iter([1]), Structure()

    def step(x, default=LARGE):
        return table, deep, turns, file

    reach = reachable_from(step)
    found = {id(thing): names for thing, names in reach.limits.closed}
    assert found == {id(table): {"table"}, id(deep["inner"][0]): {"deep", "inner"},
                     id(turns): {"turns"}, id(file): {"file"}, id(LARGE): None}
    assert reach.limits.refused is None
    for thing, words in ((turns, "'list_iterator', an iterator made outside of it"),
                         (file, "'Structure', whose state can't be compared")):
        opened = reachable_from(step, opened={id(thing): thing})
        assert words in opened.limits.refused
    jobs = queue.Queue()  # of Python's library, but with attributes that can be compared
    opened = reachable_from(lambda x: jobs, opened={id(jobs): jobs})
    assert opened.limits.refused is None and jobs in opened.objects.others
    opened = reachable_from(step, opened={id(table): table})
    assert opened.limits.refused is None and id(table) not in dict(
        (id(thing), names) for thing, names in opened.limits.closed)


def test_tensors_as_keys_are_refused_where_they_are_read():
    key = Tensor([1.0])
    table = {key: 1}

    def step(x):
        return table

    reach = reachable_from(step)
    assert reach.limits.refused is None and reach.limits.closed == [(table, {"table"})]
    assert "find a Tensor in a dict or a set" in reachable_from(
        step, opened={id(table): table}).limits.refused


def test_classes_that_a_metaclass_of_the_programs_compares():
    class Meta(type):
        def __eq__(cls, other):
            return True

        __hash__ = type.__hash__

    thing = Meta("Thing", (), {})()
    assert "a metaclass of the program's compares" in reachable_from(
        lambda x: thing).limits.refused


@pytest.mark.parametrize("make", [weakref.ref, weakref.proxy])
def test_weak_references(make):
    thing, kept = Plain(), Plain()
    thing.value, kept.value = 2.0, [3.0]
    weak, other, gone = make(thing), make(kept), make(Plain())

    def step(x):
        return weak, other, kept, gone

    reach = reachable_from(step)
    # what is held otherwise, too, and what no longer exists, need no look
    assert [(each is weak, names) for each, names in reach.limits.closed] == [(True, {"weak"})]
    assert reach.limits.refused is None and kept in reach.objects.others
    opened = reachable_from(step, opened={id(weak): weak})
    assert opened.limits.refused == "uses an object that is held by a weak reference only"


def test_lists_that_are_left_out_and_where_they_are():
    several, inside, named, once, by_default = ([i] for i in range(5))
    holder = Plain()
    holder.named, holder.inside = named, [inside]

    def step(x, default=by_default):
        return several, inside, named, once, by_default, holder

    only = [9]
    several.append(only)
    for left_out, hidden in ((inside, True), (named, False), (once, False), (by_default, True),
                             (only, False)):
        reach = reachable_from(step, without={id(left_out): left_out})
        assert reach.limits.hidden is hidden
        assert all(each.thing is not left_out for each in reach.contents.containers)
        assert any(each.thing is several for each in reach.contents.containers)


# -- Tensors ---------------------------------------------------------------------------------------

class Net(nn.Cell):
    def __init__(self, kept):
        super().__init__()
        self.kept, self.listed = kept, [kept + 1, {"a": kept + 2}, {1: (kept + 3,)}]
        self.weight = Parameter(kept, name="weight")

    def construct(self, x):
        return x


@pytest.mark.parametrize("by_name", [False, True])
def test_tensors_are_found_by_names_or_as_they_are(by_name):
    net, closed = Net(Tensor([1.0])), Tensor([5.0])
    held = [Tensor([6.0])]

    class Holder:
        kept = Tensor([9.0])

    def step(x, default=Tensor([7.0])):  # noqa: B008 - what is searched
        return net(x), closed, held, HELD, Holder, UNUSED

    reach = reachable_from(step, by_name=by_name)
    found = {tensor.item(): source and source.describe() for tensor, source in reach.tensors.others}
    assert found == {
        1.0: "the attribute 'kept' of Net", 2.0: "the attribute 'listed' of Net[0]",
        3.0: "the attribute 'listed' of Net[1]['a']",
        4.0: "the attribute 'listed' of Net[2][1][0]",
        5.0: "the variable 'closed'" if by_name else None,
        6.0: "the variable 'held'[0]" if by_name else None, 7.0: None,
        8.0: "the global 'HELD'" if by_name else None, 9.0: None}
    assert any(each.thing is UNUSED for each in reach.contents.containers)
    assert reach.tensors.parameters == [net.weight]
    unnamed = {tensor.item() for tensor in reach.tensors.unnamed.values()}
    assert unnamed == ({7.0, 9.0} if by_name else {5.0, 6.0, 7.0, 8.0, 9.0})
    assert reach.tensors.all()[0] is net.weight and len(reach.tensors.all()) == 10


def test_tensors_in_containers_of_other_classes_are_found_as_they_are():
    class Own(list):
        pass

    net = Net(Tensor([1.0]))
    net.own, net.last, net.met = Own([Tensor([8.0])]), collections.deque([Tensor([9.0])]), None
    found = {tensor.item(): source for tensor, source in reachable_from(net).tensors.others}
    assert found[8.0] is found[9.0] is None and found[1.0] is not None


# -- objects ---------------------------------------------------------------------------------------

def test_which_objects_attributes_count():
    logger, local, spare = logging.getLogger("some.test"), threading.local(), Plain()
    local.value, spare.value = [1], [2]
    variable = contextvars.ContextVar("some")
    variable.set([3])
    poly, part = np.poly1d([1, 2]), functools.partial(max, [4])
    part.note = [5]

    class Counted(itertools.count):
        pass

    counted = Counted()

    def step(x):
        return logger, local, spare, variable, poly, part, counted

    reach = reachable_from(step)
    assert {id(thing) for thing in reach.objects.others} >= {
        id(logger), id(local), id(spare), id(poly)}
    things = [each.thing for each in reach.contents.containers]
    for held in (local.value, spare.value, variable.get(), part.args[0], part.note):
        assert any(thing is held for thing in things)
    assert reach.thread.ident == threading.get_ident() and len(reach.thread.locals) == 1
    assert [names for _, names in reach.limits.closed] == [{"counted"}]
    assert reachable_from(lambda x: spare).thread.ident == 0


def test_functions_of_libraries_count_for_what_they_hold():
    def own(x):
        return SCALE

    @functools.wraps(own)
    def around(x):
        return own(x)

    table = {"single": functools.singledispatch(own), "cached": functools.lru_cache(own)}

    def step(x):
        return table

    reach = reachable_from(step)
    assert "own" in functions_of(reach) and reach.limits.has_caches
    assert functions_of(reachable_from(functools.singledispatch(own))).count("own") == 2
    assert not reachable_from(own).limits.has_caches
    assert functions_of(reachable_from(around)) == ["own", "own"]
    assert functions_of(reachable_from(math.sin, len, functools.reduce)) == []


def test_bound_methods_and_views_lead_to_what_they_belong_to():
    held, table = [1], {"a": [2]}
    append, view, method = held.append, table.values(), Plain().__init__

    def step(x):
        return append, view, method

    reach = reachable_from(step)
    assert [thing for thing in reach.contents.behind] == [held, {"a": [2]}]
    sources = {id(each.thing): each.source for each in reach.contents.containers}
    assert type(sources[id(held)]) is Fixed and sources[id(held)].names() == {"append"}


def test_what_a_call_of_a_cell_may_be_replaced_by():
    class Calls(Net):
        def __call__(self, x):
            return x

    plain, calls = Net(Tensor([1.0])), Calls(Tensor([1.0]))
    reach = reachable_from(plain)
    assert all("__call__" in names_of(reach, cls) for cls in (Net, nn.Cell))
    assert "construct" in names_of(reach, Net)
    assert "construct" in names_of(reachable_from(nn.ReLU()), nn.ReLU)  # Lamella's, too
    reach = reachable_from(calls)
    assert "__call__" in names_of(reach, Calls)
    assert "__call__" not in (names_of(reach, nn.Cell) or ())
    assert functions_of(reach) == ["__call__", "construct"]


def test_two_searches_that_find_the_same():
    net, closed = Net(Tensor([1.0])), [1.0]

    def step(x):
        return net(x) * closed[0]

    first = reachable_from(step)
    assert first.same(reachable_from(step)) and not first.same(reachable_from(step, by_name=True))
    for change in (lambda: setattr(net, "more", Plain()), lambda: closed.append([2]),
                   lambda: setattr(net, "array", np.ones(2)), lambda: closed.append(bytearray(2)),
                   lambda: setattr(net, "made", lambda x: closed),
                   lambda: setattr(net, "append", closed.append),
                   lambda: setattr(net, "local", threading.local()),
                   lambda: setattr(net, "slotted", functools.partial(max, 1)),
                   lambda: setattr(net, "layer", nn.ReLU())):
        change()
        now = reachable_from(step)
        assert not first.same(now) and not now.same(first)
        first = now
        assert first.same(reachable_from(step))
    net.kept = Tensor([1.0])
    assert not first.same(reachable_from(step))


def test_a_parameter_leads_to_what_is_kept_with_it():
    weight, rule = Parameter(Tensor([1.0]), name="w"), Plain()
    rule.by = [2.0]
    weight.rule = rule
    reach = reachable_from(lambda x: weight)
    assert rule in reach.objects.others and reach.tensors.parameters == [weight]
    assert any(each.thing is rule.by for each in reach.contents.containers)
    assert ms.ops.relu not in reach.objects.functions
