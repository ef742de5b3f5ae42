"""Programs in which containers hold the same container twice, or themselves."""

import collections
import copy
from typing import Any

from lamella import nn

from . import X, plain, program


def results(call, change=None, count=6):
    """What a compiled function gives in several calls, with changes between them."""
    found = []
    for number in range(count):
        if change is not None:
            change(number)
        found.append(plain(call(X())))
    return found


def shared(holder, one, other):
    """A change: in the third call two keys hold the same container, from the fifth on two."""
    def change(number):
        if number == 2:
            holder[other] = holder[one]
        if number == 4:
            holder[other] = copy.copy(holder[one])

    return change


@program
def dicts_in_a_dict(wrap):
    counts = {"a": {"n": 0}, "b": {"n": 0}}

    def fn(x):
        counts["a"]["n"] += 1
        return x * counts["b"]["n"]

    return results(wrap(fn), shared(counts, "a", "b")), counts


@program
def lists_in_a_deque(wrap):
    q = collections.deque([[1.0], [1.0]])

    def fn(x):
        q[0][0] = 5.0
        y = x * q[1][0]
        q[0][0] = 1.0
        return y

    return results(wrap(fn), shared(q, 0, 1)), q


@program
def lists_in_a_defaultdict(wrap):
    lists = collections.defaultdict(list, a=[1.0], b=[1.0])

    def fn(x):
        lists["a"][0] += 1.0
        return x * lists["b"][0]

    return results(wrap(fn), shared(lists, "a", "b")), dict(lists)


@program
def lists_of_tensors(wrap):
    lists = [[X()], [X()]]

    def fn(x):
        lists[0][0] = lists[0][0] + 1
        return x * lists[1][0]

    return results(wrap(fn), shared(lists, 0, 1)), plain(lists)


@program
def a_dict_in_two_lists(wrap):
    a = [{"k": 1.0}]
    b = [a[0]]

    def fn(x):
        a[0]["k"] = 5.0
        y = x * b[0]["k"]
        a[0]["k"] = 1.0
        return y

    def change(number):
        if number == 2:
            b[0] = dict(a[0])
        if number == 4:
            b[0] = a[0]

    return results(wrap(fn), change)


@program
def a_dict_in_two_attributes(wrap):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.a = {"n": {"c": 0}}
            self.b = {"n": self.a["n"]}

        def construct(self, x):
            self.a["n"]["c"] += 1
            return x * self.b["n"]["c"]

    net = Net()

    def change(number):
        if number == 2:
            net.b["n"] = dict(net.a["n"])
        if number == 4:
            net.b["n"] = net.a["n"]

    return results(wrap(lambda x: net(x)), change), net.a, net.b


@program
def arguments_that_hold_themselves(wrap):
    held: list[Any] = [1.0]
    named: dict[str, Any] = {"k": 2.0}
    held.append(held)
    named["self"] = named
    of_list = wrap(lambda x, held: x * held[1][0])
    of_dict = wrap(lambda x, named: x * named["self"]["k"])
    found = []
    for _ in range(4):
        held[0] += 1
        named["k"] += 1
        found.append((plain(of_list(X(), held)), plain(of_dict(X(), named))))
    return found


@program
def variables_that_hold_themselves(wrap):
    held: list[Any] = [1.0]
    held.extend([held] * 20)

    def fn(x):
        held[0] += 1
        return x * held[3][2][0]

    return results(wrap(fn)), held[0]


@program
def a_list_with_a_tensor_that_holds_itself(wrap):
    held: list[Any] = [X()]
    held.append(held)

    def change(number):
        if number == 3:
            held[1] = [X(), held]
        if number == 4:
            held[1] = held

    def fn(x):
        held[0] = held[0] + 1
        return x * held[1][0]

    return results(wrap(fn), change)


@program
def lists_that_come_to_hold_themselves(wrap):
    held: list[Any] = [1.0]
    named: dict[str, Any] = {}

    def fn(x):
        held.append(held)
        named["self"] = named
        named["n"] = named.get("n", 0) + 1
        return x * len(held) + named["self"]["n"]

    found = results(wrap(fn))
    return found, len(held), named["self"] is named


@program
def results_that_hold_themselves(wrap):
    kept: list[Any] = [1.0]
    kept.append(kept)

    def fn(x):
        kept[0] += 1
        made: list[Any] = [x * kept[0]]
        made.append(made)
        return made, kept

    call = wrap(fn)
    found = []
    for _ in range(4):
        made, given = call(X())
        found.append((plain(made[0]), made[1] is made, given is kept))
    return found


class _Compared(type):
    """A metaclass that fails where its classes are compared or looked up."""

    def __eq__(cls, other):
        raise LookupError(other)

    def __hash__(cls):
        raise LookupError


@program
def classes_that_fail_where_they_are_compared(wrap):
    class Thing(metaclass=_Compared):
        k = 2.0

    thing = Thing()

    def fn(x):
        thing.k += 1
        return x * thing.k

    of_argument = wrap(lambda x, thing: x * thing.k)
    return results(wrap(fn)), plain(of_argument(X(), thing))
