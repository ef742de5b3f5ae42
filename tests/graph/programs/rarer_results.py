"""Programs whose results, or what they keep, hold numbers in rarer kinds of objects."""

import collections

import numpy as np

from lamella import ops

from . import X, plain, program


@program
def counter_given(wrap):
    def fn(x):
        return collections.Counter("aab"), collections.OrderedDict(b=x, a=x * 2)

    call = wrap(fn)
    return [plain(call(X())) for _ in range(3)]


@program
def numbers_in_rarer_results(wrap):
    def fn(x, n):
        y = x * n
        y.scale = n
        return y, frozenset([n]), slice(0, n), {n: x}

    call, found = wrap(fn), []
    for n in (1, 2, 3, 2, 5):
        y, values, part, table = call(X(), n)
        found.append((plain((y, y.scale, values, part, table)), list(map(type, (
            y.scale, *values, part.stop, *table)))))
    return found


@program
def numbers_kept_in_rarer_places(wrap):
    class Slotted:
        __slots__ = ("last",)

    kept, seen, recent, table = Slotted(), set(), collections.deque(maxlen=2), {}

    def fn(x, n):
        kept.last = n
        seen.add(n)
        recent.append(n)
        table[n] = n
        return ops.abs(x) * n

    call, found = wrap(fn), []
    for n in (1, 2, 3, 2, 5):
        found.append(plain((call(X(), n), kept.last, seen, recent, table)))
        found.append([type(v) for v in (kept.last, *seen, *recent, *table, *table.values())])
    return found


@program
def tuples_that_look_like_descriptions(wrap):
    call = wrap(lambda x, n: (n, ()) if n < 9 else x)
    return [plain(call(X(), n)) for n in (0, 0, np.float64(0), np.float64(0), 9)]


@program
def numbers_too_large_for_a_tensor(wrap):
    call = wrap(lambda x, n: (x * n, n + 1))
    return [plain(call(X(), n)) for n in (1, 2, 2**53 + 1, 2**63 - 1, 10**25, 3, float("inf"))]
