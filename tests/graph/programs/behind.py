"""Programs that reach a container by what belongs to it: a bound method, a view, a proxy."""

import functools
import heapq
import types
from typing import Any

from . import X, plain, program


def numbers(call, change=lambda number: None):
    """What a compiled function gives in six calls, with changes before each."""
    found = []
    for number in range(6):
        change(number)
        found.append(plain(call(X())))
    return found


def assigned(container, key):
    """A change: a number in a container is another one in every second call."""
    return lambda number: container.__setitem__(key, float(number // 2))


@program
def a_dicts_get(wrap):
    d = {"a": 1.0}
    get = d.get
    return numbers(wrap(lambda x: x * (get("a") or 0.5)), assigned(d, "a"))


@program
def a_lists_getitem(wrap):
    values = [1.0]
    get = values.__getitem__
    return numbers(wrap(lambda x: x * get(0)), assigned(values, 0))


@program
def a_lists_append(wrap):
    values = []
    append = values.append

    def fn(x):
        append(1.0)
        return x

    return numbers(wrap(fn)), values


@program
def a_partial_of_a_dicts_get(wrap):
    d = {"a": 1.0}
    get: Any = functools.partial(d.get, "a")
    return numbers(wrap(lambda x: x * get()), assigned(d, "a"))


@program
def a_partial_that_pushes(wrap):
    heap = [3.0, 5.0]
    push = functools.partial(heapq.heappush, heap)

    def fn(x):
        push(len(heap) * 0.5)
        return x * heap[0]

    return numbers(wrap(fn)), heap


@program
def a_method_of_a_list_class(wrap):
    class Values(list):
        def total(self):
            return sum(self)

    values = Values([1.0])
    total = values.total
    return numbers(wrap(lambda x: x * total()), assigned(values, 0))


@program
def views_of_a_dict(wrap):
    d = {"a": 1.0}
    keys, values, items = d.keys(), d.values(), d.items()
    held = {"values": d.values(), "more": [d.keys()]}

    def fn(x):
        return x * len(keys) + sum(values) + max(v for _, v in items) + len(held["more"][0])

    def change(number):
        d["a" if number % 2 else f"a{number}"] = float(number)

    return numbers(wrap(fn), change)


@program
def a_view_of_a_dict_that_the_function_changes(wrap):
    d = {"a": 1.0}
    values = d.values()

    def fn(x):
        d["a"] += 1
        d["b"] = d.get("b", 0) + 2
        return x * sum(values)

    return numbers(wrap(fn)), d


@program
def a_proxy_of_a_dict(wrap):
    d = {"a": 1.0}
    proxy = types.MappingProxyType(d)
    return numbers(wrap(lambda x: x * proxy["a"] + len(proxy)), assigned(d, "a"))


@program
def a_view_of_the_globals_of_code(wrap):
    names: dict[str, Any] = {}
    exec("def fn(x):\n    return x * (len(names) - before)", names)
    names["names"], names["before"] = names.keys(), len(names)
    return numbers(wrap(names["fn"]), lambda number: names.update({f"n{number // 2}": 1}))


@program
def a_container_of_another_kind(wrap):
    """A value is a dict, then a list: keys that one has, the other can't have."""
    held: list[Any] = [None]

    def fn(x):
        value = held[0]
        return x * value["a"] if isinstance(value, dict) else x + value[0]

    found, call = [], wrap(fn)
    for value in ({"a": 1.0}, {"a": 2.0}, {"a": 3.0}, [1.0], [2.0], (3.0,), {"a": 7.0}):
        held[0] = value
        found.append(plain(call(X())))
    return found
